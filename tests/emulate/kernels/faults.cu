// Kernels that go wrong. Each launcher returns what the fault said, "" where there was none.
#include <cuda_runtime.h>
#include <cassert>
#include <cstring>
#include <stdexcept>

static char said[1024];
template <class Launch>
const char* verdict(Launch launch) {
    said[0] = '\0';
    try {
        launch();
    } catch (const std::exception& error) {
        std::strncpy(said, error.what(), sizeof said - 1);
    }
    return said;
}
#define CASE(name, ...) extern "C" const char* name() { return verdict([] { __VA_ARGS__; }); }

__global__ void nothing() {}
#define REFUSED(name, ...) CASE(name, cudaGetLastError(); __VA_ARGS__; C10_CUDA_KERNEL_LAUNCH_CHECK())
REFUSED(block_of_2048, nothing<<<1, 2048>>>())
REFUSED(deep_block, nothing<<<1, dim3(1, 1, 65)>>>())
REFUSED(empty_grid, nothing<<<0, 32>>>())
REFUSED(negative_grid, int n = -1; nothing<<<n, 32>>>())
REFUSED(wide_grid, nothing<<<dim3(1, 65536), 32>>>())
REFUSED(shared_without_permission, nothing<<<1, 32, 49153>>>())
REFUSED(shared_beyond_the_device, nothing<<<1, 32, 232449>>>())
REFUSED(attribute_beyond_the_device, cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449))
REFUSED(looked_at_before, nothing<<<1, 2048>>>(); cudaGetLastError())
REFUSED(warned_of, nothing<<<1, 2048>>>(); C10_CUDA_CHECK_WARN(cudaPeekAtLastError()))
REFUSED(followed_by_another, nothing<<<1, 2048>>>(); nothing<<<1, 32>>>(); cudaDeviceSynchronize())

__global__ void counts(int* count) { atomicAdd(count, 1); }
// How many threads ran, and how often the error was seen: by looking, looking again, forgetting it, and afterwards.
extern "C" void unnoticed(int* found, int threads) {
    cudaGetLastError();
    counts<<<1, threads>>>(&found[0]);
    counts<<<1, 1>>>(&found[1]);
    found[2] = cudaPeekAtLastError();
    found[3] = cudaDeviceSynchronize();
    found[4] = cudaGetLastError();
    found[5] = cudaGetLastError();
}
extern "C" void leaves_an_error() { nothing<<<0, 32>>>(); }
CASE(shared_with_permission,
     cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000); nothing<<<1, 32, 100000>>>())

// Half of a warp waits for the block, the other half for its warp.
__global__ void divergent_barrier(int* out) {
    if (threadIdx.x < 16) __syncthreads();
    else __syncwarp();
    out[0] = 1;
}
CASE(divergent, int out; divergent_barrier<<<dim3(3, 2), 64>>>(&out))

__global__ void mixed_operations() {
    if (threadIdx.x < 16) __shfl_sync(0xffffffff, 1, 0);
    else __ballot_sync(0xffffffff, 1);
}
CASE(mixed, mixed_operations<<<1, 32>>>())

__global__ void wrong_mask() { __shfl_sync(0x1, 1, 0); }
CASE(mask_without_caller, wrong_mask<<<1, 32>>>())

__global__ void writes_far(float* out, long offset) { out[offset + threadIdx.x] = 1.0f; }
CASE(far_write, float out; writes_far<<<4, 32>>>(&out, 1L << 34))
CASE(impossible_write, float out; writes_far<<<4, 32>>>(&out, 1L << 50))
CASE(null_write, writes_far<<<1, 1>>>(nullptr, 0))
CASE(past_cuda_malloc, float* p; cudaMalloc(&p, 1000 * sizeof(float)); writes_far<<<1, 256>>>(p, 900); cudaFree(p))

__global__ void past_static(int n) {
    __shared__ float tile[32];
    for (int i = 0; i < n; ++i) tile[i] = 1.0f;
}
CASE(past_static_shared, past_static<<<1, 1>>>(40))
CASE(within_static_shared, past_static<<<1, 1>>>(32))

__global__ void past_dynamic(int n) {
    extern __shared__ float tile[];
    for (int i = 0; i < n; ++i) tile[i] = 1.0f;
}
CASE(past_dynamic_shared, past_dynamic<<<1, 1, 128>>>(33))
CASE(within_dynamic_shared, past_dynamic<<<1, 1, 128>>>(32))
CASE(forgotten_dynamic_shared, past_dynamic<<<1, 1>>>(1))

__global__ void too_much_static() {
    __shared__ float tile[128][128];
    tile[threadIdx.x][0] = 1.0f;
}
CASE(static_shared_beyond_48k, too_much_static<<<1, 32>>>())

__device__ __noinline__ int deep(volatile int* depth, int left) {
    volatile char local[1024];
    local[0] = 1;
    *depth += 1;
    return left == 0 ? 0 : deep(depth, left - 1) + local[0];
}
__global__ void recursion(int* out) { *out = deep(out, 1 << 20); }
CASE(stack_overflow, int out = 0; recursion<<<1, 1>>>(&out))

__global__ void traps() {
    if (threadIdx.x == 5) __trap();
}
CASE(trap, traps<<<2, 32>>>())

__global__ void asserts(int n) noexcept { assert(threadIdx.x < n && "too many threads"); }
CASE(assertion, asserts<<<1, 32>>>(20))
CASE(assertion_holds, asserts<<<1, 20>>>(20))

__global__ void divides(int by, int* out) { *out = 1000 / by; }
CASE(division_by_zero, int out; divides<<<1, 1>>>(0, &out))

__global__ void throws() { throw std::runtime_error("from the kernel"); }
CASE(exception, throws<<<1, 1>>>())
