// Values of torch's types: what makes one, what it converts to, what may be assigned.

// --- a-scalar-made
// for: at::Scalar s(1) | at::Scalar s(1.5) | at::Scalar s(1ull) | at::Scalar s = 2u | at::Scalar s = 2.0L | at::Scalar s = 'c' | at::Scalar s = true | at::Scalar s = x.sum().item() | at::Scalar s = x.sum() | at::Scalar s{} | at::Scalar s = nullptr | at::Scalar s = "a" | at::Scalar s = P | at::Scalar s = E::Q | at::Scalar s = 1LL | at::Scalar s((size_t)5) | at::Scalar s(18446744073709551615ul) | auto s = at::Scalar(2.5f) | const at::Scalar& s = 3 | at::Scalar s = at::Half(2.0f) | at::Scalar s = std::complex<float>(1, 2) | at::Scalar s = c10::complex<float>(1, 2) | at::Scalar s = x.size(0) | at::Scalar s(1, true)
// call: f(X)
enum Plain { P = 3 };
enum class E { Q };
torch::Tensor f(torch::Tensor x) { @; return x * s; }

// --- a-scalar-read
// for: s.toInt() | s.toLong() | s.toDouble() | s.toFloat() | s.toBool() | s.toByte() | s.toChar() | s.toShort() | s.to<int>() | s.to<int8_t>() | s.to<uint8_t>() | s.to<float>() | s.to<bool>() | s.to<double>() | s.to<size_t>() | s.to<unsigned long long>() | s.to<long double>() | s.isIntegral(true) | s.isIntegral(false) | s.isIntegral() | s.isBoolean() | s.isComplex() | s.isFloatingPoint() | s.type() == torch::kLong | s.type() == torch::kDouble | s.equal(3) | (-s).toInt() | int(s) | (double)s | s == 3 | s + 1 | s.toHalf()
// call: f(3)
// call: f(2.5)
// call: f(300)
// call: f(3000000000)
// call: f(1e300)
// call: f(True)
// call: f(-1)
double f(at::Scalar s) { return (double)(@); }

// --- a-list-of-sizes
// for: torch::IntArrayRef s = {2, 6} | torch::IntArrayRef s({2, 6}) | std::vector<int64_t> s{2, 6} | auto s = x.sizes() | torch::IntArrayRef s = x.sizes() | std::vector<int64_t> v{2, 6}; torch::IntArrayRef s(v) | std::array<int64_t, 2> v{2, 6}; torch::IntArrayRef s(v) | int64_t v[] = {2, 6}; torch::IntArrayRef s(v) | int64_t v[] = {2, 6}; torch::IntArrayRef s(v, 2) | torch::IntArrayRef s; s = (int64_t)12 | torch::IntArrayRef s; s = {2, 6} | int64_t n = 12; torch::IntArrayRef s = n | torch::IntArrayRef s = 12 | torch::IntArrayRef s = std::vector<int>{2, 6} | std::vector<int> v{2, 6}; torch::IntArrayRef s(v) | std::initializer_list<int64_t> s = {2, 6} | auto s = torch::IntArrayRef({2, 6}) | auto s = std::vector<int64_t>(x.sizes().begin(), x.sizes().end()) | auto s = x.sizes().vec() | auto s = x.sizes().slice(0, 2) | auto s = at::makeArrayRef(x.sizes()) | c10::SmallVector<int64_t, 4> s = {2, 6} | at::DimVector s = {2, 6} | torch::IntArrayRef s = x.sizes(); s = {} ; s = x.sizes() | std::pair<int, int> s(2, 6) | at::OptionalIntArrayRef o = x.sizes(); auto s = *o | std::optional<torch::IntArrayRef> o = x.sizes(); auto s = *o | std::optional<std::vector<int64_t>> o; auto s = o.value_or(x.sizes().vec()) | torch::ArrayRef<int64_t> s = x.sizes() | c10::SymIntArrayRef s = x.sym_sizes() | torch::IntArrayRef s = x.sizes().back() | const auto& s = x.sizes() | torch::IntArrayRef s = x.strides(); s = x.sizes()
// call: f(X)
torch::Tensor f(torch::Tensor x) { @; return torch::zeros(s).add(1); }

// --- a-list-read
// for: x.sizes()[0] | x.sizes().at(0) | x.sizes().at(7) | x.sizes().front() | x.sizes().back() | x.sizes().size() | x.sizes().empty() | *x.sizes().begin() | *x.sizes().cbegin() | *x.sizes().rbegin() | x.sizes().data()[1] | x.sizes().slice(1)[0] | x.sizes().slice(5).size() | x.sizes() == x.sizes() | x.sizes() != x.sizes() | x.sizes().equals(x.sizes()) | x.sizes() == std::vector<int64_t>{3, 4} | std::vector<int64_t>{3, 4} == x.sizes() | x.sizes() == torch::IntArrayRef({3, 4}) | x.sizes().allMatch([](int64_t i) { return i > 0; }) | c10::multiply_integers(x.sizes()) | std::accumulate(x.sizes().begin(), x.sizes().end(), 1, std::multiplies<int64_t>()) | x.sizes() < x.sizes() | x.sizes().length() | x.strides().back() | x.size(0) * x.size(1) | (int)x.sizes() | x.sizes().vec().size() | x.sym_sizes().size() | x.sizes() == at::IntArrayRef{3} | sizeof(x.sizes()) | sizeof(at::Scalar) | sizeof(torch::Tensor)
// call: f(X)
double f(torch::Tensor x) { return (double)(@); }

