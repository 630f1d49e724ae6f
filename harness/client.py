"""Ask a `harness serve` for verdicts, from a trainer or a script. This file needs the standard library alone: copy it.

    from harness.client import judge, reward

    answer = judge(text, "level1/19_ReLU", url="http://127.0.0.1:8321")
    answer["summary"]["correct"], reward(answer["summary"], profile="kevin")

Whatever the candidate did is in the answer. Where there is none, for whatever cause, `NoVerdict` is raised: a fault of
the judge's or of the machine's is never a reward, so let it mask the sample or try later, and do not turn it into 0.

Every request may be sent twice: the server knows a judgement by its content, so a second one attaches to the first.
HARNESS_URL and HARNESS_TOKEN are what `url` and `token` are where they are not given.
"""

import asyncio
import json
import os
import random
import ssl
import time
import urllib.parse
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Literal, NamedTuple

DEFAULT_URL = "http://127.0.0.1:8321"
DEADLINE_S = 600.0
LONGEST_POLL_S = 30.0  # what one request waits for a verdict; proxies cut longer ones
GRACE_S = 10.0  # what an answer may take beyond what it was asked to wait
LONGEST_PAUSE_S = 30.0
AT_ONCE_S = 0.1  # a server that answers sooner that there is nothing yet is not asked again at once
TRY_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504))
VERDICTS = frozenset(("correct", "wrong", "failed", "rejected"))

Answer = dict[str, Any]
"""What the server says of a judgement: id, state, tag, reason, record and summary (docs/serve.md)."""
Profile = Literal["correct", "speedup", "kevin"]


class NoVerdict(Exception):
    """There is no verdict: the judge or the machine failed, the deadline passed, or the request was refused."""


class Request(NamedTuple):
    """One HTTP request; `timeout_s` bounds all of it."""

    method: str
    path: str
    body: bytes
    timeout_s: float


