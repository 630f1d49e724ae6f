"""What is drawn for a trial, piece by piece, and where it lies."""

import pytest
import torch

from harness.judge import inputs as module
from harness.judge.inputs import KINDS, RED_ZONE, STRESS, InputSets, stressed
from harness.transport.memory import HostArena

BASE = torch.rand(24, 35)
LAYOUTS = {
    "contiguous": lambda: BASE.clone(),
    "permuted": lambda: BASE.clone().t(),
    "expanded": lambda: BASE[0].clone().expand(24, 35),
    "strided": lambda: BASE.clone()[::2, ::3],
}


@pytest.mark.parametrize("kind", STRESS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float8_e5m2])
def test_large_tensors_of_any_layout_are_drawn_anew_and_again_the_same(monkeypatch, kind, layout, dtype):
    monkeypatch.setattr(module, "PIECE", 50)
    value = LAYOUTS[layout]().to(dtype)
    shape = value.shape
    (first,) = stressed([LAYOUTS[layout]().to(dtype)], kind, 3)
    (again,) = stressed([LAYOUTS[layout]().to(dtype)], kind, 3)
    (other,) = stressed([LAYOUTS[layout]().to(dtype)], kind, 4)
    assert (first.shape, first.dtype) == (shape, dtype)
    assert torch.equal(first.float(), again.float())
    assert not torch.equal(first.float(), other.float())
    assert (first.float() < 0).float().mean() > 0.2
    assert len(first.float().unique(dim=0)) == len(first)  # every row was drawn


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float8_e4m3fn, torch.uint16, torch.uint64, torch.bool, torch.complex64]
)
def test_slots_hold_what_was_written_whatever_its_type_and_layout(layout, dtype):
    value = (LAYOUTS[layout]() * 50).to(dtype)
    sets = InputSets([value, torch.tensor(1)], 2, HostArena)
    sets.write(1, [value, torch.tensor(7)])
    sets.reveal()
    found = sets.arguments(1)
    assert sets.unchanged(1, [value, torch.tensor(7)])
    assert not sets.unchanged(0, [value, torch.tensor(7)])
    assert sets.red_zones_intact(0)
    assert sets.red_zones_intact(1)
    found[1].fill_(8)
    assert not sets.unchanged(1, [value, torch.tensor(7)])
    sets.arena.bytes()[RED_ZONE - 1] = 0
    assert not sets.red_zones_intact(0)
    del found
    sets.close()


def test_complex_inputs_are_drawn_anew_in_both_parts():
    value = torch.polar(torch.ones(8, 8), torch.zeros(8, 8))
    for kind in KINDS:
        (found,) = stressed([value], kind, 5)
        assert (found.dtype, found.shape) == (value.dtype, value.shape)
        assert not torch.equal(found.real, value.real)
        assert not torch.equal(found.imag, value.imag)
