// Watches every access to memory of a kernel, where the compiler was told to report them (-fsanitize=thread): accesses
// outside of tensors and shared memory, and races between threads.
//
// The compiler calls a function before each access (`__tsan_read4` and its like; they are defined here, no runtime of
// the compiler's is linked). While nothing is watched they return at once. Two accesses to a word are a race where
// they are by different threads, one is a write that changed the word, not both are atomic, and nothing orders them:
// no __syncthreads, no operation of both threads' warp, no lock. What is not told apart is taken as ordered: lanes
// that a warp operation did not name, whatever a thread does after atomicCAS or atomicExch until the next barrier,
// other blocks once the own block has used an atomic. Of one word at most one write and two reads are remembered.
//
// None of this may be watched itself, so it uses nothing of the standard library.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

#pragma GCC visibility push(hidden)

#define CUDA_EMULATION_UNTRACED __attribute__((no_sanitize("thread")))

namespace cuda_emulation {

// What to look for. Strictly: also where a thread reads global memory that another one writes, which kernels do on
// purpose where either value will do.
enum class Watch : int { nothing, faults, strictly };

// A piece of memory around `address`: a tensor with the red zones on both sides of it, or (`begin` null) all that lies
// between two of these.
struct Zone {
    const char *begin, *end;    // the tensor
    const char *first, *limit;  // with its red zones
};
using ZoneOf = void (*)(const void* address, Zone* zone);

// How threads are ordered, chosen from outside for the launches to come.
struct Schedule {
    enum Kind : int { alternating, ascending, descending, by_warps, by_threads };
    int kind = alternating;
    std::uint64_t seed = 0;
    Watch watch = Watch::nothing;
    ZoneOf zone_of = nullptr;
};
inline Schedule schedule;

// Whether a kernel of this module has called __threadfence, as those do whose blocks wait for blocks before them. CUDA
// promises no order of blocks, and such kernels rely on the one that there is: from then on blocks start in it.
inline bool blocks_start_in_order = false;

// What ended the last launch that failed, for callers that asked for its schedule: places are offsets of machine code in
// this module, 0 where there is none.
struct LastFault {
    enum Kind : int { other, data_race, out_of_bounds };
    int kind = other;
    std::uint32_t places[2] = {};
};
inline LastFault last_fault;

// What the arguments of the next launch of this CPU thread point to in memory that is certain to be the host's.
struct HostArguments {
    static constexpr int kMost = 16;
    int count;
    struct Piece {
        const char *begin, *end;
    } pieces[kMost];

    CUDA_EMULATION_UNTRACED void add(const void* begin, std::size_t bytes) {
        const char* first = static_cast<const char*>(const_cast<const void*>(begin));
        if (first != nullptr && bytes != 0 && count < kMost) pieces[count++] = {first, first + bytes};
    }
};
inline thread_local HostArguments host_arguments{};

extern "C" const char __ehdr_start;  // where this module begins: the linker's

CUDA_EMULATION_UNTRACED inline std::uint32_t place_of(const void* code) {
    return static_cast<std::uint32_t>(static_cast<const char*>(code) - &__ehdr_start);
}

#ifdef __SANITIZE_THREAD__

[[noreturn]] void fail_for_the_tracer(const char* text);
void describe_thread(char* text, std::size_t size, int thread);

struct Access {
    std::uint32_t time, place, block;
    std::uint16_t thread;
    std::uint8_t bytes;  // of the word, as a mask; 0: there was none
    std::uint8_t is_atomic : 1, changed : 1;
};
struct Cell {
    Access write, reads[2];
};

class Tracer {
  public:
    // ---- told by the multiprocessor ----

