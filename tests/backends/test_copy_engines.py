import ctypes
from types import SimpleNamespace

import pytest
import torch

from harness.backends.cuda import copy_engines
from harness.backends.cuda.copy_engines import CudaCopies
from harness.errors import DeviceError


class Driver:
    """Stands for libcuda: memory of a device is the host's, and `asked` are the calls."""

    def __init__(self):
        self.asked, self.refuses = [], 0
        self.cuMemcpyHtoDAsync_v2 = self.function("to device", self.to_device)
        self.cuMemcpyDtoHAsync_v2 = self.function("to host", ctypes.memmove)
        self.cuMemcpy2DAsync_v2 = self.function("rows", self.rows)
        self.cuStreamQuery = self.function("query", lambda: None)

    def function(self, name, copy):
        def call(*arguments):
            self.asked.append(name)
            copy(*arguments[:-1])
            return self.refuses

        return call

    def to_device(self, device, host, size):
        ctypes.memmove(device, host, size)

    def rows(self, copy):
        to_device = copy.dst_type == copy_engines._DEVICE
        source, into = (copy.src_host, copy.dst_device) if to_device else (copy.src_device, copy.dst_host)
        for row in range(copy.height):
            ctypes.memmove(into + row * copy.dst_pitch, source + row * copy.src_pitch, copy.width_bytes)


@pytest.fixture
def driver(monkeypatch):
    driver = Driver()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: SimpleNamespace(cuda_stream=1))
    return driver


@pytest.mark.parametrize(("size", "by"), [(2048, "rows"), ((1 << 15) - 2, "rows"), (1 << 15, "to device")])
def test_contents_too_small_for_a_copy_engine_in_one_piece_go_in_two_rows(driver, size, by):
    """In one they go among the device's commands, which waited 0.15 ms for the other process (H200)."""
    host, device = torch.randint(1, 256, (size,), dtype=torch.uint8), torch.zeros(size + 8, dtype=torch.uint8)
    CudaCopies().queue_write(host.data_ptr(), device.data_ptr(), size)
    assert driver.asked == [by]
    assert torch.equal(device[:size], host)
    assert not device[size:].any()


@pytest.mark.parametrize(("width", "pitch", "height"), [(64, 64, 1), (16, 100, 5)])
def test_runs_of_an_output_are_read_side_by_side(driver, width, pitch, height):
    device, host = torch.arange(500).to(torch.uint8), torch.zeros(width * height, dtype=torch.uint8)
    CudaCopies().queue_read(device.data_ptr(), host.data_ptr(), width=width, pitch=pitch, height=height)
    assert torch.equal(host.view(height, width), device[: pitch * height].view(height, pitch)[:, :width])


def test_what_the_driver_refuses_is_a_fault_of_the_device(driver):
    driver.refuses, memory = 700, torch.zeros(64)
    with pytest.raises(DeviceError, match="the driver says 700"):
        CudaCopies().queue_write(memory.data_ptr(), memory.data_ptr(), 64)
