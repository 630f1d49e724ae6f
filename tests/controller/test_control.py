"""Whose fault it is, told by what a submission of ours meets in the place of another."""

import ast

import pytest

from harness.controller.control import control, may_be_its_own, told_apart
from harness.errors import DeviceError, HarnessError, MachineError, ProblemError, SandboxError, ToolchainError
from harness.schema import Problem

MACHINE = ToolchainError("the compiler cannot be started")


@pytest.mark.parametrize(
    ("faults", "ours", "its_own", "asked"),
    [
        ([None], None, False, ["it"]),
        ([ProblemError("the reference raises")], None, False, ["it"]),
        ([DeviceError("the judge died")], None, False, ["it"]),
        ([MACHINE], SandboxError("no worker"), False, ["it", "ours"]),
        ([MACHINE, None], None, False, ["it", "ours", "it"]),
        ([MACHINE, DeviceError("the judge died")], None, False, ["it", "ours", "it"]),
        ([MACHINE, MACHINE], None, True, ["it", "ours", "it"]),
        ([MACHINE, SandboxError("no worker")], ProblemError("the reference raises"), True, ["it", "ours", "it"]),
    ],
)
def test_a_fault_is_its_own_that_comes_again_and_that_ours_does_not_meet(
    faults: list[HarnessError | None], ours: HarnessError | None, its_own: bool, asked: list[str]
) -> None:
    left, seen = list(faults), []

    def judge() -> HarnessError | None:
        seen.append("it")
        return left.pop(0)

    def judge_ours() -> HarnessError | None:
        seen.append("ours")
        return ours

    assert told_apart(judge, judge_ours, lambda fault: fault) == (faults[-1], its_own)
    assert seen == asked


def test_a_lost_device_is_never_its_own() -> None:
    assert may_be_its_own(MachineError("the disk is full"))
    assert not may_be_its_own(DeviceError("the judge died"))
    assert not may_be_its_own(None)


def test_no_two_controls_are_found_in_a_cache() -> None:
    problem = Problem(set="level1", name="1_One", source="class Model: pass\n", sha256="0" * 64)
    one, other = control(problem), control(problem)
    assert one.text.startswith(problem.source)
    assert one.sha256 != other.sha256
    ast.parse(one.text)
