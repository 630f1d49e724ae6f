// Kernels that compute. Each function is called through ctypes with plain pointers: no PyTorch is compiled here.
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cassert>
#include <stdexcept>

namespace cg = cooperative_groups;

constexpr int TILE = 16;

__global__ void matmul_kernel(const float* a, const float* b, float* c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < n; start += TILE) {
        const int x = start + threadIdx.x, y = start + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < n && x < n ? a[row * n + x] : 0.0f;
        right[threadIdx.y][threadIdx.x] = y < n && column < n ? b[y * n + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}
extern "C" void matmul(const float* a, const float* b, float* c, int n) {
    dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
    matmul_kernel<<<grid, block>>>(a, b, c, n);
}

__global__ void reduce_static_kernel(const float* x, float* out, int n) {
    __shared__ float partial[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = partial[0];
}
template <typename T>
__global__ void reduce_dynamic_kernel(const T* x, T* out, int n) {
    extern __shared__ __align__(16) unsigned char raw[];
    T* partial = reinterpret_cast<T*>(raw);
    partial[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : T(0);
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, partial[0]);
}
extern "C" void reduce_static(const float* x, float* out, int n) { reduce_static_kernel<<<1, 256>>>(x, out, n); }
template <typename T>
void launch_reduce(const T* x, T* out, int n, int threads) {
    reduce_dynamic_kernel<T><<<1, threads, threads * sizeof(T)>>>(x, out, n);
}
extern "C" void reduce_dynamic(const double* x, double* out, int n) { launch_reduce(x, out, n, 512); }

extern __shared__ float row_cache[];
__global__ void row_sum_kernel(const float* x, float* out, int columns) {
    for (int i = threadIdx.x; i < columns; i += blockDim.x) row_cache[i] = x[blockIdx.x * columns + i];
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < columns; ++i) sum += row_cache[i];
        out[blockIdx.x] = sum;
    }
}
extern "C" void row_sum(const float* x, float* out, int rows, int columns) {
    row_sum_kernel<<<rows, 64, columns * sizeof(float)>>>(x, out, columns);
}

__device__ __forceinline__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset >>= 1) value = fmaxf(value, __shfl_down_sync(0xffffffff, value, offset));
    return __shfl_sync(0xffffffff, value, 0);
}
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffff, value, offset);
    return value;
}
__global__ void softmax_kernel(const float* x, float* out, int columns) {  // one warp a row, eight rows a block
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    const float* mine = x + row * columns;
    float highest = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32) highest = max(highest, mine[i]);
    highest = warp_max(highest);
    for (int i = threadIdx.x; i < columns; i += 32) sum += __expf(mine[i] - highest);
    sum = warp_sum(sum);
    for (int i = threadIdx.x; i < columns; i += 32) out[row * columns + i] = __fdividef(__expf(mine[i] - highest), sum);
}
extern "C" void softmax(const float* x, float* out, int rows, int columns) {
    softmax_kernel<<<rows / 8, dim3(32, 8)>>>(x, out, columns);
}

__global__ void scale_float4_kernel(const float4* __restrict__ x, float4* out, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 v = __ldg(&x[i]);
    out[i] = make_float4(v.x * by, v.y * by, v.z * by, v.w * by);
}
extern "C" void scale_float4(const float* x, float* out, float by, int n) {
    scale_float4_kernel<<<(n / 4 + 127) / 128, 128>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(out),
                                                      by, n / 4);
}

__global__ void histogram_kernel(const int* x, int* bins, int n) {
    __shared__ int local[10];
    if (threadIdx.x < 10) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[x[i]], 1);
    __syncthreads();
    if (threadIdx.x < 10) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
extern "C" void histogram(const int* x, int* bins, int n) { histogram_kernel<<<13, 96>>>(x, bins, n); }

__global__ void tile_reduce_kernel(const int* x, int* out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    const int value = x[block.thread_rank()];
    const int sum = cg::reduce(tile, value, cg::plus<int>());
    int by_shuffle = value;
    for (int i = tile.size() / 2; i > 0; i /= 2) by_shuffle += tile.shfl_down(by_shuffle, i);
    block.sync();
    if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = sum == by_shuffle ? sum : -1;
}
extern "C" void tile_reduce(const int* x, int* out) { tile_reduce_kernel<<<1, 64>>>(x, out); }

