// at::Tensor: one pointer to the real TensorImpl, as the real class is.
//
// Properties go through libslim. The operators of ATen are torch's own declarations: `slim_methods.inc` and
// `slim_operators.inc` are written for each source and hold those whose names occur in it.
#pragma once

#include <slim/options.h>
#ifdef SLIM_ACCESSORS
#include <ATen/core/TensorAccessor.h>
#ifdef CUDA_EMULATION
namespace at {
template <typename T>
struct RestrictPtrTraits {  // torch declares it for CUDA compilers alone
  typedef T* __restrict__ PtrType;
};
}  // namespace at
#endif
#endif

#ifdef SLIM_MAYBE_OWNED
#include <c10/util/MaybeOwned.h>
#endif
#ifdef SLIM_ACCUMULATE
#include <c10/util/accumulate.h>
#endif

namespace at {

struct Generator;
class Tensor;
class OptionalTensorRef;
namespace indexing { struct TensorIndex; }
using TensorList = c10::ArrayRef<Tensor>;
// The names of dimensions, which torch gave up after 2.11. Overloads mention them; no source can make one here.
class Dimname {
  Dimname() = delete;
  uint32_t symbol_;
  uint8_t kind_;
};
using DimnameList = c10::ArrayRef<Dimname>;
using ITensorListRef = c10::IListRef<Tensor>;
using IOptTensorListRef = c10::IListRef<OptionalTensorRef>;
using c10::OptionalIntArrayRef;

// Random generators are passed on as absent; naming one leaves the source to the next toolchain.
struct Generator {
  Generator(const Generator&) {}
  ~Generator() {}
 private:
  void* impl_ = nullptr;
};

// `tensor.type()`, as old code still asks for it. Not for AT_DISPATCH: newer torches refuse it there, older ones take it,
// and a source that has it is left to the toolchain that knows.
class DeprecatedTypeProperties {
  c10::ScalarType type_;
  c10::Device device_;

 public:
  DeprecatedTypeProperties(c10::ScalarType type, c10::Device device) : type_(type), device_(device) {}
  c10::ScalarType scalarType() const { return type_; }
  c10::DeviceType device_type() const { return device_.type(); }
  bool is_cuda() const { return device_.is_cuda(); }
};

class TORCH_API TensorBase {
 public:
  TensorBase() noexcept : impl_(slim::undefined_impl) {}
  TensorBase(const TensorBase& other) noexcept : impl_(other.impl_) { slim::retain(impl_); }
  TensorBase(TensorBase&& other) noexcept : impl_(std::exchange(other.impl_, slim::undefined_impl)) {}
  TensorBase& operator=(const TensorBase& other) noexcept {
    TensorBase copy(other);
    std::swap(impl_, copy.impl_);
    return *this;
  }
  TensorBase& operator=(TensorBase&& other) noexcept {
    TensorBase taken(std::move(other));
    std::swap(impl_, taken.impl_);
    return *this;
  }
  ~TensorBase() { if (impl_ != slim::undefined_impl) slim::release(impl_); }

  bool defined() const { return impl_ != slim::undefined_impl; }
  void reset() { *this = TensorBase(); }
  bool is_same(const TensorBase& other) const noexcept { return impl_ == other.impl_; }
  size_t use_count() const noexcept { return slim::use_count(impl_); }
  c10::TensorImpl* unsafeGetTensorImpl() const { return impl_; }

