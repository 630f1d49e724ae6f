// Scalar and TensorOptions.
#pragma once

#include <slim/check.h>

namespace c10 {

// A number of any dtype. Storage of the real one's size and alignment, filled by libslim.
class Scalar {
  alignas(slim::scalar_alignment) unsigned char storage_[slim::scalar_size];

 public:
  Scalar() { slim::scalar_int(storage_, 0); }
  // One constructor a type, as the real class has them: what is ambiguous there is so here.
#define SLIM_FROM(type, kind) \
  Scalar(type number) { slim::scalar_##kind(storage_, number); }
  SLIM_FROM(uint8_t, int) SLIM_FROM(int8_t, int) SLIM_FROM(int16_t, int) SLIM_FROM(int, int) SLIM_FROM(int64_t, int)
  SLIM_FROM(long long, int) SLIM_FROM(float, double) SLIM_FROM(double, double) SLIM_FROM(uint16_t, int)
  SLIM_FROM(uint32_t, int) SLIM_FROM(uint64_t, uint)
#undef SLIM_FROM
  template <typename T, std::enable_if_t<std::is_same_v<T, bool>, bool>* = nullptr>
  Scalar(T truth) { slim::scalar_bool(storage_, truth); }
  template <typename T, std::enable_if_t<!std::is_arithmetic_v<T> && std::is_convertible_v<T, float> &&
                                             sizeof(CppTypeToScalarType<T>) != 0, bool> = false>
  Scalar(const T& number) { slim::scalar_double(storage_, static_cast<float>(number)); }
  Scalar(const Scalar& other) { slim::scalar_copy(storage_, other.storage_); }
  Scalar& operator=(const Scalar& other) {
    if (this != &other) {
      slim::scalar_destroy(storage_);
      slim::scalar_copy(storage_, other.storage_);
    }
    return *this;
  }
  ~Scalar() { slim::scalar_destroy(storage_); }

  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  bool toBool() const { return to<bool>(); }
  template <typename T>
  T to() const {
    static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>);
    T number;
    slim::scalar_to(storage_, CppTypeToScalarType<T>::value, &number);
    return number;
  }
  ScalarType type() const { return slim::scalar_type_of(storage_); }
  bool isFloatingPoint() const { return type() == ScalarType::Double; }
  bool isIntegral(bool include_bool) const { return isIntegralType(type(), include_bool); }
  bool isBoolean() const { return type() == ScalarType::Bool; }
};

// What a new tensor is to be. Taken apart before it crosses into libtorch, so its layout is our own.
struct TensorOptions {
  TensorOptions() = default;
  TensorOptions(Layout layout) : layout_(layout) {}
  TensorOptions(TypeMeta dtype) : dtype_(dtype) {}
  TensorOptions(ScalarType dtype) : dtype_(TypeMeta::fromScalarType(dtype)) {}
  TensorOptions(MemoryFormat format) : memory_format_(format) {}
  template <typename T, typename = std::enable_if_t<std::is_same_v<std::decay_t<T>, Device>>>
  TensorOptions(T&& device) : device_(std::forward<T>(device)) {}
  template <typename... Args, typename = std::enable_if_t<std::is_constructible_v<Device, Args&&...>>>
  TensorOptions(Args&&... args) : device_(Device(std::forward<Args>(args)...)) {}

  // `x.device(d)` gives a copy with that device, `x.device()` the device; so for every property.
#define SLIM_PROPERTY(type, name)                                                                       \
  [[nodiscard]] TensorOptions name(std::optional<type> value) const noexcept {                         \
    TensorOptions copy = *this;                                                                         \
    copy.name##_ = value;                                                                               \
    return copy;                                                                                        \
  }                                                                                                     \
  bool has_##name() const noexcept { return name##_.has_value(); }                                      \
  std::optional<type> name##_opt() const noexcept { return name##_; }
  SLIM_PROPERTY(Device, device)
  SLIM_PROPERTY(TypeMeta, dtype)
  SLIM_PROPERTY(Layout, layout)
  SLIM_PROPERTY(MemoryFormat, memory_format)
  SLIM_PROPERTY(bool, requires_grad)
  SLIM_PROPERTY(bool, pinned_memory)
#undef SLIM_PROPERTY
  template <typename... Args>
  [[nodiscard]] TensorOptions device(Args&&... args) const noexcept {
    return device(std::optional<Device>(std::in_place, std::forward<Args>(args)...));
  }
  [[nodiscard]] TensorOptions device_index(DeviceIndex index) const noexcept { return device(DeviceType::CUDA, index); }
  [[nodiscard]] TensorOptions dtype(std::optional<ScalarType> value) const noexcept {
    return dtype(value ? std::optional<TypeMeta>(TypeMeta::fromScalarType(*value)) : std::nullopt);
  }
  template <typename T>
  TensorOptions& dtype() {
    dtype_ = TypeMeta::Make<T>();
    return *this;
  }
  Device device() const noexcept { return device_.value_or(Device(DeviceType::CPU)); }
  TypeMeta dtype() const noexcept { return dtype_ ? *dtype_ : TypeMeta::fromScalarType(slim::default_dtype()); }
  Layout layout() const noexcept { return layout_.value_or(Layout::Strided); }
  bool requires_grad() const noexcept { return requires_grad_.value_or(false); }
  bool pinned_memory() const noexcept { return pinned_memory_.value_or(false); }
  DeviceIndex device_index() const noexcept { return device().index(); }
  slim::OptionParts parts() const {
    const auto type = dtype_ ? std::optional<ScalarType>(dtype_->toScalarType()) : std::nullopt;
    return {type, device_, layout_, memory_format_, requires_grad_, pinned_memory_};
  }

 private:
  std::optional<Device> device_;
  std::optional<TypeMeta> dtype_;
  std::optional<Layout> layout_;
  std::optional<MemoryFormat> memory_format_;
  std::optional<bool> requires_grad_;
  std::optional<bool> pinned_memory_;
};

inline TensorOptions dtype(TypeMeta type) { return TensorOptions().dtype(type); }
inline TensorOptions dtype(ScalarType type) { return TensorOptions().dtype(type); }
template <typename T>
TensorOptions dtype() { return TensorOptions().dtype(CppTypeToScalarType<T>::value); }
inline TensorOptions device(Device where) { return TensorOptions().device(where); }
inline TensorOptions layout(Layout how) { return TensorOptions().layout(how); }
inline TensorOptions requires_grad(bool value = true) { return TensorOptions().requires_grad(value); }

inline ScalarType promoteTypes(ScalarType a, ScalarType b) { return slim::promote_types(a, b); }

namespace impl {
inline std::optional<MemoryFormat> check_tensor_options_and_extract_memory_format(
    const TensorOptions& options, std::optional<MemoryFormat> format) {
  TORCH_CHECK(options.requires_grad_opt() != true,
              "Operators taking TensorOptions cannot take a TensorOptions with "
              "options.requires_grad set as true. This isn't implemented yet.");
  TORCH_CHECK(!(options.has_memory_format() && format.has_value()),
              "Cannot set memory_format both in TensorOptions and explicit argument; please delete "
              "the redundant setter.");
  return format.has_value() ? format : options.memory_format_opt();
}
}  // namespace impl

}  // namespace c10
