"""Builder: from a BuildRequest to an Artifact in the cache, or to the BuildFailure that the candidate earned."""

import dataclasses
import functools
import hashlib
import json
import platform
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.build.cache import ArtifactCache, sha256_of
from harness.build.compiler import CompilerRun, compiler_version, readable_folders, run_compiler
from harness.build.gate import MemoryGate, available_bytes
from harness.build.lines import cap_log, first_error
from harness.build.recipe import BadFlags, Machine, Plan, inside
from harness.build.toolchain import OnStatus, Refused, SteppedBack, Surroundings, Toolchain
from harness.build.toolchains import toolchains_for
from harness.build.torch_layout import cxx_compiler, find_torch
from harness.errors import ToolchainError
from harness.schema import Artifact, BuildFailure, BuildRequest, DeviceKind, ToolchainChoice
from harness.schema.build import BuildReason

# Flags that make a compiler run, or overwrite, what the candidate names. No honest kernel needs one.
REFUSED_FLAGS = ("-fplugin", "-wrapper", "-specs", "--specs", "-B", "-ccbin", "--compiler-bindir", "-o", "@")
# Torch's CUDA headers include it, and CPU builds of torch do not have it.
_CUDA_TORCH_HEADER = "cuda_cmake_macros.h"
# What a faster toolchain may take of the deadline before the next one is tried.
FIRST_TRY_SHARE = 0.5
# Outcomes worth keeping: the same sources give them again.
LASTING: frozenset[BuildReason] = frozenset({"compile", "not-emulated", "unsupported"})


@dataclass(frozen=True)
class _Attempt:
    """What one toolchain made of a request: a shared object, or none and the reason."""

    module: Path | None
    log: str
    seconds: float
    cpu_seconds: float
    reason: BuildReason = "compile"
    detail: str = ""
    notes: tuple[str, ...] = ()


class Builder:
    """Builds for one target with the toolchains of that target. Thread-safe; equal requests compile once.

    `arch` is the device's capability ("9.0"), needed for the target "cuda" alone. `inspected` is as in `Machine`.
    `on_status` hears of long phases.
    Raises ToolchainError where torch or the C++ compiler is missing.
    """

    def __init__(
        self,
        *,
        cache: ArtifactCache,
        target: DeviceKind,
        arch: str | None = None,
        choice: ToolchainChoice = "auto",
        inspected: bool = False,
        on_status: OnStatus | None = None,
    ) -> None:
        machine = Machine(target=target, layout=find_torch(), cxx=cxx_compiler(), arch=arch, inspected=inspected)
        self._around = Surroundings(machine=machine, cache=cache, on_status=on_status or (lambda _: None))
        self._toolchains = toolchains_for(target, choice)
        self._gate = MemoryGate(available_bytes())
        self._under_way: dict[str, Future[Artifact | BuildFailure]] = {}
        self._guard = threading.Lock()

    def build(self, request: BuildRequest, *, deadline_s: float) -> Artifact | BuildFailure:
        """Build `request`, or take it from the cache, in at most about `deadline_s` seconds.

        Raises MachineError where the machine, and not the candidate, is why it cannot be built.
        """
        if (refusal := _refusal(request, self._around.machine)) is not None:
            return refusal
        key = cache_key(request, self._around.machine, [t.name for t in self._toolchains])
        mine, pending = self._claim(key)
        if not mine:
            return _as_cached(pending.result())
        try:
            outcome = self._build_locked(key, request, deadline_s)
        except BaseException as error:
            pending.set_exception(error)
            raise
        else:
            pending.set_result(outcome)
            return outcome
        finally:
            with self._guard:
                del self._under_way[key]

    def prepare(self) -> None:
        """Make what the toolchains need once for this torch; half a minute where the cache has none, else nothing."""
        for toolchain in self._toolchains:
            toolchain.prepare(self._around)

    def _claim(self, key: str) -> tuple[bool, Future[Artifact | BuildFailure]]:
        """Whether this thread is to build `key`, and the future by which the others wait for it."""
        with self._guard:
            if key in self._under_way:
                return False, self._under_way[key]
            self._under_way[key] = Future()
            return True, self._under_way[key]

    def _build_locked(self, key: str, request: BuildRequest, deadline_s: float) -> Artifact | BuildFailure:
        cache = self._around.cache
        if (known := cache.get(key)) is not None:
            return known
        with cache.lock(f"{key}.lock"):
            if (known := cache.get(key)) is not None:
                return known
            self.prepare()
            with cache.work_folder() as work:
                return self._build_new(key, request, work, until=time.monotonic() + deadline_s)

    def _build_new(self, key: str, request: BuildRequest, work: Path, *, until: float) -> Artifact | BuildFailure:
        """Try the toolchains in their order; only where the last one fails is it the candidate's fault."""
        notes: list[str] = []
        started, cpu_seconds = time.monotonic(), 0.0
        for toolchain in self._toolchains:
            last = toolchain is self._toolchains[-1]
            left = until - time.monotonic()
            attempt = self._attempt(toolchain, request, work / toolchain.name, left if last else left * FIRST_TRY_SHARE)
            cpu_seconds += attempt.cpu_seconds
            if attempt.module is not None or last or attempt.reason == "not-emulated":
                break
            notes.append(f"{toolchain.name} stepped back: {attempt.detail}")
        seconds = time.monotonic() - started
        if attempt.module is None:
            self._blame_the_machine(attempt)
            failure = BuildFailure(
                reason=attempt.reason,
                detail=attempt.detail,
                log=cap_log(attempt.log),
                toolchain=toolchain.name,
                seconds=seconds,
            )
            return self._around.cache.put(key, failure) if failure.reason in LASTING else failure
        artifact = Artifact(
            key=key,
            path=str(attempt.module),
            sha256=sha256_of(attempt.module),
            module=request.name,
            toolchain=toolchain.name,
            cached=False,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            log=cap_log(attempt.log),
            notes=(*notes, *attempt.notes),
        )
        return self._around.cache.put(key, artifact, attempt.module)

    def _blame_the_machine(self, attempt: _Attempt) -> None:
        """A torch without CUDA lacks headers that CUDA candidates include: no fault of theirs."""
        machine = self._around.machine
        if machine.target == "cuda" and machine.layout.cuda is None and _CUDA_TORCH_HEADER in attempt.log:
            raise ToolchainError("This torch is a CPU build: install a CUDA build of torch to build for a GPU.")

    def _attempt(self, toolchain: Toolchain, request: BuildRequest, work: Path, deadline_s: float) -> _Attempt:
        try:
            plan = toolchain.plan(request, self._around)
        except SteppedBack as why:
            return _Attempt(None, log=str(why), seconds=0.0, cpu_seconds=0.0, reason="unsupported", detail=str(why))
        except Refused as why:
            return _Attempt(None, log=why.log, seconds=0.0, cpu_seconds=0.0, reason=why.reason, detail=str(why))
        except BadFlags as why:
            return _Attempt(None, log=str(why), seconds=0.0, cpu_seconds=0.0, detail=str(why))
        readable = readable_folders(self._around.machine.layout, self._around.cache)
        with self._gate.hold(toolchain.memory_bytes):
            return run_plan(plan, work, deadline_s, readable)


