"""Generation: what was asked of a model and what came back, kept beside the submission that it became."""

from typing import Literal

from pydantic import Field, JsonValue

from harness.schema.base import Frozen, Sha256, Whole
from harness.schema.submission import Submission

Role = Literal["system", "user", "assistant"]
ApiName = Literal["chat", "responses"]
Outcome = Literal[
    "complete",
    "truncated",  # the limit of tokens or our deadline came first
    "refused",  # the model or the server's filter declined
    "empty",  # it ended well and holds nothing
]


class Message(Frozen):
    """One message of a prompt."""

    role: Role
    content: str


class Attempt(Frozen):
    """A request that brought no answer: its HTTP status, where it came so far, and the seconds waited after it."""

    status: int | None
    detail: str
    waited_s: float


class Usage(Frozen):
    """What an answer cost, as the server counted; None where it did not say. `cost` is dollars."""

    prompt_tokens: Whole | None = None
    completion_tokens: Whole | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None


class Generation(Frozen):
    """One answer of a model, with everything that led to it.

    `turn` counts the answers of a conversation from 0; `parent` is the `sha256` of the answer before it. `model` is the
    name that was asked for, `answered_by` the one that the server gave. `request` is the body as it was sent, keys and
    headers apart; `response` the server's whole answer, a stream of chat completions put together into one.
    `prompt_sha256` is over the messages as JSON. `text` is the submission, `sha256` that of its UTF-8. `asked_at` is an
    ISO 8601 time in UTC; `seconds` counts from the request that was answered, `first_token_s` up to its first token.
    """

    schema_version: Literal[1] = 1
    kind: Literal["generation"] = "generation"
    problem: str
    problem_sha256: Sha256
    sample: Whole
    turn: Whole
    parent: Sha256 | None
    model: str
    answered_by: str
    api: ApiName
    base_url: str
    prompt_sha256: Sha256
    request: dict[str, JsonValue]
    response: dict[str, JsonValue]
    outcome: Outcome
    finish_reason: str
    text: str
    sha256: Sha256
    usage: Usage = Usage()
    failed_attempts: tuple[Attempt, ...] = ()
    asked_at: str
    seconds: float
    first_token_s: float | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt, as the request holds it."""
        sent = self.request["messages" if self.api == "chat" else "input"]
        return tuple(Message.model_validate(message) for message in sent) if isinstance(sent, list) else ()

    def submission(self, path: str) -> Submission:
        """The answer as something to judge. `path` is how a batch names it."""
        return Submission(
            path=path,
            sha256=self.sha256,
            text=self.text,
            problem=self.problem,
            sample=self.sample,
            model=self.model,
            turn=self.turn,
            parent=self.parent,
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
        )

    @property
    def key(self) -> tuple[str, int, int]:
        """What a run of one model resumes by: problem, sample and turn."""
        return self.problem, self.sample, self.turn


class GenerationSettings(Frozen):
    """What decides a prompt and its sampling, settled once for a model in a run.

    `templates_sha256` is over the templates as they were read; `hardware` is empty where the prompt states no device.
    `parameters` go into the request's body as they are.
    """

    schema_version: Literal[1] = 1
    model: str
    api: ApiName = "chat"
    variant: str = "one-shot"
    language: str = "cuda"
    precision: str = "fp32"
    hardware: str = ""
    templates_sha256: Sha256
    temperature: float | None = None
    max_tokens: int | None = None
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
