"""Which kernels of a profile are the candidate's own."""

import pytest

from harness.languages import defined_kernels, is_own_kernel

CUDA = "namespace { __global__ void gemm_kernel(float* x) {} }\ntemplate <> __global__ void cub_sort<float>(int n) {}\n"
TILELANG = "@T.prim_func\ndef gemm(A: T.Tensor):\n    pass\n"
TRITON = "from triton import jit\n\n\n@jit\ndef nccl_like(x):\n    pass\n"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (CUDA, "gemm_kernel(float*)"),
        (CUDA, "void (anonymous namespace)::gemm_kernel<float>(float*)"),
        (CUDA, "void cub_sort<float>(int)"),
        (TILELANG, "gemm_kernel"),
        (TILELANG, "gemm_kernel_1"),
        (TRITON, "nccl_like"),
        ("", "kernel_cutlass_gemm_tensorptrf32gmemo"),
        ("", "cudapy::__main__::gemm[abi:v1](Array<float, 2, C, mutable, aligned>)"),
        ("", "_ZN6cudapy8__main__4gemmB2v1E5ArrayIfLi2E"),
        ("", "main_kernel"),
    ],
)
def test_a_kernel_that_the_candidate_defines_is_its_own_whatever_its_name(source, shown):
    assert is_own_kernel(shown, defined_kernels(source))


@pytest.mark.parametrize(
    "shown",
    [
        "gemm_kernel",
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64>(int)",
        "sm80_xmma_gemm_f32f32_tn",
        "void at::native::(anonymous namespace)::gemm_kernel<float>(int)",
        "void (anonymous namespace)::softmax_warp_cudnn<float>(int)",
        "cupy_add__float32_float32_float32",
        "Memcpy DtoD (Device -> Device)",
    ],
)
def test_a_library_s_kernel_is_nobody_else_s(shown):
    assert not is_own_kernel(shown, defined_kernels("x = 1\n"))


def test_what_lies_in_pytorch_s_own_namespace_is_no_candidate_s_even_if_it_defines_that_name():
    source = "__global__ void vectorized_elementwise_kernel(int n) {}"
    assert not is_own_kernel("void at::native::vectorized_elementwise_kernel<4>(int)", defined_kernels(source))
