// Pairs of kernels that look alike: `racy` lacks what orders its threads, `fine` has it. Four blocks of 128 threads.
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cstring>
#include <stdexcept>

#define T threadIdx.x
#define B blockIdx.x
#define I (blockIdx.x * 128 + threadIdx.x)
static char text[2048];

template <bool racy>
__device__ void barrier() {
    if (!racy) __syncthreads();
}
// A kernel and its twin, which differ in what `barrier<racy>()` and `racy` do.
#define PAIR(NAME)                                                                  \
    template <bool racy>                                                            \
    __global__ void NAME(const float* x, float* out, int* counters);                \
    extern "C" const char* NAME##_of(int is_racy, const float* x, float* out, int* counters) { \
        text[0] = 0;                                                                \
        try {                                                                       \
            if (is_racy) NAME<true><<<4, 128>>>(x, out, counters);                  \
            else NAME<false><<<4, 128>>>(x, out, counters);                         \
        } catch (const std::exception& error) {                                     \
            std::strncpy(text, error.what(), sizeof text - 1);                      \
        }                                                                           \
        return text;                                                                \
    }                                                                               \
    template <bool racy>                                                            \
    __global__ void NAME(const float* x, float* out, int* counters)

PAIR(reverse) {
    __shared__ float s[128];
    s[T] = x[I];
    barrier<racy>();
    out[I] = s[127 - T];
}
PAIR(tree) {
    __shared__ float s[128];
    s[T] = x[I];
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (T < half) s[T] += s[T + half];
        barrier<racy>();
    }
    if (T == 0) out[B] = s[0];
}
PAIR(tiles) {
    __shared__ float s[128];
    float sum = 0;
    for (int tile = 0; tile < 4; ++tile) {
        s[T] = x[tile * 128 + T];
        __syncthreads();
        for (int k = 0; k < 128; ++k) sum += s[k] * (k + 1);
        barrier<racy>();
    }
    out[I] = sum;
}
PAIR(broadcast_then_overwrite) {
    __shared__ float s[128];
    s[T] = x[I];
    __syncthreads();
    const float first = s[0];
    barrier<racy>();
    s[T] = s[T] - first;
    __syncthreads();
    out[I] = s[T];
}
PAIR(histogram) {
    __shared__ int bins[8];
    if (T < 8) bins[T] = 0;
    __syncthreads();
    if (racy) bins[T % 8]++;
    else atomicAdd(&bins[T % 8], 1);
    __syncthreads();
    if (T < 8) out[B * 8 + T] = bins[T];
}
PAIR(global_sum) {
    if (racy) out[0] += x[I];
    else atomicAdd(&out[0], x[I]);
}
PAIR(atomic_then_read) {
    __shared__ float sum;
    if (T == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, x[I]);
    barrier<racy>();
    if (T == 0) out[B] = sum;
}
PAIR(zero_then_atomic) {
    __shared__ float sum;
    if (T == 0) sum = 0;
    barrier<racy>();
    atomicAdd(&sum, x[I]);
    __syncthreads();
    if (T == 0) out[B] = sum;
}
__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}
PAIR(warp_sums) {
    __shared__ float s[4];
    const float sum = warp_sum(x[I]);
    if (T % 32 == 0) s[T / 32] = sum;
    barrier<racy>();
    if (T == 0) out[B] = s[0] + s[1] + s[2] + s[3];
}
template <bool racy>
__device__ float block_sum(float value, float* s) {
    value = warp_sum(value);
    if (T % 32 == 0) s[T / 32] = value;
    __syncthreads();
    const float sum = s[0] + s[1] + s[2] + s[3];
    barrier<racy>();
    return sum;
}
PAIR(two_reductions) {
    __shared__ float s[4];
    const float mean = block_sum<racy>(x[I], s) / 128;
    const float squares = block_sum<racy>((x[I] - mean) * (x[I] - mean), s);
    out[I] = (x[I] - mean) * squares;
}
PAIR(exchange_in_a_warp) {
    __shared__ float s[128];
    s[T] = x[I];
    if (!racy) __syncwarp();
    out[I] = s[T ^ 1];
}
PAIR(last_warp) {
    __shared__ float s[64];
    if (T < 64) s[T] = x[I];
    __syncthreads();
    if (T < 32) {
        for (int offset = 32; offset > 0; offset /= 2) {
            const float sum = s[T] + s[T + offset];
            if (!racy) __syncwarp();
            s[T] = sum;
            if (!racy) __syncwarp();
        }
    }
    if (T == 0) out[B] = s[0];
}
PAIR(stencil_in_shared) {
    __shared__ float s[130];
    s[T + 1] = x[I];
    if (T == 0) s[0] = s[129] = 0;
    __syncthreads();
    const float sum = s[T] + s[T + 1] + s[T + 2];
    barrier<racy>();
    s[T + 1] = sum;
    __syncthreads();
    out[I] = s[T + 1];
}
PAIR(stencil_in_place) {
    const float* from = racy ? out : x;
    out[I] = I > 0 ? from[I - 1] + 2 : 3;
}
PAIR(global_maximum) {
    if (racy) {
        if (x[I] > out[0]) out[0] = x[I];
    } else {
        atomicMax(&counters[0], static_cast<int>(x[I]));
    }
}
PAIR(shared_argmax) {
    __shared__ float best;
    __shared__ int where;
    if (T == 0) best = -1, where = -1;
    __syncthreads();
    if (racy) {
        if (x[I] > best) best = x[I], where = T;
    } else {
        for (int t = 0; T == 0 && t < 128; ++t)
            if (x[B * 128 + t] > best) best = x[B * 128 + t], where = t;
    }
    __syncthreads();
    if (T == 0) out[B] = where;
}
PAIR(scan) {
    __shared__ float s[128];
    s[T] = x[I];
    __syncthreads();
    for (int offset = 1; offset < 128; offset *= 2) {
        const float before = T >= offset ? s[T - offset] : 0;
        barrier<racy>();
        s[T] += before;
        __syncthreads();
    }
    out[I] = s[T];
}
PAIR(zeroed_by_one_block) {
    if (racy && I == 0) out[1] = 5;
    if (!racy && I == 0) out[2] = 5;
    atomicAdd(&out[1], x[I]);
}
PAIR(transposed_in_place) {
    __shared__ float s[8][16];
    s[T / 16][T % 16] = x[I];
    __syncthreads();
    float (*t)[8] = reinterpret_cast<float (*)[8]>(s);
    const float value = s[T % 8][T / 8];
    barrier<racy>();
    t[T / 8][T % 8] = value;
    __syncthreads();
    out[I] = s[T / 16][T % 16];
}
PAIR(append) {
    __shared__ int count;
    __shared__ float list[128];
    if (T == 0) count = 0;
    list[T] = 0;
    __syncthreads();
    if (T % 3 == 0) {
        int at;
        if (racy) at = count, count = at + 1;
        else at = atomicAdd(&count, 1);
        list[at] = 1;
    }
    __syncthreads();
    out[I] = list[T];
}
PAIR(done_flag) {
    __shared__ bool done;
    if (T == 0) done = false;
    __syncthreads();
    int steps = 0;
    for (int step = 0; step < 8; ++step) {
        if (T == 3 && step == 4) done = true;
        __syncthreads();
        const bool leave = done;
        barrier<racy>();
        if (leave) break;
        if (T == 3 && step == 3) done = true;
        ++steps;
    }
    out[I] = steps;
}
PAIR(double_buffer) {
    __shared__ float s[2][128];
    s[0][T] = x[I];
    __syncthreads();
    for (int step = 0; step < 3; ++step) {
        const int now = racy ? 0 : step % 2, next = racy ? 0 : (step + 1) % 2;
        s[next][T] = s[now][(T + 1) % 128] + 1;
        __syncthreads();
    }
    out[I] = s[racy ? 0 : 1][T];
}
PAIR(only_the_warp_waits) {
    __shared__ float s[128];
    s[T] = x[I];
    if (racy) __syncwarp();
    else __syncthreads();
    out[I] = s[(T + 32) % 128];
}
PAIR(scratch_in_global) {
    out[512 + I] = x[I] * 2;
    barrier<racy>();
    out[I] = out[512 + B * 128 + (T + 1) % 128];
}
PAIR(mean_by_the_first) {
    __shared__ float s[128], mean;
    s[T] = x[I];
    __syncthreads();
    if (T == 0) {
        float sum = 0;
        for (int k = 0; k < 128; ++k) sum += s[k];
        mean = sum / 128;
    }
    barrier<racy>();
    out[I] = x[I] - mean;
}

