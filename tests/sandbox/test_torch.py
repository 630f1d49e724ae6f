"""torch is imported once, and works in everything that is forked from there."""

from collections.abc import Iterator

import pytest

from harness.sandbox import Isolation, Limits, Policy, Zygote
from harness.sandbox.selftest import run


@pytest.fixture(scope="module")
def with_torch() -> Iterator[Zygote]:
    modules = ("torch", "torch.utils.cpp_extension", "harness.sandbox.selftest")
    with Zygote.start(preload=modules) as started:
        yield started


def test_torch_computes_on_several_threads_after_the_fork(with_torch: Zygote, tier: Isolation) -> None:
    source = """
import sys
report("torch" in sys.modules)
import os, torch
report(torch.cuda._is_in_bad_fork())
torch.set_num_threads(2)
x = torch.ones(600, 600, requires_grad=True)
y = (x @ x).sum()
y.backward()
report([float(y), float(x.grad[0, 0]), len(os.listdir("/proc/self/task")) > 1])
"""
    ran = run(with_torch, source, Policy(isolation=tier))
    assert ran.reports == (True, False, [600.0**3, 1200.0, True])


def test_a_tensor_of_forty_gigabytes_is_an_error_of_torch_s(with_torch: Zygote, tier: Isolation) -> None:
    source = """
import torch
try:
    torch.empty(40 << 30, dtype=torch.uint8)
    report("allocated")
except RuntimeError as error:
    report("can't allocate memory" in str(error))
"""
    ran = run(with_torch, source, Policy(isolation=tier, limits=Limits(memory_bytes=4 << 30)))
    assert ran.reports == (True,)
