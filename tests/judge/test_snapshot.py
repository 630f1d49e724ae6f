"""What is kept of outputs is what was there, whatever is written afterwards."""

import ctypes
import mmap
import os

import pytest
import torch

from harness.judge import snapshot as kept
from harness.judge.failure import SubjectFailed
from harness.judge.snapshot import (
    PLACES,
    Allocation,
    Source,
    gather,
    keep,
    mappings_of,
    places_in,
    places_of,
    rare_places,
    share_pages,
    shown_twice,
)
from harness.transport.memory import HostArena
from harness.transport.values import TensorValue


def layout_of(tensor):
    return TensorValue(
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(tensor.shape),
        strides=tensor.stride(),
        offset=tensor.data_ptr(),
    )


def source_of(tensor, *, mapped):
    raw = tensor.untyped_storage()
    everything = torch.empty(0, dtype=torch.uint8).set_(raw)
    return Source(os.getpid(), tensor.data_ptr(), "", everything if mapped else None)


@pytest.mark.parametrize("mapped", [False, True])
def test_all_of_a_small_output_is_kept(mapped):
    output = torch.randn(30, 40)
    found = keep(source_of(output, mapped=mapped), layout_of(output), whole=True)
    before = output.clone()
    output.zero_()
    assert torch.equal(found.data[: output.numel() * 4].view(torch.float32), before.reshape(-1))
    assert not found.unchanged()


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex64])
def test_of_a_large_output_elements_are_kept_wherever_its_rows_lie(mapped, dtype):
    room = torch.randn(640, 1000).to(dtype)
    output = room[:, :50].t()
    found = keep(source_of(room, mapped=mapped), layout_of(output), whole=False).sampled()
    assert found.shape == (50, 640)
    assert len(found.places) == PLACES
    assert torch.equal(found.values, output.reshape(-1)[found.places])


def test_a_larger_output_than_the_last_is_covered_up_to_a_point():
    room = torch.zeros(100_000)
    found = keep(source_of(room, mapped=True), layout_of(room[:1000]), whole=True)
    assert found.as_laid_out(layout_of(room[:1400])) is found
    assert found.as_laid_out(layout_of(room[:1600])) is None


def test_memory_that_is_not_there_is_not_kept():
    with pytest.raises(OSError, match=r"Bad address|not mapped"):
        keep(Source(os.getpid(), 64), layout_of(torch.zeros(4)), whole=True)
    with pytest.raises(OSError, match=r"Bad address|not mapped"):
        keep(Source(os.getpid(), 64), layout_of(torch.zeros(4)), whole=False)


def test_every_mapping_of_an_arena_is_found():
    arena = HostArena(1 << 16)
    descriptor = arena.descriptor()
    again = mmap.mmap(descriptor, 4096, offset=8192)
    found = mappings_of(os.getpid(), descriptor)
    os.close(descriptor)
    assert arena.bytes().data_ptr() in {one.start for one in found}
    assert 8192 in {one.offset for one in found}
    again.close()
    arena.close()