class Response(NamedTuple):
    """Status, headers with small letters, and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Pause(NamedTuple):
    """Wait so many seconds before the next request."""

    seconds: float


Conversation = Generator[Request | Pause, Response | None, Answer]
"""What to send next, given the last response: None after a pause, and where none came."""


def judge(
    submission: str,
    problem: str,
    *,
    settings: Mapping[str, Any] | None = None,
    priority: Literal["high", "normal", "low"] = "normal",
    deadline_s: float = DEADLINE_S,
    fresh: bool = False,
    tag: str = "",
    url: str | None = None,
    token: str | None = None,
) -> Answer:
    """Have a submission judged, and wait for it. Raises NoVerdict where there is no verdict within `deadline_s`.

    Args:
        submission: what the model answered, or Python source. Never a path.
        problem: the name of a problem that the server has, or, with a token, the source of one (it has a line break).
        settings: those that the server lets a caller choose, such as {"precision": "fp16"}.
        deadline_s: seconds from now, all tries together; the server does not begin what is over its deadline.
        fresh: judge anew where the server has a verdict already.
        tag: the caller's own word, given back.
    """
    asked = _asked(submission, problem, settings=settings, priority=priority, fresh=fresh, tag=tag)
    conversation = _conversation(asked, deadline_s)
    step = next(conversation)
    while True:
        response = None
        if isinstance(step, Pause):
            time.sleep(step.seconds)
        else:
            response = _sent(step, _Server.of(url, token))
        try:
            step = conversation.send(response)
        except StopIteration as ended:
            return _answer(ended)


async def judge_async(
    submission: str,
    problem: str,
    *,
    settings: Mapping[str, Any] | None = None,
    priority: Literal["high", "normal", "low"] = "normal",
    deadline_s: float = DEADLINE_S,
    fresh: bool = False,
    tag: str = "",
    url: str | None = None,
    token: str | None = None,
) -> Answer:
    """`judge` for an event loop: it needs no thread, so thousands may wait at once, and each may be cancelled."""
    asked = _asked(submission, problem, settings=settings, priority=priority, fresh=fresh, tag=tag)
    conversation = _conversation(asked, deadline_s)
    step = next(conversation)
    while True:
        response = None
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
        else:
            response = await _sent_async(step, _Server.of(url, token))
        try:
            step = conversation.send(response)
        except StopIteration as ended:
            return _answer(ended)


def judge_many(
    tasks: Iterable[tuple[str, str]], *, concurrency: int = 64, **options: Any
) -> Iterator[tuple[int, "Answer | NoVerdict"]]:
    """Judge submissions, each with its problem: the task's place, from 0, and its answer, in the order they finish.

    A task without a verdict gives its NoVerdict, so that one fault does not end the others. Tasks are taken as they
    are needed, at most `concurrency` at once. `options` are those of `judge`.
    """

    def ask(task: tuple[str, str]) -> "Answer | NoVerdict":
        try:
            return judge(*task, **options)
        except NoVerdict as fault:
            return fault

    with ThreadPoolExecutor(concurrency, thread_name_prefix="judge") as pool:
        waiting: dict[Future[Answer | NoVerdict], int] = {}
        try:
            for place, task in enumerate(tasks):
                waiting[pool.submit(ask, task)] = place
                if len(waiting) >= concurrency:
                    yield from _finished(waiting)
            while waiting:
                yield from _finished(waiting)
        finally:
            for future in waiting:
                future.cancel()


def problems(*, url: str | None = None, token: str | None = None) -> list[str]:
    """The names of the problems that the server has. Raises ConnectionError where it cannot be asked."""
    found: list[str] = json.loads(_looked_up("/v1/problems", url, token))
    return found


def problem(name: str, *, url: str | None = None, token: str | None = None) -> dict[str, Any]:
    """One of them: `title`, `sha256` and `source`. Raises LookupError where it has none, ConnectionError."""
    found: dict[str, Any] = json.loads(_looked_up(f"/v1/problems/{urllib.parse.quote(name)}", url, token))
    return found


def judgement(id: str, *, url: str | None = None, token: str | None = None) -> Answer:
    """What the server says of a judgement now, in whatever state. Raises LookupError, ConnectionError."""
    found: Answer = json.loads(_looked_up(f"/v1/judgements/{urllib.parse.quote(id, safe='')}", url, token))
    return found


def reward(summary: Mapping[str, Any], *, profile: Profile = "kevin", cap: float | None = None) -> float:
    """A number for a trainer, from the summary of an answer; what is not correct gets 0.

    Profiles for a correct candidate:
        "correct": 1, whatever its speed.
        "speedup": its speed-up, at most `cap` (10 where none is given, so that one outlier does not rule a batch).
        "kevin": 0.3 plus its speed-up, at most `cap` where one is given (Baronio et al., Kevin: Multi-Turn RL for
            Generating CUDA Kernels, 2025).

    A correct candidate that was not timed counts as one with a speed-up of 0. Raises NoVerdict where the summary is
    none of a verdict, ValueError for a profile that is none.
    """
    if not summary or summary.get("kind") not in VERDICTS:
        raise NoVerdict("what holds no verdict has no reward")
    if profile not in ("correct", "speedup", "kevin"):
        raise ValueError(f"there is no profile {profile!r}: give correct, speedup or kevin")
    if not summary["correct"]:
        return 0.0
    if profile == "correct":
        return 1.0
    speedup = float((summary["speedup"] or {"value": 0.0})["value"])
    most = 10.0 if cap is None and profile == "speedup" else cap
    held = speedup if most is None else min(speedup, most)
    return held if profile == "speedup" else 0.3 + held


def _looked_up(path: str, url: str | None, token: str | None) -> bytes:
    """What one GET says, asked once."""
    response = _sent(Request("GET", path, b"", LONGEST_POLL_S), _Server.of(url, token))
    if response is not None and response.status in (200, 202):
        return response.body
    why = "no connection" if response is None else f"{response.status} {_said(response)}"
    if response is not None and response.status in (404, 422):
        raise LookupError(why)
    raise ConnectionError(why)


def _finished(waiting: "dict[Future[Answer | NoVerdict], int]") -> Iterator[tuple[int, "Answer | NoVerdict"]]:
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        yield waiting.pop(future), future.result()


def _asked(submission: str, problem: str, **options: Any) -> dict[str, Any]:
    given = {name: value for name, value in options.items() if value is not None}
    sendable = submission.encode("utf-8", "replace").decode()  # models' texts may hold halves of characters
    return {"submission": sendable, "problem": problem, **given}


def _answer(ended: StopIteration) -> Answer:
    answer: Answer = ended.value
    return answer


def _conversation(asked: dict[str, Any], deadline_s: float) -> Conversation:
    """Ask until there is a verdict. Once the server has named the judgement it is asked for by that name."""
    end = time.monotonic() + deadline_s
    name, tries, why = "", 0, "it was not asked"
    while (left := end - time.monotonic()) > 0:
        began = time.monotonic()
        response = yield _request(asked, name, left)
        if response is not None and response.status in (200, 202):
            answer: Answer = json.loads(response.body)
            if _is_settled(answer):
                return {**answer, "tag": asked.get("tag", "")}
            name, tries, why = str(answer["id"]), 0, f"it is {answer['state']}"
            if time.monotonic() - began < AT_ONCE_S:
                yield Pause(random.uniform(AT_ONCE_S, 2 * AT_ONCE_S))
        elif response is not None and response.status == 404 and name:
            name = ""  # the server has lost its state, or is another one
        elif response is None or response.status in TRY_AGAIN:
            why = "no connection" if response is None else f"{response.status} {_said(response)}"
            yield Pause(min(_pause(response, tries), max(0.0, end - time.monotonic())))
            tries += 1
        else:
            raise NoVerdict(f"refused: {response.status} {_said(response)}")
    raise NoVerdict(f"no verdict within {deadline_s:g} s; the last answer: {why}")


def _is_settled(answer: Answer) -> bool:
    """Whether there is a verdict. Raises NoVerdict where there will be none."""
    if answer["state"] in ("queued", "running"):
        return False
    if answer["state"] != "done" or answer["summary"]["kind"] not in VERDICTS:
        raise NoVerdict(f"{answer['state']}: {answer['reason'] or 'no reason given'}")
    return True


def _request(asked: dict[str, Any], name: str, left: float) -> Request:
    poll = min(left, LONGEST_POLL_S)
    if name:
        return Request("GET", f"/v1/judgements/{urllib.parse.quote(name)}?wait={poll:.1f}", b"", poll + GRACE_S)
    body = json.dumps({**asked, "deadline_s": left}).encode()
    return Request("POST", f"/v1/judgements?wait={poll:.1f}", body, poll + GRACE_S)


def _pause(response: Response | None, tries: int) -> float:
    """Seconds until the next try: what the server asked for, else twice as long each time. Callers fall out of step."""
    try:
        asked = float((response.headers if response else {})["retry-after"])
    except (KeyError, ValueError):
        return min(LONGEST_PAUSE_S, 0.25 * 2.0 ** min(tries, 10)) * random.uniform(0.5, 1.0)
    return max(0.0, asked) * random.uniform(1.0, 1.5)


def _said(response: Response) -> str:
    return response.body[:300].decode("utf-8", "replace")


class _Server(NamedTuple):
    """Where to ask. `prefix` is what the address has before the server's own paths."""

    tls: bool
    host: str
    port: int
    prefix: str
    token: str

    @classmethod
    def of(cls, url: str | None, token: str | None) -> "_Server":
        text = url or os.environ.get("HARNESS_URL") or DEFAULT_URL
        parts = urllib.parse.urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{text!r} is no address of a server: give one like {DEFAULT_URL}")
        tls = parts.scheme == "https"
        word = os.environ.get("HARNESS_TOKEN", "") if token is None else token
        return cls(tls, parts.hostname, parts.port or (443 if tls else 80), parts.path.rstrip("/"), word)

    def headers(self, request: Request) -> dict[str, str]:
        given = {"Content-Type": "application/json", "Connection": "close", "Content-Length": str(len(request.body))}
        return {**given, "Authorization": f"Bearer {self.token}"} if self.token else given


