"""The judge, measured: is its clock right, does it notice a few per cent, can it be cheated, does it catch bugs.

    python benchmarks/judge.py [--device cuda|cpu] [--only SECTION ...] [--seconds 500] [-o FILE]

Each section prints a table and the claims that it puts to the test; `--help` names the sections and how long they take.
FILE keeps every figure as soon as it is taken, so that the same command goes on where it stopped, which it does of
itself once `--seconds` are over. Without a GPU only `bugs` and `honest` run, emulated.

Exit status: 0 every claim holds, 1 one does not, 3 not everything was measured.
"""

import argparse
import hashlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.catalog import numeric_settings, read_problem, text_problem  # noqa: E402  # the repository is found wherever this is started from
from harness.controller.engine import Ask, LocalEngine, default_builders  # noqa: E402
from harness.controller.evaluate import Evaluated  # noqa: E402
from harness.controller.session import Session, open_session  # noqa: E402
from harness.schema import Problem, Record, Submission  # noqa: E402
from harness.schema.problem import Precision  # noqa: E402
from harness.schema.record import TimingMode  # noqa: E402
from harness.settings import Settings  # noqa: E402

MATERIAL = Path(__file__).resolve().parent / "judge"
LONG_MS = 0.1
"""Calls that take longer are held to 1%, shorter ones to 3%: of those the launch is most."""

Row = dict[str, Any]
Rows = dict[str, Row]
Measured = Iterator[tuple[str, Row]]


# ---- judging ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A candidate for a problem; `key` is what its row is kept by."""

    key: str
    problem: Problem
    source: str
    precision: Precision = "fp32"
    timing: TimingMode = "full"
    timing_s: float = 2.0


class Bench:
    """The device, and a session on it that sections share. `copied`: as where its driver shares no memory."""

    def __init__(self, device: str, *, copied: bool = False, settings: Settings | None = None) -> None:
        self.device, self._copied, self._settings = device, copied, settings or Settings()
        self._opened = ExitStack()
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        if self._session is None:
            self._session = self._opened.enter_context(open_session(self.device, self._settings))
            seat = self._session.seats[0]
            seat.device = replace(seat.device, copied=self._copied)
            seat.start()  # starts the judge before builders ask for its device
        return self._session

    def judged(self, tasks: Sequence[Task]) -> Iterator[tuple[str, Record]]:
        """The records of `tasks` in the order in which they are done; some are built while others are judged."""
        return judged(tasks, self.session)

    def evaluated(self, tasks: Sequence[Task]) -> Iterator[tuple[str, Evaluated]]:
        """The same, with the faults that there were."""
        return evaluated(tasks, self.session)

    def close(self) -> None:
        self._opened.close()
        self._session = None


def judged(tasks: Sequence[Task], session: Session) -> Iterator[tuple[str, Record]]:
    return ((key, found.record) for key, found in evaluated(tasks, session))


def evaluated(tasks: Sequence[Task], session: Session) -> Iterator[tuple[str, Evaluated]]:
    def asks() -> Iterator[tuple[str, Ask]]:
        for task in tasks:
            submission = Submission(path=f"{task.key}.py", sha256=sha256(task.source), text=task.source)
            how = {"precision": task.precision, "timing": task.timing, "timing_s": task.timing_s}
            settings = session.settings.model_copy(update=how)
            yield task.key, Ask(submission, task.problem, settings, noting=True, device=session.seats[0].device.name)

    with LocalEngine(session, builders=default_builders(1)) as engine:
        yield from engine.stream(asks())


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def row_of(record: Record) -> Row:
    """What is kept of a record: everything but the samples and what all of them share."""
    verdict = record.verdict.model_dump(mode="json", exclude={"log", "mismatch"})
    row: Row = {
        "verdict": verdict,
        "device": record.device.kind,
        "flags": sorted({flag.rule for flag in record.flags}),
        "phases_s": record.phases_s,
        "judged_at": record.judged_at,
    }
    if record.timing is not None:
        samples = {"candidate_samples_ms", "reference_samples_ms"}
        row["timing"] = record.timing.model_dump(mode="json", exclude=samples)
    if record.profile is not None:
        row["custom_kernel_share"] = record.profile.custom_kernel_share
    return row


def problem_named(name: str) -> Problem:
    return read_problem(MATERIAL / "problems" / f"{name}.py")


