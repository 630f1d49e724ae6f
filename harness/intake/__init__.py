"""Text to candidate: read submissions, take the candidate out, screen it. Nothing here runs a candidate's code."""

from harness.intake.extract import Extracted, extract
from harness.intake.folder import read_folder, read_submission
from harness.intake.screen import screen

__all__ = ["Extracted", "extract", "read_folder", "read_submission", "screen"]
