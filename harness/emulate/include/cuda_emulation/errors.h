// CUDA's errors: their names, and the last one, which a thread may ask for.
//
// As on a GPU a launch that is refused runs nothing and leaves an error behind, which does not stick: later launches
// run, and cudaGetLastError forgets it. What a kernel does wrong while it runs is thrown by its launch instead.
#pragma once
#include <cstdio>

#pragma GCC visibility push(hidden)

enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidDevice = 101,
    cudaErrorNotReady = 600,
    cudaErrorUnknown = 999,
};
typedef cudaError cudaError_t;

inline const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "cudaSuccess";
        case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
        case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
        case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
        case cudaErrorNotReady: return "cudaErrorNotReady";
        default: return "cudaErrorUnknown";
    }
}

namespace cuda_emulation {

// Of each CPU thread its own, as CUDA keeps it. `refusal` says why a launch was refused, "" where it was no launch.
struct LastError {
    cudaError_t error;
    char refusal[640];
};
inline thread_local LastError last_error{};

inline cudaError_t failed_with(cudaError_t error) {
    last_error.error = error;
    last_error.refusal[0] = '\0';
    return error;
}

}  // namespace cuda_emulation

inline const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "no error";
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorInvalidConfiguration: return "invalid configuration argument";
        case cudaErrorInvalidDevice: return "invalid device ordinal";
        case cudaErrorNotReady: return "device not ready";
        default: return "unknown error";
    }
}
inline cudaError_t cudaPeekAtLastError() { return cuda_emulation::last_error.error; }
// Why a launch was refused is kept: who looks at the error may tell it afterwards.
inline cudaError_t cudaGetLastError() {
    const cudaError_t error = cuda_emulation::last_error.error;
    cuda_emulation::last_error.error = cudaSuccess;
    return error;
}

// What the worker calls, on the thread that calls the candidate.
extern "C" __attribute__((weak, visibility("default"), used)) inline int cuda_emulation_last_error() {
    return static_cast<int>(cuda_emulation::last_error.error);
}

#pragma GCC visibility pop
