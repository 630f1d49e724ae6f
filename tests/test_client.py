"""The client against a server that says what a test has it say."""

import asyncio
import contextlib
import hashlib
import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness import client
from harness.client import NoVerdict, judge, judge_async, judge_many, reward

CORRECT = {"kind": "correct", "correct": True, "compiled": True, "detail": "", "flags": [],
           "speedup": {"value": 2.0, "low": 1.9, "high": 2.1}}  # fmt: skip
WRONG = {**CORRECT, "kind": "wrong", "correct": False, "speedup": None}
DONE = {"id": "j1", "state": "done", "tag": "", "reason": None, "record": {}, "summary": CORRECT}
QUEUED = {**DONE, "state": "queued", "summary": None}

Said = tuple[int, dict[str, str], Any]


class Scripted:
    """A server that gives the next answer of a list, the last one for ever, and notes what it was asked.

    A record without content is filled in as that of the submission that was asked last.
    """

    def __init__(self) -> None:
        self._submission = ""
        self.answers: list[Said | None] = []
        self.asked: list[tuple[str, str, dict[str, Any], str | None]] = []
        self._guard = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        asked = json.loads(body or b"{}")
        with self._guard:
            self._submission = submission = asked.get("submission", self._submission)
            self.asked.append((handler.command, handler.path, asked, handler.headers.get("Authorization")))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:  # the connection breaks
            return
        status, headers, said = answer
        if isinstance(said, dict) and said.get("record") == {}:
            said = {**said, "record": {"submission": {"sha256": hashlib.sha256(submission.encode()).hexdigest()}}}
        text = said if isinstance(said, bytes) else json.dumps(said).encode()
        with contextlib.suppress(OSError):  # the client's deadline is over
            handler.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                handler.send_header(name, value)
            handler.end_headers()
            handler.wfile.write(text)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer(self)

            def do_POST(self) -> None:
                answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.delenv("HARNESS_TOKEN", raising=False)
    monkeypatch.setattr(client, "_pause", lambda response, tries: 0.01)
    found = Scripted()
    thread = threading.Thread(target=found.server.serve_forever, args=(0.01,))
    thread.start()
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


def through_a_loop(*args: Any, **options: Any) -> Any:
    return asyncio.run(judge_async(*args, **options))


BOTH = pytest.mark.parametrize("ask", [judge, through_a_loop])
Ask = Callable[..., Any]


@BOTH
def test_a_verdict_comes_back_with_the_tag_and_the_token_goes_along(ask: Ask, scripted: Scripted) -> None:
    scripted.answers = [(200, {}, DONE)]
    answer = ask("text", "relu", settings={"precision": "fp16"}, tag="mine", url=scripted.url, token="secret")
    assert (answer["summary"], answer["tag"]) == (CORRECT, "mine")
    method, path, body, authorization = scripted.asked[0]
    assert (method, path.partition("?")[0], authorization) == ("POST", "/v1/judgements", "Bearer secret")
    assert (body["submission"], body["problem"], body["settings"]) == ("text", "relu", {"precision": "fp16"})


@BOTH
def test_it_waits_for_the_judgement_that_the_server_named(ask: Ask, scripted: Scripted) -> None:
    scripted.answers = [(202, {}, QUEUED), (202, {}, QUEUED), (200, {}, DONE)]
    assert ask("text", "relu", url=scripted.url)["state"] == "done"
    assert [(method, path.partition("?")[0]) for method, path, _, _ in scripted.asked] == [
        ("POST", "/v1/judgements"),
        ("GET", "/v1/judgements/j1"),
        ("GET", "/v1/judgements/j1"),
    ]


@BOTH
def test_what_may_pass_is_tried_again(ask: Ask, scripted: Scripted) -> None:
    busy = {"Retry-After": "1"}
    scripted.answers = [None, (429, busy, {}), (503, busy, {}), (202, {}, QUEUED), None, (404, {}, {}), (200, {}, DONE)]
    assert ask("text", "relu", url=scripted.url)["summary"] == CORRECT
    assert [method for method, *_ in scripted.asked] == ["POST"] * 4 + ["GET"] * 2 + ["POST"]


@BOTH
@pytest.mark.parametrize("state", ["fault", "expired", "cancelled"])
def test_what_is_no_verdict_is_an_exception_and_never_an_answer(ask: Ask, scripted: Scripted, state: str) -> None:
    scripted.answers = [(200, {}, {**DONE, "state": state, "reason": "the disk is full", "summary": None})]
    with pytest.raises(NoVerdict, match=f"{state}: the disk is full"):
        ask("text", "relu", url=scripted.url)


