"""Builder: from a BuildRequest to an Artifact in the cache, or to the BuildFailure that the candidate earned."""

import contextvars
import dataclasses
import functools
import hashlib
import json
import os
import platform
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from harness.backends import BACKENDS
from harness.compile.cache import ArtifactCache, disk_faults
from harness.compile.compiler import (
    BUILD_BYTES,
    AnyOf,
    CompilerRun,
    compiler_version,
    insist_on_processes,
    insist_on_room,
    readable_folders,
    run_compiler,
)
from harness.compile.decided import Decision, decide
from harness.compile.flags import refused_flag
from harness.compile.gate import MemoryGate, available_bytes
from harness.compile.lines import cap_log, first_error
from harness.compile.output import BadOutput, take_output
from harness.compile.recipe import BadFlags, Machine, Plan, inside
from harness.compile.sources import candidate_texts, source_files
from harness.compile.toolchain import OnStatus, Refused, SteppedBack, Surroundings, Toolchain
from harness.compile.toolchains import toolchains_for
from harness.compile.torch_layout import cxx_compiler, find_torch
from harness.compile.waiting import GoOn, Patience, endless, outcome_of
from harness.errors import GivenUpError, MachineError, ToolchainError
from harness.sandbox.processes import kernel_oom_kills
from harness.schema import Artifact, BuildFailure, BuildRequest, DeviceKind, ToolchainChoice
from harness.schema.build import BuildReason

# Torch's CUDA headers include it, and CPU builds of torch do not have it.
_CUDA_TORCH_HEADER = "cuda_cmake_macros.h"
MOST_FILES = 256
"""Of one build: each source file takes a compiler. A large library of kernels has some dozens."""
MOST_FUNCTIONS = 1_000
"""That one build may have bound. For each that is not there a compiler looks for names like it, minutes for 20,000."""
MOST_CHARACTERS = 4 << 20
"""Of all sources of one build together: what is read of them here takes a second or two for each million."""
_NAME = re.compile(r"\w[\w.\-]{0,127}", re.ASCII)
# What a faster toolchain may take of the deadline before the next one is tried.
FIRST_TRY_SHARE = 0.5
_STARVED_PAUSES_S = (0.5, 2.0)
"""Before compilers that say that they were refused a process are run again, where the kernel refuses none any more."""
# Outcomes worth keeping: the same sources give them again.
LASTING: frozenset[BuildReason] = frozenset({"compile", "not-emulated", "unsupported"})


@dataclass(frozen=True)
class _Attempt:
    """What one toolchain made of a request: a shared object and its SHA-256, or none and the reason.

    `killed` says that a compiler was ended by SIGKILL, or that its output says so; `short` that the kernel did end
    some process meanwhile because memory was short, which no output can say (nor a kernel that does not count them);
    `peak_bytes` what the largest one had; `starved` that a compiler says that it was refused a process.
    `runs` are those of the plan's compilers, in its order, and of its linker where all of these were content.
    """

    module: Path | None
    log: str
    seconds: float
    cpu_seconds: float
    sha256: str = ""
    reason: BuildReason = "compile"
    detail: str = ""
    killed: bool = False
    short: bool = False
    starved: bool = False
    peak_bytes: int = 0
    notes: tuple[str, ...] = ()
    library: Path | None = None
    plan: Plan | None = None
    runs: tuple[CompilerRun, ...] = ()


@dataclass(frozen=True)
class FirstTry:
    """What the first toolchain alone made of a request: `reason` and `detail` say nothing where it was `built`.

    `decision` where it refused and the refusal stands without stock; without one stock would be asked next.
    `cpu_seconds` are those of its compilers.
    """

    built: bool
    cpu_seconds: float
    reason: BuildReason
    detail: str
    decision: Decision | None


@dataclass(eq=False)
class _UnderWay:
    """A build under way, and how many wait for it: `unwanted` once that is nobody.

    `waited_s` is what it has waited for memory that others had, which is none of its own time.
    """

    outcome: "Future[Artifact | BuildFailure]" = field(default_factory=Future)
    waiting: int = 1
    unwanted: threading.Event = field(default_factory=threading.Event)
    waited_s: float = 0.0

    def go_on(self) -> None:
        """Raises GivenUpError once nobody waits."""
        if self.unwanted.is_set():
            raise GivenUpError("nobody waits for this build any more")