def rows_of(bench: Bench, tasks: Sequence[Task]) -> Measured:
    return ((key, row_of(record)) for key, record in bench.judged(tasks))


def speedup(row: Row) -> float:
    return float(row["timing"]["speedup"]["value"])


def kind(row: Row) -> str:
    return str(row["verdict"]["kind"])


def outcome(row: Row) -> str:
    """A verdict in two words."""
    verdict = row["verdict"]
    return " ".join(filter(None, [verdict["kind"], verdict.get("reason") or verdict.get("rule")]))


# ---- sections ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    text: str
    holds: bool
    found: str


Report = tuple[list[str], list[Claim]]


@dataclass(frozen=True)
class Section:
    """`keys` name the rows there will be; `measure` takes those that are wanted and yields them as they are done."""

    name: str
    about: str
    seconds: int
    keys: tuple[str, ...]
    measure: Callable[[Bench, Sequence[str]], Measured]
    report: Callable[[Rows], Report]
    without_gpu: bool = False


# What the constructor sets, what forward returns, and the inputs. On an H200 they take from 6 microseconds to 21 ms.
CASES: dict[str, tuple[str, str, str]] = {
    "relu-1k": ("", "torch.relu(x)", "torch.rand(1 << 10)"),
    "matmul-128": ("", "x @ y", "torch.rand(128, 128), torch.rand(128, 128)"),
    "relu-4m": ("", "torch.relu(x)", "torch.rand(1 << 22)"),
    "layer_norm-4m": ("self.norm = torch.nn.LayerNorm(1024)", "self.norm(x)", "torch.rand(4096, 1024)"),
    "gelu-1m": ("", "0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))", "torch.rand(1 << 20)"),
    "softmax-16m": ("", "torch.softmax(x, dim=1)", "torch.rand(1024, 1 << 14)"),
    "matmul-1k": ("", "x @ y", "torch.rand(1024, 1024), torch.rand(1024, 1024)"),
    "relu-64m": ("", "torch.relu(x)", "torch.rand(1 << 26)"),
    "conv2d": ("self.conv = torch.nn.Conv2d(64, 64, 3, padding=1)", "self.conv(x)", "torch.rand(64, 64, 112, 112)"),
    "gelu-64m": ("", "0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))", "torch.rand(1 << 26)"),
    "matmul-4k": ("", "x @ y", "torch.rand(4096, 4096), torch.rand(4096, 4096)"),
    "matmul-8k": ("", "x @ y", "torch.rand(8192, 8192), torch.rand(8192, 8192)"),
}


