"""Policy: what a worker may touch and how much of it. Exit: how it ended. They cross between our own processes."""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from harness.schema import Frozen

Tier = Literal["full", "basic", "none"]
Isolation = Literal["auto", "full", "basic-or-more", "basic", "none"]
"""What workers are to get, the same for `Policy`, `Settings` and compilers: exactly a tier, or the best there is."""
Least = Literal["none", "basic", "full"]
"""What workers must have at the least, as `--require-isolation` takes it: they get the best there is all the same."""
AT_LEAST: dict[Least, Isolation] = {"none": "auto", "basic": "basic-or-more", "full": "full"}
"""The isolation that asks for no less."""
RISING: tuple[Tier, ...] = ("none", "basic", "full")
Cause = Literal[
    "exited",  # by itself, `code` says how
    "signal",  # by a signal that was not ours: SIGSEGV, SIGABRT, ...
    "killed",  # by its owner
    "memory",  # more than `memory_bytes`, or the kernel's out-of-memory killer
    "cpu",  # more than `cpu_s`
    "processes",  # more than `processes` or `threads` at once
    "scratch",  # more than `scratch_bytes` on the disk
    "file",  # one file larger than `file_bytes`, by SIGXFSZ; Python ignores that and raises instead
    "output",  # more than `output_bytes` on standard output and error
]

GIB = 1 << 30


class Limits(Frozen):
    """How much one worker may use, all its processes together unless said otherwise.

    `memory_bytes` counts private and shared memory beyond what the prepared process brought along (in a group also
    files in memory, such as a scratch folder on tmpfs, and what the kernel keeps for it); `cpu_s` is user plus system
    time; `processes` and `threads` are what there may be at once (torch's own compiler starts 32 processes, every core
    an OpenMP thread; killing a thousand forks of torch takes two cores half a minute); `file_bytes` is the size of one
    file; `log_bytes` what is kept of standard output and error, half from the head and half from the tail, and
    `output_bytes` what may be written to them: a pipe takes some 0.4 to 1 GB a second. `open_files` is what one process
    may have open, half of the machine's own hard limit where that is less (`descriptors.py`).
    `sparse_memory` is for processes that reserve far more address space than they use (AddressSanitizer's shadow is
    terabytes): what they use is bounded all the same, what they reserve is not.
    """

    memory_bytes: int = 16 * GIB
    cpu_s: float = 600.0
    processes: int = 128
    threads: int = Field(default_factory=lambda: 256 + 8 * (os.cpu_count() or 1))
    file_bytes: int = 2 * GIB
    scratch_bytes: int = 2 * GIB
    log_bytes: int = 64 * 1024
    output_bytes: int = GIB // 4
    open_files: int = 4096
    sparse_memory: bool = False


class Policy(Frozen):
    """How a worker is confined.

    `readable` are files and folders it may read beside the base system (interpreter, torch, compilers, GPU
    libraries); `devices` whether /dev/nvidia* are there for it; `environment` variables set on top of the scrubbed
    ones. `isolation` "auto" takes the best tier that the machine carries, "basic-or-more" too, but not "none"; any
    other asks for exactly that tier. Where the machine does not carry it, starting the worker fails with
    `SandboxError`.
    """

    readable: tuple[Path, ...] = ()
    devices: bool = False
    limits: Limits = Limits()
    isolation: Isolation = "auto"
    environment: dict[str, str] = Field(default_factory=dict)


class Exit(Frozen):
    """How a process of ours ended: exactly one of `code` and `signal` is set.

    `cause` names a limit that the kernel enforced, however the process then ended. `log` is what it wrote to standard
    output and error, capped. `peak_rss_bytes` is the larger of the kernel's figure for the main process, the prepared
    process's share included, and that for all of them: the group's own (files in memory included, the share not)
    where there is one, else the sampled sum.
    """

    code: int | None
    signal: int | None
    cause: Cause
    log: str = ""
    peak_rss_bytes: int = Field(default=0, ge=0)
    cpu_s: float = Field(default=0.0, ge=0)
