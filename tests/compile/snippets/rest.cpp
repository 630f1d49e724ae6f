// What else the facade declares.

// --- a-name-used
// for: (c10::DeviceIndex)1 | x.is_mps() | x.is_xpu() | x.is_non_overlapping_and_dense() | x.device().has_index() | x.suggest_memory_format() == at::MemoryFormat::Contiguous | at::globalContext().allowTF32CuBLAS() | at::globalContext().benchmarkCuDNN() | at::globalContext().userEnabledCuDNN() | at::globalContext().deterministicCuDNN() | (at::globalContext().setAllowTF32CuBLAS(true), 1) | (at::globalContext().setAllowTF32CuDNN(true), 1) | (at::globalContext().setDeterministicCuDNN(false), 1) | (at::globalContext().setUserEnabledCuDNN(true), 1) | at::Context::hasCUDA() | at::globalContext().hasCUDA() | torch::autograd::variable_list{x}.size() | torch::autograd::tensor_list{x}.size() | torch::autograd::make_variable(x).dim() | torch::autograd::make_variable(x, true).requires_grad() | torch::cuda::cudnn_is_available() | (torch::cuda::manual_seed_all(1), 1) | (torch::cuda::manual_seed(1), 1) | at::borrow_from_optional_tensor(std::optional<torch::Tensor>(x))->dim() | x.dtype().Match<float>() | x.dtype().isScalarType(torch::kFloat) | caffe2::TypeMeta::fromScalarType(torch::kInt).itemsize() | *x.sizes().rend().base() | torch::IntArrayRef::value_type(3) | (torch::IntArrayRef::size_type)3 | *torch::IntArrayRef::const_iterator(x.sizes().begin()) | c10::impl::ScalarTypeToCPPTypeT<torch::kFloat>(1.5f) | c10::impl::ScalarTypeToCPPType<torch::kInt>::type(2) | x.type().is_cuda() | x.type().device_type() == torch::kCPU | c10::fromIntArrayRefSlow(x.sizes()).size() | c10::typeMetaToScalarType(x.dtype()) == torch::kFloat | c10::optTypeMetaToScalarType(x.dtype()).has_value() | x.unsafeGetTensorImpl() != nullptr | c10::NumScalarTypes > 5 | (int)c10::DeviceType::Vulkan | (int)at::kSparse | (int)c10::Layout::Jagged | x.is_same(x) | (int)x.toString().size() | c10::sum_integers(x.sizes()) | c10::multiply_integers(x.sizes().begin(), x.sizes().end()) | at::device_of(x).has_value() | device_of(torch::Tensor()).has_value() | (x.print(), 1) | x.dtype().name() == "float" | c10::List<std::optional<torch::Tensor>>({x}).size() | torch::List<std::optional<torch::Tensor>>().size() | at::indexing::Slice(1, 2).start().expect_int() | torch::indexing::TensorIndex(1).is_integer() | x.is_leaf() | torch::headeronly::ScalarType::Float == x.scalar_type()
// call: f(X)
double f(torch::Tensor x) { return (double)(@); }

// --- a-check-of-two
// for: TORCH_CHECK_GE(x.dim(), 3) | TORCH_CHECK_LE(x.dim(), 1) | TORCH_CHECK_LT(x.dim(), 2) | TORCH_CHECK_NE(x.dim(), 2) | TORCH_CHECK_EQ(x.dim(), 2) | TORCH_CHECK_EQ(x.sizes(), x.strides()) | TORCH_CHECK_EQ(x.dim(), 2) << "more" | TORCH_CHECK_EQ(1.5, 2) | TORCH_CHECK_EQ(x.scalar_type(), torch::kInt) | TORCH_CHECK_GE(x.size(0), x.size(1), "text")
// call: f(X)
torch::Tensor f(torch::Tensor x) { @; return x; }

// --- the-module's-name
// for: TORCH_EXTENSION_NAME | PYBIND11_MODULE_NAME | "a name"
// call: f(3)
int f(int a) { return a; }
PYBIND11_MODULE(@, m) { m.def("f", &f); }

// --- the-module's-type
// for: py::module& | py::module_& | pybind11::module_& | auto& | py::object&
// call: f(3)
int f(int a) { return a; }
void more(@ m) { m.def("f", &f); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { more(m); }