// Threads with nothing to do leave early; the others keep meeting at the barrier.
__global__ void early_exit_kernel(int* out, int n) {
    __shared__ int rounds;
    if (threadIdx.x >= n) return;
    if (threadIdx.x == 0) rounds = 0;
    for (int i = 0; i < 5; ++i) {
        __syncthreads();
        if (threadIdx.x == 0) ++rounds;
        __syncthreads();
    }
    out[threadIdx.x] = rounds;
}
extern "C" void early_exit(int* out, int n) { early_exit_kernel<<<1, 128>>>(out, n); }

__global__ void where_kernel(int* out) {
    const dim3 g = gridDim, b = blockDim;
    const int block = (blockIdx.z * g.y + blockIdx.y) * g.x + blockIdx.x;
    const int thread = (threadIdx.z * b.y + threadIdx.y) * b.x + threadIdx.x;
    out[block * b.x * b.y * b.z + thread] = block * 1000 + thread;
}
extern "C" void where(int* out) { where_kernel<<<dim3(3, 4, 5), dim3(2, 3, 7)>>>(out); }

__constant__ float weights[4];
__device__ int calls;
__global__ void constant_kernel(float* out) {
    atomicAdd(&calls, 1);
    out[threadIdx.x] = weights[threadIdx.x];
}
extern "C" int constant(const float* from, float* out) {
    const int none = 0;
    int counted = -1;
    if (cudaMemcpyToSymbol(weights, from, sizeof weights) != cudaSuccess) return -1;
    if (cudaMemcpyToSymbol(calls, &none, sizeof none) != cudaSuccess) return -1;
    constant_kernel<<<1, 4>>>(out);
    if (cudaMemcpyFromSymbol(&counted, calls, sizeof counted) != cudaSuccess) return -1;
    return counted;
}

__global__ void votes_kernel(unsigned* out) {
    const int lane = threadIdx.x;
    out[lane * 8 + 0] = __ballot_sync(0xffffffff, lane % 3 == 0);
    out[lane * 8 + 1] = __any_sync(0xffffffff, lane == 7);
    out[lane * 8 + 2] = __all_sync(0xffffffff, lane < 31);
    out[lane * 8 + 3] = __syncthreads_count(lane < 5);
    out[lane * 8 + 4] = __syncthreads_or(lane == 31) * 2 + __syncthreads_and(lane < 32);
    out[lane * 8 + 5] = __reduce_add_sync(0xffffffff, static_cast<unsigned>(lane));
    out[lane * 8 + 6] = lane < 16 ? __ballot_sync(0x0000ffff, 1) : __ballot_sync(0xffff0000, lane > 20);
    out[lane * 8 + 7] = 0;
    if (lane % 2) out[lane * 8 + 7] = __activemask();
}
extern "C" void votes(unsigned* out) { votes_kernel<<<1, 32>>>(out); }

// Reads what it never wrote: garbage, and the same in the second block, not what the first one left behind.
__global__ void uninitialised_kernel(float* out) {
    __shared__ float value;
    if (threadIdx.x == 0) out[blockIdx.x] = value;
    value = 1.0f;
}
extern "C" void uninitialised(float* out, int blocks) { uninitialised_kernel<<<blocks, 1>>>(out); }

// Each thread reads its neighbours on both sides without a barrier.
__global__ void no_barrier_kernel(int* out) {
    __shared__ int values[64];
    const int t = threadIdx.x;
    values[t] = t;
    out[t] = values[(t + 1) % 64] == (t + 1) % 64 && values[(t + 63) % 64] == (t + 63) % 64;
}
extern "C" void no_barrier(int* out) { no_barrier_kernel<<<1, 64>>>(out); }

__global__ void lock_kernel(int* lock, int* count) {
    __shared__ int turn;
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *count += 1;
            __threadfence();
            __syncwarp(1u << threadIdx.x % 32);  // gives the others a turn while the lock is held
            atomicExch(lock, 0);
            done = true;
        }
    }
}
extern "C" void locked(int* lock, int* count) { lock_kernel<<<4, 64>>>(lock, count); }
