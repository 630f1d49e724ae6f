"""Does a CPU come to the verdict of a GPU: kernels as models write them, right ones and the bugs they make.

    python benchmarks/agreement.py --device cpu -o cpu.json [--only 'softmax/*'] [--seconds 500]
    python benchmarks/agreement.py --device cuda -o cuda.json
    python benchmarks/agreement.py --compare cpu.json cuda.json

`benchmarks/agreement/kernels/PROBLEM/NAME.py` answers `benchmarks/agreement/problems/PROBLEM.py`. The first line of its
docstring says what the right verdict is: `correct: what it does`, `wrong: ...` or `failed: ...`; or `race: ...` where
threads race and what comes of that is luck: such are judged, and counted apart.

All are judged without timing, and without asking stock about builds. FILE keeps every row as soon as it is there, so
that the same command goes on where it stopped; a row of a kernel or a problem that has changed since is judged again.

Exit status: 0 all got their verdict (or both files agree), 1 some did not, 3 not everything was judged.
"""

import argparse
import ast
import fnmatch
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judge import ROOT, Bench, Row, Rows, Task, sha256

from harness.catalog import read_problem
from harness.controller.evaluate import Evaluated
from harness.settings import Settings

FOLDER = Path(__file__).resolve().parent / "agreement"
RACE = "race"
EXPECTED = ("correct", "wrong", "failed", RACE)


# ---- the corpus ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """One file of the corpus: the problem that it answers, and the verdict that is right, or `race`."""

    path: Path
    problem: Path
    expected: str

    @property
    def name(self) -> str:
        return f"{self.problem.stem}/{self.path.stem}"

    @property
    def sha256(self) -> str:
        """Of the kernel and its problem: the same as long as its verdict is."""
        return sha256(self.path.read_text() + self.problem.read_text())

    @property
    def task(self) -> Task:
        return Task(self.name, read_problem(self.problem), self.path.read_text(), timing="none")


def expected_of(text: str) -> str:
    """The verdict that the first line of a file's docstring names. Raises ValueError where it names none."""
    first = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    verdict, colon, what = first.partition(": ")
    if verdict not in EXPECTED or not colon or not what:
        raise ValueError(f"the first line of a kernel says {', '.join(EXPECTED)}, a colon and why, not {first!r}")
    return verdict


def read_kernels(folder: Path = FOLDER) -> list[Kernel]:
    """Every kernel, in order. Raises ValueError for one that names no verdict or has no problem."""
    kernels = []
    for path in sorted((folder / "kernels").glob("*/*.py"), key=lambda path: (path.parent.name, path.stem)):
        problem = folder / "problems" / f"{path.parent.name}.py"
        if not problem.is_file():
            raise ValueError(f"{path}: there is no problem {problem.stem}")
        kernels.append(Kernel(path, problem, expected_of(path.read_text())))
    return kernels


# ---- judging ---------------------------------------------------------------------------------------------------


def row_of(kernel: Kernel, evaluated: Evaluated) -> Row:
    """What is kept of a record. The detail names no folder of this machine."""
    record = evaluated.record
    verdict = record.verdict
    detail = str(getattr(verdict, "detail", ""))
    return {
        "kernel": kernel.name,
        "expected": kernel.expected,
        "kind": verdict.kind,
        "reason": str(getattr(verdict, "reason", None) or getattr(verdict, "rule", None) or ""),
        "detail": detail.replace(str(ROOT), ".").replace(sys.executable, "python")[:600],
        "trial": str(getattr(verdict, "trial", "")),
        "flags": sorted({flag.rule for flag in record.flags if flag.severity != "info"}),
        "audit": sorted({flag.rule for flag in record.audit if flag.severity != "info"}),
        "device": record.device.kind,
        "toolchains": sorted({build.toolchain for build in record.builds}),
        "seconds": round(sum(record.phases_s.values()), 2),
        "sha256": kernel.sha256,
    }


class Results:
    """The rows so far, in a file where one is named."""

    def __init__(self, file: Path | None, kernels: Sequence[Kernel]) -> None:
        self._file = file
        self.found: dict[str, Any] = {"rows": {}}
        if file is not None and file.exists():
            self.found = json.loads(file.read_text())
        current = {kernel.name: kernel.sha256 for kernel in kernels}
        kept = {name: row for name, row in self.found["rows"].items() if row["sha256"] == current.get(name)}
        self.rows: Rows = {name: row for name, row in kept.items() if row["kind"] != "infrastructure"}

    def describe(self, environment: dict[str, Any]) -> None:
        self.found["date"] = datetime.now(UTC).date().isoformat()
        self.found["environment"] = environment

    def add(self, row: Row) -> None:
        self.rows[row["kernel"]] = row
        if self._file is not None:
            self.found["rows"] = dict(sorted(self.rows.items()))
            beside = self._file.with_suffix(".part")
            beside.write_text(json.dumps(self.found, indent=1) + "\n")
            beside.replace(self._file)


