"""The guard: what is refused before any route sees it. A token, the size and the time of a body, foreign origins."""

import asyncio
import contextlib
import hmac
import json
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

LARGEST_BODY = 1 << 20
LARGEST_TOGETHER = 512 << 20
"""What the bodies of all requests under way may have together, by what they announce."""
BODY_S = 30.0
"""What a caller may take to send its body."""
FREE = frozenset({"/health"})
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Refused(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


class Guard:
    """Stands in front of an application; hands on only whole bodies of callers that may ask."""

    def __init__(self, application: Application, *, token: str, body_s: float = BODY_S) -> None:
        """`token` is "" where every caller that reaches the loopback address may ask."""
        self._application, self._token, self._body_s = application, token.encode(), body_s
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            if scope["path"] in FREE:
                await self._application(scope, _replayed(b"", receive), send)
                return
            self._require_permission(scope)
            with self._room(_announced(scope)):
                body = await self._body(receive)
                await self._application(scope, _replayed(body, receive), send)
        except Refused as refused:
            await _refuse(refused, send)

    def _require_permission(self, scope: Scope) -> None:
        headers = _headers(scope)
        if self._token:
            if not hmac.compare_digest(headers.get(b"authorization", b""), b"Bearer " + self._token):
                raise Refused(401, "a bearer token is wanted", **{"WWW-Authenticate": "Bearer"})
        elif _host(headers) not in LOOPBACK_NAMES:  # a page whose name was made to mean this machine
            raise Refused(403, "without a token only requests to the loopback address are taken")
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if scope["method"] == "POST" and kind != b"application/json":  # a page may send any other without asking
            raise Refused(415, "send application/json")

    @contextlib.contextmanager
    def _room(self, size: int) -> Iterator[None]:
        """Room for a body of this size until its request has ended. Raises Refused where there is none."""
        if self._held + size > LARGEST_TOGETHER:
            headers = {"Retry-After": "5", "Connection": "close"}
            raise Refused(503, "the server holds as much as it may of what it is asked", **headers)
        self._held += size
        try:
            yield
        finally:
            self._held -= size

    async def _body(self, receive: Receive) -> bytes:
        try:
            async with asyncio.timeout(self._body_s):
                return await _received(receive)
        except TimeoutError:
            raise Refused(408, f"a body may take {self._body_s:g} s", Connection="close") from None


def _announced(scope: Scope) -> int:
    """How large a body may get by what its head says. Raises Refused where that is too large."""
    headers = _headers(scope)
    announced = headers.get(b"content-length", b"0")
    if not announced.isdigit() or int(announced) > LARGEST_BODY:
        raise Refused(413, f"a body may have {LARGEST_BODY} bytes", Connection="close")
    return LARGEST_BODY if b"transfer-encoding" in headers else int(announced)


async def _received(receive: Receive) -> bytes:
    """The whole body, however it comes. Raises Refused as soon as it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the body was broken off")
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise Refused(413, f"a body may have {LARGEST_BODY} bytes", Connection="close")
        if not message.get("more_body", False):
            return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def once() -> Message:
        nonlocal given
        if given:
            return await receive()  # whether the caller has left
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once


def _headers(scope: Scope) -> dict[bytes, bytes]:
    return dict(scope["headers"])


def _host(headers: dict[bytes, bytes]) -> str:
    host = headers.get(b"host", b"").decode("latin-1").lower()
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


async def _refuse(refused: Refused, send: Send) -> None:
    content = json.dumps({"detail": refused.detail}).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), **refused.headers}
    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": pairs})
    await send({"type": "http.response.body", "body": content})
