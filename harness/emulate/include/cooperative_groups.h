// Cooperative groups within a block: the block, tiles of up to a warp, the lanes that are here. Groups beyond a block
// (grid, cluster) are not emulated: the rewrite refuses them by name.
#pragma once
#include "cuda_emulation.h"

#pragma GCC visibility push(hidden)

namespace cooperative_groups {

class thread_block {
  public:
    static void sync() { __syncthreads(); }
    static unsigned thread_rank() { return static_cast<unsigned>(cuda_emulation::here->thread()); }
    static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned size() { return num_threads(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 dim_threads() { return blockDim; }
    static dim3 group_dim() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// Lanes of one warp, as a mask. Ranks count the lanes of the mask from its lowest.
class coalesced_group {
  public:
    explicit coalesced_group(unsigned mask) : mask_(mask) {}
    void sync() const { __syncwarp(mask_); }
    unsigned num_threads() const { return static_cast<unsigned>(__popc(mask_)); }
    unsigned size() const { return num_threads(); }
    unsigned thread_rank() const { return static_cast<unsigned>(__popc(mask_ & ((1u << lane()) - 1))); }
    template <class T>
    T shfl(T value, int rank) const { return __shfl_sync(mask_, value, lane_of(rank)); }
    template <class T>
    T shfl_down(T value, unsigned delta) const { return from_rank(value, static_cast<int>(thread_rank() + delta)); }
    template <class T>
    T shfl_up(T value, unsigned delta) const { return from_rank(value, static_cast<int>(thread_rank()) - static_cast<int>(delta)); }
    template <class T>
    T shfl_xor(T value, unsigned lanes) const { return from_rank(value, static_cast<int>(thread_rank() ^ lanes)); }
    int any(int predicate) const { return __any_sync(mask_, predicate); }
    int all(int predicate) const { return __all_sync(mask_, predicate); }
    unsigned ballot(int predicate) const { return ranks_of(__ballot_sync(mask_, predicate)); }
    template <class T>
    unsigned match_any(T value) const { return ranks_of(__match_any_sync(mask_, value)); }

    // The combination of all members' values, the same for each of them.
    template <class T, class Combine>
    T combine(T value, Combine operation) const {
        return cuda_emulation::Gathered<T>("cooperative_groups::reduce", mask_, value).reduce(operation);
    }
    // The combination of the values of the members up to this one; without it, where `inclusive` is false.
    template <class T, class Combine>
    T scan(T value, Combine operation, bool inclusive) const {
        const cuda_emulation::Gathered<T> gathered("cooperative_groups::scan", mask_, value);
        const int last = static_cast<int>(thread_rank()) - (inclusive ? 0 : 1);
        T result{};
        for (int rank = 0; rank <= last; ++rank)
            result = rank == 0 ? gathered.of(lane_of(0)) : operation(result, gathered.of(lane_of(rank)));
        return result;
    }

  protected:
    static int lane() { return cuda_emulation::here->lane(); }
    int lane_of(int rank) const {
        unsigned left = mask_;
        while (rank-- > 0 && left != 0) left &= left - 1;
        return left == 0 ? -1 : __builtin_ctz(left);
    }
    unsigned ranks_of(unsigned lanes) const {
        unsigned ranks = 0;
        for (unsigned rank = 0; rank < num_threads(); ++rank)
            if (lanes >> lane_of(static_cast<int>(rank)) & 1) ranks |= 1u << rank;
        return ranks;
    }
    template <class T>
    T from_rank(T value, int rank) const {
        const bool inside = rank >= 0 && rank < static_cast<int>(num_threads());
        return cuda_emulation::shuffle("cooperative_groups shuffle", mask_, value, inside ? lane_of(rank) : -1, inside);
    }
    unsigned mask_;
};
inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// Size neighbouring lanes. Tiles beyond a warp exist in CUDA and are not emulated.
template <unsigned Size, class Parent = void>
class thread_block_tile : public coalesced_group {
    static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

  public:
    thread_block_tile() : coalesced_group(mask_of_tile()) {}
    template <class Other>
    thread_block_tile(const thread_block_tile<Size, Other>&) : thread_block_tile() {}
    static constexpr unsigned num_threads() { return Size; }
    static constexpr unsigned size() { return Size; }
    static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
    static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }

  private:
    static unsigned mask_of_tile() {
        const unsigned lanes = Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1;
        return lanes << (static_cast<unsigned>(lane()) / Size * Size);
    }
};

template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent&) { return {}; }

template <class Group>
void sync(const Group& group) { group.sync(); }

template <class T>
struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T>
struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T>
struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T>
struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T>
struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T>
struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

template <class Group, class T, class Combine>
T reduce(const Group& group, T value, Combine operation) { return group.combine(value, operation); }
template <class Group, class T, class Combine>
T inclusive_scan(const Group& group, T value, Combine operation) { return group.scan(value, operation, true); }
template <class Group, class T, class Combine>
T exclusive_scan(const Group& group, T value, Combine operation) { return group.scan(value, operation, false); }
template <class Group, class T>
T inclusive_scan(const Group& group, T value) { return group.scan(value, plus<T>{}, true); }
template <class Group, class T>
T exclusive_scan(const Group& group, T value) { return group.scan(value, plus<T>{}, false); }

}  // namespace cooperative_groups

#pragma GCC visibility pop