def judged(kernels: Sequence[Kernel], device: str, results: Results) -> Iterator[Row]:
    """A row for each kernel, as they are done."""
    by_name = {kernel.name: kernel for kernel in kernels}
    with closing(Bench(device, settings=Settings(timing="none", audit="none"))) as bench:
        results.describe(bench.session.seats[0].start().environment.model_dump(mode="json"))
        for name, evaluated in bench.evaluated([kernel.task for kernel in kernels]):
            yield row_of(by_name[name], evaluated)


# ---- reports ---------------------------------------------------------------------------------------------------


def said(row: Row) -> str:
    """A verdict in a line."""
    outcome = f"{row['kind']}/{row['reason']}" if row["reason"] else row["kind"]
    return " ".join([outcome, *row["flags"], row["detail"].replace("\n", " ")[:300]]).rstrip()


def unexpected(rows: Rows) -> list[Row]:
    """The rows, races apart, whose verdict is not the one that is right."""
    return [row for row in rows.values() if row["expected"] not in (RACE, row["kind"])]


def summary(rows: Rows) -> Iterator[str]:
    told = {name: row for name, row in rows.items() if row["expected"] != RACE}
    others = unexpected(told)
    for expected, count in Counter(row["expected"] for row in told.values()).most_common():
        met = count - sum(row["expected"] == expected for row in others)
        yield f"{met} of {count} that are {expected} are called {expected}"
    yield from (f"  {row['kernel']}: not {row['expected']}: {said(row)}" for row in others)
    races = [row for row in rows.values() if row["expected"] == RACE]
    yield f"{sum(row['reason'] == 'data-race' for row in races)} of {len(races)} races are told as a race"
    yield from (f"  {row['kernel']}: {said(row)}" for row in races)
    yield f"{sum(row['seconds'] for row in rows.values()):.0f} s of judging"


@dataclass(frozen=True)
class Comparison:
    """Two result files: how many kernels both have and how many verdicts are of one kind, races apart."""

    both: int
    agree: int
    races: int
    differences: tuple[tuple[Row, Row], ...]
    stale: tuple[str, ...]

    @property
    def share(self) -> float:
        return self.agree / self.both if self.both else 0.0


def compared(first: Rows, second: Rows) -> Comparison:
    """Hold the rows of two devices against each other. `stale` names what one lacks or has of another text."""
    stale = set(first.keys() ^ second.keys())
    stale |= {name for name in first.keys() & second.keys() if first[name]["sha256"] != second[name]["sha256"]}
    pairs = [(row, second[name]) for name, row in sorted(first.items()) if name not in stale]
    told = [pair for pair in pairs if pair[0]["expected"] != RACE]
    agree = sum(one["kind"] == other["kind"] for one, other in told)
    differences = tuple(pair for pair in pairs if pair[0]["kind"] != pair[1]["kind"])
    return Comparison(len(told), agree, len(pairs) - len(told), differences, tuple(sorted(stale)))


def comparison_lines(found: Comparison) -> Iterator[str]:
    yield f"{found.agree} of {found.both} agree ({found.share:.1%}), {found.races} races apart"
    for one, other in found.differences:
        apart = " (apart)" if one["expected"] == RACE else ""
        yield f"{one['kernel']}: {one['expected']}{apart}"
        yield from (f"  {row['device']}: {said(row)}" for row in (one, other))
    if found.stale:
        yield f"not in both, or of another text: {', '.join(found.stale)}"


# ---- command line ----------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--only", metavar="GLOB", default="*", help="kernels by PROBLEM/NAME")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing new after these")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    parser.add_argument("--compare", nargs=2, type=Path, metavar="FILE", help="judge nothing: two files of rows")
    options = parser.parse_args()
    if options.compare:
        first, second = (json.loads(path.read_text())["rows"] for path in options.compare)
        found = compared(first, second)
        print("\n".join(comparison_lines(found)))
        return 3 if found.stale else int(found.agree < found.both)
    until = time.monotonic() + options.seconds
    every = read_kernels()
    results = Results(options.output, every)
    chosen = [kernel for kernel in every if fnmatch.fnmatch(kernel.name, options.only)]
    pending = [kernel for kernel in chosen if kernel.name not in results.rows]
    print(f"{len(pending)} of {len(chosen)} kernels to judge", flush=True)
    if pending:
        with closing(judged(pending, options.device, results)) as rows:  # type: ignore[type-var]  # a generator
            for row in rows:
                results.add(row)
                mark = " " if row["expected"] in (RACE, row["kind"]) else "!"
                print(f"{mark} {row['kernel']:44} {row['seconds']:6.1f} s  {said(row)[:160]}", flush=True)
                if time.monotonic() > until:
                    break
    there = {kernel.name: results.rows[kernel.name] for kernel in chosen if kernel.name in results.rows}
    print("\n".join(summary(there)))
    left = sum(row["kind"] == "infrastructure" for row in there.values()) + len(chosen) - len(there)
    if left:
        print(f"{left} are still to be judged: give the same command again")
        return 3
    return 1 if unexpected(there) else 0


if __name__ == "__main__":
    sys.exit(main())
