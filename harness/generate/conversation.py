"""Conversations: the first question of each sample, and the next one where a verdict is in."""

from collections.abc import Iterable, Iterator, Mapping

from harness.generate.asking import Ask
from harness.generate.feedback import feedback
from harness.generate.folder import GenerationFolder, Key
from harness.generate.prompts import Templates
from harness.schema import Problem, Record
from harness.schema.generation import Generation, GenerationSettings, Message

_NO_ANSWER = "(no answer)"
_THINK_END = "</think>"


def opening(problem: Problem, sample: int, *, templates: Templates, settings: GenerationSettings) -> Ask:
    """The first question of a sample."""
    return Ask(problem, sample, templates.opening(problem, settings))


def openings(
    problems: Iterable[Problem],
    samples: int,
    *,
    kept: Mapping[Key, Generation],
    folder: GenerationFolder,
    templates: Templates,
) -> Iterator[Ask]:
    """The first questions that have no answer yet: the first sample of every problem, then the second of every one.

    Raises StoreError where an answer that is kept is to a problem that has been changed since.
    """
    problems = list(problems)
    for sample in range(samples):
        for problem in problems:
            generation = kept.get((problem.title, sample, 0))
            if generation is None:
                yield opening(problem, sample, templates=templates, settings=folder.settings)
            else:
                folder.check(problem, generation)


def following(problem: Problem, parent: Generation, record: Record, *, templates: Templates) -> Ask | None:
    """The question after `parent` was judged; None where nothing is left to be said."""
    said = feedback(record)
    if said is None:
        return None
    answer = Message(role="assistant", content=_spoken(parent.text))
    verdict = templates.refinement(verdict=said.verdict, next_step=said.next_step)
    return Ask(
        problem,
        parent.sample,
        (*parent.messages, answer, verdict),
        turn=parent.turn + 1,
        parent=parent.sha256,
    )


def _spoken(text: str) -> str:
    """An answer as it is shown to the model again: without its thoughts, and never empty, which servers refuse."""
    return text.rpartition(_THINK_END)[2].strip() or _NO_ANSWER