class Builder:
    """Builds for one target with the toolchains of that target. Thread-safe; equal requests compile once.

    `arch` is the device's capability ("9.0"), needed for the target "cuda" alone. `inspected` is as in `Machine`.
    `idle`: its compilers have only the cores that nothing else wants. `on_status` hears of long phases.
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
        idle: bool = False,
        on_status: OnStatus | None = None,
    ) -> None:
        machine = Machine(target=target, layout=find_torch(), cxx=cxx_compiler(), arch=arch, inspected=inspected)
        self._around = Surroundings(machine=machine, cache=cache, on_status=on_status or (lambda _: None))
        self._toolchains = toolchains_for(target, choice)
        self._idle = idle
        self._gate = MemoryGate(available_bytes())
        self._under_way: dict[str, _UnderWay] = {}
        self._threads: set[threading.Thread] = set()
        self._guard = threading.Lock()

    def build(self, request: BuildRequest, *, deadline_s: float, go_on: GoOn = endless) -> Artifact | BuildFailure:
        """Build `request`, or take it from the cache, in at most about `deadline_s` seconds of its own.

        What it waits for memory that other builds have does not count, neither here nor in `seconds` of its outcome.
        `go_on` is asked now and then. What it raises ends this wait at once; the build, with its compilers, soon
        afterwards where nobody else waits for it.

        Raises MachineError where the machine, and not the candidate, is why it cannot be built.
        """
        if (refusal := _refusal(request, self._around.machine)) is not None:
            return refusal
        key = cache_key(request, self._around.machine, [t.name for t in self._toolchains])
        if (known := self._around.cache.get(key)) is not None:
            return known
        build, mine = self._join(key, request, deadline_s)
        try:
            outcome = outcome_of(build.outcome, go_on)
        finally:
            self._leave(key, build)
        return outcome if mine else _as_cached(outcome)

    def first_try(self, request: BuildRequest, *, deadline_s: float) -> FirstTry | BuildFailure:
        """The first step of `build` alone, whatever the cache holds; or what no toolchain may take. Nothing is kept.

        Raises MachineError where the machine, and not the candidate, is why it cannot be built.
        """
        if (refusal := _refusal(request, self._around.machine)) is not None:
            return refusal
        self.prepare()
        until = time.monotonic() + deadline_s
        with self._around.cache.work_folder() as work:
            attempt, decision = self._try(self._toolchains[0], request, work, deadline_s, until, _UnderWay())
        built = attempt.module is not None
        return FirstTry(built, attempt.cpu_seconds, attempt.reason, attempt.detail, decision)

    def close(self) -> None:
        """Wait for the end of what was built last, though nobody else did."""
        with self._guard:
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def prepare(self) -> None:
        """Make what the toolchains need once for this torch; half a minute where the cache has none, else nothing."""
        for toolchain in self._toolchains:
            toolchain.prepare(self._around)

    def _join(self, key: str, request: BuildRequest, deadline_s: float) -> "tuple[_UnderWay, bool]":
        """Wait for a build from now on: it, and whether it is begun by this. Raises MachineError."""
        with self._guard:
            if (build := self._under_way.get(key)) is not None:
                build.waiting += 1
                return build, False
            build = _UnderWay()
            told_as = contextvars.copy_context()
            thread = threading.Thread(
                target=told_as.run, args=(self._work, key, request, deadline_s, build), name="build"
            )
            try:
                thread.start()
            except RuntimeError as error:
                raise MachineError(f"a build could not be begun ({error}): see harness doctor") from error
            self._threads.add(thread)
            self._under_way[key] = build
            return build, True

    def _leave(self, key: str, build: "_UnderWay") -> None:
        """Wait for it no longer. One that nobody waits for is ended, and no other request joins it."""
        with self._guard:
            build.waiting -= 1
            if not build.waiting:
                build.unwanted.set()
                self._forget(key, build)

    def _forget(self, key: str, build: "_UnderWay") -> None:
        if self._under_way.get(key) is build:
            del self._under_way[key]

    def _work(self, key: str, request: BuildRequest, deadline_s: float, build: "_UnderWay") -> None:
        """The thread of one build."""
        try:
            outcome = self._build_locked(key, request, deadline_s, build)
        except BaseException as error:  # noqa: BLE001  # it is raised in those that wait
            self._end(key, build)
            build.outcome.set_exception(error)
        else:
            self._end(key, build)
            build.outcome.set_result(outcome)

    def _end(self, key: str, build: "_UnderWay") -> None:
        with self._guard:
            self._forget(key, build)
            self._threads.discard(threading.current_thread())

    def _build_locked(
        self, key: str, request: BuildRequest, deadline_s: float, build: "_UnderWay"
    ) -> Artifact | BuildFailure:
        cache = self._around.cache
        with cache.lock(f"{key}.lock", build.go_on):
            if (known := cache.get(key)) is not None:
                return known
            self.prepare()
            build.go_on()
            with cache.work_folder() as work:
                return self._build_new(key, request, work, until=time.monotonic() + deadline_s, build=build)

    def _build_new(
        self, key: str, request: BuildRequest, work: Path, *, until: float, build: "_UnderWay"
    ) -> Artifact | BuildFailure:
        """Try the toolchains in their order; only where the last one fails is it the candidate's fault."""
        notes: list[str] = []
        started, cpu_seconds = time.monotonic(), 0.0
        decision: Decision | None = None
        for toolchain in self._toolchains:
            last = toolchain is self._toolchains[-1]
            left = until + build.waited_s - time.monotonic()
            share = left if last else left * FIRST_TRY_SHARE
            attempt, decision = self._try(toolchain, request, work, share, until, build)
            cpu_seconds += attempt.cpu_seconds
            if attempt.module is not None or last or attempt.reason == "not-emulated" or decision is not None:
                break
            notes.append(f"{toolchain.name} stepped back: {attempt.detail}")
            for folder in work.iterdir():  # or it would look like another's
                self._around.cache.discard(folder)
        seconds = time.monotonic() - started - build.waited_s
        if attempt.module is None:
            self._blame_the_machine(attempt)
            failure = BuildFailure(
                reason=attempt.reason,
                detail=first_error(decision.detail) if decision else attempt.detail,
                log=cap_log(decision.log if decision else attempt.log),
                toolchain=toolchain.name,
                seconds=seconds,
                cpu_seconds=cpu_seconds,
                decided=decision.rule if decision else "",
            )
            lasting = failure.reason in LASTING and not attempt.starved
            return self._around.cache.put(key, failure) if lasting else failure
        artifact = Artifact(
            key=key,
            path=str(attempt.module),
            sha256=attempt.sha256,
            module=request.name,
            toolchain=toolchain.name,
            cached=False,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            log=cap_log(attempt.log),
            notes=(*notes, *attempt.notes),
        )
        return self._around.cache.put(key, artifact, attempt.module, attempt.library)

    def _try(
        self, toolchain: Toolchain, request: BuildRequest, work: Path, share: float, until: float, build: "_UnderWay"
    ) -> tuple[_Attempt, Decision | None]:
        """What one toolchain makes of it in `share` seconds; and whether its refusal stands without the last one's."""
        attempt = self._attempt(toolchain, request, work, share, build)
        if attempt.module is not None or toolchain is self._toolchains[-1]:
            return attempt, None
        return attempt, self._decided(attempt, request, Patience(until + build.waited_s, build.unwanted))

    def _decided(self, attempt: _Attempt, request: BuildRequest, patience: Patience) -> Decision | None:
        """Whether a fast toolchain's refusal is stock's as well, by a rule that needs no stock compile."""
        ends = (run.timed_out or run.killed or run.overfull or run.out_of_memory for run in attempt.runs)
        if attempt.plan is None or attempt.reason != "compile" or attempt.starved or any(ends):
            return None
        try:
            stock = self._toolchains[-1].plan(request, self._around)
        except (SteppedBack, Refused, BadFlags):
            return None
        compiled = attempt.runs[: len(attempt.plan.compile)]
        linked = attempt.runs[len(compiled) :]
        outputs = ["" if run.ok or run.stopped else run.output for run in compiled]
        said = linked[0].output if linked else None
        try:
            return decide(outputs, said, attempt.plan, stock, self._around, patience)
        except TimeoutError:
            return None

    def _blame_the_machine(self, attempt: _Attempt) -> None:
        """A torch without CUDA lacks headers that CUDA candidates include: no fault of theirs."""
        machine = self._around.machine
        if machine.nvcc and machine.layout.cuda is None and _CUDA_TORCH_HEADER in attempt.log:
            raise ToolchainError("This torch is a CPU build: install a CUDA build of torch to build for a GPU.")

    def _attempt(
        self, toolchain: Toolchain, request: BuildRequest, work: Path, deadline_s: float, build: "_UnderWay"
    ) -> _Attempt:
        """What came of one toolchain. Raises GivenUpError for a build that was ended, of which nothing can be said."""
        try:
            plan = toolchain.plan(request, self._around)
        except SteppedBack as why:
            return _Attempt(None, log=str(why), seconds=0.0, cpu_seconds=0.0, reason="unsupported", detail=str(why))
        except Refused as why:
            return _Attempt(None, log=why.log, seconds=0.0, cpu_seconds=0.0, reason=why.reason, detail=str(why))
        except BadFlags as why:
            return _Attempt(None, log=str(why), seconds=0.0, cpu_seconds=0.0, detail=str(why))
        if (both := _file_and_folder(plan.files)) is not None:  # the toolchain brings headers of its own
            detail = f"{both!r} names a file and a folder"
            return _Attempt(None, log=detail, seconds=0.0, cpu_seconds=0.0, reason="unsupported", detail=detail)
        readable = readable_folders(self._around.machine.layout, self._around.cache)
        running = functools.partial(run_plan, plan, readable=readable, idle=self._idle, unwanted=build.unwanted)
        with disk_faults(self._around.cache.root):
            spent_s = 0.0
            for pause_s in (0.0, *_STARVED_PAUSES_S):
                build.unwanted.wait(pause_s)
                with self._held(toolchain.memory_bytes, build):
                    attempt = running(_folder(work, toolchain), max(1.0, deadline_s - spent_s))
                build.go_on()
                spent_s += attempt.seconds + pause_s
                if not attempt.starved:  # or there are processes again, or a source had a compiler say so
                    break
            if not (attempt.killed and attempt.short):  # a source can have a compiler say that it was killed
                return attempt
            with self._held(self._gate.budget_bytes, build):  # alone: others, of its own too, may have had the memory
                attempt = running(_folder(work, toolchain), max(1.0, deadline_s - spent_s), at_once=1)
            build.go_on()
        if attempt.killed and attempt.short and attempt.peak_bytes < toolchain.memory_bytes:
            raise MachineError(
                f"The kernel killed a compiler that had taken {attempt.peak_bytes >> 20} MiB: free some memory."
            )
        return attempt

    @contextmanager
    def _held(self, size_bytes: int, build: "_UnderWay") -> Iterator[None]:
        """Room for compilers of a build; the wait for it is noted, since it is none of the build's own time."""
        since = time.monotonic()
        with self._gate.hold(size_bytes, build.go_on):
            build.waited_s += time.monotonic() - since
            yield


