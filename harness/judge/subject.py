"""Subject: what the judge judges. In earnest a sandboxed process, in tests a plain function."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.judge.inputs import InputSets


@dataclass(frozen=True)
class Round:
    """One round as the judge's clock saw it: seconds from *go* to *done* over `calls` calls.

    `device_ms` is what the subject's own device events said of the whole round; None where it has none.
    """

    seconds: float
    calls: int
    device_ms: float | None = None


@dataclass(frozen=True)
class Opaque:
    """Stands for an output that has no plain form: a tensor subclass, a sparse tensor, some object."""

    type: str


@dataclass(frozen=True)
class Elsewhere:
    """Stands for an output tensor that lies on another device than it should."""

    device: str


class Subject(Protocol):
    """Something that can be built from a seed and called on inputs that lie in shared memory.

    Every method raises `SubjectFailed` where the subject does not answer as it should.
    """

    def construct(self, seed: int) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Build the model anew under `seed`; its parameters and buffers by name: dtype and shape."""

    def attach(self, sets: InputSets) -> None:
        """Lay the slots of `sets` before the subject, in place of those before."""

    def detach(self) -> None:
        """Take the slots away again and let go of all outputs."""

    def attend(self) -> None:
        """Be awake for the round that comes next; its contents are not written yet."""

    def round(self, slots: Sequence[int]) -> Round:
        """Call the model once per slot and wait until its device is idle; without slots, do only the waiting."""

    def outputs(self, calls: Sequence[int]) -> list[Any]:
        """The outputs of these calls of the last round, as they stood when the clock stopped.

        Nested lists, tuples and dicts of plain values and torch tensors on the judge's device, `Opaque` or
        `Elsewhere` where a tensor should be. Device tensors may be views that are gone after `release`.
        """

    def release(self) -> None:
        """Let go of the outputs of the last round."""