  int64_t dim() const { return slim::dim(impl_); }
  int64_t ndimension() const { return slim::dim(impl_); }
  int64_t numel() const { return slim::numel(impl_); }
  int64_t size(int64_t dim) const { return slim::size(impl_, dim); }
  int64_t stride(int64_t dim) const { return slim::stride(impl_, dim); }
  c10::IntArrayRef sizes() const { return view(slim::sizes(impl_)); }
  c10::IntArrayRef strides() const { return view(slim::strides(impl_)); }
  int64_t storage_offset() const { return slim::storage_offset(impl_); }
  size_t itemsize() const { return slim::itemsize(impl_); }
  int64_t element_size() const { return static_cast<int64_t>(slim::itemsize(impl_)); }
  size_t nbytes() const { return slim::nbytes(impl_); }
  bool is_contiguous(c10::MemoryFormat format = c10::MemoryFormat::Contiguous) const {
    return slim::is_contiguous(impl_, format);
  }
  bool is_non_overlapping_and_dense() const { return slim::is_non_overlapping_and_dense(impl_); }
  c10::MemoryFormat suggest_memory_format(bool exact = false) const { return slim::suggest_memory_format(impl_, exact); }
  bool is_alias_of(const TensorBase& other) const { return slim::is_alias_of(impl_, other.impl_); }
  int64_t _version() const { return slim::version(impl_); }

  c10::ScalarType scalar_type() const { return slim::scalar_type(impl_); }
  caffe2::TypeMeta dtype() const { return caffe2::TypeMeta::fromScalarType(scalar_type()); }
  bool is_floating_point() const { return c10::isFloatingType(scalar_type()); }
  bool is_complex() const { return c10::isComplexType(scalar_type()); }
  c10::Device device() const { return slim::device(impl_); }
  c10::DeviceIndex get_device() const { return device().index(); }
  bool is_cuda() const { return is_on(c10::DeviceType::CUDA); }
  bool is_cpu() const { return is_on(c10::DeviceType::CPU); }
  bool is_meta() const { return is_on(c10::DeviceType::Meta); }
  bool is_xpu() const { return is_on(c10::DeviceType::XPU); }
  bool is_mps() const { return is_on(c10::DeviceType::MPS); }
  c10::Layout layout() const { return slim::layout(impl_); }
  bool is_sparse() const { return defined() && layout() == c10::Layout::Sparse; }
  c10::TensorOptions options() const { return c10::TensorOptions().dtype(dtype()).device(device()).layout(layout()); }
  bool requires_grad() const { return slim::requires_grad(impl_); }
  const TensorBase& set_requires_grad(bool value) const { slim::set_requires_grad(impl_, value); return *this; }

  void* data_ptr() const { return slim::data(impl_); }
  void* mutable_data_ptr() const { return slim::data(impl_); }
  const void* const_data_ptr() const { return slim::const_data(impl_); }
  // Defined in libtorch for every dtype; for any other T the linker says so.
  template <typename T> SLIM_API T* data_ptr() const;
  template <typename T> SLIM_API T* mutable_data_ptr() const;
#ifdef SLIM_CONST_DATA_PTR_IN_TWO
  template <typename T, std::enable_if_t<!std::is_const_v<T>, int> = 0> SLIM_API const T* const_data_ptr() const;
  template <typename T, std::enable_if_t<std::is_const_v<T>, int> = 0>
  SLIM_API const std::remove_const_t<T>* const_data_ptr() const;
#else
  template <typename T> SLIM_API const T* const_data_ptr() const;
#endif
  TensorBase contiguous(c10::MemoryFormat format = c10::MemoryFormat::Contiguous) const {
    return is_contiguous(format) ? *this : __dispatch_contiguous(format);
  }
  SLIM_API std::string toString() const;
  SLIM_API bool is_leaf() const;
  SLIM_API void print() const;

#ifdef SLIM_ACCESSORS
#include <slim/accessors.inc>
#endif

 protected:
  c10::TensorImpl* impl_;
  SLIM_API const TensorBase& requires_grad_(bool value) const;
  SLIM_API TensorBase data() const;
  SLIM_API TensorBase __dispatch_contiguous(c10::MemoryFormat format) const;

