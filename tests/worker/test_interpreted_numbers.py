"""Numbers of interpreted kernels that the interpreter itself has otherwise: bfloat16, libdevice's functions, tf32."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from harness.worker.faults import NotEmulated
from harness.worker.interpreted_numbers import (
    bfloat16_bits,
    float32_of,
    libdevice,
    parts_of,
    tf32_cut,
    tf32_rounded,
)

needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="Triton is not installed: pip install 'kernel-harness[triton]', 290 MB"
)
FINITE = np.array([0.5, 1.0, 2.25, 3.5], dtype=np.float32)


def test_bfloat16_is_rounded_as_torch_rounds_it():
    random = np.random.default_rng(0).integers(0, 1 << 32, 200_000, dtype=np.uint32).view(np.float32)
    halfway = (np.arange(1 << 16, dtype=np.uint32) << 16 | 0x8000).view(np.float32)
    values = np.concatenate([random, halfway, np.array([np.inf, -np.inf, 0.0, -0.0, 3.4e38], dtype=np.float32)])
    ours = float32_of(bfloat16_bits(values))
    torchs = torch.from_numpy(values).to(torch.bfloat16).to(torch.float32).numpy()
    assert np.array_equal(ours, torchs, equal_nan=True)
    assert np.array_equal(np.signbit(ours), np.signbit(torchs)) or np.isnan(values).any()


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("__nv_tanhf", torch.tanh),
        ("__nv_tanh", torch.tanh),
        ("__nv_erff", torch.erf),
        ("__nv_erf", torch.erf),
        ("__nv_erfcf", torch.erfc),
        ("__nv_fast_expf", torch.exp),
        ("__nv_expm1f", torch.expm1),
        ("__nv_log1pf", torch.log1p),
        ("__nv_rsqrtf", torch.rsqrt),
        ("__nv_lgammaf", torch.lgamma),
        ("__nv_fabsf", torch.abs),
        ("__nv_rintf", torch.round),
        ("__nv_floor", torch.floor),
        ("__nv_isnanf", torch.isnan),
        ("__nv_isinfd", torch.isinf),
        ("__nv_powf", lambda x: torch.pow(x, x)),
        ("__nv_fmodf", lambda x: torch.fmod(x, x)),
        ("__nv_fminf", lambda x: torch.minimum(x, x)),
    ],
)
def test_functions_of_libdevice_are_torchs(symbol, expected):
    two = symbol in ("__nv_powf", "__nv_fmodf", "__nv_fminf")
    found = libdevice(symbol)(*[FINITE] * (2 if two else 1))
    assert np.allclose(found, expected(torch.from_numpy(FINITE)).numpy(), rtol=1e-6)


def test_libdevice_rounds_halves_away_from_zero():
    assert libdevice("__nv_roundf")(np.array([0.5, 1.5, -2.5, 2.4])).tolist() == [1, 2, -3, 2]


def test_another_function_of_libdevice_is_refused_by_name():
    with pytest.raises(NotEmulated, match="__nv_j0f"):
        libdevice("__nv_j0f")


def random_float32(count, seed=0):
    bits = np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint32)
    return bits.view(np.float32)


def test_an_operand_in_tf32_is_cut_after_ten_bits_of_fraction():
    values = np.array([1 + 2**-10, 1 + 2**-11, 1 + 2**-10 - 2**-23, -1 - 2**-11, 3.0, -0.0], dtype=np.float32)
    assert tf32_cut(values).tolist() == [1 + 2**-10, 1.0, 1.0, -1.0, 3.0, -0.0]


def test_the_first_of_three_products_is_rounded_with_halves_away_from_zero():
    values = np.array([1 + 2**-11, -1 - 2**-11, 1 + 2**-11 - 2**-23, 1 + 3 * 2**-11], dtype=np.float32)
    assert tf32_rounded(values).tolist() == [1 + 2**-10, -1 - 2**-10, 1.0, 1 + 2**-9]


@pytest.mark.parametrize("rounded", [tf32_cut, tf32_rounded])
def test_what_tf32_can_hold_is_left_alone_and_so_is_what_is_no_number(rounded):
    kept = (random_float32(10_000).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    half = torch.randn(1000).half().float().numpy()
    odd = np.array([np.inf, -np.inf, 0.0, -0.0], dtype=np.float32)
    nans = np.array([0x7F800001, 0xFFFFFFFF, 0x7FC00000], dtype=np.uint32).view(np.float32)
    for values in (kept, half, odd, nans):
        assert np.array_equal(rounded(values), values, equal_nan=True)


@pytest.mark.parametrize(
    ("precision", "count", "least", "most"),
    [("TF32", 1, 1e-4, 1e-3), ("TF32x3", 2, 0, 3e-7), ("BF16x3", 2, 1e-7, 2e-5), ("BF16x6", 3, 0, 3e-8)],
)
def test_the_parts_of_a_number_are_it_as_far_as_its_precision_goes(precision, count, least, most):
    values = np.random.default_rng(1).standard_normal(10_000).astype(np.float32)
    parts = parts_of(values, precision)
    assert len(parts) == count
    off = np.abs(np.sum(parts, axis=0, dtype=np.float64) - values) / np.abs(values)
    assert least <= off.max() <= most


def test_at_full_precision_a_number_has_no_parts():
    assert parts_of(np.ones(3, dtype=np.float32), "IEEE") == []


# What needs Triton: in a process of its own, because its interpreter is mended for good

IN_TF32 = ["", ", input_precision='tf32'", ", allow_tf32=True", "TRITON_F32_DEFAULT=tf32"]
IN_FLOAT32 = [
    ", input_precision='ieee'",
    ", input_precision='tf32x3'",
    ", input_precision='bf16x6'",
    ", allow_tf32=False",
    "TRITON_F32_DEFAULT=ieee",
]
SHORTER = ["float16", "bfloat16"]

_HEAD = """
import json, os
os.environ["TRITON_INTERPRET"] = "1"
import torch, triton, triton.language as tl
from triton.runtime import interpreter
from harness.worker.interpreted_numbers import mend
mend(triton, interpreter)

