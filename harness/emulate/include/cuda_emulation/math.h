// CUDA's mathematics where it goes beyond <math.h>: intrinsics, conversions, bit tricks, cached loads and stores.
// The fast intrinsics are computed exactly: their errors on a GPU are within what a judge tolerates.
#pragma once
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <math.h>
#include <stdio.h>
#include <type_traits>

#include "multiprocessor.h"

#pragma GCC visibility push(hidden)

#define CUDART_INF_F __builtin_inff()
#define CUDART_INF __builtin_inf()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_NAN __builtin_nan("")
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_SQRT_HALF_F 0.707106781f
#define CUDART_SQRT_TWO_F 1.414213562f
#define CUDART_LN2_F 0.693147181f
#define CUDART_L2E_F 1.442695041f
#define CUDART_MAX_NORMAL_F 3.402823466e38f
#define CUDART_ZERO_F 0.0f
#define CUDART_ONE_F 1.0f

// ---- min and max of numbers of different types, NaN losing as in fmaxf ----

namespace cuda_emulation {
template <class A, class B>
using BothNumbers = std::enable_if_t<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value,
                                     std::common_type_t<A, B>>;
}  // namespace cuda_emulation

template <class A, class B>
constexpr cuda_emulation::BothNumbers<A, B> max(A a, B b) {
    using T = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point<T>::value) return std::fmax(T(a), T(b));
    else return T(a) < T(b) ? T(b) : T(a);
}
template <class A, class B>
constexpr cuda_emulation::BothNumbers<A, B> min(A a, B b) {
    using T = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point<T>::value) return std::fmin(T(a), T(b));
    else return T(b) < T(a) ? T(b) : T(a);
}
inline unsigned umin(unsigned a, unsigned b) { return std::min(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return std::max(a, b); }

// ---- functions that C++ lacks ----

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / std::cbrt(x); }
inline double rcbrt(double x) { return 1.0 / std::cbrt(x); }
inline float rhypotf(float x, float y) { return 1.0f / std::hypot(x, y); }
inline float norm3df(float x, float y, float z) { return std::hypot(x, y, z); }
inline float rnorm3df(float x, float y, float z) { return 1.0f / std::hypot(x, y, z); }
inline float norm4df(float x, float y, float z, float w) { return std::hypot(std::hypot(x, y), std::hypot(z, w)); }
inline float fdividef(float x, float y) { return x / y; }
inline float normcdff(float x) { return static_cast<float>(0.5 * std::erfc(-x * M_SQRT1_2)); }
inline double normcdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
inline float erfcxf(float x) { return static_cast<float>(std::exp(double(x) * x) * std::erfc(double(x))); }
inline float sinpif(float x) { return static_cast<float>(std::sin(M_PI * std::fmod(double(x), 2.0))); }
inline float cospif(float x) { return static_cast<float>(std::cos(M_PI * std::fmod(double(x), 2.0))); }
inline double sinpi(double x) { return std::sin(M_PI * std::fmod(x, 2.0)); }
inline double cospi(double x) { return std::cos(M_PI * std::fmod(x, 2.0)); }
inline void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }
inline float __saturatef(float x) { return std::fmin(std::fmax(x, 0.0f), 1.0f); }
inline float saturate(float x) { return __saturatef(x); }

// glibc declares some of these names for itself, with other linkage: the candidate's are given other names.
namespace cuda_emulation {
inline float fast_expf(float x) { return std::exp(x); }
inline float fast_exp10f(float x) { return static_cast<float>(std::pow(10.0, double(x))); }
inline float fast_logf(float x) { return std::log(x); }
inline float fast_log2f(float x) { return std::log2(x); }
inline float fast_log10f(float x) { return std::log10(x); }
inline float fast_powf(float x, float y) { return std::pow(x, y); }
inline float fast_sinf(float x) { return std::sin(x); }
inline float fast_cosf(float x) { return std::cos(x); }
inline float fast_tanf(float x) { return std::tan(x); }
inline float fast_tanhf(float x) { return std::tanh(x); }
inline void fast_sincosf(float x, float* sine, float* cosine) { *sine = std::sin(x), *cosine = std::cos(x); }
}  // namespace cuda_emulation
#define __expf ::cuda_emulation::fast_expf
#define __exp10f ::cuda_emulation::fast_exp10f
#define __logf ::cuda_emulation::fast_logf
#define __log2f ::cuda_emulation::fast_log2f
#define __log10f ::cuda_emulation::fast_log10f
#define __powf ::cuda_emulation::fast_powf
#define __sinf ::cuda_emulation::fast_sinf
#define __cosf ::cuda_emulation::fast_cosf
#define __tanf ::cuda_emulation::fast_tanf
#define __tanhf ::cuda_emulation::fast_tanhf
#define __sincosf ::cuda_emulation::fast_sincosf

inline float __fdividef(float x, float y) { return x / y; }

// ---- arithmetic with a named rounding; to nearest is how a CPU rounds ----

#define CUDA_EMULATION_ROUNDED(TYPE, PREFIX, FMA)                                        \
    inline TYPE PREFIX##add_rn(TYPE x, TYPE y) { return x + y; }                         \
    inline TYPE PREFIX##sub_rn(TYPE x, TYPE y) { return x - y; }                         \
    inline TYPE PREFIX##mul_rn(TYPE x, TYPE y) { return x * y; }                         \
    inline TYPE PREFIX##div_rn(TYPE x, TYPE y) { return x / y; }                         \
    inline TYPE PREFIX##rcp_rn(TYPE x) { return TYPE(1) / x; }                           \
    inline TYPE PREFIX##sqrt_rn(TYPE x) { return std::sqrt(x); }                         \
    inline TYPE FMA(TYPE x, TYPE y, TYPE z) { return std::fma(x, y, z); }
