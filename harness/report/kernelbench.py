"""records -> the files that KernelBench's own scripts read.

    runs/<name>/eval_results.json                        what scripts/eval_from_generations.py writes
    results/timing/<name>/baseline_time_torch.json       what scripts/generate_baseline_time.py writes

`<name>` is the run's, with the model's and the level: KernelBench keeps one level of one model in one file. Times are
milliseconds, the mean of the rounds at three significant digits, as there; ours stay unrounded in the run. The shapes
were read off https://github.com/ScalingIntelligence/KernelBench (scripts/eval_from_generations.py,
scripts/generate_baseline_time.py, scripts/benchmark_eval_analysis.py, src/timing.py).

That analysis divides the n-th baseline by the n-th result, whatever they are named, and looks at sample 0 alone. So
both files hold the same problems in the same order, and each problem has a sample 0.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from harness.errors import InputError
from harness.schema import (
    EMULATED,
    Baseline,
    BaselineName,
    Correct,
    DeviceKind,
    Failed,
    Infrastructure,
    Record,
    Rejected,
    Timing,
    Wrong,
)

EVAL_RESULTS = "eval_results.json"
BASELINE_FILES: dict[BaselineName, str] = {
    "eager": "baseline_time_torch",
    "compile": "baseline_time_torch_compile_inductor_default",
    "compile-max-autotune": "baseline_time_torch_compile_inductor_max-autotune",
}

_SET = re.compile(r"level_?(?P<level>\d{1,18})")
_NAME = re.compile(r"(?P<number>\d{1,18})(?:_|$)")
_NO_RUNTIME = -1.0  # KernelBench's own word for a time that was not taken
# Compiling, there, is executing the source until ModelNew is defined.
_NOT_COMPILED = {("load", "syntax"), ("load", "missing"), ("load", "compile")}
_STAGES_BEFORE_LOAD = {"extract", "screen", "build"}
_INDENT = 4 * " "
_RESULT_DEPTH = 2  # a result stands in a list in an object
_ON_THE_HOST = ("cpu", EMULATED)

Stats = dict[str, float | int | str]


@dataclass(frozen=True)
class Level:
    """One level of one model of one run, as KernelBench keeps it.

    `name` is the `run_name` and the `hardware` of its analysis, `problems` the numbers of those asked. `unjudged`
    counts samples 0 that have no verdict, which it counts as failed; `untimed` the correct ones without a time, which
    it counts as slower than anything. `baselines` are the forms of the reference that were timed; with none of them
    the analysis has nothing to compare with.
    """

    name: str
    level: int
    problems: tuple[int, ...]
    unjudged: int
    untimed: int
    baselines: tuple[str, ...]

    @property
    def results(self) -> str:
        """Where its results lie."""
        return f"runs/{self.name}/{EVAL_RESULTS}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What its reader should know, one phrase each."""
        return tuple(
            phrase
            for holds, phrase in (
                (self.unjudged, f"{self.unjudged} without a verdict for sample 0, which KernelBench counts as failed"),
                (self.untimed, f"{self.untimed} correct without a time, which it counts as slower than anything"),
                (not self.baselines, "nothing was timed: its analysis has no baseline to compare with"),
            )
            if holds
        )

    @property
    def command(self) -> str:
        """How KernelBench's analysis is started on it, in a checkout that the files lie in; empty without a time."""
        if not self.baselines:
            return ""
        return (
            f"python3 scripts/benchmark_eval_analysis.py run_name={self.name} level={self.level} "
            f'hardware={self.name} baseline={self.baselines[0]} subset="{self.subset}"'
        )

    @property
    def subset(self) -> str:
        """The problems as the analysis reads them: two numbers in brackets are a range, first to last."""
        first, last = self.problems[0], self.problems[-1]
        if last > first and self.problems == tuple(range(first, last + 1)):
            return f"[{first},{last}]"
        return str(self.problems if len(self.problems) == 2 else list(self.problems)).replace(" ", "")