def case_source(name: str, class_name: str) -> str:
    """A case as a problem, or with `ModelNew` the same code as a candidate."""
    constructor, result, inputs = CASES[name]
    return f"""import torch


class {class_name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {constructor or "pass"}

    def forward(self, {"x, y" if "x @ y" in result else "x"}):
        return {result}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def case_task(name: str, key: str) -> Task:
    return Task(key, text_problem(case_source(name, "Model"), name=name), case_source(name, "ModelNew"))


# -- aa: the reference against itself

AA_REPEATS = 10
AA_KEYS = tuple(f"{name}/{repeat}" for repeat in range(AA_REPEATS) for name in CASES)


def measure_aa(bench: Bench, keys: Sequence[str]) -> Measured:
    return rows_of(bench, [case_task(key.partition("/")[0], key) for key in keys])


def report_aa(rows: Rows) -> Report:
    lines = [f"{'problem':15} {'ms':>9} {'median':>8} {'worst':>8} {'contains 1':>11}"]
    worst_of: dict[bool, float] = {True: 0.0, False: 0.0}
    covered = 0
    for name in CASES:
        asked = [row for key, row in rows.items() if key.startswith(f"{name}/")]
        taken = [row for row in asked if "timing" in row]
        if not taken:
            lines += [f"{name:15} not timed: {outcome(asked[0])}"] if asked else []
            continue
        values = [speedup(row) for row in taken]
        intervals = [row["timing"]["speedup"] for row in taken]
        inside = sum(interval["low"] <= 1.0 <= interval["high"] for interval in intervals)
        ms = statistics.median(row["timing"]["reference_ms"] for row in taken)
        worst = max(values, key=lambda value: abs(value - 1))
        worst_of[ms > LONG_MS] = max(worst_of[ms > LONG_MS], abs(worst - 1))
        covered += inside
        line = f"{name:15} {ms:9.4f} {statistics.median(values):8.4f} {worst:8.4f} {inside:5} of {len(taken):2}"
        lines.append(line)
    timed = sum("timing" in row for row in rows.values())
    return lines, [
        Claim("every evaluation gives a time", timed == len(rows), f"{timed} of {len(rows)}"),
        Claim("1.00 within 1% above 100 us, always", worst_of[True] <= 0.01, f"worst {worst_of[True]:.2%} off"),
        Claim("1.00 within 3% below 100 us, always", worst_of[False] <= 0.03, f"worst {worst_of[False]:.2%} off"),
        Claim("the interval contains 1 in 9 of 10", covered >= 0.9 * timed, f"{covered} of {timed}"),
    ]


# -- repeat: the same candidates in fresh sessions

SESSIONS = 5
REPEATED = ("relu-64m", "conv2d", "gelu-64m", "matmul-4k", "relu_large/vectors", "cube_root/newton")
REPEAT_KEYS = tuple(f"{name}/{session}" for session in range(SESSIONS) for name in REPEATED)


def worked_task(name: str, key: str, work: int = 100) -> Task:
    """A candidate of `padded/<problem>/<name>.py` that does so many hundredths of its work."""
    source = (MATERIAL / "padded" / f"{name}.py").read_text()
    assert source.count("WORK = 100\n") == 1
    return Task(key, problem_named(name.partition("/")[0]), source.replace("WORK = 100\n", f"WORK = {work}\n"))


def timed_task(name: str, key: str) -> Task:
    return case_task(name, key) if name in CASES else worked_task(name, key)


def measure_repeat(bench: Bench, keys: Sequence[str]) -> Measured:
    bench.close()
    for session, wanted in itertools.groupby(keys, key=lambda key: key.rpartition("/")[2]):
        tasks = [timed_task(key.rpartition("/")[0], key) for key in wanted]
        with open_session(bench.device, Settings()) as fresh:
            fresh.seats[0].start()  # starts the judge before builders ask for its device
            for key, record in judged(tasks, fresh):
                yield key, {**row_of(record), "session": int(session)}


def report_repeat(rows: Rows) -> Report:
    lines = [f"{'candidate':22} {'ms':>9} {'lowest':>8} {'highest':>8} {'spread':>7}"]
    widest = {True: 0.0, False: 0.0}  # by whether both sides take longer than the launch
    for name in REPEATED:
        taken = [row for key, row in rows.items() if key.startswith(f"{name}/") and "timing" in row]
        if len(taken) < SESSIONS:
            lines.append(f"{name:22} timed in {len(taken)} sessions of {SESSIONS}: {outcome(rows[f'{name}/0'])}")
            widest[True] = float("inf")
            continue
        values = [speedup(row) for row in taken]
        spread = (max(values) - min(values)) / statistics.median(values)
        long = all(min(row["timing"][f"{side}_ms"] for side in ("candidate", "reference")) > LONG_MS for row in taken)
        widest[long] = max(widest[long], spread)
        ms = statistics.median(row["timing"]["candidate_ms"] for row in taken)
        lines.append(f"{name:22} {ms:9.4f} {min(values):8.4f} {max(values):8.4f} {spread:7.2%}")
    return lines, [
        Claim("spread of the speed-up under 1% above 100 us", widest[True] < 0.01, f"widest {widest[True]:.2%}"),
        Claim("under 3% where a side takes less", widest[False] < 0.03, f"widest {widest[False]:.2%}"),
    ]


# -- events: the judge's clock beside device events


def measure_events(bench: Bench, keys: Sequence[str]) -> Measured:
    """One after the other: the loop, in a process of its own, has the device to itself."""
    for key in keys:
        task = timed_task(key, key)
        ((_, record),) = bench.judged([task])
        yield key, {**row_of(record), "loop": _loop(task, record) if record.timing else None}


def _loop(task: Task, record: Record) -> Row | None:
    assert record.timing is not None
    calls = str(record.timing.calls_per_round)
    given = json.dumps({"problem": task.problem.source, "candidate": task.source})
    command = [sys.executable, str(MATERIAL / "loop.py"), calls]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, env=environment)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1:]}
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def report_events(rows: Rows) -> Report:
    lines = [f"{'candidate':22} {'judge ms':>9} {'worker ev.':>10} {'loop ms':>9} {'to events':>9} {'to loop':>8}"]
    widest = 0.0
    for name, row in rows.items():
        if "timing" not in row or "ms" not in (row["loop"] or {}):
            lines.append(f"{name:22} {outcome(row)} {row['loop']}")
            widest = float("inf")
            continue
        ms, events, loop = row["timing"]["candidate_ms"], row["timing"]["candidate_device_ms"], row["loop"]["ms"]
        apart = [ms / events - 1, ms / loop - 1]
        widest = max(widest, *map(abs, apart))
        lines.append(f"{name:22} {ms:9.4f} {events:10.4f} {loop:9.4f} {apart[0]:+9.2%} {apart[1]:+8.2%}")
    return lines, [Claim("within 2% of device events above 100 us", widest <= 0.02, f"widest {widest:.2%}")]


# -- padded: a few per cent more work

PADDED = ("relu_hundred/padded", "cube_root/newton", "relu_large/vectors")
WORK = (100, 102, 105, 110)
PADDED_REPEATS = 2
PADDED_KEYS = tuple(f"{name}/{work}/{n}" for n in range(PADDED_REPEATS) for name in PADDED for work in WORK)


def measure_padded(bench: Bench, keys: Sequence[str]) -> Measured:
    tasks = []
    for key in keys:
        name, work, _ = key.rsplit("/", 2)
        tasks.append(worked_task(name, key, int(work)))
    return rows_of(bench, tasks)


def report_padded(rows: Rows) -> Report:
    lines = [f"{'kernel':22} {'work':>5}   how much slower than the original, and by the intervals at least"]
    missed, tried = [], 0
    for name, work in itertools.product(PADDED, WORK[1:]):
        for n in range(PADDED_REPEATS):
            key, base = f"{name}/{work}/{n}", f"{name}/{WORK[0]}/{n}"
            tried += 1
            if "timing" not in rows[key] or "timing" not in rows[base]:
                missed.append(key)
                lines.append(f"{name:22} {work:4}%   {outcome(rows[key])}")
                continue
            padded, original = (rows[which]["timing"]["speedup"] for which in (key, base))
            slower, least = original["value"] / padded["value"], original["low"] / padded["high"]
            if least <= 1.0:
                missed.append(key)
            told = "told apart" if least > 1.0 else "NOT TOLD APART"
            lines.append(f"{name:22} {work:4}%   {slower:.4f}, at least {least:.4f}   {told}")
    claim = Claim("2%, 5% and 10% more work are told apart", not missed, f"{tried - len(missed)} of {tried}")
    return lines, [claim]


# -- clock: cheats on time, each beside an honest candidate for the same problem

CHEATS = tuple(
    f"{path.parent.name}/{path.stem}"
    for path in sorted((MATERIAL / "cheats").glob("*/*.py"), key=lambda path: (path.parent.name, path.stem))
)


def measure_clock(bench: Bench, keys: Sequence[str]) -> Measured:
    def task(key: str) -> Task:
        source = (MATERIAL / "cheats" / f"{key}.py").read_text()
        return Task(key, problem_named(key.partition("/")[0]), source)

    return rows_of(bench, [task(key) for key in keys])


def report_clock(rows: Rows) -> Report:
    lines = [f"{'cheat':34} {'verdict':24} {'speed-up':>8} {'honest':>8} {'gain':>8}"]
    gained, cheats = [], 0
    untimed = [key for key, row in rows.items() if key.endswith("/honest") and "timing" not in row]
    for key, row in rows.items():
        problem, _, name = key.partition("/")
        if name == "honest":
            continue
        cheats += 1
        twin = rows[f"{problem}/honest"]
        if kind(row) != "correct" or "timing" not in row or "timing" not in twin:
            lines.append(f"{name:34} {outcome(row):24} {row['verdict'].get('detail', '')[:160]}")
            continue
        honest = speedup(twin)
        gain = speedup(row) / honest - 1
        allowed = 0.02 if twin["timing"]["candidate_ms"] > LONG_MS else 0.05
        if gain > allowed:
            gained.append(name)
        says = "GAINED" if gain > allowed else ""
        lines.append(f"{name:34} {outcome(row):24} {speedup(row):8.4f} {honest:8.4f} {gain:+8.2%} {says}")
    return lines, [
        Claim("honest twins are correct and timed", not untimed, ", ".join(untimed) or "all"),
        Claim("no cheat gains", not gained, f"{cheats - len(gained)} of {cheats} gain nothing"),
    ]


# -- bugs: planted in kernels that are right

BUGS: dict[str, dict[str, list[str]]] = tomllib.loads((MATERIAL / "bugs.toml").read_text())
BUG_KEYS = tuple(f"{problem}/{bug}" for problem, bugs in BUGS.items() for bug in bugs)
IMPRECISE = ("tf32", "fp16-accumulation")
"""Of these a verdict of `correct` counts as caught where it has the flag."""


def with_bug(problem: str, bug: str) -> str:
    """The problem's plain kernel with a bug planted."""
    found, put = BUGS[problem][bug]
    source = (MATERIAL / "kernels" / problem / "plain.py").read_text()
    assert source.count(found) == 1, f"{problem}/{bug}: {found!r} stands {source.count(found)} times in the kernel"
    source = source.replace(found, put)
    if "__half" in put:
        source = source.replace(
            "#include <torch/extension.h>\n", "#include <torch/extension.h>\n#include <cuda_fp16.h>\n"
        )
    return source


