// What is thrown, and what becomes of it.

// --- thrown
// for: std::runtime_error("r") | std::invalid_argument("i") | std::out_of_range("o") | std::domain_error("d") | std::length_error("l") | std::overflow_error("v") | std::range_error("g") | std::bad_alloc() | std::logic_error("l") | std::exception() | std::string("s") | "text" | 5 | 2.5 | py::value_error("v") | py::type_error("t") | py::index_error("i") | py::key_error("k") | py::import_error("m") | py::stop_iteration("s") | py::buffer_error("b") | py::attribute_error("a") | py::cast_error("c") | py::reference_cast_error() | py::error_already_set() | c10::Error("e", "f") | c10::IndexError("e", "f") | c10::ValueError("e", "f") | c10::NotImplementedError("e", "f") | Mine() | std::system_error(std::make_error_code(std::errc::invalid_argument)) | torch::TypeError("t") | std::bad_cast() | std::nested_exception() | std::bad_optional_access() | std::ios_base::failure("f") | py::builtin_exception("b") | nullptr | std::make_exception_ptr(5) | std::underflow_error("u")
// call: f(X)
// call: f(3)
struct Mine : std::runtime_error { Mine() : std::runtime_error("mine") {} };
torch::Tensor f(torch::Tensor x) { throw @; }

// --- thrown-in-a-wrapped-function
// for: std::runtime_error("r") | std::invalid_argument("i") | std::out_of_range("o") | std::bad_alloc() | std::string("s") | 5 | py::value_error("v") | py::type_error("t") | py::index_error("i") | py::key_error("k") | py::stop_iteration("s") | Mine() | std::exception() | py::cast_error("c") | std::domain_error("d")
// call: f(X)
// call: f(3)
struct Mine : std::runtime_error { Mine() : std::runtime_error("mine") {} };
torch::Tensor f(torch::Tensor x) { throw @; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", torch::wrap_pybind_function(f)); }

// --- raised-by-torch
// for: x.view({5}) | x.matmul(x) | x.sum(7) | x.to(torch::kCUDA) | torch::zeros({-1}) | x[9] | x.index({torch::tensor({9})}) | x.reshape({7}) | x.add(torch::ones(7)) | torch::cat({x, x[0]}) | torch::Tensor().sizes() | torch::Tensor().sum() | x.item<float>() | x.data_ptr<double>() , x | x.accessor<float, 3>(), x | torch::empty({1LL << 60}) | torch::cholesky(x) | torch::tensor({1, 2}).softmax(0) | x.narrow(0, 0, 9) | x.squeeze(5) | x.permute({0}) | torch::Tensor() + x | torch::Tensor().dim(), x | x.transpose(0, 3) | torch::Tensor().scalar_type(), x | torch::Tensor().device(), x | torch::Tensor().data_ptr(), x | torch::Tensor().numel(), x | torch::Tensor().is_cuda(), x | torch::Tensor().options(), x | torch::Tensor().size(0), x | torch::Tensor().is_contiguous(), x | torch::Tensor().layout(), x | torch::Tensor().defined() ? x : -x
// call: f(X)
torch::Tensor f(torch::Tensor x) { return @; }

// --- caught
// for: const std::exception& e | const c10::Error& e | c10::Error& e | const torch::Error& e | const std::runtime_error& e | ... | const c10::IndexError& e | std::exception e | const at::Error& e | py::error_already_set& e | const c10::ValueError& e | int e | const c10::Error e
// call: f(X)
torch::Tensor f(torch::Tensor x) { try { return x.view({5}); } catch (@) { return x * 0; } }

// --- caught-and-read
// for: e.what() | e.msg() | e.what_without_backtrace() | e.backtrace() | e.context().size()
// call: f(X)
bool f(torch::Tensor x) { try { x.view({5}); } catch (const c10::Error& e) { return std::string(@).find("shape") != std::string::npos; } return false; }

// --- warned
// for: TORCH_WARN("one") | TORCH_WARN_ONCE("two ", x.dim()) | c10::warn(c10::Warning(c10::UserWarning(), {"a", "b", 1}, "w", false)) | TORCH_WARN_DEPRECATION("old") | std::cerr << "" | TORCH_WARN_ALWAYS("x")
// call: f(X)
torch::Tensor f(torch::Tensor x) { @; return x; }

// --- no-exception
// for: noexcept | noexcept(true) | noexcept(false) |
// call: f(X)
torch::Tensor f(torch::Tensor x) @ { return x + 1; }
