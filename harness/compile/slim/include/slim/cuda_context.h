// ATen/cuda/CUDAContext.h: streams, properties, checks, and cuBLAS where a source mentions it.
#pragma once

#include <slim/cuda_stream.h>
#ifdef SLIM_CUBLAS
#include <cublas_v2.h>
#endif
#ifdef SLIM_CUBLASLT
#include <cublasLt.h>
#endif

#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)

namespace at::cuda {

inline cudaDeviceProp* getDeviceProperties(c10::DeviceIndex device) {
  return static_cast<cudaDeviceProp*>(const_cast<void*>(slim::cuda_device_properties(device)));
}
inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(current_device()); }
inline int warp_size() { return getCurrentDeviceProperties()->warpSize; }
inline bool is_available() { return device_count() > 0; }

#ifdef SLIM_CUBLASLT
C10_IMPORT cublasLtHandle_t getCurrentCUDABlasLtHandle();
#endif
#ifdef SLIM_CUBLAS
namespace blas {
C10_IMPORT const char* _cublasGetErrorEnum(cublasStatus_t error);
}
#define TORCH_CUDABLAS_CHECK(expression)                                                                \
  do {                                                                                                  \
    const cublasStatus_t slim_status = expression;                                                      \
    TORCH_CHECK(slim_status == CUBLAS_STATUS_SUCCESS, "CUDA error: ",                                   \
                ::at::cuda::blas::_cublasGetErrorEnum(slim_status), " when calling `" #expression "`"); \
  } while (0)
inline cublasHandle_t getCurrentCUDABlasHandle() { return static_cast<cublasHandle_t>(slim::cublas_handle()); }
#endif

}  // namespace at::cuda
