"""Does the sandbox hold here, and does CUDA live inside it? `python -m harness.sandbox.selftest` tries.

Each tier is tried by code that runs as a candidate would: attempts that must be refused, and with a GPU a kernel of
torch, memory passed by handle, and (where Triton is installed) a compiled one. It prints a line for each and exits
with 1 if anything that should hold does not.
"""

import json
import os
import socket
import sys
import tempfile
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from harness.errors import SandboxError
from harness.sandbox import host
from harness.sandbox.client import Worker, Zygote
from harness.sandbox.policy import Exit, Isolation, Policy

SOURCE_ENTRY = "harness.sandbox.selftest:run_source"


def run_source(fds: tuple[int, ...]) -> None:
    """The entry of a worker that runs whatever Python text comes over its first descriptor, like a candidate.

    The text sees `report(value)`, which sends JSON back over the second descriptor, and `fds`, the rest of them.
    """
    source_fd, answer_fd, *rest = fds
    with open(source_fd, "rb") as stream:
        code: CodeType = compile(stream.read(), "<candidate>", "exec")

    def report(value: object) -> None:
        os.write(answer_fd, json.dumps(value).encode() + b"\n")

    module = types.ModuleType("candidate")  # torch.compile looks functions up by their module
    vars(module).update(report=report, fds=rest)
    sys.modules["candidate"] = module
    exec(code, vars(module))


@dataclass(frozen=True)
class Ran:
    """What came of a piece of source: the values it reported and how it ended (None: it was still running)."""

    reports: tuple[object, ...]
    exit: Exit | None


@contextmanager
def running(zygote: Zygote, source: str, policy: Policy, *, fds: tuple[int, ...] = ()) -> Iterator[tuple[Worker, int]]:
    """A worker that runs `source`, and the descriptor at which its reports arrive."""
    source_read, source_write = os.pipe()
    answer_read, answer_write = os.pipe()
    try:
        try:
            worker = zygote.spawn_worker(SOURCE_ENTRY, [source_read, answer_write, *fds], policy)
        finally:
            os.close(source_read)
            os.close(answer_write)
        with worker:
            os.write(source_write, source.encode())
            os.close(source_write)
            source_write = -1
            yield worker, answer_read
    finally:
        os.close(answer_read)
        if source_write >= 0:
            os.close(source_write)


def run(zygote: Zygote, source: str, policy: Policy, *, fds: tuple[int, ...] = (), timeout_s: float = 30.0) -> Ran:
    """Run `source` to its end, or to `timeout_s`."""
    with running(zygote, source, policy, fds=fds) as (worker, answers):
        end = worker.wait(timeout_s)
        os.set_blocking(answers, False)
        try:
            text = os.read(answers, 1 << 20)
        except BlockingIOError:
            text = b""
        return Ran(reports=tuple(json.loads(line) for line in text.splitlines()), exit=end)


def judge(fds: tuple[int, ...], zygote: Zygote) -> None:
    """The entry of a trusted process that starts a worker of its own and tells its descriptor what came of it."""
    print("a word of the judge")
    ended = run(zygote, "raise SystemExit(42)", Policy()).exit
    code = ended.code if ended is not None else None
    os.write(fds[0], f"the worker ended with {code}, unconfined: {os.access(__file__, os.R_OK)}".encode())


