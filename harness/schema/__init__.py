"""The nouns: frozen pydantic models that cross a process or a disk. No torch."""

from harness.schema.base import Frozen
from harness.schema.build import Artifact, BuildFailure, BuildRequest, DeviceKind, ToolchainChoice
from harness.schema.flag import Flag
from harness.schema.problem import Problem, ProblemRef, Workload
from harness.schema.record import (
    SCHEMA_VERSION,
    BuildSummary,
    Device,
    Environment,
    Interval,
    Record,
    SandboxReport,
    Timing,
)
from harness.schema.submission import Block, Candidate, CandidateRef, Extraction, Submission, SubmissionRef
from harness.schema.verdict import (
    Correct,
    ErrorSummary,
    Failed,
    Infrastructure,
    Mismatch,
    Rejected,
    Verdict,
    Wrong,
)

__all__ = [
    "SCHEMA_VERSION",
    "Artifact",
    "Block",
    "BuildFailure",
    "BuildRequest",
    "BuildSummary",
    "Candidate",
    "CandidateRef",
    "Correct",
    "Device",
    "DeviceKind",
    "Environment",
    "ErrorSummary",
    "Extraction",
    "Failed",
    "Flag",
    "Frozen",
    "Infrastructure",
    "Interval",
    "Mismatch",
    "Problem",
    "ProblemRef",
    "Record",
    "Rejected",
    "SandboxReport",
    "Submission",
    "SubmissionRef",
    "Timing",
    "ToolchainChoice",
    "Verdict",
    "Workload",
    "Wrong",
]
