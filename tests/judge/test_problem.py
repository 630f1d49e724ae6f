"""What is missing on this machine is named where a problem cannot be loaded for want of it."""

import sys

import pytest
import torch

from harness.errors import ProblemError
from harness.judge.problem import load_problem
from harness.judge.tensors import leaves

REST = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        code = compile("def from_pretrained(): raise OSError('not found')", "/site/transformers/hub.py", "exec")
        exec(code, globals())
        from_pretrained()
def get_inputs():
    return [torch.rand(2)]
def get_init_inputs():
    return []
"""


def loaded(source):
    return load_problem("p", source, device=torch.device("cpu"))


def test_a_package_that_is_missing_is_named():
    with pytest.raises(ProblemError, match="the package no_such_package has to be installed"):
        loaded("import no_such_package.models\n")


def test_of_a_package_that_loads_from_a_hub_it_is_said_that_its_files_have_to_be_there_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)  # an import of it raises as if it were not installed
    with pytest.raises(ProblemError, match=r"package transformers has to be installed .* lie in its cache .*HF_HOME"):
        loaded("from transformers import AutoModel\n")


def test_weights_of_a_hub_that_are_missing_are_called_so():
    problem = loaded("import torch\n" + REST)
    with pytest.raises(ProblemError, match="weights of a hub have to lie in its cache"):
        problem.model(0, [])


def test_other_errors_are_left_as_they_are():
    with pytest.raises(ProblemError) as raised:
        loaded("raise OSError('something else')\n")
    assert str(raised.value).endswith("something else")


@pytest.mark.parametrize(("precision", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_inputs_within_arguments_have_the_precision_and_the_device_as_others_do(precision, dtype):
    source = """
import torch
class Model(torch.nn.Module):
    pass
def get_inputs():
    weight = torch.rand(3, requires_grad=True)
    return [[weight, {"a": torch.rand(2)}], (torch.arange(3), "mean"), torch.Size([4]), torch.rand(5)]
def get_init_inputs():
    return []
"""
    problem = load_problem("p", source, device=torch.device("cpu"), precision=precision)
    (weight, named), (integers, text), size, flat = problem.draw(3)
    assert {weight.dtype, named["a"].dtype, flat.dtype} == {dtype}
    assert (integers.dtype, text, size.numel()) == (torch.int64, "mean", 4)
    assert not weight.requires_grad
    there = load_problem(
        "p", source.replace("torch.rand(2)", "torch.rand(2, device='cpu')"), device=torch.device("meta")
    )
    assert {leaf.device.type for leaf in leaves(there.draw(3))} == {"meta"}
