"""Settings: what decides a result, settled once at the edge and sent along."""

from difflib import get_close_matches
from typing import Annotated, get_args

from pydantic import AfterValidator, Field

from harness.errors import InputError
from harness.sandbox import Isolation, Limits
from harness.schema.base import Frozen
from harness.schema.build import AuditChoice, ToolchainChoice
from harness.schema.flag import JudgeFlag
from harness.schema.problem import Precision
from harness.schema.record import BaselineName, TimingMode, ToleranceName, TraceWhen
from harness.schema.submission import ExtractPolicy

GIB = 1 << 30
REJECTABLE: tuple[str, ...] = get_args(JudgeFlag)


def require_rejectable(name: str) -> str:
    """`name`, where it is that of a flag that may reject. Raises InputError, which says what was meant."""
    if name in REJECTABLE:
        return name
    close = get_close_matches(name, REJECTABLE, n=1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    raise InputError(f"{name!r} is no flag that can reject{meant}: give one of {', '.join(REJECTABLE)}")


RejectableFlag = Annotated[str, AfterValidator(require_rejectable)]


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    """Each name once: a server's caller may repeat one as often as a body has room, and each baseline may be timed."""
    return tuple(dict.fromkeys(names))


class Settings(Frozen):
    """How submissions are judged.

    `workload` sets module-level numbers of the problem (`--set`). `timeout_s` is what one step of a candidate may
    take (import, constructor, one round of calls), `build_timeout_s` what its compilers may. `timing_s` bounds the
    timed rounds of one candidate, but for launch-bound ones (docs/clock.md); `timing` is how much they are to tell:
    "quick" ends once the speed-up lies in one band, but for wins, "none" takes no time at all. `baselines` are the
    forms of the reference to compare with; as written is always one. `trace`: of which candidates the profiler says
    which kernels ran. `reject` names flags that turn a correct candidate into a rejected one; InputError where it names
    none. `audit`: whose verdicts from fast builds are asked of stock as well. `races`: what a GPU found correct is
    emulated as well, and flagged where threads race. `memory_bytes` is what one worker may use of host memory.
    """

    workload: dict[str, int | float] = Field(default_factory=dict)
    precision: Precision = "fp32"
    tolerance: ToleranceName = "scaled"
    baselines: Annotated[tuple[BaselineName, ...], AfterValidator(_once)] = ("eager",)
    trace: TraceWhen = "never"
    reject: Annotated[tuple[RejectableFlag, ...], AfterValidator(_once)] = ()
    extract: ExtractPolicy = "last"
    toolchain: ToolchainChoice = "auto"
    audit: AuditChoice = "sample"
    races: bool = False
    isolation: Isolation = "auto"
    timeout_s: float = 60.0
    build_timeout_s: float = 600.0
    timing_s: float = 2.0
    timing: TimingMode = "full"
    memory_bytes: int = 16 * GIB

    @property
    def traced(self) -> TraceWhen:
        """Which candidates the profiler runs for: all, where only what it sees tells which are to be rejected."""
        return "always" if "no-custom-kernel" in self.reject else self.trace

    @property
    def limits(self) -> Limits:
        return Limits(memory_bytes=self.memory_bytes)
