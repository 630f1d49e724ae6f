// ATen/cuda/CUDAContext.h: streams, properties, checks, and cuBLAS where a source mentions it.
#pragma once

#include <slim/cuda_stream.h>
#ifdef SLIM_CUBLAS
#include <cublas_v2.h>
#endif

#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)

namespace at::cuda {

inline cudaDeviceProp* getDeviceProperties(c10::DeviceIndex device) {
  return static_cast<cudaDeviceProp*>(const_cast<void*>(slim::cuda_device_properties(device)));
}
inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(current_device()); }
inline int warp_size() { return getCurrentDeviceProperties()->warpSize; }
inline bool is_available() { return device_count() > 0; }

#ifdef SLIM_CUBLAS
inline cublasHandle_t getCurrentCUDABlasHandle() { return static_cast<cublasHandle_t>(slim::cublas_handle()); }
#endif

}  // namespace at::cuda