@dataclass(frozen=True)
class Export:
    """`files` by their path in a checkout, what they hold, and the problems that KernelBench has no number for."""

    files: dict[str, str]
    levels: tuple[Level, ...]
    left_out: tuple[str, ...]


@dataclass
class _Answered:
    """The answers of one model to one problem, each by its sample: as text, because a run may hold a million records
    and these files are what is kept of them.

    `name` is the problem's file there, `paths` who answered, `results` what was judged, `unjudged` why the others were
    not, `untimed` the correct ones without a time. `references` holds, by form, how fast the reference was beside the
    lowest sample that has a time.
    """

    name: str
    paths: dict[int, str] = field(default_factory=dict)
    results: dict[int, str] = field(default_factory=dict)
    unjudged: dict[int, str] = field(default_factory=dict)
    untimed: set[int] = field(default_factory=set)
    references: dict[BaselineName, tuple[int, Stats]] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        sample, path = record.submission.sample, record.submission.path
        if sample in self.paths:
            raise InputError(
                f"{record.problem.title} was answered twice as sample {sample}, by {self.paths[sample]} and by {path}: "
                "KernelBench's files hold each sample once; give each its own number, or export the runs apart"
            )
        self.paths[sample] = path
        if isinstance(record.verdict, Infrastructure):
            self.unjudged[sample] = record.verdict.detail
            return
        timing = _timing(record)
        self.results[sample] = _indented(_result(record, timing), _RESULT_DEPTH)
        if timing is not None:
            self._time(record, timing)
        elif isinstance(record.verdict, Correct):
            self.untimed.add(sample)

    def _time(self, record: Record, timing: Timing) -> None:
        sample = record.submission.sample
        forms: list[tuple[BaselineName, Timing | Baseline]] = [(timing.baseline, timing)]
        forms += [(other.name, other) for other in timing.baselines]
        for form, reference in forms:
            if form not in self.references or sample < self.references[form][0]:
                samples_ms = reference.reference_samples_ms or (reference.reference_ms,)
                self.references[form] = sample, _stats(samples_ms, record)

    def listed(self) -> list[str]:
        """The results in the order of their samples, the first of them that of sample 0."""
        judged = [result for _, result in sorted(self.results.items())]
        if 0 in self.results:
            return judged
        return [_indented(_unjudged(self.unjudged.get(0, "no sample 0")), _RESULT_DEPTH), *judged]


def kernelbench(runs: Mapping[str, Iterable[Record]]) -> Export:
    """Turn the records of `runs` (name -> records) into KernelBench's files.

    Problems need a level and a number ("level1/19_ReLU"); others are left out. Raises InputError where none has, and
    where one sample of a problem was answered twice by one model: KernelBench has one place for it.
    """
    groups: dict[tuple[str, str, int], dict[int, _Answered]] = defaultdict(dict)
    left_out: dict[str, None] = {}
    for run, records in runs.items():
        for record in records:
            counted = _counted(record)
            if counted is None:
                left_out[record.problem.title] = None
                continue
            level, number = counted
            problems = groups[run, record.submission.model, level]
            if number not in problems:
                problems[number] = _Answered(f"{record.problem.name}.py")
            problems[number].add(record)
    if not groups:
        raise InputError(
            "KernelBench's files know problems by level and number, as in level1/19_ReLU: there are none in these runs"
        )
    files: dict[str, str] = {}
    levels: list[Level] = []
    for (run, model, level), problems in sorted(groups.items()):
        name = "-".join(part for part in (_plain(run), _plain(model), f"level{level}") if part)
        if f"runs/{name}/{EVAL_RESULTS}" in files:
            raise InputError(f"two models or runs would both be named {name} in KernelBench's files: rename one")
        levels.append(_level(name, level, dict(sorted(problems.items())), files))
    return Export(files, tuple(levels), tuple(left_out))