def _folder(work: Path, toolchain: Toolchain) -> Path:
    """Where one run of a toolchain works, not made yet. By its name and place no source can tell which run it is."""
    return Path(tempfile.mkdtemp(dir=work)) / toolchain.name


def run_plan(
    plan: Plan,
    work: Path,
    deadline_s: float,
    readable: tuple[Path, ...],
    *,
    idle: bool = False,
    unwanted: threading.Event | None = None,
    at_once: int | None = None,
) -> _Attempt:
    """Write the files of a plan to `work`, run its compilers, `at_once` or a core each, then the linker.

    What one of the compilers refuses ends the others: another toolchain would compile everything again. All are ended
    once `unwanted` is set, and what is said of them then means nothing.

    Raises OSError where the disk does not take the files, MachineError where it is full once a compiler has failed, or
    where the kernel refuses processes then.
    """
    started, oom_kills = time.monotonic(), kernel_oom_kills()
    work.mkdir(parents=True)
    refused, unwanted = threading.Event(), unwanted or threading.Event()
    compiler = functools.partial(run_compiler, cwd=work, readable=readable, idle=idle)
    _write_files(plan, work)
    compiled = functools.partial(_beside, compiler, deadline_s=deadline_s, refused=refused, unwanted=unwanted)
    runs = _side_by_side(compiled, plan.compile, refused, at_once)
    if all(run.ok for run in runs):
        left = max(1.0, deadline_s - (time.monotonic() - started))
        linked = compiler(plan.link, deadline_s=left, stop=unwanted)
        unkept = plan.refused_link is not None and re.search(plan.refused_link, linked.output)
        runs.append(dataclasses.replace(linked, status=1) if unkept else linked)
    log = "\n".join(run.output.strip() for run in runs if run.output.strip()).replace(f"{work}/", "")
    attempt = _Attempt(
        module=None,
        library=plan.library,
        log=log,
        seconds=time.monotonic() - started,
        cpu_seconds=sum(run.cpu_seconds for run in runs),
        notes=plan.notes,
        plan=plan,
        runs=tuple(runs),
        killed=any(run.killed for run in runs),
        short=kernel_oom_kills() > oom_kills,
        starved=any(run.starved for run in runs),
        peak_bytes=max((run.peak_bytes for run in runs), default=0),
    )
    bad = next((run for run in runs if not run.ok and not run.stopped), None)
    if bad is not None:
        insist_on_room(work)
        insist_on_processes(work.parent)
        reason, detail = _blame(bad, log, deadline_s)
        return dataclasses.replace(attempt, reason=reason, detail=detail)
    module = work.with_name(f"{work.name}.so")  # where no compiler may write
    try:
        sha256 = take_output(work / plan.output, module)
    except BadOutput as why:
        insist_on_room(work)
        return dataclasses.replace(attempt, detail=str(why), log=f"{log}\n{why}".strip())
    return dataclasses.replace(attempt, module=module, sha256=sha256, killed=False)


