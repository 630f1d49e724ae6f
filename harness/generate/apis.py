"""The two APIs: what a request looks like, and how the pieces of a streamed answer become one.

Sources: https://platform.openai.com/docs/api-reference/chat-streaming and
https://platform.openai.com/docs/api-reference/responses-streaming. What servers add of their own, such as
`reasoning_content` (DeepSeek, vLLM, SGLang) or `usage.cost` (OpenRouter), is kept as it comes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import JsonValue

from harness.schema.generation import ApiName, GenerationSettings, Message, Outcome, Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Json = dict[str, JsonValue]

_OPENAI_HOST = "api.openai.com"


class BrokenStream(Exception):
    """A stream that ended, or said something, as no whole answer does. Worth another try."""


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    text: str
    outcome: Outcome
    finish_reason: str
    answered_by: str
    usage: Usage
    response: Json


class Fold(Protocol):
    """Puts a stream's events together."""

    def add(self, event: dict[str, Any]) -> None:
        """Take one event. Raises BrokenStream for one that reports a failure."""

    @property
    def started(self) -> bool:
        """Whether the model has said anything yet, be it in thought."""

    def reply(self, *, cut_by: str = "") -> Reply:
        """The answer. Raises BrokenStream for one that did not end, unless `cut_by` says why we stopped listening."""


@dataclass(frozen=True)
class Api:
    """One of the two. `body` is the whole request; `open` sends it and gives the stream of its events."""

    body: Callable[[Sequence[Message], GenerationSettings, str], Json]
    open: Callable[["AsyncOpenAI", Json], Any]
    fold: Callable[[], Fold]


# ---- chat completions ----------------------------------------------------------------------------------------------