 private:
  bool is_on(c10::DeviceType type) const { return defined() && device().type() == type; }
  static c10::IntArrayRef view(slim::Extent extent) { return {extent.data, extent.length}; }
};

class TORCH_API Tensor : public TensorBase {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  explicit Tensor(const TensorBase& base) : TensorBase(base) {}
  Tensor(TensorBase&& base) : TensorBase(std::move(base)) {}

  // `x = y` rebinds a variable; `x[0] = y`, on a temporary, copies into it.
  Tensor& operator=(const TensorBase& other) & noexcept { TensorBase::operator=(other); return *this; }
  Tensor& operator=(TensorBase&& other) & noexcept { TensorBase::operator=(std::move(other)); return *this; }
  Tensor& operator=(const Tensor& other) & noexcept { TensorBase::operator=(other); return *this; }
  Tensor& operator=(Tensor&& other) & noexcept { TensorBase::operator=(std::move(other)); return *this; }
  Tensor& operator=(const Tensor& other) && { slim::assign(*this, other); return *this; }
  Tensor& operator=(Tensor&& other) && { slim::assign(*this, other); return *this; }
  Tensor& operator=(const c10::Scalar& value) && { slim::assign(*this, value); return *this; }

  Tensor contiguous(c10::MemoryFormat format = c10::MemoryFormat::Contiguous) const {
    return is_contiguous(format) ? *this : Tensor(__dispatch_contiguous(format));
  }
  Tensor set_requires_grad(bool value) const { TensorBase::set_requires_grad(value); return *this; }
  DeprecatedTypeProperties type() const { return {scalar_type(), device()}; }
  template <typename T> T* data() const { return data_ptr<T>(); }
  Tensor data() const { return Tensor(TensorBase::data()); }
  const Tensor& requires_grad_(bool value = true) const { TensorBase::requires_grad_(value); return *this; }
  Tensor cpu() const { return slim::to_device(*this, c10::DeviceType::CPU); }
  Tensor cuda() const { return slim::to_device(*this, c10::DeviceType::CUDA); }
  Tensor toType(c10::ScalarType type) const { return slim::to_type(*this, type); }
  template <typename T> SLIM_API T item() const;

