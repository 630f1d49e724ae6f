"""Subject: what the judge judges. In earnest a sandboxed process, in tests a plain function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.judge.inputs import InputSets, Staged
from harness.transport.worker_messages import Order


@dataclass(frozen=True)
class Round:
    """One round as the judge saw it: seconds from *go* over `calls` calls, to *done* or until the subject was held.

    `device_ms` is what the subject's own device events said of the whole round; None where it has none. `gathered`:
    elements of outputs were read after whatever it had queued on the device, and the judge waited for them. `worked_s`
    is how long it worked on a host, where that is known: waiting for a core is not work.
    """

    seconds: float
    calls: int
    device_ms: float | None = None
    gathered: bool = False
    worked_s: float | None = None


@dataclass(frozen=True)
class Stepped:
    """Calls on a device that were shown one by one, as the judge saw them, a figure each.

    `call_s`: seconds from when contents began to be shown until the output was there. `besides_s`: from then until the
    subject said so. `touch_s`: what a trifle took the device before the subject knew that there were no more.
    `waited_s`: until it was ready for calls, and until it said which outputs the last one had, together. `settled`: the
    outputs of all could be seen. `anew`: the last of them had another number of outputs than was described before, and
    none was called after it.
    """

    call_s: Sequence[float]
    besides_s: Sequence[float]
    touch_s: float
    waited_s: float
    settled: bool
    anew: bool = False


@dataclass(frozen=True)
class KernelUse:
    """Microseconds and launches of one device kernel (on a CPU: torch operator) over the traced calls."""

    name: str
    us: float
    launches: int


@dataclass(frozen=True)
class Trace:
    """What the subject's own profiler saw of `calls` calls that took `us` microseconds in all."""

    us: float
    calls: int
    kernels: tuple[KernelUse, ...]


@dataclass(frozen=True)
class Opaque:
    """Stands for an output that has no plain form: a tensor subclass, a sparse tensor, some object."""

    type: str


@dataclass(frozen=True)
class Elsewhere:
    """Stands for an output tensor that lies on another device than it should."""

    device: str


@dataclass(frozen=True)
class Sampled:
    """Stands for a large output tensor of which elements at random places were kept.

    `places` are flat indices of a tensor of this shape, `values` the elements there, both of one dimension. `strides`
    are those that it lay in memory with, where that is known.
    """

    shape: tuple[int, ...]
    places: Any
    values: Any
    strides: tuple[int, ...] | None = None


class Unsettled(Exception):
    """Outputs that were to be kept lie elsewhere, or otherwise, than could be known while the subject was frozen."""


