"""Races are told from what only looks like one, and accesses next to a tensor from those within."""

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.schema.build import BuildRequest
from harness.worker.lines import place_in_candidate

SOURCE = Path(__file__).parent / "kernels" / "races.cu"
PAIRS = re.findall(r"^PAIR\((\w+)\)", SOURCE.read_text(), re.MULTILINE)
FINE = re.findall(r"^FINE\((\w+)\)", SOURCE.read_text(), re.MULTILINE)
ASCENDING, DESCENDING, BY_WARPS, BY_THREADS = 1, 2, 3, 4
NOTHING, FAULTS, STRICTLY = 0, 1, 2
OTHER, DATA_RACE, OUT_OF_BOUNDS = 0, 1, 2
ZONE = 256  # bytes


class Zone(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("begin", "end", "first", "limit")]


ZoneOf = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Zone))


class Tensors:
    """Arrays with red zones around them, and who asks where they end."""

    def __init__(self) -> None:
        self._memory = np.zeros(1 << 16, np.uint8)
        self._zones: list[tuple[int, int]] = []
        self._used = 0
        self.zone_of = ZoneOf(self._find)

    def make(self, values: np.ndarray) -> np.ndarray:
        start = self._used + ZONE
        self._used = start + values.nbytes + ZONE
        made = self._memory[start : start + values.nbytes].view(values.dtype)
        made[:] = values
        self._zones.append((made.ctypes.data, made.ctypes.data + values.nbytes))
        return made

    def _find(self, address: int, found: "ctypes._Pointer[Zone]") -> None:
        first, limit = 0, (1 << 64) - 1  # of what lies between two
        for begin, end in self._zones:
            if begin - ZONE <= address < end + ZONE:
                found[0] = Zone(begin, end, begin - ZONE, end + ZONE)
                return
            if end + ZONE <= address:
                first = max(first, end + ZONE)
            else:
                limit = min(limit, begin - ZONE)
        found[0] = Zone(None, None, first, limit)