@pytest.fixture
def oddly_named(tmp_path, monkeypatch):
    """Makes a file of a name, as deep down as is asked, and maps a page of it."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, *[ctypes.c_long] * 5]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    monkeypatch.chdir(tmp_path)
    mapped = []

    def named(name, *, times=1, depth=0):
        for _ in range(depth):
            os.mkdir(name)
            os.chdir(name)
        with open(name, "w+b") as file:
            file.truncate(mmap.PAGESIZE)
            shared = mmap.MAP_SHARED, file.fileno(), 0
            mapped.extend(libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ, *shared) for _ in range(times))

    yield named
    for address in mapped:
        libc.munmap(address, mmap.PAGESIZE)


def test_a_name_that_goes_on_like_another_line_is_no_mapping(oddly_named):
    arena = HostArena(1 << 16)
    descriptor = arena.descriptor()
    file = os.fstat(descriptor)
    device = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}"
    for end in "\r\n\v\x85":
        oddly_named(f"{end}00001000-00003000 r--s 00000000 {device} {file.st_ino} ")
    found = mappings_of(os.getpid(), descriptor)
    os.close(descriptor)
    assert {one.start for one in found} == {arena.bytes().data_ptr()}
    arena.close()


def test_mappings_of_longer_names_than_anybody_needs_are_the_workers_failure(oddly_named):
    oddly_named("\n" * 250, times=1500, depth=13)
    with pytest.raises(SubjectFailed, match="more than 16 MiB"):
        shown_twice(os.getpid(), [])


def test_pages_that_outputs_of_two_calls_share_by_two_mappings_are_found():
    page, file = mmap.PAGESIZE, os.memfd_create("pages")
    os.ftruncate(file, 4 * page)
    maps = [mmap.mmap(file, 2 * page, offset=offset) for offset in (0, page, 2 * page)]
    os.close(file)
    at = [ctypes.addressof(ctypes.c_char.from_buffer(one)) for one in maps]
    (whole, second, last), pid = [(start, start + 2 * page) for start in at], os.getpid()
    assert share_pages(pid, [[whole], [second]])
    assert share_pages(pid, [[(at[0] + page + 8, at[0] + page + 16)], [last, (at[1], at[1] + 9)]])
    assert not share_pages(pid, [[(at[0] + page + 8, at[0] + page + 16)], [(at[1], at[1] + 8)]])
    assert not share_pages(pid, [[(at[0], at[0] + page)], [(at[1], at[1] + page)]])
    assert not share_pages(pid, [[whole], [last]])
    assert not share_pages(pid, [[whole, second], [(at[2] + page, at[2] + 2 * page)]])


def test_pages_that_are_shown_twice_in_one_output_are_found():
    page = mmap.PAGESIZE
    libc = ctypes.CDLL(None)
    libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, *[ctypes.c_long] * 5]
    file = os.memfd_create("pages")
    os.ftruncate(file, 4 * page)
    base = libc.mmap(None, 4 * page, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    for at, shown in enumerate((1, 2, 1)):
        libc.mmap(base + at * page, page, mmap.PROT_READ, mmap.MAP_SHARED | 0x10, file, shown * page)  # MAP_FIXED
    os.close(file)
    assert shown_twice(os.getpid(), [(base, base + 4 * page)])
    assert shown_twice(os.getpid(), [(base + 100, base + 2 * page + 200)])
    assert not shown_twice(os.getpid(), [(base, base + 2 * page), (base + 2 * page, base + 4 * page)])
    assert not shown_twice(os.getpid(), [(base + 100, base + 2 * page + 50)])
    libc.munmap(ctypes.c_void_p(base), ctypes.c_long(4 * page))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex128, torch.float16])
def test_elements_of_all_outputs_are_gathered_wherever_they_lie(monkeypatch, dtype):
    monkeypatch.setattr(kept, "device_bytes", from_address)
    rooms = [torch.randn(4, 300).to(dtype) for _ in range(3)]
    outputs = [rooms[room][row, 10:110] for room, row in ((0, 1), (2, 3), (1, 0), (0, 2))]
    worker = 1 << 40  # its addresses are others
    allocations = [
        Allocation(worker * (at + 1), room.nbytes, str(at), room.view(torch.uint8).view(-1))
        for at, room in enumerate(rooms)
    ]

    def address(output):
        for one in allocations:
            if 0 <= (offset := output.data_ptr() - one.raw.data_ptr()) < one.size:
                return one.base + offset
        raise AssertionError

    layout = layout_of(outputs[0])
    places = places_in(layout, torch.device("cpu"))
    found = gather([[address(output)] for output in outputs], [layout], [places], allocations)
    expected = [output.clone() for output in outputs]
    for room in rooms:
        room.zero_()
    for call, output in enumerate(expected):
        ((one,),) = found.of(call).values()
        assert torch.equal(one.sampled().values, output)
        assert one.source.address == address(outputs[call])
        assert not one.unchanged()


@pytest.mark.parametrize("address", [0, (1 << 40) - 4, (1 << 40) + 4000, (1 << 40) + 2, 1 << 62])
def test_an_output_outside_of_what_is_mapped_is_not_gathered(monkeypatch, address):
    monkeypatch.setattr(kept, "device_bytes", from_address)
    room = torch.zeros(1000)
    allocation = Allocation(1 << 40, room.nbytes, "", room.view(torch.uint8))
    layout = layout_of(room[:100])
    places = places_in(layout, torch.device("cpu"))
    found = gather([[1 << 40], [address], [1 << 40, 1 << 40]], [layout], [places], [allocation])
    assert list(found.of(0)) == [1 << 40]
    assert found.of(1) == found.of(2) == {}


def from_address(address, size, device):
    del device
    return torch.frombuffer((ctypes.c_ubyte * size).from_address(address), dtype=torch.uint8)


@pytest.mark.parametrize(
    ("strides", "enough"),
    [((150, 1), True), ((1, 100), True), ((153, 1), True), ((300, 1), False), ((1200, 1), False), ((0, 1), False)],
)
@pytest.mark.parametrize("turned", [False, True])
def test_what_was_read_by_one_layout_counts_for_another_of_nearly_the_same_words(strides, enough, turned):
    """At what they do not share nobody would look, and a candidate chooses how it lays out its outputs."""
    room = torch.arange(200_000, dtype=torch.float32)
    dense, other = room.as_strided((100, 150), (150, 1)), room.as_strided((100, 150), strides)
    old, new = (other, dense) if turned else (dense, other)
    found = keep(source_of(room, mapped=True), layout_of(old), whole=False).as_laid_out(layout_of(new))
    assert (found is not None) == enough
    if found is not None:
        assert torch.equal(found.sampled().values, new.reshape(-1)[found.sampled().places])


def test_a_longer_output_is_covered_as_far_as_the_words_of_a_shorter_one_go():
    room = torch.arange(30_000, dtype=torch.float32)
    found = keep(source_of(room, mapped=True), layout_of(room[:20_000]), whole=False)
    assert found.as_laid_out(layout_of(room[:20_500])) is not None
    assert found.as_laid_out(layout_of(room[:22_000])) is None
    assert found.as_laid_out(layout_of(room[:10_000])) is not None


def test_words_tell_nothing_of_an_output_that_repeats_its_elements():
    room = torch.zeros(200, 150)
    found = keep(source_of(room, mapped=True), layout_of(room), whole=False)
    assert found.as_laid_out(layout_of(room[:1].expand(200, 150))) is None


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.float16, torch.int64])
@pytest.mark.parametrize("rare", [1, 40, 3 * PLACES])
def test_half_of_the_places_are_where_an_output_is_not_what_nearly_all_of_it_is(dtype, rare):
    output = torch.zeros(1 << 12, 1 << 11).to(dtype)
    at = torch.randperm(output.numel())[:rare]
    output.view(-1)[at] = 1
    found = rare_places(output)
    assert len(found) == PLACES // 2
    assert bool((output.view(-1)[found] == 1).all())
    assert len(found.unique()) >= min(rare, 3000)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_rare_elements_of_eight_bits_are_found_by_their_bits(dtype):
    output = torch.zeros(300, 1000)
    output[7, 11] = 2
    assert set(rare_places(output.to(dtype)).tolist()) == {7 * 1000 + 11}


@pytest.mark.parametrize(
    "output",
    [
        torch.zeros(100_000),  # nowhere is anything else
        torch.randn(100_000),
        torch.zeros(50),
        torch.zeros(100_000, dtype=torch.complex64),
        torch.zeros(100_000, dtype=torch.float8_e5m2),
    ],
)
def test_where_random_places_tell_enough_or_none_is_another_there_are_no_rare_ones(output):
    assert rare_places(output) is None


def test_nearly_all_is_told_of_a_transposed_tensor_by_its_own_order():
    output = torch.zeros(300, 1000)
    output[7, 11] = 5
    assert set(rare_places(output.t()).tolist()) == {11 * 300 + 7}


def test_places_that_are_wanted_of_a_call_are_gathered_of_that_call(monkeypatch):
    monkeypatch.setattr(kept, "device_bytes", from_address)
    outputs = [torch.zeros(200, 200) for _ in range(3)]
    outputs[1][123, 45] = 7
    worker = 1 << 40
    allocations = [
        Allocation(worker * (at + 1), one.nbytes, str(at), one.view(torch.uint8).view(-1))
        for at, one in enumerate(outputs)
    ]
    layout = layout_of(outputs[0])
    places = places_of(
        layout, torch.device("cpu"), 3, {1: rare_places(outputs[1]), 2: None, 9: rare_places(outputs[1])}
    )
    found = gather([[one.base] for one in allocations], [layout], [places], allocations)
    sevens = [int((found.of(call)[worker * (call + 1)][0].sampled().values == 7).sum()) for call in range(3)]
    assert sevens[1] >= PLACES // 2
    assert sevens[0] == sevens[2] == 0
    sampled = found.of(1)[worker * 2][0].sampled()
    assert torch.equal(sampled.values, outputs[1].view(-1)[sampled.places])


def test_places_that_are_wanted_of_an_output_of_another_size_are_not_taken():
    layout = layout_of(torch.zeros(100, 100))
    assert places_of(layout, torch.device("cpu"), 2, {0: torch.tensor([50_000])}).flat.dim() == 1


@pytest.mark.parametrize("mapped", [False, True])
def test_places_that_are_wanted_are_kept_on_the_host(mapped):
    room = torch.zeros(400, 300)
    room[3, 4] = 9
    wanted = rare_places(room)
    found = keep(source_of(room, mapped=mapped), layout_of(room), whole=False, wanted=wanted).sampled()
    assert int((found.values == 9).sum()) >= PLACES // 2
