"""Head: the parts of a record that a leaderboard's columns are made of, read from JSON in a tenth of a record's time.

Structs of msgspec, because it steps over what no field asks for: pydantic makes a tree of a whole line first, and takes
two and a half times as long for the same parts. None of them refers back to another, so Python's search for cycles
may pass them by.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

import msgspec

from harness.schema.build import DEVICE_KIND
from harness.schema.flag import Severity
from harness.schema.problem import Precision
from harness.schema.record import BaselineName, Record

HeadWhole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class HeadWorkload(msgspec.Struct, frozen=True, gc=False):
    reduced: bool = False
    precision: Precision = "fp32"


class HeadProblem(msgspec.Struct, frozen=True, gc=False):
    set: str
    name: str
    workload: HeadWorkload = HeadWorkload()


class HeadSubmission(msgspec.Struct, frozen=True, gc=False):
    path: str
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    sample: HeadWhole = 0
    model: str = ""
    turn: HeadWhole | None = None
    prompt_tokens: HeadWhole | None = None
    completion_tokens: HeadWhole | None = None


class HeadDevice(msgspec.Struct, frozen=True, gc=False):
    kind: Annotated[str, msgspec.Meta(pattern=DEVICE_KIND)]
    name: str


class HeadVerdict(msgspec.Struct, frozen=True, gc=False):
    kind: str
    stage: str = ""
    reason: str = ""
    rule: str = ""


class HeadInterval(msgspec.Struct, frozen=True, gc=False):
    value: float
    low: float
    high: float


class HeadBaseline(msgspec.Struct, frozen=True, gc=False):
    name: BaselineName
    speedup: HeadInterval


class HeadConditions(msgspec.Struct, frozen=True, gc=False):
    disturbed: bool = False


class HeadTiming(msgspec.Struct, frozen=True, gc=False):
    speedup: HeadInterval
    baseline: BaselineName = "eager"
    baselines: tuple[HeadBaseline, ...] = ()
    conditions: HeadConditions | None = None
    mode: Literal["full", "quick"] = "full"


class HeadRoofline(msgspec.Struct, frozen=True, gc=False):
    fraction: float


class HeadFlag(msgspec.Struct, frozen=True, gc=False):
    severity: Severity
    rule: str = ""


class HeadBuild(msgspec.Struct, frozen=True, gc=False):
    toolchain: str


class HeadSandbox(msgspec.Struct, frozen=True, gc=False):
    layers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Head(msgspec.Struct, frozen=True, gc=False):
    """The parts of a record, by its own names for them."""

    schema_version: int
    problem: HeadProblem
    submission: HeadSubmission
    device: HeadDevice
    verdict: HeadVerdict
    judged_at: str
    timing: HeadTiming | None = None
    roofline: HeadRoofline | None = None
    audit: tuple[HeadFlag, ...] = ()
    flags: tuple[HeadFlag, ...] = ()
    builds: tuple[HeadBuild, ...] = ()
    confirmed: str = "none"
    sandbox: msgspec.Raw = msgspec.Raw(b"{}")
    """JSON of a `HeadSandbox`, not looked at: most records of a run have one and the same."""

    @classmethod
    def of(cls, record: Record) -> Self:
        sandbox = msgspec.Raw(record.sandbox.model_dump_json().encode())
        return msgspec.convert({**record.model_dump(include=_PARTS), "sandbox": sandbox}, cls)


read_sandbox: Callable[[bytes], HeadSandbox] = msgspec.json.Decoder(HeadSandbox).decode
read_head: Callable[[bytes], Head] = msgspec.json.Decoder(Head).decode
"""The head of a record's JSON, which must be UTF-8: that is not checked in what it steps over.

Raises ValueError where it is none, and where pydantic might still see a record: JSON has no number that is not finite,
and records write one as text.
"""

# Of a record what a head has; the samples of a timing are most of the rest.
_PARTS: dict[str, Any] = dict.fromkeys(
    (
        "schema_version", "problem", "device", "verdict", "judged_at", "roofline", "audit", "flags", "builds",
        "confirmed",
    ),
    True,
) | {
    "submission": {"path", "sha256", "sample", "model", "turn", "prompt_tokens", "completion_tokens"},
    "timing": {
        "speedup": True, "baseline": True, "conditions": {"disturbed"}, "baselines": {"__all__": {"name", "speedup"}},
        "mode": True,
    },
}  # fmt: skip
