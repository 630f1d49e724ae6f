"""What stock said of the fast builds of a batch, for its last lines."""

from typing import TYPE_CHECKING

from harness.schema import Record
from harness.schema.record import DIFFERED

if TYPE_CHECKING:
    from harness.controller.evaluate import Evaluated


class StocksWord:
    """Counts verdicts that stock was asked about, before they were told or since."""

    def __init__(self) -> None:
        self._asked = 0
        self._differed: list[str] = []
        self._faults: list[str] = []

    def see(self, record: Record) -> None:
        """A record that is kept; stock's word may be in it."""
        if record.confirmed == "stock":
            self._count(record)

    def hear(self, audited: "Evaluated") -> None:
        """Stock was asked about a verdict that was told before."""
        if audited.fault is None:
            self._count(audited.record)
        else:
            self._faults.append(f"{audited.record.submission.path}: {audited.fault}")

    def _count(self, record: Record) -> None:
        self._asked += 1
        self._differed += [record.submission.path for flag in record.flags if flag.rule == DIFFERED]

    def lines(self) -> list[str]:
        """Nothing where stock was not asked."""
        lines = [f"stock was asked about {self._asked} of them and agreed"] if self._asked else []
        if self._differed:
            lines = [
                f"ALARM: stock was asked about {self._asked} of them and judged {len(self._differed)} otherwise than "
                f"their fast builds were: {', '.join(self._differed)}. Its verdicts stand; please report it, and use "
                "--toolchain stock until it is mended"
            ]
        return lines + [f"stock could not be asked about {fault}" for fault in self._faults]

    def say(self) -> None:
        """Print them."""
        from harness.cli.console import output_console

        for line in self.lines():
            output_console().print(line, soft_wrap=True, markup=False, highlight=False)
