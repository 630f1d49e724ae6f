// What candidates write around their kernels: checks of the device, dispatch over types, guards, streams, half.
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
    CHECK_CUDA(x);     \
    CHECK_CONTIGUOUS(x)

template <typename scalar_t, int N>
__global__ void scale_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ out, float by, int64_t n) {
    const int64_t start = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
#pragma unroll
    for (int i = 0; i < N; ++i)
        if (start + i < n) out[start + i] = static_cast<scalar_t>(static_cast<float>(x[start + i]) * by);
}

torch::Tensor scale(torch::Tensor x, double by) {
    CHECK_INPUT(x);
    TORCH_CHECK(x.is_cuda() && !x.is_cpu(), "on the GPU");
    const at::cuda::CUDAGuard guard(x.device());
    auto out = torch::empty(x.sizes(), torch::TensorOptions().dtype(x.dtype()).device(torch::kCUDA));
    constexpr int kPerThread = 4;
    const int threads = 128;
    const int blocks = (x.numel() + threads * kPerThread - 1) / (threads * kPerThread);
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "scale", [&] {
        scale_kernel<scalar_t, kPerThread><<<blocks, threads, 0, stream>>>(
            x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), static_cast<float>(by), x.numel());
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}

__global__ void add_half2_kernel(const __half2* a, const __half2* b, __half2* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __hadd2(a[i], b[i]);
}

torch::Tensor add_half2(torch::Tensor a, torch::Tensor b) {
    auto out = torch::empty_like(a);
    const int n = a.numel() / 2;
    add_half2_kernel<<<(n + 63) / 64, 64, 0, at::cuda::getCurrentCUDAStream()>>>(
        reinterpret_cast<const __half2*>(a.data_ptr<at::Half>()), reinterpret_cast<const __half2*>(b.data_ptr<at::Half>()),
        reinterpret_cast<__half2*>(out.data_ptr<at::Half>()), n);
    cudaError_t error = cudaGetLastError();
    TORCH_CHECK(error == cudaSuccess, cudaGetErrorString(error));
    return out;
}
