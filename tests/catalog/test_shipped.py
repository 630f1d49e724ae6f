"""The problems and reference solutions that come with the project."""

from pathlib import Path
from typing import Any

import pytest

from harness.catalog import apply_settings, numeric_settings, open_catalog
from harness.schema import Problem

ROOT = Path(__file__).parents[2]
SIZES = {
    "level1/19_ReLU": {"batch_size": 4096, "dim": 393216},
    "level1/27_SELU_": {"batch_size": 4096, "dim": 393216},
    "level1/88_MinGPTNewGelu": {"batch_size": 8192, "dim": 8192},
    "level2/76_Gemm_Add_ReLU": {"batch_size": 1024, "in_features": 8192, "out_features": 8192},
    "level2/81_Gemm_Swish_Divide_Clamp_Tanh_Clamp": {"batch_size": 1024, "in_features": 8192, "out_features": 8192},
}


def problem_of(title: str) -> Problem:
    return open_catalog(ROOT / "problems").find(title)


def test_the_five_problems_are_there_and_each_has_a_reference_solution() -> None:
    titles = [problem.title for problem in open_catalog(ROOT / "problems").problems()]
    assert titles == list(SIZES)
    solutions = [
        path.relative_to(ROOT / "reference_solutions") for path in (ROOT / "reference_solutions").rglob("*.py")
    ]
    assert sorted(str(path.with_suffix("")) for path in solutions) == sorted(titles)


@pytest.mark.parametrize("title", SIZES)
def test_sizes_are_those_of_kernelbench(title: str) -> None:
    assert numeric_settings(problem_of(title)) == SIZES[title]


@pytest.mark.parametrize("title", SIZES)
def test_the_reference_computes_what_its_name_says(title: str) -> None:
    torch = pytest.importorskip("torch")
    small = {name: 5 + index for index, name in enumerate(SIZES[title])}
    scope: dict[str, Any] = {}
    exec(apply_settings(problem_of(title), small)[0], scope)
    torch.manual_seed(0)
    model = scope["Model"](*scope["get_init_inputs"]())
    (x,) = scope["get_inputs"]()
    assert x.shape == tuple(small.values())[:2]
    x = (x - 0.5) * 8
    with torch.no_grad():
        actual = model(x)
        expected = EXPECTED[title](torch, model, x)
    torch.testing.assert_close(actual, expected)
    assert not torch.allclose(actual, torch.zeros_like(actual))


def _gemm_add_relu(torch: Any, model: Any, x: Any) -> Any:
    return torch.clamp(x @ model.gemm.weight.T + model.bias, min=0)


def _gemm_swish(torch: Any, model: Any, x: Any) -> Any:
    swish = torch.nn.functional.silu(torch.nn.functional.linear(x, model.gemm.weight, model.gemm.bias))
    return (swish / 2).clamp(-1, 1).tanh()


EXPECTED: dict[str, Any] = {
    "level1/19_ReLU": lambda torch, model, x: x.clamp(min=0),
    "level1/27_SELU_": lambda torch, model, x: torch.nn.functional.elu(x, 1.6732632423543772) * 1.0507009873554805,
    "level1/88_MinGPTNewGelu": lambda torch, model, x: torch.nn.functional.gelu(x, approximate="tanh"),
    "level2/76_Gemm_Add_ReLU": _gemm_add_relu,
    "level2/81_Gemm_Swish_Divide_Clamp_Tanh_Clamp": _gemm_swish,
}
