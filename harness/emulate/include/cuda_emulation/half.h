// half and bfloat16: CUDA's types over PyTorch's, which know how to round. Absent where PyTorch's headers are.
//
// __half is a class of its own, as in CUDA, so that candidates can specialise templates for it and for c10::Half. It
// derives from c10::Half, so that either converts to the other. Arithmetic is done in float and rounded, which for
// + - * / gives the same bits as arithmetic in half.
#pragma once
#if __has_include(<slim_prelude.h>)  // the slim facade of PyTorch has half only where the source mentions it
#include <slim_prelude.h>
#endif
#if __has_include(<slim_prelude.h>) && !defined(SLIM_HALF)
#elif __has_include(<torch/headeronly/util/Half.h>)
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>
#define CUDA_EMULATION_HALF 1
#elif __has_include(<c10/util/Half.h>)
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#define CUDA_EMULATION_HALF 1
#endif

#ifdef CUDA_EMULATION_HALF
#include "collectives.h"
#include "math.h"

#pragma GCC visibility push(hidden)

// A 16-bit type T over PyTorch's BASE, and T2, a pair of them. Their operators are friends defined in the class, so that
// they are found for T alone: c10::Half converts to T, and would find two answers to each comparison.
#define CUDA_EMULATION_TYPES(T, T2, BASE)                                                        \
    struct T : BASE {                                                                            \
        T() = default;                                                                           \
        T(const BASE& value) : BASE(value) {}                                                    \
        template <class N, class = std::enable_if_t<std::is_arithmetic<N>::value>>               \
        T(N value) : BASE(static_cast<float>(value)) {}                                          \
        friend T operator-(T a) { return T(-float(a)); }                                         \
        CUDA_EMULATION_ARITHMETIC(T, T(float(a) + float(b)), +)                                  \
        CUDA_EMULATION_ARITHMETIC(T, T(float(a) - float(b)), -)                                  \
        CUDA_EMULATION_ARITHMETIC(T, T(float(a) * float(b)), *)                                  \
        CUDA_EMULATION_ARITHMETIC(T, T(float(a) / float(b)), /)                                  \
        friend bool operator==(T a, T b) { return float(a) == float(b); }                        \
        friend bool operator!=(T a, T b) { return float(a) != float(b); }                        \
        friend bool operator<(T a, T b) { return float(a) < float(b); }                          \
        friend bool operator<=(T a, T b) { return float(a) <= float(b); }                        \
        friend bool operator>(T a, T b) { return float(a) > float(b); }                          \
        friend bool operator>=(T a, T b) { return float(a) >= float(b); }                        \
    };                                                                                           \
    struct alignas(4) T2 {                                                                       \
        T x, y;                                                                                  \
        T2() = default;                                                                          \
        T2(T x, T y) : x(x), y(y) {}                                                             \
        friend T2 operator-(T2 a) { return {-a.x, -a.y}; }                                       \
        CUDA_EMULATION_ARITHMETIC(T2, (T2{a.x + b.x, a.y + b.y}), +)                             \
        CUDA_EMULATION_ARITHMETIC(T2, (T2{a.x - b.x, a.y - b.y}), -)                             \
        CUDA_EMULATION_ARITHMETIC(T2, (T2{a.x * b.x, a.y * b.y}), *)                             \
        CUDA_EMULATION_ARITHMETIC(T2, (T2{a.x / b.x, a.y / b.y}), /)                             \
        friend bool operator==(T2 a, T2 b) { return a.x == b.x && a.y == b.y; }                  \
        friend bool operator!=(T2 a, T2 b) { return !(a == b); }                                 \
    };

#define CUDA_EMULATION_ARITHMETIC(T, EXPRESSION, OP)                                             \
    friend T operator OP(T a, T b) { return EXPRESSION; }                                        \
    friend T& operator OP##=(T& a, T b) { return a = a OP b; }

