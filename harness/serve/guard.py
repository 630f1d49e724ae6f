"""The guard: what is refused before any route sees it. A token, the size and the time of a body, foreign origins."""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

LARGEST_BODY = 1 << 20
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            if scope["path"] not in FREE:
                self._require_permission(scope)
            body = await self._body(scope, receive)
        except Refused as refused:
            await _refuse(refused, send)
            return
        await self._application(scope, _replayed(body, receive), send)

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

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        announced = _headers(scope).get(b"content-length", b"0")
        if not announced.isdigit() or int(announced) > LARGEST_BODY:
            raise Refused(413, f"a body may have {LARGEST_BODY} bytes", Connection="close")
        try:
            async with asyncio.timeout(self._body_s):
                return await _received(receive)
        except TimeoutError:
            raise Refused(408, f"a body may take {self._body_s:g} s", Connection="close") from None


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
