"""One process at a time has a device to time on; who waits says for whom, and a process that dies holds nothing."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from harness.errors import MachineError
from harness.judge.device_lock import DeviceLock, waiting_for

HOLDER = """
import sys, time
from pathlib import Path
from harness.judge.device_lock import DeviceLock

lock = DeviceLock("cpu", folder=Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    lock.take(lambda holder: None)
    with open(sys.argv[3], "a") as log:
        print("begin", time.monotonic(), file=log, flush=True)
        time.sleep(float(sys.argv[4]))
        print("end", time.monotonic(), file=log, flush=True)
    lock.release()
"""


def holder(folder: Path, log: Path, *, times: int, seconds: float) -> "subprocess.Popen[bytes]":
    """A process that takes the lock so often and holds it for so long each time."""
    return subprocess.Popen([sys.executable, "-c", HOLDER, str(folder), str(times), str(log), str(seconds)])


def until_it_holds(log: Path) -> None:
    while not log.exists() or "begin" not in log.read_text():
        time.sleep(0.01)


def nobody(pid: int | None) -> None:
    raise AssertionError(f"{pid} has it")


def test_processes_have_it_one_after_the_other(tmp_path: Path) -> None:
    log = tmp_path / "log"
    processes = [holder(tmp_path / "locks", log, times=8, seconds=0.02) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    words = [line.split() for line in log.read_text().splitlines()]
    assert [word for word, _ in words] == ["begin", "end"] * 24
    assert all(float(before) <= float(after) for (_, before), (_, after) in pairwise(words))


def test_who_waits_says_for_whom_and_for_how_long_and_a_death_frees_it(tmp_path: Path) -> None:
    log, told = tmp_path / "log", []
    process = holder(tmp_path / "locks", log, times=1, seconds=600)
    until_it_holds(log)
    lock = DeviceLock("cpu", folder=tmp_path / "locks")
    timer = threading.Timer(0.3, process.send_signal, [signal.SIGKILL])
    timer.start()
    waited_s = lock.take(told.append)
    assert process.wait(60) == -signal.SIGKILL
    assert waited_s > 0.2
    assert set(told) == {process.pid}
    assert waiting_for("cuda:0", process.pid) == f"waiting for cuda:0, which process {process.pid} is timing on"
    lock.release()


def test_what_waits_is_asked_again_and_again_and_may_be_ended(tmp_path: Path) -> None:
    first, second = (DeviceLock("cpu", folder=tmp_path) for _ in range(2))
    first.take(nobody)
    told: list[int | None] = []

    def enough(pid: int | None) -> None:
        told.append(pid)
        if len(told) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        second.take(enough)
    assert told == [os.getpid()] * 3
    first.release()
    assert second.take(nobody) == 0.0


def test_what_is_not_given_back_in_time_is_the_machines_fault(tmp_path: Path) -> None:
    first, second = (DeviceLock("cpu", folder=tmp_path) for _ in range(2))
    first.take(nobody)
    with pytest.raises(MachineError, match=rf"not free for timing within 0.1 s: process {os.getpid()} holds"):
        second.take(lambda holder: None, longest_s=0.1)
    first.release()
    assert second.take(nobody) == 0.0


def test_a_holder_may_take_it_again_and_gives_it_back_once(tmp_path: Path) -> None:
    first, second = (DeviceLock("cpu", folder=tmp_path) for _ in range(2))
    assert (first.take(nobody), first.take(nobody)) == (0.0, 0.0)
    first.release()
    first.release()
    assert second.take(nobody) == 0.0
    second.release()


def test_devices_are_had_apart(tmp_path: Path) -> None:
    locks = [DeviceLock(name, folder=tmp_path) for name in ("cpu", "gpu-1", "gpu-2")]
    assert [lock.take(nobody) for lock in locks] == [0.0, 0.0, 0.0]


def test_other_users_may_use_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    DeviceLock("cpu", folder=folder).take(nobody)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777
    assert stat.S_IMODE((folder / "cpu.lock").stat().st_mode) == 0o666


def test_a_child_inherits_none_of_it(tmp_path: Path) -> None:
    lock = DeviceLock("cpu", folder=tmp_path)
    lock.take(nobody)
    script = "import os; print([n for n in os.listdir('/proc/self/fd') if 'lock' in os.readlink(f'/proc/self/fd/{n}')])"
    script = script.replace("os.readlink", "(lambda p: os.readlink(p) if os.path.exists(p) else '')")
    done = subprocess.run([sys.executable, "-c", script], close_fds=False, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_file_that_somebody_removed_is_not_what_others_lock(tmp_path: Path) -> None:
    first, second, third = (DeviceLock("cpu", folder=tmp_path) for _ in range(3))
    first.take(nobody)
    (tmp_path / "cpu.lock").unlink()
    assert second.take(nobody) == 0.0
    with pytest.raises(MachineError, match="not free"):
        third.take(lambda holder: None, longest_s=0.1)


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder"])
def test_a_file_that_a_stranger_put_there_is_not_written_to(tmp_path: Path, kind: str) -> None:
    precious, place = tmp_path / "precious", tmp_path / "locks/cpu.lock"
    precious.write_text("kept")
    place.parent.mkdir()
    match kind:
        case "link":
            place.symlink_to(precious)
        case "hard link":
            place.hardlink_to(precious)
        case "pipe":
            os.mkfifo(place)
        case _:
            place.mkdir()
    with pytest.raises(MachineError, match=r"cpu\.lock"):
        DeviceLock("cpu", folder=place.parent).take(nobody)
    assert precious.read_text() == "kept"


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("")
    with pytest.raises(MachineError, match="cannot be used to have a device alone"):
        DeviceLock("cpu", folder=tmp_path / "locks").take(nobody)