def measure_bugs(bench: Bench, keys: Sequence[str]) -> Measured:
    tasks = []
    for key in keys:
        problem, _, bug = key.partition("/")
        tasks.append(Task(key, problem_named(problem), with_bug(problem, bug)))
    return rows_of(bench, tasks)


def caught(bug: str, row: Row) -> bool:
    flagged = row["verdict"].get("rule") == "reduced-precision" or "reduced-precision" in row["flags"]
    return kind(row) == "wrong" or (bug in IMPRECISE and flagged)


def report_bugs(rows: Rows) -> Report:
    names = list(dict.fromkeys(bug for bugs in BUGS.values() for bug in bugs))
    lines = [f"{'':14} {' '.join(f'{name[:10]:10}' for name in names)}"]
    missed = [key for key, row in rows.items() if not caught(key.partition("/")[2], row)]
    for problem in BUGS:
        cells = []
        for bug in names:
            row = rows.get(f"{problem}/{bug}")
            found = "-" if row is None else "MISSED" if f"{problem}/{bug}" in missed else "flagged"
            cells.append(row["verdict"]["trial"] if row and kind(row) == "wrong" else found)
        lines.append(f"{problem:14} {' '.join(f'{cell[:10]:10}' for cell in cells)}")
    lines.append("(the kind of inputs that showed it)")
    lines += [f"MISSED {key}: {outcome(rows[key])} {rows[key]['verdict'].get('detail', '')[:200]}" for key in missed]
    return lines, [Claim("every planted bug is caught", not missed, f"{len(rows) - len(missed)} of {len(rows)}")]


