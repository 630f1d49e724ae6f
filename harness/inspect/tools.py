"""TOOLS: what can be asked for on which device, how each is started and how its output is read."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.backends import BACKENDS
from harness.compile import find_torch
from harness.compile.torch_layout import cxx_compiler
from harness.errors import InputError
from harness.inspect import address_sanitizer, compute_sanitizer, nsight_compute
from harness.inspect.report import Findings
from harness.schema.build import DeviceKind
from harness.schema.record import ToolName

_NSIGHT_HOME = Path(
    "/opt/nvidia"
)  # where NVIDIA's packages put it; the `ncu` of a toolkit is a script that looks there


@dataclass(frozen=True)
class Invocation:
    """How a tool starts a program: `argv` in front of the program's own, variables, and what it has to read."""

    argv: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Tool:
    """A row of the table.

    `find` raises InputError where the tool is not installed. `read` gives None where the output holds no result, and
    `why_not` then what it says of the reason. `has_helpers` is for a tool that is a process beside the candidate's and
    talks to it, which a worker without a network namespace may not.
    """

    title: str
    find: Callable[[], Invocation]
    read: Callable[[str], Findings | None]
    why_not: Callable[[str], str]
    has_helpers: bool = True


def find_tool(name: ToolName, kind: DeviceKind) -> Tool | None:
    """The tool that does `name` on a kind of device; None where there is none."""
    return (_ON_GPU if BACKENDS[kind].is_gpu else _ON_CPU).get(name)


def require_tools(names: Sequence[ToolName], kind: DeviceKind) -> None:
    """Raises InputError where one of the tools would be used here and is not installed."""
    for name in names:
        if (tool := find_tool(name, kind)) is not None:
            tool.find()


def unsupported(name: ToolName, kind: DeviceKind) -> Findings:
    """The finding of a tool that there is not on this kind of device."""
    where = BACKENDS[kind].title
    return Findings(finished=False, summary=f"unsupported: {name} needs a GPU, and the candidate ran on {where}")


def _sanitizer(check: str) -> Tool:
    def find() -> Invocation:
        path = _installed("compute-sanitizer", f"--sanitize {check}", "the package cuda-sanitizer of the CUDA toolkit")
        return Invocation((str(path), "--tool", check, *compute_sanitizer.OPTIONS), _OWN_ALLOCATIONS, _homes(path))

    return Tool(f"compute-sanitizer {check}", find, compute_sanitizer.read, compute_sanitizer.why_not)


def _find_nsight() -> Invocation:
    path = _installed("ncu", "--profile", "Nsight Compute")
    elsewhere = (_NSIGHT_HOME,) if _NSIGHT_HOME.exists() else ()
    return Invocation((str(path), *nsight_compute.OPTIONS), readable=(*_homes(path), *elsewhere))


def _find_address_sanitizer() -> Invocation:
    runtime = address_sanitizer.find_runtime(cxx_compiler())
    return Invocation((), address_sanitizer.environment(runtime), (runtime,))


def _installed(program: str, option: str, package: str) -> Path:
    """Where a program is: on the PATH, or in the CUDA toolkit."""
    toolkit = find_torch().toolkit
    places = [shutil.which(program)]
    if toolkit is not None:
        places += [
            shutil.which(program, path=str(home / "bin"))
            for home in (toolkit.home, toolkit.nvcc.resolve().parent.parent)
        ]
    found = next((place for place in places if place is not None), None)
    if found is None:
        raise InputError(f"{option} needs {program}, which is not installed: install {package}, or put it on the PATH")
    return Path(found)


def _homes(program: Path) -> tuple[Path, ...]:
    """The folders that a program is installed in, as named and behind its links."""
    homes = (path.parent.parent for path in (program.absolute(), program.resolve()))
    return tuple(dict.fromkeys(home for home in homes if home != Path("/")))


# Each tensor then is an allocation of the driver's, which the checks know the bounds of.
_OWN_ALLOCATIONS = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}

_ON_GPU: dict[ToolName, Tool] = {
    "memcheck": _sanitizer("memcheck"),
    "racecheck": _sanitizer("racecheck"),
    "initcheck": _sanitizer("initcheck"),
    "ncu": Tool("Nsight Compute", _find_nsight, nsight_compute.read, nsight_compute.why_not),
}
_ON_CPU: dict[ToolName, Tool] = {
    "memcheck": Tool(
        "AddressSanitizer", _find_address_sanitizer, address_sanitizer.read, lambda log: "", has_helpers=False
    ),
}
