"""What a source's text says that only stock can be asked about."""

import pytest
from spending import at_most

from harness.compile.beyond import beyond_the_facade
from harness.compile.visible import Visible
from harness.schema import BuildRequest

VISIBLE = Visible(macros={"CHECK": True, "AT_OLD": False}, uncertain=frozenset(("CHECK", "FLT_MAX", "__cpp_lib_span")))


def reason(source: str, **more: object) -> str | None:
    return beyond_the_facade(BuildRequest(name="f", cpp_sources=(source,), **more), VISIBLE)


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("using namespace torch;", "using namespace torch"),
        ("using  namespace at ;", "using namespace at"),
        ("using namespace std;", "using namespace std"),
        ("namespace at {", "namespace at {"),
        ("namespace torch::mine\n{", "namespace torch::mine {"),
        ("template <typename T> auto f(T t) -> decltype(std::declval<T>().grad());", "declval"),
        ("template <typename T, typename = std::void_t<T>> struct S;", "void_t"),
        ("template <class T> auto f(T& t, int) -> decltype(t.is_vulkan(), int()) { return 1; }", "-> decltype"),
        ("auto f = [](auto& t) -> decltype(t.is_vulkan()) { return 1; };", "-> decltype"),
        (
            "template <class T, int = sizeof(((T*)0)->is_vulkan())> int f(T&);",
            "sizeof in a template's declaration",
        ),
        ("template <class T> decltype(T().x(), 1) f(T&);", "decltype in a template's declaration"),
        ("template <class T, bool = noexcept(T().x())> int f(T&);", "noexcept( in a template's declaration"),
        ("template <class T> int f(T&, typename T :: Own* = 0);", "typename T :: in a template's declaration"),
        ("template <class T> int f(S<T, &T::is_vulkan>*);", "&T::is_vulkan in a template's declaration"),
        ("struct Any { template <class T> operator T(); };", "operator T() in a template's declaration"),
        ("bool b = __is_constructible(at::Scalar, int);", "__is_constructible"),
        ("#define HAS __has_include\n#if HAS(<a.h>)\n#endif", "__has_include"),
        ("#define CAT(a, b) a##b", "##"),
        ("#define ASKED(e) \\\n  decltype(e, int())", "decltype in a macro"),
        ("#define SIZE sizeof", "sizeof in a macro"),
        ("#define SPACE namespace\nusing SPACE torch;", "#define SPACE namespace"),
        ("#define SAME(x) x\nusing SAME(namespace) torch;", "namespace)"),
        ("%:include <a.h>", "%:"),
        ("#define H <a.h>\n#include H", "#include H"),
        ("#include/**/H", "#include H"),
        ("#include_next <vector>", "#include_next"),
        ('#include "slim.written/slim_prelude.h"', "slim.written/, where the facade's own headers lie"),
        ("#include <./slim/tensor.h>", "slim/, where the facade's own headers lie"),
        ("int i = __COUN\\\nTER__;", "a word over two lines"),
        ("#inc\\ \n\\\nlude <a.h>", "a word over two lines"),
        ('auto s = R\\\n"x(\n/*\n)x"; /* */', "a word over two lines"),
        ('int c = \'a"\'; int i = __COUNTER__; auto s = "";', "__COUNTER__"),
        ("int i = 1'0 + __COUNTER__ + 1'0;", "__COUNTER__"),
        (f"template <class T> int f({'int, ' * 500}T);", "a template's declaration of more than 2,000 characters"),
        ("static_assert(std::is_convertible_v<int, at::Scalar>);", "std::is_convertible_v"),
        ("int i = sizeof(at::Scalar);", "sizeof(at::Scalar"),
        ("#define TORCH_ASSERT_NO_OPERATORS", "#define TORCH_ASSERT_NO_OPERATORS"),
        ("#define private public", "#define private"),
        ("#ifndef CHECK\n#define CHECK(x)\n#endif", "a condition on CHECK"),
        ("#if defined(A) && \\\n  __cpp_lib_span", "a condition on __cpp_lib_span"),
        ("  # ifdef FLT_MAX", "a condition on FLT_MAX"),
        ("void f() { CHECK(1); }", "CHECK, a macro of torch's headers"),
        ("int AT_OLD = 1;", "AT_OLD, a macro of torch's headers"),
        ("py::class_<S>(m)", "py::class_"),
        ("namespace F = torch::nn::functional;", "torch::nn"),
        ("#include <torch/nn/functional.h>", "<torch/nn/"),
    ],
)
def test_it_is_named(source: str, named: str) -> None:
    assert reason(source) == named