// --- a-dtype-made
// for: x.dtype() | x.scalar_type() | torch::kFloat | torch::dtype(torch::kInt) | caffe2::TypeMeta(torch::kFloat) | caffe2::TypeMeta::Make<float>() | c10::scalarTypeToTypeMeta(torch::kInt) | at::CppTypeToScalarType<float>::value | c10::CppTypeToScalarType<int>() | torch::CppTypeToScalarType<double>::value | c10::typeMetaToScalarType(x.dtype()) | x.dtype().toScalarType() | torch::ScalarType::Float | (torch::ScalarType)6 | torch::get_default_dtype() | c10::get_default_dtype_as_scalartype() | at::toAccumulateType(torch::kHalf, false) | torch::promote_types(torch::kInt, torch::kFloat) | c10::promoteTypes(torch::kInt, torch::kFloat) | x.options().dtype() | x.type().scalarType() | at::typeMetaToScalarType(x.dtype()) | 6 | "float" | x.options()
// call: f(X)
torch::Tensor f(torch::Tensor x) { return torch::zeros({2}, @); }

// --- a-type-asked
// for: at::isFloatingType(t) | at::isIntegralType(t, true) | at::isIntegralType(t, false) | at::isIntegralType(t) | at::isComplexType(t) | at::isReducedFloatingType(t) | at::isQIntType(t) | at::elementSize(t) | c10::isFloatingType(t) | torch::isFloatingType(t) | std::string(at::toString(t)).size() | c10::scalarTypeToTypeMeta(t).itemsize() | c10::scalarTypeToTypeMeta(t).name().size() | (int)t | t == torch::kHalf | t == at::ScalarType::Half | t < torch::kHalf | at::isSignedType(t) | at::canCast(t, torch::kInt) | torch::zeros({1}, t).is_floating_point() | torch::zeros({1}, t).element_size()
// call: f(torch.float32)
// call: f(torch.float8_e4m3fn)
// call: f(torch.uint16)
// call: f(torch.int8)
// call: f(torch.complex64)
// call: f(torch.bool)
// call: f(torch.bfloat16)
double f(torch::ScalarType t) { return (double)(@); }

// --- a-device
// for: torch::Device d(torch::kCPU) | torch::Device d = torch::kCPU | torch::Device d("cpu") | torch::Device d("cpu:0") | torch::Device d("nosuch") | torch::Device d(torch::kCPU, 0) | torch::Device d(torch::kCPU, 5) | torch::Device d(torch::kCUDA, -3) | torch::Device d("cpu:1") | auto d = x.device() | torch::Device d | torch::Device d{torch::kCPU} | torch::Device d = "cpu" | torch::Device d(0) | torch::Device d = x.options().device() | at::Device d(at::DeviceType::CPU) | c10::Device d(c10::kCPU) | torch::DeviceType d = torch::kCPU | torch::Device d = x.device().type() | torch::Device d(torch::kMeta)
// call: f(X)
std::string f(torch::Tensor x) { @; return torch::Device(d).str(); }

// --- options
// for: torch::TensorOptions() | x.options() | torch::TensorOptions(torch::kFloat) | torch::TensorOptions().dtype(torch::kInt) | torch::TensorOptions().device(torch::kCPU) | torch::TensorOptions().device("cpu") | torch::TensorOptions().device(torch::kCPU, 0) | torch::dtype(torch::kInt).device(torch::kCPU) | torch::device(torch::kCPU) | torch::device({torch::kCPU, 0}) | torch::requires_grad() | torch::requires_grad(false).dtype(torch::kDouble) | torch::layout(torch::kStrided) | x.options().dtype<int>() | torch::TensorOptions().layout(torch::kSparse) | torch::TensorOptions().pinned_memory(false) | torch::TensorOptions().memory_format(torch::MemoryFormat::Contiguous) | torch::TensorOptions().dtype(x.dtype()).device(x.device()) | torch::TensorOptions(torch::kCPU) | {torch::kFloat} | torch::TensorOptions("cpu") | x.options().requires_grad(true) | torch::TensorOptions().dtype(c10::nullopt) | torch::TensorOptions().dtype(6) | torch::kFloat | torch::dtype<float>() | at::TensorOptions(at::kDouble) | c10::TensorOptions().dtype(c10::kHalf) | torch::TensorOptions().merge_in(x.options()) | torch::memory_format(torch::MemoryFormat::Contiguous)
// call: f(X)
torch::Tensor f(torch::Tensor x) { return torch::zeros({2}, @).detach(); }