// A comparison of two T, of two pairs one by one (1 or 0), and of two pairs at once.
#define CUDA_EMULATION_COMPARISON(T, T2, OP, NAME)                                               \
    inline bool __h##NAME(T a, T b) { return a OP b; }                                           \
    inline T2 __h##NAME##2(T2 a, T2 b) { return {T(a.x OP b.x), T(a.y OP b.y)}; }                \
    inline bool __hb##NAME##2(T2 a, T2 b) { return a.x OP b.x && a.y OP b.y; }

#define CUDA_EMULATION_BINARY(T, T2, NAME, NAME2, EXPRESSION)                                    \
    inline T NAME(T a, T b) { return T(EXPRESSION); }                                            \
    inline T2 NAME2(T2 a, T2 b) { return {NAME(a.x, b.x), NAME(a.y, b.y)}; }

#define CUDA_EMULATION_UNARY(T, T2, NAME, NAME2, EXPRESSION)                                     \
    inline T NAME(T a) {                                                                         \
        const float x = a;                                                                       \
        return T(EXPRESSION);                                                                    \
    }                                                                                            \
    inline T2 NAME2(T2 a) { return {NAME(a.x), NAME(a.y)}; }

#define CUDA_EMULATION_INTRINSICS(T, T2)                                                         \
    CUDA_EMULATION_COMPARISON(T, T2, ==, eq)                                                     \
    CUDA_EMULATION_COMPARISON(T, T2, !=, ne)                                                     \
    CUDA_EMULATION_COMPARISON(T, T2, <, lt)                                                      \
    CUDA_EMULATION_COMPARISON(T, T2, <=, le)                                                     \
    CUDA_EMULATION_COMPARISON(T, T2, >, gt)                                                      \
    CUDA_EMULATION_COMPARISON(T, T2, >=, ge)                                                     \
    CUDA_EMULATION_BINARY(T, T2, __hadd, __hadd2, float(a) + float(b))                           \
    CUDA_EMULATION_BINARY(T, T2, __hadd_rn, __hadd2_rn, float(a) + float(b))                     \
    CUDA_EMULATION_BINARY(T, T2, __hadd_sat, __hadd2_sat, __saturatef(float(a) + float(b)))      \
    CUDA_EMULATION_BINARY(T, T2, __hsub, __hsub2, float(a) - float(b))                           \
    CUDA_EMULATION_BINARY(T, T2, __hsub_rn, __hsub2_rn, float(a) - float(b))                     \
    CUDA_EMULATION_BINARY(T, T2, __hmul, __hmul2, float(a) * float(b))                           \
    CUDA_EMULATION_BINARY(T, T2, __hmul_rn, __hmul2_rn, float(a) * float(b))                     \
    CUDA_EMULATION_BINARY(T, T2, __hmul_sat, __hmul2_sat, __saturatef(float(a) * float(b)))      \
    CUDA_EMULATION_BINARY(T, T2, __hdiv, __h2div, float(a) / float(b))                           \
    CUDA_EMULATION_BINARY(T, T2, __hmax, __hmax2, std::fmax(float(a), float(b)))                 \
    CUDA_EMULATION_BINARY(T, T2, __hmin, __hmin2, std::fmin(float(a), float(b)))                 \
    inline T __hfma(T a, T b, T c) { return T(std::fma(float(a), float(b), float(c))); }         \
    inline T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
    CUDA_EMULATION_UNARY(T, T2, __hneg, __hneg2, -x)                                             \
    CUDA_EMULATION_UNARY(T, T2, __habs, __habs2, std::fabs(x))                                   \
    CUDA_EMULATION_UNARY(T, T2, hexp, h2exp, std::exp(x))                                        \
    CUDA_EMULATION_UNARY(T, T2, hexp2, h2exp2, std::exp2(x))                                     \
    CUDA_EMULATION_UNARY(T, T2, hexp10, h2exp10, std::pow(10.0f, x))                             \
    CUDA_EMULATION_UNARY(T, T2, hlog, h2log, std::log(x))                                        \
    CUDA_EMULATION_UNARY(T, T2, hlog2, h2log2, std::log2(x))                                     \
    CUDA_EMULATION_UNARY(T, T2, hlog10, h2log10, std::log10(x))                                  \
    CUDA_EMULATION_UNARY(T, T2, hsqrt, h2sqrt, std::sqrt(x))                                     \
    CUDA_EMULATION_UNARY(T, T2, hrsqrt, h2rsqrt, 1.0f / std::sqrt(x))                            \
    CUDA_EMULATION_UNARY(T, T2, hrcp, h2rcp, 1.0f / x)                                           \
    CUDA_EMULATION_UNARY(T, T2, hsin, h2sin, std::sin(x))                                        \
    CUDA_EMULATION_UNARY(T, T2, hcos, h2cos, std::cos(x))                                        \
    CUDA_EMULATION_UNARY(T, T2, htanh, h2tanh, std::tanh(x))                                     \
    CUDA_EMULATION_UNARY(T, T2, hfloor, h2floor, std::floor(x))                                  \
    CUDA_EMULATION_UNARY(T, T2, hceil, h2ceil, std::ceil(x))                                     \
    CUDA_EMULATION_UNARY(T, T2, htrunc, h2trunc, std::trunc(x))                                  \
    CUDA_EMULATION_UNARY(T, T2, hrint, h2rint, std::nearbyint(x))                                \
    inline bool __hisnan(T a) { return std::isnan(float(a)); }                                   \
    inline int __hisinf(T a) { return std::isinf(float(a)) ? (float(a) > 0 ? 1 : -1) : 0; }

