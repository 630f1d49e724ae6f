"""What a caller may ask for."""

import hashlib
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from harness.controller.engine import Priority
from harness.errors import InputError
from harness.schema import Problem, Submission
from harness.schema.base import Frozen
from harness.schema.problem import Precision
from harness.schema.record import BaselineName, TimingMode, ToleranceName
from harness.schema.submission import ExtractPolicy
from harness.settings import Settings

LONGEST_TEXT = 1 << 20
LONGEST_TIMING_S = 10.0
SHORTEST_DEADLINE_S = 0.001
"""Less is over before anything can be begun: nobody means it."""


class NeedsToken(InputError):
    """Something that is asked for is only taken where callers show a token."""


class AskedSettings(Frozen):
    """The settings that a caller may choose; those of the server hold for what is left out.

    None of them weakens the isolation of a worker or widens its limits. `workload` makes the trusted judge allocate
    what it says, so it needs a token.
    """

    workload: dict[str, int | float] | None = None
    precision: Precision | None = None
    tolerance: ToleranceName | None = None
    baselines: tuple[BaselineName, ...] | None = None
    reject: tuple[str, ...] | None = None
    extract: ExtractPolicy | None = None
    timing_s: Annotated[float, Field(ge=0, le=LONGEST_TIMING_S)] | None = None
    timing: TimingMode | None = None

    def over(self, settings: Settings) -> Settings:
        """`settings` with what was asked for in their place. Raises InputError for a flag that none may reject by."""
        asked = self.model_dump(exclude_none=True)
        return Settings.model_validate({**settings.model_dump(), **asked}) if asked else settings


class Asked(Frozen):
    """One judgement that is asked for.

    `problem` is a name that the server's catalogue has or, with a line break in it, a source. `deadline_s` counts from
    acceptance, at least SHORTEST_DEADLINE_S: what is over it is not begun. `fresh` judges anew what was judged, this or
    an equal candidate. `tag` is the caller's own.
    """

    submission: Annotated[str, Field(max_length=LONGEST_TEXT)]
    problem: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
    settings: AskedSettings = AskedSettings()
    priority: Priority = "normal"
    deadline_s: Annotated[float, Field(ge=SHORTEST_DEADLINE_S, le=1e7)] | None = None
    fresh: bool = False
    tag: Annotated[str, Field(max_length=1000)] = ""

    @property
    def names_a_problem(self) -> bool:
        """Whether `problem` is a name, and not a source."""
        return "\n" not in self.problem


class Work:
    """What is judged: a submission, its problem and the settings, under the id that they make.

    `fresh`: with no verdict taken over from an equal candidate.
    """

    def __init__(
        self, submission: Submission, problem: Problem, settings: Settings, made_of: Sequence[str], *, fresh: bool
    ) -> None:
        """`made_of` is what else decides a verdict: versions and devices."""
        parts = (submission.sha256, problem.title, problem.sha256, settings.model_dump_json(), *made_of)
        self.id = "j" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]
        self.submission = submission.model_copy(update={"path": self.id})
        self.problem, self.settings, self.fresh = problem, settings, fresh
