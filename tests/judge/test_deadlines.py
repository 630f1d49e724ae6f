"""Deadlines of rounds: by the reference's time, within `--timeout`."""

import pytest

from harness.judge.deadlines import (
    CONSTRUCTING_S,
    FIRST_S,
    HOPELESS,
    LEAST_ON_HOST_S,
    LEAST_S,
    Deadlines,
    compiles_when_called,
)


def deadlines(*, call_s: float = 1e-3, compiles: bool = False, on_device: bool = True) -> Deadlines:
    return Deadlines(60.0, call_s, compiles, on_device)


def test_a_short_call_may_take_two_seconds_and_a_first_one_three_more() -> None:
    assert deadlines().of_round(1, first=False).seconds == LEAST_S
    assert deadlines().of_round(1, first=True).seconds == LEAST_S + FIRST_S <= 5.0


def test_a_host_that_others_use_gets_more() -> None:
    assert deadlines(on_device=False).of_round(1, first=False).seconds == LEAST_ON_HOST_S


def test_calls_that_take_a_hundred_times_the_references_are_hopeless() -> None:
    found = deadlines(call_s=0.1).of_round(4, first=False)
    assert found.seconds == pytest.approx(HOPELESS * 0.4)
    assert found.why == "100 times the reference's 100 ms for 4 calls"


def test_the_users_timeout_bounds_every_deadline() -> None:
    assert deadlines(call_s=10.0).of_round(1, first=False).seconds == 60.0
    assert Deadlines(1.0, 1e-3, False, True).of_round(1, first=True) == Deadlines(1.0, 10.0, False, True).of_round(
        9, first=False
    )


def test_the_first_call_may_compile_where_the_source_says_so_and_no_other() -> None:
    compiling = deadlines(compiles=True)
    assert compiling.of_round(1, first=True).seconds == 60.0
    assert "compile" in compiling.of_round(1, first=True).why
    assert compiling.of_round(1, first=False).seconds == LEAST_S


def test_a_constructor_may_take_a_hundred_times_the_references_and_never_less_than_a_generous_floor() -> None:
    assert deadlines().of_construction().seconds == CONSTRUCTING_S + FIRST_S
    slow = Deadlines(60.0, 1e-3, False, True, construct_s=0.2).of_construction()
    assert slow.seconds == pytest.approx(20.0 + FIRST_S)
    assert "200 ms of constructing the reference" in slow.why
    assert Deadlines(60.0, 1e-3, False, True, construct_s=2.0).of_construction().seconds == 60.0
    assert deadlines(compiles=True).of_construction().seconds == 60.0


@pytest.mark.parametrize(
    "text",
    [
        "import triton\n@triton.autotune(configs=[], key=[])",
        "self.f = torch.compile(f)",
        "cupy.RawKernel(code, 'f')",
        "from cuda.bindings import nvrtc",
        "torch.backends.cudnn.benchmark = True",
        "from torch.utils._python_dispatch import TorchDispatchMode",
        "torch.utils.checkpoint.checkpoint(f, x)",
    ],
)
def test_what_compiles_or_tunes_on_its_first_call_is_known_by_its_text(text: str) -> None:
    assert compiles_when_called(text)


def test_what_a_builder_compiles_is_no_reason_for_a_longer_call() -> None:
    assert not compiles_when_called("from torch.utils.cpp_extension import load_inline")
