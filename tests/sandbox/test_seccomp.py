"""The table of system calls in docs/security.md is that of the filter, and leaves out none that the kernel has."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.sandbox.seccomp import DENIED, PRETENDED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "security.md"
HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
GENERIC = Path("/usr/include/asm-generic/unistd.h")


def table() -> dict[str, str]:
    """Each call and what the page says that it gets."""
    section = PAGE.read_text().partition("### System calls")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z_0-9 ]+) \| ([^|]+) \| [^|]+ \|$", section, re.MULTILINE)
    return {name: answer for names, answer in rows for name in names.split() if names != "calls"}


def test_what_is_refused_whatever_its_arguments_is_what_the_page_calls_refused() -> None:
    assert {name for name, answer in table().items() if answer == "refused"} == set(DENIED)


def test_what_is_pretended_is_what_the_page_says() -> None:
    assert {name for name, answer in table().items() if "not done" in answer} == set(PRETENDED)


def test_no_call_stands_in_two_rows() -> None:
    section = PAGE.read_text().partition("### System calls")[2].partition("\n## ")[0]
    names = [name for row in re.findall(r"^\| ([a-z_0-9 ]+) \|", section, re.MULTILINE) for name in row.split()]
    assert len(names) == len(set(names))


@pytest.mark.skipif(not HEADER.exists(), reason="no headers of the kernel for x86-64 here")
def test_every_call_of_the_kernels_list_has_a_reason() -> None:
    numbers = dict(re.findall(r"^#define __NR_(\w+) (\d+)$", HEADER.read_text(), re.MULTILINE))
    known = [name for name, number in numbers.items() if int(number) <= 450]  # Linux 6.1
    assert [name for name in known if name not in table()] == []
    ours = DENIED | PRETENDED
    assert {name: ours[name][0] for name in ours if name in numbers} == {
        name: int(numbers[name]) for name in ours if name in numbers
    }


@pytest.mark.skipif(not GENERIC.exists(), reason="no generic headers of the kernel here")
def test_the_numbers_of_aarch64_are_the_generic_ones() -> None:
    found = re.findall(r"^#define __NR(?:3264)?_(\w+) (\d+)$", GENERIC.read_text(), re.MULTILINE)
    numbers = {name: int(number) for name, number in found}
    theirs = {name: arm for name, (_, arm) in (DENIED | PRETENDED).items() if arm >= 0 and name in numbers}
    assert theirs == {name: numbers[name] for name in theirs}


_ALONE = """
import errno, fcntl, os, signal, socket, struct, sys, time
from harness.sandbox import linux, seccomp
other, path = int(sys.argv[1]), sys.argv[2]
linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
linux.install_seccomp(seccomp.program(network=False, other_processes=False, signals=False, pid=os.getpid()))
here, there = socket.socketpair()
for number in (0x8901, 0x8902):  # FIOSETOWN, SIOCSPGRP
    try:
        fcntl.ioctl(here, number, struct.pack("i", other))
        fcntl.fcntl(here, fcntl.F_SETFL, os.O_ASYNC)
        there.send(b"x")
        print("owned")
    except OSError as error:
        print(errno.errorcode[error.errno])
try:
    fcntl.ioctl(os.open(path, os.O_RDONLY), 0x40086602, struct.pack("l", 0x40))  # FS_IOC_SETFLAGS: nodump
    print("flagged")
except OSError as error:
    print(errno.errorcode[error.errno])
answers = set()
for kind in (ord("X"), ord("f"), ord("v"), 0x94, 0x97, 0xBC, 0xCF, 0xF5, ord("T")):
    try:
        fcntl.ioctl(9999, kind << 8 | 2, 0)
    except OSError as error:
        answers.add((kind == ord("T"), errno.errorcode[error.errno]))
print(answers == {(False, "ENOTTY"), (True, "EBADF")})  # refused before it is looked at what they are asked of
here.setblocking(False)
fcntl.ioctl(here, 0x541B, b"    ")  # FIONREAD: others are as they were
print("asked")
"""


def test_alone_no_ioctl_signals_another_process_or_changes_what_a_file_system_keeps_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with subprocess.Popen(["sleep", "60"]) as other:
        ran = subprocess.run(
            [sys.executable, "-c", _ALONE, str(other.pid), str(file)], capture_output=True, text=True, check=False
        )
        ended = other.poll()
        other.kill()
    assert ran.stdout.split() == ["EPERM", "EPERM", "ENOTTY", "True", "asked"], ran.stderr
    assert ended is None
