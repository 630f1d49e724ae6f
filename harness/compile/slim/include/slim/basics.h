// The value types of torch's C++ API: enums, ArrayRef, SymInt, Device, TypeMeta.
//
// Each type that crosses into libtorch has the name, the size and the way of being passed of the real one, so the
// compiled call is the same call. shim.cpp asserts sizes and alignments against the real headers when it is compiled.
#pragma once

#include <slim_prelude.h>  // written for each source: the standard headers and the parts of the facade that it mentions
#include <slim/c_library.h>  // generated: the C library's headers that torch's include, for names in the global namespace

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <c10/macros/Macros.h>

#include <slim/scalar_types.h>  // generated: SLIM_SCALAR_TYPES and torch's AT_FORALL macros, with its own rows

namespace c10 {

using std::nullopt;
using std::nullopt_t;
using std::optional;
#ifdef SLIM_STD_STRING_VIEW
using string_view = std::string_view;
#endif

#define SLIM_ENUMERATOR(type, name) name,
enum class ScalarType : int8_t { SLIM_SCALAR_TYPES(SLIM_ENUMERATOR) Undefined, NumOptions };
#undef SLIM_ENUMERATOR
constexpr uint16_t NumScalarTypes = static_cast<uint16_t>(ScalarType::NumOptions);

enum class DeviceType : int8_t {
  CPU, CUDA, MKLDNN, OPENGL, OPENCL, IDEEP, HIP, FPGA, MAIA, XLA, Vulkan, Metal, XPU, MPS, Meta, HPU, VE, Lazy, IPU,
  MTIA, PrivateUse1
};
enum class Layout : int8_t { Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc, Jagged, NumOptions };
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d, NumOptions };
enum class QScheme : uint8_t;
using DeviceIndex = int8_t;
using StreamId = int64_t;

#define SLIM_CONSTANT(type, name) constexpr ScalarType k##name = ScalarType::name;
SLIM_SCALAR_TYPES(SLIM_CONSTANT)
#undef SLIM_CONSTANT
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta;
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse;

// C++ type <-> ScalarType.
template <typename T>
struct CppTypeToScalarType;
namespace impl {
template <ScalarType N>
struct ScalarTypeToCPPType;
template <ScalarType N>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<N>::type;
}  // namespace impl
#define SLIM_MAPPING(cpp_type, name)                                                                     \
  template <>                                                                                            \
  struct CppTypeToScalarType<cpp_type> : std::integral_constant<ScalarType, ScalarType::name> {};        \
  template <>                                                                                            \
  struct impl::ScalarTypeToCPPType<ScalarType::name> { using type = cpp_type; };
SLIM_SCALAR_TYPES(SLIM_MAPPING)
#undef SLIM_MAPPING

inline const char* toString(ScalarType type) {
  switch (type) {
#define SLIM_CASE(cpp_type, name) \
  case ScalarType::name: return #name;
    SLIM_SCALAR_TYPES(SLIM_CASE)
#undef SLIM_CASE
    default: return "UNKNOWN_SCALAR";
  }
}
inline bool isFloatingType(ScalarType t);
inline bool isIntegralType(ScalarType t, bool include_bool);
inline bool isComplexType(ScalarType t);

