"""Spare workers: started, and given a context of the device, before it is known what they will run.

A context takes 0.4 s (H200, November 2026), longer than most candidates are checked. No candidate's code is in a spare
one. They start while a candidate is checked, and are done before anything is timed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass

from harness.judge.failure import SubjectFailed
from harness.judge.worker_conversation import Conversation
from harness.sandbox import Policy, Worker
from harness.transport.worker_messages import OpenDevice

_DONE_S = 10.0
"""What is waited for spare workers before something is timed. One that needs longer is ended."""

Started = tuple[Worker, Conversation]
Start = Callable[[Policy], AbstractContextManager[Started]]


@dataclass(frozen=True)
class _Spare:
    """A worker, by its policy; `end` ends it."""

    policy: Policy
    worker: Worker
    conversation: Conversation
    end: Callable[[], None]

    def is_ready(self) -> bool:
        """Whether it listens and has its context, which is waited for."""
        try:
            self.conversation.expect_ready(seconds=_DONE_S)
        except SubjectFailed:
            return False
        return True


class SpareWorkers:
    """Those of one judge. `opens` is what each is told first; where that is None there are no spare ones."""

    def __init__(self, start: Start, opens: OpenDevice | None) -> None:
        self._start, self._opens = start, opens
        self._spares: list[_Spare] = []

    def prepare(self, policies: Sequence[Policy]) -> None:
        """Begin to have one for each of these policies, and end all others. Raises SandboxError."""
        missing = list(policies) if self._opens is not None else []
        kept = []
        for spare in self._spares:
            if spare.policy in missing:
                missing.remove(spare.policy)
                kept.append(spare)
            else:
                spare.end()
        self._spares = kept
        self._spares += map(self._begin, missing)

    @contextmanager
    def take(self, policy: Policy) -> Iterator[Started]:
        """A worker for a candidate, a spare one if there is one; leaving the block ends it. Raises SandboxError."""
        spare = next((one for one in self._spares if one.policy == policy), None)
        if spare is not None:
            self._spares.remove(spare)
            if not spare.is_ready():
                spare.end()
                spare = None
        taken = spare or self._begin(policy)
        try:
            yield taken.worker, taken.conversation
        finally:
            taken.end()

    def settle(self) -> None:
        """Wait until none is at anything."""
        for spare in [one for one in self._spares if not one.is_ready()]:
            self._spares.remove(spare)
            spare.end()

    def end(self) -> None:
        """End all."""
        self.prepare([])

    def _begin(self, policy: Policy) -> _Spare:
        with ExitStack() as starting:
            worker, conversation = starting.enter_context(self._start(policy))
            if self._opens is not None:
                with suppress(SubjectFailed):  # of one that died already; it is never ready
                    conversation.begin(self._opens)
            return _Spare(policy, worker, conversation, starting.pop_all().close)