# Each attempt reports True where it got through. `{...}` is filled in with what there is to attack.
ATTEMPTS = {
    "read a file outside the allow-list": """
try:
    report(open({secret!r}).read() != "")
except OSError:
    report(False)
""",
    "write outside its scratch": """
import os
try:
    os.close(os.open({forbidden!r}, os.O_CREAT | os.O_WRONLY))
    report(True)
except OSError:
    report(False)
""",
    "write into the interpreter's folders": """
import os, sys
def writes(folder):
    path = os.path.join(folder, "harness-was-here")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.unlink(path)
        return True
    except OSError:
        return False
report(any(map(writes, [sys.prefix, *filter(os.path.isdir, sys.path)])))
""",
    "connect to the network": """
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=1).close()
    report(True)
except OSError:
    report(False)
""",
    "read another process's memory": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def opens(path):
    try:
        os.close(os.open(path, os.O_RDONLY))
        return True
    except OSError:
        return False
seized = libc.ptrace(0x4206, {victim}, 0, 0) == 0  # PTRACE_SEIZE, which does not stop the victim
report(seized or opens("/proc/{victim}/mem") or opens("/proc/%d/mem" % os.getppid()))
""",
    "signal another process": """
import os
def signals(pid):
    try:
        os.kill(pid, 0)
        return True
    except OSError:
        return False
report(signals({victim}) or signals(os.getppid()))
""",
    "make a namespace of its own": """
import ctypes
report(ctypes.CDLL(None).unshare(0x10000000) == 0)
""",
}

CUDA = {
    "CUDA starts and computes": """
import time, torch
started = time.monotonic()
x = torch.arange(1 << 20, device="cuda", dtype=torch.float32)
assert float((x * 2).sum()) == float((1 << 20) * ((1 << 20) - 1))
report(f"{time.monotonic() - started:.2f} s")
""",
    "a 4 GB host allocation stays within bounds": """
import torch
x = torch.empty(1 << 28, pin_memory=True)
x.fill_(1)
report(f"{x.numel() * 4 >> 20} MiB pinned")
""",
    "Triton compiles and runs": """
import torch
from torch._inductor import config
config.compile_threads = 4
f = torch.compile(lambda x: torch.nn.functional.gelu(x) * 2 + 1)
x = torch.randn(4096, 4096, device="cuda")
assert torch.allclose(f(x), torch.nn.functional.gelu(x) * 2 + 1, atol=1e-5)
report("torch.compile agrees")
""",
}


def attempts(zygote: Zygote, isolation: Isolation) -> dict[str, bool]:
    """Try everything of ATTEMPTS in workers of one tier: name -> whether it was refused, as it should be.

    Raises SandboxError where the tier cannot be had.
    """
    with tempfile.TemporaryDirectory(prefix="harness-selftest-", dir="/var/tmp") as folder, socket.socket() as listener:
        Path(folder).chmod(0o777)  # so that file permissions are not what refuses
        secret = Path(folder) / "secret"
        secret.write_text("secret")
        secret.chmod(0o644)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        facts = {
            "secret": str(secret),
            "forbidden": str(Path(folder) / "forbidden"),
            "port": listener.getsockname()[1],
            "victim": os.getpid(),
        }
        policy = Policy(isolation=isolation)
        return {name: _refused(run(zygote, source.format(**facts), policy)) for name, source in ATTEMPTS.items()}


def _refused(ran: Ran) -> bool:
    return ran.reports == (False,)


def _cuda(zygote: Zygote, isolation: Isolation) -> bool:
    good = True
    visible = {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]}
    for name, source in CUDA.items():
        started = time.monotonic()
        ran = run(zygote, source, Policy(isolation=isolation, devices=True, environment=visible), timeout_s=180)
        if ran.exit is not None and ran.exit.code == 0:
            print(f"  ok    {name}: {ran.reports[0]} ({time.monotonic() - started:.2f} s, {_use(ran.exit)})")
        else:
            good = False
            print(f"  FAILS {name}: {ran.exit}")
    return good


def _use(end: Exit) -> str:
    return f"{end.cpu_s:.1f} CPU s, {end.peak_rss_bytes >> 20} MiB"


def main() -> int:
    """Try both tiers and print what came of it. Returns the exit status."""
    good = True
    with Zygote.start(preload=("torch", "harness.sandbox.selftest")) as zygote:
        print(f"prepared process: {zygote.ready()}")
        tiers: tuple[Isolation, ...] = ("full", "basic")
        for tier in tiers:
            print(f"tier {tier}")
            try:
                with zygote.spawn_worker("harness.sandbox.zygote:nothing", [], Policy(isolation=tier)) as worker:
                    print(f"  layers  {', '.join(worker.layers)}\n  missing {'; '.join(worker.missing) or 'none'}")
                refused = attempts(zygote, tier)
            except SandboxError as error:
                print(f"  not to be had here: {error}")
                continue
            for name, held in refused.items():
                print(f"  {'ok    cannot' if held else 'FAILS can'} {name}")
            good &= all(refused.values())
            if host.gpu_devices():
                good &= _cuda(zygote, tier)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
