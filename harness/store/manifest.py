"""Manifest: what a run is, written once when it is made."""

from typing import Literal

from pydantic import Field, JsonValue

from harness.schema import Frozen

MANIFEST_VERSION = 1


class Manifest(Frozen):
    """What every record of a run has in common.

    `settings` are the command's settings that decide a result (not the number of parallel builds), `problems` the
    titles of the problems that the run asks, `problem_sha256` the hash of each one's file, `problems_sha256` one hash
    over the whole catalogue, `device` the device that was asked for. Each may be empty: then the run promises nothing
    about it. `created` is an ISO 8601 time in UTC, `harness` this package's version.
    """

    schema_version: Literal[1] = 1
    created: str
    harness: str
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    problems_sha256: str = ""
    problems: tuple[str, ...] = ()
    problem_sha256: dict[str, str] = Field(default_factory=dict)
    device: str = ""

    def conflicts(self, other: "Manifest") -> tuple[str, ...]:
        """Where the two contradict each other, one phrase each. What only one of them names is no contradiction.

        The hash of each problem decides, and that of the whole catalogue only where one of them knows no others.
        """
        by_problem = bool(self.problem_sha256 and other.problem_sha256)
        mine, theirs = (each._named(by_problem=by_problem) for each in (self, other))
        return tuple(
            f"{name} is {mine[name]!r} there and {theirs[name]!r} here"
            for name in sorted(mine.keys() & theirs.keys())
            if mine[name] != theirs[name]
        )

    def asking_too(self, other: "Manifest") -> "Manifest":
        """This manifest with the problems of another one added to its own."""
        return self.model_copy(
            update={
                "problems": tuple(dict.fromkeys((*self.problems, *other.problems))),
                "problem_sha256": {**self.problem_sha256, **other.problem_sha256},
            }
        )

    def _named(self, *, by_problem: bool) -> dict[str, JsonValue]:
        named = dict(self.settings)
        if by_problem:
            named |= {f"the hash of {title}": sha256[:12] for title, sha256 in self.problem_sha256.items()}
        elif self.problems_sha256:
            named["the problems' hash"] = self.problems_sha256[:12]
        if self.device:
            named["the device"] = self.device
        return named
