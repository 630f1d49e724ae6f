"""records -> rows of a leaderboard."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.report.entry import Entry, VerdictPart
from harness.report.metrics import fast_p, geometric_mean
from harness.schema import DeviceKind, Failed, Frozen, Interval, Record
from harness.schema.problem import Precision

# Failing at one of these means that the candidate's extensions were built, or that it had none.
_STAGES_PAST_BUILD: set[str | None] = {"load", "run", "time"}
_DOUBTFUL = {"warn", "reject"}

_Place = tuple[DeviceKind, str, Precision]
_Question = tuple[str, _Place]


class Note(Frozen):
    """Why a row is not like another: `tag` for a narrow column, `text` for whoever wants to know."""

    tag: str
    text: str


class Best(Frozen):
    """The best correct answer to one problem. `speedup` is None where none of them was timed."""

    problem: str
    submission: str
    sample: int
    speedup: Interval | None


class Row(Frozen):
    """One model in one run on one device at one precision.

    `submissions` counts what was judged and is the denominator of fast_p; `unjudged` what ended in a fault of ours,
    which scores nobody. `compiled` counts those that got past the build, `flagged` those with a doubt of severity
    warn or reject. fast_0 is None where nothing was judged; fast_1, fast_2 and `geomean_speedup` (of the correct and
    timed) also where nothing may be said about time: under emulation, or where nothing correct was timed.
    `problems` counts those asked, `best` has one answer for each that was solved.
    """

    model: str
    run: str
    device: DeviceKind
    device_name: str
    precision: Precision
    submissions: int
    unjudged: int
    compiled: int
    correct: int
    rejected: int
    flagged: int
    timed: int
    fast_0: float | None
    fast_1: float | None
    fast_2: float | None
    geomean_speedup: float | None
    problems: int
    best: tuple[Best, ...]
    notes: tuple[Note, ...]

    @property
    def order(self) -> tuple[object, ...]:
        """Rows with times first, by fast_1, then speed-up, then correctness; names settle what is left."""
        return (
            self.fast_1 is None,
            -(self.fast_1 or 0.0),
            -(self.geomean_speedup or 0.0),
            -(self.fast_0 or 0.0),
            self.model,
            self.run,
            self.device,
            self.device_name,
            self.precision,
        )


class ProblemBest(Frozen):
    """The best answer to one problem on one device at one precision, over all rows that asked it there.

    `rank` is the 1-based place of the row that holds it; both are None where nobody solved it. `asked` counts the
    rows that asked, `solved` those with a correct answer.
    """

    problem: str
    device: DeviceKind
    device_name: str
    precision: Precision
    best: Best | None
    rank: int | None
    asked: int
    solved: int


class Leaderboard(Frozen):
    """Ranked rows, and for every problem its best."""

    rows: tuple[Row, ...]
    problems: tuple[ProblemBest, ...]


def leaderboard(runs: Mapping[str, Iterable[Record | Entry]]) -> Leaderboard:
    """Ranks the records of `runs` (name -> records). Each record is looked at once, so they may be read as they go.

    Rows are apart by model, run, device and precision: an emulated, a CPU and a GPU result are never one number.
    """
    tallies: dict[_Group, _Tally] = defaultdict(_Tally)
    for run, records in runs.items():
        for record in records:
            tallies[_Group.of(run, record)].add(record)
    rows = {group: _row(group, tally) for group, tally in tallies.items()}
    ranked = sorted(rows, key=lambda group: rows[group].order)
    return Leaderboard(
        rows=tuple(rows[group] for group in ranked),
        problems=_problems([(group, tallies[group].problems) for group in ranked]),
    )


class _Group(NamedTuple):
    model: str
    run: str
    device: DeviceKind
    device_name: str
    precision: Precision

    @classmethod
    def of(cls, run: str, record: Record | Entry) -> "_Group":
        device = record.device
        return cls(record.submission.model, run, device.kind, device.name, record.problem.workload.precision)

    @property
    def place(self) -> _Place:
        """Where speed-ups can be compared."""
        return self.device, self.device_name, self.precision


@dataclass
class _Tally:
    """What is counted of one row while its records go by."""

    verdicts: Counter[str] = field(default_factory=Counter)
    compiled: int = 0
    flagged: int = 0
    reduced: int = 0
    answered: int = 0
    unisolated: int = 0
    missing: set[str] = field(default_factory=set)
    speedups: list[float] = field(default_factory=list)
    problems: dict[str, Best | None] = field(default_factory=dict)

    @property
    def judged(self) -> int:
        return self.verdicts.total() - self.verdicts["infrastructure"]

    def add(self, record: Record | Entry) -> None:
        self.verdicts[record.verdict.kind] += 1
        title = record.problem.title
        self.problems.setdefault(title, None)
        if record.verdict.kind == "infrastructure":
            return
        self.flagged += any(flag.severity in _DOUBTFUL for flag in record.flags)
        self.reduced += record.problem.workload.reduced
        if _got_past_build(record):
            self.compiled += 1
            self._add_isolation(record)
        if record.verdict.kind == "correct":
            self._add_correct(title, record)

    def _add_isolation(self, record: Record | Entry) -> None:
        if record.verdict.kind == "rejected":  # perhaps by screening: then it never ran
            return
        self.answered += 1
        if record.sandbox.layers:
            self.missing.update(record.sandbox.missing)
        else:
            self.unisolated += 1

    def _add_correct(self, title: str, record: Record | Entry) -> None:
        speedup = _speedup(record)
        if speedup is not None:
            self.speedups.append(speedup.value)
        submission = record.submission
        quality = _quality(speedup, submission.path, submission.sample)
        known = self.problems[title]
        if known is None or quality < _quality(known.speedup, known.submission, known.sample):
            best = Best(problem=title, submission=submission.path, sample=submission.sample, speedup=speedup)
            self.problems[title] = best


def _got_past_build(record: Record | Entry) -> bool:
    verdict = record.verdict
    if isinstance(verdict, Failed | VerdictPart) and verdict.kind == "failed":
        return verdict.stage in _STAGES_PAST_BUILD
    return True


def _speedup(record: Record | Entry) -> Interval | None:
    """None where nothing may be said about time. A ratio that is no number above 0 says nothing either."""
    if record.timing is None or record.device.kind == "cpu-emulated":
        return None
    speedup = record.timing.speedup
    return speedup if math.isfinite(speedup.value) and speedup.value > 0 else None


def _quality(speedup: Interval | None, submission: str, sample: int) -> tuple[float, str, int]:
    """Smaller is better: timed before not timed, fast before slow, names settle what is left."""
    return -speedup.value if speedup else 0.0, submission, sample


def _row(group: _Group, tally: _Tally) -> Row:
    judged, correct = tally.judged, tally.verdicts["correct"]
    says_time = judged > 0 and group.device != "cpu-emulated" and (bool(tally.speedups) or correct == 0)
    return Row(
        model=group.model,
        run=group.run,
        device=group.device,
        device_name=group.device_name,
        precision=group.precision,
        submissions=judged,
        unjudged=tally.verdicts["infrastructure"],
        compiled=tally.compiled,
        correct=correct,
        rejected=tally.verdicts["rejected"],
        flagged=tally.flagged,
        timed=len(tally.speedups),
        # Every correct answer is more than 0 times as fast, so the untimed ones count here as well.
        fast_0=correct / judged if judged else None,
        fast_1=fast_p(tally.speedups, asked=judged, p=1.0) if says_time else None,
        fast_2=fast_p(tally.speedups, asked=judged, p=2.0) if says_time else None,
        geomean_speedup=geometric_mean(tally.speedups),
        problems=len(tally.problems),
        best=tuple(
            best for title in sorted(tally.problems, key=_natural) if (best := tally.problems[title]) is not None
        ),
        notes=tuple(_notes(group, tally)),
    )


def _notes(group: _Group, tally: _Tally) -> Iterator[Note]:
    """What a reader has to know before comparing this row with another, the gravest first."""
    emulated, untimed = group.device == "cpu-emulated", tally.verdicts["correct"] - len(tally.speedups)
    if emulated:
        yield Note(tag="emulated", text="CUDA emulated on the CPU: correctness only, no speed-ups")
    if tally.reduced:
        yield Note(tag="reduced", text=f"reduced size in {_of(tally.reduced, tally.judged)}")
    if tally.unisolated:
        yield Note(tag="unisolated", text=f"no isolation in {_of(tally.unisolated, tally.answered)}")
    if tally.missing:
        yield Note(tag="less isolated", text=f"isolation without {', '.join(sorted(tally.missing))}")
    if tally.flagged:
        yield Note(tag=f"{tally.flagged} flagged", text=f"{_of(tally.flagged, tally.judged)} flagged")
    if rejected := tally.verdicts["rejected"]:
        yield Note(tag=f"{rejected} rejected", text=f"{_of(rejected, tally.judged)} rejected")
    if untimed and not emulated:
        yield Note(tag=f"{untimed} untimed", text=f"{untimed} correct but not timed")
    if unjudged := tally.verdicts["infrastructure"]:
        yield Note(tag=f"{unjudged} unjudged", text=f"{unjudged} not judged through a fault of ours, to be tried again")


def _of(part: int, whole: int) -> str:
    return f"all {whole}" if part == whole else f"{part} of {whole}"


def _problems(ranked: Sequence[tuple[_Group, Mapping[str, Best | None]]]) -> tuple[ProblemBest, ...]:
    asked: dict[_Question, list[tuple[int, Best | None]]] = defaultdict(list)
    for rank, (group, problems) in enumerate(ranked, start=1):
        for title, best in problems.items():
            asked[title, group.place].append((rank, best))
    questions = sorted(asked, key=lambda question: (_natural(question[0]), question[1]))
    return tuple(_problem_best(*question, asked[question]) for question in questions)


def _natural(title: str) -> tuple[tuple[int, str], ...]:
    """Sorts level1/9_x before level1/19_x."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", title))


def _problem_best(title: str, place: _Place, answers: Sequence[tuple[int, Best | None]]) -> ProblemBest:
    solved = [(best, rank) for rank, best in answers if best is not None]
    best, rank = min(solved, key=_quality_then_rank, default=(None, None))
    device, device_name, precision = place
    return ProblemBest(
        problem=title,
        device=device,
        device_name=device_name,
        precision=precision,
        best=best,
        rank=rank,
        asked=len(answers),
        solved=len(solved),
    )


def _quality_then_rank(answer: tuple[Best, int]) -> tuple[float, int]:
    best, rank = answer
    return -best.speedup.value if best.speedup else 0.0, rank
