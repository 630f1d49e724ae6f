"""Each limit ends a worker with its own cause, in bounded time, and leaves nothing behind."""

import math
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.sandbox import Isolation, Limits, Policy, Zygote, host, mapped, watchdog
from harness.sandbox.selftest import running
from harness.sandbox.supervisor import Supervisor
from harness.sandbox.watchdog import _open_to_us, bytes_below

MIB = 1 << 20


def test_a_large_allocation_raises_in_python(candidate) -> None:
    ran = candidate(
        """
try:
    bytearray(40 << 30)
    report("allocated")
except MemoryError:
    report("MemoryError")
""",
        limits=Limits(memory_bytes=256 * MIB),
    )
    assert ran.reports == ("MemoryError",)
    assert ran.exit is not None
    assert ran.exit.cause == "exited"


def test_memory_that_no_rlimit_counts_is_seen_by_the_watchdog(candidate) -> None:
    ran = candidate(
        """
import mmap, time
shared = mmap.mmap(-1, 1 << 30)
for at in range(0, 1 << 30, 1 << 20):
    shared[at:at + (1 << 20)] = b"x" * (1 << 20)
    time.sleep(0.001)
time.sleep(30)
""",
        limits=Limits(memory_bytes=128 * MIB),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "memory"
    assert 128 * MIB <= ran.exit.peak_rss_bytes < 900 * MIB


def test_memory_shared_by_forked_children_counts_once(candidate) -> None:
    ran = candidate(
        """
import os, time
block = b"x" * (96 << 20)
children = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        time.sleep(0.4)
        os._exit(0)
    children.append(pid)
for pid in children:
    os.waitpid(pid, 0)
""",
        limits=Limits(memory_bytes=256 * MIB),
    )
    assert ran.exit is not None
    assert (ran.exit.cause, ran.exit.code) == ("exited", 0)


@pytest.mark.parametrize("how", ["one process", "many processes"])
def test_cpu_time_is_counted_over_all_processes(candidate, how: str) -> None:
    source = "import os\n" + ("os.fork()\nos.fork()\n" if how == "many processes" else "") + "while True: pass"
    started = time.monotonic()
    ran = candidate(source, limits=Limits(cpu_s=0.5))
    assert ran.exit is not None
    assert ran.exit.cause == "cpu"
    assert 0.4 < ran.exit.cpu_s < 2.5
    assert time.monotonic() - started < 6


def test_a_fork_bomb_is_over_soon(candidate) -> None:
    # Bounded by itself too: a hole in the sandbox must not take the machine down.
    ran = candidate(
        """
import os, time
end = time.monotonic() + 4
while time.monotonic() < end:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
""",
        limits=Limits(processes=40),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "processes"


def test_a_file_cannot_grow_past_its_limit(candidate) -> None:
    ran = candidate(
        """
import errno
try:
    with open("large", "wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    report("written")
except OSError as error:
    report(errno.errorcode[error.errno])
""",
        limits=Limits(file_bytes=8 * MIB),
    )
    assert ran.reports == ("EFBIG",)


def test_who_does_not_ignore_the_signal_of_a_large_file_dies_of_it_with_a_cause_of_its_own(candidate) -> None:
    ran = candidate(
        """
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.truncate(os.open("large", os.O_CREAT | os.O_WRONLY), 1 << 40)
""",
        limits=Limits(file_bytes=8 * MIB),
    )
    assert ran.exit is not None
    assert (ran.exit.cause, ran.exit.signal) == ("file", signal.SIGXFSZ)


def test_many_files_cannot_fill_the_disk(candidate, tier: Isolation) -> None:
    ran = candidate(
        """
import errno, time
try:
    for number in range(400):
        with open(f"file{number}", "wb") as file:
            file.write(b"x" * (1 << 20))
        time.sleep(0.01)
    report("written")
except OSError as error:
    report(errno.errorcode[error.errno])
""",
        limits=Limits(scratch_bytes=32 * MIB, memory_bytes=2048 * MIB),
    )
    assert ran.exit is not None
    assert ran.reports == (("ENOSPC",) if tier == "full" else ())
    assert ran.exit.cause == ("exited" if tier == "full" else "scratch")


def test_a_log_flood_neither_blocks_nor_fills_memory(candidate) -> None:
    ran = candidate(
        """
import sys, os
print("first line", flush=True)
line = b"y" * 65536
for _ in range(2000):
    os.write(1, line)
print("last line", file=sys.stderr, flush=True)
report("through")
""",
        limits=Limits(log_bytes=8192),
    )
    assert ran.reports == ("through",)
    assert ran.exit is not None
    log = ran.exit.log
    assert len(log) < 9000
    assert log.startswith("first line\n")
    assert log.endswith("last line\n")
    assert f"[... {2000 * 65536 + len('first line') + len('last line') + 2 - 8192} bytes left out ...]" in log


def test_a_flood_that_does_not_end_is_ended(candidate) -> None:
    ran = candidate(
        """
import os
line = b"y" * 65536
while True:
    os.write(2, line)
""",
        limits=Limits(output_bytes=64 * MIB),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "output"
    assert len(ran.exit.log) < 70_000


def test_open_files_are_limited(candidate) -> None:
    ran = candidate(
        """
import os
try:
    while True:
        os.open("/dev/null", os.O_RDONLY)
except OSError:
    report("limited")
""",
        limits=Limits(open_files=64),
    )
    assert ran.reports == ("limited",)


def test_nothing_of_the_scratch_survives(zygote: Zygote, tier: Isolation) -> None:
    """Whatever its permissions, in the basic tier too, where it is a folder of the host."""
    source = """
import os
os.makedirs("a/b")
open("a/b/file", "w").close()
os.chmod("a/b", 0)
os.chmod("a", 0)
os.symlink("/usr", "link")
top = os.getcwd()
for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")
report(top)
"""
    with running(zygote, source, Policy(isolation=tier)) as (worker, answers):
        assert worker.wait(60) is not None
        folder = os.read(answers, 1000).decode().strip().strip('"')
    if tier == "full":
        assert folder == "/tmp"
        assert not Path("/tmp/a").exists()
    else:
        assert folder.startswith("/")
        assert not Path(folder).exists()


# Memory that shows in no figure of a process's main thread


def test_memory_in_files_that_nobody_maps_is_counted(candidate) -> None:
    ran = candidate(
        """
import os, time
block = b"x" * (8 << 20)
for _ in range(4):
    fd = os.memfd_create("hidden")
    for _ in range(12):
        os.write(fd, block)
        time.sleep(0.005)
time.sleep(30)
""",
        limits=Limits(memory_bytes=192 * MIB),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "memory"


def test_memory_in_files_beside_as_much_that_is_mapped_is_counted_too(candidate) -> None:
    ran = candidate(
        """
import mmap, os, time
block = b"x" * (8 << 20)
shared = mmap.mmap(-1, 96 << 20)
fd = os.memfd_create("hidden")
for at in range(0, 96 << 20, len(block)):
    shared[at:at + len(block)] = block
    os.write(fd, block)
    time.sleep(0.005)
time.sleep(30)
""",
        limits=Limits(memory_bytes=128 * MIB),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "memory"


def test_memory_in_a_file_that_is_mapped_counts_once(candidate) -> None:
    ran = candidate(
        """
import mmap, os, time
fd = os.memfd_create("shown")
os.ftruncate(fd, 96 << 20)
shared = mmap.mmap(fd, 96 << 20)
for at in range(0, 96 << 20, 1 << 20):
    shared[at:at + (1 << 20)] = b"x" * (1 << 20)
time.sleep(0.5)
""",
        limits=Limits(memory_bytes=160 * MIB),
    )
    assert ran.exit is not None
    assert (ran.exit.cause, ran.exit.code) == ("exited", 0)


LONG_NAMES = """
import mmap, os, time
top = os.getcwd()
for _ in range(15):
    os.mkdir("\\n" * 250)
    os.chdir("\\n" * 250)
file = os.open("a", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, mmap.PAGESIZE)
kept = [mmap.mmap(file, mmap.PAGESIZE) for _ in range(3500)]
for _ in range(5):
    os.fork()
time.sleep(30)
"""


def test_mappings_of_files_with_long_names_count_as_too_much_before_they_are_read(candidate) -> None:
    ran = candidate(LONG_NAMES, limits=Limits(memory_bytes=4 << 30))
    assert ran.exit is not None
    assert ran.exit.cause == "memory"


DROPS = """
import mmap, time
kept = []
block = b"x" * (1 << 20)
for _ in range(48):
    shared = mmap.mmap(-1, {each} << 20)
    for at in range(0, {each} << 20, len(block)):
        shared[at:at + len(block)] = block
        shared.madvise(mmap.MADV_DONTNEED, at, len(block))
    kept.append(shared)
time.sleep(30)
"""


@pytest.mark.parametrize("each", [16, 768], ids=["many files", "one file"])
def test_shared_pages_that_are_mapped_no_more_are_counted(candidate, each: int) -> None:
    ran = candidate(DROPS.format(each=each), limits=Limits(memory_bytes=256 * MIB))
    assert ran.exit is not None
    assert ran.exit.cause == "memory"


def test_a_file_in_memory_that_only_a_private_mapping_holds_is_counted_where_the_kernel_tells_its_size(
    candidate,
) -> None:
    if not mapped.is_told():
        pytest.skip("only root is told")
    ran = candidate(
        """
import mmap, os, time
block = b"x" * (8 << 20)
kept = []
for _ in range(48):
    fd = os.memfd_create("hidden")
    os.write(fd, block)
    kept.append(mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE))
    os.close(fd)
    time.sleep(0.005)
time.sleep(30)
""",
        limits=Limits(memory_bytes=128 * MIB),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "memory"


def test_shared_memory_that_is_reserved_and_not_used_counts_nothing(candidate) -> None:
    ran = candidate(
        """
import mmap, time
reserved = [mmap.mmap(-1, 1 << 30) for _ in range(8)]
for one in reserved:
    one[:1 << 20] = b"x" * (1 << 20)
time.sleep(1.6)  # files in memory are looked at once a second
""",
        limits=Limits(
            memory_bytes=4 << 30
        ),  # less than is reserved; others than root count what neighbours use as well
    )
    assert ran.exit is not None
    assert (ran.exit.cause, ran.exit.code) == ("exited", 0)


@pytest.mark.parametrize(("later", "reach"), [(b"", {}), (b"7f0000100000-7f0040100000", {77: 1 << 30})])
def test_what_a_process_maps_that_ends_while_it_is_looked_at_counts_nothing(monkeypatch, later: bytes, reach) -> None:
    """The kernel tells nothing of a file behind a mapping that has gone; one that was moved meanwhile still counts."""
    device = mapped.memory_device()
    rest = b" rw-s 00000000 %02x:%02x 77 /dev/zero (deleted)\n" % (os.major(device), os.minor(device))
    maps = iter([b"7f0000000000-7f0040000000" + rest, later + rest if later else later])
    monkeypatch.setattr(mapped, "read_bytes", lambda place, most: next(maps))
    assert mapped.behind_mappings([1 << 30]).reach == reach


LEADERLESS = """
import ctypes, mmap, os, threading, time
threading.stack_size(1 << 16)
def work():
    time.sleep(0.2)  # until the first thread has gone
    {what}
pid = os.fork()
if pid == 0:
    threading.Thread(target=work).start()
    ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)  # exit, of this thread alone
time.sleep(30)
"""


@pytest.mark.parametrize(
    ("what", "cause"),
    [
        (
            "block = mmap.mmap(-1, 256 << 20); [block.write(b'x' * (8 << 20)) for _ in range(32)]; time.sleep(30)",
            "memory",
        ),
        ("fd = os.memfd_create('x'); [os.write(fd, b'x' * (8 << 20)) for _ in range(32)]; time.sleep(30)", "memory"),
        (
            "block = mmap.mmap(-1, 256 << 20); "
            "[(block.write(b'x' * (8 << 20)), block.madvise(mmap.MADV_DONTNEED)) for _ in range(32)]; time.sleep(30)",
            "memory",
        ),
        ("[threading.Thread(target=time.sleep, args=(30,)).start() for _ in range(100)]", "processes"),
        ("any(False for _ in iter(int, 1))", "cpu"),
    ],
    ids=["memory", "memfds", "unmapped pages", "threads", "cpu"],
)
def test_a_process_whose_first_thread_has_ended_is_counted_like_any(candidate, what: str, cause: str) -> None:
    source = LEADERLESS.format(what=what)
    ran = candidate(source, limits=Limits(memory_bytes=128 * MIB, cpu_s=1.0, threads=64), timeout_s=25)
    assert ran.exit is not None
    assert ran.exit.cause == cause


def test_a_file_that_was_removed_and_is_still_written_to_fills_the_scratch(candidate, tier: Isolation) -> None:
    ran = candidate(
        """
import errno, os, time
file = open("gone", "wb", buffering=0)
os.unlink("gone")
try:
    for _ in range(100):
        file.write(b"x" * (1 << 20))
    time.sleep(30)
except OSError as error:
    report(errno.errorcode[error.errno])
""",
        limits=Limits(scratch_bytes=32 * MIB, memory_bytes=2048 * MIB),
    )
    assert ran.exit is not None
    assert ran.reports == (("ENOSPC",) if tier == "full" else ())
    assert ran.exit.cause == ("exited" if tier == "full" else "scratch")


def test_a_process_that_nobody_may_look_into_counts_as_too_much(candidate) -> None:
    """A program that its user may not read cannot be looked into, except by root with the right to trace."""
    seconds = 1.5 if host.can_trace_other_users() else 20  # a busy machine's watchdog looks seldom
    ran = candidate(
        """
import os, time
copy = os.open("unreadable", os.O_CREAT | os.O_WRONLY, 0o111)
os.write(copy, open("/bin/sleep", "rb").read())
os.close(copy)
if os.fork() == 0:
    os.execv("./unreadable", ["sleep", "30"])
time.sleep(SECONDS)
""".replace("SECONDS", str(seconds)),
        limits=Limits(memory_bytes=256 * MIB),
        timeout_s=40,
    )
    assert ran.exit is not None
    assert ran.exit.cause == ("exited" if host.can_trace_other_users() else "memory")


# A scratch folder that lies on the disk


def as_another_user(what: Callable[[], object]) -> str:
    """What a function returns in a process of a user without privileges, as text."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another user, and only another is kept out of a folder")
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(4243, 4243, 4243)
            os.setresuid(4243, 4243, 4243)
            os.write(write, str(what()).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with open(read) as answer:
        return answer.read()


@pytest.mark.parametrize("mode", [0o300, 0o100, 0o600, 0])
def test_what_lies_in_a_folder_that_may_not_be_read_counts(open_folder: Path, mode: int) -> None:
    def count() -> bool:
        folder = open_folder / "own"
        (folder / "a").mkdir(parents=True, mode=0o700)
        (folder / "a" / "file").write_bytes(b"x" * MIB)
        (folder / "a").chmod(mode)
        return MIB <= bytes_below(str(folder)) < 2 * MIB

    assert as_another_user(count) == "True"


def test_what_may_not_be_looked_into_is_too_much(open_folder: Path) -> None:
    (open_folder / "a").mkdir(mode=0o700)
    assert as_another_user(lambda: bytes_below(str(open_folder))) == "inf"
    assert bytes_below(str(open_folder)) < MIB  # root may


def test_what_lies_deeper_than_a_path_reaches_is_too_much(open_folder: Path) -> None:
    folder, name = os.open(open_folder, os.O_RDONLY), "d" * 200
    for _ in range(25):
        os.mkdir(name, dir_fd=folder)
        inner = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    assert bytes_below(str(open_folder)) == math.inf


def test_what_is_removed_as_it_is_counted_is_nothing(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        (open_folder / name).mkdir()
    (open_folder / "file").write_bytes(b"x" * MIB)
    opened = os.open

    def removing(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            os.rmdir(path, dir_fd=dir_fd)
        return opened(path, flags, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", removing)
        assert MIB <= bytes_below(str(open_folder)) < 2 * MIB
    assert bytes_below(str(open_folder / "none")) == 0


def test_no_link_has_the_rights_of_a_folder_elsewhere_changed(open_folder: Path) -> None:
    def count() -> tuple[float, str]:
        elsewhere, scratch = open_folder / "elsewhere", open_folder / "scratch"
        elsewhere.mkdir(mode=0o300)
        scratch.mkdir()
        (scratch / "a").symlink_to(elsewhere)
        _open_to_us(str(scratch / "a"))
        return bytes_below(str(scratch)) < MIB, oct(elsewhere.stat().st_mode & 0o777)

    assert as_another_user(count) == "(True, '0o300')"


def test_links_in_the_place_of_folders_that_were_listed_are_not_followed(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, scratch = open_folder / "elsewhere", open_folder / "scratch"
    elsewhere.mkdir()
    scratch.mkdir()
    (elsewhere / "file").write_bytes(b"x" * MIB)
    for number in range(8):
        (scratch / f"d{number}").mkdir()
    opened = os.open
    replaced = []

    def replacing(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            os.rmdir(path, dir_fd=dir_fd)
            os.symlink(elsewhere, path, dir_fd=dir_fd)
            replaced.append(path)
        return opened(path, flags, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", replacing)
        assert bytes_below(str(scratch)) < MIB
    assert len(replaced) == 8


def test_depth_takes_no_more_time_than_width_and_leaves_nothing_open(open_folder: Path) -> None:
    folder = os.open(open_folder, os.O_RDONLY)
    for _ in range(1950):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    before, started = len(os.listdir("/proc/self/fd")), time.process_time()
    assert 1950 * 4096 <= bytes_below(str(open_folder)) < math.inf
    assert time.process_time() - started < 1
    assert len(os.listdir("/proc/self/fd")) == before
    subprocess.run(["rm", "-rf", open_folder / "d"], check=True)  # Python's own minds the depth


def test_many_empty_files_and_folders_count_and_counting_ends_at_the_limit(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        (open_folder / f"file{number}").touch()
        (open_folder / f"folder{number}").mkdir()
    assert bytes_below(str(open_folder)) == 600 * 4096
    assert bytes_below(str(open_folder), 100 * 4096) == 101 * 4096
    monkeypatch.setattr(watchdog, "_MOST_ENTRIES", 901)  # a folder is listed and entered, and the first is entered
    assert bytes_below(str(open_folder)) == 600 * 4096
    monkeypatch.setattr(watchdog, "_MOST_ENTRIES", 900)
    assert bytes_below(str(open_folder)) == math.inf


def test_who_is_called_while_counting_counts_no_further(open_folder: Path) -> None:
    for number in range(1500):
        (open_folder / f"file{number}").touch()
    assert bytes_below(str(open_folder), stop=lambda: True) < 1500 * 4096
    limits = Limits(scratch_bytes=1200 * 4096)
    called = [True]
    dog = watchdog.Watchdog(limits, str(open_folder), called=lambda: called[0])
    dog._scratch_next = 0.0
    assert not dog._scratch_is_full()
    called[0] = False
    assert dog._scratch_is_full()  # at once: the look that was left undone is none


def test_a_folder_whose_disk_has_less_free_is_looked_at_at_once(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 1 << 40
    monkeypatch.setattr(watchdog, "_free_bytes", lambda _folder: free)
    dog = watchdog.Watchdog(Limits(scratch_bytes=16 * MIB), str(open_folder))
    dog._scratch_next = math.inf
    (open_folder / "file").write_bytes(b"x" * 17 * MIB)
    free -= MIB - 1
    assert not dog._scratch_is_full()
    free += 8 * MIB  # others give some back, and it falls from there
    assert not dog._scratch_is_full()
    free -= MIB
    assert dog._scratch_is_full()
    dog._scratch_next = math.inf
    assert not dog._scratch_is_full()  # no less than at the last look


def test_disk_that_is_taken_for_a_moment_is_seen(candidate, tier: Isolation) -> None:
    if tier == "full":
        pytest.skip("a tmpfs bounds it")
    ran = candidate(
        """
import os, time
time.sleep(0.2)
fd = os.open("large", os.O_CREAT | os.O_WRONLY)
os.posix_fallocate(fd, 0, 256 << 20)
time.sleep(0.4)
os.ftruncate(fd, 0)
time.sleep(30)
""",
        limits=Limits(scratch_bytes=64 * MIB, memory_bytes=2048 * MIB),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "scratch"


def test_root_that_may_not_use_files_of_others_gives_a_worker_no_uid_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(host, "closed_to_others", lambda _: None)
    monkeypatch.setattr(host, "can_trace_other_users", lambda: True)
    for may in (True, False):
        monkeypatch.setattr(host, "can_use_files_of_others", lambda: may)  # noqa: B023 - called right below
        slot, why = Supervisor._choose_slot(None, False, Policy(), ())  # type: ignore[arg-type]
        assert (slot is not None, why is None) == (may, may)


def test_removed_files_that_lie_in_a_socket_fill_the_scratch(candidate, tier: Isolation) -> None:
    if tier == "full":
        pytest.skip("a tmpfs bounds it")
    ran = candidate(
        """
import os, socket, time
pair = socket.socketpair()
for number in range(8):
    fd = os.open("large", os.O_CREAT | os.O_WRONLY)
    os.posix_fallocate(fd, 0, 48 << 20)
    os.unlink("large")
    socket.send_fds(pair[0], [b"x"], [fd])
    os.close(fd)
time.sleep(30)
""",
        limits=Limits(scratch_bytes=64 * MIB, memory_bytes=2048 * MIB),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "scratch"


def test_descriptors_on_their_way_are_no_fault_where_the_disk_has_lost_little(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, sent = 1 << 40, 1
    monkeypatch.setattr(watchdog, "_free_bytes", lambda _folder: free)
    monkeypatch.setattr(watchdog.processes, "descendants", lambda _pid: [os.getpid()])
    monkeypatch.setattr(watchdog.processes, "descriptors_in_flight", lambda _pid: sent)
    dog = watchdog.Watchdog(Limits(scratch_bytes=16 * MIB), str(open_folder))

    def is_full(missing: int, later_s: float) -> bool:
        nonlocal free
        free, dog._scratch_next = (1 << 40) - missing, 0.0
        if dog._in_flight_since is not None:
            dog._in_flight_since -= later_s
        return dog._scratch_is_full()

    assert not is_full(16 * MIB, 0)
    assert not is_full(17 * MIB, 0)  # they may be read yet
    assert not is_full(17 * MIB, 0.5)
    assert is_full(17 * MIB, 0.6)
    sent = 0
    assert not is_full(17 * MIB, 2)
    sent = 1
    assert not is_full(17 * MIB, 2)  # others than before


def test_looking_at_a_folder_does_not_show_in_its_times(open_folder: Path) -> None:
    (open_folder / "inner").mkdir()
    (open_folder / "inner" / "file").touch()  # changed after it was last read, which has reading noted
    before = (open_folder / "inner").stat().st_atime_ns
    assert bytes_below(str(open_folder)) == 2 * 4096
    assert (open_folder / "inner").stat().st_atime_ns == before


@pytest.mark.parametrize(("exact", "peak"), [(129 * MIB, 129 * MIB), (100 * MIB, 119 * MIB), (None, 119 * MIB)])
def test_what_is_counted_before_a_worker_is_ended_for_it_is_its_peak(monkeypatch, exact, peak):
    """It goes on growing while it is counted: one was ended above 128 MiB, and said to have had 119."""
    dog = watchdog.Watchdog(Limits(memory_bytes=128 * MIB), None)
    dog.peak_bytes = 119 * MIB
    monkeypatch.setattr(dog, "_count_exactly", lambda: exact)
    assert dog._really_exceeded(200 * MIB) == (exact != 100 * MIB)
    assert dog.peak_bytes == peak
