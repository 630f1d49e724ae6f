// c10/cuda/CUDAGuard.h and ATen/cuda/CUDAContext's guards: a device or a stream that holds for a scope.
#pragma once

#include <slim/cuda_stream.h>

namespace c10::cuda {

class OptionalCUDAGuard {
  int before_ = -1;

 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<c10::Device> device) { if (device) set_device(*device); }
  explicit OptionalCUDAGuard(std::optional<c10::DeviceIndex> index) { if (index) set_index(*index); }
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;
  ~OptionalCUDAGuard() { if (before_ >= 0) slim::cuda_restore_device(before_); }
  void set_device(c10::Device device) {
    TORCH_CHECK(device.is_cuda(), "CUDAGuardImpl initialized with non-CUDA DeviceType: ", c10::Device(device.type()));
    set_index(device.index());
  }
  void set_index(c10::DeviceIndex index) {
    int previous = slim::cuda_exchange_device(index);
    if (before_ < 0) before_ = previous;
  }
};

class CUDAGuard : OptionalCUDAGuard {
 public:
  explicit CUDAGuard(c10::DeviceIndex index) { OptionalCUDAGuard::set_index(index); }
  explicit CUDAGuard(c10::Device device) { OptionalCUDAGuard::set_device(device); }
  using OptionalCUDAGuard::set_device;
  using OptionalCUDAGuard::set_index;
};

class CUDAStreamGuard {
  OptionalCUDAGuard device_;
  CUDAStream before_;

 public:
  explicit CUDAStreamGuard(CUDAStream stream)
      : device_(std::optional<c10::Device>(stream.device())), before_(getCurrentCUDAStream(stream.device_index())) {
    setCurrentCUDAStream(stream);
  }
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;
  ~CUDAStreamGuard() { setCurrentCUDAStream(before_); }
  CUDAStream original_stream() const { return before_; }
};

}  // namespace c10::cuda