class Subject(Protocol):
    """Something that can be built from a seed and called on inputs that lie in shared memory.

    Every method raises `SubjectFailed` where the subject does not answer as it should.
    """

    def construct(self, seed: int) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Build the model anew under `seed`; its parameters and buffers by name: dtype and shape."""

    weights: Mapping[str, str]
    """Of what `construct` built, a digest of some elements by name (`values.sample_of`). A claim, and no more."""

    cuda_error: int
    """The number of the last call to CUDA's runtime that it says failed unnoticed, 0 where none did."""

    def take_weights(self, weights: dict[str, Any]) -> None:
        """Copy tensors over the model's parameters and buffers of these names."""

    def attach(self, sets: InputSets) -> None:
        """Lay the slots of `sets` before the subject, in place of those before."""

    def detach(self) -> None:
        """Take the slots away again and let go of all outputs."""

    def freeze(self) -> None:
        """Stop every task of the subject, so that it disturbs nothing until it is woken."""

    def rests(self) -> bool:
        """Whether a subject that is held has not run since; what it was not to see may have been seen where it has."""

    def wake(self) -> None:
        """Undo `freeze` and be awake for the round that follows at once. On a device its contents do not exist yet.

        There this returns once nothing but the judge's own work was queued on the device for a while, the last of which
        was to overwrite what `spoil` was asked to.
        """

    def round(
        self,
        slots: Sequence[int],
        *,
        seed: int,
        hold: bool = False,
        order: Order | None = None,
        spin_ms: float | None = None,
    ) -> Round:
        """Call the model once per slot and wait until its device is idle; without slots, do only the waiting.

        `order` is that of the threads of emulated kernels; raises `RaceFound` where it says that they are watched.

        `seed` is what torch's generators are seeded with before the first call. `hold`: as soon as the subject says
        that it is done all of its tasks are told to stop. On a device what that may still change is read, on the host
        all tasks are waited for; the round takes until then.

        `spin_ms`: instead keep the device busy for so long. The outputs are those of the round before, which had as
        many calls.
        """

    def expect_steps(self, slots: Sequence[int], *, seed: int | None, empty: bool = False) -> None:
        """Be ready for calls that come one by one on a host (`step`), of these slots in this order or of fewer. If they
        are `empty` the model is called for the first alone, and its output is the answer to all.
        """

    def step(self, slot: int, *, seed: int, last: bool = False) -> float:
        """Call the model on one slot, as `round` does on several, under this seed, which `expect_steps` named too
        unless each call has its own; the time of `time.monotonic` when it was over: answered, and what may be verified
        of it read. The subject is stopped once it has answered the `last` one.

        Raises LaidOutAnew where its output has another number of tensors than was described last.
        """

    def copies_of_a_look(self) -> int:
        """By how many copies each of its outputs can be looked at where calls on a device come one by one (`steps`); 0
        where they cannot come so: inputs are not tensors alone that lie in memory which it shares with the judge, or
        outputs no few tensors that were described before, whose elements are memory of their own.
        """

    def steps(self, staged: Sequence[Staged], *, seed: int, own_seeds: Sequence[int], copies: int) -> Stepped:
        """Call the model on each of these slots of a device as soon as the judge has shown it, until all were; under
        one seed, or each under its own where there are any.

        Each tensor of an output is looked at by so many `copies`, as many as either side's need. Outputs of the round
        are those of the last call alone; `snapshot` then keeps what the judge saw of it, and
        raises Unsettled where it could not see those of all. The subject is stopped at the end, as by `hold`.
        """

    def step_outputs(self, calls: Sequence[int]) -> dict[int, list[Any]]:
        """Outputs of these calls, which came one by one, as they were read when each was answered: of each in
        every way in which outputs were laid out so far and it can be read.

        None of them where outputs hold anything besides tensors, or memory is copied.
        """

    def look_at(self, places: Mapping[int, Sequence[Any]]) -> None:
        """Of large outputs of these calls of the next round keep these elements as well: flat indices, by tensor."""

    def look_for(self, calls: int) -> None:
        """Draw which elements of outputs are read of a round of so many calls that is held next. On a host nothing."""

    def settle(self) -> None:
        """Wait until all of a subject that is held has stopped."""

    def snapshot(self, calls: Sequence[int]) -> None:
        """Keep the outputs of these calls of a round that was held as they are now; `outputs` then returns those.

        Raises Unsettled where their place could not be known, or where the subject has run meanwhile. `outputs` raises
        it where they turn out to be of another size or layout than before. Large outputs are kept in part.
        """

    def spoil(self) -> None:
        """Have what the outputs of a round that was held lie in overwritten before the next one.

        What a call does not write is then in no later output either. Inputs are left alone, and so is what `spare` was
        told, and memory that outputs are copied from. On a host it is done at once; on a device, where nothing tells
        what runs besides rounds, by `wake`, as the last thing before the clock starts.
        """

    def spare(self, places: frozenset[int]) -> None:
        """Have `spoil` leave those tensors of an output, by their numbers in order, that may be handed out again."""

    def aside_s(self) -> float:
        """Seconds that it worked besides its rounds since this was asked last: each time between being held and being
        held again, by the judge's clock, and no more than the CPU time that all of its tasks took, or where one of them
        may have ended meanwhile without what the caller of the model waited for a core.

        On a device all of what the judge waited for: for its answers, and then for what ran on the device.
        """

    def loop_s(self) -> float:
        """Seconds that a loop of plain Python took in a reference's process when outputs were let go of last, on a
        device: it says how fast a host's core was. 0 where that is not asked, as of any candidate.
        """

    def survey(self, calls: Sequence[int]) -> None:
        """Learn where outputs of these calls of the last round lie, so that a snapshot finds them in later ones."""

    def outputs(self, calls: Sequence[int], *, like: Any = None) -> list[Any]:
        """The outputs of these calls of the last round.

        Nested lists, tuples and dicts of plain values and torch tensors on the judge's device, `Opaque` or
        `Elsewhere` where a tensor should be, `Sampled` for one of a snapshot that was kept in part. Device tensors may
        be views that are gone after `release`. Of outputs whose tensors have other shapes or dtypes than those of
        `like` nothing is copied: they are tensors without contents.
        """

    def shares_outputs(self) -> bool:
        """Whether memory of an output of the last round is memory of another call's as well.

        Inputs do not count, nor does what `spare` was told.
        """

    def release(self, *, poison: bool = False, trim: bool = False) -> None:
        """Let go of the outputs of the last round.

        `poison` has the memory that they leave filled with 0xFF, `trim` has it given back to the device.
        """

    def trace(self, slots: Sequence[int]) -> Trace:
        """Call the model once per slot under the subject's own profiler."""

    def end(self) -> None:
        """End the subject and wait until nothing of it is left, on the host or on the device."""
