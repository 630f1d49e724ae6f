// c10/cuda/CUDAException.h
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <slim/check.h>

#define C10_CUDA_CHECK(expression)                                                                      \
  do {                                                                                                  \
    const cudaError_t slim_error = expression;                                                          \
    if (slim_error != cudaSuccess)                                                                      \
      ::slim::cuda_check(static_cast<int>(slim_error), __FILE__, __func__, static_cast<uint32_t>(__LINE__)); \
  } while (0)
#define C10_CUDA_CHECK_WARN(expression)                                                                 \
  do {                                                                                                  \
    const cudaError_t slim_error = expression;                                                          \
    if (C10_UNLIKELY(slim_error != cudaSuccess)) {                                                      \
      [[maybe_unused]] auto slim_cleared = cudaGetLastError();                                          \
      TORCH_WARN("CUDA warning: ", cudaGetErrorString(slim_error));                                     \
    }                                                                                                   \
  } while (0)
#define C10_CUDA_IGNORE_ERROR(expression)                                                               \
  do {                                                                                                  \
    if (C10_UNLIKELY((expression) != cudaSuccess)) (void)cudaGetLastError();                            \
  } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
