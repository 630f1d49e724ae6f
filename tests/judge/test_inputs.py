"""What is drawn for a trial, piece by piece, and where it lies."""

import pytest
import torch

from harness.judge import inputs as module
from harness.judge.inputs import (
    KINDS,
    RED_ZONE,
    STRESS,
    VARIED,
    InputSets,
    permuted,
    stressed,
    varied,
    without_contents,
)
from harness.judge.tensors import leaves, plain, same
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


def test_what_was_shown_may_be_let_go_of_and_what_is_written_then_is_not_seen_before_it_is_shown():
    first, second = [torch.arange(4.0)], [torch.arange(4.0) + 10]
    sets = InputSets(first, 1, HostArena)
    sets.write(0, first)
    sets.reveal()
    sets.let_go()
    assert sets.written_apart(0) is None
    assert sets.unchanged(0, first)
    sets.arena.bytes()[RED_ZONE - 1] = 0  # whatever a subject does to the arena is not taken over
    sets.write(0, second)
    assert sets.unchanged(0, first)
    sets.reveal()
    assert sets.unchanged(0, second)
    assert sets.red_zones_intact(0)
    sets.close()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn])
def test_one_kind_is_negative_throughout_and_of_none_of_its_elements_nearly_zero(dtype):
    (found,) = stressed([torch.rand(1000, 100).to(dtype)], "narrow", 3)
    assert found.float().max() < -0.01


def test_what_is_no_tensor_is_as_it_was_written_to_each_slot():
    sets = InputSets([torch.zeros(2), 3, {"a": [True, None], "b": "mean"}], 3, HostArena)
    assert sets.plain_of([0, 1]) is None
    sets.write(1, [torch.ones(2), 3, {"a": [True, None], "b": "mean"}])
    assert sets.plain_of([0, 1]) is None
    sets.write(1, [torch.ones(2), 7.5, {"a": [False, None], "b": "sum"}])
    assert sets.plain_of([1, 0]) == [(7.5, False, None, "sum"), (3, True, None, "mean")]
    assert sets.arguments(1)[1:] == [7.5, {"a": [False, None], "b": "sum"}]
    assert sets.written_apart(0)[1:] == [3, {"a": [True, None], "b": "mean"}]
    sets.write(1, [torch.ones(2), 3, {"a": [True, None], "b": "mean"}])
    assert sets.plain_of([1]) == [(3, True, None, "mean")]
    sets.close()


def test_contents_that_were_drawn_together_have_the_plain_values_of_their_draw():
    sets = InputSets([torch.zeros(2), True], 3, HostArena)
    sets.write_together([2, 0], [torch.ones(2, 2), False])
    assert sets.plain_of([0, 1, 2]) == [(False,), (True,), (False,)]
    sets.close()


def test_of_a_copied_arena_what_was_written_crosses_with_the_red_zones_around_it_and_once():
    sets = InputSets([torch.zeros(2)], 3, HostArena)
    slot = InputSets.size_of([torch.zeros(2)])
    assert sets.newly_written() == ((0, 3 * slot + RED_ZONE),)
    assert sets.newly_written() == ()
    sets.write(1, [torch.ones(2)])
    sets.write_together([2], [torch.ones(1, 2)])
    assert sets.newly_written() == ((slot, slot + RED_ZONE), (2 * slot, slot + RED_ZONE))
    sets.show_all()
    assert len(sets.newly_written()) == 1
    sets.close()


@pytest.mark.parametrize("where", ["host", "device, at once", "device, one by one"])
def test_slots_are_untouched_while_they_and_the_zones_around_them_hold_what_was_shown(monkeypatch, where):
    monkeypatch.setattr(InputSets, "on_device", where != "host")
    monkeypatch.setattr(module, "_AT_ONCE", 0 if "one" in where else 1 << 26)
    example = [torch.zeros(5), torch.zeros(3, dtype=torch.uint8)]
    sets, slot = InputSets(example, 4, HostArena), InputSets.size_of(example)
    sets.write_together([2, 0, 1, 3], [torch.rand(4, 5), torch.zeros(4, 3, dtype=torch.uint8)])
    sets.reveal()
    raw = sets.arena.bytes()
    assert sets.untouched([3, 0, 1, 2])
    for at in (2 * slot, 2 * slot + RED_ZONE, 3 * slot + RED_ZONE - 1):
        raw[at] ^= 1
        assert not sets.untouched([0, 2])
        assert sets.untouched([0])
        raw[at] ^= 1
    assert sets.untouched([2])
    del raw
    sets.close()


def test_complex_inputs_are_drawn_anew_in_both_parts():
    value = torch.polar(torch.ones(8, 8), torch.zeros(8, 8))
    for kind in KINDS:
        (found,) = stressed([value], kind, 5)
        assert (found.dtype, found.shape) == (value.dtype, value.shape)
        assert not torch.equal(found.real, value.real)
        assert not torch.equal(found.imag, value.imag)


DTYPES = [torch.float32, torch.float64, torch.float16, torch.float8_e4m3fn, torch.complex64]


