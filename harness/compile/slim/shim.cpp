// libslim: the inline parts of torch's C++ API and its Python conversions, compiled once against the real headers.
//
// Every function takes the real types. The facade calls them with its own types of the same names, sizes and ways of
// being passed; the assertions below are what that rests on. Where one fails, this library does not compile and the
// slim toolchain steps back.

#include <torch/extension.h>

#include <ATen/TensorIndexing.h>
#include <c10/util/Logging.h>

#include <cstring>

#ifdef SLIM_WITH_CUDA
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#endif

#include "slim/shim.h"
#include "slim/binding_shim.h"

namespace slim {

using at::Tensor;
using c10::Scalar;

static_assert(sizeof(Tensor) == sizeof(void*) && alignof(Tensor) == alignof(void*));
static_assert(sizeof(Scalar) == scalar_size && alignof(Scalar) == scalar_alignment);
static_assert(sizeof(c10::IListRef<Tensor>) == list_ref_size && alignof(c10::IListRef<Tensor>) == 8);
static_assert(sizeof(c10::SymInt) == sizeof(int64_t) && !std::is_trivially_copyable_v<c10::SymInt>);
static_assert(sizeof(c10::IntArrayRef) == 16 && std::is_trivially_copyable_v<c10::IntArrayRef>);
static_assert(sizeof(c10::OptionalIntArrayRef) == 24 && std::is_trivially_copyable_v<c10::OptionalIntArrayRef>);
static_assert(sizeof(c10::List<std::optional<Tensor>>) == sizeof(void*));
static_assert(sizeof(c10::Device) == 2 && std::is_trivially_copyable_v<c10::Device>);
static_assert(sizeof(std::optional<at::Generator>) == 16);
static_assert(static_cast<int>(c10::DeviceType::CUDA) == 1 && static_cast<int>(c10::DeviceType::Meta) == 14);
static_assert(static_cast<int>(c10::Layout::Jagged) == 7 && static_cast<int>(c10::MemoryFormat::ChannelsLast3d) == 3);

namespace {

using Pointer = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

// A tensor is one pointer, so the address of a pointer is the address of a tensor that borrows it.
const Tensor& borrowed(Impl* const& impl) { return reinterpret_cast<const Tensor&>(impl); }

Scalar* scalar_at(void* where) { return static_cast<Scalar*>(where); }
const Scalar& scalar_at(const void* where) { return *static_cast<const Scalar*>(where); }

template <typename X, typename Y>
Tensor binary_of(Binary op, const X& x, const Y& y) {
  switch (op) {
    case Binary::Add: return x + y;
    case Binary::Sub: return x - y;
    case Binary::Mul: return x * y;
    case Binary::Div: return x / y;
    case Binary::Remainder: return x % y;
    case Binary::And: return x & y;
    case Binary::Or: return x | y;
    case Binary::Xor: return x ^ y;
    case Binary::Lt: return x < y;
    case Binary::Le: return x <= y;
    case Binary::Gt: return x > y;
    case Binary::Ge: return x >= y;
    case Binary::Eq: return x == y;
    case Binary::Ne: return x != y;
  }
  TORCH_INTERNAL_ASSERT(false);
}

template <typename Y>
void in_place(Binary op, Tensor x, const Y& y) {
  switch (op) {
    case Binary::Add: x += y; return;
    case Binary::Sub: x -= y; return;
    case Binary::Mul: x *= y; return;
    case Binary::Div: x /= y; return;
    default: TORCH_INTERNAL_ASSERT(false);
  }
}

}  // namespace

Impl* const undefined_impl = c10::UndefinedTensorImpl::singleton();
void retain(Impl* impl) noexcept { (void)Pointer(borrowed(impl).getIntrusivePtr()).release(); }
void release(Impl* impl) noexcept { Pointer::reclaim(impl); }
size_t use_count(Impl* impl) noexcept { return borrowed(impl).use_count(); }

Extent sizes(Impl* impl) { auto all = impl->sizes(); return {all.data(), all.size()}; }
Extent strides(Impl* impl) { auto all = impl->strides(); return {all.data(), all.size()}; }
int64_t size(Impl* impl, int64_t dim) { return impl->size(dim); }
int64_t stride(Impl* impl, int64_t dim) { return borrowed(impl).stride(dim); }
int64_t dim(Impl* impl) { return impl->dim(); }
int64_t numel(Impl* impl) { return impl->numel(); }
int64_t storage_offset(Impl* impl) { return impl->storage_offset(); }
int64_t version(Impl* impl) { return borrowed(impl)._version(); }
size_t itemsize(Impl* impl) { return impl->itemsize(); }
size_t nbytes(Impl* impl) { return borrowed(impl).nbytes(); }
bool is_contiguous(Impl* impl, c10::MemoryFormat format) { return impl->is_contiguous(format); }
bool is_non_overlapping_and_dense(Impl* impl) { return impl->is_non_overlapping_and_dense(); }
c10::MemoryFormat suggest_memory_format(Impl* impl, bool exact) { return borrowed(impl).suggest_memory_format(exact); }
c10::ScalarType scalar_type(Impl* impl) { return borrowed(impl).scalar_type(); }
c10::Device device(Impl* impl) { return impl->device(); }
c10::Layout layout(Impl* impl) { return impl->layout(); }
bool requires_grad(Impl* impl) { return impl->requires_grad(); }
void set_requires_grad(Impl* impl, bool value) { impl->set_requires_grad(value); }
bool is_alias_of(Impl* a, Impl* b) { return borrowed(a).is_alias_of(borrowed(b)); }
void* data(Impl* impl) { return borrowed(impl).data_ptr(); }
const void* const_data(Impl* impl) { return borrowed(impl).const_data_ptr(); }

std::string_view type_name(c10::ScalarType type) {
  auto name = c10::scalarTypeToTypeMeta(type).name();
  return {name.data(), name.size()};
}
size_t type_size(c10::ScalarType type) { return c10::elementSize(type); }
c10::ScalarType default_dtype() { return c10::get_default_dtype_as_scalartype(); }
bool is_floating(c10::ScalarType type) { return c10::isFloatingType(type); }
bool is_integral(c10::ScalarType type, bool include_bool) { return c10::isIntegralType(type, include_bool); }
bool is_complex(c10::ScalarType type) { return c10::isComplexType(type); }
c10::ScalarType promote_types(c10::ScalarType a, c10::ScalarType b) { return c10::promoteTypes(a, b); }

void scalar_double(void* where, double value) { new (where) Scalar(value); }
void scalar_int(void* where, int64_t value) { new (where) Scalar(value); }
void scalar_uint(void* where, uint64_t value) { new (where) Scalar(value); }
void scalar_bool(void* where, bool value) { new (where) Scalar(value); }
void scalar_copy(void* where, const void* other) { new (where) Scalar(scalar_at(other)); }
void scalar_destroy(void* where) noexcept { scalar_at(where)->~Scalar(); }
// The types that a facade's Scalar converts to, and torch::tensor takes but for the unsigned ones.
#define SLIM_PLAIN(_)                                                                                   \
  _(uint8_t, Byte) _(int8_t, Char) _(int16_t, Short) _(int, Int) _(int64_t, Long) _(float, Float)       \
  _(double, Double) _(bool, Bool) _(c10::Half, Half) _(c10::BFloat16, BFloat16)
void scalar_to(const void* where, c10::ScalarType type, void* number) {
  switch (type) {
#define SLIM_TO(T, name) \
  case c10::ScalarType::name: *static_cast<T*>(number) = scalar_at(where).to<T>(); return;
    SLIM_PLAIN(SLIM_TO) SLIM_TO(uint16_t, UInt16) SLIM_TO(uint32_t, UInt32) SLIM_TO(uint64_t, UInt64)
#undef SLIM_TO
    default: TORCH_INTERNAL_ASSERT(false);
  }
}
c10::ScalarType scalar_type_of(const void* where) { return scalar_at(where).type(); }

void list_ref(void* where, const Tensor* data, size_t length) {
  new (where) c10::IListRef<Tensor>(at::TensorList(data, length));
}
void list_ref_destroy(void* where) noexcept {
  static_cast<c10::IListRef<Tensor>*>(where)->~IListRef();
}

void fail(ErrorKind kind, const char* function, const char* file, uint32_t line, const std::string& text) {
  c10::SourceLocation where{function, file, line};
  switch (kind) {
    case ErrorKind::Index: throw c10::IndexError(where, text);
    case ErrorKind::Value: throw c10::ValueError(where, text);
    case ErrorKind::Type: throw c10::TypeError(where, text);
    case ErrorKind::NotImplemented: throw c10::NotImplementedError(where, text);
    case ErrorKind::LinAlg: throw c10::LinAlgError(where, text);
    case ErrorKind::Error: break;
  }
  throw c10::Error(where, text);
}
void warn(const char* function, const char* file, uint32_t line, const std::string& text) {
  c10::warn(c10::Warning(c10::UserWarning(), {function, file, line}, text, /*verbatim=*/false));
}
// The logger's constructor has changed between versions of torch.
template <typename Logger>
auto fatal_logger(const char* function, const char* file, uint32_t line, int) -> decltype(Logger(
    c10::SourceLocation{function, file, line}, c10::GLOG_FATAL, false)) {
  return Logger(c10::SourceLocation{function, file, line}, c10::GLOG_FATAL, false);
}
template <typename Logger>
auto fatal_logger(const char*, const char* file, uint32_t line, long)
    -> decltype(Logger(file, static_cast<int>(line), c10::GLOG_FATAL)) {
  return Logger(file, static_cast<int>(line), c10::GLOG_FATAL);
}
void check_failed(const char* function, const char* file, uint32_t line, const std::string& text) {
  fatal_logger<c10::MessageLogger>(function, file, line, 0).stream() << text;
}
void append(std::string& to, double number) {
  std::ostringstream text;
  text << number;
  to += text.str();
}
template <typename T>
static void append_all(std::string& to, const std::vector<T>& items) {
  std::ostringstream text;
  text << items;  // of c10/util/Logging.h, which is not how an ArrayRef is written
  to += text.str();
}
void append(std::string& to, const std::vector<int64_t>& items) { append_all(to, items); }
void append(std::string& to, const std::vector<double>& items) { append_all(to, items); }
void append(std::string& to, const Tensor& tensor) {
  std::ostringstream text;
  text << tensor;
  to += text.str();
}

Tensor binary(Binary op, const Tensor& x, const Tensor& y) { return binary_of(op, x, y); }
Tensor binary(Binary op, const Tensor& x, const Scalar& y) { return binary_of(op, x, y); }
Tensor binary(Binary op, const Scalar& x, const Tensor& y) { return binary_of(op, x, y); }
void binary_in_place(Binary op, const Tensor& x, const Tensor& y) { in_place(op, x, y); }
void binary_in_place(Binary op, const Tensor& x, const Scalar& y) { in_place(op, x, y); }
Tensor negate(const Tensor& x) { return -x; }
Tensor invert(const Tensor& x) { return ~x; }
Tensor select(const Tensor& x, int64_t index) { return x[index]; }
Tensor select(const Tensor& x, const Scalar& index) { return x[index]; }
Tensor select(const Tensor& x, const Tensor& index) { return x[index]; }
void assign(const Tensor& to, const Tensor& from) { to.copy_(from); }
void assign(const Tensor& to, const Scalar& value) { to.fill_(value); }

namespace {
std::vector<at::indexing::TensorIndex> indices_of(const Index* items, size_t length) {
  const auto symbolic = [](std::optional<int64_t> value) {
    return value ? std::optional<c10::SymInt>(*value) : std::nullopt;
  };
  std::vector<at::indexing::TensorIndex> indices;
  for (const Index* item = items; item != items + length; ++item) {
    switch (item->kind) {
      case IndexKind::None: indices.emplace_back(at::indexing::None); break;
      case IndexKind::Ellipsis: indices.emplace_back(at::indexing::Ellipsis); break;
      case IndexKind::Integer: indices.emplace_back(item->start.value()); break;
      case IndexKind::Boolean: indices.emplace_back(item->start.value() != 0); break;
      case IndexKind::Tensor: indices.emplace_back(borrowed(item->tensor)); break;
      case IndexKind::Slice:
        indices.emplace_back(
            at::indexing::Slice(symbolic(item->start), symbolic(item->stop), symbolic(item->step)));
        break;
    }
  }
  return indices;
}
using OptionalTensors = c10::List<std::optional<Tensor>>;
}  // namespace

Tensor index(const Tensor& x, const Index* items, size_t length) { return x.index(indices_of(items, length)); }
void index_put(const Tensor& to, const Index* items, size_t length, const Tensor& value) {
  Tensor x = to;
  x.index_put_(indices_of(items, length), value);
}
void index_put(const Tensor& to, const Index* items, size_t length, const Scalar& value) {
  Tensor x = to;
  x.index_put_(indices_of(items, length), value);
}
void tensor_list(void* where) { new (where) OptionalTensors(); }
void tensor_list_copy(void* where, const void* other) {
  new (where) OptionalTensors(*static_cast<const OptionalTensors*>(other));
}
void tensor_list_destroy(void* where) noexcept { static_cast<OptionalTensors*>(where)->~OptionalTensors(); }
void tensor_list_push(void* where, const Tensor* item) {
  static_cast<OptionalTensors*>(where)->push_back(item ? std::optional<Tensor>(*item) : std::nullopt);
}
size_t tensor_list_size(const void* where) { return static_cast<const OptionalTensors*>(where)->size(); }

namespace {
at::TensorOptions options_of(c10::ScalarType type, c10::Device device, bool grad) {
  return at::TensorOptions().dtype(type).device(device).requires_grad(grad);
}
c10::IntArrayRef ints(Extent extent) { return {extent.data, extent.length}; }
}  // namespace

Tensor from_blob(void* data, Extent sizes, const Extent* strides, c10::ScalarType type, c10::Device device, bool grad) {
  auto options = options_of(type, device, grad);
  return strides ? torch::from_blob(data, ints(sizes), ints(*strides), options)
                 : torch::from_blob(data, ints(sizes), options);
}
Tensor from_blob(void* data, Extent sizes, const Extent* strides, void (*deleter)(void*, void*), void (*forget)(void*),
                 void* context, c10::ScalarType type, c10::Device device, bool grad) {
  auto options = options_of(type, device, grad);
  std::shared_ptr<void> kept(context, forget);
  auto free = [kept, deleter](void* memory) { deleter(kept.get(), memory); };
  return strides ? torch::from_blob(data, ints(sizes), ints(*strides), free, options)
                 : torch::from_blob(data, ints(sizes), free, options);
}
namespace {
at::TensorOptions options_of(const OptionParts& parts) {
  return at::TensorOptions()
      .dtype(parts.dtype)
      .device(parts.device)
      .layout(parts.layout)
      .memory_format(parts.memory_format)
      .requires_grad(parts.requires_grad)
      .pinned_memory(parts.pinned_memory);
}
// torch::tensor({...}): torch's TensorDataContainer takes its elements from the source alone, so this is its
// convert_to_tensor for one dimension of them.
template <typename T>
Tensor listed(at::ArrayRef<T> numbers, c10::ScalarType type, const at::TensorOptions& wanted) {
  at::TensorOptions options = wanted.requires_grad(std::nullopt);
  if (!options.has_dtype()) options = options.dtype(torch::detail::compute_desired_dtype(type));
  Tensor made = [&] {
    at::AutoDispatchBelowAutograd mode;
    return at::empty({static_cast<int64_t>(numbers.size())}, options.device(at::kCPU));
  }();
  {
    at::NoGradGuard guard;
    for (size_t i = 0; i < numbers.size(); ++i) made[static_cast<int64_t>(i)].fill_(Scalar(numbers[i]));
  }
  return torch::autograd::make_variable(made.to(options.device()), wanted.requires_grad());
}
template <typename T>
Tensor tensor_of_type(Given given, const T* data, size_t length, c10::ScalarType type, const at::TensorOptions& options) {
  switch (given) {
    case Given::Number: return torch::tensor(*data, options);
    case Given::Array: return torch::tensor(at::ArrayRef<T>(data, length), options);
    case Given::List: return listed(at::ArrayRef<T>(data, length), type, options);
  }
  TORCH_INTERNAL_ASSERT(false);
}
}  // namespace

Tensor tensor_of(Given given, const void* data, size_t length, c10::ScalarType type, const OptionParts& parts) {
  switch (type) {
#define SLIM_TENSOR(T, name)                                                                            \
  case c10::ScalarType::name:                                                                           \
    return tensor_of_type(given, static_cast<const T*>(data), length, type, options_of(parts));
    SLIM_PLAIN(SLIM_TENSOR)
#undef SLIM_TENSOR
    default: TORCH_INTERNAL_ASSERT(false);
  }
}
#undef SLIM_PLAIN
Tensor to_device(const Tensor& x, c10::DeviceType type) { return x.to(x.options().device(type)); }
Tensor to_type(const Tensor& x, c10::ScalarType type) { return x.toType(type); }
void* enter_device(c10::Device device) { return new c10::DeviceGuard(device); }
void leave_device(void* guard) noexcept { delete static_cast<c10::DeviceGuard*>(guard); }

// at::AutoDispatchBelowADInplaceOrView, taken apart so that its layout stays here.
uint64_t below_autograd_enter() {
  auto now = c10::impl::tls_local_dispatch_key_set();
  auto added = c10::autograd_dispatch_keyset_with_ADInplaceOrView - now.excluded_;
  now.excluded_ = now.excluded_ | added;
  c10::impl::_force_tls_local_dispatch_key_set(now);
  return added.raw_repr();
}
void below_autograd_leave(uint64_t added) {
  auto now = c10::impl::tls_local_dispatch_key_set();
  now.excluded_ = now.excluded_ - c10::DispatchKeySet(c10::DispatchKeySet::RAW, added);
  c10::impl::_force_tls_local_dispatch_key_set(now);
}
bool grad_enabled() { return c10::GradMode::is_enabled(); }
void set_grad_enabled(bool enabled) { c10::GradMode::set_enabled(enabled); }
void* enter_inference(bool enabled) { return new c10::InferenceMode(enabled); }
void leave_inference(void* guard) noexcept { delete static_cast<c10::InferenceMode*>(guard); }
void manual_seed(uint64_t seed) { at::manual_seed(seed); }
bool has_cuda() { return at::hasCUDA(); }

#ifdef SLIM_WITH_CUDA
namespace {
c10::cuda::CUDAStream stream_of(StreamParts parts) {
  c10::Device where(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(parts.device));
  return c10::cuda::CUDAStream(c10::Stream(c10::Stream::UNSAFE, where, parts.id));
}
StreamParts parts_of(c10::cuda::CUDAStream stream) { return {stream.id(), stream.device_index()}; }
}  // namespace

void cuda_check(int error, const char* file, const char* function, uint32_t line) {
  c10::cuda::c10_cuda_check_implementation(error, file, function, line, /*include_device_assertions=*/true);
}
int cuda_exchange_device(int index) { return c10::cuda::ExchangeDevice(static_cast<c10::DeviceIndex>(index)); }
void cuda_restore_device(int index) noexcept {
  C10_CUDA_CHECK_WARN(c10::cuda::MaybeSetDevice(static_cast<c10::DeviceIndex>(index)));
}
int cuda_current_device() { return c10::cuda::current_device(); }
int cuda_device_count() noexcept { return c10::cuda::device_count(); }
StreamParts cuda_current_stream(int device) { return parts_of(c10::cuda::getCurrentCUDAStream(device)); }
StreamParts cuda_default_stream(int device) { return parts_of(c10::cuda::getDefaultCUDAStream(device)); }
StreamParts cuda_pool_stream(bool high, int device) { return parts_of(c10::cuda::getStreamFromPool(high, device)); }
void cuda_set_stream(StreamParts parts) { c10::cuda::setCurrentCUDAStream(stream_of(parts)); }
void* cuda_raw_stream(StreamParts parts) { return stream_of(parts).stream(); }
void cuda_synchronize(StreamParts parts) { stream_of(parts).synchronize(); }
const void* cuda_device_properties(int device) { return at::cuda::getDeviceProperties(device); }
void* cublas_handle() { return at::cuda::getCurrentCUDABlasHandle(); }
#endif

}  // namespace slim
