// namespace torch: what torch/types.h makes of at::.
#pragma once

#include <slim/tensor.h>

namespace torch {

using namespace at;
using std::nullopt;
using std::optional;
using Dtype = at::ScalarType;
using at::NoGradGuard;

constexpr auto kUInt8 = at::kByte, kInt8 = at::kChar, kInt16 = at::kShort, kInt32 = at::kInt, kInt64 = at::kLong;
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

// torch::tensor of a number, or of one dimension of them. Floating-point numbers take the default dtype, whole ones
// int64, unless the options name another.
template <typename T>
at::Tensor tensor_of(const T* data, slim::Extent sizes, const at::TensorOptions& options) {
  constexpr auto whole = std::is_same_v<T, bool> ? at::kBool : at::kLong;
  auto plain = std::is_floating_point_v<T> ? slim::default_dtype() : whole;
  auto dtype = options.has_dtype() ? options.dtype().toScalarType() : plain;
  return slim::copy_of(data, sizes, at::CppTypeToScalarType<T>::value, dtype, options.device(), options.requires_grad());
}
template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, bool> = true>
at::Tensor tensor(T number, const at::TensorOptions& options = {}) {
  return tensor_of(&number, {nullptr, 0}, options);
}
template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, bool> = true>
at::Tensor tensor(at::ArrayRef<T> numbers, const at::TensorOptions& options = {}) {
  const auto length = static_cast<int64_t>(numbers.size());
  return tensor_of(numbers.data(), {&length, 1}, options);
}
template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, bool> = true>
at::Tensor tensor(std::initializer_list<T> numbers, const at::TensorOptions& options = {}) {
  return tensor(at::ArrayRef<T>(numbers), options);
}
template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, bool> = true>
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
