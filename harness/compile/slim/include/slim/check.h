// TORCH_CHECK and its family: the same classes of errors and the same words, without <sstream>.
#pragma once

#include <exception>

#include <slim/basics.h>
namespace at { class Tensor; }
namespace c10 { class Scalar; }
#include <slim/shim.h>

namespace c10 {

// To be caught, never made here: the real class lives in libc10.
class C10_API Error : public std::exception {
 public:
  const char* what() const noexcept override;
};

}  // namespace c10

namespace slim {

inline void append(std::string& to, const char* text) { to += text; }
void append(std::string& to, std::nullptr_t) = delete;
void append(std::string& to, wchar_t letter) = delete;
inline void append(std::string& to, const std::string& text) { to += text; }
inline void append(std::string& to, std::string_view text) { to += text; }
inline void append(std::string& to, char letter) { to += letter; }
inline void append(std::string& to, c10::ScalarType type) { to += c10::toString(type); }
inline void append(std::string& to, caffe2::TypeMeta type) { to += type.name(); }
inline void append(std::string& to, const c10::Device& device) { to += device.str(); }
template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
void append(std::string& to, T number) {
  if constexpr (std::is_floating_point_v<T>) append(to, static_cast<double>(number));
  else if constexpr (sizeof(T) == 1 && !std::is_same_v<T, bool>) to += static_cast<char>(number);
  else to += std::to_string(number);
}
template <typename T>
void append(std::string& to, c10::ArrayRef<T> items) {
  const char* between = "[";
  for (const T& item : items) {
    to += between;
    append(to, item);
    between = ", ";
  }
  to += items.empty() ? "[]" : "]";
}

// The text of a check: the given pieces, or torch's own words where there are none.
template <typename... Pieces>
std::string message(const char* otherwise, const Pieces&... pieces) {
  std::string text;
  if constexpr (sizeof...(pieces) == 0) text = otherwise;
  else (append(text, pieces), ...);
  return text;
}

}  // namespace slim

namespace c10 {
template <typename... Pieces>
std::string str(const Pieces&... pieces) { return slim::message("", pieces...); }
}  // namespace c10

#define SLIM_EXPECTED(cond)                                                                             \
  "Expected " #cond " to be true, but got false.  (Could this error message be improved?  If so, "      \
  "please report an enhancement request to PyTorch.)"
