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
inline at::Tensor make_variable(at::Tensor data, bool requires_grad = false) {
  if (requires_grad) slim::set_requires_grad(data.unsafeGetTensorImpl(), true);
  return data;
}
}  // namespace autograd

}  // namespace torch

#include <slim_factories.inc>

#ifdef SLIM_DISPATCH
#include <ATen/Dispatch.h>
#endif
