"""A model server on a real socket that does what a script says: both APIs, streams, limits, failures, silence.

A script is a function from a `Request` to one of the things below; it runs on the thread of its connection. Nothing of
the openai package is used here: what is sent is written out byte by byte.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """What came in. `number` counts all requests from 0, `seen` those before it with the same body."""

    number: int
    seen: int
    path: str
    body: dict[str, Any]
    key: str

    @property
    def messages(self) -> list[dict[str, str]]:
        return self.body["messages" if "messages" in self.body else "input"]

    @property
    def asked(self) -> str:
        return self.messages[-1]["content"]


@dataclass(frozen=True)
class Say:
    """An answer. `cut_after` ends the stream after so many of its pieces, `by` closing or resetting the connection;
    `hang_after` falls silent instead. `pause_s` goes between pieces, `delay_s` before the first.
    """

    text: str = ""
    finish: str | None = "stop"
    refusal: str = ""
    reasoning: str = ""
    usage: dict[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 7, "completion_tokens": 5})
    model: str = "scripted-1"
    pieces: int = 4
    cut_after: int | None = None
    by: str = "close"
    hang_after: int | None = None
    pause_s: float = 0.0
    delay_s: float = 0.0


@dataclass(frozen=True)
class Fail:
    """A status that is no success."""

    status: int
    message: str = "scripted failure"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reset:
    """The connection is reset before a byte is said."""


@dataclass(frozen=True)
class Hang:
    """Nothing is ever said."""


@dataclass(frozen=True)
class Raw:
    """These bytes as a body of events."""

    body: bytes


Act = Say | Fail | Reset | Hang | Raw
Script = Callable[[Request], Act]


class Server:
    """Serves while its `with` block runs. `requests` is all that came in, `most_at_once` how many were under way."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.answered: list[Request] = []
        self.most_at_once = self._at_once = 0
        self._lock = threading.Lock()
        self._seen: dict[str, int] = {}
        self.closing = threading.Event()
        self._http = _Quiet(("127.0.0.1", 0), _handler_of(self))
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> "Server":
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def take(self, path: str, raw: bytes, key: str) -> Request:
        with self._lock:
            seen = self._seen.get(raw.decode(), 0)
            self._seen[raw.decode()] = seen + 1
            request = Request(len(self.requests), seen, path, json.loads(raw), key)
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        return request

    def done(self, request: Request, *, answered: bool) -> None:
        with self._lock:
            self._at_once -= 1
            if answered:
                self.answered.append(request)


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves in the middle is nothing to print."""


def _handler_of(server: Server) -> type[BaseHTTPRequestHandler]:  # noqa: C901  # counts all methods within
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            key = (self.headers["authorization"] or "").removeprefix("Bearer ")
            request = server.take(self.path, raw, key)
            answered = False
            try:
                answered = self._act(request, server.script(request))
            finally:
                server.done(request, answered=answered)

        def _act(self, request: Request, act: Act) -> bool:
            match act:
                case Say():
                    return self._say(request, act)
                case Fail():
                    self._fail(act)
                case Reset():
                    self._reset()
                case Hang():
                    server.closing.wait(60)
                    self.close_connection = True
                case Raw(body=body):
                    self._start()
                    if body:  # an empty chunk would be the end
                        self._chunk(body)
                    self._end()
            return False

        def _say(self, request: Request, say: Say) -> bool:
            time.sleep(say.delay_s)
            self._start()
            events = (_chat_events if "messages" in request.body else _response_events)(say)
            for number, event in enumerate(events):
                if number == say.cut_after:
                    self._cut(say.by)
                    return False
                if number == say.hang_after:
                    server.closing.wait(60)
                    self.close_connection = True
                    return False
                self._chunk(event)
                if say.pause_s:
                    time.sleep(say.pause_s)
            self._end()
            return True

        def _fail(self, fail: Fail) -> None:
            error = {"message": fail.message, "type": "scripted", "code": fail.code, "param": None}
            body = json.dumps({"error": error}).encode()
            self.send_response(fail.status)
            for name, value in (
                {"content-type": "application/json", "content-length": len(body)} | fail.headers
            ).items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(body)

        def _start(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        def _end(self) -> None:
            self.wfile.write(b"0\r\n\r\n")

        def _cut(self, by: str) -> None:
            if by == "end":  # the body ends as a whole one would, the answer does not
                self._end()
            elif by == "reset":
                self._reset()
            else:
                self.close_connection = True

        def _reset(self) -> None:
            """Close with unsent data thrown away, which the other side sees as a reset."""
            self.close_connection = True
            with suppress(OSError):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing goes to stderr."""

    return Handler


def _event(data: dict[str, Any], name: str | None = None) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _pieces(text: str, count: int) -> list[str]:
    step = max(1, -(-len(text) // count))
    return [text[start : start + step] for start in range(0, len(text), step)]


def _chat_events(say: Say) -> list[bytes]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": say.model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return _event(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"reasoning_content": piece}) for piece in _pieces(say.reasoning, 2)]
    events += [chunk({"content": piece}) for piece in _pieces(say.text, say.pieces)]
    events += [chunk({"refusal": piece}) for piece in _pieces(say.refusal, 2)]
    events.append(chunk({}, say.finish))
    if say.usage is not None:
        events.append(_event(head | {"choices": [], "usage": say.usage}))
    return [*events, b"data: [DONE]\n\n"]


def _response_events(say: Say) -> list[bytes]:
    number = iter(range(10_000))

    def event(kind: str, **data: Any) -> bytes:
        return _event({"type": kind, "sequence_number": next(number)} | data, kind)

    usage = say.usage and {
        "input_tokens": say.usage.get("prompt_tokens"),
        "output_tokens": say.usage.get("completion_tokens"),
        "total_tokens": 0,
        "input_tokens_details": {"cached_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 3},
    }
    content: list[dict[str, Any]] = [{"type": "output_text", "text": say.text, "annotations": []}] if say.text else []
    content += [{"type": "refusal", "refusal": say.refusal}] if say.refusal else []
    response = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": say.model, "output": [], "tools": [],
        "parallel_tool_calls": True, "tool_choice": "auto", "status": "in_progress",
    }  # fmt: skip
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    events = [event("response.created", response=response)]
    events += [event("response.output_text.delta", delta=piece, **at) for piece in _pieces(say.text, say.pieces)]
    events += [event("response.refusal.delta", delta=piece, **at) for piece in _pieces(say.refusal, 2)]
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}
    whole = response | {"output": [item], "usage": usage}
    match say.finish:
        case "stop":
            events.append(event("response.completed", response=whole | {"status": "completed"}))
        case "length":
            cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
            events.append(event("response.incomplete", response=whole | cut))
        case "content_filter":
            cut = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
            events.append(event("response.incomplete", response=whole | cut))
        case "error":
            failed = {"status": "failed", "error": {"code": "server_error", "message": "scripted failure"}}
            events.append(event("response.failed", response=whole | failed))
    return events
