"""Memory that judge and worker both map, and the judge's way to read and overwrite a worker's own memory.

On the host an arena is a memfd. On the device it is an allocation of the driver's own (`cuMemCreate`), handed over
as a POSIX descriptor: nothing else of the judge's memory lies in it, whatever PyTorch's allocator did. Outputs lie
where the candidate put them: the judge reads them with `process_vm_readv`, or opens the driver's handle to the
allocation that holds them (`cuIpcGetMemHandle`). PyTorch's own sharing of CUDA tensors is not used: it fails across
uids and user namespaces.

Some drivers share no device memory between processes (Windows' subsystem for Linux, some virtual GPUs). There each
process has memory of its own and copies it over pinned host memory, which is shared: `CopiedArena`.

The driver is called through ctypes with the context that torch has made current.
"""

import ctypes
import errno
import fcntl
import math
import mmap
import os
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from harness.errors import DeviceError
from harness.transport.values import TensorValue

# To touch a page of a map that its file no longer has is a SIGBUS: no peer may cut the judge's arenas short.
_PIECE_BYTES = 1 << 30
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_ALIGN = 256  # of a tensor in an arena: what cudaMalloc promises, and enough for every vector load


def aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


def element_size(dtype: str) -> int:
    """Bytes of one element of torch's dtype of that name. Raises ValueError where there is none."""
    import torch

    found = getattr(torch, dtype, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"torch has no dtype {dtype!r}")  # noqa: TRY004  # a name of the wrong value, for a peer
    return found.itemsize


ArenaKind = Literal["host", "cuda", "copied"]
"""What a peer maps: host memory, device memory, or host memory behind device memory of its own (`CopiedArena`)."""


class Arena(Protocol):
    """A range of bytes that can be seen as tensors."""

    kind: ArenaKind
    size: int
    shared: bool
    """Whether others see at once what is written into `bytes`."""

    def bytes(self) -> Any:
        """All of it as a torch.uint8 tensor, shape (size,)."""

    def descriptor(self) -> int:
        """A descriptor that maps it elsewhere, owned by the caller."""

    def close(self) -> None: ...


def view(raw: Any, value: TensorValue, offset: int) -> Any:
    """The tensor that `value` describes, over the uint8 tensor `raw`, starting `offset` bytes into it.

    Shares memory with `raw`. Raises ValueError where it would reach outside of it.
    """
    import torch

    dtype = getattr(torch, value.dtype)
    width = element_size(value.dtype)
    end = offset + value.span * width
    if len(value.shape) != len(value.strides) or end > raw.numel():
        raise ValueError(f"a tensor of shape {value.shape} reaches byte {end} of {raw.numel()}")
    try:
        if not value.elements:
            return torch.empty(value.shape, dtype=dtype, device=raw.device)
        return raw[offset:end].view(dtype).as_strided(value.shape, value.strides)
    except RuntimeError as error:  # a dtype that is not of whole bytes, more elements than can be counted
        raise ValueError(f"no tensor of {value.dtype} can have the shape {value.shape}: {error}") from error


class HostArena:
    """Shared host memory: a memfd mapped here and wherever its descriptor goes, of a size that cannot be changed."""

    kind: ArenaKind = "host"
    shared = True

    def __init__(self, size: int, descriptor: int | None = None) -> None:
        self.size = max(size, mmap.PAGESIZE)
        if descriptor is None:
            descriptor = _sealed_file(self.size)
        self._descriptor = descriptor
        self._map = mmap.mmap(self._descriptor, self.size)

    def bytes(self) -> Any:
        import torch

        return torch.frombuffer(self._map, dtype=torch.uint8)

    def words(self) -> memoryview:
        """All of it as words of eight bytes, each of which is read and written as one."""
        return memoryview(self._map).cast("Q")

    def descriptor(self) -> int:
        return os.dup(self._descriptor)

    def close(self) -> None:
        """Unmap. Tensors over it keep the map alive until they are gone themselves."""
        os.close(self._descriptor)
        try:
            self._map.close()
        except BufferError:
            return  # a tensor still looks at it; the map goes with the last one


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp of cuda.h."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("requested_handle_types", ctypes.c_int),
        ("location", _Location),
        ("win32_handle_metadata", ctypes.c_void_p),
        ("allocation_flags", ctypes.c_ubyte * 8),
    )


