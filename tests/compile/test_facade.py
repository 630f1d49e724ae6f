"""Idioms of the C++ API and of pybind11 beside plain tensors: taken by the slim headers, and just as stock has them."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from harness.compile import ArtifactCache, Builder
from harness.schema import Artifact, BuildFailure, BuildRequest
from harness.worker.capture import load_artifact

SOURCE = """
#include <torch/extension.h>
#include <map>
#include <set>
#include <unordered_map>

namespace py = pybind11;
using namespace torch::indexing;

torch::Tensor scale(const torch::Tensor& x, double factor) { return x * factor; }

torch::Tensor net(torch::Tensor x, py::object params, bool training) {
    auto weight = params.attr("get")("weight").cast<torch::Tensor>();
    py::list biases = params.attr("__getitem__")("biases");
    x = torch::linear(x, weight);
    for (size_t i = 0; i < biases.size(); ++i) x = x + biases[i].cast<torch::Tensor>();
    if (params.contains("gain")) x = x * params["gain"].cast<float>();
    return training ? x : torch::relu(x);
}
py::dict stats(torch::Tensor x, py::dict options) {
    py::dict result;
    for (auto item : options) result[item.first] = py::len(options);
    result["mean"] = x.mean().item<double>();
    result["shape"] = py::make_tuple(x.size(0), x.size(1));
    result["name"] = py::str("stats");
    result["copy"] = result["name"];
    py::object holder = py::module_::import("types").attr("SimpleNamespace")();
    holder.attr("a") = 1;
    holder.attr("b") = holder.attr("a");
    holder.attr("a") = result["copy"];
    result["held"] = holder.attr("b");
    result["other"] = holder.attr("a");
    return result;
}
py::object pick(py::object value) {
    if (value.is_none()) return py::int_(0);
    if (py::isinstance<py::bool_>(value)) return py::object();
    if (py::isinstance<py::float_>(value)) return py::cast(value.cast<double>() + 1);
    return value.attr("upper")();
}
torch::Tensor total(const std::map<std::string, torch::Tensor>& parts, std::unordered_map<std::string, double> gains) {
    auto sum = torch::zeros_like(parts.begin()->second);
    for (const auto& [name, part] : parts) sum += part * gains.at(name);
    return sum;
}
std::map<std::string, torch::Tensor> halves(torch::Tensor x, std::pair<int64_t, int64_t> at, std::array<int, 2> step) {
    return {{"first", x.slice(0, 0, at.first, step[0])}, {"second", x.slice(0, at.second, c10::nullopt, step[1])}};
}
std::tuple<std::vector<std::vector<int64_t>>, std::set<int>, std::optional<double>> nested(
    std::tuple<int64_t, std::string> both, std::vector<std::pair<int, float>> pairs, std::set<int> some) {
    std::optional<double> first;
    if (!pairs.empty()) first = pairs[0].second;
    return {{{std::get<0>(both)}, {(int64_t)pairs.size(), 2}}, some, first};
}
torch::Tensor corner(torch::Tensor x, torch::Tensor rows) {
    auto y = x.clone();
    y.index_put_({Slice(None, 2), Ellipsis}, 0.5);
    y.index_put_({y < 0}, torch::zeros({1}, x.options()));
    y.index_put_({Slice(), 0}, y.index({Slice(), -1}));
    return y.index({rows, Slice(1, None, 2)}) + at::index(x, {rows}).index({"...", Slice(1, None, 2)});
}
torch::Tensor settings(torch::Tensor x) {
    c10::InferenceMode inference;
    bool exact = at::globalContext().deterministicAlgorithms();
    torch::manual_seed(3);
    auto noise = torch::rand_like(x);
    auto kept = x.expect_contiguous();
    return exact ? noise : noise + *kept * c10::multiply_integers(x.sizes());
}
torch::Tensor borrowed(std::vector<float> values) {
    auto* memory = new std::vector<float>(values);
    const auto length = static_cast<int64_t>(values.size());
    return torch::from_blob(memory->data(), {length}, [memory](void*) { delete memory; }, torch::kFloat);
}
void check(torch::Tensor x, int64_t dims, std::vector<int64_t> shape) {
    TORCH_CHECK_EQ(x.dim(), dims);
    TORCH_CHECK_LT(x.size(0), 1e3);
    TORCH_CHECK(x.sizes() == shape, "expected ", shape, ", got ", x.sizes());
    if (x.numel() == 4) throw py::value_error("four is no size");
    if (x.numel() == 5) throw py::index_error("nor is five");
}
double power(double base, double exponent) { return std::pow(base, exponent); }
double power(torch::Tensor base) { return base.pow(2).sum().item<double>(); }
torch::Tensor spread(torch::Tensor x) { return x.var(1) + torch::std(x, 1) + std::get<1>(torch::var_mean(x, 1)); }
std::vector<float> plain(std::vector<float> values) {
    for (float& v : values) v = abs(v) + sqrt(abs(v)) * exp(v) + pow(v, 2);
    return values;
}
int version() {
#if TORCH_VERSION_MAJOR >= 2 && PY_VERSION_HEX >= 0x030b0000 && PYBIND11_VERSION_MAJOR >= 2
    return TORCH_VERSION_MINOR;
#else
    return -1;
#endif
}
torch::Tensor picked(torch::Tensor x, torch::Tensor which) { return x[which.item()]; }
int64_t total_of(torch::IntArrayRef sizes) { return c10::multiply_integers(sizes); }
torch::Tensor refused(int64_t how) {
    if (how == 1) throw py::value_error("one");
    if (how == 2) throw 2;
    return torch::tensor({how, int64_t{300}}, torch::kByte) + at::Scalar(how).toInt();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("spread", &spread);
    m.def("plain", &plain);
    m.def("version", &version);
    m.def("picked", &picked);
    m.def("total_of", &total_of);
    m.def("refused", torch::wrap_pybind_function(refused));
    m.def("scale", torch::wrap_pybind_function(scale), "scales", py::arg("x").noconvert(), py::arg("factor") = 2.0);
    m.def("net", &net, py::arg("x"), py::arg("params"), py::kw_only(), py::arg("training") = false);
    m.def("stats", &stats, "of a matrix", py::arg("x"), py::pos_only(), py::arg("options") = py::dict());
    m.def("pick", &pick, py::arg("value") = py::none());
    m.def("total", torch::wrap_pybind_function(total));
    m.def("halves", &halves, py::return_value_policy::move);
    m.def("nested", &nested);
    m.def("corner", &corner);
    m.def("settings", &settings);
    m.def("borrowed", &borrowed);
    m.def("check", &check, py::arg("x").none(false), py::arg("dims"), py::arg("shape"));
    m.def("power", py::overload_cast<double, double>(&power));
    m.def("power", py::overload_cast<torch::Tensor>(&power));
    m.attr("VERSION") = py::make_tuple(1, "a");
    m.def_submodule("inner", "more").def("same", [](py::list items) { items.append(1); return items; });
}
"""
REQUEST = BuildRequest(name="facade_test", cpp_sources=(SOURCE,))


@pytest.fixture(scope="module")
def facade(build: Callable[..., Artifact | BuildFailure]) -> Any:
    outcome = build(REQUEST)
    assert isinstance(outcome, Artifact), outcome.log
    assert outcome.toolchain == "slim", outcome.notes
    return load_artifact(REQUEST, outcome)


X = torch.linspace(-1.0, 2.0, 12).reshape(4, 3)
PARAMS = {"weight": torch.eye(3), "biases": [torch.ones(3), torch.full((3,), -2.0)], "gain": 3}


class Numbers:
    """Can be iterated over, and is no container that pybind11 knows."""

    def __iter__(self) -> Any:
        yield from (1.0, 2.0)

    def __repr__(self) -> str:
        return "Numbers"


def test_parameters_come_in_a_python_object(facade: Any) -> None:
    assert torch.equal(facade.net(X, PARAMS), torch.relu((X + 1 - 2) * 3))
    kept = torch.nn.ParameterDict({"weight": torch.eye(3), "biases": []})
    assert torch.allclose(facade.net(X, kept, training=True), X)


def test_dicts_tuples_and_strings_go_both_ways(facade: Any) -> None:
    found = facade.stats(X, {"a": 1, "b": 2})
    given = {"a": 2, "b": 2, "mean": X.mean().item(), "shape": (4, 3)}
    assert found == {**given, "name": "stats", "copy": "stats", "held": 1, "other": "stats"}
    assert list(facade.stats(X)) == ["mean", "shape", "name", "copy", "held", "other"]
    assert facade.pick() == 0
    assert facade.pick(1.5) == 2.5
    assert facade.pick("a") == "A"
    assert facade.VERSION == (1, "a")
    assert facade.inner.same([0]) == [0, 1]


def test_standard_containers_go_both_ways(facade: Any) -> None:
    assert torch.equal(facade.total({"a": X, "b": X}, {"a": 2, "b": 3.0}), X * 2 + X * 3)
    halves = facade.halves(X, (3, 1), [2, 1])
    assert torch.equal(halves["first"], X[:3:2])
    assert torch.equal(halves["second"], X[1:])
    assert facade.nested((7, "s"), [(1, 0.5)], {3, 4}) == ([[7], [1, 2]], {3, 4}, 0.5)


def test_a_generator_is_read_as_a_list_as_pybind11_reads_it(facade: Any) -> None:
    assert facade.borrowed(float(x) for x in range(3)).tolist() == [0.0, 1.0, 2.0]
    assert facade.borrowed({1.0: "a", 2.0: "b"}.keys()).tolist() == [1.0, 2.0]


def test_indexing_is_that_of_python(facade: Any) -> None:
    y = X.clone()
    y[:2, ...] = 0.5
    y[y < 0] = 0
    y[:, 0] = y[:, -1]
    rows = torch.tensor([3, 0])
    assert torch.equal(facade.corner(X, rows), y[rows, 1::2] + X[rows][..., 1::2])


def test_seeds_and_modes_reach_torch(facade: Any) -> None:
    made = facade.settings(X)
    torch.manual_seed(3)
    assert torch.equal(made, torch.rand_like(X) + X * 12)
    assert made.is_inference()


def test_numbers_dimensions_and_versions_are_what_stock_makes_of_them(facade: Any) -> None:
    assert torch.allclose(facade.spread(X), X.var(1) + X.std(1) + X.mean(1))
    assert facade.plain([-0.5])[0] == pytest.approx(0.5 + 0.5**0.5 * torch.tensor(-0.5).exp().item() + 0.25)
    assert facade.version() == int(torch.__version__.split(".")[1])


def test_what_stock_refuses_to_do_is_refused(facade: Any) -> None:
    assert torch.equal(facade.picked(X, torch.tensor(2)), X[2])
    with pytest.raises(IndexError):
        facade.picked(X, torch.tensor(2.0))
    assert facade.total_of((2, 3)) == 6
    with pytest.raises(TypeError):
        facade.total_of({2, 3})
    with pytest.raises(
        TypeError, match=r"^Unable to convert function return value .*\n\t\(value: object = None\) -> object$"
    ):
        facade.pick(True)
    with pytest.raises(ValueError, match="one"):
        facade.refused(1)
    with pytest.raises(RuntimeError, match="unknown exception"):
        facade.refused(2)
    with pytest.raises(RuntimeError, match="overflow"):
        facade.refused(3)


CALLS: list[Callable[[Any], Any]] = [
    lambda e: e.spread(X),
    lambda e: e.plain([-1.5, 0.0, 2.5]),
    lambda e: e.version(),
    lambda e: e.picked(X, torch.tensor(2.0)),
    lambda e: e.total_of(range(2)),
    lambda e: e.refused(1),
    lambda e: e.refused(2),
    lambda e: e.refused(3),
    lambda e: e.scale(torch.ones(2)),
    lambda e: e.scale([1.0], 1.0),
    lambda e: e.scale(torch.ones(2), "x"),
    lambda e: e.net(X, {}),
    lambda e: e.net(X, {"weight": "no tensor", "biases": []}),
    lambda e: e.net(X, PARAMS, True),
    lambda e: e.net(X, {"weight": torch.eye(3), "biases": 3}),
    lambda e: e.stats(X, {"a": 1}),
    lambda e: e.stats(x=X),
    lambda e: e.stats(X, options=[1]),
    lambda e: e.pick(3),
    lambda e: e.pick(True),
    lambda e: e.total({"a": 1}, {}),
    lambda e: e.total([("a", X)], {}),
    lambda e: e.total({"a": X}, {}),
    lambda e: e.halves(X, (1, 2, 3), [1, 1]),
    lambda e: e.halves(X, (1, 2), [1]),
    lambda e: e.nested("ab", [], set()),
    lambda e: e.nested((1, "s"), [], [1]),
    lambda e: e.borrowed("text"),
    lambda e: e.borrowed(3),
    lambda e: e.borrowed(Numbers()),
    lambda e: e.corner(X, torch.tensor([9])),
    lambda e: e.check(None, 1, [1]),
    lambda e: e.check(torch.ones(3), 2, [3]),
    lambda e: e.check(torch.ones(2000), 1, [3]),
    lambda e: e.check(torch.ones(3), 1, [3, 4]),
    lambda e: e.check(torch.ones(4), 1, [4]),
    lambda e: e.check(torch.ones(5), 1, [5]),
    lambda e: e.power("x"),
    lambda e: e.power(2, 3),
    lambda e: e.power(torch.ones(3)),
]


def outcome_of(call: Callable[[Any], Any], module: Any) -> str:
    """What a call gives or raises, without the places of the C++ stack and the time of day."""
    try:
        return repr(call(module))
    except Exception as error:  # noqa: BLE001 - whatever is raised is what a test compares
        text = re.split(r"\n(?:Exception raised from|C\+\+ CapturedTraceback)", f"{type(error).__name__}: {error}")[0]
        return re.sub(r"\[F\d+ [\d:.]+ ", "[F", text)


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_no_call_ends_the_process(facade: Any, number: int) -> None:
    assert outcome_of(CALLS[number], facade)


@pytest.mark.slow
def test_the_stock_toolchain_gives_the_same_results_errors_and_signatures(
    shared_cache: ArtifactCache, facade: Any
) -> None:
    outcome = Builder(cache=shared_cache, target="cpu", choice="stock").build(REQUEST, deadline_s=280)
    assert isinstance(outcome, Artifact), outcome.log
    assert outcome.toolchain == "stock"
    stock = load_artifact(REQUEST, outcome)
    assert [outcome_of(call, facade) for call in CALLS] == [outcome_of(call, stock) for call in CALLS]
    names = [name for name in dir(stock) if callable(getattr(stock, name)) and not name.startswith("_")]
    assert {name: getattr(facade, name).__doc__ for name in names} == {
        name: getattr(stock, name).__doc__ for name in names
    }
    assert torch.equal(stock.scale(X, 0.3), facade.scale(X, 0.3))
