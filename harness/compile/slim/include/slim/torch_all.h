// torch/all.h: what comes beside torch/types.h.
#pragma once

#include <slim/torch.h>

namespace torch::cuda {
TORCH_API c10::DeviceIndex device_count();
TORCH_API bool is_available();
TORCH_API bool cudnn_is_available();
TORCH_API void manual_seed(uint64_t seed);
TORCH_API void manual_seed_all(uint64_t seed);
TORCH_API void synchronize(int64_t device_index = -1);
}  // namespace torch::cuda
