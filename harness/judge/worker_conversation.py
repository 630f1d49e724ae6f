"""A conversation with one sandboxed worker: ask, answer its builds, and turn whatever goes wrong into data."""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from harness.errors import ProtocolError
from harness.judge.failure import RaceFound, SubjectFailed
from harness.sandbox import Cause, Exit, Freezer, Policy, Worker, Zygote
from harness.schema.base import Frozen
from harness.schema.build import Artifact, BuildFailure, BuildRequest
from harness.schema.verdict import Reason
from harness.transport import Channel, Closed, Frame, Late
from harness.transport.channel import parsed, text_of
from harness.transport.memory import may_read_process, sealed_copy
from harness.transport.worker_messages import (
    ANSWER,
    DONE,
    Answer,
    Build,
    Built,
    DeviceOpened,
    Done,
    Go,
    OpenDevice,
    Raised,
    Ready,
)

M = TypeVar("M", bound=Frozen)
BuildAnswer = Callable[[BuildRequest], Artifact | BuildFailure]

_EXIT_S = 5.0  # how long a worker that hung up may take until its supervisor has told how it ended
MAX_BUILDS = 32  # extensions of one candidate
MAX_BUILDS_S = 1200.0  # of their own that they may have taken together before another is begun
MOST_BUILT_BYTES = 512 << 20
"""Shared objects of one candidate together: copies lie in its socket until it reads them, where nothing counts them."""
_LONGEST_REQUEST = 8 << 20  # bytes of a build request
_LOG = 1 << 20  # characters that are kept of a log


WORKER_ENTRY = "harness.worker.serve:main"
_START_S = 30.0  # what a worker may take from its fork until it listens
_ANSWER_S, _LEAST_ANSWER_S = 60.0, 1.0
"""What an answer may take that is asked for without a deadline of its own, and at least where all may take so long."""


class BuildRefused(SubjectFailed):
    """An extension of the candidate did not build."""

    def __init__(self, failure: BuildFailure) -> None:
        reason: Reason = failure.reason  # where a worker tells of it, what it says is as long as it likes
        super().__init__(reason, _first_line(failure.detail), failure.log[-_LOG:])
        self.failure = failure


