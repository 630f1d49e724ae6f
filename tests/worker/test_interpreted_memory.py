"""What a launch of interpreted kernels may touch, and which program wrote what: on real memory, without Triton."""

import ctypes

import numpy as np
import pytest

from harness.worker.faults import KernelFault
from harness.worker.interpreted_memory import MOST_WATCHED_BYTES, LaunchMemory


class Tensor:
    """Elements at addresses, accessed as Triton's interpreter does: first told, then done."""

    def __init__(self, memory, values):
        self.memory, self.values = memory, values

    def pointers(self, *indices):
        return np.array([self.values.ctypes.data + i * self.values.itemsize for i in indices], dtype=np.uint64)

    def load(self, program, *indices, mask=True):
        self.memory.program = program
        self.memory.load(self.pointers(*indices), np.full(len(indices), mask), self.values.itemsize)

    def store(self, program, value, *indices, mask=True):
        self.memory.program = program
        new = np.full(len(indices), value, dtype=self.values.dtype)
        self.memory.store(self.pointers(*indices), np.full(len(indices), mask), new, read)
        if mask:
            self.values[list(indices)] = new


def read(pointers, mask, other, dtype):
    found = np.array(other, dtype=dtype)
    for at in np.flatnonzero(mask):
        found[at] = np.frombuffer(ctypes.string_at(int(pointers[at]), dtype.itemsize), dtype=dtype)[0]
    return found


def span(values):
    return values.ctypes.data, values.ctypes.data + values.nbytes


@pytest.fixture
def tensor():
    values = np.zeros(64, dtype=np.float32)
    return Tensor(LaunchMemory([span(values)]), values)


def kind_of_fault(act):
    with pytest.raises(KernelFault) as raised:
        act()
    return raised.value.kind


def test_accesses_within_a_tensor_are_nothing(tensor):
    tensor.load(1, 0, 63)
    tensor.store(1, 2.0, 0, 63)
    tensor.load(1, 0, 63)


@pytest.mark.parametrize("index", [64, 65, -1, 10_000])
def test_an_access_beside_every_tensor_is_out_of_bounds_unless_it_is_masked(tensor, index):
    assert kind_of_fault(lambda: tensor.load(1, 0, index)) == "out-of-bounds"
    assert kind_of_fault(lambda: tensor.store(1, 2.0, index, mask=True)) == "out-of-bounds"
    atomic = (tensor.pointers(index), np.array([True]), 4)
    assert kind_of_fault(lambda: tensor.memory.atomic(*atomic)) == "out-of-bounds"
    tensor.load(1, 0, index, mask=False)
    tensor.store(1, 2.0, index, mask=False)


def test_an_access_that_hangs_over_the_end_is_out_of_bounds(tensor):
    last_byte = tensor.pointers(63) + np.uint64(1)
    assert kind_of_fault(lambda: tensor.memory.load(last_byte, np.array([True]), 4)) == "out-of-bounds"


def test_the_fault_says_how_many_elements_and_how_far_from_a_tensor(tensor):
    with pytest.raises(KernelFault, match=r"load of 2 elements .*, 4 bytes behind one"):
        tensor.load(1, 65, 66)
    with pytest.raises(KernelFault, match=r"load of 1 elements .*, 8 bytes before one"):
        tensor.load(1, -2)


def test_one_access_may_reach_several_tensors():
    values = np.zeros(64, dtype=np.float32)
    memory = LaunchMemory([span(values[:16]), span(values[32:]), span(values[40:])])
    whole = Tensor(memory, values)
    whole.load(1, 0, 15, 32, 63)
    assert kind_of_fault(lambda: whole.load(1, 0, 20, 63)) == "out-of-bounds"


def test_what_pointers_made_of_numbers_reach_is_not_known(tensor):
    tensor.memory.foreign = True
    tensor.load(1, 1000)
    LaunchMemory([]).load(tensor.pointers(3), np.array([True]), 4)


@pytest.mark.parametrize("act", [lambda t: t.load(2, 5, 6), lambda t: t.store(2, 7.0, 5)])
def test_a_program_that_accesses_what_another_one_wrote_races(tensor, act):
    tensor.store(1, 3.0, 4, 5)
    assert kind_of_fault(lambda: act(tensor)) == "data-race"


def test_a_race_names_both_programs(tensor):
    tensor.store(4, 3.0, 5)
    with pytest.raises(KernelFault, match="program 8 reads what program 3 of the same launch wrote"):
        tensor.load(9, 5)


def test_own_elements_and_those_that_nobody_wrote_are_no_race(tensor):
    tensor.store(1, 3.0, 0, 1)
    tensor.store(2, 3.0, 2, 3)
    tensor.store(1, 4.0, 0, 1)
    tensor.load(2, 2, 3, 4)


def test_writes_that_change_nothing_are_no_race_not_even_of_what_is_no_number(tensor):
    tensor.store(1, np.nan, 5)
    tensor.store(2, np.nan, 5)
    tensor.store(3, 0.0, 6)
    tensor.load(4, 6)


def test_an_atomic_may_order_the_programs_of_its_launch(tensor):
    tensor.store(1, 3.0, 5)
    tensor.memory.atomic(tensor.pointers(6), np.array([True]), 4)
    tensor.load(2, 5)
    tensor.store(2, 4.0, 5)


def test_of_large_tensors_nobody_notes_who_wrote_them():
    values = np.zeros(MOST_WATCHED_BYTES + 1, dtype=np.uint8)
    tensor = Tensor(LaunchMemory([span(values)]), values)
    tensor.store(1, 3, 5)
    tensor.load(2, 5)


def test_elements_of_another_size_are_not_held_against_those_that_were_written(tensor):
    tensor.store(1, 3.0, 4)
    tensor.memory.program = 2
    tensor.memory.load(tensor.pointers(4), np.array([True]), 2)
