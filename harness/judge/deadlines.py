"""Deadlines: what a call or a constructor of a candidate may take before it is hopeless, by what the reference takes.

`--timeout` bounds every one of them. Not covered: importing, which has `--timeout` alone and happens where no device is
held first, so that only an import that hangs on a device costs one; emulation, which may take any number of times the
reference's; a candidate whose source names a compiler that runs when it is first used only to get more time for one
that hangs. What a builder takes for a `load_inline` within a call is added to any
deadline (`Conversation`).
"""

import re
from dataclasses import dataclass

HOPELESS = 100.0
"""A call that takes so many times the reference's answers no question worth asking."""
LEAST_S, LEAST_ON_HOST_S = 2.0, 5.0
"""The least that any round may take, on a device and on a host, whose cores others use too."""
FIRST_S = 2.0
"""What a first call may take besides: handles of libraries and modules that load lazily take some tenths of a second on
an H200 host, and more beside compilers."""
ANSWERS_S = 120.0
"""What all answers of a candidate between its calls may take together: where outputs lie, that they were let go of."""
CONSTRUCTING_S = 10.0
"""What constructing a model may take at least: besides weights it may make tables in Python, pack weights, measure its
own kernels and capture graphs."""
_COMPILES = re.compile(
    r"triton|torch\.compile|torch\._dynamo|torch\.jit|inductor|nvrtc|cupy|RawKernel|numba|pycuda|autotune|tilelang|cutlass|"
    r"cudnn\.benchmark|nvcc|subprocess|taichi|import warp|\bjax\b|\btvm\b|"
    r"torch_dispatch|python_dispatch|torch\.library|torch\.export|utils\.checkpoint|make_fx",
    re.IGNORECASE,
)
"""Besides compilers what imports PyTorch's own: the first operator under a dispatch mode imports 821 modules in 3 s
(torch 2.13, 2 cores)."""


@dataclass(frozen=True)
class Deadline:
    """Seconds, and how they came about."""

    seconds: float
    why: str


@dataclass(frozen=True)
class Deadlines:
    """What rounds of one candidate may take. `most_s` is `--timeout`, `call_s` one call of the reference.

    `compiles`: its source names something that compiles or searches when a model is made or first called. `construct_s`
    is what constructing the reference takes.
    """

    most_s: float
    call_s: float
    compiles: bool
    on_device: bool
    construct_s: float = 0.0

    def of_construction(self) -> Deadline:
        """For making the model, without what a builder takes meanwhile."""
        if self.compiles:
            return Deadline(self.most_s, "--timeout, as it may compile")
        hopeless_s = HOPELESS * self.construct_s
        seconds = max(CONSTRUCTING_S, hopeless_s) + FIRST_S
        if seconds >= self.most_s:
            return Deadline(self.most_s, "--timeout")
        least = f", at least {CONSTRUCTING_S:g} s" if hopeless_s < CONSTRUCTING_S else ""
        times = f"{HOPELESS:g} times the {self.construct_s * 1e3:.3g} ms of constructing the reference"
        return Deadline(seconds, f"{times}{least} and {FIRST_S:g} s for the first")

    def of_round(self, calls: int, *, first: bool) -> Deadline:
        """For a round of so many calls; `first` where none came before it since the model was made."""
        if first and self.compiles:
            return Deadline(self.most_s, "--timeout, as it may compile on its first call")
        least_s = LEAST_S if self.on_device else LEAST_ON_HOST_S
        hopeless_s = HOPELESS * self.call_s * calls
        seconds = max(least_s, hopeless_s) + (FIRST_S if first else 0.0)
        if seconds >= self.most_s:
            return Deadline(self.most_s, "--timeout")
        called = "a call" if calls == 1 else f"{calls} calls"
        times = f"{HOPELESS:g} times the reference's {self.call_s * 1e3:.3g} ms for {called}"
        least = f", at least {least_s:g} s" if hopeless_s < least_s else ""
        warming = f" and {FIRST_S:g} s for the first" if first else ""
        return Deadline(seconds, f"{times}{least}{warming}")


def compiles_when_called(source: str) -> bool:
    """Whether a candidate's text names what compiles, or tunes itself, when a model is made or first called."""
    return _COMPILES.search(source) is not None
