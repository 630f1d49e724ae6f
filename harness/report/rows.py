"""records -> rows of a leaderboard."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from harness.report.judged import TIERS, Judged, compiled, ran, set_of, tiers
from harness.report.metrics import (
    Estimate,
    Spread,
    best_of_k,
    bootstrap,
    fast_p,
    geometric_mean_of_each,
    geometric_means,
    medians,
    paired_p,
    pass_at_k,
    pass_at_k_of_each,
    spread,
)
from harness.schema import EMULATED, BaselineName, DeviceKind, Frozen, Interval, Record
from harness.schema.columns import Coded, Columns
from harness.schema.problem import Precision
from harness.schema.record import weakens

ALWAYS_P = (0.0, 1.0, 2.0)
"""fast_p is said for these, and for whatever else is asked."""
EVERY_K = 10
"""Up to this every k is said, then 20, 50, 100, 200, ... and the most that the answers allow."""
BASELINES: tuple[str, ...] = get_args(BaselineName)

_Bools = NDArray[np.bool_]
_Wholes = NDArray[np.int64]


class Note(Frozen):
    """Why a row is not like another: `tag` for a narrow column, `text` for a reader that wants to know."""

    tag: str
    text: str


class Turn(Frozen):
    """How one turn of a conversation ended. `speedup` is None where it was not timed."""

    verdict: str
    speedup: float | None


class Best(Frozen):
    """The best correct answer to one problem. `speedup` is None where none of them was timed.

    `path` are the turns of its conversation up to it, itself included; empty where it is a first answer. `confirmed`:
    stock built it, or was asked about it, or there was nothing to build.
    """

    problem: str
    submission: str
    sample: int
    speedup: Interval | None
    path: tuple[Turn, ...] = ()
    confirmed: bool = True
    quick: bool = False


class FastP(Frozen):
    """fast_p for one p. `sure` is what is left of it when no answer counts that there is a doubt about: flagged, at a
    reduced size, without isolation, to a problem whose audit found fault, or (p above 0) timed on a disturbed device.
    """

    p: float
    value: float
    sure: float
    spread: Spread


class AtK(Frozen):
    """What the best of k answers comes to: the chance that one is correct, that one is correct and faster than the
    reference, and the speed-up to expect where the reference is kept if none is. The last two are None where nothing
    may be said about time.
    """

    k: int
    passes: float
    passes_spread: Spread
    fast_1: float | None
    fast_1_spread: Spread | None
    speedup: float | None


class Failure(Frozen):
    """How many answers ended in one way: what failed and why, where wrong answers differ, what rejected them."""

    verdict: str
    stage: str
    reason: str
    count: int


class Tokens(Frozen):
    """What the server counted, over the `submissions` that say it. `per_correct` is all of them over the correct ones
    among these, None where none is.
    """

    submissions: int
    prompt: int
    completion: int
    per_correct: float | None


class Figures(Frozen):
    """What the answers to a number of problems come to.

    `problems` were asked, `unanswered` of them have no record. `submissions` counts what was judged, `unjudged` what
    ended in a fault of ours, which is no score: a problem with nothing else is not asked. `compiled` counts those
    that got past the build, `flagged` those with a doubt of severity warn or reject, `reduced`, `unisolated`,
    `disturbed` and `audited` those of which that is true, `quick` those timed to a band, `differed` those that stock
    judged otherwise than their fast builds were.

    Rates are shares of all problems asked, each with its spread over them; of several answers to a problem each counts
    for its part of it, and of the turns of one conversation the best counts. They are None where nothing was judged or
    verdicts were filtered, `fast_p` above 0 also where nothing may be said about time: under emulation, or where
    nothing correct was timed.
    `geomean` and `median` are over the problems with a correct and timed answer (of several the geometric mean),
    `roofline` is the median fraction over those that have one.
    """

    problems: int
    unanswered: int
    submissions: int
    unjudged: int
    compiled: int
    correct: int
    rejected: int
    flagged: int
    reduced: int
    unisolated: int
    disturbed: int
    quick: int = 0
    audited: int
    differed: int
    timed: int
    compile_rate: float | None
    correct_rate: float | None
    correct_spread: Spread | None
    fast_p: tuple[FastP, ...]
    geomean: Estimate | None
    median: Estimate | None
    roofline: Estimate | None

    def fast(self, p: float) -> float | None:
        """fast_p for one of the p that were asked for; None where it is not said."""
        return next((each.value for each in self.fast_p if each.p == p), None)


class Level(Figures):
    """The figures of one set of problems."""

    set: str


class Row(Figures):
    """One model in one run on one device at one precision, timed against one baseline.

    `only_answered` says that problems without an answer were left out of the denominators, `unanswered` is 0 then.
    `best` has one answer for each problem that was solved, `failures` how the others ended, the most frequent first,
    `levels` the figures of each set where there are several. `conversations` says that several turns make one answer.
    """

    model: str
    run: str
    device: DeviceKind
    device_name: str
    precision: Precision
    baseline: BaselineName
    only_answered: bool
    conversations: bool
    at_k: tuple[AtK, ...]
    failures: tuple[Failure, ...]
    tokens: Tokens | None
    levels: tuple[Level, ...]
    best: tuple[Best, ...]
    notes: tuple[Note, ...]

    @property
    def order(self) -> tuple[object, ...]:
        """Rows with something correct first, of these those with times, by fast_1, then speed-up, then correctness.

        Names settle what is left.
        """
        fast_1 = self.fast(1.0)
        return (
            self.correct == 0,
            fast_1 is None,
            -(fast_1 or 0.0),
            -(self.geomean.value if self.geomean else 0.0),
            -(self.correct_rate or 0.0),
            self.model,
            self.run,
            self.device,
            self.device_name,
            self.precision,
            self.baseline,
        )


class ProblemBest(Frozen):
    """The best answer to one problem in one place (device, precision and baseline), over all rows that asked it there.

    `rank` is the 1-based place of the row that holds it; both are None where no answer solved it. `asked` counts the
    rows that asked, `solved` those with a correct answer.
    """

    problem: str
    device: DeviceKind
    device_name: str
    precision: Precision
    baseline: BaselineName
    best: Best | None
    rank: int | None
    asked: int
    solved: int


SURE_P = 0.05
"""A difference that chance gives less often than this is told."""
Compared = Literal["correct", "fast_1", "speed-up"]


class Comparison(Frozen):
    """Whether one row is better than the next one of the same place, by a paired test over problems.

    `first` and `second` are 1-based ranks, the two values the shares over `problems` problems that both were asked, or
    the geometric means over those that both have times for. `p` is what `metrics.paired_p` says. `better` is the rank
    of the better row, None where that cannot be told.
    """

    first: int
    second: int
    figure: Compared
    first_value: float
    second_value: float
    problems: int
    p: float
    better: int | None


class Leaderboard(Frozen):
    """Ranked rows, for every problem its best, and what can be told of rows that follow each other in one place."""

    rows: tuple[Row, ...]
    problems: tuple[ProblemBest, ...]
    comparisons: tuple[Comparison, ...] = ()


def leaderboard(runs: Mapping[str, Judged | Iterable[Record]], *, ps: Sequence[float] = ()) -> Leaderboard:
    """Ranks `runs` (name -> what was judged, or its records).

    Rows are apart by model, run, device, precision and baseline: an emulated, a CPU and a GPU result are never one
    number, and neither are speed-ups over different references.

    Args:
        ps: the p of further fast_p, beside ALWAYS_P.
    """
    settled = tuple(sorted({*ALWAYS_P, *ps}))
    rows: list[_Ranked] = []
    for run, judged in runs.items():
        judged = judged if isinstance(judged, Judged) else Judged.of(judged)
        rows.extend(_rows_of_run(run, judged, settled))
    rows.sort(key=lambda each: each.row.order)
    problems = _problems(rows)
    unconfirmed = Counter(each.rank for each in problems if each.best is not None and not each.best.confirmed)
    noted = (_with_note(each.row, unconfirmed[rank]) for rank, each in enumerate(rows, start=1))
    return Leaderboard(rows=tuple(noted), problems=problems, comparisons=tuple(_comparisons(rows)))


def _with_note(row: Row, unconfirmed: int) -> Row:
    """A row with what is to be said of the problems that it ranks first of."""
    if not unconfirmed:
        return row
    firsts = "1 first place" if unconfirmed == 1 else f"{unconfirmed} first places"
    text = f"{firsts} of a fast build that stock has not confirmed: harness runs confirm {row.run} asks it"
    return row.model_copy(update={"notes": (*row.notes, Note(tag=f"{unconfirmed} unconfirmed", text=text))})


class _Ranked(NamedTuple):
    """A row, the titles of the problems that it has a record for, and its figures of each problem that it was asked."""

    row: Row
    titles: tuple[str, ...]
    each: "dict[str, _OfProblem]"


class _OfProblem(NamedTuple):
    """Of the answers to one problem the share that is correct, the share that is faster than the reference, and the
    geometric mean of the speed-ups, None where none was timed.
    """

    correct: float = 0.0
    fast_1: float = 0.0
    speedup: float | None = None


def _rows_of_run(run: str, judged: Judged, ps: Sequence[float]) -> Iterator[_Ranked]:
    asked = judged.columns if judged.aside is None else Columns.joined([judged.columns, judged.aside])
    columns = _settled_devices(asked)
    groups = _groups((columns.model, columns.device, columns.device_name, columns.precision))
    without_a_gpu = _without_a_gpu(columns, groups)
    shown = (np.arange(len(asked)) < len(judged.columns)) & (columns.device.codes == asked.device.codes)
    for rows in groups:
        if judged.aside is not None and not shown[rows].any():
            continue
        group = columns.take(rows)
        emulated = group.device[0] == EMULATED
        timed = set() if emulated else {group.baseline.texts[code] for code in np.unique(group.baseline.codes).tolist()}
        group = columns.take(np.concatenate([rows, *without_a_gpu.get(int(rows[0]), ())]))
        for baseline in sorted(timed, key=BASELINES.index) or ["eager"]:
            titles = judged.unanswered.get(group.model[0], frozenset())
            answers = _Answers.of(group, baseline, complete=judged.complete)
            yield _row(run, answers, titles, ps, only_answered=judged.only_answered)


def _without_a_gpu(columns: Columns, groups: Sequence[_Wholes]) -> dict[int, list[_Wholes]]:
    """For a group of answers that a CPU judged, by its first row, those of its model that the CPU judged the other way.

    What decides whether one is emulated is its own text: where such answers were left out of the other row, a model
    would choose which of its answers count.
    """
    beside: dict[tuple[str, str, str], list[_Wholes]] = defaultdict(list)
    for rows in groups:
        first = int(rows[0])
        if columns.device[first] in ("cpu", EMULATED):
            beside[columns.model[first], columns.device_name[first], columns.precision[first]].append(rows)
    return {
        int(rows[0]): [others for others in several if others is not rows]
        for several in beside.values()
        for rows in several
    }


def _settled_devices(columns: Columns) -> Columns:
    """The columns with every answer that was never built counted where the others of its model are.

    Without a GPU an answer that names CUDA is `cpu-emulated` and one that names nothing, because it is empty or breaks
    off, is `cpu`: by themselves those would be a row, and neither row a score.
    """
    kinds = np.array([columns.device.code("cpu"), columns.device.code(EMULATED)])
    if (kinds < 0).any():
        return columns
    built, device = compiled(columns), columns.device.codes.copy()
    for rows in _groups((columns.model, columns.device_name, columns.precision)):
        mine = device[rows]
        counts = [((mine == kind) & built[rows]).sum() for kind in kinds]
        most = kinds[
            int(counts[1] >= counts[0])
        ]  # where none was built those that would be emulated say what was meant
        if (mine == most).any():
            device[rows[np.isin(mine, kinds) & ~built[rows]]] = most
    return replace(columns, device=Coded(columns.device.texts, device))


def _groups(columns: Sequence[Coded]) -> list[_Wholes]:
    """The rows that agree in all of these, each group in the order of its rows."""
    key = np.zeros(len(columns[0].codes), np.int64)
    for column in columns:
        key = key * max(1, len(column.texts)) + column.codes
    if not len(key):
        return []
    order = np.argsort(key, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(key[order])) + 1)


@dataclass(frozen=True)
class _Answers:
    """The records of a row as arrays. `speedup` (n by 3: value and interval) is NaN unless the answer is correct and
    was timed against the row's baseline, and where the ratio is no number above 0. `elsewhere` are judged on another
    device than the first and not correct here.
    """

    columns: Columns
    baseline: str
    complete: bool
    emulated: bool
    judged: _Bools
    correct: _Bools
    compiled: _Bools
    unisolated: _Bools
    elsewhere: _Bools
    speedup: NDArray[np.float64]

    @classmethod
    def of(cls, columns: Columns, baseline: str, *, complete: bool) -> "_Answers":
        elsewhere = columns.device.codes != columns.device.codes[:1]
        correct = (columns.verdict.codes == columns.verdict.code("correct")) & ~elsewhere
        speedup = columns.speedups(baseline)
        value = speedup[:, 0]
        nothing = ~correct | ~np.isfinite(value) | (value <= 0)
        emulated = len(columns) > 0 and columns.device[0] == EMULATED
        if emulated:
            nothing[:] = True
        speedup[nothing] = np.nan
        return cls(
            columns=columns,
            baseline=baseline,
            complete=complete,
            emulated=emulated,
            judged=columns.verdict.codes != columns.verdict.code("infrastructure"),
            correct=correct,
            compiled=compiled(columns),
            unisolated=ran(columns) & (tiers(columns) == TIERS.index("none")),
            elsewhere=elsewhere,
            speedup=speedup,
        )

    @property
    def timed(self) -> _Bools:
        return ~np.isnan(self.speedup[:, 0])

    @property
    def says_time(self) -> bool:
        """Whether fast_1 and the like may be said."""
        if not self.judged.any() or self.emulated:
            return False
        return bool(self.timed.any()) or not self.correct.any()

    def take(self, rows: _Bools) -> "_Answers":
        taken: dict[str, Any] = {
            name: getattr(self, name)[rows]
            for name in ("judged", "correct", "compiled", "unisolated", "elsewhere", "speedup")
        }
        return replace(self, columns=self.columns.take(rows), **taken)


class _Samples(NamedTuple):
    """What the rates are of: an answer each, or where there are conversations one conversation each.

    `speedups` is as `fast_p` has it: NaN for not correct, infinity for correct and not timed.
    """

    problems: _Wholes
    compiled: _Bools
    speedups: NDArray[np.float64]
    sure: NDArray[np.float64]
    sure_of_time: NDArray[np.float64]

    @classmethod
    def of(cls, answers: _Answers) -> "_Samples":
        """Of what was judged."""
        columns = answers.columns
        doubted = columns.flagged | columns.audited | answers.unisolated
        if not answers.emulated:  # there all is at a reduced size, and the row says so
            doubted = doubted | columns.reduced
        speedups = np.where(answers.correct, np.where(answers.timed, answers.speedup[:, 0], np.inf), np.nan)
        sure = np.where(doubted, np.nan, speedups)
        samples = cls(
            problems=columns.problem.codes.astype(np.int64),
            compiled=answers.compiled,
            speedups=speedups,
            sure=sure,
            sure_of_time=np.where(columns.disturbed, np.nan, sure),
        ).take(answers.judged)
        turn, sample = columns.turn[answers.judged], columns.sample[answers.judged]
        return samples.of_conversations(turn, sample) if (turn >= 0).any() else samples

    def faster_than(self, p: float) -> _Bools:
        """Which are correct and more than `p` times as fast; what was not timed is that for p = 0 alone."""
        return np.asarray(self.speedups > p if p == 0 else np.isfinite(self.speedups) & (self.speedups > p))

    def take(self, rows: _Bools) -> "_Samples":
        return _Samples(
            self.problems[rows], self.compiled[rows], self.speedups[rows], self.sure[rows], self.sure_of_time[rows]
        )

    def of_conversations(self, turn: _Wholes, sample: _Wholes) -> "_Samples":
        """With the turns of a conversation, which share problem and sample, made one: the best of them counts."""
        alone = np.where(turn >= 0, -1, np.arange(len(turn)))  # what is no turn stands for itself
        pairs = np.stack([self.problems, np.where(turn >= 0, sample, -1), alone])
        kept, place = np.unique(pairs, axis=1, return_inverse=True)

        def best(speedups: NDArray[np.float64]) -> NDArray[np.float64]:
            whole = np.full(kept.shape[1], np.nan)
            np.fmax.at(whole, place, speedups)
            return whole

        compiled = np.zeros(kept.shape[1], np.bool_)
        np.logical_or.at(compiled, place, self.compiled)
        return _Samples(kept[0], compiled, best(self.speedups), best(self.sure), best(self.sure_of_time))


def _figures(answers: _Answers, unanswered: int, ps: Sequence[float]) -> dict[str, Any]:
    """The fields of Figures."""
    columns, judged = answers.columns, answers.judged
    samples = _Samples.of(answers)
    problems = len(np.unique(samples.problems))
    asked = problems + unanswered

    def count(which: _Bools) -> int:
        return int((which & judged).sum())

    timed = answers.timed
    each = geometric_mean_of_each(columns.problem.codes[timed], answers.speedup[timed, 0]) if timed.any() else None
    fractions = columns.roofline[answers.correct & np.isfinite(columns.roofline)]
    rated = answers.complete and problems > 0
    return {
        "problems": asked,
        "unanswered": unanswered,
        "submissions": int(judged.sum()),
        "unjudged": int((~judged).sum()),
        "compiled": count(answers.compiled),
        "correct": count(answers.correct),
        "rejected": count(columns.verdict.codes == columns.verdict.code("rejected")),
        "flagged": count(columns.flagged),
        "reduced": count(columns.reduced),
        "unisolated": count(answers.unisolated),
        "disturbed": count(columns.disturbed),
        "quick": count(columns.quick),
        "audited": count(columns.audited),
        "differed": count(columns.differed),
        "timed": int(timed.sum()),
        "compile_rate": pass_at_k(samples.problems, samples.compiled, k=1, asked=asked) if rated else None,
        "correct_rate": fast_p(samples.problems, samples.speedups, p=0.0, asked=asked) if rated else None,
        "correct_spread": _spread(samples, 0.0, k=1, asked=asked) if rated else None,
        "fast_p": tuple(_fast_p(samples, p, asked) for p in ps if p == 0 or answers.says_time) if rated else (),
        "geomean": None if each is None else bootstrap(each, geometric_means),
        "median": None if each is None else bootstrap(each, medians),
        "roofline": bootstrap(fractions, medians) if len(fractions) else None,
    }


def _fast_p(samples: _Samples, p: float, asked: int) -> FastP:
    # An answer that was not timed is infinitely fast only for p = 0, where being correct is all that is asked.
    def share(speedups: NDArray[np.float64]) -> float:
        known = speedups if p == 0 else np.where(np.isinf(speedups), np.nan, speedups)
        return fast_p(samples.problems, known, p=p, asked=asked) or 0.0

    sure = share(samples.sure if p == 0 else samples.sure_of_time)
    within = _spread(samples, p, k=1, asked=asked)
    return FastP(p=p, value=share(samples.speedups), sure=sure, spread=within)


def _spread(samples: _Samples, p: float, *, k: int, asked: int) -> Spread:
    """Of fast_p, where every problem has at least `k` answers."""
    each = pass_at_k_of_each(samples.problems, samples.faster_than(p), k=k)
    assert each is not None
    return spread(each, asked=asked)


def _row(
    run: str, answers: _Answers, unanswered: frozenset[str], ps: Sequence[float], *, only_answered: bool
) -> _Ranked:
    columns = answers.columns
    titles = {title: columns.problem.texts[title] for title in np.unique(columns.problem.codes).tolist()}
    best = _best(answers)
    figures = _figures(answers, len(unanswered), ps)
    row = Row.model_validate(
        {
            **figures,
            "model": columns.model[0],
            "run": run,
            "device": columns.device[0],
            "device_name": columns.device_name[0],
            "precision": columns.precision[0],
            "baseline": answers.baseline,
            "only_answered": only_answered,
            "conversations": bool((columns.turn > 0).any()),
            "at_k": tuple(_at_k(answers, figures["problems"])),
            "failures": tuple(_failures(columns)),
            "tokens": _tokens(answers),
            "levels": tuple(_levels(answers, unanswered, ps)),
            "best": tuple(sorted(best.values(), key=lambda each: _natural(each.problem))),
            "notes": (),
        }
    )
    notes = tuple(_notes(row, answers))
    each = _of_each_problem(answers, unanswered) if answers.complete else {}
    return _Ranked(row.model_copy(update={"notes": notes}), tuple(titles.values()), each)


def _of_each_problem(answers: _Answers, unanswered: frozenset[str]) -> dict[str, _OfProblem]:
    samples, texts = _Samples.of(answers), answers.columns.problem.texts
    found = dict.fromkeys(unanswered, _OfProblem())
    if not len(samples.problems):
        return found
    correct, fast_1 = (pass_at_k_of_each(samples.problems, samples.faster_than(p), k=1) for p in (0.0, 1.0))
    assert correct is not None
    assert fast_1 is not None
    timed = answers.timed
    problems = answers.columns.problem.codes[timed]
    speedups: dict[int, float] = {}
    if timed.any():
        means = geometric_mean_of_each(problems, answers.speedup[timed, 0])
        speedups = dict(zip(np.unique(problems).tolist(), means.tolist(), strict=True))
    codes = np.unique(samples.problems).tolist()
    for code, right, fast in zip(codes, correct.tolist(), fast_1.tolist(), strict=True):
        found[texts[code]] = _OfProblem(right, fast, speedups.get(code))
    return found


def _comparisons(ranked: Sequence[_Ranked]) -> Iterator[Comparison]:
    """Each row with the next one of its place."""
    last: dict[_Place, tuple[int, _Ranked]] = {}
    for rank, mine in enumerate(ranked, start=1):
        row = mine.row
        place = (row.device, row.device_name, row.precision, row.baseline)
        if place in last:
            before, other = last[place]
            yield from _compared(before, other, rank, mine)
        last[place] = rank, mine


def _compared(before: int, first: _Ranked, rank: int, second: _Ranked) -> Iterator[Comparison]:
    pairs = [(first.each[title], second.each[title]) for title in first.each if title in second.each]
    timed = all(each.row.fast(1.0) is not None for each in (first, second))
    shares: dict[Compared, list[tuple[float, float]]] = {"correct": [(a.correct, b.correct) for a, b in pairs]}
    if timed:
        shares["fast_1"] = [(a.fast_1, b.fast_1) for a, b in pairs]
    for figure, values in shares.items():
        if values:
            sides = np.array(values)
            yield _comparison(before, rank, figure, sides, sides.mean(axis=0))
    speedups = [(a.speedup, b.speedup) for a, b in pairs if a.speedup is not None and b.speedup is not None]
    if speedups:
        logs = np.log(np.array(speedups))
        yield _comparison(before, rank, "speed-up", logs, np.exp(logs.mean(axis=0)))


def _comparison(
    first: int, second: int, figure: Compared, sides: NDArray[np.float64], values: NDArray[np.float64]
) -> Comparison:
    """Of n by 2 figures, and the two that they come to."""
    differences = sides[:, 0] - sides[:, 1]
    p = paired_p(differences)
    better = (first if differences.sum() > 0 else second) if p < SURE_P else None
    return Comparison(
        first=first,
        second=second,
        figure=figure,
        first_value=float(values[0]),
        second_value=float(values[1]),
        problems=len(sides),
        p=p,
        better=better,
    )


def _levels(answers: _Answers, unanswered: frozenset[str], ps: Sequence[float]) -> Iterator[Level]:
    column = answers.columns.set
    codes = np.unique(column.codes).tolist()
    if len(codes) < 2:
        return
    for name, code in sorted((column.texts[code], code) for code in codes):
        missing = sum(set_of(title) == name for title in unanswered)
        yield Level.model_validate({**_figures(answers.take(column.codes == code), missing, ps), "set": name})


def _at_k(answers: _Answers, asked: int) -> Iterator[AtK]:
    samples = _Samples.of(answers)
    if not answers.complete or not len(samples.problems):
        return
    counts = np.bincount(samples.problems)
    fewest = int(counts[counts > 0].min())
    timed = np.where(np.isinf(samples.speedups), np.nan, samples.speedups)
    for k in _ks(fewest) if fewest > 1 else ():
        passes = fast_p(samples.problems, samples.speedups, p=0.0, asked=asked, k=k) or 0.0
        fast_1 = fast_p(samples.problems, timed, p=1.0, asked=asked, k=k) if answers.says_time else None
        speedup = best_of_k(samples.problems, timed, k=k, asked=asked) if answers.says_time else None
        yield AtK(
            k=k,
            passes=passes,
            passes_spread=_spread(samples, 0.0, k=k, asked=asked),
            fast_1=fast_1,
            fast_1_spread=_spread(samples, 1.0, k=k, asked=asked) if fast_1 is not None else None,
            speedup=speedup,
        )


def _ks(fewest: int) -> list[int]:
    """The k that are said where no problem has fewer answers than this."""
    steps = (digit * 10**power for power in range(1, 10) for digit in (2, 5, 10))
    return sorted({*range(1, min(EVERY_K, fewest) + 1), *(k for k in steps if k < fewest), fewest})


def _failures(columns: Columns) -> list[Failure]:
    found = []
    for rows in _groups((columns.verdict, columns.stage, columns.reason)):
        row = int(rows[0])
        if columns.verdict[row] not in ("correct", "infrastructure"):
            found.append(
                Failure(
                    verdict=columns.verdict[row], stage=columns.stage[row], reason=columns.reason[row], count=len(rows)
                )
            )
    return sorted(found, key=lambda each: (-each.count, each.verdict, each.stage, each.reason))


def _tokens(answers: _Answers) -> Tokens | None:
    prompt, completion = answers.columns.prompt_tokens, answers.columns.completion_tokens
    known = (prompt >= 0) & (completion >= 0)
    if not known.any():
        return None
    correct = int((known & answers.correct).sum())
    sums = int(prompt[known].sum()), int(completion[known].sum())
    return Tokens(
        submissions=int(known.sum()),
        prompt=sums[0],
        completion=sums[1],
        per_correct=sum(sums) / correct if correct else None,
    )


def _best(answers: _Answers) -> dict[str, Best]:
    """The fastest correct answer to each problem; the sample's number and the name settle what is left."""
    columns, speed = answers.columns, np.where(answers.timed, answers.speedup[:, 0], 0.0)
    rows = np.flatnonzero(answers.correct)
    if not len(rows):
        return {}
    problems = columns.problem.codes[rows]
    fastest = np.full(problems.max() + 1, -1.0)
    np.maximum.at(fastest, problems, speed[rows])
    rows = rows[speed[rows] == fastest[problems]]
    problems = columns.problem.codes[rows]
    first = np.full(problems.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, problems, columns.sample[rows])
    best: dict[str, int] = {}
    for row in rows[columns.sample[rows] == first[problems]].tolist():
        known = best.setdefault(columns.problem[row], row)
        if columns.path[row] < columns.path[known]:
            best[columns.problem[row]] = row
    return {title: _answer(answers, title, row) for title, row in best.items()}