class Conversation:
    """The judge's (or the builder's) side of the wire to one worker.

    `build` answers the candidate's build requests; time spent in it does not count against a deadline. Every method
    raises `SubjectFailed` where the worker does not answer as it should; the worker is then dead or to be killed.
    """

    def __init__(self, worker: Worker, channel: Channel, build: BuildAnswer) -> None:
        self._worker, self._channel, self._build = worker, channel, build
        self._builds, self._builds_s, self._built_bytes = 0, 0.0, 0
        self._answers_s, self._answers_left_s = math.inf, math.inf
        self._is_ready, self._opens_device = False, False
        self.could_be_read = False
        """Whether the worker's memory could be read before any code of a candidate ran in it."""

    @property
    def pid(self) -> int:
        return self._worker.pid

    def freezer(self) -> Freezer:
        """What stops the worker's tasks, and resumes them."""
        return self._worker.freezer()

    def end(self) -> None:
        """End the worker, and wait until nothing of it is left."""
        self._end()

    def begin(self, request: OpenDevice) -> None:
        """Have the worker do that as soon as it listens. `expect_ready` waits for it."""
        self._send(text_of(request), (), time.monotonic() + _START_S, _START_S, "starting")
        self._opens_device = True

    def expect_ready(self, *, seconds: float = _START_S) -> None:
        """Wait until the worker listens, and has done what it was to begin with; at once where it has."""
        if self._is_ready:
            return
        deadline = time.monotonic() + seconds
        self._answer(Ready, deadline, seconds, "starting")
        self.could_be_read = may_read_process(self._worker.pid)
        if self._opens_device:
            self._answer(DeviceOpened, deadline, seconds, "opening its device")
        self._is_ready = True

    def limit_answers(self, seconds: float) -> None:
        """Have all answers that are asked for without a deadline of their own take at most so long together.

        Each takes next to nothing, and there are hundreds: the device is held meanwhile.
        """
        self._answers_s = self._answers_left_s = seconds

    def ask(
        self,
        request: Frozen,
        kind: type[M],
        *,
        seconds: float | None = None,
        why: str = "",
        descriptors: Sequence[int] = (),
    ) -> M:
        """Send a request and wait at most `seconds` for its answer, a message of `kind`; `why` says how they came
        about. None is a minute, or what is left of that for all such answers (`limit_answers`).
        """
        started = time.monotonic()
        if seconds is None:
            left_s = max(self._answers_left_s, _LEAST_ANSWER_S)
            why = f"the last of {self._answers_s:g} s for all answers between calls" if left_s < _ANSWER_S else why
            answer = self._asked(request, kind, min(left_s, _ANSWER_S), why, descriptors)
            self._answers_left_s -= time.monotonic() - started
            return answer
        return self._asked(request, kind, seconds, why, descriptors)

    def _asked(self, request: Frozen, kind: type[M], seconds: float, why: str, descriptors: Sequence[int]) -> M:
        said = str(getattr(request, "say", ""))
        during = f"{said}: {why}" if why else said
        deadline = time.monotonic() + seconds
        self._send(text_of(request), descriptors, deadline, seconds, during)
        return self._answer(kind, deadline, seconds, during)

    def ask_round(
        self,
        request: Go,
        *,
        seconds: float,
        why: str = "",
        descriptors: Sequence[int] = (),
        spin_s: float = 0.0,
        stop: Callable[[], None] = lambda: None,
    ) -> Done:
        """Have a round called and wait for its end, awake for the first `spin_s`. `why` says how `seconds` came about.

        `stop` is called as soon as the last byte of `Done` has been read, before anything of it is looked at.
        """
        during = f"go: {why}" if why else "go"
        deadline = self._begin(text_of(request), descriptors, seconds, during)
        return self._done(len(request.slots), deadline, seconds, during, stop, spin_s=spin_s)

    def last_step(self, *, seconds: float, stop: Callable[[], None]) -> Done:
        """The `Done` of the last of the calls that came by a page (`Steps`); `stop` is as in `ask_round`."""
        return self._done(1, time.monotonic() + seconds, seconds, "steps", stop)

    def attend(self, deadline: float, seconds: float, why: str) -> float:
        """Answer a build that is asked for in a call that came by a page; the deadline, by what that took later.

        Raises SubjectFailed where the worker says something else, or is late.
        """
        if self._channel.is_quiet() and time.monotonic() < deadline:
            return deadline
        during = f"step: {why}" if why else "step"
        message = self._message(self._frame(deadline, seconds, during))
        if not isinstance(message, Build):
            raise SubjectFailed("protocol", f"answered {message.say!r} while {during}", self._end().log)
        return self._answer_build(message, deadline, seconds, during)

    def _begin(self, text: bytes, descriptors: Sequence[int], seconds: float, during: str) -> float:
        """Have a worker that has said nothing since do what a clock sees; the deadline for its answer."""
        if not self._channel.is_quiet():
            raise SubjectFailed("protocol", "said something before it was asked", self._end().log)
        self._send(text, descriptors, time.monotonic() + seconds, seconds, during)
        return time.monotonic() + seconds

    def _done(
        self,
        calls: int,
        deadline: float,
        seconds: float,
        during: str,
        stop: Callable[[], None],
        *,
        spin_s: float = 0.0,
    ) -> Done:
        """The `Done` of so many calls."""
        while True:
            frame = self._frame(deadline, seconds, during, spin_s)
            if frame.text.startswith(DONE):
                stop()
                with self._protocol():
                    return Done.unpacked(frame.text, calls)
            message = self._message(frame)
            if not isinstance(message, Build):
                raise SubjectFailed("protocol", f"answered {message.say!r} while {during}", self._end().log)
            deadline = self._answer_build(message, deadline, seconds, during)

    def _send(self, text: bytes, descriptors: Sequence[int], deadline: float, seconds: float, during: str) -> None:
        """Hand over a message, which the worker has to read in its own time: else it ends there."""
        try:
            self._channel.send_text(text, descriptors, deadline=deadline)
        except Closed:
            raise self._died() from None
        except Late:
            exit_ = self._end()
            raise SubjectFailed(
                "timeout", f"did not read what it was told within {seconds:g} s ({during})", exit_.log
            ) from None

    def _answer(self, kind: type[M], deadline: float, seconds: float, during: str) -> M:
        while True:
            message = self._message(self._frame(deadline, seconds, during))
            if isinstance(message, Build):
                deadline = self._answer_build(message, deadline, seconds, during)
                continue
            if not isinstance(message, kind):
                raise SubjectFailed("protocol", f"answered {message.say!r} while {during}", self._end().log)
            return message

    def _frame(self, deadline: float, seconds: float, during: str, spin_s: float = 0.0) -> Frame:
        """The next frame, without descriptors: no answer brings any."""
        try:
            with self._protocol():
                frame = self._channel.receive_text(deadline=deadline, spin_s=spin_s)
        except Closed:
            raise self._died() from None
        except Late:
            exit_ = self._end()
            raise SubjectFailed("timeout", f"no answer within {seconds:g} s ({during})", exit_.log) from None
        if frame.descriptors:
            frame.close()
            raise SubjectFailed("protocol", "sent a descriptor that was not asked for", self._end().log)
        return frame

    def _message(self, frame: Frame) -> Answer:
        """What a frame says. Raises SubjectFailed where candidate code raised."""
        with self._protocol():
            message = parsed(frame, ANSWER)
        if isinstance(message, Raised):
            raise self._raised(message)
        return message

    @contextmanager
    def _protocol(self) -> Iterator[None]:
        """Whatever breaks the protocol ends the worker and is its failure."""
        try:
            yield
        except (Closed, Late):
            raise
        except ProtocolError as error:
            exit_ = self._end()
            raise SubjectFailed("protocol", f"broke the protocol: {error}", exit_.log) from error

    def _answer_build(self, message: Build, deadline: float, seconds: float, during: str) -> float:
        """Answer a build request; the deadline, by what it took later."""
        self._builds += 1
        if self._builds > MAX_BUILDS:
            raise SubjectFailed("protocol", f"asked for more than {MAX_BUILDS} builds", self._end().log)
        if self._builds_s > MAX_BUILDS_S:
            detail = f"its builds took more than {MAX_BUILDS_S:g} s together"
            raise SubjectFailed("timeout", detail, self._end().log)
        if (
            len(message.model_dump_json().encode()) > _LONGEST_REQUEST
        ):  # with its defaults it may be longer than it came
            raise SubjectFailed("protocol", "asked for a build of more text than can be passed on", self._end().log)
        started = time.monotonic()
        outcome = self._build(message.request)
        with ExitStack() as opened:
            copies = []
            if isinstance(outcome, Artifact):
                for path in filter(None, (outcome.path, outcome.library)):  # the cache's own files, others' too
                    copies.append(sealed_copy(path))
                    opened.callback(os.close, copies[-1])
                    self._built_bytes += os.fstat(copies[-1]).st_size
                if self._built_bytes > MOST_BUILT_BYTES:
                    detail = f"had more than {MOST_BUILT_BYTES >> 20} MiB built"
                    raise SubjectFailed("disk", detail, self._end().log)
            took_s = time.monotonic() - started
            self._builds_s += min(took_s, outcome.seconds)  # not what others' builds kept it waiting for
            built = Built(artifact=outcome) if isinstance(outcome, Artifact) else Built(failure=outcome)
            self._send(text_of(built), copies, deadline + took_s, seconds, during)
        return deadline + took_s

    def _raised(self, message: Raised) -> SubjectFailed:
        if message.kind == "build" and message.failure is not None:
            return BuildRefused(message.failure)
        reasons: dict[str, Reason] = {"build": "compile"}
        reason: Any = reasons.get(message.kind, message.kind)
        named = f"{message.type}: {message.message}" if message.type else message.message
        if message.kind == "data-race":
            return RaceFound(_first_line(message.message), message.traceback)
        return SubjectFailed(reason, _first_line(named), message.traceback)

    def _died(self) -> SubjectFailed:
        ended = self._worker.wait(_EXIT_S)
        if ended is None:
            return SubjectFailed("protocol", "hung up and lived on", self._end().log)
        reason, detail = _death(ended)
        return SubjectFailed(reason, detail, ended.log)

    def _end(self) -> Exit:
        self._worker.kill()
        return self._worker.wait(_EXIT_S) or Exit(code=None, signal=None, cause="killed", log="", peak_rss_bytes=0)


