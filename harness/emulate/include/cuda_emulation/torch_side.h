// What PyTorch's C++ side says about CUDA: the current stream, guards, error checks. All of it is a formality here.
#pragma once
#include <cstdint>

#include "atomics.h"
#include "runtime.h"

#ifdef CUDA_EMULATION_OVER_TORCH
#if __has_include(<c10/core/CPUAllocator.h>)
#include "guarded_allocator.h"
#endif
namespace at {
template <typename T>
struct RestrictPtrTraits {  // torch declares it for CUDA compilers alone, and the slim headers do it themselves
    typedef T* __restrict__ PtrType;
};
}  // namespace at
#endif

#pragma GCC visibility push(hidden)

namespace cuda_emulation {

struct Stream {
    operator cudaStream_t() const { return nullptr; }
    cudaStream_t stream() const { return nullptr; }
    void synchronize() const {}
    bool query() const { return true; }
    std::int8_t device_index() const { return 0; }
    std::int64_t id() const { return 0; }
};

// Any guard: of a device, of a stream, optional or not. There is one device and one stream to choose from.
struct Guard {
    Guard() = default;
    template <class Chosen>
    explicit Guard(const Chosen&) {}
    template <class Chosen>
    void set_device(const Chosen&) {}
    template <class Chosen>
    void reset_device(const Chosen&) {}
    template <class Chosen>
    void set_index(const Chosen&) {}
};

struct Event {
    explicit Event(unsigned = 0) {}
    void record() {}
    void record(const Stream&) {}
    void block(const Stream&) {}
    void synchronize() const {}
    bool query() const { return true; }
};

inline cudaDeviceProp* device_properties() {
    static cudaDeviceProp properties = [] {
        cudaDeviceProp p;
        cudaGetDeviceProperties(&p, 0);
        return p;
    }();
    return &properties;
}

// Of a launch that was refused it says why, which torch does not know.
inline void check(cudaError_t error, const char* expression) {
    if (error == cudaSuccess) return;
    if (last_error.refusal[0] != '\0') {
        const Fault refused(last_error.refusal);
        last_error.refusal[0] = '\0';
        throw refused;
    }
    throw std::runtime_error(std::string("CUDA error (emulated): ") + cudaGetErrorString(error) + " from " + expression);
}

// Blocks for n threads in blocks of 512 or so, as in ATen/cuda/detail/KernelUtils.h.
inline int blocks_for(std::int64_t n, std::int64_t threads_per_block = 1024) {
    return static_cast<int>((n + threads_per_block - 1) / threads_per_block);
}

template <class T>
void add_atomically(T* address, T value) {
    atomic_update(address, [value](T old) -> T { return static_cast<T>(old + value); });
}

}  // namespace cuda_emulation

namespace c10::cuda {
using CUDAStream = cuda_emulation::Stream;
using CUDAGuard = cuda_emulation::Guard;
using OptionalCUDAGuard = cuda_emulation::Guard;
using CUDAStreamGuard = cuda_emulation::Guard;
using OptionalCUDAStreamGuard = cuda_emulation::Guard;
inline CUDAStream getCurrentCUDAStream(int = -1) { return {}; }
inline CUDAStream getDefaultCUDAStream(int = -1) { return {}; }
inline CUDAStream getStreamFromPool(bool = false, int = -1) { return {}; }
inline void setCurrentCUDAStream(CUDAStream) {}
inline std::int8_t current_device() { return 0; }
inline std::int8_t device_count() { return 1; }
inline void set_device(int) {}
inline void device_synchronize() {}
inline void stream_synchronize(cudaStream_t) {}
}  // namespace c10::cuda

namespace at::cuda {
using namespace c10::cuda;
using CUDAEvent = cuda_emulation::Event;
inline cudaDeviceProp* getCurrentDeviceProperties() { return cuda_emulation::device_properties(); }
inline cudaDeviceProp* getDeviceProperties(int) { return cuda_emulation::device_properties(); }
inline int warp_size() { return 32; }
inline bool is_available() { return true; }
namespace detail {
constexpr int CUDA_NUM_THREADS = 1024;
inline int GET_BLOCKS(std::int64_t n, std::int64_t threads = CUDA_NUM_THREADS) { return cuda_emulation::blocks_for(n, threads); }
}  // namespace detail
}  // namespace at::cuda

template <class T>
void gpuAtomicAddNoReturn(T* address, T value) { cuda_emulation::add_atomically(address, value); }
template <class T>
void gpuAtomicAdd(T* address, T value) { cuda_emulation::add_atomically(address, value); }

#define C10_CUDA_CHECK(EXPRESSION) ::cuda_emulation::check((EXPRESSION), #EXPRESSION)
#define C10_CUDA_CHECK_WARN(EXPRESSION)                                               \
    do {                                                                              \
        if ((EXPRESSION) != cudaSuccess) static_cast<void>(cudaGetLastError());       \
    } while (0)
#define AT_CUDA_CHECK(EXPRESSION) C10_CUDA_CHECK(EXPRESSION)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define CUDA_KERNEL_LOOP_TYPE(i, n, index_t)                                                          \
    for (std::int64_t i##_wide = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i##_wide < (n); \
         i##_wide += std::int64_t{blockDim.x} * gridDim.x)                                            \
        if (const index_t i = static_cast<index_t>(i##_wide); true)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
#define CUDA_1D_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP(i, n)

#pragma GCC visibility pop