#define SLIM_CHECK(kind, cond, ...)                                                                     \
  if (C10_UNLIKELY(!(cond))) {                                                                 \
    ::slim::fail(::slim::ErrorKind::kind, __func__, __FILE__, static_cast<uint32_t>(__LINE__),          \
                 ::slim::message(SLIM_EXPECTED(cond), ##__VA_ARGS__));                                  \
  }
#define TORCH_CHECK(cond, ...) SLIM_CHECK(Error, cond, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) SLIM_CHECK(Index, cond, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) SLIM_CHECK(Value, cond, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) SLIM_CHECK(Type, cond, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) SLIM_CHECK(NotImplemented, cond, ##__VA_ARGS__)
#define TORCH_CHECK_LINALG(cond, ...) SLIM_CHECK(LinAlg, cond, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(cond, ...)                                                                \
  if (C10_UNLIKELY(!(cond))) {                                                                 \
    ::slim::fail(::slim::ErrorKind::Error, __func__, __FILE__, static_cast<uint32_t>(__LINE__),         \
                 #cond " INTERNAL ASSERT FAILED at \"" __FILE__ "\":" C10_STRINGIZE(__LINE__)           \
                       ", please report a bug to PyTorch. " + ::slim::message("", ##__VA_ARGS__));      \
  }
#define SLIM_CHECK_OP(a, b, op)                                                                         \
  (C10_LIKELY((a)op(b)) ? (void)0                                                                       \
                        : ::slim::check_failed(__func__, __FILE__, static_cast<uint32_t>(__LINE__),     \
                                               ::c10::str("Check failed: " #a " " #op " " #b " (", (a), \
                                                          " vs. ", (b), "). ")))
#define TORCH_CHECK_EQ(a, b) SLIM_CHECK_OP(a, b, ==)
#define TORCH_CHECK_NE(a, b) SLIM_CHECK_OP(a, b, !=)
#define TORCH_CHECK_LE(a, b) SLIM_CHECK_OP(a, b, <=)
#define TORCH_CHECK_LT(a, b) SLIM_CHECK_OP(a, b, <)
#define TORCH_CHECK_GE(a, b) SLIM_CHECK_OP(a, b, >=)
#define TORCH_CHECK_GT(a, b) SLIM_CHECK_OP(a, b, >)
#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) while (false) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#endif
#define AT_ASSERT(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#define AT_ASSERTM(cond, ...) TORCH_INTERNAL_ASSERT(cond, __VA_ARGS__)
#define AT_ERROR(...)                                                                                   \
  do {                                                                                                  \
    ::slim::fail(::slim::ErrorKind::Error, __func__, __FILE__, static_cast<uint32_t>(__LINE__),         \
                 ::c10::str(__VA_ARGS__));                                                              \
  } while (false)
#define TORCH_WARN(...) \
  ::slim::warn(__func__, __FILE__, static_cast<uint32_t>(__LINE__), ::c10::str(__VA_ARGS__))
#define TORCH_WARN_ONCE(...)                                                                            \
  [[maybe_unused]] static const bool C10_ANONYMOUS_VARIABLE(slim_warned) = (TORCH_WARN(__VA_ARGS__), true)
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)

namespace c10 {

template <typename T>
const T& ArrayRef<T>::at(size_t i) const {
  TORCH_CHECK(i < Length, "ArrayRef: invalid index Index = ", i, "; Length = ", Length);
  return Data[i];
}
template <typename T>
const T& ArrayRef<T>::front() const {
  TORCH_CHECK(!empty(), "ArrayRef: attempted to access front() of empty list");
  return Data[0];
}
template <typename T>
const T& ArrayRef<T>::back() const {
  TORCH_CHECK(!empty(), "ArrayRef: attempted to access back() of empty list");
  return Data[Length - 1];
}
template <typename T>
ArrayRef<T> ArrayRef<T>::slice(size_t start, size_t length) const {
  TORCH_CHECK(start + length <= Length, "ArrayRef: invalid slice, N = ", start, "; M = ", length, "; size = ", Length);
  return ArrayRef(Data + start, length);
}
template <typename T>
ArrayRef<T> ArrayRef<T>::slice(size_t start) const {
  TORCH_CHECK(start <= Length, "ArrayRef: invalid slice, N = ", start, "; size = ", Length);
  return slice(start, Length - start);
}

}  // namespace c10

namespace c10 {
inline size_t elementSize(ScalarType type) { return slim::type_size(type); }
inline bool isFloatingType(ScalarType type) { return slim::is_floating(type); }
inline bool isIntegralType(ScalarType type, bool include_bool) { return slim::is_integral(type, include_bool); }
inline bool isComplexType(ScalarType type) { return slim::is_complex(type); }
inline Device::Device(DeviceType type, DeviceIndex index) : type_(type), index_(index) { validate(); }
inline void Device::set_index(DeviceIndex index) {
  index_ = index;
  validate();
}
inline void Device::validate() const {
  TORCH_INTERNAL_ASSERT_DEBUG_ONLY(index_ >= -1, "Device index must be -1 or non-negative, got ", static_cast<int>(index_));
  TORCH_INTERNAL_ASSERT_DEBUG_ONLY(!is_cpu() || index_ <= 0, "CPU device index must be -1 or zero, got ",
                                   static_cast<int>(index_));
}
}  // namespace c10

inline std::string_view caffe2::TypeMeta::name() const { return slim::type_name(type_); }
inline size_t caffe2::TypeMeta::itemsize() const { return slim::type_size(type_); }