_LIMITS: dict[Cause, tuple[Reason, str]] = {
    "memory": ("out-of-memory", "used more memory than allowed"),
    "cpu": ("cpu-time", "used more CPU time than allowed"),
    "processes": ("processes", "started more processes or threads than allowed"),
    "scratch": ("disk", "wrote more to the disk than allowed"),
    "file": ("disk", "wrote a larger file than allowed"),
    "output": ("disk", "wrote more to its standard output than allowed"),
}


def _death(ended: Exit) -> tuple[Reason, str]:
    if ended.cause in _LIMITS:
        reason, detail = _LIMITS[ended.cause]
        return reason, f"{detail} ({ended.peak_rss_bytes / 1e9:.1f} GB resident)" if ended.cause == "memory" else detail
    if ended.signal is not None:
        return "crash", f"the worker died of signal {ended.signal}"
    return "exit", f"the process left with status {ended.code} instead of answering"


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:2_000]


@contextmanager
def conversing(zygote: Zygote, policy: Policy, build: BuildAnswer) -> Iterator[tuple[Worker, "Conversation"]]:
    """Start a worker and hold a conversation with it; leaving the block ends both. The worker may not listen yet."""
    channel, theirs = Channel.pair()
    with channel:
        with theirs:
            worker = zygote.spawn_worker(WORKER_ENTRY, [theirs.fileno()], policy)
        with worker:
            yield worker, Conversation(worker, channel, build)