def run_plan(plan: Plan, work: Path, deadline_s: float, readable: tuple[Path, ...]) -> _Attempt:
    """Write the files of a plan to `work`, run its compilers side by side, then the linker."""
    started = time.monotonic()
    compiler = functools.partial(run_compiler, cwd=work, readable=readable)
    for name, text in plan.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text, errors="surrogateescape")
    with ThreadPoolExecutor(max_workers=max(1, len(plan.compile))) as pool:
        runs = list(pool.map(functools.partial(compiler, deadline_s=deadline_s), plan.compile))
    if all(run.ok for run in runs):
        left = max(1.0, deadline_s - (time.monotonic() - started))
        linked = compiler(plan.link, deadline_s=left)
        refused = plan.refused_link is not None and re.search(plan.refused_link, linked.output)
        runs.append(dataclasses.replace(linked, status=1) if refused else linked)
    log = "\n".join(run.output.strip() for run in runs if run.output.strip()).replace(f"{work}/", "")
    attempt = _Attempt(
        module=work / plan.output,
        log=log,
        seconds=time.monotonic() - started,
        cpu_seconds=sum(run.cpu_seconds for run in runs),
        notes=plan.notes,
    )
    bad = next((run for run in runs if not run.ok), None)
    if bad is None:
        return attempt
    reason, detail = _blame(bad, log, deadline_s)
    return dataclasses.replace(attempt, module=None, reason=reason, detail=detail)


def cache_key(request: BuildRequest, machine: Machine, toolchains: list[str]) -> str:
    """The SHA-256 of everything that can change what is built: the request, the toolchains, the machine, this code."""
    parts = {
        "request": request.model_dump(mode="json"),
        "target": machine.target,
        "arch": machine.arch,
        "inspected": machine.inspected,
        "toolchains": toolchains,
        "cxx": compiler_version(machine.cxx),
        "nvcc": compiler_version(str(machine.layout.toolkit.nvcc)) if machine.layout.toolkit else "",
        "machine": platform.machine(),
        "harness": code_fingerprint(),
        **machine.layout.describe(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@functools.cache
def code_fingerprint() -> str:
    """A hash over the files of the rooms that decide what an artifact becomes."""
    digest = hashlib.sha256()
    for file in _code_files():
        digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _code_files() -> Iterator[Path]:
    rooms = Path(__file__).parent, Path(__file__).parent.parent / "emulate"
    for room in rooms:
        yield from sorted(f for f in room.rglob("*") if f.suffix in {".py", ".h", ".cpp", ".cuh", ".hpp"})


def _blame(run: CompilerRun, log: str, deadline_s: float) -> tuple[BuildReason, str]:
    if run.timed_out:
        return "timeout", f"the compiler was stopped after {deadline_s:.0f} s"
    if run.out_of_memory:
        return "out-of-memory", "the compiler ran out of memory"
    return "compile", first_error(log)


def _refusal(request: BuildRequest, machine: Machine) -> BuildFailure | None:
    """A request that no toolchain may or can take."""
    flags = (*request.extra_cflags, *request.extra_cuda_cflags, *request.extra_ldflags)
    words = [word for flag in flags for word in flag.split()]
    forbidden = [word for word in words if word.startswith(REFUSED_FLAGS)]
    outside = [name for name in request.files if not inside(name)]
    if forbidden:
        detail = f"the compiler flag {forbidden[0]} would run or write what the candidate names"
    elif outside:
        detail = f"the file name {outside[0]!r} leads out of the build folder"
    elif not request.name or "/" in request.name:
        detail = f"{request.name!r} is no name for an extension"
    elif request.uses_cuda and machine.target == "cpu":
        detail = "CUDA sources cannot be built for a CPU without emulation"
    else:
        return None
    return BuildFailure(reason="unsupported", detail=detail, log=detail, toolchain="none")


def _as_cached(outcome: Artifact | BuildFailure) -> Artifact | BuildFailure:
    """An outcome that another thread has just built, as the cache would give it."""
    if isinstance(outcome, BuildFailure):
        return outcome
    return outcome.model_copy(update={"cached": True, "seconds": 0.0, "cpu_seconds": 0.0})