CUDA_EMULATION_ROUNDED(float, __f, __fmaf_rn)
CUDA_EMULATION_ROUNDED(double, __d, __fma_rn)
#undef CUDA_EMULATION_ROUNDED
inline float __frsqrt_rn(float x) { return 1.0f / std::sqrt(x); }

// ---- conversions ----

namespace cuda_emulation {
template <class To, class From>
To reinterpret_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits are reinterpreted between types of one size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
// A GPU saturates where C++ leaves the conversion undefined, and makes 0 of a NaN.
template <class To, class From>
To saturating(From x) {
    constexpr To lowest = std::numeric_limits<To>::min(), highest = std::numeric_limits<To>::max();
    if (std::isnan(x)) return 0;
    if (x >= static_cast<From>(highest)) return highest;
    if (x <= static_cast<From>(lowest)) return lowest;
    return static_cast<To>(x);
}
}  // namespace cuda_emulation

inline int __float_as_int(float x) { return cuda_emulation::reinterpret_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return cuda_emulation::reinterpret_bits<unsigned>(x); }
inline float __int_as_float(int x) { return cuda_emulation::reinterpret_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return cuda_emulation::reinterpret_bits<float>(x); }
inline long long __double_as_longlong(double x) { return cuda_emulation::reinterpret_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return cuda_emulation::reinterpret_bits<double>(x); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }

#define CUDA_EMULATION_TO_INTEGER(NAME, FROM, TO)                                                             \
    inline TO NAME##_rn(FROM x) { return cuda_emulation::saturating<TO>(std::nearbyint(x)); }                 \
    inline TO NAME##_rz(FROM x) { return cuda_emulation::saturating<TO>(std::trunc(x)); }                     \
    inline TO NAME##_rd(FROM x) { return cuda_emulation::saturating<TO>(std::floor(x)); }                     \
    inline TO NAME##_ru(FROM x) { return cuda_emulation::saturating<TO>(std::ceil(x)); }
CUDA_EMULATION_TO_INTEGER(__float2int, float, int)
CUDA_EMULATION_TO_INTEGER(__float2uint, float, unsigned)
CUDA_EMULATION_TO_INTEGER(__float2ll, float, long long)
CUDA_EMULATION_TO_INTEGER(__float2ull, float, unsigned long long)
CUDA_EMULATION_TO_INTEGER(__double2int, double, int)
CUDA_EMULATION_TO_INTEGER(__double2uint, double, unsigned)
CUDA_EMULATION_TO_INTEGER(__double2ll, double, long long)
CUDA_EMULATION_TO_INTEGER(__double2ull, double, unsigned long long)
#undef CUDA_EMULATION_TO_INTEGER
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }

// ---- integers ----

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1u) << (31 - bit);
    return reversed;
}
inline int __mul24(int x, int y) { return ((x << 8) >> 8) * ((y << 8) >> 8); }
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
inline int __mulhi(int x, int y) { return static_cast<int>((static_cast<long long>(x) * y) >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return static_cast<unsigned long long>((static_cast<unsigned __int128>(x) * y) >> 64);
}
inline unsigned __sad(int x, int y, unsigned z) { return z + static_cast<unsigned>(std::abs(static_cast<long long>(x) - y)); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
    unsigned result = 0;
    for (int byte = 0; byte < 4; ++byte) {
        const unsigned pick = selector >> (4 * byte);
        const unsigned value = both >> (8 * (pick & 7)) & 0xff;
        result |= ((pick & 8) ? ((value & 0x80) ? 0xffu : 0u) : value) << (8 * byte);
    }
    return result;
}
inline int __dp4a(int a, int b, int sum) {
    for (int byte = 0; byte < 4; ++byte)
        sum += static_cast<signed char>(a >> (8 * byte)) * static_cast<signed char>(b >> (8 * byte));
    return sum;
}

// ---- loads and stores with a cache hint, which a CPU does without ----

template <class T>
T __ldg(const T* address) { return *address; }
template <class T>
T __ldca(const T* address) { return *address; }
template <class T>
T __ldcg(const T* address) { return *address; }
template <class T>
T __ldcs(const T* address) { return *address; }
template <class T>
T __ldlu(const T* address) { return *address; }
template <class T>
T __ldcv(const T* address) { return *address; }
template <class T>
void __stwb(T* address, std::common_type_t<T> value) { *address = value; }
template <class T>
void __stcg(T* address, std::common_type_t<T> value) { *address = value; }
template <class T>
void __stcs(T* address, std::common_type_t<T> value) { *address = value; }
template <class T>
void __stwt(T* address, std::common_type_t<T> value) { *address = value; }

// ---- time, and ways to end ----

// A clock that stands still: nothing about an emulated kernel's time means anything.
inline long long clock64() { return 0; }
inline void __nanosleep(unsigned) { cuda_emulation::here->give_way(); }
[[noreturn]] inline void __trap() { cuda_emulation::here->fail("__trap()"); }

// What the shadow of <assert.h> calls.
namespace cuda_emulation {
[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
    if (here != nullptr) here->fail("assertion failed: %.300s (line %d)", condition, line);
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    std::abort();
}
}  // namespace cuda_emulation

#pragma GCC visibility pop

#define CUDA_EMULATION_ASSERTS
#include <assert.h>
