"""The table of system calls in docs/security.md is that of the filter, and leaves out none that the kernel has."""

import re
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