// --- options-read
// for: x.options().dtype() == torch::kFloat | x.options().device().is_cpu() | x.options().requires_grad() | x.options().layout() == torch::kStrided | x.options().has_dtype() | torch::TensorOptions().has_device() | x.options().pinned_memory() | torch::TensorOptions().dtype() == torch::kFloat | x.options().device_index() | x.options().dtype_opt().has_value() | x.options().type_equal(x.options()) | x.options().backend() == at::Backend::CPU | x.options().is_sparse() | torch::TensorOptions() == torch::TensorOptions()
// call: f(X)
bool f(torch::Tensor x) { return (bool)(@); }

// --- pointers
// for: x.data_ptr<float>()[1] | x.data<float>()[1] | static_cast<float*>(x.data_ptr())[1] | x.const_data_ptr<float>()[1] | x.mutable_data_ptr<float>()[1] | x.data_ptr<double>()[1] | x.data_ptr<int>()[1] | x.data_ptr<long>()[1] | x.data_ptr<unsigned>()[1] | x.data_ptr<char>()[1] | x.data_ptr<const float>()[1] | x.const_data_ptr<const float>()[1] | x.accessor<float, 2>()[0][1] | x.accessor<float, 1>()[0] | x.accessor<double, 2>()[0][1] | x.accessor<const float, 2>()[0][1] | x.packed_accessor32<float, 2>()[0][1] | x.packed_accessor64<float, 2, torch::RestrictPtrTraits>()[0][1] | x.packed_accessor64<float, 2>()[0][1] | x.generic_packed_accessor<float, 2>()[0][1] | (x + 1).accessor<float, 2>()[0][1] | (x + 1).generic_packed_accessor<float, 2>()[0][1] | (x + 1).packed_accessor32<float, 2>()[0][1] | x.packed_accessor<float, 2>()[0][1] | x.accessor<float, 2>().size(1) | x.accessor<float, 0>() | *(float*)x.data_ptr() | (float*)x.data_ptr()[1] | x.data_ptr<at::Half>()[0] | x.storage().nbytes() | x.unsafeGetTensorImpl()->numel() | x.accessor<float, 2>().data()[2] | x.accessor<float, 2>()[0].size(0) | x.data_ptr<float>() == x.data_ptr() | x.item<float>() | x[0][1].item<float>() | x.accessor<float>()[0] | x.data_ptr<std::complex<float>>()[0].real() | x.data_ptr<bool>()[0] | x.data_ptr<uint8_t>()[0]
// call: f(X)
double f(torch::Tensor x) { return (double)(@); }

// --- assignment
// for: y = x | y[0] = x[1] | y[0][1] = 5 | y[0] = 2.5f | y[0] = 3ull | y[0] = true | y = 5 | auto z = y[0]; z = x[0] | y.slice(0, 0, 1) = 7 | y.index_put_({0}, 4) | y.index_put_({torch::indexing::Slice(), 0}, x.index({torch::indexing::Slice(), 1})) | y.index({0}) = 3 | y.select(0, 0).fill_(2) | y.select(0, 0) = x[0] | std::swap(y, x) | y = std::move(x) | y += 1 | y[0] += 1 | y.data() = x | y.sizes() = x.sizes() | y(0) = 1 | y[0, 1] = 3 | y = {} | y = torch::Tensor() | y = nullptr | y = x > 0 | y.copy_(x[0]) | torch::Tensor& z = y; z = x | const torch::Tensor z = y; z.add_(1) | const torch::Tensor z = y; z = x | y[0] = x[0].item() | y[torch::tensor(0)] = 3 | y["a"] = 3 | y[0.5] = 3 | y[1u] = 3 | y[1LL] = 3
// call: f(X, Y.clone())
torch::Tensor f(torch::Tensor x, torch::Tensor y) { @; return y.defined() ? y : torch::zeros(1); }

// --- index
// for: {0} | {0, 1} | {Slice()} | {Slice(1)} | {Slice(0, 2)} | {Slice(None, None, 2)} | {None} | {"..."} | {"..", 0} | {Ellipsis, 0} | {Slice(), 1} | {torch::tensor({0, 2})} | {x > 0} | {true} | {1.5} | {1L, 2LL} | {Slice(0, 2.5)} | {Slice(1u)} | {(size_t)1} | {Slice(0, 1, 0)} | {Slice(), Slice(0, x.size(1) / 2)} | {x.size(0) - 1} | {-1} | {9} | {torch::kFloat} | {Slice(None, -1)} | {Slice(0, None)} | {at::indexing::None, 0} | {nullptr} | {'c'} | {0u}
// call: f(X)
using namespace torch::indexing;
torch::Tensor f(torch::Tensor x) { return x.index(@); }
