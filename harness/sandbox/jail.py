"""Confine this process and become a tool: what `run_tool` starts where bubblewrap cannot be had.

Imports nothing that takes time: every call of a compiler pays for it.
"""

import json
import os
import resource
import sys
from typing import NoReturn

from harness.sandbox import landlock, linux, seccomp

# What compilers look up about the machine. Not /proc as a whole: other processes' command lines are there.
_SYSTEM = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu")
CANNOT_START = 127  # a shell's status for a program that is not there


def confine(
    *, readable: list[str], writable: list[str], devices: list[str], memory_bytes: int, file_bytes: int, cpu_s: int
) -> None:
    """Limit this process for good. Raises OSError where the kernel has no Landlock or no seccomp.

    `cpu_s` bounds each process of the tool, so that none outlives an owner that was killed for ever.
    """
    for which, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))
    linux.drop_capabilities()
    linux.clear_capabilities()
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(readable=(*readable, *_SYSTEM), writable=writable, devices=devices, writable_files=())
    program = seccomp.program(network=False, other_processes=False, signals=True, pid=os.getpid())
    linux.install_seccomp(program)


def main(arguments: str, argv: list[str]) -> NoReturn:
    """`confine` with the JSON object `arguments`, then run `argv` in this process's place."""
    confine(**json.loads(arguments))
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr)
        os._exit(CANNOT_START)