CUDA_EMULATION_TYPES(__half, __half2, c10::Half)
CUDA_EMULATION_TYPES(__nv_bfloat16, __nv_bfloat162, c10::BFloat16)
CUDA_EMULATION_INTRINSICS(__half, __half2)
CUDA_EMULATION_INTRINSICS(__nv_bfloat16, __nv_bfloat162)
#undef CUDA_EMULATION_TYPES
#undef CUDA_EMULATION_ARITHMETIC
#undef CUDA_EMULATION_COMPARISON
#undef CUDA_EMULATION_BINARY
#undef CUDA_EMULATION_UNARY
#undef CUDA_EMULATION_INTRINSICS

typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

// ---- conversions; the two types name the same things differently ----

inline __half __float2half(float x) { return __half(x); }
inline __half __float2half_rn(float x) { return __half(x); }
inline __half __double2half(double x) { return __half(static_cast<float>(x)); }
inline float __half2float(__half x) { return x; }
inline __half __int2half_rn(int x) { return __half(x); }
inline int __half2int_rn(__half x) { return __float2int_rn(x); }
inline int __half2int_rz(__half x) { return __float2int_rz(x); }
inline __half __ushort_as_half(unsigned short x) { return c10::Half(x, c10::Half::from_bits()); }
inline unsigned short __half_as_ushort(__half x) { return x.x; }
inline __half __short_as_half(short x) { return __ushort_as_half(static_cast<unsigned short>(x)); }
inline short __half_as_short(__half x) { return static_cast<short>(x.x); }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline float __low2float(__half2 v) { return v.x; }
inline float __high2float(__half2 v) { return v.y; }
inline __half2 __low2half2(__half2 v) { return {v.x, v.x}; }
inline __half2 __high2half2(__half2 v) { return {v.y, v.y}; }
inline __half2 __lowhigh2highlow(__half2 v) { return {v.y, v.x}; }

inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
inline __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(static_cast<float>(x)); }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __nv_bfloat16 __int2bfloat16_rn(int x) { return __nv_bfloat16(x); }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return c10::BFloat16(x, c10::BFloat16::from_bits()); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.x; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {__nv_bfloat16(x), __nv_bfloat16(x)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
inline float __low2float(__nv_bfloat162 v) { return v.x; }
inline float __high2float(__nv_bfloat162 v) { return v.y; }

#pragma GCC visibility pop
#endif