@BOTH
@pytest.mark.parametrize("status", [401, 403, 413, 422])
def test_a_refusal_is_not_tried_again(ask: Ask, scripted: Scripted, status: int) -> None:
    scripted.answers = [(status, {}, {"detail": "no such problem"})]
    with pytest.raises(NoVerdict, match=rf"{status} .*no such problem"):
        ask("text", "relu", url=scripted.url)
    assert len(scripted.asked) == 1


@BOTH
def test_the_deadline_bounds_all_tries_together(ask: Ask, scripted: Scripted) -> None:
    scripted.answers = [(503, {}, {})]
    with pytest.raises(NoVerdict, match=r"no verdict within 0\.5 s; the last answer: 503"):
        ask("text", "relu", deadline_s=0.5, url=scripted.url)


def test_an_infrastructure_record_is_no_verdict_whatever_its_state(scripted: Scripted) -> None:
    scripted.answers = [(200, {}, {**DONE, "summary": {**WRONG, "kind": "infrastructure"}})]
    with pytest.raises(NoVerdict):
        judge("text", "relu", url=scripted.url)


def test_many_come_as_they_finish_and_one_fault_ends_no_other(scripted: Scripted) -> None:
    scripted.answers = [(200, {}, {**DONE, "state": "fault"}), (200, {}, DONE)]
    found = dict(judge_many([(f"text {n}", "relu") for n in range(10)], concurrency=3, url=scripted.url))
    assert sorted(found) == list(range(10))
    assert sum(isinstance(answer, NoVerdict) for answer in found.values()) == 1


PAGE = b"<html><body>502 Bad Gateway</body></html>"
OTHERS_RECORD = {"submission": {"sha256": hashlib.sha256(b"another text").hexdigest()}}
NO_ANSWERS = [
    PAGE,
    b"",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"id": ' + b"9" * 10_000 + b"}",
    ["j1"],
    "done",
    None,
    {"status": "ok"},
    {**DONE, "state": "finished"},
    {**DONE, "id": 7},
    {**DONE, "summary": None},
    {**DONE, "summary": []},
    {**DONE, "summary": {"kind": "correct"}},
    {**DONE, "summary": {**CORRECT, "correct": False}},
    {**DONE, "summary": {**CORRECT, "speedup": {"value": float("nan")}}},
    {**DONE, "record": None},
    {**DONE, "record": OTHERS_RECORD},
]


@BOTH
@pytest.mark.parametrize("said", NO_ANSWERS)
def test_a_200_that_is_no_answer_is_tried_again_and_in_the_end_no_verdict(
    ask: Ask, scripted: Scripted, said: Any
) -> None:
    scripted.answers = [(200, {}, said), (200, {}, said), (200, {}, DONE)]
    assert ask("text", "relu", url=scripted.url)["summary"] == CORRECT
    assert len(scripted.asked) == 3
    scripted.answers = [(200, {}, said)]
    with pytest.raises(NoVerdict, match="no verdict within"):
        ask("text", "relu", deadline_s=0.1, url=scripted.url)


def test_the_answer_on_another_judgement_is_none(scripted: Scripted) -> None:
    scripted.answers = [(202, {}, QUEUED), (200, {}, {**DONE, "id": "j2"}), (200, {}, DONE)]
    assert judge("text", "relu", url=scripted.url)["id"] == "j1"
    assert len(scripted.asked) == 3


def test_what_is_looked_up_and_is_no_answer_is_a_connection_error(scripted: Scripted) -> None:
    looks: list[Callable[[], Any]] = [
        lambda: client.problems(url=scripted.url),
        lambda: client.problem("relu", url=scripted.url),
        lambda: client.judgement("j1", url=scripted.url),
    ]
    for said in (PAGE, 3):
        scripted.answers = [(200, {}, said)]
        for look in looks:
            with pytest.raises(ConnectionError, match="no server of judgements"):
                look()


class Speaking:
    """A server that says each of these pieces, with a pause after it, on every connection; `left`: a client has gone
    before it had them all.
    """

    def __init__(self, pieces: list[bytes], pause_s: float = 0.0) -> None:
        self.left = threading.Event()
        self._pieces, self._pause_s = pieces, pause_s
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._speak, args=(connection,), daemon=True).start()

    def _speak(self, connection: socket.socket) -> None:
        with connection:
            connection.recv(1 << 16)
            try:
                for piece in self._pieces:
                    connection.sendall(piece)
                    threading.Event().wait(self._pause_s)
            except OSError:
                self.left.set()

    def __enter__(self) -> "Speaking":
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()


HEAD = b"HTTP/1.1 200 OK\r\n"


@BOTH
@pytest.mark.parametrize(
    "pieces",
    [[b"H"] * 5000, [HEAD] + [b"a: b\r\n"] * 5000, [HEAD + b"Content-Length: 5000\r\n\r\n"] + [b" "] * 5000],
    ids=["no line", "no end of headers", "no end of the body"],
)
def test_a_server_that_drips_holds_nobody_beyond_the_deadline(ask: Ask, pieces: list[bytes]) -> None:
    """All of it would take minutes, and no read of it waits for long."""
    with Speaking(pieces, pause_s=0.05) as server:
        with pytest.raises(NoVerdict, match="no connection"):
            ask("text", "relu", deadline_s=0.6, url=server.url)
        assert server.left.wait(60)


