"""Submission: raw text from a language model or a `.py` file. Candidate: the source taken out of it."""

from typing import Annotated, Literal

from pydantic import Field

from harness.schema.base import Frozen, Name, Sha256, Whole

ExtractPolicy = Literal["last", "first", "strict"]
LanguageName = Annotated[str, Field(pattern=r"^[a-z0-9+]{1,32}$")]
"""The name of a row of `harness.languages`, of this version or of another."""


class Block(Frozen):
    """One fenced block of a response, and what became of it.

    `first_line` is the 1-based line of the submission on which the block's code starts, `lines` how many it has.
    `reason` says why a block was skipped ("defines no ModelNew", "broken off before its closing fence", ...).
    """

    index: int
    language: str
    first_line: int
    lines: int
    outcome: Literal["taken", "skipped"]
    reason: str = ""


class Extraction(Frozen):
    """How a candidate was found in a submission.

    `kind` is "python" where the whole submission is source, "response" where it was taken out of fenced blocks.
    `truncated` says that the response ends inside an open block. `first_line` is the 1-based line of the
    submission on which the candidate starts; None where nothing was found.
    """

    policy: ExtractPolicy
    kind: Literal["python", "response"]
    truncated: bool = False
    first_line: int | None = None
    blocks: tuple[Block, ...] = ()


class Submission(Frozen):
    """What was handed in, before anything was taken out of it.

    `path` is how the user named it (relative to the folder of a batch); with `problem`, `sample`, `model` and the
    `sha256` of its text it is the identity that a batch resumes by. `problem` is the name to look up, None where the
    caller says it. For the rest see `SubmissionRef`.
    """

    path: Name
    sha256: Sha256
    text: str
    problem: Name | None = None
    sample: Whole = 0
    model: Name = ""
    turn: Whole | None = None
    parent: Sha256 | None = None
    prompt_tokens: Whole | None = None
    completion_tokens: Whole | None = None

    def ref(self, extraction: Extraction | None = None) -> "SubmissionRef":
        """This submission as a record names it."""
        return SubmissionRef(extraction=extraction, **self.model_dump(exclude={"text", "problem"}))


class SubmissionRef(Frozen):
    """A submission as the record names it.

    `turn` counts the answers of one conversation from 0, None where it is not known to be part of one; `parent` is the
    hash of the answer that its verdict was sent back for. Tokens are the server's own count for this answer alone.
    """

    path: Name
    sha256: Sha256
    extraction: Extraction | None = None
    sample: Whole = 0
    model: Name = ""
    turn: Whole | None = None
    parent: Sha256 | None = None
    prompt_tokens: Whole | None = None
    completion_tokens: Whole | None = None


class Candidate(Frozen):
    """Source that defines `ModelNew`. Line n of it is line `first_line + n - 1` of the submission."""

    source: str
    sha256: Sha256
    languages: tuple[LanguageName, ...]
    first_line: int = 1


class CandidateRef(Frozen):
    """A candidate as the record names it."""

    sha256: Sha256
    languages: tuple[LanguageName, ...]
