"""Every layer is proven by an attempt to get through it, in both tiers."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.sandbox import Isolation, Policy, Zygote
from harness.sandbox.selftest import ATTEMPTS, attempts, run


def test_each_attempt_of_the_selftest_is_refused(zygote: Zygote, tier: Isolation) -> None:
    refused = attempts(zygote, tier)
    assert refused == dict.fromkeys(ATTEMPTS, True)


def test_without_isolation_the_same_attempts_get_through(zygote: Zygote) -> None:
    """Or the attempts above would prove nothing."""
    refused = attempts(zygote, "none")
    assert not refused["read a file outside the allow-list"]
    assert not refused["write outside its scratch"]
    assert not refused["connect to the network"]
    assert not refused["signal another process"]


def test_a_readable_path_of_the_policy_can_be_read_and_not_written(candidate, open_folder: Path) -> None:
    allowed = open_folder / "artifact"
    allowed.write_text("artifact")
    (open_folder / "secret").write_text("secret")
    ran = candidate(
        f"""
import os
report(open({str(allowed)!r}).read())
for path, mode in (({str(allowed)!r}, "a"), ({str(open_folder / "secret")!r}, "r")):
    try:
        open(path, mode)
        report("opened")
    except OSError:
        report("refused")
try:
    os.chmod({str(allowed)!r}, 0o777)
    os.utime({str(allowed)!r})
    os.unlink({str(allowed)!r})
    report("unlinked")
except OSError:
    report("refused")
""",
        readable=(allowed,),
    )
    assert ran.reports == ("artifact", "refused", "refused", "refused")
    assert allowed.exists()


def test_a_policy_that_asks_for_the_whole_root_is_refused(zygote: Zygote, tier: Isolation) -> None:
    from harness.errors import SandboxError

    with pytest.raises(SandboxError, match="whole root"):
        run(zygote, "", Policy(isolation=tier, readable=(Path("/"),)))


def test_what_a_policy_makes_readable_and_its_files_keep_from_a_worker_is_said(candidate, open_folder: Path) -> None:
    from harness.errors import SandboxError

    (open_folder / "model").mkdir()
    (open_folder / "model" / "weights").write_text("weights")
    (open_folder / "model" / "weights").chmod(0o600)
    source = f"report(open({str(open_folder / 'model/weights')!r}).read())"
    try:
        said = candidate(source, readable=(open_folder,)).reports
    except SandboxError as error:
        said = (str(error).partition(": ")[2],)
    who_reads = "weights"  # where a worker is this user
    assert said[0].startswith((who_reads, f"{open_folder}/model/weights is closed to workers"))


def test_the_repository_cannot_be_read_or_written(candidate) -> None:
    repository = Path(__file__).resolve().parents[2]
    ran = candidate(f"""
import os
for path in ("harness/judge/correctness.py", "reference_solutions", "problems", "pyproject.toml"):
    path = os.path.join({str(repository)!r}, path)
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).read()
        report(path)
    except OSError:
        pass
try:
    open(os.path.join({str(repository)!r}, "harness", "evil.py"), "w")
    report("written")
except OSError:
    pass
report("done")
""")
    assert ran.reports == ("done",)
    assert not (repository / "harness" / "evil.py").exists()


def test_the_environment_tells_nothing_of_the_user(monkeypatch: pytest.MonkeyPatch, tier: Isolation) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("LD_PRELOAD", "")
    with Zygote.start(preload=("harness.sandbox.selftest",)) as zygote:
        source = "import os; report(sorted(os.environ)); report('sk-secret' in open('/proc/self/environ').read())"
        if tier == "full" and zygote.ready().tier != "full":
            pytest.skip("no full tier")
        ran = run(zygote, source, Policy(isolation=tier, environment={"HARNESS_TEST": "1"}))
    names, leaked = ran.reports
    assert isinstance(names, list)
    assert not {"OPENAI_API_KEY", "LD_PRELOAD", "SSH_AUTH_SOCK"} & set(names)
    assert {"HOME", "TMPDIR", "HARNESS_TEST"} <= set(names)
    assert leaked is False


def test_only_the_given_descriptors_are_open(candidate) -> None:
    read, write = os.pipe()
    try:
        ran = candidate(
            """
