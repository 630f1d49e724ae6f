"""Manifest: what a run is, written once when it is made."""

from typing import Literal

from pydantic import Field, JsonValue

from harness.schema import Frozen

MANIFEST_VERSION = 1


class Manifest(Frozen):
    """What every record of a run has in common.

    `settings` are the command's settings that decide a result (not the number of parallel builds), `problems_sha256`
    one hash over the problems that the run asks, `problems` their titles, `device` the device that was asked for. Each
    may be empty: then the run promises nothing about it. `created` is an ISO 8601 time in UTC, `harness` this
    package's version.
    """

    schema_version: Literal[1] = 1
    created: str
    harness: str
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    problems_sha256: str = ""
    problems: tuple[str, ...] = ()
    device: str = ""

    def conflicts(self, other: "Manifest") -> tuple[str, ...]:
        """Where the two contradict each other, one phrase each. What only one of them names is no contradiction."""
        mine, theirs = self._named(), other._named()
        return tuple(
            f"{name} is {mine[name]!r} there and {theirs[name]!r} here"
            for name in sorted(mine.keys() & theirs.keys())
            if mine[name] != theirs[name]
        )

    def _named(self) -> dict[str, JsonValue]:
        named = dict(self.settings)
        if self.problems_sha256:
            named["the problems' hash"] = self.problems_sha256[:12]
        if self.device:
            named["the device"] = self.device
        return named
