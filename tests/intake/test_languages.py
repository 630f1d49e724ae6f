"""Which languages a candidate is written in."""

import pytest

from harness.intake.languages import languages_of, mentions, writes_kernels

KERNEL = 's = """__global__ void k(float* x) { x[0] = 1; }"""\n'


@pytest.mark.parametrize(
    ("source", "languages"),
    [
        ("import torch\n", ("pytorch",)),
        (KERNEL, ("cuda",)),
        ('s = "void f() { k<<<1, 1>>>(); }"\n', ("cuda",)),
        ('s = """#include <torch/extension.h>\ntorch::Tensor f(torch::Tensor x) { return x + 1; }"""\n', ("c++",)),
        ('s = "torch::Tensor f(torch::Tensor x);"\n', ("pytorch",)),  # a declaration does nothing
        (KERNEL + 't = "#include <torch/extension.h>\\nvoid f() {}"\n', ("cuda",)),
        ("m = load_inline(name='a', cpp_sources=c, cuda_sources=[d])\n", ("cuda",)),
        ("m = load_inline(name='a', cpp_sources=c, cuda_sources=[])\n", ("pytorch",)),
        ("m = cpp_extension.load(name='a', sources=['a.cpp', 'a.cu'])\n", ("cuda",)),
        ("k = cupy.RawKernel(code, 'k')\n", ("cuda", "cupy")),
        ("k = cp.ElementwiseKernel('T x', 'T y', 'y = x', 'k')\n", ("cupy",)),
        ("import cupy as cp\ny = cp.add(a, b)\n", ("pytorch",)),  # calls of CuPy are no kernels of one's own
        ("k = torch.cuda._compile_kernel(code, 'k')\n", ("cuda", "nvrtc")),
        ("import tilelang.language as T\n", ("tilelang",)),
        ("import cutlass\nfrom cutlass import cute\n", ("cute",)),
        ("import cutlass\n", ("pytorch",)),
        ("from numba import cuda\n", ("numba",)),
        ('s = "#include <hip/hip_runtime.h>\\n__global__ void k() {}"\n', ("cuda", "hip")),
        ("import triton\nimport triton.language as tl\n", ("triton",)),
        ("from triton import jit\n" + KERNEL, ("cuda", "triton")),
        ("import tritonclient\n", ("pytorch",)),
        ("# __global__ void k() {}\nx = 1\n", ("pytorch",)),
        ('s = "// __global__ void k() {}\\n/* k<<<1,1>>>() { */ int x;"\n', ("pytorch",)),
        ("(", ()),
    ],
)
def test_languages_follow_from_the_code_alone(source: str, languages: tuple[str, ...]) -> None:
    assert languages_of(source) == languages


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (KERNEL, True),
        ("import tilelang\n", True),
        ("import os, torch, numpy as np\n", False),
        ("from . import tilelang\n", False),
        ("import some_dsl\n", None),
        ("(", False),
    ],
)
def test_a_source_says_whether_it_has_kernels_where_all_its_imports_are_known(source: str, told: bool | None) -> None:
    assert writes_kernels(source) is told


@pytest.mark.parametrize(
    "source",
    [
        "device = torch.device('cuda')\n",
        "x = x.cuda()\n",
        "x = x.to(device=f'cuda:{n}')\n",
        "from torch import cuda as c\n",
        "def use_cuda(): pass\n",
        "m = load_inline(name='a', cpp_sources=c, with_cuda=True)\n",
        "s = '#include <ATen/cuda/CUDAContext.h>  // a stream'\n",
        "find('/usr/*/cuda')\n",  # no comment: it is no C++
        "exec(b'x.cuda()')\n",
        "match x:\n    case {'cuda': y}: pass\n",
        "# cuda\nx = (\n",  # no Python: any mention counts
    ],
)
def test_names_and_strings_of_a_program_mention_a_word(source: str) -> None:
    assert mentions(source, "cuda")


@pytest.mark.parametrize(
    "source",
    [
        "# no cuda here\nx = 1  # nor cuda\n",
        '"""Without cuda."""\ndef f():\n    """No cuda."""\n    "cuda"\n',
        's = """#include <torch/extension.h>\n// cuda is not needed\n/* cuda */ void f() {}"""\n',
        "x = 1\n",
    ],
)
def test_comments_and_docstrings_mention_nothing(source: str) -> None:
    assert not mentions(source, "cuda")
