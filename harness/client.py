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
import contextlib
import hashlib
import io
import json
import math
import os
import random
import re
import socket
import ssl
import time
import urllib.parse
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from http.client import HTTPException, HTTPResponse
from typing import Any, Literal, NamedTuple

DEFAULT_URL = "http://127.0.0.1:8321"
DEADLINE_S = 600.0
LONGEST_POLL_S = 30.0  # what one request waits for a verdict; proxies cut longer ones
GRACE_S = 10.0  # what an answer may take beyond what it was asked to wait
LONGEST_PAUSE_S = 60.0  # whatever Retry-After says
SHORTEST_DEADLINE_S = 0.001  # less is refused by a server
AT_ONCE_S = 0.1  # a server that answers sooner that there is nothing yet is not asked again at once
LARGEST_ANSWER = 64 << 20
TRY_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504))
VERDICTS = frozenset(("correct", "wrong", "failed", "rejected"))
STATES = frozenset(("queued", "running", "done", "fault", "expired", "cancelled"))

Answer = dict[str, Any]
"""What the server says of a judgement: id, state, tag, reason, record and summary (docs/serve.md)."""
Profile = Literal["correct", "speedup", "kevin"]


class NoVerdict(Exception):
    """There is no verdict: the judge or the machine failed, the deadline passed, or the request was refused."""


class Request(NamedTuple):
    """One HTTP request; `timeout_s` bounds all of it: connecting, sending and the whole answer."""

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
        deadline_s: seconds from now, all tries together, whatever a server says or withholds; only looking up its
            name may take longer. The server does not begin what is over its deadline.
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
    found: list[str] = _looked_up("/v1/problems", list, url, token)
    return found


def problem(name: str, *, url: str | None = None, token: str | None = None) -> dict[str, Any]:
    """One of them: `title`, `sha256` and `source`. Raises LookupError where it has none, ConnectionError."""
    found: dict[str, Any] = _looked_up(f"/v1/problems/{urllib.parse.quote(name)}", dict, url, token)
    return found


def judgement(id: str, *, url: str | None = None, token: str | None = None) -> Answer:
    """What the server says of a judgement now, in whatever state. Raises LookupError, ConnectionError."""
    found: Answer = _looked_up(f"/v1/judgements/{urllib.parse.quote(id, safe='')}", dict, url, token)
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
    if not _is_summary(summary) or summary["kind"] not in VERDICTS:
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


def _looked_up(path: str, form: type, url: str | None, token: str | None) -> Any:
    """What one GET says, asked once: JSON that is a list or an object, as `form` says."""
    response = _sent(Request("GET", path, b"", LONGEST_POLL_S), _Server.of(url, token))
    if response is not None and response.status in (200, 202):
        found = _json(response)
        if isinstance(found, form):
            return found
        raise ConnectionError(f"what answers there is no server of judgements: {_said(response)}")
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
    """Ask until there is a verdict. Once the server has named the judgement it is asked for by that name.

    A 200 that is no answer to what was asked, such as a proxy's own page, is tried again like a lost connection.
    """
    end = time.monotonic() + deadline_s
    name, tries, why = "", 0, "no connection"
    while (left := end - time.monotonic()) > 0:
        began = time.monotonic()
        response = yield _request(asked, name, left)
        answer = _answer_of(response, asked, name)
        if answer is not None:
            if _is_settled(answer):
                return {**answer, "tag": asked.get("tag", "")}
            name, tries, why = str(answer["id"]), 0, f"it is {answer['state']}"
            if time.monotonic() - began < AT_ONCE_S:
                yield Pause(random.uniform(AT_ONCE_S, 2 * AT_ONCE_S))
        elif response is not None and response.status == 404 and name:
            name = ""  # the server has lost its state, or is another one
        elif response is None or response.status in TRY_AGAIN or response.status in (200, 202):
            if response is not None:
                why = f"{response.status} {_said(response)}"
            elif time.monotonic() < end:  # else the deadline cut it off, which says nothing of the server
                why = "no connection"
            yield Pause(min(_pause(response, tries), max(0.0, end - time.monotonic())))
            tries += 1
        else:
            raise NoVerdict(f"refused: {response.status} {_said(response)}")
    raise NoVerdict(f"no verdict within {deadline_s:g} s; the last answer: {why}")


def _answer_of(response: Response | None, asked: Mapping[str, Any], name: str) -> Answer | None:
    """What a server says of the judgement that was asked for; None where a response is anything else."""
    if response is None or response.status not in (200, 202):
        return None
    answer = _json(response)
    if not isinstance(answer, dict) or answer.get("state") not in STATES or not isinstance(answer.get("id"), str):
        return None
    if name and answer["id"] != name:
        return None
    if answer["state"] != "done":
        return answer
    own = hashlib.sha256(asked["submission"].encode()).hexdigest()
    return answer if _is_summary(answer.get("summary")) and _judged_text(answer) == own else None


def _is_summary(summary: Any) -> bool:
    """Whether this has the form of a summary: kind, correct, compiled, and a number where there is a speed-up."""
    if not isinstance(summary, Mapping) or not isinstance(summary.get("kind"), str):
        return False
    if summary.get("correct") is not (summary["kind"] == "correct") or "speedup" not in summary:
        return False
    speedup = summary["speedup"]
    if speedup is None:
        return True
    value = speedup.get("value") if isinstance(speedup, Mapping) else None
    return isinstance(value, int | float) and math.isfinite(value)


def _judged_text(answer: Answer) -> object:
    """The hash of the text that a record is of."""
    record = answer.get("record")
    submission = record.get("submission") if isinstance(record, dict) else None
    return submission.get("sha256") if isinstance(submission, dict) else None


