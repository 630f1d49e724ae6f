"""The index of torch's operators, and the headers that are written for one source."""

from pathlib import Path

import pytest

from harness.compile.operators import Operators, read_operators, scalar_types_header
from harness.compile.torch_layout import find_torch

INCLUDE = find_torch().include_dirs[0]


@pytest.fixture(scope="module")
def operators() -> Operators:
    return read_operators(INCLUDE)


def test_methods_functions_and_factories_are_found_in_torchs_own_headers(operators: Operators) -> None:
    assert len(operators.methods) > 400
    assert "sum" in operators.methods
    assert "softmax" in operators.functions
    assert "zeros" in operators.factories
    assert operators.structs["relu"] == "relu_ops.h"


def test_only_mentioned_names_are_declared(operators: Operators) -> None:
    methods = operators.methods_text(["sum", "no_such_method"])
    assert "sum(" in methods
    assert "relu(" not in methods


def test_a_mentioned_operator_brings_its_header_and_its_methods_bodies(operators: Operators) -> None:
    text = operators.operators_text(["relu"])
    assert "#include <ATen/ops/relu.h>" in text
    assert "#include <ATen/ops/relu_ops.h>" in text
    assert "Tensor::relu() const" in text


def test_every_overload_of_a_method_is_declared_and_defined(operators: Operators) -> None:
    assert len(operators.methods["sum"]) == len(operators.bodies["sum"]) >= 2


def test_overloads_that_torch_writes_by_hand_come_with_the_others(operators: Operators) -> None:
    assert any("var(int dim)" in method for method in operators.methods["var"])
    assert any("TypeMeta" in method for method in operators.methods["to"])
    assert "inline Tensor var(const Tensor& self, int dim)" in operators.operators_text(["var"])


def test_a_method_with_an_overload_that_was_not_found_is_left_out(tmp_path: Path) -> None:
    body = "class TORCH_API Tensor: public TensorBase {\n  at::Tensor whole() const;\n  at::Tensor part() const;\n"
    body += "  Strange part(Strange a) const;\n};\ninline at::Tensor Tensor::whole() const {\n}\n"
    body += "inline at::Tensor Tensor::part() const {\n}\n"
    factories = "torch/csrc/autograd/generated/variable_factories.h"
    for name, text in {"ATen/core/TensorBody.h": body, factories: "", "ATen/Functions.h": ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert list(read_operators(tmp_path).methods) == ["whole"]


def test_an_index_is_read_back_as_it_was_written(
    operators: Operators, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("index") / "operators.json"
    operators.write(file)
    assert Operators.read(file) == operators


def test_the_scalar_types_are_those_of_the_imported_torch() -> None:
    text = scalar_types_header(INCLUDE)
    rows = text.split("#define SLIM_SCALAR_TYPES(_)")[1].splitlines()[0]
    names = [row.split(",")[1].strip(" )") for row in rows.split("_(")[1:]]
    assert names[:8] == ["Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"]
    assert "_(c10::BFloat16, BFloat16)" in rows


def test_headers_of_no_torch_are_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(ValueError, match="no scalar types"):
        scalar_types_header(tmp_path_factory.mktemp("empty"))