def _write_files(plan: Plan, work: Path) -> None:
    for name, text in plan.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text, errors="surrogateescape")


def _side_by_side(
    run: Callable[[Sequence[str]], CompilerRun],
    calls: Sequence[Sequence[str]],
    refused: threading.Event,
    most: int | None,
) -> list[CompilerRun]:
    """What comes of each call, `most` or as many at a time as there are cores; a single one needs no thread of its own.

    Raises MachineError where no thread can be started: other processes of this user may have all that it may have.
    """
    at_once = min(len(calls), most or len(os.sched_getaffinity(0)))
    if at_once <= 1:
        return [run(call) for call in calls]
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        try:
            runs = pool.map(run, calls)  # begins them all
        except RuntimeError as error:
            refused.set()  # or those that were begun would be waited for
            raise MachineError(f"compilers could not be begun ({error}): see harness doctor") from error
        return list(runs)


def _beside(
    compiler: Callable[..., CompilerRun],
    call: Sequence[str],
    deadline_s: float,
    refused: threading.Event,
    unwanted: threading.Event,
) -> CompilerRun:
    """One of several compilers of a build, ended once another has refused its source."""
    stop = AnyOf(refused, unwanted)
    if stop.is_set():
        return CompilerRun(status=1, output="", seconds=0.0, cpu_seconds=0.0, timed_out=False, stopped=True)
    run = compiler(call, deadline_s=deadline_s, stop=stop)
    if not run.ok and not (run.stopped or run.timed_out or run.killed or run.overfull):
        refused.set()
    return run


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
    if run.overfull:
        return "compile", f"its compilers wrote more than {BUILD_BYTES >> 30} GiB"
    if run.out_of_memory or run.killed:
        return "out-of-memory", "the compiler ran out of memory"
    return "compile", first_error(log)