def _counted(record: Record) -> tuple[int, int] | None:
    level, number = _SET.fullmatch(record.problem.set), _NAME.match(record.problem.name)
    return (int(level["level"]), int(number["number"])) if level and number else None


def _plain(name: str) -> str:
    """A name that can be a folder's, and a value on KernelBench's command line."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")


def _level(name: str, level: int, problems: Mapping[int, _Answered], files: dict[str, str]) -> Level:
    """Add the files of one level to `files`, and say what they hold."""
    files[f"runs/{name}/{EVAL_RESULTS}"] = _results_file(problems)
    baselines = [form for form in BASELINE_FILES if any(form in each.references for each in problems.values())]
    for form in baselines:
        times = {
            each.name: each.references[form][1] if form in each.references else _NOT_TIMED for each in problems.values()
        }
        files[f"results/timing/{name}/{BASELINE_FILES[form]}.json"] = _indented({f"level{level}": times}) + "\n"
    return Level(
        name=name,
        level=level,
        problems=tuple(problems),
        unjudged=sum(0 not in each.results for each in problems.values()),
        untimed=sum(0 in each.untimed for each in problems.values()),
        baselines=tuple(BASELINE_FILES[form] for form in baselines),
    )


def _results_file(problems: Mapping[int, _Answered]) -> str:
    """The results, which are text already, by the problem's number."""
    lists = {
        json.dumps(str(number)): _enclosed("[]", each.listed(), _RESULT_DEPTH - 1) for number, each in problems.items()
    }
    return _enclosed("{}", [f"{number}: {results}" for number, results in lists.items()], 0) + "\n"


def _indented(content: object, depth: int = 0) -> str:
    """What `json.dumps(content, indent=4)` writes `depth` levels deep, four times as fast: the encoder in C knows no
    indent, but what holds plain values alone is indented by its separators.
    """
    if not isinstance(content, dict | list) or not content:
        return _encoder(0)(content)
    if not any(
        isinstance(value, dict | list) for value in (content.values() if isinstance(content, dict) else content)
    ):
        text = _encoder(depth + 1)(content)
        return _enclosed(text[0] + text[-1], [text[1:-1]], depth)
    if isinstance(content, list):
        return _enclosed("[]", [_indented(value, depth + 1) for value in content], depth)
    parts = [f"{_encoder(0)(key)}: {_indented(value, depth + 1)}" for key, value in content.items()]
    return _enclosed("{}", parts, depth)


@cache
def _encoder(depth: int) -> Callable[[object], str]:
    return json.JSONEncoder(allow_nan=False, separators=(",\n" + depth * _INDENT, ": ")).encode


def _enclosed(brackets: str, parts: Sequence[str], depth: int) -> str:
    inner, outer = "\n" + _INDENT * (depth + 1), "\n" + _INDENT * depth
    return brackets[0] + inner + f",{inner}".join(parts) + outer + brackets[1]


def _unjudged(why: str) -> dict[str, Any]:
    """What KernelBench's analysis puts in the place of a result that is not there, in its place and not at the end."""
    return _entry(0, compiled=False, correctness=False, metadata={"other_error": f"not judged: {why}"})


def _result(record: Record, timing: Timing | None) -> dict[str, Any]:
    stats = _stats(timing.candidate_samples_ms or (timing.candidate_ms,), record) if timing else None
    return _entry(
        record.submission.sample,
        compiled=_compiled(record),
        correctness=isinstance(record.verdict, Correct),
        metadata=_metadata(record),
        stats=stats,
    )


def _entry(
    sample: int, *, compiled: bool, correctness: bool, metadata: dict[str, Any], stats: Stats | None = None
) -> dict[str, Any]:
    return {
        "sample_id": sample,
        "compiled": compiled,
        "correctness": correctness,
        "metadata": metadata,
        "runtime": stats["mean"] if stats else _NO_RUNTIME,
        "runtime_stats": stats or {},
    }


