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
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import InputError
from harness.schema import BaselineName, Correct, DeviceKind, Failed, Infrastructure, Record, Rejected, Timing, Wrong

EVAL_RESULTS = "eval_results.json"
BASELINE_FILES: dict[BaselineName, str] = {
    "eager": "baseline_time_torch",
    "compile": "baseline_time_torch_compile_inductor_default",
    "compile-max-autotune": "baseline_time_torch_compile_inductor_max-autotune",
}

_SET = re.compile(r"level_?(?P<level>\d+)")
_NAME = re.compile(r"(?P<number>\d+)(?:_|$)")
_NO_RUNTIME = -1.0  # KernelBench's own word for a time that was not taken
# Compiling, there, is executing the source until ModelNew is defined.
_NOT_COMPILED = {("load", "syntax"), ("load", "missing"), ("load", "compile")}
_STAGES_BEFORE_LOAD = {"extract", "screen", "build"}
_DEVICES: dict[DeviceKind, str] = {"cuda": "cuda:0", "cpu": "cpu", "cpu-emulated": "cpu"}

Stats = dict[str, float | int | str]
Answers = dict[int, Record]  # by sample


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


def kernelbench(runs: Mapping[str, Iterable[Record]]) -> Export:
    """Turn the records of `runs` (name -> records) into KernelBench's files.

    Problems need a level and a number ("level1/19_ReLU"); others are left out. Raises InputError where none has, and
    where one sample of a problem was answered twice by one model: KernelBench has one place for it.
    """
    groups: dict[tuple[str, str, int], dict[int, Answers]] = defaultdict(lambda: defaultdict(dict))
    left_out: dict[str, None] = {}
    for run, records in runs.items():
        for record in records:
            counted = _counted(record)
            if counted is None:
                left_out[record.problem.title] = None
                continue
            level, number = counted
            _put(groups[run, record.submission.model, level][number], record)
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


def _put(answers: Answers, record: Record) -> None:
    other = answers.setdefault(record.submission.sample, record)
    if other is not record:
        raise InputError(
            f"{record.problem.title} was answered twice as sample {record.submission.sample}, by "
            f"{other.submission.path} and by {record.submission.path}: KernelBench's files hold each sample once; give "
            "each its own number, or export the runs apart"
        )


def _plain(name: str) -> str:
    """A name that can be a folder's, and a value on KernelBench's command line."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")


def _level(name: str, level: int, problems: Mapping[int, Answers], files: dict[str, str]) -> Level:
    """Add the files of one level to `files`, and say what they hold."""
    results = {str(number): _results(answers) for number, answers in problems.items()}
    files[f"runs/{name}/{EVAL_RESULTS}"] = _json(results)
    baselines = [form for form in BASELINE_FILES if any(_stats(answers, form) for answers in problems.values())]
    for form in baselines:
        times = {_file_name(answers): _stats(answers, form) or _NOT_TIMED for answers in problems.values()}
        files[f"results/timing/{name}/{BASELINE_FILES[form]}.json"] = _json({f"level{level}": times})
    firsts = [answers.get(0) for answers in problems.values()]
    return Level(
        name=name,
        level=level,
        problems=tuple(problems),
        unjudged=sum(first is None or isinstance(first.verdict, Infrastructure) for first in firsts),
        untimed=sum(
            first is not None and isinstance(first.verdict, Correct) and _timing(first) is None for first in firsts
        ),
        baselines=tuple(BASELINE_FILES[form] for form in baselines),
    )


def _json(content: object) -> str:
    return json.dumps(content, indent=4, allow_nan=False) + "\n"


def _file_name(answers: Answers) -> str:
    return f"{next(iter(answers.values())).problem.name}.py"


def _results(answers: Answers) -> list[dict[str, Any]]:
    judged = [
        _result(record) for _, record in sorted(answers.items()) if not isinstance(record.verdict, Infrastructure)
    ]
    if any(result["sample_id"] == 0 for result in judged):
        return judged
    return [_unjudged(answers.get(0)), *judged]


def _unjudged(record: Record | None) -> dict[str, Any]:
    """What KernelBench's analysis puts in the place of a result that is not there, in its place and not at the end."""
    why = record.verdict.detail if record and isinstance(record.verdict, Infrastructure) else "no sample 0"
    return _entry(0, compiled=False, correctness=False, metadata={"other_error": f"not judged: {why}"})


def _result(record: Record) -> dict[str, Any]:
    timing = _timing(record)
    stats = _stats_of(timing.candidate_samples_ms or (timing.candidate_ms,), record) if timing else None
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
    found: dict[str, Any] = {"hardware": _hardware(record), "device": _DEVICES[record.device.kind]}
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
    emulated = record.device.kind == "cpu-emulated"
    return f"{record.device.name} (CUDA emulated)" if emulated else record.device.name


def _timing(record: Record) -> Timing | None:
    """None where nothing may be said about time: only a correct answer has one, and an emulated one has none."""
    usable = isinstance(record.verdict, Correct) and record.device.kind != "cpu-emulated"
    timing = record.timing if usable else None
    return timing if timing and timing.candidate_ms > 0 and timing.reference_ms > 0 else None


def _stats(answers: Answers, form: BaselineName) -> Stats | None:
    """The reference in one of its forms as it was timed beside sample 0, else beside the first sample with a time."""
    for _, record in sorted(answers.items()):
        if timing := _timing(record):
            if timing.baseline == form:
                return _stats_of(timing.reference_samples_ms or (timing.reference_ms,), record)
            for other in timing.baselines:
                if other.name == form:
                    return _stats_of(other.reference_samples_ms or (other.reference_ms,), record)
    return None


# A problem that nobody solved has no reference time with us, but must have its place. The analysis looks at the times
# of correct answers alone; should one of them be untimed, 0 over KernelBench's -1 is a speed-up of 0.
_NOT_TIMED: Stats = {"mean": 0.0, "std": 0.0, "min": 0.0, "max": 0.0, "num_trials": 0, "hardware": "", "device": ""}


def _stats_of(samples_ms: Sequence[float], record: Record) -> Stats:
    return {
        "mean": _three_digits(statistics.fmean(samples_ms)),
        "std": _three_digits(statistics.pstdev(samples_ms)),
        "min": _three_digits(min(samples_ms)),
        "max": _three_digits(max(samples_ms)),
        "num_trials": len(samples_ms),
        "hardware": _hardware(record),
        "device": _DEVICES[record.device.kind],
    }


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")
