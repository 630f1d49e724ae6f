"""Asking a server for many answers at once: so many in flight, tried again with patience, each kept as it comes."""

import asyncio
import contextlib
import functools
import hashlib
import json
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from harness.errors import HarnessError, InputError, MachineError
from harness.generate.apis import APIS, Json
from harness.generate.client import Heard, Trouble, hear, open_client
from harness.generate.folder import GenerationFolder
from harness.schema import Problem
from harness.schema.base import Sha256
from harness.schema.generation import Attempt, Generation, GenerationSettings, Message

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ATTEMPTS = 6
"""So often is one request sent while the server or the way to it fails."""
PATIENCE_S = 3600.0
"""So long is one request put off, in all, by a server that says when to come back, or that is asked too often."""
FAULTS_IN_A_ROW = 10
"""So many requests without an answer and none answered between them, and the next would meet the same."""
_SHORTEST_SECRET = 8  # a shorter one ("none", "x") is a placeholder for servers that want no key
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 60.0
_DEEPEST = 100
"""Levels of a server's JSON that are kept: pydantic writes some 255, and reads no more than 200 back."""


@dataclass(frozen=True)
class Ask:
    """One answer that is wanted: what for, and the whole conversation up to it."""

    problem: Problem
    sample: int
    messages: tuple[Message, ...]
    turn: int = 0
    parent: Sha256 | None = None

    @property
    def name(self) -> str:
        """For a person to read."""
        turn = f", turn {self.turn + 1}" if self.turn else ""
        return f"{self.problem.title} sample {self.sample}{turn}"


@dataclass(frozen=True)
class Server:
    """Where to ask: the base URL of the API, the key, and the seconds that one answer may take.

    The key is in no repr, no file and no message.
    """

    base_url: str
    key: str
    deadline_s: float

    def __repr__(self) -> str:
        return f"Server({self.base_url})"


class Watcher:
    """Hears how the asking is getting on; this one ignores it. Called on the thread that asks, `asked` on any."""

    def asked(self, ask: Ask) -> None:
        """An answer is wanted."""

    def answered(self, ask: Ask, generation: Generation) -> None:
        """An answer came and is kept."""

    def waiting(self, ask: Ask, attempt: Attempt) -> None:
        """A request brought no answer, and is sent again after a while."""

    def unanswered(self, ask: Ask, detail: str) -> None:
        """There will be no answer in this start."""


