"""The rewrite: what it changes, what it leaves alone, what it refuses."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.emulate import NotEmulated, rewrite
from harness.emulate.tokens import tokenize

FRAGMENTS = [
    "__global__ void k(float* x) {", "}", "{", ";", "(", ")", "k<<<1, 32>>>(x);", "ns::k<T, 4><<<g, b, 0, s>>>(NULL)",
    "<<<", ">>>", "<", ">", "extern __shared__ float s[];", "__shared__ float t[4][5], u;", "__shared__", "extern",
    "namespace a {", "#define M(x) \\\n", "#include <cuda_runtime.h>", '#include "a.h"', "\n", "\r\n", "\\\n", " ",
    "// a comment", "/* another", "*/", '"a string', '"', "'", "'a'", '"cuda:0"', 'R"x(raw)x"', 'R"(', "x.is_cuda()",
    "torch::kCUDA", "DeviceType::CUDA", "template <typename T>", "return", "=", "[", "]", "1'000", "0x1p-3", "é", "\0",
    "alignas(", "__align__(16)", "volatile", "TORCH_LIBRARY_IMPL(a, CUDA, m)", "__CUDA_ARCH__", "__forceinline__",
]  # fmt: skip
ANY_SOURCE = st.one_of(
    st.text(), st.lists(st.sampled_from(FRAGMENTS)).map(" ".join), st.lists(st.sampled_from(FRAGMENTS)).map("".join)
)


@given(ANY_SOURCE)
def test_tokens_joined_are_the_source(source: str) -> None:
    assert "".join(token.text for token in tokenize(source)) == source


def rewritten_or_refused(source: str) -> str | NotEmulated:
    try:
        return rewrite(source).source
    except NotEmulated as refused:
        return refused


@given(ANY_SOURCE)
def test_any_text_is_rewritten_or_refused_and_keeps_its_lines(source: str) -> None:
    result = rewritten_or_refused(source)
    if isinstance(result, NotEmulated):
        assert 1 <= result.line <= source.count("\n") + 1
    else:
        assert result.count("\n") == source.count("\n")


@given(ANY_SOURCE.filter(lambda source: not re.search(r"<<<|shared|cuda|CUDA|inline|asm", source)))
def test_what_is_not_cuda_comes_back_as_it_was(source: str) -> None:
    assert rewritten_or_refused(source) == source


@pytest.mark.parametrize(
    ("launch", "kernel", "call"),
    [
        ("k<<<1, 2>>>(x);", "k", "k(A...); }, 1, 2)(x);"),
        ("k<T, 4> <<<g, b>>> (x)", "k<T, 4>", "k<T, 4> (A...); }, g, b) (x)"),
        ("a::b<F<int>>::k<<<g, b>>>()", "a::b<F<int>>::k", "a::b<F<int>>::k(A...); }, g, b)()"),
        ("::k<<<g, b>>>()", "::k", "::k(A...); }, g, b)()"),
        ("(f ? k : l)<<<g, b>>>()", "(f ? k : l)", "(f ? k : l)(A...); }, g, b)()"),
        ("fns[i]<<<g, b>>>()", "fns[i]", "fns[i](A...); }, g, b)()"),
        ("this->k<<<g, b>>>()", "this->k", "this->k(A...); }, g, b)()"),
        ("pick<T>(n)<<<g, b>>>()", "pick<T>(n)", "pick<T>(n)(A...); }, g, b)()"),
        ("k<(n > 4)><<<g, b>>>()", "k<(n > 4)>", "k<(n > 4)>(A...); }, g, b)()"),
        ("k<F<G<int>>><<<g, b>>>()", "k<F<G<int>>>", "k<F<G<int>>>(A...); }, g, b)()"),
        ("k<<<g, b, sizeof(F<G<H<int>>>), s>>>()", "k", "k(A...); }, g, b, sizeof(F<G<H<int>>>), s)()"),
        ("k<<<dim3((n + 1) / 2, m), dim3(8, 8)>>>()", "k", "k(A...); }, dim3((n + 1) / 2, m), dim3(8, 8))()"),
        ("k<<<g, b>>>(NULL, f(NULL), n)", "k", "k(A...); }, g, b)(nullptr, f(nullptr), n)"),
        ("k<<<g /* > */, b>>>()", "k", "k(A...); }, g /* > */, b)()"),
    ],
)
def test_launches_in_every_form(launch: str, kernel: str, call: str) -> None:
    opening = f'::cuda_emulation::launch("{kernel}", [&](auto&... A) {{ '
    rewritten = rewrite(f"void f() {{ {launch} }}")
    assert rewritten.source.replace("cuda_emulation_arguments", "A") == f"void f() {{ {opening}{call} }}"
    assert rewritten.substitutions == (f"{kernel}<<<...>>> run on the CPU (line 1)",)


def test_a_keyword_before_a_launch_is_not_part_of_the_kernel() -> None:
    assert rewrite("if (x) k<<<1, 1>>>();").source.startswith("if (x) ::cuda_emulation::launch(")
    assert rewrite("return (k)<<<1, 1>>>();").source.startswith("return ::cuda_emulation::launch(")


def test_launches_inside_dispatch_lambdas_and_macros_are_found() -> None:
    source = """
