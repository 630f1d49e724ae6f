// AT_DISPATCH and templates over dtypes.

// --- dispatch
// for: AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f" | AT_DISPATCH_FLOATING_TYPES(x.type(), "f" | AT_DISPATCH_FLOATING_TYPES(x.dtype(), "f" | AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "f" | AT_DISPATCH_ALL_TYPES(x.scalar_type(), "f" | AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "f" | AT_DISPATCH_ALL_TYPES_AND(at::kHalf, x.scalar_type(), "f" | AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBool, x.scalar_type(), "f" | AT_DISPATCH_INTEGRAL_TYPES(x.scalar_type(), "f" | AT_DISPATCH_FLOATING_TYPES_AND(at::ScalarType::Half, x.scalar_type(), "f" | AT_DISPATCH_FLOATING_TYPES_AND(at::ScalarType::BFloat16, x.scalar_type(), "f" | AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(x.scalar_type(), "f" | AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, x.scalar_type(), "f" | AT_DISPATCH_FLOATING_TYPES(torch::typeMetaToScalarType(x.dtype()), "f" | AT_DISPATCH_NOSUCH(x.scalar_type(), "f" | AT_DISPATCH_REDUCED_FLOATING_TYPES(x.scalar_type(), "f" | AT_DISPATCH_INDEX_TYPES(x.scalar_type(), "f" | AT_DISPATCH_FLOATING_TYPES(6, "f" | AT_DISPATCH_FLOATING_TYPES(x, "f"
// call: f(X)
// call: f(D)
// call: f(H)
// call: f(I)
// call: f(B)
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  @, [&] {
    auto a = x.data_ptr<scalar_t>();
    auto b = y.data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); ++i) b[i] = a[i] * static_cast<scalar_t>(2);
  });
  return y;
}

// --- dispatch-in-other-forms
// for: AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", ([&] { x.mul_(sizeof(scalar_t)); })) | AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&]() { using T = scalar_t; x.add_(static_cast<T>(1)); }) | AT_DISPATCH_SWITCH(x.scalar_type(), "f", AT_DISPATCH_CASE(at::kFloat, [&] { x.add_(1); })) | AT_DISPATCH_V2(x.scalar_type(), "f", AT_WRAP([&] { x.add_(1); }), AT_EXPAND(AT_FLOATING_TYPES)) | switch (x.scalar_type()) { case torch::kFloat: x.add_(2); break; default: break; } | switch (x.scalar_type()) { case at::ScalarType::Half: x.add_(2); break; case at::ScalarType::Float: x.mul_(3); break; default: TORCH_CHECK(false, "type"); } | if (x.scalar_type() == torch::kFloat32) x.add_(1); else if (x.dtype() == torch::kInt64) x.add_(2) | if (x.dtype() == at::kHalf) x.add_(1) | auto r = AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] { return sizeof(scalar_t); }); x.add_((int64_t)r) | AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] { run<scalar_t>(x); }) | AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "f", [&] { run<scalar_t>(x); }) | run<float>(x) | run<at::Half>(x) | run<int>(x) | run<unsigned>(x) | x.apply_([](float v) { return v; })
// call: f(X.clone())
// call: f(I.clone())
// call: f(H.clone())
template <typename T> void run(torch::Tensor x) { x.data_ptr<T>()[0] = static_cast<T>(9); }
torch::Tensor f(torch::Tensor x) { @; return x; }

// --- probes
// for: std::is_same<T, float>::value | std::is_same_v<T, at::Half> | std::is_floating_point<T>::value | std::is_integral_v<T> | std::is_convertible_v<T, at::Scalar> | std::is_constructible_v<at::Scalar, T> | std::is_convertible_v<T, torch::Tensor> | std::is_trivially_copyable_v<at::Scalar> | sizeof(T) == 4 | std::is_default_constructible_v<torch::Device> | has_grad<torch::Tensor>(0) | requires(torch::Tensor t) { t.grad(); } | requires(torch::Tensor t) { t.storage(); } | noexcept(torch::Tensor()) | std::is_base_of_v<at::TensorBase, torch::Tensor> | std::is_class_v<torch::Dtype> | std::is_enum_v<at::ScalarType> | std::is_convertible_v<torch::ScalarType, torch::TensorOptions> | sizeof(torch::TensorOptions) > 8 | sizeof(at::Half) == 2 | std::is_same_v<decltype(std::declval<torch::Tensor>().sizes()), at::IntArrayRef> | std::is_invocable_v<decltype(&probe), torch::Tensor> | std::numeric_limits<T>::is_signed | std::is_arithmetic_v<T> | typeid(T) == typeid(float) | typeid(torch::Tensor).name() != nullptr | alignof(at::Scalar) == 16
// call: f()
template <typename T> auto has_grad(int) -> decltype(std::declval<T>().grad(), bool()) { return true; }
template <typename T> bool has_grad(long) { return false; }
inline int probe(torch::Tensor) { return 1; }
template <typename T> bool ask() { return @; }
std::vector<bool> f() { return {ask<float>(), ask<int>(), ask<at::Half>()}; }

// --- numbers-of-half-a-word
// for: float(h) * 2 | h * 2 | h + h | h < h | static_cast<float>(h) | std::abs(h) | exp(h) | std::exp(h) | abs(h) | h * 2.5 | -h | h == 1 | std::max(h, h) | (double)h | h += h | at::Half(3.0) | c10::Half(3) | h.x | std::numeric_limits<at::Half>::max() | std::isnan(h) | pow(h, 2) | sqrt(h) | std::sqrt(h) | h / 3 | h ? 1 : 0
// call: f()
float f() { at::Half h(1.5f); return (float)(@); }

// --- brain-floats
// for: float(h) * 2 | h * 2 | h + h | static_cast<float>(h) | exp(h) | std::exp(h) | h * 2.5f | -h | (double)h | at::BFloat16(3.0)
// call: f()
float f() { at::BFloat16 h(1.5f); return (float)(@); }

// --- typed-pointers
// for: x.const_data_ptr<float>(), y.mutable_data_ptr<float>() | x.const_data_ptr<const float>(), y.data_ptr<float>() | (const float*)x.const_data_ptr(), (float*)y.mutable_data_ptr() | x.packed_accessor32<const float, 1>().data(), y.data_ptr<float>() | x.accessor<const float, 1>().data(), y.accessor<float, 1>().data() | x.const_data_ptr<double>(), y.data_ptr<double>() | x.data_ptr<at::Half>(), y.data_ptr<at::Half>()
// call: f(X)
// call: f(D)
// call: f(H)
// call: f(X.t())
template <typename A, typename B> void run(const A* a, B* b, int64_t n) { for (int64_t i = 0; i < n; ++i) b[i] = (B)((float)a[i] * 2); }
torch::Tensor f(torch::Tensor given) { auto x = given.reshape({-1}); auto y = torch::empty_like(x); run(@, x.numel()); return y; }
