"""What the facade declares and no library has: the linker's words for it, and how torch declares its pointers."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from harness.compile.slim import unkept_promises
from harness.compile.slim_tool import write_facade
from harness.compile.toolchain import Surroundings
from harness.compile.torch_layout import find_torch

PROMISED = unkept_promises(cast(Surroundings, SimpleNamespace(machine=SimpleNamespace(nvcc=None))))


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("`at::relu(at::Tensor const&)'", True),
        ("`typeinfo for c10::Error'", True),
        ("`vtable for c10::Error'", True),
        ("`std::vector<at::Tensor> at::split<int>(int)'", True),  # a function template's names what it returns
        ("`float at::Tensor::item<float>() const'", True),
        ("`c10::Half* at::Tensor::put<int>()'", True),
        ("`own(at::Tensor)'", False),
        ("`at_home(int)'", False),
        ("`cublasCreate_v2'", False),
        ("`__half* at::TensorBase::data_ptr<__half>() const'", False),  # no library has it over torch's headers either
        ("`long long const* at::TensorBase::const_data_ptr<long long>() const'", False),
    ],
)
def test_the_linker_s_words_tell_what_only_the_facade_promised(said: str, ours: bool) -> None:
    assert PROMISED is not None
    assert bool(re.search(PROMISED, f"main.o: in function `f': warning: undefined reference to {said}")) is ours


IN_TWO = """
  template <typename T, std::enable_if_t<!std::is_const_v<T>, int> = 0>
  const T* const_data_ptr() const;

  template <typename T, std::enable_if_t<std::is_const_v<T>, int> = 0>
  const std::remove_const_t<T>* const_data_ptr() const;
"""
IN_ONE = "  template <typename T>\n  const T* const_data_ptr() const;\n"
OTHERS = "  template <typename T>\n  T* mutable_data_ptr() const;\n  template <typename T>\n  T* data_ptr() const;\n"


def facade_of(tensor: str, folder: Path) -> str:
    """The scalar types' header over a torch whose TensorBase declares its pointers like this."""
    include = folder / "torch"
    for name in ("c10/core/ScalarType.h", "torch/headeronly/core/ScalarType.h", "c10/util/string_view.h"):
        if (find_torch().include_dirs[0] / name).exists():
            (include / name).parent.mkdir(parents=True, exist_ok=True)
            (include / name).write_text((find_torch().include_dirs[0] / name).read_text())
    (include / "ATen/core").mkdir(parents=True)
    (include / "ATen/core/TensorBase.h").write_text(tensor)
    write_facade(folder / "facade", include)
    return (folder / "facade" / "slim" / "scalar_types.h").read_text()


def test_pointers_are_declared_as_this_torch_declares_them(tmp_path: Path) -> None:
    """Torch until 2.11 has two templates, which are other symbols: kernels with const_data_ptr did not load there."""
    assert "SLIM_CONST_DATA_PTR_IN_TWO" in facade_of(IN_TWO + OTHERS, tmp_path / "two")
    assert "SLIM_CONST_DATA_PTR_IN_TWO" not in facade_of(IN_ONE + OTHERS, tmp_path / "one")


@pytest.mark.parametrize("tensor", [OTHERS, IN_ONE, IN_TWO + OTHERS.replace("T* data", "T& data")])
def test_a_torch_that_declares_them_in_a_third_way_gets_no_facade(tensor: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="data_ptr is declared otherwise"):
        facade_of(tensor, tmp_path)