def _is_settled(answer: Answer) -> bool:
    """Whether there is a verdict. Raises NoVerdict where there will be none."""
    if answer["state"] in ("queued", "running"):
        return False
    if answer["state"] != "done" or answer["summary"]["kind"] not in VERDICTS:
        raise NoVerdict(f"{answer['state']}: {answer.get('reason') or 'no reason given'}")
    return True


def _request(asked: dict[str, Any], name: str, left: float) -> Request:
    """The next request, which ends within the `left` seconds; the server is to answer a little before that."""
    poll = min(left - min(1.0, left / 2), LONGEST_POLL_S)
    timeout_s = min(left, poll + GRACE_S)
    if name:
        return Request("GET", f"/v1/judgements/{urllib.parse.quote(name, safe='')}?wait={poll:.1f}", b"", timeout_s)
    body = json.dumps({**asked, "deadline_s": max(left, SHORTEST_DEADLINE_S)}).encode()
    return Request("POST", f"/v1/judgements?wait={poll:.1f}", body, timeout_s)


def _pause(response: Response | None, tries: int) -> float:
    """Seconds until the next try: what the server asked for, else twice as long each time. Callers fall out of step.

    Of Retry-After a number of seconds is taken, within AT_ONCE_S and LONGEST_PAUSE_S; a date or anything else is not.
    """
    try:
        asked = float((response.headers if response else {})["retry-after"])
    except (KeyError, ValueError):
        asked = math.nan
    if asked >= 0:
        return min(LONGEST_PAUSE_S, max(AT_ONCE_S, asked)) * random.uniform(1.0, 1.5)
    return min(LONGEST_PAUSE_S, 0.25 * 2.0 ** min(tries, 10)) * random.uniform(0.5, 1.0)


def _json(response: Response) -> Any:
    """What the body says; None where it is no JSON."""
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError):
        return None


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
        if not (word.isascii() and word.isprintable()):
            raise ValueError("a token is made of printable ASCII characters")
        return cls(tls, parts.hostname, parts.port or (443 if tls else 80), parts.path.rstrip("/"), word)

    def headers(self, request: Request) -> dict[str, str]:
        given = {"Content-Type": "application/json", "Connection": "close", "Content-Length": str(len(request.body))}
        return {**given, "Authorization": f"Bearer {self.token}"} if self.token else given


def _sent(request: Request, server: _Server) -> Response | None:
    """The response, None where there was none to be had in time."""
    head, end = _head(request, server), time.monotonic() + request.timeout_s
    with contextlib.suppress(OSError, HTTPException, ValueError), _connected(server, end) as connection:
        connection.settimeout(_left(end))
        connection.sendall(head + request.body)
        answer = bytearray()
        while not _is_whole(answer):
            connection.settimeout(_left(end))
            more = connection.recv(1 << 16)
            if not more:
                break
            answer += more
        return _read(bytes(answer))
    return None


def _connected(server: _Server, end: float) -> socket.socket:
    """A connection to the first address that takes one, made by `end`; looking the addresses up has no bound.

    Raises OSError.
    """
    for family, kind, protocol, _, address in socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_left(end))
            connection.connect(address)
            if not server.tls:
                return connection
            connection.settimeout(_left(end))
            return ssl.create_default_context().wrap_socket(connection, server_hostname=server.host)
        except OSError:
            connection.close()
        except BaseException:
            connection.close()
            raise
    raise OSError(f"no address of {server.host} takes a connection")


def _left(end: float) -> float:
    """Seconds until `end`. Raises TimeoutError where there are none."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


async def _sent_async(request: Request, server: _Server) -> Response | None:
    """`_sent` on an event loop."""
    head = _head(request, server)
    with contextlib.suppress(OSError, TimeoutError, HTTPException, ValueError):
        async with asyncio.timeout(request.timeout_s):
            reader, writer = await asyncio.open_connection(
                server.host, server.port, ssl=ssl.create_default_context() if server.tls else None
            )
            try:
                writer.write(head + request.body)
                await writer.drain()
                answer = bytearray()
                while not _is_whole(answer) and (more := await reader.read(1 << 16)):
                    answer += more
                return _read(bytes(answer))
            finally:
                writer.close()
    return None


def _head(request: Request, server: _Server) -> bytes:
    host = f"[{server.host}]" if ":" in server.host else server.host
    headers = {"Host": f"{host}:{server.port}", "Accept-Encoding": "identity", **server.headers(request)}
    lines = [f"{request.method} {server.prefix}{request.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _is_whole(answer: bytearray) -> bool:
    """Whether an answer has as many bytes as it announces; one that announces none ends where its connection does.

    Raises ValueError for one that is too large.
    """
    if len(answer) > LARGEST_ANSWER:
        raise ValueError("the answer is too large")
    end = answer.find(b"\r\n\r\n", 0, 1 << 16)
    announced = re.search(rb"(?i)\r\ncontent-length:[ \t]*(\d{1,12})[ \t]*\r", answer[: end + 2]) if end >= 0 else None
    return announced is not None and len(answer) >= end + 4 + int(announced[1])


class _Bytes:
    """What http.client reads an answer from in the place of a socket."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, *_: object) -> io.BytesIO:
        return io.BytesIO(self._content)


def _read(answer: bytes) -> Response:
    """A whole answer, chunked or not. Raises HTTPException or ValueError for what is none, or is broken off."""
    response = HTTPResponse(_Bytes(answer))  # type: ignore[arg-type]
    response.begin()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Response(response.status, headers, response.read())
