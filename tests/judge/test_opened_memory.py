"""What is mapped of a worker's device memory is overwritten as it is told, and nothing else."""

from types import SimpleNamespace

import torch

from harness.judge.opened_memory import OpenedMemory
from harness.judge.snapshot import Allocation


def test_ranges_that_touch_are_filled_and_what_lies_beside_them_is_not():
    """The second allocation begins where the first ends: a range is of one of them."""
    memory = OpenedMemory(SimpleNamespace(ipc=lambda: None, wait=lambda: None))
    one, other = (torch.zeros(size, dtype=torch.uint8) for size in (64, 32))
    memory._opened = {"a": Allocation(1000, 64, "a", one), "b": Allocation(1064, 32, "b", other)}

    memory.overwrite([(1032, 32), (1000, 8), (1008, 8), (1064, 4), (1080, 8), (1096, 4), (2000, 8)], 0xFF)

    assert (one == 0xFF).nonzero().view(-1).tolist() == [*range(16), *range(32, 64)]
    assert (other == 0xFF).nonzero().view(-1).tolist() == [*range(4), *range(16, 24)]