@pytest.mark.parametrize("kind", VARIED)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_are_varied_by_little_and_keep_their_signs_and_zeros(monkeypatch, kind, dtype, layout):
    monkeypatch.setattr(module, "PIECE", 50)
    value = (LAYOUTS[layout]() * 4 - 2).to(dtype)
    value = (
        torch.where(value.float().abs() < 0.5, torch.zeros((), dtype=dtype), value) if not dtype.is_complex else value
    )
    (found, kept) = varied([value, value], kind, 3, (0,))
    assert (found.shape, found.dtype, kept is value) == (value.shape, dtype, True)
    assert same(varied([value], kind, 3, (0,)), [found])
    assert not same(found, value)
    before, after = ((one.real if dtype.is_complex else one.float()).flatten().sort().values for one in (value, found))
    assert torch.equal(before.sign(), after.sign())
    assert torch.equal(before.abs() <= 1, after.abs() <= 1)
    assert (after - before).abs().max() <= 0.6 * before.abs().max()


def test_varied_values_of_a_graph_are_those_of_the_same_graph_with_other_names():
    edges = torch.diag(torch.ones(63), 1) + torch.diag(torch.ones(63), -1) + torch.eye(64)
    (found,) = varied([edges], "shuffled", 3, (0,))
    shape = found > 0
    assert torch.equal(shape, shape.t())
    assert bool(shape.diagonal().all())
    assert not torch.equal(shape, edges > 0)
    assert torch.equal(shape.sum(1).sort().values, (edges > 0).sum(1).sort().values)
    (kept,) = varied([edges], "varied", 3, (0,))
    assert torch.equal(kept > 0, edges > 0)
    assert len(kept[kept > 0].unique()) == int((edges > 0).sum())


def test_no_mean_of_varied_values_is_known_beforehand():
    means = {round(float(varied([torch.ones(10_000)], "varied", seed, (0,))[0].mean()), 3) for seed in range(20)}
    assert len(means) > 10
    assert max(means) - min(means) > 0.03


def test_values_within_arguments_are_varied_too():
    whole, values = torch.arange(6), torch.rand(6)
    ((found, integers, word),) = varied([[values, whole, "mean"]], "shuffled", 3, (0,))
    assert not same(found, values)
    assert (same(integers, whole), word) == (True, "mean")


NESTED = {
    "list": lambda *leaves: [list(leaves)],
    "tuple": lambda *leaves: [3, tuple(leaves)],
    "dict": lambda *leaves: [dict(zip("abc", leaves, strict=False))],
    "deep": lambda *leaves: [[{"k": (leaves[0], "mean")}, list(leaves[1:])], None],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", NESTED)
def test_tensors_within_arguments_are_drawn_anew_with_the_numbers_of_flat_ones(kind, form):
    values = [torch.rand(4, 5), torch.arange(6), torch.rand(7).half()]
    inputs = NESTED[form](*values)
    found, flat = stressed(inputs, kind, 3), stressed(values, kind, 3)
    assert same(leaves(found), leaves(flat))
    assert same(plain_of(found), plain_of(inputs))
    assert not same(leaves(found)[0], values[0])
    assert not same(leaves(found)[2], values[2])
    assert found[-1] is None or type(found[-1]) is type(inputs[-1])


def plain_of(inputs):
    return [one for one in plain(inputs) if not isinstance(one, torch.Tensor)]


def test_integers_within_arguments_are_put_in_another_order():
    order, mask, rising = torch.arange(64) * 37 % 64, torch.rand(64) < 0.5, torch.arange(64)
    (found,) = permuted([[order, mask, rising]], 3)
    assert [same(*two) for two in zip(found, (order, mask, rising), strict=True)] == [False, False, True]
    assert same(found[0].sort().values, rising)
    at_places, others = permuted([{"order": order, "mask": mask}, [order]], 3, (0,))
    assert not same(at_places["order"], order)
    assert same((at_places["mask"], others), (mask, [order]))


def test_the_order_of_flat_integers_is_that_of_their_seed():
    values = [torch.rand(3), torch.arange(64) * 37 % 64, 5, torch.arange(32) * 7 % 32]
    torch.manual_seed(9)
    wanted = [values[1][torch.randperm(64)], values[3][torch.randperm(32)]]
    assert same(permuted(values, 9), [values[0], wanted[0], 5, wanted[1]])
    assert same(permuted(values, 9, (1,)), [values[0], wanted[0], 5, values[3]])


def test_the_values_of_flat_tensors_are_those_of_their_seed():
    values = [torch.rand(3, 2), "sum", torch.arange(4), torch.rand(5).half()]
    torch.manual_seed(9)
    wanted = [torch.randn(3, 2), "sum", values[2], torch.randn(5).half()]
    assert same(stressed(values, "signed", 9), wanted)


def test_a_large_tensor_that_is_there_twice_stays_one(monkeypatch):
    monkeypatch.setattr(module, "PIECE", 50)
    value = torch.rand(24, 35)
    first, (second, third) = stressed([value, [value, value]], "signed", 3)
    assert first is second is third


def test_what_is_asked_for_its_layout_alone_takes_no_memory_within_arguments_either():
    (found, number) = without_contents([[torch.rand(4, 5).t(), {"a": torch.rand(3)}], 4])
    assert [leaf.device.type for leaf in leaves(found)] == ["meta", "meta"]
    assert (found[0].shape, found[0].stride(), number) == ((5, 4), (1, 5), 4)
