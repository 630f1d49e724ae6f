// The words before a declaration, the small vectors (float4, ...) and dim3, with CUDA's sizes and alignments.
#pragma once
#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(hidden)

// One compilation serves the host and the device, so the words that tell them apart mean nothing here.
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(...) __attribute__((aligned(__VA_ARGS__)))
// `__noinline__` is left to the rewrite: the standard library spells an attribute of its own that way.
#define __forceinline__ inline
// The rewrite gives each `__shared__` variable of a kernel memory of its block. What it cannot see through (a
// declaration outside a function, or put together by macros) is at least not shared between blocks that run together.
#define __shared__ static thread_local

#define CUDA_EMULATION_VECTORS(NAME, TYPE, ALIGN2, ALIGN4)                                          \
    struct NAME##1 { TYPE x; };                                                                     \
    struct alignas(ALIGN2) NAME##2 { TYPE x, y; };                                                  \
    struct NAME##3 { TYPE x, y, z; };                                                               \
    struct alignas(ALIGN4) NAME##4 { TYPE x, y, z, w; };                                            \
    inline NAME##1 make_##NAME##1(TYPE x) { return {x}; }                                           \
    inline NAME##2 make_##NAME##2(TYPE x, TYPE y) { return {x, y}; }                                \
    inline NAME##3 make_##NAME##3(TYPE x, TYPE y, TYPE z) { return {x, y, z}; }                     \
    inline NAME##4 make_##NAME##4(TYPE x, TYPE y, TYPE z, TYPE w) { return {x, y, z, w}; }

CUDA_EMULATION_VECTORS(char, signed char, 2, 4)
CUDA_EMULATION_VECTORS(uchar, unsigned char, 2, 4)
CUDA_EMULATION_VECTORS(short, short, 4, 8)
CUDA_EMULATION_VECTORS(ushort, unsigned short, 4, 8)
CUDA_EMULATION_VECTORS(int, int, 8, 16)
CUDA_EMULATION_VECTORS(uint, unsigned int, 8, 16)
CUDA_EMULATION_VECTORS(long, long, 16, 16)
CUDA_EMULATION_VECTORS(ulong, unsigned long, 16, 16)
CUDA_EMULATION_VECTORS(longlong, long long, 16, 16)
CUDA_EMULATION_VECTORS(ulonglong, unsigned long long, 16, 16)
CUDA_EMULATION_VECTORS(float, float, 8, 16)
CUDA_EMULATION_VECTORS(double, double, 16, 16)
#undef CUDA_EMULATION_VECTORS

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

#pragma GCC visibility pop
