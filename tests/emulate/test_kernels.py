"""Right kernels give right answers."""

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

REFERENCES = Path(__file__).parents[2] / "reference_solutions"
STUB = Path(__file__).parent / "stub"
RNG = np.random.default_rng(0)


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32)


def test_a_tiled_matmul_with_shared_memory(basics: ctypes.CDLL) -> None:
    a, b, c = normal(50, 50), normal(50, 50), np.full((50, 50), np.nan, np.float32)
    basics.matmul(pointer(a), pointer(b), pointer(c), 50)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_a_block_reduction_in_static_shared_memory(basics: ctypes.CDLL) -> None:
    x, out = normal(1000), np.zeros(1, np.float32)
    basics.reduce_static(pointer(x), pointer(out), x.size)
    np.testing.assert_allclose(out[0], x.sum(), rtol=1e-4, atol=1e-4)


def test_a_block_reduction_in_dynamic_shared_memory_launched_from_a_template(basics: ctypes.CDLL) -> None:
    x, out = RNG.standard_normal(300), np.zeros(1)
    basics.reduce_dynamic(pointer(x), pointer(out), x.size)
    np.testing.assert_allclose(out[0], x.sum())


def test_dynamic_shared_memory_declared_outside_functions(basics: ctypes.CDLL) -> None:
    x, out = normal(7, 70), np.zeros(7, np.float32)
    basics.row_sum(pointer(x), pointer(out), *x.shape)
    np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-4, atol=1e-4)


def test_a_softmax_by_warp_shuffles(basics: ctypes.CDLL) -> None:
    x = normal(16, 100)
    out = np.zeros_like(x)
    basics.softmax(pointer(x), pointer(out), *x.shape)
    np.testing.assert_allclose(out, torch.softmax(torch.from_numpy(x), dim=1).numpy(), rtol=1e-5)


def test_a_float4_kernel(basics: ctypes.CDLL) -> None:
    x = normal(1024)
    out = np.zeros_like(x)
    basics.scale_float4(pointer(x), pointer(out), ctypes.c_float(3.0), x.size)
    np.testing.assert_array_equal(out, x * np.float32(3.0))


def test_a_histogram_by_atomics_over_blocks(basics: ctypes.CDLL) -> None:
    x, bins = RNG.integers(0, 10, 5000, dtype=np.int32), np.zeros(10, np.int32)
    basics.histogram(pointer(x), pointer(bins), x.size)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=10))


def test_a_reduction_by_cooperative_groups(basics: ctypes.CDLL) -> None:
    x, out = np.arange(64, dtype=np.int32), np.zeros(8, np.int32)
    basics.tile_reduce(pointer(x), pointer(out))
    np.testing.assert_array_equal(out, x.reshape(8, 8).sum(axis=1))


def test_threads_that_left_early_are_not_waited_for(basics: ctypes.CDLL) -> None:
    out = np.zeros(128, np.int32)
    basics.early_exit(pointer(out), 100)
    np.testing.assert_array_equal(out, [5] * 100 + [0] * 28)


def test_every_thread_of_a_3d_grid_of_3d_blocks_runs_once(basics: ctypes.CDLL) -> None:
    out = np.full(60 * 42, -1, np.int32)
    basics.where(pointer(out))
    np.testing.assert_array_equal(out.reshape(60, 42), np.arange(60)[:, None] * 1000 + np.arange(42))


def test_constant_memory_and_device_variables(basics: ctypes.CDLL) -> None:
    weights, out = normal(4), np.zeros(4, np.float32)
    assert basics.constant(pointer(weights), pointer(out)) == 4
    np.testing.assert_array_equal(out, weights)


def test_votes_reductions_and_counts(basics: ctypes.CDLL) -> None:
    out = np.zeros((32, 8), np.uint32)
    basics.votes(pointer(out))
    lanes = np.arange(32)
    assert (out[:, 0] == sum(1 << int(lane) for lane in lanes[::3])).all()
    assert (out[:, 1] == 1).all()
    assert (out[:, 2] == 0).all()
    assert (out[:, 3] == 5).all()
    assert (out[:, 4] == 3).all()
    assert (out[:, 5] == lanes.sum()).all()
    assert (out[:16, 6] == 0xFFFF).all()
    assert (out[16:, 6] == 0xFFE00000).all()
    assert (out[:, 7] == np.where(lanes % 2, 0xAAAAAAAA, 0)).all()


def test_shared_memory_nobody_wrote_is_garbage_in_every_block(basics: ctypes.CDLL) -> None:
    out = np.zeros(5, np.float32)
    basics.uninitialised(pointer(out), out.size)
    assert np.isnan(out).all()


def test_a_missing_barrier_shows(basics: ctypes.CDLL) -> None:
    for _ in range(2):  # once with the threads in order, once backwards
        right = np.zeros(64, np.int32)
        basics.no_barrier(pointer(right))
        assert right.sum() < 64