// ---- accesses next to what a kernel was given ----

__global__ void touches(bool writes, int offset, const float* x, float* out) {
    if (I != 0) return;
    if (writes) out[offset] = 1;
    else out[0] = x[offset];
}
__global__ void touches_shared(bool writes, int offset, const float* x, float* out) {
    __shared__ float s[100];
    if (I != 0) return;
    if (writes) s[offset] = 1;
    else out[0] = s[offset];
}
extern "C" const char* touch(int in_shared, int writes, int offset, const float* x, float* out) {
    text[0] = 0;
    try {
        if (in_shared) touches_shared<<<1, 32>>>(writes != 0, offset, x, out);
        else touches<<<1, 32>>>(writes != 0, offset, x, out);
    } catch (const std::exception& error) {
        std::strncpy(text, error.what(), sizeof text - 1);
    }
    return text;
}

// ---- pointers to several elements at once ----

__global__ void moves_four(bool writes, int offset, const float* x, float* out) {
    if (I != 0) return;
    if (writes) *reinterpret_cast<float4*>(out + offset) = make_float4(1, 2, 3, 4);
    else { float4 v = *reinterpret_cast<const float4*>(x + offset); out[0] = v.x + v.y + v.z + v.w; }
}
__global__ void reads_two(int offset, const float* x, float* out) {
    if (I == 0) out[0] = (float)*reinterpret_cast<const long long*>(x + offset);
}
extern "C" const char* move(int four, int writes, int offset, const float* x, float* out) {
    text[0] = 0;
    try {
        if (four) moves_four<<<1, 32>>>(writes != 0, offset, x, out);
        else reads_two<<<1, 32>>>(offset, x, out);
    } catch (const std::exception& error) {
        std::strncpy(text, error.what(), sizeof text - 1);
    }
    return text;
}