def _compiled(record: Record) -> bool:
    verdict = record.verdict
    if not isinstance(verdict, Failed):
        return True
    return verdict.stage not in _STAGES_BEFORE_LOAD and (verdict.stage, verdict.reason) not in _NOT_COMPILED


def _metadata(record: Record) -> dict[str, Any]:
    """KernelBench's keys, and two of ours: the `verdict`, and `notes` of what its file has no word for."""
    found: dict[str, Any] = {"hardware": _hardware(record), "device": torch_device(record.device.kind)}
    match record.verdict:
        case Correct(trials=trials):
            found["correctness_trials"] = f"({trials} / {trials})"
        case Wrong(reason=reason, detail=detail):
            found |= {"correctness_issue": detail, "correctness_issue_name": reason}
        case Rejected(rule=rule, detail=detail):
            found |= {"correctness_issue": f"rejected, {rule}: {detail}", "correctness_issue_name": "rejected"}
        case Failed(reason=reason, detail=detail, log=log) if _compiled(record):
            found |= {"runtime_error": detail, "runtime_error_name": reason, "runtime_error_traceback": log}
        case Failed(reason=reason, detail=detail):
            found |= {"compilation_error": detail, "compilation_error_name": reason}
    notes = [f"flagged, {flag.rule}: {flag.detail}" for flag in record.flags if flag.severity != "info"]
    if record.problem.workload.settings:
        size = "a reduced size" if record.problem.workload.reduced else "other sizes"
        notes.append(f"judged at {size}: {record.problem.workload.settings}")
    if not record.sandbox.layers and _compiled(record):
        notes.append("ran without isolation")
    return found | {"verdict": record.verdict.kind, **({"notes": notes} if notes else {})}


def _hardware(record: Record) -> str:
    emulated = record.device.kind == EMULATED
    return f"{record.device.name} (CUDA emulated)" if emulated else record.device.name


def _timing(record: Record) -> Timing | None:
    """None where nothing may be said about time: only a correct answer has one, and an emulated one has none."""
    usable = isinstance(record.verdict, Correct) and record.device.kind != EMULATED
    timing = record.timing if usable else None
    return timing if timing and timing.candidate_ms > 0 and timing.reference_ms > 0 else None


# A problem without a solution has no reference time with us, but must have its place. The analysis looks at the times
# of correct answers alone; should one of them be untimed, 0 over KernelBench's -1 is a speed-up of 0.
_NOT_TIMED: Stats = {"mean": 0.0, "std": 0.0, "min": 0.0, "max": 0.0, "num_trials": 0, "hardware": "", "device": ""}


_LONGEST_MS = 1e12  # 30 years


def _stats(samples_ms: Sequence[float], record: Record) -> Stats:
    """Raises InputError for samples that are no times, which a run of others may hold."""
    if not all(abs(sample) < _LONGEST_MS for sample in samples_ms):
        raise InputError(f"the samples of {record.submission.path} for {record.problem.title} are no times")
    return {
        "mean": _three_digits(math.fsum(samples_ms) / len(samples_ms)),
        "std": _three_digits(_deviation(samples_ms)),
        "min": _three_digits(min(samples_ms)),
        "max": _three_digits(max(samples_ms)),
        "num_trials": len(samples_ms),
        "hardware": _hardware(record),
        "device": torch_device(record.device.kind),
    }


def torch_device(kind: DeviceKind) -> str:
    """What KernelBench calls a kind of device: torch's name for it, numbered but for the host."""
    return "cpu" if kind in _ON_THE_HOST else f"{kind}:0"


def _deviation(samples: Sequence[float]) -> float:
    """The standard deviation of a population, in 3 us for 25 samples; the exact fractions of `statistics` take 80.

    Distances from the first sample are taken before anything is summed, so equal samples give 0 and no digits cancel.
    """
    distances = [sample - samples[0] for sample in samples]
    mean = math.fsum(distances) / len(distances)
    return math.sqrt(math.fsum([(distance - mean) ** 2 for distance in distances]) / len(distances))


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")