def test_threads_of_a_block_may_wait_for_each_others_lock(basics: ctypes.CDLL) -> None:
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    basics.locked(pointer(lock), pointer(count))
    assert count[0] == 4 * 64


def test_a_half2_kernel_rounds_as_half_does(halves: ctypes.CDLL) -> None:
    a, b = torch.randn(2, 100, dtype=torch.float16, generator=torch.Generator().manual_seed(0))
    out = torch.empty_like(a)
    halves.fma_half2(*(ctypes.c_void_p(t.data_ptr()) for t in (a, b, out)), 50)
    added = torch.where(torch.arange(100) % 2 == 0, a, b)  # the low half of a, the high half of b
    assert torch.equal(out, (a.double() * b.double() + added.double()).half().clamp_min(0))


@pytest.mark.parametrize(
    ("function", "dtype"),
    [("square_half", torch.float16), ("square_c10", torch.float16), ("square_bfloat16", torch.bfloat16)],
)
def test_operators_on_16_bits(halves: ctypes.CDLL, function: str, dtype: torch.dtype) -> None:
    x = (torch.randn(100) * 2).to(dtype)
    out = torch.empty_like(x)
    getattr(halves, function)(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()), x.numel())
    assert torch.equal(out, (x * x).clamp_max(4.0))


def test_half_is_a_type_of_its_own_that_shuffles_and_adds_atomically(halves: ctypes.CDLL) -> None:
    x = torch.ones(3 * 32, dtype=torch.float16)
    total, pairs = torch.zeros(1), torch.zeros(2, dtype=torch.float16)
    halves.sum_half(*(ctypes.c_void_p(t.data_ptr()) for t in (x, total, pairs)), 3)
    assert total.item() == 96
    assert pairs.tolist() == [96, 3]
    assert halves.names() == 12


LAUNCHERS = {  # file, the launcher's name, how many tensors it takes, what PyTorch says
    "level1/19_ReLU.py": ("elementwise_relu_cuda", 1, lambda x: torch.relu(x)),
    "level1/27_SELU_.py": ("selu_cuda", 1, lambda x: torch.selu(x)),
    "level1/88_MinGPTNewGelu.py": ("gelu_cuda", 1, lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
    "level2/76_Gemm_Add_ReLU.py": ("fused_add_relu_cuda", 2, lambda x, bias: torch.relu(x + bias)),
    "level2/81_Gemm_Swish_Divide_Clamp_Tanh_Clamp.py": (
        "fused_elementwise_cuda",
        1,
        lambda x: torch.tanh((torch.nn.functional.silu(x) / 2).clamp(-1, 1)).clamp(-1, 1),
    ),
}


@pytest.mark.parametrize("file", LAUNCHERS)
def test_the_shipped_kernels_compute_what_pytorch_does(
    load: Callable[..., ctypes.CDLL], tmp_path: Path, file: str
) -> None:
    function, tensors, expected = LAUNCHERS[file]
    source = re.search(r'"""(\s*#include.*?)"""', (REFERENCES / file).read_text(), re.DOTALL)
    assert source is not None
    call = ", ".join(["torch::Tensor(x, {rows, columns})", "torch::Tensor(y, {columns})"][:tensors])
    entry = f"""
extern "C" void run(float* x, float* y, long rows, long columns, float* out) {{
    torch::Tensor result = {function}({call});
    std::copy_n(result.data_ptr<float>(), result.numel(), out);
}}
"""
    library = load(source[1] + entry, tmp_path / "kernel.so", "-I", str(STUB))
    x, y, out = torch.randn(33, 77), torch.randn(77), torch.empty(33, 77)
    library.run(*(ctypes.c_void_p(t.data_ptr()) for t in (x, y)), 33, 77, ctypes.c_void_p(out.data_ptr()))
    torch.testing.assert_close(out, expected(*(x, y)[:tensors]), rtol=1e-4, atol=1e-5)


def test_a_process_forked_after_a_launch_can_launch(basics: ctypes.CDLL) -> None:
    out = np.zeros(60 * 42, np.int32)
    basics.where(pointer(out))
    child = os.fork()
    if child == 0:  # no exception may leave the child: it would run the rest of the tests
        try:
            out[:] = 0
            basics.where(pointer(out))
            os._exit(0 if out[-1] == 59 * 1000 + 41 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_many_modules_can_be_loaded_at_once(basics: ctypes.CDLL, tmp_path: Path) -> None:
    code = f"""
import ctypes, shutil
for i in range(40):
    copy = {str(tmp_path)!r} + f"/{{i}}.so"
    shutil.copy({basics._name!r}, copy)
    out = (ctypes.c_int * 2520)()
    ctypes.CDLL(copy).where(out)
    assert out[2519] == 59041
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
