// Names of the source's own that torch has as well, and directives that bring torch's into sight.

// --- a-type-of-its-own-beside-a-directive
// for: Dict | Stack | Type | Event | Range | Tensors | Stream | Device | Layout | Config | Context | List | Storage | Generator | Scalar | Slice | Module | Options | Symbol | Node | Block | Tile | Params | Warning | Error | Half | Vec | Stats
// call: f(X)
using namespace torch;
struct @ { int a = 2; };
torch::Tensor f(torch::Tensor x) { @ one; return x * one.a; }

// --- a-function-of-its-own-beside-a-directive
// for: relu | scale | exp | clamp | div_up | ceil_div | size | numel | sum | dot | launch | pad | softmax | norm | split | str | irange | lerp | swap_ | max_val | tensor | ones
// call: f(X)
using namespace torch;
float @(float a, float b) { return a * b; }
torch::Tensor f(torch::Tensor x) { return x * @(2.0f, 1.5f); }

// --- directive
// for: torch | at | c10 | std | torch::indexing | at::indexing | torch::autograd | py | pybind11 | torch::nn | torch::nn::functional | caffe2 | py::literals | at::native | c10::impl | std::chrono | nosuch | torch::cuda
// call: f(X)
using namespace @;
torch::Tensor f(torch::Tensor x) { return x + 1; }

// --- short-names-beside-a-directive
// for: Tensor | at::Tensor | torch::Tensor
// call: f(X)
using namespace torch;
@ f(@ x) { return relu(x); }

// --- using
// for: torch::Tensor | at::Tensor | torch::kFloat | torch::relu | at::relu | std::vector | torch::nullopt | c10::optional | torch::IntArrayRef | torch::TensorOptions | torch::indexing::Slice | torch::nosuch | at::Half | std::max | c10::irange | torch::TensorList | torch::ScalarType
// call: f(X)
using @;
torch::Tensor f(torch::Tensor x) { return x + 1; }

// --- own-generic-function-with-torch's-name
// for: size | numel | relu | exp | abs | sum | stride | max | is_floating_point | clone | data | begin | swap | fill_ | norm | conj | is_complex | var
// call: f(X)
template <typename T> int @(const T& a, int b = 0) { return 7; }
torch::Tensor f(torch::Tensor x) { return x * @(x, 0); }

// --- own-generic-function-of-one-argument
// for: size | numel | relu | exp | abs | sum | is_floating_point | is_signed | clone | data | toString | str | norm | is_conj | optTypeMetaToScalarType | device_of
// call: f(X)
template <typename T> int @(const T& a) { return 7; }
torch::Tensor f(torch::Tensor x) { return x * @(x); }

// --- a-namespace-opened
// for: torch | at | c10 | std | pybind11 | mine | torch::mine | detail | slim
// call: f(X)
namespace @ { inline float half_of(float a) { return a / 2; } }
torch::Tensor f(torch::Tensor x) { return x * @::half_of(3.0f); }

// --- own-names-at-the-top
// for: binaryfunc | unaryfunc | destructor | getter | visitproc | hashfunc | Storage | Tensor | py_ | THPVariable | half | bfloat16 | uint | ulong | ssize | timer_t | u_int | fd_set | div_t | Py_ssize | complex_t | stack_t | mode_t
// global
// call: f_@(X)
struct @ { int a = 2; };
torch::Tensor f_@(torch::Tensor x) { struct @ one; return x * one.a; }

// --- own-variables-at-the-top
// for: environ | optarg | optind | signgam | stdin | daylight | timezone | program_name | y0 | j1 | gamma | errno | index | time | BLOCK | TILE | N | K | eps | EOF | I
// global
// call: f_@(X)
static int @ = 2;
torch::Tensor f_@(torch::Tensor x) { return x * @; }

// --- alias
// for: namespace nn = torch::nn::functional | namespace F = torch::nn::functional | namespace I = torch::indexing | namespace t = torch | namespace ag = torch::autograd | using T = torch::Tensor | typedef torch::Tensor T | namespace py = pybind11 | namespace pb = pybind11
// call: f(X)
@;
torch::Tensor f(torch::Tensor x) { return x + 1; }

// --- names-of-torch
// for: torch::Tensor | torch::TensorOptions | torch::kFloat32 | torch::kCUDA | torch::kUInt16 | torch::kBFloat16 | torch::kComplexFloat | torch::kI8 | torch::kF16 | torch::Device | torch::kMeta | torch::kXLA | torch::kMPS | torch::DeviceType::CUDA | torch::ScalarType::Half | torch::MemoryFormat::Preserve | torch::kChannelsLast | torch::kSparse | torch::kStrided | at::kFloat | at::kCUDA | c10::kCPU | c10::ScalarType::Float | at::ScalarType::Float8_e4m3fn | torch::nullopt | c10::nullopt | at::nullopt | c10::in_place | torch::NoGradGuard | torch::AutoGradMode | at::NoGradGuard | c10::InferenceMode | torch::InferenceMode | at::AutoDispatchBelowADInplaceOrView | at::AutoDispatchBelowAutograd | torch::GradMode | at::GradMode | at::globalContext | torch::globalContext | torch::manual_seed | torch::get_num_threads | at::get_num_threads | at::parallel_for | c10::DeviceGuard | at::DeviceGuard | at::OptionalDeviceGuard | torch::autograd::Variable | torch::Dict | torch::List | c10::List | c10::IValue | c10::Dict | torch::jit::Stack | torch::OrderedDict | torch::data::DataLoader | torch::version | torch::cuda::is_available | torch::cuda::device_count | at::hasCUDA | torch::hasCUDA | c10::string_view | c10::ArrayRef | c10::SmallVector | c10::Half | at::BFloat16 | c10::BFloat16 | c10::complex | at::acc_type | at::opmath_type | c10::toString | at::toString | c10::isFloatingType | at::isIntegralType | c10::elementSize | c10::typeMetaToScalarType | c10::CppTypeToScalarType | c10::multiply_integers | at::infer_size | at::native | torch::special | torch::linalg | torch::fft | torch::nested | at::indexing::None | torch::indexing::Slice | torch::indexing::None | torch::indexing::Ellipsis | torch::indexing::TensorIndex | at::TensorArg | at::checkSameSize | at::TensorAccessor | at::PackedTensorAccessor32 | torch::PackedTensorAccessor64 | at::GenericPackedTensorAccessor | torch::RestrictPtrTraits | at::DefaultPtrTraits | at::MaybeOwned | c10::MaybeOwned | c10::intrusive_ptr | c10::TensorImpl | c10::Storage | c10::Stream | c10::Event | c10::warn | c10::Error | c10::IndexError | c10::ValueError | torch::Error | torch::python_error | c10::str | c10::Join | c10::irange | torch::utils::clip_grad_norm_ | torch::isfinite | torch::Half | torch::optional | torch::make_optional | torch::from_blob | torch::tensor | torch::promote_types | c10::promoteTypes | at::promoteTypes | at::result_type | torch::can_cast | at::Reduction::Mean | torch::Reduction::Sum | torch::kMean | torch::enumtype::kSum | torch::kReflect
// call: f(X)
namespace probe { using namespace torch; }
auto f(torch::Tensor x) { { (void)0; [[maybe_unused]] int k = 1; } return x + 1; }
using @;