class _AccessDescription(ctypes.Structure):
    """CUmemAccessDesc of cuda.h."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


_PINNED = _DEVICE = 1  # CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE
_POSIX_DESCRIPTOR = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
_READ_WRITE = 3  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE
_LAZY_PEER_ACCESS = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS


class _IpcHandle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_ubyte * 64),)


class Driver:
    """libcuda's memory calls. Needs a current context: touch the device with torch first."""

    def __init__(self) -> None:
        try:
            self._lib = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise DeviceError("libcuda.so.1 was not found: install NVIDIA's driver") from error

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._lib, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self._lib.cuGetErrorName(status, ctypes.byref(text))
            raise DeviceError(f"{name} failed with {(text.value or b'an unknown error').decode()} ({status})")

    def ipc_handle(self, address: int) -> tuple[int, int, bytes]:
        """Base, size and 64-byte handle of the allocation that holds `address`."""
        base, size, handle = ctypes.c_uint64(), ctypes.c_size_t(), _IpcHandle()
        self.call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(address))
        self.call("cuIpcGetMemHandle", ctypes.byref(handle), base)
        return base.value, size.value, bytes(handle.reserved)

    def size_at(self, base: int) -> int:
        """Bytes from `base` to the end of the allocation that is mapped there, by the driver's account."""
        start, size = ctypes.c_uint64(), ctypes.c_size_t()
        self.call("cuMemGetAddressRange_v2", ctypes.byref(start), ctypes.byref(size), ctypes.c_uint64(base))
        return start.value + size.value - base

    def open_ipc(self, handle: bytes) -> int:
        opened, raw = ctypes.c_uint64(), _IpcHandle.from_buffer_copy(handle)
        self.call("cuIpcOpenMemHandle_v2", ctypes.byref(opened), raw, ctypes.c_uint(_LAZY_PEER_ACCESS))
        return opened.value

    def close_ipc(self, address: int) -> None:
        self.call("cuIpcCloseMemHandle", ctypes.c_uint64(address))


class _DevicePointer:
    """What torch needs to see to look at device memory that it did not allocate."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def device_bytes(address: int, size: int, device: int) -> Any:
    """Device memory as a torch.uint8 tensor of shape (size,), without a copy and without ownership."""
    import torch

    return torch.as_tensor(_DevicePointer(address, size), device=f"cuda:{device}")


class DeviceArena:
    """Device memory of the driver's own, mapped here and wherever its descriptor goes."""

    kind: ArenaKind = "cuda"
    shared = True

    def __init__(self, size: int, device: int = 0, descriptor: int | None = None) -> None:
        self.device = device
        self._driver = driver = Driver()
        properties = _AllocationProperties(
            type=_PINNED, requested_handle_types=_POSIX_DESCRIPTOR, location=_Location(_DEVICE, device)
        )
        granularity = ctypes.c_size_t()
        driver.call("cuMemGetAllocationGranularity", ctypes.byref(granularity), ctypes.byref(properties), 0)
        self.size = max(1, math.ceil(size / granularity.value)) * granularity.value
        self._handle = ctypes.c_uint64()
        if descriptor is None:
            driver.call(
                "cuMemCreate",
                ctypes.byref(self._handle),
                ctypes.c_size_t(self.size),
                ctypes.byref(properties),
                ctypes.c_uint64(0),
            )
        else:
            driver.call(
                "cuMemImportFromShareableHandle",
                ctypes.byref(self._handle),
                ctypes.c_void_p(descriptor),
                _POSIX_DESCRIPTOR,
            )
            os.close(descriptor)
        self._address = ctypes.c_uint64()
        size_t = ctypes.c_size_t(self.size)
        zero = ctypes.c_uint64(0)
        driver.call("cuMemAddressReserve", ctypes.byref(self._address), size_t, ctypes.c_size_t(0), zero, zero)
        driver.call("cuMemMap", self._address, size_t, ctypes.c_size_t(0), self._handle, zero)
        access = _AccessDescription(_Location(_DEVICE, device), _READ_WRITE)
        driver.call("cuMemSetAccess", self._address, size_t, ctypes.byref(access), ctypes.c_size_t(1))

    def bytes(self) -> Any:
        return device_bytes(self._address.value, self.size, self.device)

    def descriptor(self) -> int:
        descriptor = ctypes.c_int()
        self._driver.call(
            "cuMemExportToShareableHandle",
            ctypes.byref(descriptor),
            self._handle,
            _POSIX_DESCRIPTOR,
            ctypes.c_uint64(0),
        )
        return descriptor.value

    def close(self) -> None:
        """Unmap and let go. The memory is free once every process has done so. No tensor over it may be used again."""
        size = ctypes.c_size_t(self.size)
        self._driver.call("cuCtxSynchronize")  # what is queued may still read it
        self._driver.call("cuMemUnmap", self._address, size)
        self._driver.call("cuMemAddressFree", self._address, size)
        self._driver.call("cuMemRelease", self._handle)


