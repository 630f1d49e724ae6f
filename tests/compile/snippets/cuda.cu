// CUDA: device code's functions and types, torch's streams, guards and checks. Each has one `torch::Tensor f(torch::Tensor)`.

// --- device-function
// for: abs | fabs | fabsf | exp | expf | __expf | sqrt | sqrtf | rsqrt | rsqrtf | log | tanh | tanhf | sin | cos | floor | ceil | round | rint | erf | erff | erfcf | lgamma | cbrt | log1p | expm1 | normcdff | sigmoid | std::abs | std::exp | std::sqrt | std::tanh | ::abs | ::exp | __fsqrt_rn | __frcp_rn | isnan | isinf | isfinite | std::isnan | signbit | (float)(int) | __float2int_rn | abs((int) | -
// call: f(X.cuda())
__global__ void k(const float* a, float* b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = @(a[i]); }
torch::Tensor f(torch::Tensor x) { auto y = torch::empty_like(x); k<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel()); return y; }

// --- device-expression
// for: max(a[i], 0.0f) | max(a[i], 0) | max(a[i], 0.0) | fmaxf(a[i], 0) | fmax(a[i], 0.f) | std::max(a[i], 0.0f) | min(a[i], 1.f) | pow(a[i], 2) | powf(a[i], 2) | std::pow(a[i], 2) | fma(a[i], 2.f, 1.f) | fmaf(a[i], 2.f, 1.f) | __fmaf_rn(a[i], 2.f, 1.f) | a[i] * M_PI | INFINITY * 0 + a[i] | a[i] > 0 ? a[i] : 0 | FLT_MAX - a[i] | -FLT_MAX + a[i] | __int_as_float(i) | CUDART_PI_F | a[i] / (1 + expf(-a[i])) | 0.5f * a[i] * (1 + erff(a[i] * M_SQRT1_2)) | std::numeric_limits<float>::max() | std::numeric_limits<float>::lowest() | __shfl_xor_sync(0xffffffff, a[i], 1) | __shfl_down_sync(0xffffffff, a[i], 4) | __shfl_xor(a[i], 1) | __ldg(a + i) | atomicAdd(b + i, 1.f) | warpSize | (float)clock64() * 0 | __popc(i) | __half2float(__float2half(a[i])) | (float)__half(a[i]) | (float)at::Half(a[i]) | (float)at::BFloat16(a[i]) | __bfloat162float(__float2bfloat16(a[i])) | c10::Half(a[i]) * 2 | assert(i >= 0), a[i] | printf(""), a[i] | CUDA_KERNEL_ASSERT(i >= 0); b[i] = a[i] | abs(i - 3) | sqrt(2) | sqrt(i) | exp(i) | c10::complex<float>(a[i], 1).real() | at::opmath_type<at::Half>(a[i]) | __hadd(__float2half(a[i]), __float2half(1.f)) | __half(a[i]) + __half(1.f) | (float)(int8_t)a[i] | __NV_E
// call: f(X.cuda())
__global__ void k(const float* a, float* b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { b[i] = @; } }
torch::Tensor f(torch::Tensor x) { auto y = torch::empty_like(x); k<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel()); return y; }

// --- pointers
// for: x.const_data_ptr<float>(), y.mutable_data_ptr<float>() | x.const_data_ptr<const float>(), y.data_ptr<float>() | (const float*)x.const_data_ptr(), (float*)y.mutable_data_ptr() | static_cast<const float*>(x.data_ptr()), y.data_ptr<float>() | x.packed_accessor32<const float, 1>().data(), y.data_ptr<float>() | x.accessor<const float, 1>().data(), y.data_ptr<float>() | x.const_data_ptr<double>(), y.data_ptr<double>() | x.data_ptr<at::Half>(), y.data_ptr<at::Half>() | x.data<float>(), y.data<float>()
// call: f(X.cuda())
template <typename A, typename B> __global__ void k(const A* a, B* b, int n) { int i = threadIdx.x; if (i < n) b[i] = (B)((float)a[i] * 2); }
template <typename A, typename B> void run(const A* a, B* b, int n) { k<<<1, 32>>>(a, b, n); }
torch::Tensor f(torch::Tensor given) { auto x = given.reshape({-1}); auto y = torch::empty_like(x); run(@, (int)x.numel()); return y; }