def _answer(answers: _Answers, title: str, row: int) -> Best:
    submission, sample = answers.columns.path[row], int(answers.columns.sample[row])
    value, low, high = answers.speedup[row].tolist()
    speedup = Interval(value=value, low=low, high=high) if answers.timed[row] else None
    confirmed = bool(answers.columns.confirmed[row] or not answers.columns.fast[row])
    return Best(
        problem=title,
        submission=submission,
        sample=sample,
        speedup=speedup,
        path=_path(answers, row),
        confirmed=confirmed,
        quick=bool(answers.columns.quick[row]),
    )


def _path(answers: _Answers, row: int) -> tuple[Turn, ...]:
    """The turns up to a row; those of one conversation share problem and sample."""
    columns = answers.columns
    last = columns.turn[row]
    if last <= 0:
        return ()
    same = (columns.problem.codes == columns.problem.codes[row]) & (columns.sample == columns.sample[row])
    turns = np.flatnonzero(same & (columns.turn >= 0) & (columns.turn <= last))
    return tuple(
        Turn(
            verdict=columns.verdict[each],
            speedup=float(answers.speedup[each, 0]) if answers.timed[each] else None,
        )
        for each in turns[np.argsort(columns.turn[turns], kind="stable")].tolist()
    )


def _notes(row: Row, answers: _Answers) -> Iterator[Note]:
    """What a reader has to know before comparing this row with another, the gravest first."""
    yield from _notes_on_how(row, answers)
    yield from _notes_on_what(row, answers)