@pytest.fixture(scope="module")
def races(load_watchable: Callable[..., ctypes.CDLL], tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load_watchable(SOURCE.read_text(), tmp_path_factory.mktemp("races") / "races.so")


def places(races: ctypes.CDLL) -> list[str | None]:
    """Where the accesses were that ended the last launch."""
    found = (ctypes.c_uint32 * 2)()
    races.cuda_emulation_fault(found)
    source = SOURCE.read_text()
    request = BuildRequest(name="races", files={"candidate.cu": source})
    path = Path(races._name)
    return [place_in_candidate(path, place, request, "no such text") if place else None for place in found]


def called(races: ctypes.CDLL, name: str, order: int, watch: int, *, racy: bool) -> tuple[int, np.ndarray]:
    """The kind of fault, and all that the kernel wrote."""
    tensors = Tensors()
    x = tensors.make(np.random.default_rng(3).permutation(512).astype(np.float32))
    out, counters = tensors.make(np.zeros(1024, np.float32)), tensors.make(np.zeros(8, np.int32))
    races.cuda_emulation_schedule(order, ctypes.c_uint64(order * 7919 + 5), watch, tensors.zone_of)
    function = getattr(races, f"{name}_of")
    function.restype = ctypes.c_char_p
    said = function(int(racy), *(ctypes.c_void_p(value.ctypes.data) for value in (x, out, counters)))
    kind = races.cuda_emulation_fault((ctypes.c_uint32 * 2)())
    assert bool(said) == (kind != OTHER), said
    return kind, np.concatenate([out, counters.astype(np.float32)])


def is_racy(races: ctypes.CDLL, name: str, *, racy: bool) -> bool:
    """As the judge tells: by what is watched in one order, or by outputs that differ between three."""
    faults = {called(races, name, order, FAULTS, racy=racy)[0] for order in (ASCENDING, DESCENDING, BY_THREADS)}
    outputs = [called(races, name, order, NOTHING, racy=racy)[1] for order in (ASCENDING, DESCENDING, BY_WARPS)]
    assert faults <= {OTHER, DATA_RACE}
    return DATA_RACE in faults or not all(np.allclose(outputs[0], o, equal_nan=True) for o in outputs[1:])


def test_the_corpus_is_as_large_as_is_said() -> None:
    assert len(PAIRS) >= 20


@pytest.mark.parametrize("name", PAIRS)
def test_a_race_is_told_from_its_twin_that_has_a_barrier(races: ctypes.CDLL, name: str) -> None:
    assert is_racy(races, name, racy=True)
    assert not is_racy(races, name, racy=False)


@pytest.mark.parametrize("name", FINE)
def test_what_only_looks_like_a_race_is_none(races: ctypes.CDLL, name: str) -> None:
    assert not is_racy(races, name, racy=False)


def line_of(text: str) -> str:
    """The place of the one line of the source that holds a text."""
    (line,) = (number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line)
    return f"candidate.cu:{line}"


def test_both_accesses_of_a_race_are_told_by_their_lines(races: ctypes.CDLL) -> None:
    called(races, "broadcast_then_overwrite", ASCENDING, FAULTS, racy=True)
    assert places(races) == [line_of("s[T] = s[T] - first;"), line_of("const float first = s[0];")] or places(
        races
    ) == [line_of("const float first = s[0];"), line_of("s[T] = s[T] - first;")]


def test_a_race_between_atomics_and_a_read_is_told_by_the_candidates_lines(races: ctypes.CDLL) -> None:
    called(races, "atomic_then_read", ASCENDING, FAULTS, racy=True)
    assert set(places(races)) <= {f"candidate.cu:{n}" for n in range(1, SOURCE.read_text().count("\n"))}


def test_what_may_be_meant_is_a_race_where_one_is_looked_for_strictly(races: ctypes.CDLL) -> None:
    assert called(races, "scratch_in_global", ASCENDING, FAULTS, racy=True)[0] == OTHER
    assert called(races, "scratch_in_global", ASCENDING, STRICTLY, racy=True)[0] == DATA_RACE
    assert called(races, "scratch_in_global", ASCENDING, STRICTLY, racy=False)[0] == OTHER


def touched(races: ctypes.CDLL, *, in_shared: bool, writes: bool, offset: int, watch: int = FAULTS) -> str:
    tensors = Tensors()
    x, out = tensors.make(np.zeros(512, np.float32)), tensors.make(np.zeros(512, np.float32))
    races.cuda_emulation_schedule(ASCENDING, ctypes.c_uint64(0), watch, tensors.zone_of)
    races.touch.restype = ctypes.c_char_p
    pointers = (ctypes.c_void_p(value.ctypes.data) for value in (x, out))
    said = races.touch(int(in_shared), int(writes), offset, *pointers)
    assert isinstance(said, bytes)
    kind = races.cuda_emulation_fault((ctypes.c_uint32 * 2)())
    assert kind == (OUT_OF_BOUNDS if said else OTHER)
    return said.decode()


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize(("in_shared", "size"), [(False, 512), (True, 100)])
def test_an_access_next_to_a_tensor_is_seen_on_both_sides(
    races: ctypes.CDLL, in_shared: bool, size: int, writes: bool
) -> None:
    what = f"out-of-bounds {'write' if writes else 'read'}: 4 bytes, "
    of = f"of {'shared memory' if in_shared else 'a tensor'} of {size * 4} bytes"
    for offset, where in ((-1, "4 before the start "), (-60, "240 before the start "), (size, "0 past the end ")):
        assert f"{what}{where}{of}" in touched(races, in_shared=in_shared, writes=writes, offset=offset)
    if not in_shared:  # shared memory is followed by a page that nobody may touch
        assert f"{what}240 past the end {of}" in touched(races, in_shared=False, writes=writes, offset=size + 60)
    for offset in (0, size - 1):
        assert touched(races, in_shared=in_shared, writes=writes, offset=offset) == ""


def test_an_access_out_of_bounds_is_told_by_its_line(races: ctypes.CDLL) -> None:
    touched(races, in_shared=False, writes=True, offset=512)
    assert places(races) == [line_of("if (writes) out[offset] = 1;"), None]


def test_a_guard_page_is_told_by_its_line_without_being_watched(races: ctypes.CDLL) -> None:
    assert "out-of-bounds access of a __shared__" in touched(
        races, in_shared=True, writes=True, offset=100, watch=NOTHING
    )
    assert places(races)[0] == line_of("if (writes) s[offset] = 1;")


@pytest.mark.parametrize(
    ("four", "writes", "offset", "needs"),
    [
        (True, False, 4, 0), (True, False, 1, 16), (True, False, 2, 16), (True, True, 8, 0), (True, True, 3, 16),
        (False, False, 2, 0), (False, False, 1, 8),
    ],
)  # fmt: skip
def test_several_elements_at_once_have_to_be_aligned(
    races: ctypes.CDLL, four: bool, writes: bool, offset: int, needs: int
) -> None:
    tensors = Tensors()
    x, out = tensors.make(np.zeros(512, np.float32)), tensors.make(np.zeros(512, np.float32))
    assert x.ctypes.data % 16 == out.ctypes.data % 16 == 0
    races.cuda_emulation_schedule(ASCENDING, ctypes.c_uint64(0), FAULTS, tensors.zone_of)
    races.move.restype = ctypes.c_char_p
    said = races.move(int(four), int(writes), offset, *(ctypes.c_void_p(value.ctypes.data) for value in (x, out)))
    if not needs:
        assert said == b""
        return
    assert f"misaligned address: the access needs a multiple of {needs} bytes" in said.decode()
    assert re.match(r"candidate.cu:\d+", places(races)[0] or "")


KNOWS_ITS_OWN_TENSOR = """
#include <cuda_runtime.h>
__global__ void doubles(float* x) { x[threadIdx.x] *= 2; }
static float* begin;
int asked_at_once, most_at_once;
static void zone_of(const void* address, cuda_emulation::Zone* zone) {
    if (++asked_at_once > most_at_once) most_at_once = asked_at_once;
    const char *at = (const char*)begin, *end = (const char*)(begin + 32), *asked = (const char*)address;
    if (asked >= at && asked < end) *zone = {at, end, at, end};
    else *zone = {nullptr, nullptr, asked, asked + 1};
    --asked_at_once;
}
extern "C" int watched(float* x) {
    begin = x;
    cuda_emulation::schedule = {1, 0, cuda_emulation::Watch::faults, zone_of};
    doubles<<<1, 32>>>(x);
    return most_at_once;
}
"""


def test_who_knows_tensors_may_be_compiled_with_the_kernel_and_is_not_watched(
    load_watchable: Callable[..., ctypes.CDLL], tmp_path: Path
) -> None:
    module = load_watchable(KNOWS_ITS_OWN_TENSOR, tmp_path / "own.so")
    x = (ctypes.c_float * 32)(*range(32))
    assert module.watched(x) == 1
    assert list(x) == [2.0 * i for i in range(32)]
