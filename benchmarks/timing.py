"""The reference against itself: how far from 1.00 the judge's clock is, quiet and beside busy builders.

    python benchmarks/timing.py [--busy N ...] [--only NAME] [-o FILE]

Each problem is judged with its own `Model` as the candidate. `--busy N` repeats it beside N processes that spin on the
cores that builders may use.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.controller.evaluate import evaluate
from harness.controller.session import CORES_FOR_A_GPU, open_session
from harness.schema import Problem, Submission
from harness.settings import Settings

BODIES = {
    "relu": "def forward(self, x):\n        return torch.relu(x)",
    "gelu": "def forward(self, x):\n        return 0.5 * x * (1.0 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))",
    "matmul": "def forward(self, a, b):\n        return a @ b",
    "softmax": "def forward(self, x):\n        return torch.softmax(x.view(1024, -1), dim=1)",
}
CASES = (
    *(("relu", size) for size in (1 << 10, 1 << 18, 1 << 22, 1 << 26)),
    *(("gelu", size) for size in (1 << 10, 1 << 20, 1 << 26)),
    ("softmax", 1 << 24),
    *(("matmul", size) for size in (128, 1024, 4096, 8192)),
)


def source(name: str, size: int, *, class_name: str) -> str:
    """A problem's source, or with `ModelNew` the same as a candidate."""
    shape, count = ("n, n", 2) if name == "matmul" else ("n", 1)
    inputs = ", ".join([f"torch.rand({shape})"] * count)
    return (
        f"import torch\n\nn = {size}\n\n\nclass {class_name}(torch.nn.Module):\n    {BODIES[name]}\n\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return []\n"
    )


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def measure(busy: int, only: str, session: Any) -> list[dict[str, Any]]:
    """One evaluation of every case beside `busy` spinning processes."""
    cores = sorted(os.sched_getaffinity(os.getppid()))[CORES_FOR_A_GPU:] or [0]
    spinning = [
        subprocess.Popen(
            [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {cores})\nwhile True: pass"],
        )
        for _ in range(busy)
    ]
    time.sleep(0.5 if busy else 0)
    try:
        return [row(name, size, busy, session) for name, size in CASES if only in f"{name}-{size}"]
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def row(name: str, size: int, busy: int, session: Any) -> dict[str, Any]:
    asked, answered = (source(name, size, class_name=class_name) for class_name in ("Model", "ModelNew"))
    problem = Problem(set="timing", name=f"{name}-{size}", sha256=sha256(asked), source=asked)
    record = evaluate(
        Submission(path="self.py", sha256=sha256(answered), text=answered), problem, session=session
    ).record
    timing = record.timing
    assert timing is not None, record.verdict
    found = {
        "problem": problem.name,
        "busy": busy,
        **timing.model_dump(exclude={"candidate_samples_ms", "reference_samples_ms"}, mode="json"),
        "environment": record.environment.model_dump(mode="json"),
    }
    ratio = timing.speedup
    print(
        f"{problem.name:16} busy {busy:3} {timing.reference_ms:9.4f} ms  "
        f"{ratio.value:.4f} [{ratio.low:.4f}, {ratio.high:.4f}]  "
        f"hand-over {timing.hand_over_ms:.3f} ms, {timing.rounds} rounds of {timing.calls_per_round}",
        flush=True,
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", type=int, nargs="*", default=[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="", help="cases whose name, as relu-1024, contains this")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    with open_session(options.device, Settings()) as session:
        rows = [found for busy in options.busy for found in measure(busy, options.only, session)]
    if options.output:
        result = {"date": datetime.now(UTC).date().isoformat(), "rows": rows}
        options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