def _notes_on_how(row: Row, answers: _Answers) -> Iterator[Note]:
    """How they were judged."""
    judged = row.submissions
    if row.device == EMULATED:
        yield Note(tag="emulated", text="CUDA emulated on the CPU: correctness only, no speed-ups")
    if row.baseline != "eager":
        yield Note(tag=f"vs {row.baseline}", text=f"speed-ups are over torch.compile ({row.baseline})")
    if row.reduced:
        yield Note(tag="reduced", text=f"reduced size in {_of(row.reduced, judged)}")
    answered = ran(answers.columns) & answers.judged
    if row.unisolated:
        yield Note(tag="unisolated", text=f"no isolation in {_of(row.unisolated, int(answered.sum()))}")
    if missing := _missing(answers.columns.take(answered & ~answers.unisolated)):
        yield Note(tag="less isolated", text=f"isolation without {', '.join(missing)}")
    if row.flagged:
        yield Note(tag=f"{row.flagged} flagged", text=f"{_of(row.flagged, judged)} flagged")
    if row.audited:
        text = f"{_of(row.audited, judged)} to a problem whose audit found fault"
        yield Note(tag=f"{row.audited} audited", text=text)
    if row.differed:
        text = f"{_of(row.differed, judged)} judged otherwise by stock than by a fast build, and stock's verdict stands"
        yield Note(tag=f"{row.differed} differed", text=text)
    if row.disturbed:
        yield Note(tag=f"{row.disturbed} disturbed", text=f"{row.disturbed} timed on a disturbed device")
    if row.quick:
        yield Note(tag=f"{row.quick} quick", text=f"{row.quick} timed quickly: a band, not a figure to rank by")