# -- honest: kernels that are right

HONEST = tuple(
    f"{path.parent.name}/{path.stem}"
    for path in sorted((MATERIAL / "kernels").glob("*/*.py"), key=lambda path: (path.stem != "plain", path))
)


def measure_honest(bench: Bench, keys: Sequence[str]) -> Measured:
    def task(key: str) -> Task:
        source = (MATERIAL / "kernels" / f"{key}.py").read_text()
        precision: Precision = "fp16" if key.endswith("_fp16") else "fp32"
        return Task(key, problem_named(key.partition("/")[0]), source, precision)

    return rows_of(bench, [task(key) for key in keys])


def report_honest(rows: Rows) -> Report:
    lines = [f"{'kernel':28} {'verdict':22} {'of tolerance':>12} {'speed-up':>8}  flags"]
    refused, untried = [], 0
    for key, row in rows.items():
        error = row["verdict"].get("error") or {}
        share = f"{error['of_tolerance']:12.3f}" if error else f"{'':12}"
        times = f"{speedup(row):8.2f}" if "timing" in row else f"{'':8}"
        lines.append(f"{key:28} {outcome(row):22} {share} {times}  {', '.join(row['flags'])}")
        if row["device"] == "cpu-emulated" and _needs_a_gpu(row):
            untried += 1
        elif kind(row) != "correct":
            refused.append(key)
            lines.append(f"   REFUSED: {row['verdict']['detail'][:300]}")
    judged = len(rows) - untried
    noted = f", {untried} cannot be emulated" if untried else ""
    return lines, [Claim("no honest kernel is refused", not refused, f"{judged - len(refused)} of {judged}{noted}")]


def _needs_a_gpu(row: Row) -> bool:
    verdict = row["verdict"]
    return verdict.get("reason") == "not-emulated" or "NotImplementedError" in verdict.get("detail", "")


