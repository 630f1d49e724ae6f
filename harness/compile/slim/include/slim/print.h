// `std::cout << tensor` and its like, where a source mentions a stream.
#pragma once

#include <ostream>

#include <slim/tensor.h>

namespace c10 {

inline std::ostream& operator<<(std::ostream& out, ScalarType type) { return out << toString(type); }
inline std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }
template <typename T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> items) {
  const char* between = "[";
  for (const T& item : items) {
    out << between << item;
    between = ", ";
  }
  return out << (items.empty() ? "[]" : "]");
}

}  // namespace c10

namespace caffe2 {
inline std::ostream& operator<<(std::ostream& out, TypeMeta type) { return out << type.name(); }
}  // namespace caffe2

namespace at {
inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  std::string text;
  slim::append(text, tensor);
  return out << text;
}
}  // namespace at