def _notes_on_what(row: Row, answers: _Answers) -> Iterator[Note]:
    """What is left out, and what counts."""
    judged, untimed = row.submissions, row.correct - row.timed
    if sure := _sure(row):
        yield Note(tag="doubts", text=sure)
    if row.rejected:
        yield Note(tag=f"{row.rejected} rejected", text=f"{_of(row.rejected, judged)} rejected")
    if untimed and row.device != EMULATED:
        yield Note(tag=f"{untimed} untimed", text=f"{untimed} correct but not timed")
    if row.unjudged:
        text = f"{row.unjudged} not judged through a fault of ours, to be tried again"
        yield Note(tag=f"{row.unjudged} unjudged", text=text)
    if row.unanswered:
        text = f"{row.unanswered} of {row.problems} problems have no submission and count as not solved"
        yield Note(tag=f"{row.unanswered} unanswered", text=text)
    if count := int(answers.elsewhere.sum()):
        how = "timed on the CPU itself" if row.device == EMULATED else "emulated, which says nothing of time"
        text = f"{_of(count, len(answers.columns))} {how}: they have a row of their own and count as not solved here"
        yield Note(tag=f"{count} elsewhere", text=text)
    if row.conversations:
        yield Note(tag="turns", text="conversations of several turns: of each the best turn counts")
    if not answers.complete:
        yield Note(tag="filtered", text="verdicts are filtered: no rates")


