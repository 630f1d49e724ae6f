"""One request to a server: send it, listen until the answer has ended or its time is up, say what went wrong.

Nothing is tried again here; `asking` does that. The openai client is loaded where it is used, it takes half a second.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

from harness.errors import InputError
from harness.generate.apis import DEADLINE, Api, BrokenStream, Fold, Json, Reply
from harness.schema.generation import Usage

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

Hope = Literal[
    "again",  # a fault of the server or of the way to it: try again, a few times
    "later",  # we ask too often: try again for as long as patience lasts
    "never",  # this request will not be answered, others may be
    "stop",  # no request will be answered: the key, the model or the account
]

_STOPPING = {401: "the key is refused", 402: "the account is empty", 403: "it is forbidden", 404: "it is not there"}
_OUT_OF_CREDIT = "insufficient_quota"
_FILTERED = {"content_filter", "content_policy_violation", "invalid_prompt"}
_CLIENTS_FAULT = range(400, 500)
_TRY_AGAIN_CODES = {408, 409, 425, 499}
MOST_BYTES = 256 << 20
"""Of one answer on the wire. A token is an event of some 300 bytes, and no model writes a million of them."""


class Trouble(Exception):
    """A request that brought no answer. `retry_after_s` is what the server asked us to wait, None where it did not."""

    def __init__(self, detail: str, *, hope: Hope, status: int | None = None, retry_after_s: float | None = None):
        super().__init__(detail)
        self.detail, self.hope, self.status, self.retry_after_s = detail, hope, status, retry_after_s


@dataclass(frozen=True)
class Heard:
    """A reply and when it came: seconds from sending to its end and to its first token."""

    reply: Reply
    seconds: float
    first_token_s: float | None


@contextlib.asynccontextmanager
async def open_client(base_url: str, key: str) -> "AsyncIterator[AsyncOpenAI]":
    """A client that neither retries nor gives up by itself. Raises InputError where openai is not installed."""
    try:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient
    except ImportError:
        raise InputError("generating needs the openai package: pip install 'kernel-harness[generate]'") from None
    plain = {"Accept-Encoding": "identity"}  # packed, a few bytes may be any number
    http = DefaultAsyncHttpxClient(event_hooks={"response": [_bound]})
    async with AsyncOpenAI(
        base_url=base_url, api_key=key, max_retries=0, timeout=None, http_client=http, default_headers=plain
    ) as client:
        yield client


class _TooLong(Exception):
    """A body of more bytes than any answer has."""


async def _bound(response: Any) -> None:
    """Have a response end in _TooLong where its body is longer than an answer can be."""
    if (coding := response.headers.get("content-encoding", "identity")) != "identity":
        raise _TooLong(f"it is packed ({coding[:40]}), which was not asked for")
    whole = response.aiter_raw

    async def bounded(*sizes: Any, **named: Any) -> AsyncIterator[bytes]:
        async for part in whole(*sizes, **named):
            if response.num_bytes_downloaded > MOST_BYTES:
                raise _TooLong(f"the answer has more than {MOST_BYTES >> 20} MiB")
            yield part

    response.aiter_raw = bounded


async def hear(client: "AsyncOpenAI", api: Api, body: Json, *, deadline_s: float) -> Heard:
    """Send one request and hear its answer out. An answer that has begun when its time is up is kept as truncated.

    Raises Trouble for everything that is no answer.
    """
    fold = api.fold()
    began = time.monotonic()
    first_token_s: list[float] = []

    async def listen() -> None:
        stream = await api.open(client, body)
        try:
            async for event in stream:
                _feed(fold, event)
                if not first_token_s and fold.started:
                    first_token_s.append(time.monotonic() - began)
        finally:
            await stream.close()

    cut_by = ""
    try:
        try:
            async with asyncio.timeout(deadline_s):
                await _translated(listen)
        except TimeoutError:
            if not fold.started:
                raise Trouble(f"nothing came within {deadline_s:.0f} s", hope="again") from None
            cut_by = DEADLINE
        reply = _reply(fold, cut_by)
    except BrokenStream as broken:
        raise Trouble(str(broken), hope="again") from None
    except _Filtered as filtered:
        reply = filtered.reply
    return Heard(reply, time.monotonic() - began, first_token_s[0] if first_token_s else None)


class _Filtered(Exception):
    """The server declined to pass the prompt on: an answer of a kind."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.finish_reason)
        self.reply = reply


