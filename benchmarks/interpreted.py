"""Triton kernels with and without a GPU: the corpus of `benchmarks/triton_kernels`, judged on one kind of device.

    python benchmarks/interpreted.py --device cuda -o gpu.json
    python benchmarks/interpreted.py --device cpu -o cpu.json --against gpu.json

Needs triton. Each file has a problem (`Model`, `get_inputs`) and a candidate (`ModelNew`); its docstring says what the
candidate must get:

    VERDICT[/REASON][|VERDICT...]: what it does.

    Without a GPU: VERDICT[/REASON][|...]      where that is another

Prints a line for each, and what was not as expected. With `--against` the rows of another device are held against
these: kinds of verdicts are equal, or one of the two is `not-emulated`, or they differ. Exit status 1 where anything
was not as expected.
"""

import argparse
import ast
import json
import os
import platform
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import Evaluator, load_problem
from harness.settings import Settings

FOLDER = Path(__file__).resolve().parent / "triton_kernels"
_WITHOUT_GPU = re.compile(r"^Without a GPU: (\S+)$", re.MULTILINE)
_PROBLEMS_PARTS = ("Model", "get_inputs", "get_init_inputs")


@dataclass(frozen=True)
class Kernel:
    """One file: the texts of its problem and of its candidate, and the verdicts that it may get."""

    name: str
    what: str
    problem: str
    candidate: str
    expected: tuple[str, ...]
    expected_without_gpu: tuple[str, ...]


def read_kernels(folder: Path = FOLDER) -> list[Kernel]:
    """Every file, in order. Raises ValueError for a docstring that does not say what it must."""
    return [_read(path) for path in sorted(folder.glob("*.py"))]


def _read(path: Path) -> Kernel:
    text = path.read_text()
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree) or ""
    verdicts, colon, what = docstring.partition("\n")[0].partition(": ")
    if not colon:
        raise ValueError(f"{path}: its first line names no verdict: {docstring!r}")
    without = _WITHOUT_GPU.search(docstring)
    kept = [node for node in tree.body if getattr(node, "name", None) in _PROBLEMS_PARTS]
    parts = [ast.get_source_segment(text, node) or "" for node in kept]
    return Kernel(
        name=path.stem,
        what=what,
        problem="\n\n\n".join(["import torch\nimport torch.nn as nn", *parts]) + "\n",
        candidate=text,
        expected=tuple(verdicts.split("|")),
        expected_without_gpu=tuple((without[1] if without else verdicts).split("|")),
    )


def _judged(kernel: Kernel, evaluator: Evaluator) -> tuple[dict[str, Any], str]:
    """A kernel's row, and what the device is called that judged it."""
    started = time.monotonic()
    record = evaluator.evaluate(kernel.candidate, load_problem(kernel.problem))
    verdict = record.verdict
    said = str(getattr(verdict, "reason", None) or getattr(verdict, "rule", "") or "")
    allowed = kernel.expected if record.device.kind == "cuda" else kernel.expected_without_gpu
    row = {
        "name": kernel.name,
        "what": kernel.what,
        "verdict": verdict.kind,
        "reason": said,
        "detail": getattr(verdict, "detail", "")[:500],
        "expected": list(allowed),
        "as_expected": bool({verdict.kind, f"{verdict.kind}/{said}"} & set(allowed)),
        "device": record.device.kind,
        "seconds": round(time.monotonic() - started, 2),
    }
    return row, record.device.name


def compared(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> dict[str, str]:
    """Of each kernel that both have: "equal", "not-emulated" or how the two verdicts differ."""
    by_name = {row["name"]: row for row in others}
    found = {}
    for row in rows:
        other = by_name.get(row["name"])
        if other is None:
            continue
        if "not-emulated" in (row["reason"], other["reason"]):
            found[row["name"]] = "not-emulated"
        elif row["verdict"] == other["verdict"]:
            found[row["name"]] = "equal"
        else:
            said = (f"{one['verdict']} ({one['reason']}) on {one['device']}" for one in (row, other))
            found[row["name"]] = ", ".join(said)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="", help="names that contain this, or several, separated by commas")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--against", type=Path, help="rows of another device")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    wanted = asked.only.split(",")
    rows, devices = [], set()
    with Evaluator(device=asked.device, settings=Settings(timing="none", timeout_s=asked.timeout)) as evaluator:
        for kernel in read_kernels():
            if not any(part in kernel.name for part in wanted):
                continue
            row, device = _judged(kernel, evaluator)
            rows.append(row)
            devices.add(device)
            mark = " " if row["as_expected"] else "!"
            print(f"{mark} {row['name']:28} {row['verdict']:8} {row['reason']:13} {row['seconds']:6.1f} s", end="")
            print(f"  {row['detail'][:200]}" if row["detail"] else "", flush=True)
    unexpected = [row["name"] for row in rows if not row["as_expected"]]
    print(
        f"{len(rows)} kernels, {len(rows) - len(unexpected)} as expected"
        + (f"; not {unexpected}" if unexpected else "")
    )
    summary: dict[str, Any] = {
        "judged_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "device": ", ".join(sorted(devices)),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in ("torch", "triton")}},
        "rows": rows,
    }
    if asked.against is not None:
        found = compared(rows, json.loads(asked.against.read_text())["rows"])
        summary["compared"] = found
        counts = Counter(said if said in ("equal", "not-emulated") else "different" for said in found.values())
        print(", ".join(f"{count} {said}" for said, count in counts.items()))
        for name, said in found.items():
            if said not in ("equal", "not-emulated"):
                print(f"  {name}: {said}")
    if asked.output is not None:
        asked.output.write_text(json.dumps(summary, indent=1) + "\n")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
