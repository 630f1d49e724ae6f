"""Questions to a model, and one who keeps what came of them."""

from harness.generate.asking import Ask, Watcher
from harness.schema import Problem
from harness.schema.generation import Attempt, Generation, Message

KEY = "sk-a-secret-of-ours"
SHA = "0" * 64


def problem(name: str = "19_ReLU") -> Problem:
    return Problem(set="level1", name=name, sha256=SHA, source="class Model: ...\n")


def question(sample: int = 0, text: str = "hello", name: str = "19_ReLU") -> Ask:
    return Ask(problem(name), sample, (Message(role="user", content=text),))


class Listener(Watcher):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.kept: list[Generation] = []
        self.waits: list[Attempt] = []
        self.lost: list[str] = []

    def answered(self, ask: Ask, generation: Generation) -> None:
        self.kept.append(generation)

    def waiting(self, ask: Ask, attempt: Attempt) -> None:
        self.waits.append(attempt)

    def unanswered(self, ask: Ask, detail: str) -> None:
        self.lost.append(detail)
