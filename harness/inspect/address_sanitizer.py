"""AddressSanitizer: memcheck for candidates that run on a CPU, emulated CUDA among them.

The extension is built with `-fsanitize=address` and loaded by a new Python that has the runtime preloaded, so that
torch's allocations go through it and have red zones around them. The process dies of the first finding. The format
is that of LLVM's compiler-rt, which GCC ships: https://github.com/google/sanitizers/wiki/AddressSanitizer.
"""

import re
import subprocess
from pathlib import Path

from harness.errors import InputError
from harness.inspect.report import NOTHING, Findings

OPTIONS = {
    "detect_leaks": "0",  # Python and torch keep much until the end
    "halt_on_error": "1",
    "abort_on_error": "0",
    "handle_segv": "1",
    "allocator_may_return_null": "1",  # torch has an error of its own for that
    # The rest is about libraries that were not built with it, torch's above all.
    "alloc_dealloc_mismatch": "0",
    "new_delete_type_mismatch": "0",
    "detect_container_overflow": "0",
    "detect_odr_violation": "0",
    # Emulated threads have stacks of their own, which it takes for the process's.
    "detect_stack_use_after_return": "0",
}
_ERROR = re.compile(r"^==\d+==ERROR: AddressSanitizer: (.*)$", re.MULTILINE)
_ACCESS = re.compile(r"^(READ|WRITE) of size (\d+)", re.MULTILINE)
_SIGNAL = re.compile(r"signal is caused by a (READ|WRITE) memory access")
_WHERE = re.compile(r"^0x[0-9a-f]+ is located (.*?) \[0x", re.MULTILINE)
_FRAME = re.compile(r"^\s+#\d+ .*$")


def find_runtime(compiler: str) -> Path:
    """The runtime library of `compiler`. Raises InputError where it has none."""
    try:
        asked = [compiler, "-print-file-name=libasan.so"]
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False).stdout.strip()
    except OSError:
        answer = ""
    found = Path(answer)
    if not found.is_absolute() or not found.exists():
        raise InputError(f"--sanitize memcheck needs AddressSanitizer, which {compiler} lacks: install libasan")
    return found.resolve()


def environment(runtime: Path) -> dict[str, str]:
    """What the process to be checked needs in its environment."""
    options = ":".join(f"{name}={value}" for name, value in OPTIONS.items())
    return {"LD_PRELOAD": str(runtime), "ASAN_OPTIONS": options}


def read(log: str) -> Findings:
    """The finding in what the process wrote, if there is one."""
    error = _ERROR.search(log)
    if error is None:
        return Findings(summary=NOTHING)
    report = log[error.start() :]
    access, where, signal = _ACCESS.search(report), _WHERE.search(report), _SIGNAL.search(report)
    summary = error.group(1).split(" on ", 1)[0].split(" (pc ", 1)[0]
    if access:
        summary += f": {access.group(1).lower()} of {access.group(2)} bytes"
    if signal:
        summary += f": {signal.group(1).lower()} at an address where there is no memory"
    if where:
        summary += f", {where.group(1).replace('region', 'block')}"
    own = next((frame for frame in _stack(report) if "candidate.py:" in frame), None)
    return Findings(summary=summary, count=1, places=(own,) if own else ())


def _stack(report: str) -> list[str]:
    """The frames of the access itself: the first stack of a report, others tell where memory was allocated."""
    frames: list[str] = []
    for line in report.splitlines():
        if _FRAME.match(line):
            frames.append(line)
        elif frames:
            break
    return frames
