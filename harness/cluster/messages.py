"""What the driver and a node say to each other. Both are ours and of one version, which is asked first."""

import time

from harness import errors
from harness.controller.engine import Ask, DeviceFacts
from harness.controller.evaluate import Evaluated
from harness.controller.reuse import Reuse
from harness.errors import HarnessError, MachineError
from harness.schema import Environment, Frozen, Problem, Record, Submission
from harness.schema.record import ToolName
from harness.settings import Settings


class Opening(Frozen):
    """Open a session. `part`: the i-th of N equal shares of the cores, where N nodes are one machine (from 0)."""

    device: str
    settings: Settings
    builders: int | None = None
    part: tuple[int, int] = (0, 1)


class DeviceSeen(Frozen):
    """A device of a node: `name` among those of the node ("cuda:1"), `model` as its driver calls it."""

    name: str
    model: str
    environment: Environment

    @property
    def sort(self) -> dict[str, str]:
        """What has to be equal on all nodes of a run: in words, what it is called and what it is here."""
        told = self.environment
        return {
            "the harness": told.harness,
            "torch": told.torch,
            "CUDA": str(told.cuda),
            "the driver": str(told.driver),
            "the device": self.model,
        }


class Opened(Frozen):
    """A node judges. So many may be under way there at once (`width`) for it to be busy."""

    devices: tuple[DeviceSeen, ...]
    width: int


class Fault(Frozen):
    """A fault of ours or of the machine: its class in `harness.errors`, and its sentence."""

    kind: str
    detail: str

    @classmethod
    def of(cls, error: HarnessError) -> "Fault":
        """As the nearest class that `harness.errors` has."""
        kind = next(each for each in type(error).__mro__ if getattr(errors, each.__name__, None) is each)
        return cls(kind=kind.__name__, detail=str(error))

    def error(self) -> HarnessError:
        kind = getattr(errors, self.kind, MachineError)
        return kind(self.detail) if issubclass(kind, HarnessError) else MachineError(self.detail)


class Told(Frozen):
    """What came of a submission; the fields are those of `Evaluated`."""

    record: Record
    attachments: dict[str, str]
    fault: Fault | None = None
    unconfirmed: bool = False
    told: bool = False
    device: str = ""
    device_s: float = 0.0

    @classmethod
    def of(cls, evaluated: Evaluated) -> "Told":
        return cls(
            record=evaluated.record,
            attachments=evaluated.attachments,
            fault=None if evaluated.fault is None else Fault.of(evaluated.fault),
            unconfirmed=evaluated.unconfirmed,
            told=evaluated.told,
            device=evaluated.device,
            device_s=evaluated.device_s,
        )

    def evaluated(self) -> Evaluated:
        return Evaluated(
            self.record,
            self.attachments,
            None if self.fault is None else self.fault.error(),
            self.unconfirmed,
            self.told,
            self.device,
            self.device_s,
        )


class Asked(Frozen):
    """Judge this; the fields are those of `Ask`. `number` names it, `left_s` is what is left until its deadline (s):
    two machines have no clock in common. `reuses`: take over the verdict of an equal candidate of the same node.
    """

    number: int
    submission: Submission
    problem: Problem
    settings: Settings
    rank: int
    left_s: float | None = None
    noting: bool = False
    tools: tuple[ToolName, ...] = ()
    later: bool = False
    reuses: bool = False
    confirms: Told | None = None
    idle: bool = False
    device: str | None = None

    @classmethod
    def of(cls, number: int, ask: Ask, *, device: str | None) -> "Asked":
        """`device` is the name that it has on the node, None for any of them."""
        return cls(
            number=number,
            submission=ask.submission,
            problem=ask.problem,
            settings=ask.settings,
            rank=ask.rank,
            left_s=None if ask.deadline is None else ask.deadline - time.monotonic(),
            noting=ask.noting,
            tools=tuple(ask.tools),
            later=ask.later,
            reuses=ask.reuses is not None,
            confirms=None if ask.confirms is None else Told.of(ask.confirms),
            idle=ask.idle,
            device=device,
        )

    def ask(self, known: Reuse[Evaluated]) -> Ask:
        """What the node's engine is asked; `known` are the verdicts that it has told."""
        return Ask(
            self.submission,
            self.problem,
            self.settings,
            rank=self.rank,
            deadline=None if self.left_s is None else time.monotonic() + self.left_s,
            noting=self.noting,
            tools=self.tools,
            later=self.later,
            reuses=known if self.reuses else None,
            confirms=None if self.confirms is None else self.confirms.evaluated(),
            idle=self.idle,
            device=self.device,
        )


class GivenUp(Frozen):
    """It was cancelled before there was a verdict."""


Outcome = Told | Fault | GivenUp
"""What comes back for `Asked`. A `Fault` is what the engine of the node raised, or why its session is lost."""


def seen(facts: DeviceFacts) -> DeviceSeen:
    return DeviceSeen(name=facts.name, model=facts.model, environment=facts.environment)
