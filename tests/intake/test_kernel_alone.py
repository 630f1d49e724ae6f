import ast
import re
from pathlib import Path

import pytest

from harness.intake import extract, kernel_alone, read_folder, read_submission
from harness.intake.kernel_alone import with_python

KERNEL = """#include <torch/extension.h>
#include "tile.cuh"

__global__ void kernel(const float* x, float* y, int n) { /* torch::Tensor hidden(torch::Tensor x) { */ }

torch::Tensor relu(
    torch::Tensor x
) {
    return x;
}
"""
BINDING = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n  m.def("run", &relu, "relu");\n}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "relu.cu").write_text(KERNEL)
    (tmp_path / "tile.cuh").write_text("// tile\n")
    return tmp_path


def judged(folder: Path, text: str, name: str = "relu.cu"):
    (folder / name).write_text(text)
    return extract(read_submission(folder / name)).outcome


def test_a_file_with_one_function_that_returns_a_tensor_gets_python_around_it(folder):
    candidate = extract(read_submission(folder / "relu.cu")).outcome
    assert "_built.relu(*inputs)" in candidate.source
    assert candidate.languages == ("cuda",)
    assert "'// tile\\n'" in candidate.source


def test_line_n_of_the_candidate_is_line_n_of_the_file(folder):
    lines = extract(read_submission(folder / "relu.cu")).outcome.source.splitlines()
    assert lines[1 : len(KERNEL.splitlines())] == KERNEL.splitlines()[1:]


def test_what_is_compiled_is_the_file_and_a_binding_where_it_has_none(folder):
    (source,) = literals(judged(folder, KERNEL).source, "#include <torch")
    assert source == f'{KERNEL}PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def("relu", &relu); }}\n'
    (source,) = literals(judged(folder, KERNEL + BINDING).source, "#include <torch")
    assert source == KERNEL + BINDING


def literals(source: str, start: str) -> list[str]:
    nodes = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return [value for value in nodes if isinstance(value, str) and value.startswith(start)]


@pytest.mark.parametrize(
    ("more", "called"),
    [
        ("", "relu"),
        (BINDING, "run"),
        ("torch::Tensor forward(at::Tensor x) { return relu(x); }\n", "forward"),
        ("std::vector<torch::Tensor> other(torch::Tensor x) { return {relu(x)}; }\n", "relu"),  # like the file
        ("// torch::Tensor forward(torch::Tensor x) {}\n", "relu"),
        ("torch::Tensor declared(torch::Tensor x);\n", "relu"),
        ("void helper(torch::Tensor x) {}\n", "relu"),
    ],
)
def test_which_function_is_the_model(folder, more, called):
    assert f"_built.{called}(*inputs)" in judged(folder, KERNEL + more).source


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (KERNEL.replace("relu(", "a(") + "at::Tensor b(at::Tensor x) { return x; }\n", r"\(a, b\): call one of them"),
        (KERNEL.replace("torch::Tensor relu", "void relu"), "such as `torch::Tensor forward"),
        (KERNEL + "TORCH_LIBRARY(mine, m) {}\n", "such as `torch::Tensor forward"),
    ],
)
def test_where_there_is_a_doubt_it_is_said_what_is_wanted(folder, text, said):
    outcome = judged(folder, text)
    assert (outcome.stage, outcome.reason) == ("extract", "missing")
    assert re.search(said, outcome.detail)
    assert "load(sources=[...])" in outcome.detail


def test_text_from_anywhere_else_is_never_wrapped(folder, submission):
    assert "A file whose name ends in .cu" in extract(submission(KERNEL, path="stdin")).outcome.detail
    (folder / "19_ReLU.txt").write_text(KERNEL)
    assert all("ModelNew" not in each.text for each in read_folder(folder))


def test_an_edit_of_what_it_includes_is_another_submission(folder):
    before = read_submission(folder / "relu.cu").sha256
    (folder / "tile.cuh").write_text("// edited\n")
    assert read_submission(folder / "relu.cu").sha256 != before


@pytest.mark.parametrize("name", ["1-relu kernel.cu", "relu.v2.cc", "ünder.cpp"])
def test_any_name_of_a_file_makes_a_module(folder, name):
    source = judged(folder, KERNEL, name).source
    (call,) = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and is_load(node)]
    given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert given["name"].isidentifier()
    assert given["name"].isascii()
    assert given["sources"] == [given["name"] + Path(name).suffix]


def is_load(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "load"


def test_quotes_that_python_could_not_hold_are_left_alone(tmp_path):
    for text in (KERNEL + "// ''' \"\"\"\n", KERNEL + "// \\\n"):
        assert with_python(text, tmp_path / "a.cu") == text


@pytest.mark.parametrize(
    "piece", ["vector<Tensor ", "vector<Tensor\n", "vector<Tensor>\n", "a::\n", "Tensor f(\n", "Tensor f() \n", "\n"]
)
def test_no_text_makes_it_go_back_and_forth_without_end(piece):
    """With searches that take the square of the length this would not end within hours."""
    assert "C++ or CUDA alone" in kernel_alone.why_not(piece * ((1 << 19) // len(piece)), "a.cu")