// --- stream
// for: at::cuda::getCurrentCUDAStream() | at::cuda::getCurrentCUDAStream().stream() | c10::cuda::getCurrentCUDAStream() | at::cuda::getDefaultCUDAStream() | at::cuda::getStreamFromPool() | c10::cuda::getStreamFromPool(true) | at::cuda::getCurrentCUDAStream(0) | at::cuda::getCurrentCUDAStream(x.get_device()) | at::cuda::getCurrentCUDAStream(x.device().index()) | 0 | nullptr | cudaStreamPerThread | (cudaStream_t)at::cuda::getCurrentCUDAStream() | at::cuda::getCurrentCUDAStream().id() | c10::cuda::getCurrentCUDAStream().unwrap() | at::cuda::CUDAStream(at::cuda::getCurrentCUDAStream()) | torch::cuda::getCurrentCUDAStream() | c10::cuda::CUDAStream::unpack3(0, 0, c10::kCUDA)
// call: f(X.cuda())
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAStream.h>
__global__ void k(float* b, int n) { int i = threadIdx.x; if (i < n) b[i] += 1; }
torch::Tensor f(torch::Tensor x) { auto y = x.clone(); torch::cuda::synchronize(); k<<<1, 32, 0, @>>>(y.data_ptr<float>(), (int)y.numel()); torch::cuda::synchronize(); return y; }

// --- stream-without-torch's-cuda
// for: at::cuda::getCurrentCUDAStream() | at::cuda::getCurrentCUDAStream().stream() | 0
// call: f(X.cuda())
#include <ATen/cuda/CUDAContext.h>
__global__ void k(float* b, int n) { int i = threadIdx.x; if (i < n) b[i] += 1; }
torch::Tensor f(torch::Tensor x) { auto y = x.clone(); k<<<1, 32, 0, @>>>(y.data_ptr<float>(), (int)y.numel()); return y; }

// --- nothing-included
// for: at::cuda::getCurrentCUDAStream() | c10::cuda::getCurrentCUDAStream() | 0 | C10_CUDA_CHECK(cudaGetLastError()) | C10_CUDA_KERNEL_LAUNCH_CHECK() | AT_CUDA_CHECK(cudaGetLastError()) | at::cuda::CUDAGuard g(x.device()) | c10::cuda::CUDAGuard g(0) | at::cuda::OptionalCUDAGuard g | cudaDeviceSynchronize() | cublasHandle_t h | at::cuda::getCurrentCUDABlasHandle() | curand_kernel | torch::cuda::is_available() | at::cuda::getCurrentDeviceProperties() | cudaMemcpy(x.data_ptr(), x.data_ptr(), 4, cudaMemcpyDeviceToDevice) | __half h | half h | nv_bfloat16 h | float4 h | dim3 h(1) | cooperative_groups::thread_block g | TORCH_CHECK(cudaSuccess == cudaGetLastError(), "no") | TORCH_CUDABLAS_CHECK(CUBLAS_STATUS_SUCCESS) | TORCH_CHECK(false, cudaGetErrorString(cudaErrorInvalidValue)) | py::object o | PyObject* o = nullptr
// call: f(X.cuda())
torch::Tensor f(torch::Tensor x) { @; return x + 1; }

// --- everything-included
// for: C10_CUDA_CHECK(cudaGetLastError()) | C10_CUDA_CHECK(cudaErrorInvalidValue) | C10_CUDA_KERNEL_LAUNCH_CHECK() | AT_CUDA_CHECK(cudaGetLastError()) | AT_CUDA_CHECK(cudaErrorInvalidValue) | C10_CUDA_CHECK_WARN(cudaErrorInvalidValue) | at::cuda::CUDAGuard g(x.device()) | c10::cuda::CUDAGuard g(0) | at::cuda::CUDAGuard g(x.get_device()) | const at::cuda::OptionalCUDAGuard g(device_of(x)) | const at::cuda::OptionalCUDAGuard g(at::device_of(x)) | c10::cuda::OptionalCUDAGuard g(x.device()) | c10::DeviceGuard g(x.device()) | at::cuda::CUDAGuard g(torch::Device(torch::kCPU)) | at::cuda::CUDAGuard g("cuda:0") | at::cuda::CUDAGuard g(0); g.set_index(0) | at::cuda::CUDAGuard g(0); g.original_device() | at::cuda::CUDAStreamGuard g(at::cuda::getStreamFromPool()) | c10::cuda::CUDAStreamGuard g(c10::cuda::getDefaultCUDAStream()) | c10::cuda::CUDAMultiStreamGuard g({}) | at::cuda::CUDAEvent e; e.record() | at::cuda::CUDAEvent e(cudaEventDefault); e.record(); e.synchronize() | at::cuda::getCurrentDeviceProperties()->multiProcessorCount | at::cuda::getDeviceProperties(0)->maxThreadsPerBlock | at::cuda::warp_size() | c10::cuda::device_count() | c10::cuda::current_device() | at::cuda::current_device() | c10::cuda::set_device(0) | cudaGetDevice(nullptr) | at::cuda::getCurrentCUDABlasHandle() | c10::cuda::CUDACachingAllocator::emptyCache() | at::cuda::ATenCeilDiv(3, 2) | cublasSetStream(at::cuda::getCurrentCUDABlasHandle(), at::cuda::getCurrentCUDAStream()) | c10::cuda::device_synchronize() | at::cuda::getNumGPUs() | at::cuda::is_available() | torch::cuda::device_count() | at::globalContext().getCurrentDeviceProperties() | at::cuda::currentStreamCaptureStatus() | CUDA_CHECK(cudaGetLastError()) | CUDA_CHECK(1) | cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024) | TORCH_CHECK(x.is_cuda(), "cuda") | TORCH_CHECK(x.device().is_cpu(), "got ", x.device()) | TORCH_CHECK(!x.is_cuda(), x.dtype(), x.sizes())
// call: f(X.cuda())
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
__global__ void k(float* b, int n) {}
torch::Tensor f(torch::Tensor x) { @; return x + 1; }