def _refusal(request: BuildRequest, machine: Machine) -> BuildFailure | None:
    """A request that no toolchain may or can take."""
    layout = machine.layout
    toolkit = [layout.toolkit.home] if layout.toolkit else []
    libraries = [layout.root, Path(sys.prefix), Path(sys.base_prefix), *toolkit]
    flag = refused_flag(request, libraries)
    outside = [name for name in request.files if not inside(name)]
    if flag is not None:
        detail = flag
    elif outside:
        detail = f"the file name {outside[0][:200]!r} is none that can be given to a compiler"
    elif (both := _file_and_folder(file.name for file in source_files(request))) is not None:
        detail = f"{both!r} names a file and a folder"
    elif len(request.files) + len(request.cpp_sources) + len(request.cuda_sources) > MOST_FILES:
        detail = f"more than {MOST_FILES} files in one build"
    elif len(request.functions or ()) > MOST_FUNCTIONS:
        detail = f"more than {MOST_FUNCTIONS:,} functions in one build"
    elif sum(map(len, candidate_texts(request))) > MOST_CHARACTERS:
        detail = f"more than {MOST_CHARACTERS:,} characters in one build"
    elif not _NAME.fullmatch(request.name):
        detail = f"{request.name[:200]!r} is no name for an extension"
    elif request.uses_cuda and not BACKENDS[machine.target].builds_cuda:
        detail = "CUDA sources cannot be built for a CPU without emulation"
    else:
        return None
    return BuildFailure(reason="unsupported", detail=detail, log=detail, toolchain="none")


def _file_and_folder(names: Iterable[str]) -> str | None:
    """A name that is one of these and a folder of another, which no disk takes and which is no fault of a disk's."""
    paths = [PurePosixPath(name) for name in names]
    both = set(paths).intersection(folder for path in paths for folder in path.parents)
    return str(min(both)) if both else None


def _as_cached(outcome: Artifact | BuildFailure) -> Artifact | BuildFailure:
    """An outcome that another thread has just built, as the cache would give it."""
    if isinstance(outcome, BuildFailure):
        return outcome
    return outcome.model_copy(update={"cached": True, "seconds": 0.0, "cpu_seconds": 0.0})
