// Conditions, macros of torch's headers, and functions that have their names.

// --- condition
// for: TORCH_VERSION_MAJOR >= 2 | TORCH_VERSION_MINOR > 3 | defined(TORCH_VERSION_MAJOR) | PY_VERSION_HEX >= 0x03080000 | PY_MAJOR_VERSION == 3 | PYBIND11_VERSION_MAJOR >= 2 | PYBIND11_VERSION_HEX > 0x02000000 | defined(__CUDA_ARCH__) | defined(__CUDACC__) | defined(USE_CUDA) | defined(WITH_CUDA) | __cplusplus >= 201703L | __cplusplus >= 202002L | defined(__GNUC__) | defined(__AVX2__) | defined(_OPENMP) | defined(NDEBUG) | defined(C10_MOBILE) | defined(TORCH_CHECK) | defined(AT_DISPATCH_FLOATING_TYPES) | defined(AT_CHECK) | defined(AT_ASSERT) | defined(CHECK) | defined(LOG) | defined(M_PI) | defined(INFINITY) | defined(PYBIND11_MODULE) | defined(TORCH_LIBRARY) | defined(AT_WARN) | defined(TORCH_EXTENSION_NAME) | defined(TORCH_API_INCLUDE_EXTENSION_H) | defined(__cpp_lib_optional) | __has_include(<torch/extension.h>) | __has_include(<cuda.h>) | __has_include(<nosuch.h>) | defined(FLT_MAX) | defined(INT_MAX) | defined(PRId64) | defined(assert) | defined(C10_CUDA_CHECK) | defined(TORCH_CUDA_CU_API) | defined(AT_PER_OPERATOR_HEADERS) | defined(AT_PARALLEL_OPENMP) | defined(_GLIBCXX_CMATH) | defined(Py_PYTHON_H) | defined(HAVE_UNISTD_H) | defined(unix) | defined(SLIM_HALF) | CUDART_VERSION >= 11000
// call: f()
#if @
int f() { return 1; }
#else
int f() { return 2; }
#endif

// --- a-function-named-like-a-macro
// for: CHECK | LOG | VLOG | DCHECK | DLOG | LOG_IF | CHECK_EQ | RECORD_FUNCTION | TORCH_ARG | WARN | ASSERT | CHECK_INPUT | MAX | MIN | HANDLE_TH_ERRORS | SOFT_ASSERT
// call: go(X)
torch::Tensor @(torch::Tensor x) { return x + 1; }
torch::Tensor go(torch::Tensor x) { return @(x); }

// --- an-own-macro
// for: CHECK | CHECK_CUDA | CHECK_INPUT | LOG | CHECK_CONTIGUOUS | CHECK_EQ | MAX | VLOG | ERROR | DCHECK
// call: f(X)
#define @(x) TORCH_CHECK((x).is_contiguous(), #x " must be contiguous")
torch::Tensor f(torch::Tensor x) { @(x); return x + 1; }

// --- an-own-macro-where-there-is-none
// for: CHECK | CHECK_CUDA | LOG | M_PI | MAX | AT_CHECK
// call: f(X)
#ifndef @
#define @(x) TORCH_CHECK(false, "mine")
#endif
torch::Tensor f(torch::Tensor x) { return x + 1; }

// --- a-check
// for: TORCH_CHECK(x.dim() == 2, "dim ", x.dim()) | TORCH_CHECK(x.dim() == 5, "dim ", x.dim(), " of ", x.sizes()) | TORCH_CHECK(false) | TORCH_CHECK(x.dim() == 5) | TORCH_CHECK_VALUE(false, "v") | TORCH_CHECK_INDEX(false, "i") | TORCH_CHECK_TYPE(false, "t") | TORCH_CHECK_EQ(x.dim(), 5) | TORCH_CHECK_GT(x.dim(), 1) | TORCH_INTERNAL_ASSERT(false, "why") | TORCH_INTERNAL_ASSERT(x.defined()) | TORCH_INTERNAL_ASSERT_DEBUG_ONLY(x.dim() == 5, "debug") | AT_ASSERT(false) | AT_ASSERTM(false, "m") | AT_ERROR("e ", 3) | AT_CHECK(true) | TORCH_WARN("w ", 2) | TORCH_WARN_ONCE("w") | AT_WARN("w") | CHECK(false) | CHECK_EQ(1, 2) | DCHECK(false) | TORCH_CHECK_NOT_IMPLEMENTED(false, "n") | TORCH_CHECK(x.scalar_type() == torch::kInt, "got ", x.scalar_type()) | TORCH_CHECK(false, x.dtype(), " ", x.device()) | TORCH_CHECK(false, 1.5, 2.5f, 'c', true, "s", std::string("t"), (uint8_t)65, (int8_t)66, 3ull) | TORCH_CHECK(false, 1.5L) | TORCH_CHECK(false, (void*)nullptr) | TORCH_CHECK(false, x.layout()) | TORCH_CHECK(false, torch::kCPU) | TORCH_CHECK(false, std::vector<int64_t>{1, 2}) | TORCH_CHECK(false, std::vector<float>{1}) | TORCH_CHECK(false, x) | TORCH_CHECK(false, x.sum().item()) | TORCH_CHECK(x) | TORCH_CHECK(x.sum().item<bool>(), "b") | C10_UNUSED int k = 3 | TORCH_CHECK(false, c10::str("a", 1)) | TORCH_CHECK_NOTNULL(&x) | TORCH_CHECK_LINALG(false, "l") | TORCH_CHECK(false, 1e-7, " ", 123456789.0, " ", 1e20f) | TORCH_CHECK(false, L'c') | TORCH_CHECK(false, nullptr) | C10_THROW_ERROR(Error, "x") | TORCH_CHECK_ARG(false, 1, "x") | TORCH_DCHECK_EQ(1, 2) | TORCH_CHECK(false, x.sizes()[0], x.strides()) | TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor") | assert(x.dim() == 2)
// call: f(X)
torch::Tensor f(torch::Tensor x) { @; return x + 1; }

// --- no-debug
// call: f(X)
#define NDEBUG
#include <torch/extension.h>
torch::Tensor f(torch::Tensor x) { TORCH_INTERNAL_ASSERT_DEBUG_ONLY(false); return x; }

// --- own-definitions-before-headers
// for: TORCH_ASSERT_ONLY_METHOD_OPERATORS | AT_PER_OPERATOR_HEADERS | private public | PYBIND11_DETAILED_ERROR_MESSAGES | _GNU_SOURCE 1
// call: f(X)
#define @
#include <torch/extension.h>
torch::Tensor f(torch::Tensor x) { return torch::relu(x); }

// --- attributes
// for: C10_HOST_DEVICE | C10_ALWAYS_INLINE | C10_NOINLINE | TORCH_API | C10_EXPORT | static inline | __attribute__((noinline)) | [[nodiscard]] | C10_DEVICE | constexpr | PYBIND11_EXPORT | TORCH_PYTHON_API
// call: f(X)
@ float twice(float v) { return v * 2; }
torch::Tensor f(torch::Tensor x) { return x * twice(1.5f); }