// --- condition-in-cuda
// for: defined(__CUDACC__) | TORCH_VERSION_MAJOR >= 2 | defined(TORCH_VERSION_MAJOR) | CUDA_VERSION >= 12000 | CUDART_VERSION >= 11000 | defined(USE_ROCM) | defined(__HIP_PLATFORM_AMD__) | PY_VERSION_HEX > 0 | defined(C10_CUDA_CHECK) | defined(CUDA_CHECK) | defined(CHECK) | defined(AT_DISPATCH_FLOATING_TYPES) | defined(M_PI) | defined(__CUDA_NO_HALF_OPERATORS__) | __cplusplus >= 201703L | defined(FLT_MAX) | defined(CUDART_INF_F)
// call: f(X.cuda())
#if @
__global__ void k(float* b, int n) { int i = threadIdx.x; if (i < n) b[i] += 1; }
#else
__global__ void k(float* b, int n) { int i = threadIdx.x; if (i < n) b[i] += 2; }
#endif
torch::Tensor f(torch::Tensor x) { auto y = x.clone(); k<<<1, 32>>>(y.data_ptr<float>(), (int)y.numel()); return y; }

// --- architecture-in-a-kernel
// for: __CUDA_ARCH__ >= 800 | __CUDA_ARCH__ >= 700 | defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// call: f(X.cuda())
__global__ void k(float* b, int n) {
#if @
  int i = threadIdx.x; if (i < n) b[i] += 1;
#endif
}
torch::Tensor f(torch::Tensor x) { auto y = x.clone(); k<<<1, 32>>>(y.data_ptr<float>(), (int)y.numel()); return y; }

// --- own-macro-in-cuda
// for: CUDA_CHECK | CHECK | CHECK_CUDA | CHECK_INPUT | CUDA_1D_KERNEL_LOOP | LOG | WARP_SIZE | CHECK_CONTIGUOUS | DIVUP | gpuErrchk
// call: f(X.cuda())
#define @(x) TORCH_CHECK((x).is_cuda(), #x " must be on the GPU")
torch::Tensor f(torch::Tensor x) { @(x); return x + 1; }

// --- kernel-over-dtypes
// for: AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "k" | AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "k" | AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "k" | AT_DISPATCH_FLOATING_TYPES(x.type(), "k" | AT_DISPATCH_ALL_TYPES(x.scalar_type(), "k"
// call: f(X.cuda())
// call: f(H.cuda())
// call: f(D.cuda())
// call: f(I.cuda())
template <typename scalar_t> __global__ void k(const scalar_t* __restrict__ a, scalar_t* __restrict__ b, int64_t n) { const int64_t i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = a[i] * static_cast<scalar_t>(2) + static_cast<scalar_t>(1); }
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  @, ([&] { k<scalar_t><<<1, 32>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel()); }));
  return y;
}