# -- large: outputs of more than 2^32 elements

LARGE_BUGS: dict[str, dict[str, tuple[str, str, int, int]]] = tomllib.loads((MATERIAL / "large.toml").read_text())
HONEST_LARGE = "honest"
LARGE: tuple[tuple[str, Precision], ...] = (("large_gelu", "fp32"), ("large_gelu", "fp16"), ("large_longer", "fp32"))
LARGE_KEYS = tuple(
    f"{name}/{precision}/{bug}" for name, precision in LARGE for bug in (HONEST_LARGE, *LARGE_BUGS[name])
)


def large_task(key: str) -> Task:
    name, precision, bug = key.split("/")
    source = (MATERIAL / "large" / f"{name}.py").read_text()
    if bug != HONEST_LARGE:
        found, put, _, _ = LARGE_BUGS[name][bug]
        assert source.count(found) == 1, f"{key}: {found!r} stands {source.count(found)} times in the kernel"
        source = source.replace(found, put)
    return Task(key, problem_named(name), source, "fp16" if precision == "fp16" else "fp32")


def measure_large(bench: Bench, keys: Sequence[str]) -> Measured:
    for key, record in bench.judged([large_task(key) for key in keys]):
        mismatch = getattr(record.verdict, "mismatch", None)
        yield key, {**row_of(record), "mismatch": mismatch.model_dump(mode="json") if mismatch else None}


def report_large(rows: Rows) -> Report:
    lines = [f"{'kernel':36} {'verdict':22} {'wrong':>13} {'worst at':>22} {'speed-up':>8} {'seconds':>7}"]
    refused, missed = [], []
    for key, row in rows.items():
        name, _, bug = key.split("/")
        mismatch = row["mismatch"] or {"mismatched": "", "worst_index": ""}
        times = f"{speedup(row):8.2f}" if "timing" in row else f"{'':8}"
        seconds = sum(row["phases_s"].get(phase, 0.0) for phase in ("audit", "check", "time"))
        worst = ", ".join(map(str, mismatch["worst_index"]))
        lines.append(f"{key:36} {outcome(row):22} {mismatch['mismatched']:>13} {worst:>22} {times} {seconds:7.1f}")
        if bug == HONEST_LARGE and (kind(row) != "correct" or "timing" not in row):
            refused.append(key)
        if bug != HONEST_LARGE and not named_where_it_is(name, bug, row):
            missed.append(key)
    honest = [key for key in rows if key.endswith(f"/{HONEST_LARGE}")]
    bugs = len(rows) - len(honest)
    return lines, [
        Claim("honest kernels are correct and timed", not refused, f"{len(honest) - len(refused)} of {len(honest)}"),
        Claim("every bug is caught where it is", not missed, f"{bugs - len(missed)} of {bugs}"),
    ]


def named_where_it_is(name: str, bug: str, row: Row) -> bool:
    """Whether a wrong element that the verdict names, and how many there are, can be those of the bug."""
    _, _, first, last = LARGE_BUGS[name][bug]
    mismatch = row["mismatch"]
    if kind(row) != "wrong" or mismatch is None:
        return False
    columns = numeric_settings(problem_named(name)).get("columns", 1)
    index = mismatch["worst_index"]
    offset = index[0] if len(index) == 1 else index[0] * columns + index[1]
    return bool(first <= offset <= last and 1 <= mismatch["mismatched"] <= last - first + 1)


# -- memory: 6.4 GB of input


MEMORY = ("19_ReLU", "19_ReLU on 24 GB")
_BALLAST = """
import torch
free, _ = torch.cuda.mem_get_info()
held = torch.empty(free - 24 * 10**9, dtype=torch.uint8, device="cuda")
print("held", flush=True)
input()
"""


def measure_memory(bench: Bench, keys: Sequence[str]) -> Measured:
    """What NVML says the device has in use, every 5 ms, while the ReLU document is judged at its full size.

    Once with all of the device, once where another process leaves 24 GB of it.
    """
    name = "19_ReLU.py"
    problem = read_problem(ROOT / "problems" / "level1" / name)
    source = (ROOT / "reference_solutions" / "level1" / name).read_text()
    for key in keys:
        bench.close()
        with ballast() if key == MEMORY[1] else nullcontext():
            gpu = bench.session.seats[0].device.gpu
            assert gpu is not None
            with MemoryWatch(gpu) as watch:
                ((_, record),) = bench.judged([Task(key, problem, source)])
        bench.close()
        yield key, {**row_of(record), "before_gb": watch.before / 1e9, "peak_gb": watch.peak / 1e9}


