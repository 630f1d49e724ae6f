// CUDA's atomic functions: what another block, on another CPU thread, must see whole.
#pragma once
#include <cstring>
#include <type_traits>

#include "multiprocessor.h"

#pragma GCC visibility push(hidden)

namespace cuda_emulation {

template <std::size_t Bytes>
struct WordOf;
template <>
struct WordOf<2> { using type = std::uint16_t; };
template <>
struct WordOf<4> { using type = std::uint32_t; };
template <>
struct WordOf<8> { using type = std::uint64_t; };

// Replaces *address by change(*address) as one step; returns what was there before.
template <class T, class Change>
__attribute__((always_inline)) inline T atomic_update(T* address, Change change) {
    using Word = typename WordOf<sizeof(T)>::type;
    Word* place = reinterpret_cast<Word*>(address);
    Word before = __atomic_load_n(place, __ATOMIC_RELAXED), after;
    T old;
    do {
        std::memcpy(static_cast<void*>(&old), &before, sizeof(T));
        const T changed = change(old);
        std::memcpy(&after, &changed, sizeof(T));
    } while (!__atomic_compare_exchange_n(place, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    return old;
}

// A thread that finds a value which it did not hope for may be spinning until another of its block changes it, and
// that one needs its turn for it.
inline void let_others_run() {
    if (here != nullptr) here->give_way();
}

// What follows is ordered by a lock, as far as can be told.
inline void take_lock() {
#ifdef __SANITIZE_THREAD__
    if (tracer != nullptr) tracer->take_lock();
#endif
}

template <class T>
bool same_bytes(const T& a, const T& b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// The types that CUDA's functions take. A kernel that nvcc would refuse must not be found correct here.
template <class T, class... Types>
using OneOf = std::disjunction<std::is_same<T, Types>...>;
template <class T>
using AtomicInteger = OneOf<T, int, unsigned, long long, unsigned long long>;
template <class T>
using AtomicWord = OneOf<T, int, unsigned, unsigned long long, float>;
template <class T>
using AtomicComparable = OneOf<T, int, unsigned, unsigned long long, unsigned short>;
template <class T>
using AtomicNumber = std::disjunction<OneOf<T, int, unsigned, unsigned long long, float, double>, std::is_class<T>>;

// The value's type, kept out of deduction so that `atomicAdd(&a_float, 1)` adds a float; void* of volatile stripped.
template <template <class> class Allowed, class T>
using AtomicValue = std::enable_if_t<Allowed<std::remove_volatile_t<T>>::value, std::remove_volatile_t<T>>;

}  // namespace cuda_emulation

#define CUDA_EMULATION_ATOMIC(NAME, ALLOWED, EXPRESSION)                                                 \
    template <class T>                                                                                   \
    __attribute__((always_inline)) inline cuda_emulation::AtomicValue<cuda_emulation::ALLOWED, T> NAME(                                       \
        T* address, cuda_emulation::AtomicValue<cuda_emulation::ALLOWED, T> value) {                     \
        using Value = std::remove_volatile_t<T>;                                                         \
        return cuda_emulation::atomic_update(const_cast<Value*>(address),                                \
                                             [value](Value old) -> Value { return EXPRESSION; });        \
    }
// A block sees its own atomics anyway, and the system is this process: the three scopes are one.
#define CUDA_EMULATION_ATOMIC_SCOPES(NAME, ALLOWED, EXPRESSION) \
    CUDA_EMULATION_ATOMIC(NAME, ALLOWED, EXPRESSION)            \
    CUDA_EMULATION_ATOMIC(NAME##_block, ALLOWED, EXPRESSION)    \
    CUDA_EMULATION_ATOMIC(NAME##_system, ALLOWED, EXPRESSION)

CUDA_EMULATION_ATOMIC_SCOPES(atomicAdd, AtomicNumber, old + value)
CUDA_EMULATION_ATOMIC_SCOPES(atomicSub, AtomicInteger, old - value)
CUDA_EMULATION_ATOMIC_SCOPES(atomicMin, AtomicInteger, old < value ? old : value)
CUDA_EMULATION_ATOMIC_SCOPES(atomicMax, AtomicInteger, old > value ? old : value)
CUDA_EMULATION_ATOMIC_SCOPES(atomicAnd, AtomicInteger, old & value)
CUDA_EMULATION_ATOMIC_SCOPES(atomicOr, AtomicInteger, old | value)
CUDA_EMULATION_ATOMIC_SCOPES(atomicXor, AtomicInteger, old ^ value)
CUDA_EMULATION_ATOMIC_SCOPES(atomicInc, AtomicInteger, old >= value ? Value(0) : Value(old + 1))
CUDA_EMULATION_ATOMIC_SCOPES(atomicDec, AtomicInteger, old == 0 || old > value ? value : Value(old - 1))
#undef CUDA_EMULATION_ATOMIC_SCOPES
#undef CUDA_EMULATION_ATOMIC

template <class T>
__attribute__((always_inline)) inline cuda_emulation::AtomicValue<cuda_emulation::AtomicWord, T> atomicExch(
    T* address, cuda_emulation::AtomicValue<cuda_emulation::AtomicWord, T> value) {
    using Value = std::remove_volatile_t<T>;
    const Value found = cuda_emulation::atomic_update(const_cast<Value*>(address), [value](Value) { return value; });
    cuda_emulation::take_lock();
    if (cuda_emulation::same_bytes(found, value)) cuda_emulation::let_others_run();
    return found;
}
template <class T>
__attribute__((always_inline)) inline cuda_emulation::AtomicValue<cuda_emulation::AtomicComparable, T> atomicCAS(
    T* address, cuda_emulation::AtomicValue<cuda_emulation::AtomicComparable, T> expected,
    cuda_emulation::AtomicValue<cuda_emulation::AtomicComparable, T> value) {
    using Value = std::remove_volatile_t<T>;
    const Value found = cuda_emulation::atomic_update(
        const_cast<Value*>(address), [=](Value old) { return cuda_emulation::same_bytes(old, expected) ? value : old; });
    cuda_emulation::take_lock();
    if (!cuda_emulation::same_bytes(found, expected)) cuda_emulation::let_others_run();
    return found;
}

#pragma GCC visibility pop
