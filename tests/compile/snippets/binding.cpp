// What crosses between Python and C++: parameters, results, defaults and the words of m.def.

// --- parameter
// for: int | int64_t | long long | unsigned long long | unsigned | short | int8_t | uint8_t | char | bool | float | double | long double | std::string | const char* | std::string_view | at::Scalar | torch::ScalarType | torch::Dtype | torch::Device | at::DeviceType | torch::Layout | torch::MemoryFormat | torch::Tensor | const torch::Tensor& | torch::Tensor& | torch::Tensor&& | torch::Tensor* | at::TensorBase | torch::IntArrayRef | at::ArrayRef<int64_t> | torch::TensorList | at::ArrayRef<double> | at::ArrayRef<int> | at::OptionalIntArrayRef | c10::SymInt | std::optional<int> | c10::optional<torch::Tensor> | std::optional<torch::IntArrayRef> | std::vector<int64_t> | const std::vector<torch::Tensor>& | std::vector<torch::IntArrayRef> | std::vector<bool> | std::vector<std::string> | std::array<int64_t, 2> | std::pair<int, float> | std::tuple<int, int> | std::set<int> | std::map<std::string, int> | std::unordered_map<std::string, torch::Tensor> | std::complex<float> | c10::complex<float> | at::Half | std::variant<int, float> | std::function<int(int)> | int* | void* | size_t | ssize_t | wchar_t | char16_t | std::nullopt_t | std::nullptr_t | torch::TensorOptions | caffe2::TypeMeta | at::Generator | std::optional<at::Generator> | at::Storage | c10::Stream | py::object | py::list | py::tuple | py::dict | py::str | py::int_ | py::float_ | py::bool_ | py::none | py::handle | py::args | py::bytes | py::function | py::sequence | py::iterable | py::array | PyObject* | std::shared_ptr<int> | std::list<int> | std::deque<int> | std::wstring | std::vector<std::vector<float>> | std::vector<uint8_t>
// each: f(V)
int f(@ a) { return 1; }

// --- a-list-of-whole-numbers
// for: torch::IntArrayRef | std::vector<int64_t> | const std::vector<int64_t>& | at::IntArrayRef
// each: f(V)
// call: f(range(3))
// call: f(x for x in (1, 2))
// call: f([1, 2.0])
// call: f([True])
// call: f((1, 2))
// call: f([torch.tensor(3)])
// call: f(torch.Size([2, 3]))
// call: f(torch.tensor([1, 2]))
// call: f([2**70])
int64_t f(@ a) { int64_t s = 0; for (auto v : a) s += v; return s; }

// --- result
// for: int, 3 | long long, 3 | unsigned long long, 3 | uint64_t, 1ull << 63 | short, 3 | char, 'c' | int8_t, 3 | bool, true | float, 0.1f | double, 0.1 | long double, 0.1 | std::string, "a" | const char*, "a" | std::string_view, "a" | at::Scalar, 3 | at::Scalar, 2.5 | at::Scalar, true | torch::ScalarType, torch::kHalf | caffe2::TypeMeta, torch::zeros({1}).dtype() | torch::Device, torch::kCPU | at::DeviceType, torch::kCPU | torch::Layout, torch::kStrided | torch::MemoryFormat, torch::MemoryFormat::ChannelsLast | torch::Tensor, torch::ones(2) | at::TensorBase, torch::ones(2) | std::vector<torch::Tensor>, {torch::ones(2)} | std::optional<int>, std::nullopt | c10::optional<torch::Tensor>, torch::ones(1) | std::tuple<torch::Tensor, int>, std::make_tuple(torch::ones(1), 2) | std::pair<int, std::string>, std::make_pair(1, "a") | std::vector<bool>, {true, false} | std::vector<char>, {'a'} | std::map<int, int>, {{1, 2}} | std::set<int>, {1} | std::array<float, 2>, {1, 2} | std::complex<float>, 1.0f | std::nullptr_t, nullptr | std::nullopt_t, std::nullopt | wchar_t, L'a' | c10::SymInt, 3 | at::IntArrayRef, at::IntArrayRef() | std::vector<int64_t>, torch::zeros({2, 3}).sizes().vec() | int*, nullptr | void*, nullptr | py::object, py::none() | py::list, py::list() | py::dict, py::dict() | py::str, py::str("a") | py::int_, py::int_(1) | py::float_, py::float_(1.5) | py::tuple, py::make_tuple(1, "a", 2.5) | py::none, py::none() | py::bytes, py::bytes("a") | std::vector<std::vector<int>>, {{1}, {}} | at::Half, at::Half(1.5f) | size_t, sizeof(int)
// call: f()
@1 f() { return @2; }

