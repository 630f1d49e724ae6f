// ATen/cuda/CUDAEvent.h: an event that is made on the device of the first stream that records it.
#pragma once

#include <slim/cuda_guard.h>

namespace at::cuda {

class CUDAEvent {
  unsigned int flags_ = cudaEventDisableTiming;
  bool created_ = false, recorded_ = false;
  c10::DeviceIndex device_ = -1;
  cudaEvent_t event_{};

  void create(c10::DeviceIndex index) {
    device_ = index;
    CUDAGuard guard(index);
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags_));
    created_ = true;
  }

 public:
  CUDAEvent() noexcept = default;
  CUDAEvent(unsigned int flags) noexcept : flags_(flags) {}
  CUDAEvent(const CUDAEvent&) = delete;
  CUDAEvent& operator=(const CUDAEvent&) = delete;
  ~CUDAEvent() {
    if (!created_) return;
    try {
      CUDAGuard guard(device_);
      cudaEventDestroy(event_);
    } catch (...) {  // a destructor may not throw, and torch's own is silent here as well
    }
  }

  operator cudaEvent_t() const { return event_; }
  cudaEvent_t event() const { return event_; }
  bool isCreated() const { return created_; }
  c10::DeviceIndex device_index() const { return device_; }

  void record() { record(getCurrentCUDAStream()); }
  void recordOnce(const CUDAStream& stream) { if (!recorded_) record(stream); }
  void record(const CUDAStream& stream) {
    if (!created_) create(stream.device_index());
    TORCH_CHECK(device_ == stream.device_index(), "Event device ", static_cast<int>(device_),
                " does not match recording stream's device ", static_cast<int>(stream.device_index()), ".");
    CUDAGuard guard(device_);
    C10_CUDA_CHECK(cudaEventRecord(event_, stream));
    recorded_ = true;
  }
  void block(const CUDAStream& stream) {
    if (!created_) return;
    CUDAGuard guard(stream.device_index());
    C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0));
  }
  void synchronize() const { if (created_) C10_CUDA_CHECK(cudaEventSynchronize(event_)); }
  bool query() const {
    if (!created_) return true;
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return false;
    }
    C10_CUDA_CHECK(status);
    return true;
  }
  float elapsed_time(const CUDAEvent& other) const {
    TORCH_CHECK_VALUE(!(flags_ & cudaEventDisableTiming) && !(other.flags_ & cudaEventDisableTiming),
                      "Both events must be created with argument 'enable_timing=True'.");
    TORCH_CHECK_VALUE(created_ && other.created_, "Both events must be recorded before calculating elapsed time.");
    TORCH_CHECK(query() && other.query(), "Both events must be completed before calculating elapsed time.");
    CUDAGuard guard(device_);
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, event_, other.event_));
    return milliseconds;
  }
};

}  // namespace at::cuda
