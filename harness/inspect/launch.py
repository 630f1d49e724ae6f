"""From a fork of the prepared process to a new one under a tool: `execve`, with the confinement kept.

`main` is the entry of a worker, so it runs confined, and so does what it executes: namespaces, Landlock and seccomp
outlive an exec. The new interpreter imports torch again, which takes seconds; a tool has to be there from the start.
"""

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from harness.schema import Frozen

_ADDR_NO_RANDOMIZE = 0x0040000
"""personality(2). AddressSanitizer's shadow has its fixed place, which a well shuffled address space may be using."""
# The package is loaded by its file: the folder that it lies in may be closed, and the import system lists folders.
_BOOT = """\
import importlib.util, sys
sys.path[:] = {path!r}
spec = importlib.util.spec_from_file_location("harness", {package!r} + "/__init__.py")
sys.modules["harness"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["harness"])
from harness.inspect.target import main
main({descriptor}, {tool!r})
"""
_PACKAGE = Path(__file__).resolve().parents[1]


class Launch(Frozen):
    """What to run: a tool's arguments in front of the interpreter, and variables on top of the worker's own.

    `path` is where the new interpreter finds modules.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    path: tuple[str, ...]
    tool: str


def main(descriptors: Sequence[int]) -> NoReturn:
    """Entry of the worker: its conversation is the first descriptor, a file that holds a `Launch` the second."""
    talk, order = descriptors
    with open(order, "rb") as file:
        launch = Launch.model_validate_json(file.read())
    boot = _BOOT.format(path=list(launch.path), package=str(_PACKAGE), descriptor=talk, tool=launch.tool)
    argv = [*launch.argv, sys.executable, "-I", "-c", boot]
    os.set_inheritable(talk, True)
    ctypes.CDLL(None).personality(ctypes.c_ulong(_ADDR_NO_RANDOMIZE))
    os.execve(argv[0], argv, {**os.environ, **launch.environment})


def needed_to_import() -> tuple[Path, ...]:
    """What the new interpreter reads beside the base system: this package, and pydantic wherever it is installed."""
    import pydantic

    return _PACKAGE, Path(pydantic.__file__).resolve().parent.parent