// --- enumeration-of-its-own
// for: E f() { return E::A; } | int f() { return (int)E::A; }
// call: f()
enum class E { A, B };
@

// --- plain-enumeration-of-its-own
// for: E f() { return A; } | int f() { return A; } | torch::Tensor f() { return torch::ones(1) * B; }
// call: f()
enum E { A, B };
@

// --- structure-of-its-own
// for: S f() { return S(); } | int f(S s) { return 1; } | int f(const S& s) { return 1; } | S* f() { return nullptr; } | int f(int i) { return S().a; }
// call: f()
// call: f(1)
struct S { int a = 3; };
@

// --- default
// for: int, 3 | int, 2.5 | float, 1 | double, 1.5f | bool, true | bool, 1 | int64_t, 3L | int64_t, 3LL | int64_t, 3ull | std::string, "a" | std::string, std::string("b") | const char*, "c" | torch::ScalarType, torch::kFloat32 | torch::Device, torch::kCPU | torch::Device, torch::Device(torch::kCPU) | torch::Device, "cpu" | torch::MemoryFormat, torch::MemoryFormat::Contiguous | at::Scalar, 1.0 | at::Scalar, at::Scalar(2) | std::optional<int>, std::nullopt | std::optional<int>, py::none() | std::optional<int>, c10::nullopt | std::optional<int>, 3 | std::optional<torch::Tensor>, torch::nullopt | std::optional<torch::Tensor>, py::none() | torch::Tensor, py::none() | torch::Tensor, torch::Tensor() | torch::Tensor, torch::ones(1) | std::vector<int64_t>, std::vector<int64_t>{1, 2} | std::vector<int64_t>, py::list() | torch::IntArrayRef, std::vector<int64_t>{1} | std::tuple<int, int>, std::make_tuple(1, 2) | py::object, py::none() | py::dict, py::dict() | py::list, py::list() | int, 'c' | std::string, 'c' | at::DeviceType, torch::kCPU | int64_t, at::Reduction::Mean | float, M_PI | std::string, nullptr | int, nullptr | std::array<int, 2>, std::array<int, 2>{1, 2} | std::pair<int, int>, std::pair<int, int>(1, 2) | bool, nullptr | long double, 1.0L | torch::Layout, torch::kStrided
// call: f()
// call: f.__doc__
int f(@1 a) { return 1; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f, py::arg("a") = @2); }