@pytest.mark.parametrize(
    "source",
    [
        '// using namespace torch;\n/* CHECK(1) */ const char* text = "using namespace at; CHECK(2)";',
        "using namespace torch::indexing;\nusing namespace py::literals;\nusing torch::Tensor;",
        "namespace mine { int a; }\nnamespace other = mine;",
        "#define CHECK(x) TORCH_CHECK(x)\nvoid f() { CHECK(true); }",
        "#ifdef MINE\n#endif\n#if __CUDA_ARCH__ >= 800 && TORCH_VERSION_MAJOR >= 2\n#endif",
        "#define CUDA_CHECK(x) (x)\n#define USE_FAST 1\n#define _USE_MATH_DEFINES\n#define tile 16",
        "#define TWO(x) \\\n  do { x; } \\\n  while (0)\n// ## the kernel, no slim one\nint n = 1'000; char c = 'x';",
        '#include "own.h"\ntorch::Tensor f();\n#include <vector>\nint a;',
        "int CHECK = 1;",  # takes arguments, and has none here
        "static_assert(std::is_same_v<float, float> && sizeof(at::Half) == 2 && sizeof(float) == 4);",
        "template <typename T, int N = 16 / sizeof(T)>\n__global__ void f(T* x) { __shared__ T s[sizeof(T) * N]; }",
    ],
    ids=[
        "comments",
        "names",
        "own namespaces",
        "own macro",
        "conditions",
        "more macros",
        "macro over lines",
        "own header",
        "no call",
        "dtypes",
        "kernel",
    ],
)
def test_what_the_facade_can_tell_stays(source: str) -> None:
    assert reason(source) is None


@pytest.mark.parametrize(
    "flag", ["-DTORCH_STABLE_ONLY", "-Werror", "-fno-exceptions", "-std=c++14", "-include x.h", "-fno-access-control"]
)
def test_flags_that_change_what_headers_say_are_left_to_stock(flag: str) -> None:
    assert reason("", extra_cflags=(flag,)) is not None


def test_flags_that_change_the_code_alone_stay() -> None:
    assert (
        reason("", extra_cflags=("-O3", "-ffast-math", "-march=native", "-DBLOCK=128", "-std=c++17", "-Wall")) is None
    )


def test_the_flags_by_which_half_gets_its_operators_stay() -> None:
    assert reason("", extra_cuda_cflags=("-U__CUDA_NO_HALF_OPERATORS__", "--use_fast_math")) is None


def test_a_source_without_the_implicit_headers_is_left_to_stock() -> None:
    assert reason("", no_implicit_headers=True) == "no_implicit_headers"


def test_a_file_that_includes_parts_of_torch_alone_is_left_to_stock() -> None:
    part, whole, plain = "#include <ATen/Tensor.h>\n", "#include <torch/extension.h>\n", "#include <cuda_runtime.h>\n"
    assert reason("", files={"a.cpp": part}) == "parts of torch's headers alone, in a.cpp"
    assert reason("", files={"a.cpp": part + whole, "b.cu": plain, "c.h": part}) is None


def test_a_file_where_those_of_the_facade_lie_is_left_to_stock() -> None:
    """A source would find it there over the facade alone."""
    assert reason("#include <told.h>", files={"./slim.written/told.h": ""}) is not None
    assert reason("#include <told.h>", files={"parts/told.h": ""}) is None


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "piece", ['R"(', 'R"x(', '\\"', "\\'", "/*", "/**/", '"', "using namespace ", "#define ", "x="]
)
def test_nonsense_of_any_length_is_read_in_one_pass(piece: str) -> None:
    reason(piece * (200_000 // len(piece)))


@pytest.mark.parametrize("half", ["auto c = 'ab\"';", 'x = "'])
def test_half_a_string_hides_nothing(half: str) -> None:
    assert reason(f"{half} using namespace torch; auto s = 1;") == "using namespace torch"


@pytest.mark.parametrize(
    "unit",
    [
        "<ATen/native/", "#include <\n", '#include "', "using namespace std::", "using ", "namespace at:",
        "torch::autograd::a", "#\n", "# ", "sizeof ( ", "std::is_", "a ", "/*", '"', 'R"(', "\\\n", "TORCH_LIBRARY",
        "a\\ ", "a\\\n ", "'", "u8'", "slim",
        "#define a\n",
    ],
)  # fmt: skip
def test_a_megabyte_of_the_same_is_searched_in_time_that_grows_with_it(unit: str) -> None:
    text = unit * ((1 << 20) // len(unit))
    with at_most(20):
        reason(text, files={"other.cpp": text})