    CUDA_EMULATION_UNTRACED void begin_launch() {
        launch_time_ = ++now_;
        for (Region& region : cache_) region = {};
        pending_.size = 0;
        host_ = host_arguments;
        host_arguments.count = 0;
        if (schedule.zone_of == nullptr) return;
        for (int i = 0; i < host_.count; ++i) {  // a tensor is the host's as a whole
            Zone zone;
            schedule.zone_of(host_.pieces[i].begin, &zone);
            if (zone.begin != nullptr) host_.pieces[i] = {zone.begin, zone.end};
        }
    }
    CUDA_EMULATION_UNTRACED void begin_block() {
        ++block_;
        block_is_synchronised_ = false;
        shared_count_ = 0;
        pass_barrier();
    }
    CUDA_EMULATION_UNTRACED void pass_barrier() {
        barrier_time_ = ++now_;
        std::memset(holds_lock_, 0, sizeof holds_lock_);
    }
    CUDA_EMULATION_UNTRACED void pass_warp(int warp) { warp_times_[warp] = ++now_; }
    CUDA_EMULATION_UNTRACED void run(int thread) { thread_ = thread; }
    CUDA_EMULATION_UNTRACED void stop() {
        settle();
        thread_ = kNobody;
    }
    CUDA_EMULATION_UNTRACED void take_lock() {
        if (thread_ != kNobody) holds_lock_[thread_] = true;
    }
    CUDA_EMULATION_UNTRACED void add_shared(const char* begin, const char* end, const char* first, const char* limit) {
        if (shared_count_ < kMostShared) shared_[shared_count_++] = {{begin, end, first, limit}, cells_for(begin, end)};
    }

    // ---- told by the compiler's calls ----

    // An access through a pointer whose type promises so many bytes of alignment.
    CUDA_EMULATION_UNTRACED void require_aligned(const void* address, std::size_t to, const void* code) {
        if (thread_ == kNobody || reinterpret_cast<std::uintptr_t>(address) % to == 0) return;
        char text[160];
        std::snprintf(text, sizeof text,
                      "misaligned address: the access needs a multiple of %zu bytes (a GPU answers cudaErrorMisalignedAddress)", to);
        end(LastFault::other, place_of(code), 0, text);
    }
    CUDA_EMULATION_UNTRACED void access(const void* address, std::size_t size, bool writes, bool is_atomic, const void* code) {
        if (thread_ == kNobody) return;
        settle();
        const char* at = static_cast<const char*>(address);
        bool is_shared = true;
        const Region* region = find_shared(at);
        if (region == nullptr) {
            is_shared = false;
            region = find_global(at, size, writes, code);
        }
        if (region == nullptr || region->zone.begin == nullptr) return;
        if (at < region->zone.begin || at + size > region->zone.end) report_outside(region->zone, at, size, writes, is_shared, code);
        if (region->cells == nullptr) return;
        Race race{};
        const bool ordered_by_lock = holds_lock_[thread_] && !is_atomic;
        if (!ordered_by_lock) note(*region, at, size, writes, is_atomic, is_shared, code, race);
        if (!is_shared && is_atomic) block_is_synchronised_ = true;
        if (!writes || ordered_by_lock) return;
        pending_ = {at, size, {}, race, region, is_shared, place_of(code)};
        if (size <= sizeof pending_.before) std::memcpy(pending_.before, at, size);
    }

  private:
    static constexpr int kNobody = -1, kMostShared = 64, kMostThreads = 1024, kMostTensors = 64, kCached = 64;
    static constexpr std::size_t kMostTracedBytes = 32u << 20;  // of one tensor; its cells take 12 times as much
    struct Region {
        Zone zone;
        Cell* cells;
    };
    enum class Hazard { none, write_write, read_write, write_read };
    struct Race {
        Hazard hazard;
        Access other;
    };
    struct Pending {
        const char* at;
        std::size_t size;
        char before[32];
        Race race;
        const Region* region;
        bool is_shared;
        std::uint32_t place;
    };

    CUDA_EMULATION_UNTRACED const Region* find_shared(const char* at) const {
        for (int i = 0; i < shared_count_; ++i)
            if (at >= shared_[i].zone.first && at < shared_[i].zone.limit) return &shared_[i];
        return nullptr;
    }

    // By the code that asks: it mostly asks for the same tensor.
    CUDA_EMULATION_UNTRACED const Region* find_global(const char* at, std::size_t size, bool writes, const void* code) {
        Region& cached = cache_[reinterpret_cast<std::uintptr_t>(code) / 4 % kCached];
        if (at < cached.zone.first || at >= cached.zone.limit) {
            cached.zone = {nullptr, nullptr, nullptr, reinterpret_cast<const char*>(UINTPTR_MAX)};
            if (schedule.zone_of != nullptr) ask_unwatched(at, &cached.zone);
            keep_off_the_host(cached.zone, at, size, writes, code);
            cached.cells = cached.zone.begin == nullptr ? nullptr : cells_for(cached.zone.begin, cached.zone.end);
        }
        return &cached;
    }