import os
report(fds)
os.write(fds[0], b"hello")
report([fd for fd in map(int, os.listdir("/proc/self/fd")) if fd > fds[-1] and os.path.exists(f"/proc/self/fd/{fd}")])
report(os.read(0, 1).decode())
""",
            fds=(write,),
        )
        assert os.read(read, 10) == b"hello"
    finally:
        os.close(read)
        os.close(write)
    assert ran.reports == ([5], [], "")


def test_a_broadcast_signal_reaches_nobody_outside(candidate, tmp_path: Path) -> None:
    # SIGURG is ignored by whoever does not ask for it, so that a hole in the sandbox would harm nobody here.
    source = (
        "import signal, sys\nsignal.signal(signal.SIGURG, lambda *_: sys.exit(7))\nprint(flush=True)\nsignal.pause()"
    )
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE) as victim:
        assert victim.stdout is not None
        victim.stdout.readline()
        candidate("import os, signal\nos.kill(-1, signal.SIGURG)")
        time.sleep(0.1)
        assert victim.poll() is None
        victim.terminate()


def test_sockets_of_the_host_cannot_be_reached(candidate, open_folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract:
        named.bind(str(open_folder / "socket"))
        named.listen()
        os.chmod(open_folder / "socket", 0o777)
        abstract.bind("\0harness-test")
        abstract.listen()
        ran = candidate(f"""
import socket
for address in ({str(open_folder / "socket")!r}, "\\0harness-test"):
    try:
        socket.socket(socket.AF_UNIX).connect(address)
        report(address)
    except OSError:
        pass
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 53))
    report("udp")
except OSError:
    pass
""")
    assert ran.reports == ()


def test_limits_of_other_processes_cannot_be_changed(candidate) -> None:
    ran = candidate(f"""
import os, resource
try:
    resource.prlimit({os.getpid()}, resource.RLIMIT_NOFILE)
    report("limits")
except OSError:
    pass
for change in (lambda: os.setpriority(os.PRIO_PROCESS, {os.getpid()}, 5),
               lambda: os.sched_setaffinity({os.getpid()}, [0])):
    try:
        change()
        report("changed")
    except OSError:
        pass
report("done")
""")
    assert ran.reports == ("done",)


def test_limits_of_the_init_of_its_namespace_cannot_be_changed_and_its_own_can(candidate) -> None:
    """Where nobody has uids to give init is of the same user, and would end by a limit, and the worker with it."""
    ran = candidate("""
import os, resource
files = resource.RLIMIT_NOFILE
for pid in (1, os.getppid()):
    try:
        resource.prlimit(pid, files, resource.prlimit(pid, files))
        report("limits")
    except OSError:
        pass
for pid in (0, os.getpid()):
    resource.prlimit(pid, files, (64, 64))
resource.setrlimit(files, (32, 32))
report(resource.getrlimit(files))
""")
    assert ran.reports == ([32, 32],)


def test_it_has_no_capabilities_and_cannot_gain_privileges(candidate) -> None:
    ran = candidate("""
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
report([status[k].strip("0") for k in ("CapEff", "CapPrm", "CapInh", "CapAmb")])
report(status["NoNewPrivs"])
report(status["Seccomp"])
import os
try:
    os.setuid(0)
except OSError:
    pass
report([line.split()[1].strip("0") for line in open("/proc/self/status") if line.startswith("CapEff")])
""")
    caps, no_new_privileges, seccomp, afterwards = ran.reports
    assert caps == ["", "", "", ""]
    assert (no_new_privileges, seccomp) == ("1", "2")
    assert afterwards == [""]


def test_clone3_falls_back_and_ordinary_programs_run(candidate) -> None:
    ran = candidate("""
