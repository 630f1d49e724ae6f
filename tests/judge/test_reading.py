"""Outputs of the host are copied as large as they are, however far they spread."""

import ctypes
import mmap
import os

import pytest
import torch

from harness.judge import reading
from harness.judge.reading import bytes_of_copy, read_output, read_to_device, spreads
from harness.transport.values import TensorValue


def described(tensor):
    return TensorValue(
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(tensor.shape),
        strides=tensor.stride(),
        offset=tensor.data_ptr(),
    )


def copied(tensor):
    return read_output(os.getpid(), tensor.data_ptr(), described(tensor))


@pytest.fixture(params=[4, 96, mmap.PAGESIZE])
def small_pieces(monkeypatch, request):
    """What is read at once, how far apart runs are read by themselves, and how many of them."""
    monkeypatch.setattr(reading, "_AT_ONCE_BYTES", 256)
    monkeypatch.setattr(reading, "_FAR_BYTES", request.param)
    monkeypatch.setattr(reading, "_MOST_RUNS", 50)


@pytest.mark.parametrize(
    "cut",
    [
        lambda room: room[:, :3],
        lambda room: room[:, ::50].t(),
        lambda room: room[::20, :1].expand(-1, 4),
        lambda room: room[:2, :1],
        lambda room: room.flatten()[:: room.numel() - 1],
        lambda room: room.view(10, 4, 10, 20)[:, 1, :, 3],
        lambda room: room,
        lambda room: room[0, 0],
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex128, torch.float16])
@pytest.mark.usefixtures("small_pieces")
def test_what_is_copied_is_what_is_there_however_it_lies(cut, dtype):
    output = cut(torch.randn(40, 200).to(dtype))
    assert torch.equal(copied(output), output)


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
def test_two_elements_that_lie_sixteen_gigabytes_apart_are_two_elements():
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    reserved = mmap.mmap(-1, 16 << 30, flags=private, prot=mmap.PROT_READ)
    values = torch.frombuffer(reserved, dtype=torch.float32)
    output = values[:: values.numel() - 1]
    assert spreads(described(output))
    assert bytes_of_copy(described(output)) == 8
    found = copied(output)
    assert found.untyped_storage().nbytes() == 8
    assert torch.equal(found, torch.zeros(2))


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
def test_rows_that_lie_megabytes_apart_are_read_without_what_lies_between(monkeypatch):
    """Or a candidate whose rows span three gigabytes keeps its judge for minutes."""
    monkeypatch.setattr(reading, "read_process", lambda *_: pytest.fail("read all that lies between"))
    reserved = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
    output = torch.frombuffer(reserved, dtype=torch.float32).view(64, 2, -1)[:, :, :1000]
    assert torch.equal(copied(output), torch.zeros(64, 2, 1000))


def test_the_slice_of_a_padded_buffer_is_one_read():
    assert not spreads(described(torch.empty(1 << 10, 1 << 5)[:, :30]))


@pytest.mark.usefixtures("small_pieces")
def test_elements_over_each_other_and_far_apart_are_refused_before_a_byte_is_read():
    room = torch.zeros(100_000)
    with pytest.raises(ValueError, match="over each other"):
        copied(room.as_strided((3, 3, 3), (20_000, 10_000, 10_000)))


@pytest.mark.usefixtures("small_pieces")
def test_what_lies_between_elements_is_not_read():
    page = mmap.PAGESIZE
    values = torch.frombuffer(mmap.mmap(-1, 64 * page), dtype=torch.uint8)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(values.data_ptr() + page), 62 * page, 0) == 0
    far = values[:: 63 * page]
    assert torch.equal(copied(far), far)


def test_an_address_where_nothing_is_mapped_raises():
    with pytest.raises(OSError, match=r"Bad address|not mapped"):
        read_output(os.getpid(), 64, described(torch.zeros(4)))


@pytest.mark.parametrize(("rows", "address"), [(8, 0), (70_000, 0), (8, 1 << 63)])
def test_elements_beyond_all_addresses_cannot_be_and_do_not_wrap_around_to_others(rows, address):
    room = torch.arange(64.0)
    far = TensorValue(dtype="float32", shape=(rows,), strides=(1 << 62,), offset=0)

    with pytest.raises(ValueError, match="beyond all addresses"):
        read_output(os.getpid(), room.data_ptr() + address, far)


@pytest.mark.parametrize("room", [3, 64, 1 << 16])
def test_what_is_read_to_a_device_a_piece_at_a_time_is_the_same(room):
    tensor = torch.arange(5000, dtype=torch.int16).view(50, 100).t()[3:40]
    copy = read_to_device(
        os.getpid(), tensor.data_ptr(), described(tensor), torch.zeros(room, dtype=torch.uint8), torch.device("cpu")
    )
    assert torch.equal(copy, tensor)
    assert copy.stride() == tensor.stride()
    assert copy.data_ptr() != tensor.data_ptr()


def test_what_is_read_to_a_device_and_lies_far_apart_is_picked_out():
    room = torch.arange(1 << 26, dtype=torch.int32)
    tensor = room[:: 1 << 20]
    assert spreads(described(tensor))
    copy = read_to_device(
        os.getpid(), tensor.data_ptr(), described(tensor), torch.zeros(64, dtype=torch.uint8), torch.device("cpu")
    )
    assert torch.equal(copy, tensor)