// --- kernel-over-accessors
// for: torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> a; x.packed_accessor32<float, 2, torch::RestrictPtrTraits>() | torch::PackedTensorAccessor<float, 2> a; x.packed_accessor<float, 2>() | torch::PackedTensorAccessor64<float, 2> a; x.packed_accessor64<float, 2>() | at::PackedTensorAccessor32<float, 2> a; x.packed_accessor32<float, 2>() | const torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> a; x.packed_accessor32<float, 2, torch::RestrictPtrTraits>() | torch::PackedTensorAccessor32<float, 2> a; x.generic_packed_accessor<float, 2>()
// call: f(X.cuda())
using Pair = int;
__global__ void k(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> a) { int i = threadIdx.x; if (i < a.size(0)) for (int j = 0; j < a.size(1); ++j) a[i][j] *= 3; }
torch::Tensor f(torch::Tensor x) { auto y = x.clone(); k<<<1, 32>>>(y.packed_accessor32<float, 2, torch::RestrictPtrTraits>()); return y; }

// --- host-code-in-cuda
// for: x.var(1) | torch::var(x, 1) | x.std(1) | std::get<0>(torch::var_mean(x, 1)) | x.sum(1) | x * 2 | x * 2ull | x + 2.0L | torch::relu(x) | x.to(torch::kHalf) | x.cpu() | torch::zeros({2}, x.options()) | torch::tensor({1, 2}, x.options()) | torch::tensor(3, torch::kCUDA) | torch::full({2}, 3, x.options()) | x[0] | x.contiguous() | torch::matmul(x, x.t()) | x.view({-1}) | torch::empty({2}, torch::dtype(torch::kFloat).device(torch::kCUDA)).fill_(1) | torch::empty({2}, torch::device(torch::kCUDA, 0)).fill_(1) | torch::zeros({2}, torch::TensorOptions().device(torch::kCUDA, 0)) | x.cuda() | x.to(x.device(), torch::kInt) | x.index({torch::indexing::Slice(), 0}) | torch::arange(3, torch::kCUDA) | torch::ones({2}, at::device(at::kCUDA).dtype(at::kFloat)) | x.mean().item() | x * abs(-2.5f) | x * abs(-2.5) | x * pow(2.0f, 0.5f) | x * std::max(1.0f, 2.0f) | x * sqrt(2) | x * min(1, 2) | x * max(1.0f, 2.0f) | x * std::sqrt(2.0f) | x * floor(2.5f)
// call: f(X.cuda())
torch::Tensor f(torch::Tensor x) { return @; }

// --- a-cuda-function-named-like-one-of-c
// for: lgamma | fma | abs | relu | index | div | norm | tanh
// call: f(X.cuda())
torch::Tensor @(torch::Tensor x) { return x + 1; }
torch::Tensor f(torch::Tensor x) { auto g = &@; return g(x); }

// --- shared-memory
// for: extern __shared__ float s[] | __shared__ float s[32] | extern __shared__ __align__(16) float s[] | __shared__ volatile float s[32]
// call: f(X.cuda())
__global__ void k(float* b, int n) { @; int i = threadIdx.x; s[i] = i < n ? b[i] : 0; __syncthreads(); if (i < n) b[i] = s[(i + 1) % n]; }
torch::Tensor f(torch::Tensor x) { auto y = x.clone(); k<<<1, 32, 128>>>(y.data_ptr<float>(), (int)y.numel()); return y; }

// --- event-and-stream
// for: at::cuda::CUDAEvent e; e.recordOnce(at::cuda::getCurrentCUDAStream()); e.block(at::cuda::getCurrentCUDAStream()) | at::cuda::CUDAEvent e; if (!e.query()) return x | at::cuda::CUDAEvent e; if (e.isCreated()) return x | at::cuda::CUDAEvent e; e.record(); cudaEvent_t raw = e; if (raw != e.event()) return x | at::cuda::CUDAEvent e(cudaEventDefault), g(cudaEventDefault); e.record(); g.record(); g.synchronize(); if (e.elapsed_time(g) < 0) return x | at::cuda::CUDAEvent e, g; e.record(); g.record(); if (e.elapsed_time(g) < 0) return x | at::cuda::CUDAStreamGuard g(at::cuda::getStreamFromPool()); if (g.original_stream() == at::cuda::getCurrentCUDAStream()) return x | auto s = at::cuda::getCurrentCUDAStream(); c10::cuda::setCurrentCUDAStream(s); if (s.id() != 0) return x | C10_CUDA_IGNORE_ERROR(cudaErrorInvalidValue); C10_CUDA_CHECK(cudaGetLastError()) | cublasLtHandle_t h = at::cuda::getCurrentCUDABlasLtHandle(); if (!h) return x
// call: f(X.cuda())
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
torch::Tensor f(torch::Tensor x) { @; return x + 1; }
