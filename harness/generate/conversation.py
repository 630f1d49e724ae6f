"""Conversations: the first question of each sample, and the next one where a verdict is in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.generate.asking import Ask
from harness.generate.feedback import feedback
from harness.generate.folder import GenerationFolder, Key
from harness.generate.prompts import Templates
from harness.schema import Problem, Record
from harness.schema.generation import Generation, Message

_NO_ANSWER = "(no answer)"
_THINK_END = "</think>"


@dataclass(frozen=True)
class Plan:
    """What is wanted of a model: so many conversations about each problem, of so many answers each."""

    problems: Sequence[Problem]
    samples: int
    turns: int
    templates: Templates

    def opening(self, problem: Problem, sample: int, folder: GenerationFolder) -> Ask:
        """The first question of a conversation."""
        return Ask(problem, sample, self.templates.opening(problem, folder.settings))

    def following(self, problem: Problem, answer: Generation, record: Record) -> Ask | None:
        """The question after `answer` was judged; None where the conversation is over."""
        said = feedback(record) if answer.turn + 1 < self.turns else None
        if said is None:
            return None
        messages = (
            *answer.messages,
            Message(role="assistant", content=_spoken(answer.text)),
            self.templates.refinement(verdict=said.verdict, next_step=said.next_step),
        )
        return Ask(problem, answer.sample, messages, turn=answer.turn + 1, parent=answer.sha256)

    def _last_answers(self, kept: Mapping[Key, Generation]) -> list[tuple[Problem, int, Generation | None]]:
        """Every conversation with its last answer so far: the first of every problem, then the second of every one."""
        last: dict[tuple[str, int], Generation] = {}
        for generation in sorted(kept.values(), key=lambda each: each.turn):
            last[generation.problem, generation.sample] = generation
        return [
            (problem, sample, last.get((problem.title, sample)))
            for sample in range(self.samples)
            for problem in self.problems
        ]

    def due(self, kept: Mapping[Key, Generation], records: Mapping[str, Record], folder: GenerationFolder) -> list[Ask]:
        """The questions that can be asked now. `records` holds what is judged, by the submission's path.

        Raises StoreError where an answer that is kept is to a problem that has been changed since.
        """
        asks = []
        for problem, sample, answer in self._last_answers(kept):
            if answer is None:
                asks.append(self.opening(problem, sample, folder))
                continue
            folder.check(problem, answer)
            record = records.get(str(folder.path(answer)))
            if record is None or record.submission.sha256 != answer.sha256:
                continue
            if (ask := self.following(problem, answer, record)) is not None:
                asks.append(ask)
        return asks


def _spoken(text: str) -> str:
    """An answer as it is shown to the model again: without its thoughts, and never empty, which servers refuse."""
    return text.rpartition(_THINK_END)[2].strip() or _NO_ANSWER