def errors(multiply, dtype=torch.float32):
    torch.manual_seed(0)
    a, b, c = torch.randn(32, 32).to(dtype), torch.randn(32, 32).to(dtype), torch.empty(32, 32)
    multiply[(1,)](a, b, c, 32)
    exact = a.double() @ b.double()
    cut = [(x.float().view(torch.int32) & -8192).view(torch.float32).double() for x in (a, b)]
    return [((c - wanted).norm() / exact.norm()).item() for wanted in (exact, cut[0] @ cut[1])]

found = {}
"""
_ONE = """
@triton.jit
def multiply(a, b, c, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)ASKED))
"""


@pytest.fixture(scope="module")
def errors_of(tmp_path_factory):
    """Relative errors of products of random blocks: from the exact one, and from that of operands cut to tf32."""
    program = _HEAD
    for asked in (*IN_TF32, *IN_FLOAT32):
        default = asked.partition("=")[2] if asked.startswith("TRITON") else ""
        program += f"os.environ.update(TRITON_F32_DEFAULT={default!r})" if default else ""
        program += _ONE.replace("ASKED", "" if default else asked)
        program += f"found[{asked!r}] = errors(multiply)\nos.environ.pop('TRITON_F32_DEFAULT', None)\n"
    program += _ONE.replace("ASKED", "") + "".join(f"found[{t!r}] = errors(multiply, torch.{t})\n" for t in SHORTER)
    path = tmp_path_factory.mktemp("dot") / "program.py"  # Triton reads a kernel's source from its file
    path.write_text(program + "print(json.dumps(found))\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_triton
@pytest.mark.parametrize("asked", IN_TF32)
def test_a_dot_of_float32_takes_tf32_where_a_gpu_would(errors_of, asked):
    exact, cut = errors_of[asked]
    assert exact > 3e-4
    assert cut < 1e-6


@needs_triton
@pytest.mark.parametrize("asked", IN_FLOAT32)
def test_a_dot_of_float32_is_float32s_where_that_was_asked_for(errors_of, asked):
    exact, cut = errors_of[asked]
    assert exact < 1e-6
    assert cut > 3e-4


@needs_triton
@pytest.mark.parametrize("dtype", SHORTER)
def test_a_dot_of_shorter_numbers_is_exact_at_the_default_precision(errors_of, dtype):
    assert errors_of[dtype][0] < 1e-6
