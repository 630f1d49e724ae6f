// c10/cuda/CUDAStream.h and CUDAFunctions.h
#pragma once

#include <slim/cuda_check.h>
#include <slim/tensor.h>

namespace c10::cuda {

// A stream of torch's. Like the real class it is a device and a number that libtorch knows it by.
class CUDAStream {
  slim::StreamParts parts_;

 public:
  explicit CUDAStream(slim::StreamParts parts) : parts_(parts) {}
  cudaStream_t stream() const { return static_cast<cudaStream_t>(slim::cuda_raw_stream(parts_)); }
  operator cudaStream_t() const { return stream(); }
  c10::DeviceIndex device_index() const { return static_cast<c10::DeviceIndex>(parts_.device); }
  c10::Device device() const { return {c10::DeviceType::CUDA, device_index()}; }
  c10::StreamId id() const { return parts_.id; }
  void synchronize() const { slim::cuda_synchronize(parts_); }
  slim::StreamParts parts() const { return parts_; }
  bool operator==(const CUDAStream& other) const noexcept {
    return parts_.id == other.parts_.id && parts_.device == other.parts_.device;
  }
  bool operator!=(const CUDAStream& other) const noexcept { return !(*this == other); }
};

inline CUDAStream getCurrentCUDAStream(c10::DeviceIndex device = -1) {
  return CUDAStream(slim::cuda_current_stream(device));
}
inline CUDAStream getDefaultCUDAStream(c10::DeviceIndex device = -1) {
  return CUDAStream(slim::cuda_default_stream(device));
}
inline CUDAStream getStreamFromPool(const bool high_priority = false, c10::DeviceIndex device = -1) {
  return CUDAStream(slim::cuda_pool_stream(high_priority, device));
}
inline void setCurrentCUDAStream(CUDAStream stream) { slim::cuda_set_stream(stream.parts()); }

inline c10::DeviceIndex current_device() { return static_cast<c10::DeviceIndex>(slim::cuda_current_device()); }
inline c10::DeviceIndex device_count() noexcept { return static_cast<c10::DeviceIndex>(slim::cuda_device_count()); }
inline void set_device(c10::DeviceIndex index) { slim::cuda_exchange_device(index); }
C10_API void device_synchronize();

}  // namespace c10::cuda

namespace at::cuda {
using namespace c10::cuda;
}  // namespace at::cuda
