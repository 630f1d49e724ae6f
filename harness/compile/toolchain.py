"""Toolchain: one way of making a shared object of a request. What it needs, and how it says that it cannot."""

from collections.abc import Callable
from dataclasses import dataclass

from harness.compile.cache import ArtifactCache
from harness.compile.recipe import Machine, Plan
from harness.schema import BuildRequest
from harness.schema.build import BuildReason

OnStatus = Callable[[str], None]


class SteppedBack(Exception):
    """This toolchain leaves the request to the next one. The message says why, in a few words."""


class Refused(Exception):
    """No toolchain of this target can build the request, and the candidate is why.

    `log` names the place in the request's own terms (`cuda_sources[0]:12: ...`).
    """

    def __init__(self, reason: BuildReason, detail: str, *, log: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.log = log


@dataclass(frozen=True)
class Surroundings:
    """What a toolchain may use while it plans: the machine, the cache for its tools, and where to report a phase."""

    machine: Machine
    cache: ArtifactCache
    on_status: OnStatus


@dataclass(frozen=True)
class Toolchain:
    """A row of the table. `plan` raises SteppedBack or Refused; `memory_bytes` is the peak of its compilers.

    `prepare` makes what the toolchain needs once, so that no candidate's deadline pays for it.
    """

    name: str
    plan: Callable[[BuildRequest, Surroundings], Plan]
    memory_bytes: int
    prepare: Callable[[Surroundings], None] = lambda around: None
