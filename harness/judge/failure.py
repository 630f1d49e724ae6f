"""How a subject fails, or answers wrong. Apart from the rest, so that it can be named where torch is not loaded."""

from harness.schema.verdict import Failed, Reason, Stage, Wrong


class SubjectFailed(Exception):
    """The subject did not answer as it should: it raised, died, hung or broke the protocol. Data, not our fault."""

    def __init__(self, reason: Reason, detail: str, log: str = "") -> None:
        super().__init__(detail)
        self.reason: Reason = reason
        self.detail = detail
        self.log = log

    def at(self, stage: Stage) -> Failed:
        """The verdict, of a failure in this stage. Of what is not emulated nobody knows whether it would compile."""
        stage = "build" if self.reason == "not-emulated" else stage
        return Failed(stage=stage, reason=self.reason, detail=self.detail, log=self.log)


class LaidOutAnew(SubjectFailed):
    """Outputs of a timed round turned out to be of another size or layout than those that were kept."""

    def __init__(self, detail: str) -> None:
        super().__init__("protocol", detail)


class RaceFound(SubjectFailed):
    """Emulation saw two threads of a kernel access memory in an order that nothing decides on."""

    def __init__(self, detail: str, log: str = "") -> None:
        super().__init__("exception", detail, log)


class WrongAnswer(Exception):
    """What the subject answered, or left in memory, is not as it should be."""

    def __init__(self, verdict: Wrong) -> None:
        super().__init__(verdict.detail)
        self.verdict = verdict