class Asking:
    """Answers for what is `put`, until `end` was said and nothing is left. One `run` each; `put` and `end` may be
    called from any thread, before and during it.
    """

    def __init__(
        self,
        settings: GenerationSettings,
        server: Server,
        folder: GenerationFolder,
        *,
        concurrency: int,
        watcher: Watcher,
    ) -> None:
        self._settings, self._server, self._folder = settings, server, folder
        self._concurrency, self._watcher = concurrency, watcher
        self._inbox: asyncio.Queue[Ask | None] = asyncio.Queue()
        self._stopping = asyncio.Event()
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: asyncio.Task[Any] | None = None
        self._fault: HarnessError | None = None
        self._faults_in_a_row = 0

    def put(self, ask: Ask) -> None:
        """One more that is wanted."""
        self._watcher.asked(ask)
        self._from_any_thread(lambda: self._inbox.put_nowait(ask))

    def end(self) -> None:
        """No more will be put."""
        self._from_any_thread(lambda: self._inbox.put_nowait(None))

    def abandon(self) -> None:
        """Ask for nothing more, and wait for no answer."""
        self._from_any_thread(self._abandon)

    def _abandon(self) -> None:
        self._stop()
        if self._running is not None:
            self._running.cancel()

    def _stop(self) -> None:
        """Ask for nothing more; what is being answered is heard out."""
        self._stopping.set()
        self._inbox.put_nowait(None)  # wakes a worker that waits

    def _from_any_thread(self, action: Callable[[], None]) -> None:
        with self._starting:
            if self._loop is None:
                action()
                return
        with contextlib.suppress(RuntimeError):  # the loop is closed: all is over, nothing is there to be told
            self._loop.call_soon_threadsafe(action)

    async def run(self) -> None:
        """Ask for everything. Raises InputError where the server refuses the key, MachineError where it is silent,
        and what keeping an answer raises.
        """
        with self._starting:
            self._loop, self._running = asyncio.get_running_loop(), asyncio.current_task()
        async with open_client(self._server.base_url, self._server.key) as client:
            await asyncio.gather(*(self._work(client) for _ in range(self._concurrency)))
        if self._fault is not None:
            raise self._fault

    async def _work(self, client: "AsyncOpenAI") -> None:
        while (ask := await self._next()) is not None:
            try:
                await self._settle(client, ask)
            except HarnessError as fault:
                self._fault = self._fault or fault
                self._stop()

    async def _next(self) -> Ask | None:
        """The next ask; None where there will be none."""
        ask = await self._inbox.get()
        if ask is None or self._stopping.is_set():
            self._inbox.put_nowait(None)  # for the next worker
            return None
        return ask

    async def _settle(self, client: "AsyncOpenAI", ask: Ask) -> None:
        body = APIS[self._settings.api].body(ask.messages, self._settings, self._server.base_url)
        asked_at = datetime.now(UTC).isoformat(timespec="seconds")
        attempts: list[Attempt] = []
        try:
            heard = await self._heard(client, ask, body, attempts)
        except Trouble as trouble:
            self._give_up(ask, trouble)
            return
        if heard is None:
            return
        generation = self._generation(ask, body, heard, attempts, asked_at)
        await asyncio.to_thread(self._folder.keep, generation)
        self._faults_in_a_row = 0
        self._watcher.answered(ask, generation)

    async def _heard(self, client: "AsyncOpenAI", ask: Ask, body: Json, attempts: list[Attempt]) -> Heard | None:
        """The answer, however often it takes; None where we were stopped meanwhile. Raises Trouble in the end."""
        faults, put_off_s = 0, 0.0
        while not self._stopping.is_set():
            try:
                return await hear(client, APIS[self._settings.api], body, deadline_s=self._server.deadline_s)
            except Trouble as trouble:
                faults += trouble.hope == "again"
                wait_s = _wait_s(trouble, len(attempts))
                put_off_s += wait_s if trouble.hope == "later" or trouble.retry_after_s is not None else 0.0
                if trouble.hope in ("never", "stop") or faults >= ATTEMPTS or put_off_s > PATIENCE_S:
                    raise
                attempts.append(Attempt(status=trouble.status, detail=self._shown(trouble), waited_s=round(wait_s, 3)))
                self._watcher.waiting(ask, attempts[-1])
                await self._sleep(wait_s)
        return None

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return

    def _give_up(self, ask: Ask, trouble: Trouble) -> None:
        """Say that this is not answered. Raises where no other would be."""
        detail = self._shown(trouble)
        if trouble.hope == "stop":
            raise InputError(
                f"{self._server.base_url} lets nobody in ({detail}): see the model's name, the key and the account, "
                "then give the same command again; what was answered is kept"
            )
        self._watcher.unanswered(ask, detail)
        self._faults_in_a_row += 1
        if self._faults_in_a_row >= FAULTS_IN_A_ROW:
            raise MachineError(
                f"{self._server.base_url} left {self._faults_in_a_row} requests in a row without an answer, the last "
                f"because: {detail}. Mend that and give the same command again; what was answered is kept"
            )

    def _shown(self, trouble: Trouble) -> str:
        return str(cleaned(trouble.detail, secret=self._server.key))

    def _generation(self, ask: Ask, body: Json, heard: Heard, attempts: Sequence[Attempt], asked_at: str) -> Generation:
        reply = heard.reply

        def clean(value: JsonValue) -> Any:
            return cleaned(value, secret=self._server.key)

        text = clean(reply.text)
        return Generation(
            problem=ask.problem.title,
            problem_sha256=ask.problem.sha256,
            sample=ask.sample,
            turn=ask.turn,
            parent=ask.parent,
            model=self._settings.model,
            answered_by=clean(reply.answered_by),
            api=self._settings.api,
            base_url=self._server.base_url,
            prompt_sha256=prompt_sha256(ask.messages),
            request=clean(body),
            response=clean(reply.response),
            outcome=reply.outcome,
            finish_reason=clean(reply.finish_reason),
            text=text,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            usage=reply.usage,
            failed_attempts=tuple(attempts),
            asked_at=asked_at,
            seconds=round(heard.seconds, 3),
            first_token_s=None if heard.first_token_s is None else round(heard.first_token_s, 3),
        )


def cleaned(value: JsonValue, *, secret: str, left: int = _DEEPEST) -> JsonValue:
    """`value` as it may be written: without the key, which servers repeat in their messages, without halves of
    characters, which JSON can say and UTF-8 cannot, and `left` levels deep at the most.
    """
    if isinstance(value, str):
        text = value.encode("utf-8", "backslashreplace").decode()
        return text.replace(secret, "[key]") if len(secret) >= _SHORTEST_SECRET else text
    if not isinstance(value, dict | list):
        return value
    if not left:
        return "[nested too deeply]"
    inside = functools.partial(cleaned, secret=secret, left=left - 1)
    if isinstance(value, dict):
        return {str(inside(name)): inside(item) for name, item in value.items()}
    return list(map(inside, value))


def _wait_s(trouble: Trouble, attempt: int) -> float:
    """What the server asked for and a little more, so that not all come back at once; else twice as long every time."""
    spread = random.uniform(0.5, 1.0)
    if trouble.retry_after_s is not None:
        return trouble.retry_after_s + 0.1 * spread
    return float(min(_FIRST_WAIT_S * 2.0 ** min(attempt, 20), _LONGEST_WAIT_S)) * spread


def prompt_sha256(messages: Sequence[Message]) -> Sha256:
    """One hash over all messages of a prompt."""
    text = json.dumps([[message.role, message.content] for message in messages], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