@contextmanager
def ballast() -> Iterator[None]:
    """All but 24 GB of the device's memory are taken."""
    command = [sys.executable, "-c", _BALLAST]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            yield
        finally:
            holder.stdin.close()


class MemoryWatch:
    """Bytes of a device that are in use, by NVML: `before` on entering, `peak` while inside."""

    def __init__(self, gpu: str) -> None:
        import pynvml

        pynvml.nvmlInit()
        by_index = pynvml.nvmlDeviceGetHandleByIndex
        device = by_index(int(gpu)) if gpu.isdecimal() else pynvml.nvmlDeviceGetHandleByUUID(gpu)
        self._used: Callable[[], int] = lambda: int(pynvml.nvmlDeviceGetMemoryInfo(device).used)
        self.before = self.peak = self._used()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._over.wait(0.005):
            self.peak = max(self.peak, self._used())

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def report_memory(rows: Rows) -> Report:
    lines = []
    for key, row in rows.items():
        lines.append(
            f"{key}: {outcome(row)}, {row['before_gb']:.1f} GB in use before, {row['peak_gb']:.1f} at the peak"
        )
        lines += [f"   {row['verdict']['detail'][:300]}"] if "detail" in row["verdict"] else []
    judged = [kind(row) == "correct" and "timing" in row for row in rows.values()]
    peak = rows[MEMORY[0]]["peak_gb"]
    return lines, [
        Claim("6.4 GB of input are judged and timed", judged[0], outcome(rows[MEMORY[0]])),
        Claim("at the peak less than 30 GB are in use", peak < 30, f"{peak:.1f} GB"),
        Claim("and so they are where 24 GB are free", judged[-1], outcome(rows[MEMORY[-1]])),
    ]


# -- copied: as where the driver shares no device memory between processes

COPIED_CASES = ("relu-1k", "relu-64m", "gelu-64m", "matmul-4k")  # copying gigabytes for each round takes long
COPIED: dict[str, tuple[tuple[str, ...], Callable[[Bench, Sequence[str]], Measured], Callable[[Rows], Report]]] = {
    "aa": (tuple(f"{name}/0" for name in COPIED_CASES), measure_aa, report_aa),
    "bugs": (
        tuple(key for key in BUG_KEYS if key.endswith(("/wrong-tail", "/uninitialised"))),
        measure_bugs,
        report_bugs,
    ),
    "honest": (tuple(key for key in HONEST if key.endswith("/plain")), measure_honest, report_honest),
}
COPIED_KEYS = tuple(f"{part} {key}" for part, (keys, _, _) in COPIED.items() for key in keys)


def measure_copied(bench: Bench, keys: Sequence[str]) -> Measured:
    bench.close()
    with closing(Bench(bench.device, copied=True)) as copied:
        for part, (_, measure_part, _) in COPIED.items():
            wanted = [key.removeprefix(f"{part} ") for key in keys if key.startswith(f"{part} ")]
            for key, row in measure_part(copied, wanted):
                yield f"{part} {key}", row


def report_copied(rows: Rows) -> Report:
    lines: list[str] = []
    claims: list[Claim] = []
    for part, (keys, _, report_part) in COPIED.items():
        more, found = report_part({key: rows[f"{part} {key}"] for key in keys})
        lines += more
        claims += found
    timed = [row for row in rows.values() if "timing" in row]
    labelled = sum("copied-memory" in row["flags"] for row in timed)
    return lines, [*claims, Claim("every time is labelled", labelled == len(timed), f"{labelled} of {len(timed)}")]


