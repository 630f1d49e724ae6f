"""KernelBench's references judged as candidates: as they are, in a second form that is right, and with bugs planted.

    python benchmarks/references.py FOLDER [--device cuda|cpu] [--only SECTION ...] [--problems 1/23 2/ ...]
        [--limit-s 540] [-o FILE]

FOLDER is a checkout of https://github.com/ScalingIntelligence/KernelBench, or its folder with level1, level2 and so on.
`another_order.py`, `table.toml` and `twins/` of `benchmarks/references` say what is made of a reference. FILE keeps
every row as soon as it is there, so that the same command goes on where it stopped.

Exit status: 0 every claim holds, 1 one does not (a twin is refused, a bug passes), 3 not everything was judged.
"""

import argparse
import ast
import collections
import statistics
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from judge import (
    Bench,
    Claim,
    Kept,
    Measured,
    Report,
    Row,
    Rows,
    Section,
    Task,
    kind,
    measure,
    outcome,
    row_of,
    speedup,
)

from harness.catalog import open_catalog
from harness.catalog.catalog import Catalog
from harness.errors import InputError, ProblemError
from harness.schema import Problem
from harness.schema.problem import Precision

MATERIAL = Path(__file__).resolve().parent / "references"
TABLE = tomllib.loads((MATERIAL / "table.toml").read_text())
LEVELS = {1: 100, 2: 100, 3: 50}
TIMED_S = 0.5
"""Seconds of timed rounds of each reference."""
FAULT = "problem"
"""The kind of a row whose problem is at fault."""

_MODEL = """

class ModelNew(Model):
    def forward(self, *inputs):
        {body}
"""
_PLAIN = "super().forward(*inputs)"


# ---- what is made of a reference -------------------------------------------------------------------------------


def of_reference(source: str) -> str:
    """A problem's source without what draws inputs, nor the numbers that only this needs."""
    tree = ast.parse(source)
    kept = [node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name.startswith("get_"))]
    used = {
        name.id
        for node in kept
        if not isinstance(node, ast.Assign)
        for name in ast.walk(node)
        if isinstance(name, ast.Name)
    }
    tree.body = [node for node in kept if not isinstance(node, ast.Assign) or _targets(node) & used]
    return ast.unparse(tree)


