"""Problem: what is asked. A file in KernelBench's layout."""

from typing import Literal

from pydantic import Field

from harness.schema.base import Frozen, Name, Sha256

Precision = Literal["fp32", "fp16", "bf16"]


class Workload(Frozen):
    """The sizes a problem was run at.

    `settings` holds the module-level numbers that were set before inputs were drawn, `original` the same names with
    the values of the problem file. `reduced` says that a size was made smaller by us, because it is too large for
    a CPU or for CUDA emulated on one.
    """

    settings: dict[str, int | float] = Field(default_factory=dict)
    original: dict[str, int | float] = Field(default_factory=dict)
    reduced: bool = False
    precision: Precision = "fp32"


class Problem(Frozen):
    """A problem file; `format` is the name of a row of `harness.formats`, which says what its source defines.

    `set` is the folder that the file lies in, relative to the catalogue's root ("level1"; "" for a single file);
    `name` the file's name without `.py` ("19_ReLU").
    """

    set: Name
    name: Name
    sha256: Sha256
    source: str
    format: str = "kernelbench"

    @property
    def title(self) -> str:
        return f"{self.set}/{self.name}" if self.set else self.name


class ProblemRef(Frozen):
    """A problem as the record names it."""

    set: Name
    name: Name
    sha256: Sha256
    workload: Workload = Workload()

    @property
    def title(self) -> str:
        return f"{self.set}/{self.name}" if self.set else self.name
