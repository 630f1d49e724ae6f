"""Numbers of interpreted kernels that the interpreter itself has otherwise: bfloat16, and libdevice's functions."""

import numpy as np
import pytest
import torch

from harness.worker.faults import NotEmulated
from harness.worker.interpreted_numbers import bfloat16_bits, float32_of, libdevice

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