def _targets(node: ast.Assign) -> set[str]:
    return {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def _candidate(source: str, body: str, *, helper: str = "") -> str:
    lines = "\n        ".join(body.strip().splitlines())
    return of_reference(source) + "\n\n" + helper + _MODEL.format(body=lines)


ANOTHER_ORDER = (MATERIAL / "another_order.py").read_text()

_DOUBLE = """
import copy
doubled = copy.deepcopy(self).double()
found = Model.forward(doubled, *(x.double() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs))
narrow = lambda x: x.float() if torch.is_tensor(x) and x.is_floating_point() else x
return tuple(narrow(x) for x in found) if isinstance(found, tuple) else narrow(found)
"""
_CHANNELS_LAST = """
forms = {4: torch.channels_last, 5: torch.channels_last_3d}
for parameter in self.parameters():
    if parameter.dim() in forms:
        parameter.data = parameter.data.contiguous(memory_format=forms[parameter.dim()])
laid_out = [x.contiguous(memory_format=forms[x.dim()]) if x.dim() in forms else x for x in inputs]
return super().forward(*laid_out).contiguous()
"""
_ROWS = """
half = inputs[0].shape[0] // 2
at = [i for i, x in enumerate(inputs) if torch.is_tensor(x) and x.shape[:1] == inputs[0].shape[:1]]
parts = [[x[rows] if i in at else x for i, x in enumerate(inputs)] for rows in (slice(half, None), slice(None, half))]
last, first = (super(ModelNew, self).forward(*part) for part in parts)
return torch.cat([first, last])
"""
_WITHOUT_CUDNN = "with torch.backends.cudnn.flags(enabled=False):\n    return super().forward(*inputs)"

TWINS: dict[str, Callable[[str], str]] = {
    "order": lambda source: _candidate(source, f"with AnotherOrder():\n    return {_PLAIN}", helper=ANOTHER_ORDER),
    "double": lambda source: _candidate(source, _DOUBLE),
    "channels-last": lambda source: _candidate(source, _CHANNELS_LAST),
    "rows": lambda source: _candidate(source, _ROWS),
    "uncudnn": lambda source: _candidate(source, _WITHOUT_CUDNN),
}
"""The forms that are made; `hand` are files."""

_OF_TENSOR = f"out = {_PLAIN}\nflat = out.clone().view(-1)\n{{change}}\nreturn flat.view(out.shape)"
_ON_INPUTS = (
    "return super().forward(*({change} if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs))"
)
_NO_EPS = """
for module in self.modules():
    if hasattr(module, "eps"):
        module.eps = 1e-30  # batch norm takes no 0
return super().forward(*inputs)
"""
_NO_BIAS = """
for name, value in self.named_parameters():
    if name.endswith("bias"):
        value.data.zero_()
return super().forward(*inputs)
"""
_STALE = f"""
if not hasattr(self, "first"):
    self.first = {_PLAIN}
return self.first.clone()
"""

BUGS: dict[str, Callable[[str], str]] = {
    "scaled": lambda source: _candidate(source, f"return {_PLAIN} * 1.01"),
    "element": lambda source: _candidate(source, _OF_TENSOR.format(change="flat[-1] += flat.abs().mean() / 10")),
    "tail": lambda source: _candidate(source, _OF_TENSOR.format(change="flat[-(len(flat) // 16) :] = 0")),
    "row": lambda source: _candidate(source, f"out = {_PLAIN}.clone()\nout[-1] = out[0]\nreturn out"),
    "late": lambda source: _candidate(source, f"return torch.roll({_PLAIN}, 1, -1)"),
    "swapped": lambda source: _candidate(source, "return super().forward(*reversed(inputs))"),
    "positive": lambda source: _candidate(source, _ON_INPUTS.format(change="x.relu()")),
    "clamped": lambda source: _candidate(source, _ON_INPUTS.format(change="x.clamp(max=1)")),
    "first-rows": lambda source: _candidate(source, _ON_INPUTS.format(change="x[: len(x) // 2]")),
    "stale": lambda source: _candidate(source, _STALE),
    "no-eps": lambda source: _candidate(source, _NO_EPS),
    "no-bias": lambda source: _candidate(source, _NO_BIAS),
    "half-sum": lambda source: _candidate(
        source, f"with AnotherOrder(loses=True):\n    return {_PLAIN}", helper=ANOTHER_ORDER
    ),
}
"""A bug by name: what it makes of a reference. `half-sum` takes the first half of every sum for all of it."""


def itself(source: str) -> str:
    """The reference as a candidate."""
    return _candidate(source, f"return {_PLAIN}")


def twin(key: str, source: str) -> str:
    """A second form, by `level/number/form`."""
    place, _, form = key.rpartition("/")
    if form == "hand":
        return (MATERIAL / "twins" / f"{place.replace('/', '_')}.py").read_text()
    return TWINS[form](source)


def bug(key: str, source: str) -> str:
    """A reference with a bug planted, by `level/number/bug`."""
    return BUGS[key.rpartition("/")[2]](source)


# ---- judging ---------------------------------------------------------------------------------------------------


class Problems:
    """KernelBench's problems by `level/number`."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def at(self, place: str) -> Problem:
        level, number = place.split("/")[:2]
        return self._catalog.find((int(level), int(number)))


def judged(bench: Bench, tasks: Sequence[Task]) -> Measured:
    """Rows as they are done; with what was found of the problem, and its own kind where the problem is at fault."""
    for key, evaluated in bench.evaluated(tasks):
        record = evaluated.record
        row = row_of(record)
        if isinstance(evaluated.fault, ProblemError | InputError):
            row["verdict"]["kind"] = FAULT
        row["audit"] = {finding.rule: finding.detail for finding in record.audit if finding.severity != "info"}
        row["seconds"] = round(sum(record.phases_s.values()), 3)
        yield key, row


def section(
    problems: Problems,
    name: str,
    about: str,
    keys: Sequence[str],
    make: Callable[[str, str], str],
    report: Callable[[Rows], Report],
    *,
    seconds: int,
    precision: Precision = "fp32",
    timed: bool = False,
) -> Section:
    def measured(bench: Bench, wanted: Sequence[str]) -> Measured:
        def task(key: str) -> Task:
            problem = problems.at(key)
            source = make(key, problem.source)
            return Task(key, problem, source, precision, "full" if timed else "none", TIMED_S)

        return judged(bench, [task(key) for key in wanted])

    return Section(name, about, seconds, tuple(keys), measured, report, without_gpu=True)


def sections(problems: Problems, chosen: Callable[[str], bool]) -> tuple[Section, ...]:
    """All of them, of the problems that are chosen."""
    places = [f"{level}/{number}" for level, most in LEVELS.items() for number in range(1, most + 1)]
    every = [place for place in places if chosen(place)]
    order = {place: n for n, place in enumerate(places)}

    def listed(pairs: Iterator[tuple[str, str]]) -> list[str]:
        """By problem: what is known of one need not be found out again."""
        return [f"{place}/{what}" for place, what in sorted(pairs, key=lambda pair: order[pair[0]]) if chosen(place)]

    twins = listed((place, form) for form, places in TABLE["twins"].items() for place in places)
    bugs = listed((place, name) for place, names in TABLE["bugs"].items() for name in names)
    make = partial(section, problems)

    def same(key: str, source: str) -> str:
        del key
        return itself(source)

    halves = [
        make(name, f"the references in {name}", every, same, report_half, seconds=500, precision=name)
        for name in ("fp16", "bf16")
    ]
    return (
        make("itself", "references as candidates", every, same, report_itself, seconds=500),
        make("twins", "second forms", twins, twin, report_twins, seconds=250),
        make("bugs", "planted bugs", bugs, bug, report_bugs, seconds=150),
        *halves,
        make("timed", "references against themselves", every, same, report_timed, seconds=900, timed=True),
    )


# ---- reports ---------------------------------------------------------------------------------------------------


def _line(key: str, row: Row) -> str:
    error = row["verdict"].get("error") or {}
    known = f"{error['reference_relative']:9.2g} {error['of_tolerance']:6.2f} {error['oracle']:12}" if error else ""
    left = ", ".join([*row["verdict"].get("left_out", ()), *row["flags"], *row["audit"]])
    said = row["verdict"].get("detail", "")[:160].replace("\n", " ")
    return f"{key:24} {outcome(row):20} {row['seconds']:6.1f} {known:29} {left} {said}".rstrip()


_HEAD = f"{'':24} {'verdict':20} {'s':>6} {'own error':>9} {'of tol':>6} {'oracle':12} left out, flags, findings"


def report_itself(rows: Rows) -> Report:
    lines = [_HEAD, *(_line(key, row) for key, row in rows.items() if kind(row) != "correct" or row["audit"])]
    right = sum(kind(row) == "correct" for row in rows.values())
    seconds = sum(row["phases_s"].get("check", 0.0) for row in rows.values())
    lines += _oracles(rows)
    lines.append(f"checking took {seconds:.0f} s, {seconds / max(1, len(rows)):.2f} each")
    return lines, [Claim("every reference is correct as its own candidate", right == len(rows), _of(right, rows))]


def report_twins(rows: Rows) -> Report:
    refused = [key for key, row in rows.items() if kind(row) != "correct"]
    lines = [_HEAD, *(_line(key, row) for key, row in rows.items()), *_oracles(rows)]
    return lines, [Claim("no twin is refused", not refused, _of(len(rows) - len(refused), rows))]


def report_bugs(rows: Rows) -> Report:
    missed = [key for key, row in rows.items() if kind(row) != "wrong"]
    shown = [
        f"{key:24} {row['verdict'].get('reason', '')} in {row['verdict'].get('trial', '')}" for key, row in rows.items()
    ]
    lines = [*shown, *(f"MISSED {_line(key, rows[key])}" for key in missed)]
    return lines, [Claim("every planted bug is caught", not missed, _of(len(rows) - len(missed), rows))]


def report_half(rows: Rows) -> Report:
    counts = collections.Counter(outcome(row) for row in rows.values())
    lines = [_HEAD, *(_line(key, row) for key, row in rows.items() if kind(row) != "correct" or row["audit"])]
    lines += [f"{count:4} {name}" for name, count in counts.most_common()]
    needs = sum("needs-float32" in row["audit"] or kind(row) == FAULT for row in rows.values())
    lines.append(f"{needs} need float32 inside, or cannot be had in this type")
    refused = [key for key, row in rows.items() if kind(row) not in ("correct", FAULT)]
    return lines, [Claim("no reference that runs is refused", not refused, _of(len(rows) - len(refused), rows))]


def report_timed(rows: Rows) -> Report:
    timed = {key: row for key, row in rows.items() if "timing" in row}
    lines = [f"not timed: {_line(key, row)}" for key, row in rows.items() if key not in timed]
    off = {key: abs(speedup(row) - 1) for key, row in timed.items()}
    inside = sum(row["timing"]["speedup"]["low"] <= 1 <= row["timing"]["speedup"]["high"] for row in timed.values())
    worst = sorted(off, key=off.__getitem__, reverse=True)[:10]
    lines += [f"{key:24} {speedup(timed[key]):.4f} {timed[key]['timing']['reference_ms']:.4g} ms" for key in worst]
    if off:
        lines.append(f"off 1 by {statistics.median(off.values()):.2%} (median), {max(off.values()):.2%} (worst)")
    return lines, [
        Claim("every reference is correct and timed", len(timed) == len(rows), _of(len(timed), rows)),
        Claim("the interval contains 1 in 9 of 10", inside >= 0.9 * len(timed), _of(inside, timed)),
    ]


def _oracles(rows: Rows) -> list[str]:
    errors = [row["verdict"]["error"] for row in rows.values() if row["verdict"].get("error")]
    counts = collections.Counter(error["oracle"] for error in errors)
    return [", ".join(f"{count} by {name}" for name, count in counts.most_common())]


def _of(count: int, rows: Rows) -> str:
    return f"{count} of {len(rows)}"


# ---- command line ----------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda")
    names = ["itself", "twins", "bugs", "fp16", "bf16", "timed"]
    parser.add_argument("--only", nargs="+", choices=names, metavar="SECTION", help=", ".join(names))
    parser.add_argument("--problems", nargs="+", metavar="L/N", help="these alone; 2/ is all of level 2")
    parser.add_argument("--limit-s", type=float, default=540.0, help="begin nothing new after these")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    until = time.monotonic() + options.limit_s
    problems = Problems(open_catalog(options.folder))

    def chosen(place: str) -> bool:
        wanted = options.problems
        return not wanted or any(place == one or (one.endswith("/") and place.startswith(one)) for one in wanted)

    wanted = [one for one in sections(problems, chosen) if one.keys and (not options.only or one.name in options.only)]
    if not wanted:
        parser.error("none of these sections has one of these problems")
    kept, bench = Kept(options.output), Bench(options.device)
    try:
        kept.describe(bench.session)
        found = [measure(one, bench, kept, until) for one in wanted]
    finally:
        bench.close()
    if any(not claim.holds for claims in found for claim in claims or ()):
        sys.exit(1)
    sys.exit(3 if any(claims is None for claims in found) else 0)


if __name__ == "__main__":
    main()