    // Who is asked may have been compiled with the kernel: its own accesses would be told here, and ask again.
    CUDA_EMULATION_UNTRACED void ask_unwatched(const char* at, Zone* zone) {
        const int thread = thread_;
        thread_ = kNobody;
        schedule.zone_of(at, zone);
        thread_ = thread;
    }

    // Of what is around `at` the part without memory of the host, where the kernel ends if that is where `at` is.
    CUDA_EMULATION_UNTRACED void keep_off_the_host(Zone& zone, const char* at, std::size_t size, bool writes, const void* code) {
        for (int i = 0; i < host_.count; ++i) {
            const HostArguments::Piece& piece = host_.pieces[i];
            if (at >= piece.begin && at < piece.end) {
                char text[200];
                std::snprintf(text, sizeof text,
                              "illegal memory access: it %s %zu bytes of memory of the host, which an argument points to "
                              "(a GPU answers cudaErrorIllegalAddress)",
                              writes ? "writes" : "reads", size);
                end(LastFault::other, place_of(code), 0, text);
            }
            if (piece.end <= at && piece.end > zone.first) zone.first = piece.end;
            if (piece.begin > at && piece.begin < zone.limit) zone.limit = piece.begin;
        }
    }

    // Cells of a piece of memory, kept from launch to launch: times tell what is of this one.
    CUDA_EMULATION_UNTRACED Cell* cells_for(const char* begin, const char* end) {
        const std::size_t bytes = static_cast<std::size_t>(end - begin);
        if (bytes == 0 || bytes > kMostTracedBytes) return nullptr;
        for (Kept& kept : kept_)
            if (kept.begin == begin && kept.end == end) {
                kept.used_in = launch_time_;
                return kept.cells;
            }
        Kept& kept = kept_[next_kept_++ % kMostTensors];
        if (kept.cells != nullptr && kept.used_in == launch_time_) return nullptr;  // still in use
        if (kept.cells != nullptr) munmap(kept.cells, kept.mapped);
        kept.begin = begin, kept.end = end, kept.used_in = launch_time_;
        kept.mapped = (bytes / 4 + 2) * sizeof(Cell);
        void* cells = mmap(nullptr, kept.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        kept.cells = cells == MAP_FAILED ? nullptr : static_cast<Cell*>(cells);
        return kept.cells;
    }

    CUDA_EMULATION_UNTRACED bool is_ordered(const Access& before, bool is_shared) const {
        if (before.time < launch_time_) return true;
        if (before.block != block_) return is_shared || block_is_synchronised_;
        if (before.thread == thread_ || before.time < barrier_time_) return true;
        return before.thread / 32 == thread_ / 32 && before.time < warp_times_[thread_ / 32];
    }

    CUDA_EMULATION_UNTRACED void note(const Region& region, const char* at, std::size_t size, bool writes, bool is_atomic,
                                      bool is_shared, const void* code, Race& race) {
        const std::uintptr_t start = static_cast<std::uintptr_t>(at - region.zone.begin);
        for (std::uintptr_t word = start / 4; word * 4 < start + size; ++word) {
            unsigned mask = 0xf;
            if (word * 4 < start) mask &= 0xfu << (start - word * 4);
            if (word * 4 + 4 > start + size) mask &= 0xfu >> (word * 4 + 4 - start - size);
            Cell& cell = region.cells[word];
            const Access mine{now_, place_of(code), block_, static_cast<std::uint16_t>(thread_),
                              static_cast<std::uint8_t>(mask), is_atomic, false};
            const bool meets = (cell.write.bytes & mask) && !(is_atomic && cell.write.is_atomic) && !is_ordered(cell.write, is_shared);
            if (writes) {
                if (meets && race.hazard == Hazard::none) race = {Hazard::write_write, cell.write};
                for (const Access& read : cell.reads)
                    if ((read.bytes & mask) && race.hazard == Hazard::none && !is_ordered(read, is_shared))
                        race = {Hazard::read_write, read};
                // Of atomics the first is kept: a thread that reads without a barrier may have added last itself.
                const bool keeps = is_atomic && cell.write.is_atomic && (cell.write.bytes & mask) && !is_ordered(cell.write, is_shared);
                if (!keeps) cell.write = mine;
            } else {
                if (meets && cell.write.changed) found({Hazard::write_read, cell.write}, is_shared, mine.place);
                remember_read(cell, mine, is_shared);
            }
        }
    }

    CUDA_EMULATION_UNTRACED void remember_read(Cell& cell, const Access& mine, bool is_shared) {
        for (Access& read : cell.reads) {
            if (read.bytes != 0 && !is_ordered(read, is_shared)) continue;
            const bool same = read.time == mine.time && read.thread == mine.thread && read.block == mine.block;
            const std::uint8_t bytes = same ? read.bytes | mine.bytes : mine.bytes;
            read = mine;
            read.bytes = bytes;
            return;
        }
    }

    // What the last write did is known once something else happens: it was announced before it was done.
    CUDA_EMULATION_UNTRACED void settle() {
        if (pending_.size == 0) return;
        const std::size_t size = pending_.size;
        pending_.size = 0;
        const bool changed = size > sizeof pending_.before || std::memcmp(pending_.before, pending_.at, size) != 0;
        if (!changed) return;
        const std::uintptr_t start = static_cast<std::uintptr_t>(pending_.at - pending_.region->zone.begin);
        for (std::uintptr_t word = start / 4; word * 4 < start + size; ++word) pending_.region->cells[word].write.changed = true;
        if (pending_.race.hazard != Hazard::none) found(pending_.race, pending_.is_shared, pending_.place);
    }

    CUDA_EMULATION_UNTRACED void found(const Race& race, bool is_shared, std::uint32_t place) {
        if (!is_shared && race.hazard != Hazard::write_write && schedule.watch != Watch::strictly) return;
        char other[64], text[320];
        describe_thread(other, sizeof other, race.other.thread);
        const char* what = race.hazard == Hazard::write_write  ? "writes what %s%s wrote"
                           : race.hazard == Hazard::read_write ? "writes what %s%s reads"
                                                               : "reads what %s%s writes";
        char verb[160];
        std::snprintf(verb, sizeof verb, what, other, race.other.block == block_ ? "" : " of another block");
        std::snprintf(text, sizeof text, "data race on %s memory: it %s, and no barrier or atomic orders them",
                      is_shared ? "shared" : "global", verb);
        end(LastFault::data_race, place, race.other.place, text);
    }

    CUDA_EMULATION_UNTRACED void report_outside(const Zone& zone, const char* at, std::size_t size, bool writes, bool is_shared,
                                                const void* code) {
        char text[320];
        const std::ptrdiff_t before = zone.begin - at, after = at - zone.end;
        const char* of = is_shared ? "shared memory" : "a tensor";
        const std::size_t bytes = static_cast<std::size_t>(zone.end - zone.begin);
        if (before > 0)
            std::snprintf(text, sizeof text, "out-of-bounds %s: %zu bytes, %td before the start of %s of %zu bytes",
                          writes ? "write" : "read", size, before, of, bytes);
        else
            std::snprintf(text, sizeof text, "out-of-bounds %s: %zu bytes, %td past the end of %s of %zu bytes",
                          writes ? "write" : "read", size, after, of, bytes);
        end(LastFault::out_of_bounds, place_of(code), 0, text);
    }

    CUDA_EMULATION_UNTRACED void end(LastFault::Kind kind, std::uint32_t place, std::uint32_t other, const char* text) {
        thread_ = kNobody;
        pending_.size = 0;
        last_fault.kind = kind;
        last_fault.places[0] = place;
        last_fault.places[1] = other;
        fail_for_the_tracer(text);
    }

    struct Kept {
        const char *begin, *end;
        Cell* cells;
        std::size_t mapped;
        std::uint32_t used_in;
    };
    std::uint32_t now_ = 0, launch_time_ = 0, barrier_time_ = 0, block_ = 0;
    std::uint32_t warp_times_[kMostThreads / 32] = {};
    int thread_ = kNobody, shared_count_ = 0;
    bool block_is_synchronised_ = false;
    bool holds_lock_[kMostThreads] = {};
    Region shared_[kMostShared] = {}, cache_[kCached] = {};
    Kept kept_[kMostTensors] = {};
    unsigned next_kept_ = 0;
    Pending pending_{};
    HostArguments host_{};
};

// The one that watches: a launch that is watched runs on one CPU thread.
inline Tracer* tracer = nullptr;

CUDA_EMULATION_UNTRACED inline void trace_aligned(const void* address, std::size_t size, std::size_t to, bool writes, const void* code) {
    if (__builtin_expect(tracer == nullptr, 1)) return;
    tracer->require_aligned(address, size < to ? size : to, code);
    tracer->access(address, size, writes, false, code);
}
CUDA_EMULATION_UNTRACED inline void trace(const void* address, std::size_t size, bool writes, bool is_atomic, const void* code) {
    if (__builtin_expect(tracer != nullptr, 0)) tracer->access(address, size, writes, is_atomic, code);
}

#endif

}  // namespace cuda_emulation

#ifdef __SANITIZE_THREAD__

// The compiler calls __tsan_read16 for whatever has 16 bytes and an alignment of 8 or more: for float4, and for a struct
// of two doubles. Where a source may have types of the second kind, no more than 8 is asked for.
#ifdef CUDA_EMULATION_OWN_TYPES
#define CUDA_EMULATION_MOST_ALIGNED 8
#else
#define CUDA_EMULATION_MOST_ALIGNED 16
#endif
#define CUDA_EMULATION_CALLBACK extern "C" __attribute__((weak, visibility("hidden"), no_sanitize("thread")))
#define CUDA_EMULATION_ACCESSES(SIZE)                                                                        \
    CUDA_EMULATION_ALIGNED(__tsan_read##SIZE, SIZE, false)                                                   \
    CUDA_EMULATION_ALIGNED(__tsan_write##SIZE, SIZE, true)                                                   \
    CUDA_EMULATION_ACCESS(__tsan_unaligned_read##SIZE, SIZE, false)                                          \
    CUDA_EMULATION_ACCESS(__tsan_unaligned_write##SIZE, SIZE, true)
#define CUDA_EMULATION_ALIGNED(NAME, SIZE, WRITES)                                                           \
    CUDA_EMULATION_CALLBACK void NAME(void* address) {                                                       \
        cuda_emulation::trace_aligned(address, SIZE, CUDA_EMULATION_MOST_ALIGNED, WRITES,                    \
                                      __builtin_return_address(0));                                          \
    }
#define CUDA_EMULATION_ACCESS(NAME, SIZE, WRITES)                                                            \
    CUDA_EMULATION_CALLBACK void NAME(void* address) {                                                       \
        cuda_emulation::trace(address, SIZE, WRITES, false, __builtin_return_address(0));                    \
    }
CUDA_EMULATION_ACCESSES(1)
CUDA_EMULATION_ACCESSES(2)
CUDA_EMULATION_ACCESSES(4)
CUDA_EMULATION_ACCESSES(8)
CUDA_EMULATION_ACCESSES(16)
CUDA_EMULATION_CALLBACK void __tsan_read_range(void* address, std::size_t size) {
    cuda_emulation::trace(address, size, false, false, __builtin_return_address(0));
}
CUDA_EMULATION_CALLBACK void __tsan_write_range(void* address, std::size_t size) {
    cuda_emulation::trace(address, size, true, false, __builtin_return_address(0));
}
CUDA_EMULATION_CALLBACK void __tsan_init() {}
CUDA_EMULATION_CALLBACK void __tsan_func_entry(void*) {}
CUDA_EMULATION_CALLBACK void __tsan_func_exit(void*) {}
CUDA_EMULATION_CALLBACK void __tsan_vptr_update(void*, void*) {}
CUDA_EMULATION_CALLBACK void __tsan_vptr_read(void*) {}
CUDA_EMULATION_CALLBACK void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
CUDA_EMULATION_CALLBACK void __tsan_atomic_signal_fence(int) {}

// Atomics of the compiler's, which reports them by having them done.
#define CUDA_EMULATION_FETCH(BITS, OPERATION)                                                                           \
    CUDA_EMULATION_CALLBACK std::uint##BITS##_t __tsan_atomic##BITS##_fetch_##OPERATION(                                \
        volatile std::uint##BITS##_t* a, std::uint##BITS##_t v, int) {                                                  \
        cuda_emulation::trace(const_cast<std::uint##BITS##_t*>(a), BITS / 8, true, true, __builtin_return_address(0));  \
        return __atomic_fetch_##OPERATION(a, v, __ATOMIC_SEQ_CST);                                                      \
    }
#define CUDA_EMULATION_EXCHANGE(BITS, NAME)                                                                             \
    CUDA_EMULATION_CALLBACK int __tsan_atomic##BITS##_compare_exchange_##NAME(                                          \
        volatile std::uint##BITS##_t* a, std::uint##BITS##_t* c, std::uint##BITS##_t v, int, int) {                     \
        cuda_emulation::trace(const_cast<std::uint##BITS##_t*>(a), BITS / 8, true, true, __builtin_return_address(0));  \
        return __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                         \
    }
#define CUDA_EMULATION_ATOMICS(BITS)                                                                                    \
    CUDA_EMULATION_FETCH(BITS, add)                                                                                     \
    CUDA_EMULATION_FETCH(BITS, sub)                                                                                     \
    CUDA_EMULATION_FETCH(BITS, and)                                                                                     \
    CUDA_EMULATION_FETCH(BITS, or)                                                                                      \
    CUDA_EMULATION_FETCH(BITS, xor)                                                                                     \
    CUDA_EMULATION_FETCH(BITS, nand)                                                                                    \
    CUDA_EMULATION_EXCHANGE(BITS, strong)                                                                               \
    CUDA_EMULATION_EXCHANGE(BITS, weak)                                                                                 \
    CUDA_EMULATION_CALLBACK std::uint##BITS##_t __tsan_atomic##BITS##_load(const volatile std::uint##BITS##_t* a, int) { \
        return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                                    \
    }                                                                                                                   \
    CUDA_EMULATION_CALLBACK void __tsan_atomic##BITS##_store(volatile std::uint##BITS##_t* a, std::uint##BITS##_t v, int) { \
        cuda_emulation::trace(const_cast<std::uint##BITS##_t*>(a), BITS / 8, true, true, __builtin_return_address(0));  \
        __atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                                                       \
    }                                                                                                                   \
    CUDA_EMULATION_CALLBACK std::uint##BITS##_t __tsan_atomic##BITS##_exchange(                                         \
        volatile std::uint##BITS##_t* a, std::uint##BITS##_t v, int) {                                                  \
        cuda_emulation::trace(const_cast<std::uint##BITS##_t*>(a), BITS / 8, true, true, __builtin_return_address(0));  \
        return __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST);                                                             \
    }
CUDA_EMULATION_ATOMICS(8)
CUDA_EMULATION_ATOMICS(16)
CUDA_EMULATION_ATOMICS(32)
CUDA_EMULATION_ATOMICS(64)
#undef CUDA_EMULATION_ATOMICS
#undef CUDA_EMULATION_EXCHANGE
#undef CUDA_EMULATION_FETCH
#undef CUDA_EMULATION_ACCESSES
#undef CUDA_EMULATION_ALIGNED
#undef CUDA_EMULATION_MOST_ALIGNED
#undef CUDA_EMULATION_ACCESS
#undef CUDA_EMULATION_CALLBACK

#endif

// ---- what the worker calls ----

// Of every translation unit the same; the module shows one of them. `zone_of` may be null: no tensors are known then.
extern "C" __attribute__((weak, visibility("default"), used)) inline void cuda_emulation_schedule(
    int kind, std::uint64_t seed, int watch, cuda_emulation::ZoneOf zone_of) {
    cuda_emulation::schedule = {kind, seed, static_cast<cuda_emulation::Watch>(watch), zone_of};
    cuda_emulation::last_fault = {};
}
extern "C" __attribute__((weak, visibility("default"), used)) inline int cuda_emulation_fault(std::uint32_t* places) {
    places[0] = cuda_emulation::last_fault.places[0];
    places[1] = cuda_emulation::last_fault.places[1];
    return cuda_emulation::last_fault.kind;
}

#pragma GCC visibility pop