def _sent(request: Request, server: _Server) -> Response | None:
    """The response, None where there was none to be had."""
    kind = HTTPSConnection if server.tls else HTTPConnection
    connection = kind(server.host, server.port, timeout=request.timeout_s)
    try:
        connection.request(request.method, server.prefix + request.path, request.body, server.headers(request))
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, headers, response.read())
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


async def _sent_async(request: Request, server: _Server) -> Response | None:
    """`_sent` on an event loop. In HTTP/1.0, whose answers end where their connection does."""
    try:
        async with asyncio.timeout(request.timeout_s):
            reader, writer = await asyncio.open_connection(
                server.host, server.port, ssl=ssl.create_default_context() if server.tls else None
            )
            try:
                writer.write(_head(request, server) + request.body)
                await writer.drain()
                return _read(await reader.read())
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError, IndexError):
        return None


def _head(request: Request, server: _Server) -> bytes:
    headers = {"Host": f"{server.host}:{server.port}", **server.headers(request)}
    lines = [f"{request.method} {server.prefix}{request.path} HTTP/1.0"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _read(answer: bytes) -> Response:
    """A whole answer. Raises ValueError or IndexError for what is none, or is broken off."""
    head, found, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if not found or len(body) < int(headers.get("content-length", "0")):
        raise ValueError("the answer is broken off")
    return Response(int(first.split(" ")[1]), headers, body)