import subprocess, threading, tempfile, os
report(subprocess.run(["/bin/sh", "-c", "echo $((6 * 7))"], capture_output=True, text=True).stdout)
thread = threading.Thread(target=report, args=("thread",)); thread.start(); thread.join()
with tempfile.NamedTemporaryFile("w+") as file:
    file.write("x"); file.flush()
    report(os.path.getsize(file.name))
import decimal, sqlite3
report("late imports")
""")
    assert ran.reports == ("42\n", "thread", 1, "late imports")


def test_a_thread_can_be_named(candidate) -> None:
    """libcuda names its threads, and does not start where it may not."""
    ran = candidate(
        """
import threading
def name():
    path = f"/proc/self/task/{threading.get_native_id()}/comm"
    with open(path, "r+") as file:
        file.write("cuda00001")
    report(open(path).read())
thread = threading.Thread(target=name); thread.start(); thread.join()
""",
        devices=True,
    )
    assert ran.reports == ("cuda00001\n",)


def _may_say_it_for_good() -> bool:
    status = Path("/proc/self/status").read_text()
    return bool(int(status.partition("CapEff:")[2].split()[0], 16) >> 24 & 1)  # CAP_SYS_RESOURCE


@pytest.mark.parametrize("devices", [False, True])
def test_a_worker_cannot_make_the_kernel_kill_the_judge_first(candidate, devices: bool) -> None:
    if devices and not _may_say_it_for_good():
        pytest.skip("libcuda needs files that lie beside oom_score_adj, and only CAP_SYS_RESOURCE bars the way back")
    ran = candidate(
        """
import os
def spare_myself(who):
    for value in ("-1000", "0", "999"):
        try:
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write(value)
        except OSError:
            pass
    report([who, open("/proc/self/oom_score_adj").read().strip()])
spare_myself("worker")
if os.fork() == 0:
    spare_myself("child")
    os._exit(0)
os.wait()
""",
        devices=devices,
    )
    assert ran.reports == (["worker", "1000"], ["child", "1000"])


def test_without_a_device_nothing_of_proc_can_be_written(candidate) -> None:
    ran = candidate("""
import os
for name in ("oom_score_adj", "comm", "coredump_filter", "clear_refs", "timerslack_ns", "autogroup", "mem"):
    try:
        os.close(os.open(f"/proc/self/{name}", os.O_WRONLY))
        report(name)
    except OSError:
        pass
""")
    assert ran.reports == ()


def test_the_host_s_processes_cannot_be_looked_into(candidate) -> None:
    with subprocess.Popen(["/bin/sleep", "60"], env={"SECRET": "sk-secret"}) as victim:
        ran = candidate(f"""
for name in ("environ", "maps", "mem", "fd/0", "cwd/."):
    try:
        import os
        path = "/proc/{victim.pid}/" + name
        os.listdir(path) if name == "cwd/." else open(path, "rb").read(1)
        report(name)
    except OSError:
        pass
""")
        victim.terminate()
    assert ran.reports == ()


def test_an_owner_can_read_the_worker_s_memory(zygote: Zygote, tier: Isolation) -> None:
    """The judge depends on it: it reads outputs itself."""
    import ctypes

    from harness.sandbox.selftest import running

    class Vector(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    source = """
