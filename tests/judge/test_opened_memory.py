"""Memory of a worker on a device, of which it says how much there is: a driver of our own stands for the device's."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.judge import opened_memory
from harness.judge.opened_memory import OpenedMemory
from harness.judge.output_reader import OutputReader
from harness.transport.values import SequenceValue, TensorValue
from harness.transport.worker_messages import Described, DeviceHandle

SIZE = 64


def handle(number: int, base: int | None = None, size: int = SIZE) -> DeviceHandle:
    return DeviceHandle(base=number * SIZE if base is None else base, size=size, handle=f"{number:0128x}")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> OpenedMemory:
    """Of every allocation SIZE bytes are mapped."""
    monkeypatch.setattr(
        opened_memory, "device_bytes", lambda address, size, device: torch.zeros(size, dtype=torch.uint8)
    )
    driver = SimpleNamespace(open_ipc=lambda raw: 0, size_at=lambda address: SIZE, close_ipc=lambda address: None)
    hardware: Any = SimpleNamespace(ipc=lambda: driver, wait=lambda: None)
    return OpenedMemory(hardware)


def test_of_many_allocations_that_one_is_overwritten_that_holds_an_output(opened):
    for number in (5, 1, 3, 2, 4):
        opened.open(handle(number))
    opened.mark([(3 * SIZE + 8, 16), (5 * SIZE, SIZE), (4 * SIZE + 8, SIZE)], 7)
    for fill in opened.fills():
        fill()
    written = {held.base // SIZE: held.raw.nonzero().view(-1).tolist() for held in opened.allocations}
    assert written == {1: [], 2: [], 3: list(range(8, 24)), 4: [], 5: list(range(SIZE))}


def test_ranges_that_touch_are_filled_and_what_lies_beside_them_is_not(opened):
    """The second allocation begins where the first ends: a range is of one of them."""
    one, other = (opened.open(handle(number)).raw for number in (0, 1))
    opened.mark([(48, 16), (0, 8), (8, 8), (SIZE, 4), (SIZE + 32, 8), (2 * SIZE, 4)], 0xFF)
    for fill in opened.fills():
        fill()
    assert one.nonzero().view(-1).tolist() == [*range(16), *range(48, 64)]
    assert other.nonzero().view(-1).tolist() == [*range(4), *range(32, 40)]


def test_memory_that_was_given_back_is_let_go_of_where_other_memory_lies_at_its_address(opened):
    for number in range(4):
        opened.open(handle(number))
    opened.open(handle(9, base=SIZE + 8, size=SIZE))  # over 1 and 2
    assert [held.base for held in sorted(opened.allocations, key=lambda held: held.base)] == [0, SIZE + 8, 3 * SIZE]
    opened.open(handle(1))
    opened.close()
    assert opened.allocations == []


def test_a_handle_to_more_than_there_is_is_refused_and_not_kept(opened):
    with pytest.raises(ValueError, match="claims to be"):
        opened.open(handle(1, size=SIZE + 1))
    assert opened.allocations == []


@pytest.mark.timeout(60)
def test_a_hundred_thousand_outputs_in_ten_thousand_allocations_end(opened):
    """They took minutes for every batch of rounds, in no deadline: each was looked for among all allocations."""
    handles = tuple(map(handle, range(10_000)))
    leaf = TensorValue(dtype="uint8", shape=(1,), strides=(1,), offset=0, device="cuda")
    leaves = [leaf.model_copy(update={"offset": place % len(handles) * SIZE + 3}) for place in range(140_000)]
    described = Described(outputs=(SequenceValue.model_construct(kind="list", items=tuple(leaves)),), handles=handles)
    conversation: Any = SimpleNamespace(pid=0)
    hardware: Any = SimpleNamespace(device=torch.device("cuda"), apart=True)
    inputs: Any = SimpleNamespace(part_at=lambda address, size: None, copied_arena=None)
    reader = OutputReader(conversation, hardware=hardware, inputs=inputs, opened=opened, memory_bytes=1 << 30)
    reader.open_all(described)
    opened.mark([(leaf.offset, 1) for leaf in leaves], 1)
    for fill in opened.fills():
        fill()
    assert all(held.raw[3] == 1 for held in opened.allocations)