// ---- what is no race, and looks like one ----

#define FINE(NAME) PAIR(NAME)

FINE(all_write_the_same) {
    __shared__ int any;
    any = 0;
    __syncthreads();
    if (x[I] > 100) any = 1;
    __syncthreads();
    out[I] = any;
}
FINE(all_raise_one_flag) {
    if (x[I] > 5) counters[1] = 1;
}
FINE(under_a_lock) {
    for (bool waiting = true; waiting;) {
        if (atomicCAS(&counters[2], 0, 1) == 0) {
            out[0] += 1;
            __threadfence();
            atomicExch(&counters[2], 0);
            waiting = false;
        }
    }
}
FINE(last_block_adds_up) {
    __shared__ bool last;
    __shared__ float s[4];
    const float sum = block_sum<false>(x[I], s);
    if (T == 0) {
        out[4 + B] = sum;
        __threadfence();
        last = atomicAdd(&counters[3], 1) == 3;
    }
    __syncthreads();
    if (last && T == 0) {
        out[0] = out[4] + out[5] + out[6] + out[7];
        counters[3] = 0;
    }
}
FINE(leaves_early) {
    if (T >= 100) return;
    out[I] = x[I];
}
FINE(bytes_of_one_word) {
    __shared__ unsigned char s[128];
    s[T] = static_cast<unsigned char>(x[I]);
    __syncthreads();
    out[I] = s[127 - T];
}
FINE(half_warps_apart) {
    __shared__ float s[128];
    auto tile = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
    s[T] = x[I];
    tile.sync();
    out[I] = s[T / 16 * 16 + (15 - T % 16)];
}
FINE(reads_uninitialised) {
    __shared__ float s[128];
    out[I] = s[T] == s[T] ? 1 : 2;
}
FINE(each_its_own_row) {
    __shared__ float s[128][4];
    for (int k = 0; k < 4; ++k) s[T][k] = x[I] + k;
    out[I] = s[T][0] + s[T][3];
}
FINE(grid_stride) {
    for (int i = I; i < 512; i += 4 * 128) out[i] = x[i] + out[i];
}