#define LAUNCH(K, ...) \\
    K<<<grid, block>>>( \\
        __VA_ARGS__)
AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", ([&] {
    k<scalar_t><<<grid,
                  block>>>(x.data_ptr<scalar_t>());
}));
"""
    rewritten = rewrite(source)
    assert "<<<" not in rewritten.source
    assert rewritten.source.count("\n") == source.count("\n")
    assert rewritten.substitutions == (
        "K<<<...>>> run on the CPU (line 3)",
        "k<scalar_t><<<...>>> run on the CPU (line 6)",
    )


def test_comments_and_strings_are_left_alone() -> None:
    source = 'auto s = "k<<<1, 2>>>(x) asm wmma"; // k<<<1, 2>>>() asm\n/* __shared__ */ R"(k<<<1,1>>>())" \'"\''
    assert rewrite(source).source == source
    assert rewrite(source).substitutions == ()


def test_brackets_of_kernels_are_found_in_one_pass() -> None:
    source = "__shared__ int a; volatile int b;\n" + "__global__ " * 20_000
    started = time.process_time()
    with pytest.raises(NotEmulated, match="volatile"):
        rewrite(source)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("piece", "closing"),
    [
        ("return auto t = torch::empty(1); k<<<1,1>>>(t.data_ptr<float>());", ""),
        ("auto t = torch::empty(k<<<1>>>(t.data_ptr<float>()) ", ");"),
        ("k<<<1,1>>>( [ ", " ] | ) "),
    ],
    ids=["returned", "nested", "crossing"],
)
def test_what_launches_are_given_is_found_in_one_pass(piece: str, closing: str) -> None:
    """Of each kind 4,000 used to take from eight seconds to a minute."""
    source = "void f() {" + piece * 4000 + "".join(one * 4000 for one in closing.split("|")) + "}"
    started = time.process_time()
    rewrite(source)
    assert time.process_time() - started < 5


def test_shared_variables_become_the_blocks_own() -> None:
    source = rewrite(
        "__global__ void k() { volatile __shared__ __align__(16) float a[4][N + 1], b; __syncwarp(); }"
    ).source
    assert "typedef volatile" in source
    assert "float a_shared_type[4][N + 1], b_shared_type;" in source
    assert "auto& a = ::cuda_emulation::static_shared<a_shared_type>(a_shared_key, 1024);" in source
    assert "auto& b = ::cuda_emulation::static_shared<b_shared_type>(b_shared_key, 1024);" in source
    assert "__align__" not in source


def test_dynamic_shared_memory_in_and_outside_a_kernel() -> None:
    inside = rewrite("__global__ void k() { extern __shared__ __align__(16) unsigned char raw[]; }").source
    assert " ".join(inside.split()) == (
        "__global__ void k() { const auto raw = ::cuda_emulation::dynamic_shared< unsigned char []>(); }"
    )
    twice = "#include <cuda_runtime.h>\nextern __shared__ float s[];\nnamespace n { extern __shared__ float s[]; }\n"
    assert rewrite(twice).source.count("register_dynamic_shared") == 1


def test_questions_about_the_device_are_answered_as_on_a_gpu_and_listed() -> None:
    source = """
TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
TORCH_CHECK(x.type().is_cuda() && !x->is_cpu());
auto o = torch::device(torch::kCUDA); auto p = at::Device(c10::DeviceType::CUDA);
y = y.cuda().to(torch::Device("cuda:0"));
#if __CUDA_ARCH__ >= 800
#endif
"""
    answered = """