async def _translated(listen: Any) -> None:
    """Run `listen`; every way in which the client can fail comes out as Trouble or _Filtered."""
    import openai

    try:
        await listen()
    except openai.APIStatusError as error:
        raise _refused_request(error) from None
    except openai.APIConnectionError as error:
        where = f"{error.request.url.scheme}://{error.request.url.netloc.decode()}"
        raise Trouble(f"no answer from {where}: {_first_line(error.__cause__ or error)}", hope="again") from None
    except openai.APIError as error:  # an error in the middle of a stream
        hope: Hope = "stop" if error.code == _OUT_OF_CREDIT else "again"
        raise Trouble(_first_line(error), hope=hope) from None
    except _TooLong as error:
        raise Trouble(str(error), hope="never") from None
    except _stream_errors() as error:
        raise Trouble(_first_line(error), hope="again") from None


def _feed(fold: Fold, event: Any) -> None:
    """Give one event to the fold. Raises BrokenStream for one that has not the API's shape."""
    with _in_shape():
        # What servers add is not in the client's types, which pydantic would warn of.
        fold.add(event if isinstance(event, dict) else event.to_dict(mode="json", warnings=False))


def _reply(fold: Fold, cut_by: str) -> Reply:
    """What the events were together. Raises BrokenStream where that has not the API's shape."""
    with _in_shape():
        return fold.reply(cut_by=cut_by)


_NO_SHAPE = AttributeError, TypeError, KeyError, ValueError, OverflowError, RecursionError
"""What reading raises of whatever a server may send."""


@contextlib.contextmanager
def _in_shape() -> Iterator[None]:
    try:
        yield
    except _NO_SHAPE as error:
        raise BrokenStream(f"the stream holds what is no event of this API ({error})") from None


def _stream_errors() -> tuple[type[Exception], ...]:
    """What a stream that breaks off raises: JSON or UTF-8 cut in two, or an error of the HTTP library below the client.
    JSON that is nested too deeply to be read is a RecursionError.

    That is httpx up to openai 2, which lets its errors through, and httpx2 from openai 3 on; openai has loaded it.
    """
    libraries = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    theirs = (kind for library in libraries for kind in (library.HTTPError, library.StreamError))
    return ValueError, RecursionError, *theirs


def _refused_request(error: "APIStatusError") -> Exception:
    """What a status that is no success means for this request and for the others."""
    status, detail = error.status_code, f"HTTP {error.status_code}: {_first_line(error)}"
    if status in _STOPPING or error.code == _OUT_OF_CREDIT:
        return Trouble(detail, hope="stop", status=status)
    if error.code in _FILTERED:
        body = error.body if isinstance(error.body, dict) else {}
        return _Filtered(Reply("", "refused", str(error.code), "", Usage(), {"error": body}))
    after = retry_after_s(error.response.headers, now=datetime.now(UTC))
    if status == 429 or (status == 503 and after is not None):
        return Trouble(detail, hope="later", status=status, retry_after_s=after)
    never = status in _CLIENTS_FAULT and status not in _TRY_AGAIN_CODES
    return Trouble(detail, hope="never" if never else "again", status=status, retry_after_s=after)


def retry_after_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """The seconds that a server asks to wait; None where it does not say, or not in a way that can be read.

    `retry-after` is a number of seconds or a date (RFC 9110, section 10.2.3); `retry-after-ms` is OpenAI's and Azure's.
    """
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * unit_s)  # "nan" is no wait
        except (KeyError, ValueError):
            continue
    try:
        return max(0.0, (parsedate_to_datetime(headers["retry-after"]) - now).total_seconds())
    except (KeyError, ValueError, TypeError, OverflowError):  # TypeError: a date without its zone
        return None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
