"""Formats of problems: the names by which a problem's file gives its reference and inputs, and a candidate its model.

To add one, add a row to `FORMATS` and have a catalogue make problems with its name.
"""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """One layout of problem files.

    A problem's source defines `reference`, a class of torch modules, `inputs`, which draws the inputs of one call, and
    `arguments`, which gives those of the class's constructor. A candidate's source defines `entry`, a class that is
    constructed and called alike. `layout` names the format in messages.
    """

    name: str
    layout: str
    reference: str
    inputs: str
    arguments: str
    entry: str

    @property
    def required(self) -> tuple[str, str, str]:
        """What a problem's source defines."""
        return self.reference, self.inputs, self.arguments

    def lacking(self, defined: Collection[str]) -> list[str]:
        """What a problem's source does not define that it should, in order."""
        return [name for name in self.required if name not in defined]

    @property
    def reference_as_candidate(self) -> str:
        """The line of Python that makes a problem's source into a candidate: its own reference."""
        return f"{self.entry} = {self.reference}"


KERNELBENCH = Format(
    name="kernelbench",
    layout="KernelBench's layout",
    reference="Model",
    inputs="get_inputs",
    arguments="get_init_inputs",
    entry="ModelNew",
)
FORMATS: dict[str, Format] = {KERNELBENCH.name: KERNELBENCH}