// A view of consecutive elements: two words, passed in registers.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
template <typename T>
class ArrayRef {
  const T* Data = nullptr;
  size_t Length = 0;

 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  using size_type = size_t;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : Data(&one), Length(1) {}
  constexpr ArrayRef(const T* data, size_t length) : Data(data), Length(length) {}
  constexpr ArrayRef(const T* begin, const T* end) : Data(begin), Length(end - begin) {}
  template <typename Container, typename U = decltype(std::declval<Container>().data()),
            typename = std::enable_if_t<std::is_same_v<U, T*> || std::is_same_v<U, const T*>>>
  ArrayRef(const Container& container) : Data(container.data()), Length(container.size()) {}
  template <typename A>
  ArrayRef(const std::vector<T, A>& items) : Data(items.data()), Length(items.size()) {
    static_assert(!std::is_same_v<T, bool>, "ArrayRef<bool> cannot be constructed from a std::vector<bool> bitfield.");
  }
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& items) : Data(items.data()), Length(N) {}
  template <size_t N>
  constexpr ArrayRef(const T (&items)[N]) : Data(items), Length(N) {}
  constexpr ArrayRef(const std::initializer_list<T>& items)
      : Data(items.size() ? items.begin() : nullptr), Length(items.size()) {}

  constexpr iterator begin() const { return Data; }
  constexpr iterator end() const { return Data + Length; }
  constexpr std::reverse_iterator<iterator> rbegin() const { return std::reverse_iterator<iterator>(end()); }
  constexpr std::reverse_iterator<iterator> rend() const { return std::reverse_iterator<iterator>(begin()); }
  constexpr bool empty() const { return Length == 0; }
  constexpr const T* data() const { return Data; }
  constexpr size_t size() const { return Length; }
  constexpr const T& operator[](size_t i) const { return Data[i]; }
  const T& at(size_t i) const;
  const T& front() const;
  const T& back() const;
  ArrayRef slice(size_t start, size_t length) const;
  ArrayRef slice(size_t start) const;
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  // Nothing that ends with the statement may be assigned; `ref = {}` still may.
  template <typename U>
  std::enable_if_t<std::is_same_v<U, T>, ArrayRef<T>>& operator=(U&& temporary) = delete;
  template <typename U>
  std::enable_if_t<std::is_same_v<U, T>, ArrayRef<T>>& operator=(std::initializer_list<U>) = delete;
  constexpr bool equals(ArrayRef other) const {
    if (Length != other.Length) return false;
    for (size_t i = 0; i < Length; ++i)
      if (!(Data[i] == other.Data[i])) return false;
    return true;
  }
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
template <typename T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) { return a.equals(b); }
template <typename T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) { return !a.equals(b); }
template <typename T>
bool operator==(const std::vector<T>& a, ArrayRef<T> b) { return ArrayRef<T>(a).equals(b); }
template <typename T>
bool operator!=(const std::vector<T>& a, ArrayRef<T> b) { return !ArrayRef<T>(a).equals(b); }
template <typename T>
bool operator==(ArrayRef<T> a, const std::vector<T>& b) { return a.equals(b); }
template <typename T>
bool operator!=(ArrayRef<T> a, const std::vector<T>& b) { return !a.equals(b); }
using IntArrayRef = ArrayRef<int64_t>;

// std::optional<ArrayRef<T>> that a braced list or one element converts to.
template <typename T>
class OptionalArrayRef final {
  std::optional<ArrayRef<T>> wrapped;

 public:
  constexpr OptionalArrayRef() noexcept = default;
  constexpr OptionalArrayRef(std::nullopt_t) noexcept {}
  constexpr OptionalArrayRef(const std::optional<ArrayRef<T>>& other) noexcept : wrapped(other) {}
  constexpr OptionalArrayRef(const T& value) noexcept : wrapped(value) {}
  template <typename U = ArrayRef<T>,
            std::enable_if_t<!std::is_same_v<std::decay_t<U>, OptionalArrayRef> &&
                                 std::is_convertible_v<U&&, ArrayRef<T>> && !std::is_convertible_v<U&&, T>,
                             bool> = false>
  constexpr OptionalArrayRef(U&& value) noexcept : wrapped(std::forward<U>(value)) {}
  constexpr OptionalArrayRef(const std::initializer_list<T>& items) noexcept : wrapped(ArrayRef<T>(items)) {}
  constexpr bool has_value() const noexcept { return wrapped.has_value(); }
  constexpr explicit operator bool() const noexcept { return wrapped.has_value(); }
  constexpr const ArrayRef<T>& value() const { return wrapped.value(); }
  constexpr const ArrayRef<T>& operator*() const noexcept { return *wrapped; }
  constexpr const ArrayRef<T>* operator->() const noexcept { return &*wrapped; }
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

// An integer that may be symbolic while a graph is traced; never so in a kernel's wrapper. Passed by reference.
class SymInt {
  int64_t value_;