@BOTH
def test_an_answer_without_an_end_is_not_kept(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LARGEST_ANSWER", 1 << 20)
    with Speaking([HEAD + b"\r\n"] + [b" " * (1 << 16)] * 5000) as server:
        with pytest.raises(NoVerdict, match="no connection"):
            ask("text", "relu", deadline_s=0.5, url=server.url)
        assert server.left.wait(60)


@BOTH
def test_an_answer_is_read_however_its_length_is_told(ask: Ask) -> None:
    record = {"submission": {"sha256": hashlib.sha256(b"text").hexdigest()}}
    body = json.dumps({**DONE, "record": record}).encode()
    half = len(body) // 2
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:half], body[half:], b""))
    for told in (
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks],
        [HEAD + b"\r\n" + body],
        [HEAD + b"content-length:%d\r\n\r\n" % len(body), body, b""],
    ):
        with Speaking(told) as server:
            assert ask("text", "relu", url=server.url)["summary"] == CORRECT


@BOTH
def test_an_answer_that_is_broken_off_is_none(ask: Ask) -> None:
    for told in (b"Content-Length: 500\r\n\r\n{}", b"Transfer-Encoding: chunked\r\n\r\n5\r\n{}", b"\r\n" + b'{"id"'):
        with Speaking([HEAD + told]) as server, pytest.raises(NoVerdict, match="no verdict within"):
            ask("text", "relu", deadline_s=0.1, url=server.url)


def test_a_token_that_no_header_takes_is_said() -> None:
    for token in ("a\r\nX: y", "ä"):
        with pytest.raises(ValueError, match="printable ASCII"):
            judge("text", "relu", token=token)


def test_the_pause_is_what_the_server_asks_for_or_longer_and_grows_without_its_word() -> None:
    asked = client.Response(429, {"retry-after": "4"}, b"")
    assert all(4 <= client._pause(asked, 0) <= 6 for _ in range(50))
    assert all(client._pause(None, 50) <= client.LONGEST_PAUSE_S for _ in range(50))
    assert len({client._pause(None, 3) for _ in range(20)}) > 1


@pytest.mark.parametrize(
    "said", ["nan", "-1", "-inf", "0", "1e-300", "1e9", "inf", "", "soon", "Wed, 21 Oct 2099 07:28:00 GMT"]
)
def test_no_word_of_a_server_makes_a_client_ask_without_end_or_sleep_for_ever(said: str) -> None:
    pauses = [client._pause(client.Response(429, {"retry-after": said}, b""), tries) for tries in range(100)]
    assert min(pauses) >= client.AT_ONCE_S
    assert max(pauses) <= 1.5 * client.LONGEST_PAUSE_S


@pytest.mark.parametrize(
    ("summary", "profile", "cap", "expected"),
    [
        (CORRECT, "correct", None, 1.0),
        (CORRECT, "speedup", None, 2.0),
        (CORRECT, "speedup", 1.5, 1.5),
        ({**CORRECT, "speedup": {"value": 90.0}}, "speedup", None, 10.0),
        (CORRECT, "kevin", None, 2.3),
        (CORRECT, "kevin", 1.0, 1.3),
        ({**CORRECT, "speedup": None}, "kevin", None, 0.3),
        ({**CORRECT, "speedup": None}, "speedup", None, 0.0),
        (WRONG, "kevin", None, 0.0),
        ({**WRONG, "kind": "rejected"}, "correct", None, 0.0),
    ],
)
def test_a_reward_is_as_its_profile_says(summary: Any, profile: Any, cap: float | None, expected: float) -> None:
    assert reward(summary, profile=profile, cap=cap) == pytest.approx(expected)


@pytest.mark.parametrize("summary", [None, {}, {**WRONG, "kind": "infrastructure"}, {**CORRECT, "kind": "fault"}])
def test_what_is_no_verdict_has_no_reward(summary: Any) -> None:
    with pytest.raises(NoVerdict):
        reward(summary)


def test_a_profile_that_is_none_is_said() -> None:
    with pytest.raises(ValueError, match="there is no profile 'best'"):
        reward(CORRECT, profile="best")  # type: ignore[arg-type]


def test_the_file_alone_is_enough_and_loads_nothing_but_the_standard_library(tmp_path: Path) -> None:
    shutil.copy(Path(client.__file__), tmp_path / "harness_client.py")
    code = (
        "import harness_client, sys\n"
        "outside = {name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names\n"
        "print(sorted(outside & {'torch', 'pydantic', 'click', 'harness', 'numpy'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