TORCH_CHECK(x.is_cpu(), "x must be a CUDA tensor");
TORCH_CHECK(x.device().is_cpu() && !x->is_cuda());
auto o = torch::device(torch::kCPU); auto p = at::Device(c10::DeviceType::CPU);
y = y.cpu().to(torch::Device("cpu"));
#if CUDA_EMULATION_ARCH >= 800
#endif
"""
    rewritten = rewrite(source)
    assert rewritten.source == answered
    assert rewritten.substitutions == (
        "is_cuda() answered as if on the GPU (2 times, lines 2, 3)",
        "is_cpu() answered as if on the GPU (line 3)",
        "kCUDA taken as the CPU (line 4)",
        "DeviceType::CUDA taken as the CPU (line 4)",
        "Tensor::cuda() kept on the CPU (line 5)",
        'the device "cuda:0" taken as the CPU (line 5)',
        "__CUDA_ARCH__ taken as 900, an H100 (line 6)",
    )


@pytest.mark.parametrize(
    ("source", "construct"),
    [
        ('asm volatile("add.s32 %0, %1, %2;" : "=r"(a) : "r"(b), "r"(c));', "inline PTX (asm)"),
        ("#include <mma.h>", "wmma (mma.h)"),
        ("using namespace nvcuda;", "wmma"),
        ("#include <cutlass/gemm/device/gemm.h>", "CUTLASS"),
        ("auto l = cute::make_layout(1);", "CuTe"),
        ("#include <cublas_v2.h>", "cuBLAS"),
        ("auto h = at::cuda::getCurrentCUDABlasHandle();", "cuBLAS"),
        ("cublasSgemm(h);", "cuBLAS"),
        ('#include "cudnn.h"', "cuDNN"),
        ("# include /* parallel */ <cub/cub.cuh>", "CUB"),
        ("typedef cub::BlockReduce<float, 256> Reduce;", "CUB"),
        ("#include <thrust/device_vector.h>", "Thrust"),
        ("curandState state;", "cuRAND"),
        ("auto grid = cg::this_grid();", "cooperative groups over a grid"),
        ("cudaLaunchCooperativeKernel(f);", "cooperative groups over a grid"),
        ("cudaLaunchKernel((void*)k, g, b, a, 0, s);", "a launch by function pointer"),
        ("__pipeline_memcpy_async(a, b, 16);", "asynchronous copies (cp.async)"),
        ("cuda::pipeline<cuda::thread_scope_thread> p;", "libcu++ (cuda::pipeline)"),
        ("#include <cuda/barrier>", "libcu++"),
        ("float v = tex1Dfetch<float>(t, i);", "textures"),
        ("__global__ void __cluster_dims__(2, 1, 1) k() {}", "thread block clusters"),
        ("CUtensorMap map;", "TMA descriptors"),
        ("#include <cuda_fp8.h>", "fp8 and narrower types"),
        ("__global__ void k() { if (x) { child<<<1, 1>>>(); } }", "dynamic parallelism (a launch from device code)"),
        (
            "__device__ void r(volatile float* s, int t) { s[t] += s[t + 32]; }\n"
            "__global__ void k() { __shared__ float s[64]; r(s, threadIdx.x); }",
            "warp-synchronous code on volatile shared memory, without __syncwarp",
        ),
        (
            "__global__ void k(volatile float* parts) { __shared__ float s[64]; volatile float* w = s; w[0] = 1; }",
            "warp-synchronous code on volatile shared memory, without __syncwarp",
        ),
    ],
)
def test_what_cannot_be_emulated_is_refused_by_name_and_line(source: str, construct: str) -> None:
    with pytest.raises(NotEmulated) as refused:
        rewrite("// a comment about asm\n\n" + source)
    assert refused.value.construct == construct
    assert refused.value.line == 3


@pytest.mark.parametrize(
    "source",
    [
        "float thrust = 1; float cub = 2; int wmma_like = 3;",
        "auto s = at::cuda::getCurrentCUDAStream(); c10::cuda::CUDAGuard g(d); torch::cuda::synchronize();",
        "__host__ void f() { k<<<1, 1>>>(); } __global__ void k() {}",
        "volatile int* flag;",
        "template <int N> __global__ void __launch_bounds__(64) k(volatile float* p, int n) { __shared__ float s[N]; }",
        "__global__ void k(float*, const volatile int* p);\n__global__ void r() { __shared__ float s[4]; }",
        '#include <cooperative_groups.h>\n#include "cuda_fp16.h"',
    ],
)
def test_what_only_looks_like_it_is_not_refused(source: str) -> None:
    rewrite(source)


def test_a_compiler_error_keeps_the_candidates_line(compile_emulated: Callable[..., object], tmp_path: Path) -> None:
    source = (
        "\n__global__ void k() {\n  __shared__ float a[4];\n  no_such_thing = 1;\n}\nvoid f() {\n  k<<<1,\n 1>>>();\n}"
    )
    result = compile_emulated(source, tmp_path / "k.so")
    assert "candidate.cu:4:" in result.stderr  # type: ignore[attr-defined]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        "k<<<",
        "k<",
        "(",
        ")<<<1>>>(",
        "a[<<<",
        "__shared__ ",
        "{",
        "namespace{",
        "alignas(",
        "k<<<1,1>>>(NULL,",
        "#",
        "x=",
        "-",
        '\\"',
        "\\'",
        "x>>>><<<",
        "(k)<<<1>>>(x)",
        "__shared__ a ",
        'R"x',
        "/**/ ",
        "1'",
        "a::",
        "f(x)",
    ],
)
def test_nonsense_of_any_length_is_read_in_one_pass(piece: str) -> None:
    source = piece * (100_000 // len(piece))
    assert isinstance(rewritten_or_refused(source), str)


@pytest.mark.timeout(60)
def test_launches_within_launches_are_read_once() -> None:
    nested = "(" * 5000 + "k" + ")<<<1,1>>>(NULL)" * 5000
    assert len(rewritten_or_refused(nested)) < 100 * len(nested)
    around = "k<<<1,1>>>(" * 5000 + "NULL," * 20_000 + ")" * 5000
    assert "nullptr" in rewritten_or_refused(around)


def test_more_than_a_million_characters_are_refused() -> None:
    with pytest.raises(NotEmulated, match="1,048,576 characters"):
        rewrite(" " * ((1 << 20) + 1))