def _sure(row: Row) -> str:
    """What the doubts would cost, where they would cost anything."""
    said = [(each.p, f"{each.sure:.2f}", f"{each.value:.2f}") for each in row.fast_p if each.p in (0.0, 1.0)]
    phrases = [f"fast_{p:g} {sure} instead of {value}" for p, sure, value in said if sure != value]
    return f"counting no answer that there is a doubt about: {', '.join(phrases)}" if phrases else ""


def _missing(columns: Columns) -> list[str]:
    """The layers that any of these ran without, so far as it matters; the record gives the reason after a colon."""
    codes = np.unique(columns.isolation.codes).tolist()
    found = {name for code in codes for name in json.loads(columns.isolation.texts[code])[1] if weakens(name)}
    return sorted({name.partition(":")[0] for name in found})


def _of(part: int, whole: int) -> str:
    return f"all {whole}" if part == whole else f"{part} of {whole}"


_Place = tuple[DeviceKind, str, Precision, BaselineName]


def _problems(ranked: Sequence[_Ranked]) -> tuple[ProblemBest, ...]:
    asked: dict[tuple[str, _Place], list[tuple[int, Best | None]]] = defaultdict(list)
    for rank, (row, titles, _) in enumerate(ranked, start=1):
        place = (row.device, row.device_name, row.precision, row.baseline)
        best = {each.problem: each for each in row.best}
        for title in titles:
            asked[title, place].append((rank, best.get(title)))
    questions = sorted(asked, key=lambda question: (_natural(question[0]), question[1]))
    return tuple(_problem_best(*question, asked[question]) for question in questions)


def _natural(title: str) -> tuple[tuple[int, str], ...]:
    """Sorts level1/9_x before level1/19_x."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]{1,18})", title))


def _problem_best(title: str, place: _Place, answers: Sequence[tuple[int, Best | None]]) -> ProblemBest:
    solved = [(best, rank) for rank, best in answers if best is not None]
    best, rank = min(solved, key=_quality_then_rank, default=(None, None))
    device, device_name, precision, baseline = place
    return ProblemBest(
        problem=title,
        device=device,
        device_name=device_name,
        precision=precision,
        baseline=baseline,
        best=best,
        rank=rank,
        asked=len(answers),
        solved=len(solved),
    )


def _quality_then_rank(answer: tuple[Best, int]) -> tuple[float, int]:
    best, rank = answer
    return -best.speedup.value if best.speedup else 0.0, rank
