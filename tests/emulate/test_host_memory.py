"""Memory of the host that a kernel touches is told from memory that it may touch."""

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.emulate import rewrite

SOURCE = Path(__file__).parent / "kernels" / "host_memory.cu"
CASES = re.findall(r"^CASE\((\w+)", SOURCE.read_text(), re.MULTILINE)
OF_THE_HOST = [name for name in CASES if name.startswith("host_")]
FINE = [name for name in CASES if name.startswith("fine_")]
NOTHING, FAULTS = 0, 1
OTHER = 0


@pytest.fixture(scope="module")
def launches(load_watchable: Callable[..., ctypes.CDLL], tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load_watchable(SOURCE.read_text(), tmp_path_factory.mktemp("host_memory") / "host_memory.so")


def launched(module: ctypes.CDLL, name: str, watch: int) -> tuple[str, list[float]]:
    """What the launch said, and what it wrote."""
    module.cuda_emulation_schedule(1, ctypes.c_uint64(0), watch, None)
    launcher = getattr(module, name)
    launcher.restype = ctypes.c_char_p
    out = (ctypes.c_float * 8)()
    return launcher(out).decode(), list(out)


def test_there_are_launches_of_both_kinds() -> None:
    assert len(OF_THE_HOST) == 15
    assert len(FINE) == 19


@pytest.mark.parametrize("name", OF_THE_HOST)
def test_a_kernel_that_touches_memory_of_the_host_ends_in_an_illegal_access(launches: ctypes.CDLL, name: str) -> None:
    said, _ = launched(launches, name, FAULTS)
    does = "writes 4" if name in ("host_vector_written", "host_variable") else r"reads [48]"
    assert re.search(rf"^emulated CUDA kernel .*: illegal memory access: it {does} bytes of memory of the host", said)
    places = (ctypes.c_uint32 * 2)()
    assert launches.cuda_emulation_fault(places) == OTHER
    assert places[0] != 0


@pytest.mark.parametrize("watch", [NOTHING, FAULTS])
@pytest.mark.parametrize("name", FINE)
def test_memory_that_a_kernel_may_touch_is_no_fault(launches: ctypes.CDLL, name: str, watch: int) -> None:
    assert launched(launches, name, watch) == ("", [8.0 * i for i in range(1, 9)])


LAUNCH = "k<<<1, 32>>>(x.data_ptr<float>(), t.data_ptr<float>());"


def is_marked(before: str, launch: str = LAUNCH, after: str = "return t;", top: str = "") -> bool:
    """Whether the tensor `t` is known to lie on the host, in a function with these lines."""
    source = f"{top}\ntorch::Tensor f(torch::Tensor x) {{\n{before}\n{launch}\n{after}\n}}\n"
    rewritten = rewrite(source).source
    assert rewritten.count("\n") == source.count("\n")
    assert "of_the_host(x" not in rewritten
    return re.search(r"::cuda_emulation::of_the_host\(.*?\bt\.", rewritten) is not None


@pytest.mark.parametrize(
    "made",
    [
        "torch::empty({2, 3})",
        "at::zeros(x.sizes())",
        "torch::full({2}, 1.0)",
        "torch::arange(32)",
        "torch::zeros({2}, torch::kFloat32)",
        "torch::zeros({2}, at::kHalf)",
        "torch::zeros({2}, torch::dtype(torch::kInt))",
        "torch::zeros({2}, x.scalar_type())",
        "torch::zeros({2}, x.dtype())",
        "torch::full({2}, -1, torch::TensorOptions().dtype(x.dtype()))",
        "torch::empty({x.size(0), std::max<int64_t>(1, x.size(1))}, torch::TensorOptions())",
    ],
)
def test_a_tensor_made_without_a_device_lies_on_the_host(made: str) -> None:
    assert is_marked(f"auto t = {made};")
    assert is_marked(f"const torch::Tensor t = {made};")


@pytest.mark.parametrize(
    "made",
    [
        "torch::empty({2, 3}, x.options())",
        "torch::empty({2, 3}, options)",
        "torch::empty({2, 3}, torch::kCUDA)",
        "torch::empty({2, 3}, torch::device(torch::kCUDA))",
        "torch::empty({2, 3}, torch::dtype(torch::kFloat).device(torch::kCUDA))",
        "torch::empty({2, 3}, torch::TensorOptions().dtype(torch::kFloat).device(x.device()))",
        "torch::empty({2, 3}, torch::TensorOptions().pinned_memory(true))",
        "torch::empty({2, 3}, x.options().dtype(torch::kInt))",
        "torch::empty({2, 3}, torch::kFloat, torch::kStrided, x.device(), false)",
        "torch::empty({2, 3}).to(x.device())",
        "torch::empty({2, 3}).cuda()",
        "torch::empty_like(x)",
        "torch::arange(0, 32, options)",
        "torch::arange(0, 32)",
        "torch::from_blob(p, {2, 3})",
        "x.new_empty({2, 3})",
        "flag ? torch::empty({2}) : x",
        "empty({2, 3})",
    ],
)
def test_a_tensor_that_may_lie_on_the_device_is_left_alone(made: str) -> None:
    assert not is_marked(f"auto t = {made};")


@pytest.mark.parametrize(
    "between",
    [
        "t = t.cuda();",
        "t = t.to(x.device());",
        "to_device(t);",
        "auto& other = t; other = other.cuda();",
        "if (flag) { t = x; }",
        "[&] { t = x; }();",
        "std::swap(t, other);",
        "t.set_data(x);",
        "MOVED(t);",
        "#define HERE t = t.cuda()\nHERE;",
    ],
)
def test_a_tensor_that_may_have_been_moved_is_left_alone(between: str) -> None:
    assert is_marked("auto t = torch::zeros({2});")
    assert not is_marked(f"auto t = torch::zeros({{2}});\n{between}")
    assert not is_marked("auto t = torch::zeros({2});", after=f"{between}\nreturn t;")


@pytest.mark.parametrize(
    "before",
    [
        "auto t = x;",
        "{ auto t = torch::zeros({2}); }",
        "#ifdef A\nauto t = torch::zeros({2}, x.options());\n#else\nauto t = torch::zeros({2});\n#endif",
        "auto t = torch::zeros(SIZES);",
        "auto u = torch::zeros({2});",
        "torch::Tensor t; t = torch::zeros({2});",
    ],
)
def test_only_what_is_certain_is_taken_for_the_host_s(before: str) -> None:
    assert not is_marked(before, top="#define SIZES {2}, options")


@pytest.mark.parametrize(
    "before", ["t.zero_();", "t.fill_(1);", "int n = t.numel() * t.size(0);", "if (n > 2) { return t; }"]
)
def test_a_tensor_that_is_only_asked_stays_where_it_is(before: str) -> None:
    assert is_marked(f"auto t = torch::zeros({{2}});\n{before}", after="return {x, t};")


@pytest.mark.parametrize(
    "argument",
    [
        "t.data_ptr<at::Half>()",
        "t.data_ptr()",
        "t.mutable_data_ptr<float>()",
        "t.template data_ptr<scalar_t>()",
        "(float*)t.data_ptr()",
        "reinterpret_cast<const __half*>(t.data_ptr<at::Half>())",
        "x.size(0), static_cast<float*>(t.data_ptr()), f<int, 2>(3)",
        "t.sizes().data()",
    ],
)
def test_a_pointer_into_a_tensor_is_known_in_every_form(argument: str) -> None:
    assert is_marked("auto t = torch::zeros({2});", f"k<<<1, 32>>>({argument});")
    dispatched = f'AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] {{ k<scalar_t><<<1, 32>>>({argument}); }});'
    assert is_marked("auto t = torch::zeros({2});", dispatched)


@pytest.mark.parametrize(
    "argument", ["flag ? t.data_ptr<float>() : x.data_ptr<float>()", "f(t.data_ptr<float>())", "t"]
)
def test_other_arguments_are_left_as_they_are(argument: str) -> None:
    assert not is_marked("auto t = torch::zeros({2});", f"k<<<1, 32>>>({argument});")