EVENTS = ("relu-64m", "conv2d", "gelu-64m", "matmul-4k", "matmul-8k", "relu_large/vectors", "cube_root/newton")
SECTIONS = (
    Section("aa", "the reference against itself", 300, AA_KEYS, measure_aa, report_aa),
    Section("repeat", "the same candidates in five sessions", 120, REPEAT_KEYS, measure_repeat, report_repeat),
    Section("events", "the judge's clock and device events", 60, EVENTS, measure_events, report_events),
    Section("padded", "a few per cent more work", 60, PADDED_KEYS, measure_padded, report_padded),
    Section("clock", "cheats on time", 60, CHEATS, measure_clock, report_clock),
    Section("bugs", "planted bugs", 60, BUG_KEYS, measure_bugs, report_bugs, without_gpu=True),
    Section("honest", "honest kernels", 60, HONEST, measure_honest, report_honest, without_gpu=True),
    Section("copied", "memory copied, not shared", 90, COPIED_KEYS, measure_copied, report_copied, without_gpu=True),
    Section("memory", "6.4 GB of input", 20, MEMORY, measure_memory, report_memory),
    Section("large", "outputs of more than 2^32 elements", 90, LARGE_KEYS, measure_large, report_large),
)


# ---- command line -----------------------------------------------------------------------------------------------


class Kept:
    """The rows of all sections, in a file where one is named."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        stands = file is not None and file.exists()
        self.found: Row = json.loads(file.read_text()) if file and stands else {"sections": {}}

    def rows(self, section: Section) -> Rows:
        """The rows that there are, in the order of the section's keys."""
        rows = self.found["sections"].get(section.name, {}).get("rows", {})
        return {key: rows[key] for key in section.keys if key in rows and kind(rows[key]) != "infrastructure"}

    def keep(self, section: Section, key: str, row: Row) -> None:
        self.found["sections"].setdefault(section.name, {}).setdefault("rows", {})[key] = row
        self._write()

    def settle(self, section: Section, claims: Sequence[Claim], seconds: float) -> None:
        kept = self.found["sections"][section.name]
        kept["claims"] = [{"text": claim.text, "holds": claim.holds, "found": claim.found} for claim in claims]
        kept["seconds"] = kept.get("seconds", 0.0) + seconds
        self._write()

    def describe(self, session: Session) -> None:
        self.found["date"] = datetime.now(UTC).date().isoformat()
        self.found["environment"] = session.seats[0].start().environment.model_dump(mode="json")
        self._write()

    def _write(self) -> None:
        if self._file is not None:
            beside = self._file.with_suffix(".part")
            beside.write_text(json.dumps(self.found, indent=1) + "\n")
            beside.replace(self._file)


def measure(section: Section, bench: Bench, kept: Kept, until: float) -> list[Claim] | None:
    """Measure what is missing of a section and print what it came to; None where the time ran out first."""
    done = kept.rows(section)
    pending = [key for key in section.keys if key not in done]
    print(f"\n== {section.name}: {section.about}; {len(pending)} of {len(section.keys)} to measure", flush=True)
    started = time.monotonic()
    if pending and time.monotonic() < until:
        with closing(section.measure(bench, pending)) as measured:  # type: ignore[type-var]  # generators all
            for key, row in measured:
                kept.keep(section, key, row)
                if kind(row) == "infrastructure":
                    print(f"{key}: {row['verdict']['detail'][:500]}", flush=True)
                if time.monotonic() > until:
                    break
    rows, seconds = kept.rows(section), time.monotonic() - started
    if len(rows) < len(section.keys):
        print(f"{len(section.keys) - len(rows)} are still to be measured: give the same command again", flush=True)
        return None
    lines, claims = section.report(rows)
    kept.settle(section, claims, seconds)
    marks = [f"{'holds' if claim.holds else 'DOES NOT HOLD'}: {claim.text} ({claim.found})" for claim in claims]
    print("\n".join([*lines, *marks, f"{seconds:.0f} s now"]), flush=True)
    return claims


def main() -> None:
    about = "\n".join(f"  {section.name:8} {section.seconds:4} s  {section.about}" for section in SECTIONS)
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\nSections, with their seconds on an H200 with 16 cores:\n{about}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", nargs="+", choices=[section.name for section in SECTIONS], metavar="SECTION")
    parser.add_argument("--seconds", type=float, default=500.0, help="begin nothing new after these")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    kept, bench = Kept(options.output), Bench(options.device)
    wanted = [
        section
        for section in SECTIONS
        if (not options.only or section.name in options.only) and (section.without_gpu or options.device != "cpu")
    ]
    try:
        kept.describe(bench.session)
        found = [measure(section, bench, kept, until) for section in wanted]
    finally:
        bench.close()
    if any(claims is None for claims in found):
        sys.exit(3)
    sys.exit(0 if all(claim.holds for claims in found for claim in claims or ()) else 1)


if __name__ == "__main__":
    main()
