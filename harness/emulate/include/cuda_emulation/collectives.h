// What threads do together: barriers of a block; shuffles, votes and reductions of a warp.
#pragma once
#include <atomic>

#include "multiprocessor.h"

#pragma GCC visibility push(hidden)

namespace cuda_emulation {

constexpr unsigned kFullMask = 0xffffffffu;

// The values that the lanes of a mask brought to one operation.
template <class T>
class Gathered {
    static_assert(sizeof(T) <= sizeof(LaneValue), "a warp operation moves at most 32 bytes");
    static_assert(std::is_trivially_copyable<T>::value, "a warp operation moves plain data");

  public:
    Gathered(const char* operation, unsigned mask, const T& mine)
        : present_(here->wait_at_warp(operation, mask, &mine, sizeof(T))) {}

    bool has(int lane) const { return lane >= 0 && lane < kWarp && (present_ >> lane & 1); }
    // What an absent lane would give is undefined in CUDA; here it is garbage that shows.
    T of(int lane) const {
        T value;
        if (has(lane))
            std::memcpy(static_cast<void*>(&value), here->released(lane).bytes, sizeof(T));
        else
            std::memset(static_cast<void*>(&value), kGarbage, sizeof(T));
        return value;
    }
    template <class Predicate>
    unsigned lanes_where(Predicate holds) const {
        unsigned lanes = 0;
        for (int lane = 0; lane < kWarp; ++lane)
            if (has(lane) && holds(of(lane))) lanes |= 1u << lane;
        return lanes;
    }
    template <class Combine>
    T reduce(Combine combine) const {
        int lane = __builtin_ctz(present_);
        T result = of(lane);
        while (++lane < kWarp)
            if (has(lane)) result = combine(result, of(lane));
        return result;
    }
    unsigned present() const { return present_; }

  private:
    unsigned present_;
};

// A shuffle within segments of `width` lanes: a source outside the own segment leaves the value as it is.
template <class T>
T shuffle(const char* operation, unsigned mask, T value, int source, bool inside) {
    const Gathered<T> gathered(operation, mask, value);
    return inside ? gathered.of(source) : value;
}

}  // namespace cuda_emulation

inline void __syncthreads() { cuda_emulation::here->wait_at_barrier(false); }
inline int __syncthreads_count(int predicate) {
    return cuda_emulation::here->wait_at_barrier(predicate != 0).predicates;
}
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
inline int __syncthreads_and(int predicate) {
    const auto count = cuda_emulation::here->wait_at_barrier(predicate != 0);
    return count.predicates == count.arrived;
}
inline void __syncwarp(unsigned mask = cuda_emulation::kFullMask) {
    cuda_emulation::here->wait_at_warp("__syncwarp", mask, nullptr, 0);
}
inline unsigned __activemask() { return cuda_emulation::here->wait_at_warp("__activemask", 0, nullptr, 0); }

inline void __threadfence_block() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence() {
    __atomic_store_n(&cuda_emulation::blocks_start_in_order, true, __ATOMIC_RELAXED);
    __threadfence_block();
}
inline void __threadfence_system() { __threadfence(); }

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
    const int segment = cuda_emulation::here->lane() & ~(width - 1);
    return cuda_emulation::shuffle("__shfl_sync", mask, value, segment + (source & (width - 1)), true);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    const int lane = cuda_emulation::here->lane(), source = lane - static_cast<int>(delta);
    return cuda_emulation::shuffle("__shfl_up_sync", mask, value, source, source >= (lane & ~(width - 1)));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    const int lane = cuda_emulation::here->lane(), source = lane + static_cast<int>(delta);
    return cuda_emulation::shuffle("__shfl_down_sync", mask, value, source, source <= (lane | (width - 1)));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {
    const int lane = cuda_emulation::here->lane(), source = lane ^ lanes;
    return cuda_emulation::shuffle("__shfl_xor_sync", mask, value, source, source <= (lane | (width - 1)));
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    const cuda_emulation::Gathered<int> votes("__ballot_sync", mask, predicate);
    return votes.lanes_where([](int vote) { return vote != 0; });
}
inline int __any_sync(unsigned mask, int predicate) {
    const cuda_emulation::Gathered<int> votes("__any_sync", mask, predicate);
    return votes.lanes_where([](int vote) { return vote != 0; }) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
    const cuda_emulation::Gathered<int> votes("__all_sync", mask, predicate);
    return votes.lanes_where([](int vote) { return vote == 0; }) == 0;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
    const cuda_emulation::Gathered<T> gathered("__match_any_sync", mask, value);
    return gathered.lanes_where([value](T other) { return std::memcmp(&other, &value, sizeof(T)) == 0; });
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all_equal) {
    const cuda_emulation::Gathered<T> gathered("__match_all_sync", mask, value);
    const unsigned equal = gathered.lanes_where([value](T other) { return std::memcmp(&other, &value, sizeof(T)) == 0; });
    *all_equal = equal == gathered.present();
    return *all_equal ? equal : 0;
}

#define CUDA_EMULATION_WARP_REDUCTION(NAME, TYPE, EXPRESSION)                                  \
    inline TYPE NAME(unsigned mask, TYPE value) {                                              \
        const cuda_emulation::Gathered<TYPE> gathered(#NAME, mask, value);                     \
        return gathered.reduce([](TYPE a, TYPE b) -> TYPE { return EXPRESSION; });             \
    }
CUDA_EMULATION_WARP_REDUCTION(__reduce_add_sync, unsigned, a + b)
CUDA_EMULATION_WARP_REDUCTION(__reduce_add_sync, int, a + b)
CUDA_EMULATION_WARP_REDUCTION(__reduce_min_sync, unsigned, a < b ? a : b)
CUDA_EMULATION_WARP_REDUCTION(__reduce_min_sync, int, a < b ? a : b)
CUDA_EMULATION_WARP_REDUCTION(__reduce_max_sync, unsigned, a > b ? a : b)
CUDA_EMULATION_WARP_REDUCTION(__reduce_max_sync, int, a > b ? a : b)
CUDA_EMULATION_WARP_REDUCTION(__reduce_and_sync, unsigned, a & b)
CUDA_EMULATION_WARP_REDUCTION(__reduce_or_sync, unsigned, a | b)
CUDA_EMULATION_WARP_REDUCTION(__reduce_xor_sync, unsigned, a ^ b)
#undef CUDA_EMULATION_WARP_REDUCTION

#pragma GCC visibility pop
