"""`run_compiler`: the one place where a compiler process is started, confined by the sandbox.

A compiler reads what a candidate wrote, and a candidate writes `#include "/dev/zero"`, template bombs and includes of
private files. `harness.sandbox.run_tool` answers for all of that; here is what a compiler of ours may read.
"""

import functools
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.build.cache import ArtifactCache
from harness.build.torch_layout import TorchLayout, cxx_compiler
from harness.errors import ToolchainError
from harness.sandbox import run_tool

_OURS = (Path(__file__).parent / "slim", Path(__file__).parent.parent / "emulate" / "include")
CANNOT_START = 127
_OUT_OF_MEMORY = (
    "virtual memory exhausted",
    "out of memory allocating",
    "std::bad_alloc",
    "Cannot allocate memory",
    "signal terminated program",
)


@dataclass(frozen=True)
class CompilerRun:
    """How one compiler process ended. `status` is its exit status; times are seconds."""

    status: int
    output: str
    seconds: float
    cpu_seconds: float
    timed_out: bool

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.timed_out

    @property
    def out_of_memory(self) -> bool:
        return not self.ok and any(sign in self.output for sign in _OUT_OF_MEMORY)


def run_compiler(argv: Sequence[str], *, cwd: Path, deadline_s: float, readable: Sequence[Path] = ()) -> CompilerRun:
    """Run one compiler or linker in `cwd`, all that it may write, for at most `deadline_s` seconds.

    It may read the base system and `readable`. stdout and stderr come back together, the head and the tail of them
    where they are long. Raises ToolchainError where the program cannot be started: never the candidate's fault.
    """
    started = time.monotonic()
    done = run_tool(argv, cwd=cwd, deadline_s=deadline_s, readable=readable)
    if done.returncode == CANNOT_START:
        raise ToolchainError(f"{argv[0]} cannot be run in the sandbox ({done.output.strip()}): see harness doctor.")
    return CompilerRun(
        status=done.returncode,
        output=done.output,
        seconds=time.monotonic() - started,
        cpu_seconds=done.cpu_s,
        timed_out=done.timed_out,
    )


@functools.cache
def compiler_version(compiler: str) -> str:
    """What `compiler --version` prints. Raises ToolchainError where it cannot be run."""
    try:
        run = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"{compiler} --version failed ({error}): mend or reinstall it.") from error
    return run.stdout


def readable_folders(layout: TorchLayout, cache: ArtifactCache) -> tuple[Path, ...]:
    """What a build reads beside the base system: torch, the CUDA toolkit, our own headers, prepared tools."""
    toolkit = (layout.toolkit.home, layout.toolkit.nvcc.resolve().parent.parent) if layout.toolkit else ()
    folders = (
        layout.root,
        *layout.cuda_include_dirs,
        layout.python_include,
        *toolkit,
        *_toolchain_folders(),
        *_OURS,
        cache.root / "tools",
    )
    return tuple(folder for folder in folders if folder.exists())


def _toolchain_folders() -> tuple[Path, ...]:
    """Where the host's compilers are installed, as found by PATH and behind its links, beside the base system."""
    programs = [cxx_compiler(), *(shutil.which(name) for name in ("c++", "g++", "gcc", "ld", "as"))]
    found = [Path(program) for program in programs if program is not None]
    folders = (path.parent.parent for program in found for path in (program.absolute(), program.resolve()))
    return tuple(
        dict.fromkeys(folder for folder in folders if not folder.is_relative_to("/usr") and folder != Path("/"))
    )