def _chat_body(messages: Sequence[Message], settings: GenerationSettings, base_url: str) -> Json:
    body: Json = {
        "model": settings.model,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.max_tokens is not None:
        # OpenAI's reasoning models refuse the old name, and other servers know no other.
        body["max_completion_tokens" if _OPENAI_HOST in base_url else "max_tokens"] = settings.max_tokens
    return body | settings.parameters


async def _open_chat(client: "AsyncOpenAI", body: Json) -> Any:
    rest = {name: value for name, value in body.items() if name not in ("model", "messages", "stream")}
    create: Any = client.chat.completions.create
    return await create(model=body["model"], messages=body["messages"], stream=True, extra_body=rest)


class _ChatFold:
    """`choices[0].delta` of every chunk in one message: texts and lists are joined, of the rest the last counts."""

    def __init__(self) -> None:
        self._top: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self._rest: dict[str, Any] = {}

    def add(self, event: dict[str, Any]) -> None:
        self._top |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        for choice in event.get("choices") or ():
            self._choice |= {name: value for name, value in choice.items() if name != "delta" and value is not None}
            self._add_delta(choice.get("delta") or {})
        if self._choice.get("finish_reason") == "error":  # OpenRouter's word for a provider that failed on the way
            raise BrokenStream("the server reported an error in the middle of the answer")

    def _add_delta(self, delta: dict[str, Any]) -> None:
        for name, value in delta.items():
            if name == "role":
                self._rest[name] = value
            elif isinstance(value, str):
                self._texts.setdefault(name, []).extend(filter(None, (value,)))
            elif isinstance(value, list) and isinstance(held := self._rest.setdefault(name, []), list):
                held.extend(value)
            elif value is not None:
                self._rest[name] = value

    @property
    def started(self) -> bool:
        return any(self._texts.values())

    def reply(self, *, cut_by: str = "") -> Reply:
        finish = str(self._choice.get("finish_reason") or cut_by)
        if not finish:
            raise BrokenStream("the stream ended before the answer did")
        message = self._rest | {name: "".join(parts) for name, parts in self._texts.items()}
        text, refusal = (_text(message.get(name)) for name in ("content", "refusal"))
        usage = self._top.get("usage") or {}
        return Reply(
            text=text or refusal,
            outcome=_outcome(text, refused=bool(refusal) or finish == "content_filter", finish_reason=finish),
            finish_reason=finish,
            answered_by=str(self._top.get("model") or ""),
            usage=_usage(usage, "prompt_tokens", "completion_tokens"),
            response=self._top | {"choices": [self._choice | {"message": message}]},
        )


# ---- responses -----------------------------------------------------------------------------------------------------


def _responses_body(messages: Sequence[Message], settings: GenerationSettings, base_url: str) -> Json:
    del base_url
    body: Json = {
        "model": settings.model,
        "input": [{"role": message.role, "content": message.content} for message in messages],
        "stream": True,
    }
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.max_tokens is not None:
        body["max_output_tokens"] = settings.max_tokens
    return body | settings.parameters


async def _open_responses(client: "AsyncOpenAI", body: Json) -> Any:
    rest = {name: value for name, value in body.items() if name not in ("model", "input", "stream")}
    create: Any = client.responses.create
    return await create(model=body["model"], input=body["input"], stream=True, extra_body=rest)


class _ResponsesFold:
    """The last event holds the whole response; until it comes, the deltas are what there is."""

    def __init__(self) -> None:
        self._response: dict[str, Any] = {}
        self._ended = False
        self._text: list[str] = []
        self.started = False

    def add(self, event: dict[str, Any]) -> None:
        kind = str(event.get("type") or event.get("event") or "")
        if kind in ("error", "response.failed"):
            raise BrokenStream(f"the server reported an error in the middle of the answer: {_failure(event)}")
        if isinstance(event.get("response"), dict):
            self._response = event["response"]
        self._ended = self._ended or kind in ("response.completed", "response.incomplete")
        if kind.endswith(".delta"):
            self.started = True
        if kind == "response.output_text.delta":
            self._text.append(str(event.get("delta") or ""))

    def reply(self, *, cut_by: str = "") -> Reply:
        if not self._ended and not cut_by:
            raise BrokenStream("the stream ended before the answer did")
        parts = [
            part
            for item in self._response.get("output") or ()
            if item.get("type") == "message"
            for part in item.get("content") or ()
        ]
        text = "".join(part.get("text") or "" for part in parts) or "".join(self._text)
        refusal = "".join(part.get("refusal") or "" for part in parts)
        details = self._response.get("incomplete_details") or {}
        finish = str(details.get("reason") or "completed") if self._ended else cut_by
        response = self._response if self._ended else self._response | {"output_text": text}
        return Reply(
            text=text or refusal,
            outcome=_outcome(text, refused=bool(refusal) or finish == "content_filter", finish_reason=finish),
            finish_reason=finish,
            answered_by=str(self._response.get("model") or ""),
            usage=_usage(self._response.get("usage") or {}, "input_tokens", "output_tokens"),
            response=response,
        )


def _failure(event: dict[str, Any]) -> str:
    error = (event.get("response") or {}).get("error") or event.get("error") or event.get("data") or event
    return (
        str(error.get("message") or error.get("code") or "no reason given") if isinstance(error, dict) else str(error)
    )


# ---- both ----------------------------------------------------------------------------------------------------------

DEADLINE = "deadline"
_CUT_SHORT = {"length", "max_output_tokens", "max_tokens", DEADLINE}


def _text(said: object) -> str:
    """What a model said, "" for nothing. Raises TypeError for what is no text."""
    if not isinstance(said or "", str):
        raise TypeError(f"a text is of type {type(said).__name__}")
    return str(said or "")


def _outcome(text: str, *, refused: bool, finish_reason: str) -> Outcome:
    if finish_reason in _CUT_SHORT:
        return "truncated"
    if refused:
        return "refused"
    return "complete" if text.strip() else "empty"


def _usage(usage: dict[str, Any], prompt: str, completion: str) -> Usage:
    """The counts by the names of either API; what is no number of 64 bits is not a count."""
    details = (usage.get(f"{prompt}_details") or {}, usage.get(f"{completion}_details") or {})
    cost = usage.get("cost")
    return Usage(
        prompt_tokens=_count(usage.get(prompt)),
        completion_tokens=_count(usage.get(completion)),
        reasoning_tokens=_count(details[1].get("reasoning_tokens")),
        cached_tokens=_count(details[0].get("cached_tokens")),
        cost=float(cost) if isinstance(cost, int | float) else None,
    )


_BEYOND = 2**63


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and -_BEYOND <= value < _BEYOND else None


APIS: dict[ApiName, Api] = {
    "chat": Api(_chat_body, _open_chat, _ChatFold),
    "responses": Api(_responses_body, _open_responses, _ResponsesFold),
}
