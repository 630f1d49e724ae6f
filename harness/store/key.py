"""Key: what a batch resumes by."""

import hashlib
import re
from typing import NamedTuple

from harness.schema import Record, SubmissionRef

_SLUG_CHARACTERS = 60


class Key(NamedTuple):
    """The identity of one judgement. Two records of a run with the same key are two attempts at the same thing."""

    problem: str
    submission: str
    sample: int
    model: str

    @classmethod
    def of(cls, record: Record) -> "Key":
        return cls.asked(record.problem.title, record.submission)

    @classmethod
    def asked(cls, problem_title: str, submission: SubmissionRef) -> "Key":
        """The key that the record of this submission to this problem will have."""
        return cls(problem_title, submission.path, submission.sample, submission.model)

    @property
    def slug(self) -> str:
        """A folder name: readable at the front, unique by the digest of the whole key at its end."""
        readable = re.sub(r"[^A-Za-z0-9]+", "-", f"{self.problem}-{self.submission}").strip("-")
        digest = hashlib.sha256("\0".join(map(str, self)).encode()).hexdigest()
        return f"{readable[-_SLUG_CHARACTERS:].strip('-')}-{digest[:12]}"