class CopiedArena:
    """Memory of this process's own on a torch device, and shared host memory to copy it over.

    Each process that has the descriptor sees what another wrote once that one has called `send` and it `take`, each of
    the same parts: (start, size) in bytes.
    """

    kind: ArenaKind = "copied"
    shared = False

    def __init__(self, size: int, device: Any, descriptor: int | None = None) -> None:
        import torch

        self._host = HostArena(size, descriptor)
        self.size = self._host.size
        self._bytes = torch.empty(self.size, dtype=torch.uint8, device=device)
        self._pinned = self._bytes.is_cuda and self._pin()

    def _pin(self) -> bool:
        """Copies of pinned memory are faster; a driver that cannot pin what others map copies all the same."""
        try:
            address, size = ctypes.c_void_p(self._host.bytes().data_ptr()), ctypes.c_size_t(self.size)
            Driver().call("cuMemHostRegister_v2", address, size, ctypes.c_uint(0))
        except DeviceError:
            return False
        return True

    def bytes(self) -> Any:
        return self._bytes

    def descriptor(self) -> int:
        return self._host.descriptor()

    def send(self, parts: Sequence[tuple[int, int]]) -> None:
        """Copy parts of this process's bytes to where others can take them."""
        self._copy(self._bytes, self._host.bytes(), parts)

    def take(self, parts: Sequence[tuple[int, int]]) -> None:
        """Copy what was sent last of these parts, by either side, over this process's bytes."""
        self._copy(self._host.bytes(), self._bytes, parts)

    def _copy(self, source: Any, to: Any, parts: Sequence[tuple[int, int]]) -> None:
        for start, size in parts:
            to[start : start + size].copy_(source[start : start + size])

    def close(self) -> None:
        """Unmap the host's part. The device's goes with the last tensor over it."""
        if self._pinned:
            Driver().call("cuMemHostUnregister", ctypes.c_void_p(self._host.bytes().data_ptr()))
        del self._bytes
        self._host.close()


def shares_device_memory(device: int) -> bool:
    """Whether the driver hands out what another process needs to map device memory: an arena's, and torch's own.

    Touch the device with torch first.
    """
    import torch

    try:
        arena = DeviceArena(1, device)
        os.close(arena.descriptor())
        arena.close()
        Driver().ipc_handle(torch.empty(1, device=f"cuda:{device}").data_ptr())
    except DeviceError:
        return False
    return True


class _IoVector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


_libc = ctypes.CDLL(None, use_errno=True)
_MOST_VECTORS = 1024  # IOV_MAX
_PATTERN_BYTES = 1 << 20  # what is written stays in a cache while it is copied
_CHUNK = 1 << 30  # the kernel moves at most 2 GiB less a page in one call


def _sealed_file(size: int) -> int:
    """A descriptor of new, zeroed memory whose size nothing can change."""
    descriptor = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor


def sealed_copy(path: str) -> int:
    """A descriptor of memory that holds what the file holds now, for good: neither size nor contents can be changed.

    A process that gets it shares nothing with the file, or with others that got a copy. Raises OSError.
    """
    with open(path, "rb") as file:
        copy = os.memfd_create("copy", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            while os.sendfile(copy, file.fileno(), None, _PIECE_BYTES):
                pass
            os.lseek(copy, 0, os.SEEK_SET)
            fcntl.fcntl(copy, fcntl.F_ADD_SEALS, _SEALS | fcntl.F_SEAL_WRITE)
        except OSError:
            os.close(copy)
            raise
    return copy


def may_read_process(pid: int) -> bool:
    """Whether the kernel lets this process read another one's memory; that nothing lies at address 0 comes second."""
    byte = ctypes.create_string_buffer(1)
    local = _IoVector(ctypes.addressof(byte), 1)
    moved = _libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(_IoVector(None, 1)), 1, 0)
    return moved >= 0 or ctypes.get_errno() == errno.EFAULT


