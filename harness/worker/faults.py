"""Faults: what ends a candidate's call in a worker that emulates a GPU, and is named on the wire by a kind of its own.

They are raised in the candidate's process, through its code: one that catches them and answers otherwise is judged by
that answer.
"""

from typing import Literal

FaultKind = Literal["not-emulated", "out-of-bounds", "data-race"]


class NotEmulated(NotImplementedError):
    """The candidate uses something that has no emulation, which says nothing about the candidate."""

    kind: FaultKind = "not-emulated"


class KernelFault(Exception):
    """A kernel did what no kernel may do: it accessed memory out of bounds, or raced."""

    def __init__(self, kind: FaultKind, detail: str) -> None:
        super().__init__(detail)
        self.kind: FaultKind = kind


def kind_of(error: BaseException) -> FaultKind | None:
    """The kind of the fault that an exception is, or that it was raised for; None where there is none behind it."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        if isinstance(at, NotEmulated | KernelFault):
            return at.kind
        seen.add(id(at))
        at = at.__cause__ or at.__context__
    return None
