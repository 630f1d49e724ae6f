"""Spare workers: started, and given a context of the device, before it is known what they will run.

A context takes 0.4 s (H200, November 2026), longer than most candidates are checked. No candidate's code is in a spare
one. They start while a candidate is checked, in a batch once the one before was timed, and are done before anything is
timed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass

from harness import logs
from harness.errors import HarnessError, SandboxError
from harness.judge.failure import SubjectFailed
from harness.judge.worker_conversation import Conversation
from harness.sandbox import Policy, Worker
from harness.transport.worker_messages import DeviceOpened, OpenDevice

_log = logs.logger("judge")
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

    def is_ready(self, again: OpenDevice | None = None) -> bool:
        """Whether it listens and has its context, which is waited for.

        And, asked that `again`, answers: it may have died since it was ready, and what it said then is still there.
        """
        try:
            self.conversation.expect_ready(seconds=_DONE_S)
            if again is not None:
                self.conversation.ask(again, DeviceOpened, seconds=_DONE_S)
        except (SubjectFailed, HarnessError) as failed:
            _log.info("a spare worker is not ready: %s", failed)
            return False
        return True

    def let_go(self) -> None:
        """End it. Where that fails nobody waits for it."""
        try:
            self.end()
        except HarnessError as error:
            _log.warning("a spare worker did not end: %s", error)


class SpareWorkers:
    """Those of one judge. `opens` is what each is told first; where that is None there are no spare ones."""

    def __init__(self, start: Start, opens: OpenDevice | None) -> None:
        self._start, self._opens = start, opens
        self._spares: list[_Spare] = []

    def prepare(self, policies: Sequence[Policy]) -> None:
        """Begin to have one for each of these policies, and end all others."""
        missing = list(policies) if self._opens is not None else []
        before, self._spares = self._spares, []
        for spare in before:
            if spare.policy in missing:
                missing.remove(spare.policy)
                self._spares.append(spare)
            else:
                spare.let_go()
        try:
            self._spares += map(self._begin, missing)
        except SandboxError as error:  # which whoever needs one meets too
            _log.info("no spare worker: %s", error)

    @contextmanager
    def take(self, policy: Policy) -> Iterator[Started]:
        """A worker for a candidate, a spare one if there is one; leaving the block ends it. Raises SandboxError."""
        taken = self._taken(policy) or self._begin(policy)
        try:
            yield taken.worker, taken.conversation
        finally:
            taken.end()

    def settle(self) -> None:
        """Wait until none is at anything."""
        before, self._spares = self._spares, []
        for spare in before:
            if spare.is_ready():
                self._spares.append(spare)
            else:
                spare.let_go()

    def end(self) -> None:
        """End all."""
        self.prepare([])

    def _taken(self, policy: Policy) -> _Spare | None:
        """The spare one of this policy, if there is one that answers."""
        spare = next((one for one in self._spares if one.policy == policy), None)
        if spare is None:
            return None
        self._spares.remove(spare)
        if spare.is_ready(self._opens):
            return spare
        spare.let_go()
        return None

    def _begin(self, policy: Policy) -> _Spare:
        with ExitStack() as starting:
            worker, conversation = starting.enter_context(self._start(policy))
            if self._opens is not None:
                with suppress(SubjectFailed):  # of one that died already; it is never ready
                    conversation.begin(self._opens)
            return _Spare(policy, worker, conversation, starting.pop_all().close)