// --- words-of-def
// for: py::arg("a"), py::arg("b") | py::arg("a") | py::arg("a"), py::arg("b"), py::arg("c") | py::arg("a"), py::arg("b") = 2 | py::arg("a") = 1, py::arg("b") | py::kw_only() | py::kw_only(), py::arg("a"), py::arg("b") | py::arg("a"), py::kw_only(), py::arg("b") | py::arg("a"), py::kw_only(), py::kw_only(), py::arg("b") | py::pos_only() | py::arg("a"), py::pos_only(), py::arg("b") | py::arg("a"), py::pos_only(), py::kw_only(), py::arg("b") | py::kw_only(), py::arg("a"), py::pos_only(), py::arg("b") | "text" | "text", "more" | py::doc("text") | std::string("text").c_str() | std::string("text") | py::return_value_policy::copy | py::return_value_policy::reference_internal | py::call_guard<py::gil_scoped_release>() | py::call_guard<py::gil_scoped_acquire>() | py::keep_alive<0, 1>() | py::prepend() | py::name("g") | py::is_operator() | "a"_a, "b"_a | py::arg("a").noconvert(), py::arg("b").none(false) | py::arg(), py::arg() | 3 | py::arg("a") = 1, py::arg("b") = 2, py::arg("a") = 1 | py::arg("a b"), py::arg("b") | py::arg("a"), "text", py::arg("b")
// call: f(1, 2)
// call: f(1)
// call: f(a=1, b=2)
// call: f(1, b=2)
// call: f(b=2, a=1)
// call: f.__doc__
using namespace pybind11::literals;
int f(int a, int b) { return a * 10 + b; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f, @); }

// --- what-is-defined
// for: &f | f | torch::wrap_pybind_function(f) | torch::wrap_pybind_function(&f) | torch::wrap_pybind_function_no_gil(f) | [](int a) { return a + 1; } | [](auto a) { return a + 1; } | [k = 3](int a) { return a + k; } | [](int a) mutable { return ++a; } | py::overload_cast<int>(&f) | static_cast<int (*)(int)>(&f) | (int (*)(int)) & f | py::cpp_function(&f) | std::function<int(int)>(f) | std::plus<int>() | &S::method | &std::abs<int> | py::overload_cast<float>(&f) | S() | std::bind(f, 3)
// call: f(1)
// call: f(1.5)
// call: f("a")
// call: f(None)
int f(int a) { return a + 2; }
struct S { int method(int a) { return a; } int operator()(int a) const { return a + 7; } };
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", @); }

// --- what-a-module-says
// for: m.doc() = "text" | m.attr("a") = 1 | m.attr("a") = "text" | m.attr("a") = torch::kFloat | m.attr("a") = torch::kCPU | m.attr("a") = 1.5f | m.attr("a") = std::vector<int>{1} | m.attr("a") = py::none() | m.attr("a") = nullptr | m.attr("a") = 'c' | m.attr("a") = 3ull | m.attr("a") = E::One | m.def_submodule("s").def("g", [] { return 1; }) | m.add_object("a", py::int_(1)) | py::class_<E>(m, "E") | py::enum_<E>(m, "E").value("One", E::One) | m.def("g", [](int a) { return a; }).def("h", [] { return 2; }) | m.import("os") | auto o = py::module_::import("math"); m.attr("a") = o.attr("pi") | throw std::runtime_error("no") | throw py::value_error("no") | m.attr("a") = torch::ones(2) | m.def("f", [](float a) { return a; }) | py::register_exception<int>(m, "X") | m.attr("a") = m.attr("f") | py::print("") | m.def() | m.name() | m.def("__len__", [] { return 3; })
// call: f(1)
// call: a
// call: f.__doc__
enum class E { One };
int f(int a) { return a + 2; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f, "words"); @; }

// --- module-with-options
// for: , py::mod_gil_not_used() | , py::multiple_interpreters::per_interpreter_gil() | , 3 | , nonsense |
// call: f(1)
int f(int a) { return a + 2; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m @) { m.def("f", &f); }

// --- overloads
// for: f(1) | f(1.5) | f("a") | f([1]) | f(X) | f(True) | f(None) | f(1, 2) | f()
// call: @
int f(int a) { return 1; }
int f(double a) { return 2; }
int f(const std::string& a) { return 3; }
int f(torch::Tensor a) { return 4; }
int f(std::vector<int> a) { return 5; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("f", py::overload_cast<double>(&f));
  m.def("f", py::overload_cast<int>(&f));
  m.def("f", py::overload_cast<const std::string&>(&f));
  m.def("f", torch::wrap_pybind_function(py::overload_cast<torch::Tensor>(&f)));
  m.def("f", py::overload_cast<std::vector<int>>(&f));
}
