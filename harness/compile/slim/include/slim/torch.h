// namespace torch: what torch/types.h makes of at::.
#pragma once

#include <slim/tensor.h>
#include <slim/types_versions.h>  // generated, as is the other of its kind

namespace torch {

using namespace at;
using std::nullopt;
using std::optional;
using Dtype = at::ScalarType;
using at::NoGradGuard;

constexpr auto kUInt8 = at::kByte, kInt8 = at::kChar, kInt16 = at::kShort, kInt32 = at::kInt, kInt64 = at::kLong;
constexpr auto kUInt16 = at::ScalarType::UInt16, kUInt32 = at::ScalarType::UInt32, kUInt64 = at::ScalarType::UInt64;
constexpr auto kFloat16 = at::kHalf, kFloat32 = at::kFloat, kFloat64 = at::kDouble;
constexpr auto kU8 = kUInt8, kI8 = kInt8, kI16 = kInt16, kI32 = kInt32, kI64 = kInt64;
constexpr auto kF16 = kFloat16, kF32 = kFloat32, kF64 = kFloat64;

namespace autograd {
using Variable = at::Tensor;
using variable_list = std::vector<Variable>;
using tensor_list = std::vector<at::Tensor>;
inline at::Tensor make_variable(at::Tensor data, bool requires_grad = false) {
  if (requires_grad) slim::set_requires_grad(data.unsafeGetTensorImpl(), true);
  return data;
}
}  // namespace autograd

// torch::tensor of a number, or of one dimension of them, of the types that torch takes.
template <typename T>
constexpr bool is_datum =
    std::is_same_v<T, uint8_t> || std::is_same_v<T, int8_t> || std::is_same_v<T, int16_t> || std::is_same_v<T, int> ||
    std::is_same_v<T, int64_t> || std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bool> ||
    std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>;
template <typename T>
at::Tensor tensor_of(slim::Given given, const T* data, size_t length, const at::TensorOptions& options) {
  return slim::tensor_of(given, data, length, at::CppTypeToScalarType<T>::value, options.parts());
}
template <typename T, std::enable_if_t<is_datum<T>, bool> = true>
at::Tensor tensor(T number, const at::TensorOptions& options = {}) {
  return tensor_of(slim::Given::Number, &number, 1, options);
}
template <typename T, std::enable_if_t<is_datum<T>, bool> = true>
at::Tensor tensor(at::ArrayRef<T> numbers, const at::TensorOptions& options = {}) {
  return tensor_of(slim::Given::Array, numbers.data(), numbers.size(), options);
}
template <typename T, std::enable_if_t<is_datum<T>, bool> = true>
at::Tensor tensor(std::initializer_list<T> numbers, const at::TensorOptions& options = {}) {
  return tensor_of(slim::Given::List, numbers.begin(), numbers.size(), options);
}
template <typename T, std::enable_if_t<is_datum<T> && !std::is_same_v<T, bool>, bool> = true>
at::Tensor tensor(const std::vector<T>& numbers, const at::TensorOptions& options = {}) {
  return tensor(at::ArrayRef<T>(numbers), options);
}

}  // namespace torch

#include <slim_factories.inc>

#ifdef SLIM_PRINT
#include <slim/print.h>
#endif
#ifdef SLIM_PARALLEL
#include <ATen/Parallel.h>
#endif

#ifdef SLIM_DISPATCH
#include <ATen/Dispatch.h>
#endif