  Tensor operator-() const { return slim::negate(*this); }
  Tensor operator~() const { return slim::invert(*this); }
  Tensor operator[](int64_t index) const { return slim::select(*this, index); }
  Tensor operator[](const c10::Scalar& index) const { return slim::select(*this, index); }
  Tensor operator[](const Tensor& index) const { return slim::select(*this, index); }
#define SLIM_IN_PLACE(symbol, name)                                                                     \
  Tensor& operator symbol(const Tensor& other) {                                                        \
    slim::binary_in_place(slim::Binary::name, *this, other);                                            \
    return *this;                                                                                       \
  }                                                                                                     \
  Tensor& operator symbol(const c10::Scalar& other) {                                                   \
    slim::binary_in_place(slim::Binary::name, *this, other);                                            \
    return *this;                                                                                       \
  }
#ifdef SLIM_MAYBE_OWNED
  c10::MaybeOwned<Tensor> expect_contiguous(c10::MemoryFormat format = c10::MemoryFormat::Contiguous) const&;
  c10::MaybeOwned<Tensor> expect_contiguous(c10::MemoryFormat format = c10::MemoryFormat::Contiguous) && = delete;
#endif
#ifdef SLIM_INDEX
  Tensor index(c10::ArrayRef<indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(c10::ArrayRef<indexing::TensorIndex> indices, const Tensor& value);
  Tensor& index_put_(c10::ArrayRef<indexing::TensorIndex> indices, const c10::Scalar& value);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const c10::Scalar& value);
#endif
  SLIM_IN_PLACE(+=, Add)
  SLIM_IN_PLACE(-=, Sub)
  SLIM_IN_PLACE(*=, Mul)
  SLIM_IN_PLACE(/=, Div)
#undef SLIM_IN_PLACE

#include <slim_methods.inc>
};

#define SLIM_OPERATOR(symbol, name)                                                                     \
  inline Tensor operator symbol(const Tensor& x, const Tensor& y) {                                     \
    return slim::binary(slim::Binary::name, x, y);                                                      \
  }                                                                                                     \
  inline Tensor operator symbol(const Tensor& x, const c10::Scalar& y) {                                \
    return slim::binary(slim::Binary::name, x, y);                                                      \
  }                                                                                                     \
  inline Tensor operator symbol(const c10::Scalar& x, const Tensor& y) {                                \
    return slim::binary(slim::Binary::name, x, y);                                                      \
  }
SLIM_OPERATOR(+, Add)
SLIM_OPERATOR(-, Sub)
SLIM_OPERATOR(*, Mul)
SLIM_OPERATOR(/, Div)
SLIM_OPERATOR(%, Remainder)
SLIM_OPERATOR(&, And)
SLIM_OPERATOR(|, Or)
SLIM_OPERATOR(^, Xor)
SLIM_OPERATOR(<, Lt)
SLIM_OPERATOR(<=, Le)
SLIM_OPERATOR(>, Gt)
SLIM_OPERATOR(>=, Ge)
SLIM_OPERATOR(==, Eq)
SLIM_OPERATOR(!=, Ne)
#undef SLIM_OPERATOR

// While one lives, operators go past autograd, as torch's factory functions have it.
struct AutoDispatchBelowADInplaceOrView {
  AutoDispatchBelowADInplaceOrView() : excluded_(slim::below_autograd_enter()) {}
  ~AutoDispatchBelowADInplaceOrView() { slim::below_autograd_leave(excluded_); }
  AutoDispatchBelowADInplaceOrView(const AutoDispatchBelowADInplaceOrView&) = delete;
 private:
  uint64_t excluded_;
};
struct AutoGradMode {
  explicit AutoGradMode(bool enabled) : before_(slim::grad_enabled()) { slim::set_grad_enabled(enabled); }
  ~AutoGradMode() { slim::set_grad_enabled(before_); }
  AutoGradMode(const AutoGradMode&) = delete;
 private:
  bool before_;
};
struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};

// at::manual_seed, at::globalContext(): the settings whose functions libtorch exports.
inline void manual_seed(uint64_t seed) { slim::manual_seed(seed); }
inline bool hasCUDA() { return slim::has_cuda(); }
class TORCH_API Context {
 public:
  static bool hasCUDA() { return slim::has_cuda(); }
  bool userEnabledCuDNN() const;
  void setUserEnabledCuDNN(bool);
  bool benchmarkCuDNN() const;
  void setBenchmarkCuDNN(bool);
  bool deterministicCuDNN() const;
  void setDeterministicCuDNN(bool);
  bool deterministicAlgorithms() const;
  bool allowTF32CuBLAS() const;
  void setAllowTF32CuBLAS(bool);
  void setAllowTF32CuDNN(bool);
};
TORCH_API Context& globalContext();

// A device that is current while the guard lives.
class OptionalDeviceGuard {
  void* entered_ = nullptr;

 public:
  OptionalDeviceGuard() = default;
  explicit OptionalDeviceGuard(c10::Device device) : entered_(slim::enter_device(device)) {}
  explicit OptionalDeviceGuard(std::optional<c10::Device> device) { if (device) entered_ = slim::enter_device(*device); }
  OptionalDeviceGuard(const OptionalDeviceGuard&) = delete;
  OptionalDeviceGuard& operator=(const OptionalDeviceGuard&) = delete;
  ~OptionalDeviceGuard() { if (entered_) slim::leave_device(entered_); }
};
struct DeviceGuard : OptionalDeviceGuard {
  explicit DeviceGuard(c10::Device device) : OptionalDeviceGuard(device) {}
};