 public:
  SymInt(int64_t value = 0) : value_(value) {}
  SymInt(const SymInt& other) : value_(other.value_) {}
  SymInt& operator=(const SymInt& other) { value_ = other.value_; return *this; }
  ~SymInt() {}
};
using SymIntArrayRef = ArrayRef<SymInt>;
using OptionalSymIntArrayRef = OptionalArrayRef<SymInt>;
inline SymIntArrayRef fromIntArrayRefSlow(IntArrayRef ints) {
  return SymIntArrayRef(reinterpret_cast<const SymInt*>(ints.data()), ints.size());
}

struct Device final {
  using Type = DeviceType;
  inline Device(DeviceType type, DeviceIndex index = -1);
  C10_API Device(const std::string& text);
  bool operator==(const Device& other) const noexcept { return type_ == other.type_ && index_ == other.index_; }
  bool operator!=(const Device& other) const noexcept { return !(*this == other); }
  DeviceType type() const noexcept { return type_; }
  DeviceIndex index() const noexcept { return index_; }
  bool has_index() const noexcept { return index_ != -1; }
  inline void set_index(DeviceIndex index);
  bool is_cuda() const noexcept { return type_ == DeviceType::CUDA; }
  bool is_cpu() const noexcept { return type_ == DeviceType::CPU; }
  C10_API std::string str() const;

 private:
  DeviceType type_;
  DeviceIndex index_;
  inline void validate() const;
};

class Stream;
class TensorImpl;
class DispatchKeySet;
// Declared for the operators that take one; a source that makes one is told by the linker.
struct Storage {
  C10_API Storage(const Storage&);
  C10_API ~Storage();
 private:
  void* impl_;
};
template <typename T>
class List;
template <typename T>
class IListRef;

}  // namespace c10

namespace caffe2 {

// A dtype as `Tensor::dtype()` gives it. It never crosses into libtorch, so one enum is enough.
class TypeMeta {
  c10::ScalarType type_ = c10::ScalarType::Undefined;

 public:
  TypeMeta() = default;
  TypeMeta& operator=(c10::ScalarType type) {
    type_ = type;
    return *this;
  }
  static TypeMeta fromScalarType(c10::ScalarType type) { return TypeMeta() = type; }
  template <typename T>
  static TypeMeta Make() { return fromScalarType(c10::CppTypeToScalarType<T>::value); }
  template <typename T>
  bool Match() const { return *this == Make<T>(); }
  c10::ScalarType toScalarType() const { return type_; }
  std::string_view name() const;
  size_t itemsize() const;
  friend bool operator==(const TypeMeta& a, const TypeMeta& b) { return a.type_ == b.type_; }
  friend bool operator!=(const TypeMeta& a, const TypeMeta& b) { return a.type_ != b.type_; }
};

}  // namespace caffe2

namespace c10 {
using caffe2::TypeMeta;
inline ScalarType typeMetaToScalarType(TypeMeta meta) { return meta.toScalarType(); }
inline TypeMeta scalarTypeToTypeMeta(ScalarType type) { return TypeMeta::fromScalarType(type); }
inline std::optional<ScalarType> optTypeMetaToScalarType(std::optional<TypeMeta> meta) {
  return meta ? std::optional<ScalarType>(meta->toScalarType()) : std::nullopt;
}
inline bool operator==(ScalarType t, TypeMeta m) { return m.toScalarType() == t; }
inline bool operator==(TypeMeta m, ScalarType t) { return t == m; }
inline bool operator!=(ScalarType t, TypeMeta m) { return !(t == m); }
inline bool operator!=(TypeMeta m, ScalarType t) { return !(t == m); }
}  // namespace c10

namespace caffe2 {
using c10::operator==;
using c10::operator!=;
}  // namespace caffe2

namespace at {
using namespace c10;  // as the real headers have it, by way of c10/util's forwarding headers
}  // namespace at

// Names that newer versions of torch use inside their own header-only files.
namespace torch::headeronly {
using c10::ScalarType;
using c10::toString;
namespace impl {
using c10::impl::ScalarTypeToCPPType;
using c10::impl::ScalarTypeToCPPTypeT;
}  // namespace impl
}  // namespace torch::headeronly