import ctypes, time
data = ctypes.create_string_buffer(b"from the worker")
report(ctypes.addressof(data))
time.sleep(30)
"""
    with running(zygote, source, Policy(isolation=tier)) as (worker, answers):
        address = int(os.read(answers, 100))
        buffer = ctypes.create_string_buffer(15)
        local, remote = Vector(ctypes.addressof(buffer), 15), Vector(address, 15)
        libc = ctypes.CDLL(None, use_errno=True)
        count = libc.process_vm_readv(worker.pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
        assert (count, buffer.raw) == (15, b"from the worker")
        os.kill(worker.pid, signal.SIGKILL)
        ended = worker.wait(5)
        assert ended is not None
        assert ended.signal == signal.SIGKILL


DENIED_CALLS = """
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
libc.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)
libc.fcntl.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long)
fd = os.open("own", os.O_CREAT | os.O_RDWR)
folder = os.open(".", os.O_RDONLY)
calls = {
    "shared memory": lambda: libc.shmget(0, 4096, 0o1600),
    "a semaphore": lambda: libc.semget(0, 1, 0o1600),
    "a message queue": lambda: libc.msgget(0, 0o1600),
    "a named queue": lambda: libc.syscall(mq_open, b"x", os.O_RDWR, 0, 0),
    "a lease": lambda: libc.fcntl(fd, 1024, 1),
    "news of a folder": lambda: libc.fcntl(folder, 1026, 1),
    "news by inotify": lambda: libc.inotify_init1(0),
    "closing itself": lambda: libc.prctl(4, 0, 0, 0, 0),
    "a filter": lambda: libc.prctl(22, 2, 0, 0, 0),
    "a key": lambda: libc.syscall(add_key, b"user", b"x", b"x", 1, -4),
    "asynchronous files": lambda: libc.syscall(io_setup, 1, ctypes.byref(ctypes.c_ulong())),
    "a thread with files of its own": lambda: libc.syscall(clone, 0x10000 | 0x800 | 0x100 | 0x200, 0, 0, 0, 0),
    "writing out all disks": lambda: libc.syscall(syncfs, fd),
}
for name, call in calls.items():
    ctypes.set_errno(0)
    if call() != -1 or ctypes.get_errno() != errno.EPERM:
        report([name, ctypes.get_errno()])
for family in (38, 40, 17, 44):  # AF_ALG, AF_VSOCK, AF_PACKET, AF_XDP
    try:
        socket.socket(family, socket.SOCK_DGRAM).close()
        report(family)
    except PermissionError:
        pass
one, other = socket.socketpair()
one.send(b"x")
report(other.recv(1).decode())
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of calls are those of x86-64")
def test_calls_without_a_use_are_refused_and_a_pair_of_sockets_is_not(candidate) -> None:
    numbers = {"mq_open": 240, "add_key": 248, "io_setup": 206, "clone": 56, "syncfs": 306}
    ran = candidate("".join(f"{name} = {number}\n" for name, number in numbers.items()) + DENIED_CALLS)
    assert ran.reports == ("x",)


CORNERS = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(4096)
at, zero = ctypes.addressof(buffer), ctypes.c_long(0)
vector = (ctypes.c_long * 2)(at, 8)
parent = os.getppid()
other = os.pidfd_open(os.getpid())
attempts = {
    "io_uring_setup": (425, 8, at),
    "io_uring_enter": (426, 0, 0, 0, 0, 0),
    "io_uring_register": (427, -1, 13, at, 0),
    "userfaultfd": (323, 1),
    "memfd_secret": (447, 0),
    "keyctl": (250, 0, -3, 1),
    "request_key": (249, b"user", b"x", None, -4),
    "bpf": (321, 0, at, 128),
    "perf_event_open": (298, at, 0, -1, -1, 0),
    "process_vm_readv": (310, parent, vector, 1, vector, 1, 0),
    "process_vm_writev": (311, parent, vector, 1, vector, 1, 0),
    "process_madvise": (440, other, vector, 1, 21, 0),
    "pidfd_getfd": (438, other, 0, 0),
    "fanotify_init": (300, 0, 0),
    "fanotify_mark": (301, -1, 1, 2, -100, b"/"),
    "kcmp": (312, os.getpid(), parent, 0, 0, 0),
    "ptrace": (101, 16, parent, 0, 0),
    "name_to_handle_at": (303, -100, b"/", at, at, 0),
}
for name, (number, *arguments) in attempts.items():
    ctypes.set_errno(0)
    arguments = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    if libc.syscall(ctypes.c_long(number), *arguments) != -1 or ctypes.get_errno() != errno.EPERM:
        report([name, ctypes.get_errno()])