def read_places(pid: int, addresses: Sequence[int], into: Any) -> None:
    """Fill the rows of the contiguous host uint8 tensor `into` from as many addresses of process `pid`.

    Raises OSError as `read_process` does.
    """
    width, target = into.shape[1], into.data_ptr()
    for first in range(0, len(addresses), _MOST_VECTORS):
        some = addresses[first : first + _MOST_VECTORS]
        remote = (_IoVector * len(some))(*(_IoVector(address, width) for address in some))
        local = _IoVector(target + first * width, len(some) * width)
        moved = _libc.process_vm_readv(pid, ctypes.byref(local), 1, remote, len(some), 0)
        if moved != len(some) * width:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code) if moved < 0 else "the range is not mapped")


class PlacesReader:
    """Reads places of a process with as little between the question and the reading as can be: all that is known
    before is made ready.

    `widths` are the bytes at each place. A row of `into`, a contiguous host uint8 tensor, holds those of all places,
    one after the other.
    """

    def __init__(self, pid: int, widths: Sequence[int], into: Any) -> None:
        import numpy as np

        self._pid = pid
        self._vectors = np.zeros((len(widths), 2), np.uint64)
        self._vectors[:, 1] = widths
        self._rows, self._row_bytes = into.data_ptr(), into.shape[1]
        self._calls: list[tuple[ctypes.c_void_p, int, int, int]] = []
        at = 0
        for first in range(0, len(widths), _MOST_VECTORS):
            some = widths[first : first + _MOST_VECTORS]
            remote = ctypes.c_void_p(self._vectors.ctypes.data + first * ctypes.sizeof(_IoVector))
            self._calls.append((remote, len(some), at, sum(some)))
            at += sum(some)

    def read(self, row: int, addresses: Any) -> bool:
        """Fill a row from these places, a numpy array of uint64; False where not all of them are mapped there."""
        self._vectors[:, 0] = addresses
        begins = self._rows + row * self._row_bytes
        for remote, count, at, size in self._calls:
            local = _IoVector(begins + at, size)
            if _libc.process_vm_readv(self._pid, ctypes.byref(local), 1, remote, count, 0) != size:
                return False
        return True


def overwrite_process(pid: int, ranges: Sequence[tuple[int, int]], byte: int) -> None:
    """Set every byte of these ranges (address, size) of process `pid` to `byte`.

    Raises OSError where the kernel refuses, or where a range is not mapped there or not to be written to.
    """
    pattern = (ctypes.c_ubyte * min(_PATTERN_BYTES, max((size for _, size in ranges), default=0)))()
    ctypes.memset(pattern, byte, len(pattern))
    parts = [
        (address + done, min(_PATTERN_BYTES, size - done))
        for address, size in ranges
        for done in range(0, size, _PATTERN_BYTES)
    ]
    for first in range(0, len(parts), _MOST_VECTORS):
        some = parts[first : first + _MOST_VECTORS]
        remote = (_IoVector * len(some))(*(_IoVector(address, size) for address, size in some))
        local = (_IoVector * len(some))(*(_IoVector(ctypes.addressof(pattern), size) for _, size in some))
        moved = _libc.process_vm_writev(pid, local, len(some), remote, len(some), 0)
        if moved != sum(size for _, size in some):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code) if moved < 0 else "a range cannot be written to")


def read_process(pid: int, address: int, into: Any) -> None:
    """Fill the contiguous host uint8 tensor `into` from the memory of process `pid`, starting at `address`.

    Raises OSError where the kernel refuses or the range is not mapped there.
    """
    done, size, target = 0, into.numel(), into.data_ptr()
    while done < size:
        want = min(_CHUNK, size - done)
        local = _IoVector(target + done, want)
        remote = _IoVector(address + done, want)
        moved = _libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
        if moved <= 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code) if moved else "the range is not mapped")
        done += moved
