"""Nsight Compute: what bounds each kernel, from the GPU's hardware counters.

Its own lines begin with `==PROF==`, `==ERROR==` or `==WARNING==`; a kernel's sections follow its heading, as tables of
name, unit and value. Options and format: https://docs.nvidia.com/nsight-compute/NsightComputeCli.
"""

import re
from dataclasses import dataclass, field

from harness.inspect.report import Findings

OPTIONS = (
    "--target-processes", "application-only",
    "--profile-from-start", "off",  # the target says when: one call, after one that warms up
    "--clock-control", "none",  # the clocks of the machine are not ours to set
    "--set", "basic",
    "--page", "details",
    "--launch-count", "50",
)  # fmt: skip
_NO_PERMISSION = "ERR_NVGPUCTRPERM"
_HEADING = re.compile(r"^  (\S.*) \(\d+, \d+, \d+\)x\(\d+, \d+, \d+\), Context \d+")
# Possessive, and the number one of Python's: the candidate writes into this log as well.
_METRIC = re.compile(r"^    (\S++(?: \S++)*+)\s{2,}+(?:([^\s\d]\S*+)\s++)?(\d[\d,]{0,30}(?:\.\d{1,30})?)\s*+$")
_ERROR = re.compile(r"^==ERROR== (.*)$", re.MULTILINE)
_MICROSECONDS = {
    "ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3, "s": 1e6, "second": 1e6,
}  # fmt: skip


@dataclass
class _Kernel:
    name: str
    metrics: dict[str, tuple[str, float]] = field(default_factory=dict)

    @property
    def microseconds(self) -> float:
        unit, value = self.metrics.get("Duration", ("us", 0.0))
        return value * _MICROSECONDS.get(unit, 1.0)

    def percent(self, metric: str) -> str:
        _, value = self.metrics.get(metric, ("%", float("nan")))
        return f"{value:.0f}%"


def read(log: str) -> Findings | None:
    """The kernels in a sentence, the longest first; None where it profiled none."""
    if _NO_PERMISSION in log:
        return Findings(
            finished=False,
            summary="not profiled: reading the GPU's performance counters is not permitted here "
            f"({_NO_PERMISSION}); the host's administrator can allow it, or give the container CAP_SYS_ADMIN",
        )
    kernels = _kernels(log)
    if not kernels:
        return None
    longest = max(kernels, key=lambda kernel: kernel.microseconds)
    total = sum(kernel.microseconds for kernel in kernels)
    counted = f"{len(kernels)} kernel{'s' if len(kernels) > 1 else ''}, {total:.1f} us"
    return Findings(
        summary=f"{counted}; {_bare(longest.name)} {longest.microseconds:.1f} us: "
        f"memory {longest.percent('Memory Throughput')} and compute {longest.percent('Compute (SM) Throughput')} of "
        f"their peaks, occupancy {longest.percent('Achieved Occupancy')}"
    )


def why_not(log: str) -> str:
    """The last error that it told; empty where it told none."""
    errors = _ERROR.findall(log)
    return errors[-1].strip() if errors else ""


def _kernels(log: str) -> list[_Kernel]:
    kernels: list[_Kernel] = []
    for line in log.splitlines():
        if heading := _HEADING.match(line):
            kernels.append(_Kernel(heading.group(1)))
        elif kernels and (metric := _METRIC.match(line)):
            name, unit, value = metric.groups()
            kernels[-1].metrics[name] = (unit or "", float(value.replace(",", "")))
    return kernels


def _bare(name: str) -> str:
    """A kernel's name without its parameters."""
    return re.sub(r"^void ", "", name).split("(", 1)[0].split("<", 1)[0]