report(len(attempts))
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of calls are those of x86-64")
def test_the_kernels_corners_and_the_memory_of_others_are_refused(candidate) -> None:
    assert candidate(CORNERS).reports == (18,)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of calls are those of x86-64")
def test_calls_that_are_newer_than_the_table_are_not_there(candidate) -> None:
    """fchmodat2 (452), setxattrat (463) and removexattrat (466) change what Landlock does not look at."""
    ran = candidate("""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for number in (337, 423, *range(451, 520), 1 << 20, 0x4000_0000, 0x4000_0000 + 39, 0x4000_0000 + 521, -1):
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0, 0)
    if (answer, ctypes.get_errno()) != (-1, errno.ENOSYS):
        report([number, answer, ctypes.get_errno()])
report("tried")
""")
    assert ran.reports == ("tried",)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the entry for 32 bits is x86's")
def test_the_entry_for_32_bits_ends_the_process(candidate) -> None:
    ran = candidate("""
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
report("before")
report(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))())
""")
    assert ran.reports == ("before",)
    assert ran.exit is not None
    assert ran.exit.signal == signal.SIGSYS


def test_landlock_on_top_takes_away_and_gives_nothing(candidate, open_folder: Path) -> None:
    (open_folder / "secret").write_text("secret")
    ran = candidate(f"""
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    return libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
rules = call(444, struct.pack("=Q", 4), 8, 0)  # reading is handled, and allowed below /
root = os.open("/", os.O_PATH)
call(445, rules, 1, struct.pack("=Qi", 4, root), 0)
call(446, rules, 0)
try:
    report(open({str(open_folder / "secret")!r}).read())
except OSError:
    report("refused")
""")
    assert ran.reports == ("refused",)


def test_cuda_gets_the_sockets_that_it_starts_with_and_none_is_connected(candidate, open_folder: Path) -> None:
    """What libcuda 580 does first: it asks for MPS, then listens at an abstract name."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(open_folder / "server"))
        (open_folder / "server").chmod(0o777)
        listener.listen()
        ran = candidate(f"""
import os, socket
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC):
    try:
        socket.socket(socket.AF_UNIX, kind).connect({str(open_folder / "server")!r})
        report("connected")
    except OSError:
        pass
one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
one.bind(f"\\0cuda-uvmfd-{{os.getpid()}}")
one.listen(128)
report("listens")
try:
    socket.socket(socket.AF_UNIX).bind({str(open_folder / "mine")!r})
    report("a file")
except OSError:
    pass
""")
        assert ran.reports == ("listens",)


def test_no_datagram_reaches_a_socket_of_the_host(candidate, open_folder: Path) -> None:
    path = open_folder / "datagrams"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(path))
        path.chmod(0o777)
        listener.setblocking(False)
        ran = candidate(f"""
import socket
def sent(make):
    try:
        make().sendto(b"x", {str(path)!r})
        return True
    except OSError:
        return False
report(sent(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)))
report(sent(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]))
report(sent(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0]))
report(sent(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0]) and False)
""")
        assert ran.reports == (False, False, False, False)
        with pytest.raises(BlockingIOError):
            listener.recv(1)


def test_rights_and_times_of_the_host_s_files_cannot_be_changed(candidate, open_folder: Path) -> None:
    """Nor by a worker that has no uid of its own: Landlock does not look at these calls."""
    file = open_folder / "file"
    file.write_text("ours")
    before = [(path.stat().st_mode, path.stat().st_mtime) for path in (open_folder, file)]
    ran = candidate(
        f"""
import contextlib, os
for path in ({str(open_folder)!r}, {str(file)!r}):
    for change, value in ((os.chmod, (0,)), (os.utime, ((1, 1),)), (os.setxattr, ("user.a", b"b"))):
        with contextlib.suppress(OSError):
            change(path, *value)
report("tried")
"""
    )
    assert ran.reports == ("tried",)
    assert [(path.stat().st_mode, path.stat().st_mtime) for path in (open_folder, file)] == before
    assert os.listxattr(file) == []