// Tensors over memory of the caller's.
inline Tensor from_blob(void* data, c10::IntArrayRef sizes, const c10::TensorOptions& options = {}) {
  return slim::from_blob(data, {sizes.data(), sizes.size()}, nullptr, options.dtype().toScalarType(), options.device(),
                         options.requires_grad());
}
inline Tensor from_blob(void* data, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                        const c10::TensorOptions& options = {}) {
  slim::Extent given{strides.data(), strides.size()};
  return slim::from_blob(data, {sizes.data(), sizes.size()}, &given, options.dtype().toScalarType(), options.device(),
                         options.requires_grad());
}

// Stock cannot tell whether this is a deleter or options.
Tensor from_blob(void* data, c10::IntArrayRef sizes, std::nullptr_t, const c10::TensorOptions& options = {}) = delete;
Tensor from_blob(void* data, c10::IntArrayRef sizes, c10::IntArrayRef strides, std::nullptr_t,
                 const c10::TensorOptions& options = {}) = delete;
template <typename Deleter, typename = std::enable_if_t<std::is_invocable_v<Deleter&, void*>>>
Tensor from_blob(void* data, c10::IntArrayRef sizes, const Deleter& deleter, const c10::TensorOptions& options = {}) {
  return slim::from_blob(
      data, {sizes.data(), sizes.size()}, nullptr, [](void* kept, void* memory) { (*static_cast<Deleter*>(kept))(memory); },
      [](void* kept) { delete static_cast<Deleter*>(kept); }, new Deleter(deleter), options.dtype().toScalarType(),
      options.device(), options.requires_grad());
}
template <typename Deleter, typename = std::enable_if_t<std::is_invocable_v<Deleter&, void*>>>
Tensor from_blob(void* data, c10::IntArrayRef sizes, c10::IntArrayRef strides, const Deleter& deleter,
                 const c10::TensorOptions& options = {}) {
  slim::Extent given{strides.data(), strides.size()};
  return slim::from_blob(
      data, {sizes.data(), sizes.size()}, &given, [](void* kept, void* memory) { (*static_cast<Deleter*>(kept))(memory); },
      [](void* kept) { delete static_cast<Deleter*>(kept); }, new Deleter(deleter), options.dtype().toScalarType(),
      options.device(), options.requires_grad());
}

inline std::optional<c10::Device> device_of(const Tensor& tensor) {
  return tensor.defined() ? std::optional<c10::Device>(tensor.device()) : std::nullopt;
}

}  // namespace at

// A list of tensors in one of several forms; the facade only ever makes the plain one.
template <>
class c10::IListRef<at::Tensor> {
  alignas(8) unsigned char storage_[slim::list_ref_size];

 public:
  IListRef() = delete;  // of stock's nothing may be asked
  IListRef(at::TensorList tensors) { slim::list_ref(storage_, tensors.data(), tensors.size()); }
  IListRef(const std::vector<at::Tensor>& tensors) : IListRef(at::TensorList(tensors)) {}
  IListRef(const std::initializer_list<at::Tensor>& tensors) : IListRef(at::TensorList(tensors)) {}
  template <size_t N>
  IListRef(const std::array<at::Tensor, N>& tensors) : IListRef(at::TensorList(tensors)) {}
  IListRef(const at::Tensor& one) : IListRef(at::TensorList(one)) {}
  IListRef(const IListRef&) = delete;
  ~IListRef() { slim::list_ref_destroy(storage_); }
};

namespace c10 {
// While one lives, tensors are made without autograd's bookkeeping.
class InferenceMode {
  void* entered_;

 public:
  explicit InferenceMode(bool enabled = true) : entered_(slim::enter_inference(enabled)) {}
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  ~InferenceMode() { slim::leave_inference(entered_); }
};
using at::DeviceGuard;
using at::OptionalDeviceGuard;
}  // namespace c10

#ifdef SLIM_MAYBE_OWNED
#include <slim/maybe_owned.inc>
#endif
#ifdef SLIM_INDEX
#include <slim/indexing.inc>
#endif

#include <slim_operators.inc>
