// Runs one block at a time: its threads, its barriers, its warps, its shared memory, and what goes wrong in it.
#pragma once
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "fiber.h"
#include "trace.h"
#include "vector_types.h"

#pragma GCC visibility push(hidden)

// CUDA's built-in variables, each CPU thread's own; the multiprocessor sets them as it changes the running thread. To
// kernels they are constants, of which a compiler need not ask again after each call, nor report that they were read.
namespace cuda_emulation {
inline thread_local uint3 thread_index asm("cuda_emulation_thread_index"){};
inline thread_local uint3 block_index asm("cuda_emulation_block_index"){};
inline thread_local dim3 block_size asm("cuda_emulation_block_size"){};
inline thread_local dim3 grid_size asm("cuda_emulation_grid_size"){};
}  // namespace cuda_emulation
extern __constinit thread_local const uint3 threadIdx asm("cuda_emulation_thread_index");
extern __constinit thread_local const uint3 blockIdx asm("cuda_emulation_block_index");
extern __constinit thread_local const dim3 blockDim asm("cuda_emulation_block_size");
extern __constinit thread_local const dim3 gridDim asm("cuda_emulation_grid_size");
constexpr int warpSize = 32;

namespace cuda_emulation {

constexpr int kWarp = 32;
constexpr int kMaxThreads = 1024;
constexpr std::size_t kStaticSharedLimit = 48 * 1024;    // above it ptxas refuses the kernel
constexpr std::size_t kDynamicSharedLimit = 227 * 1024;  // compute capability 9.0, after cudaFuncSetAttribute

// What a kernel did that ends it. Reaches Python as RuntimeError.
struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A grid to be run. `body` runs one thread of the kernel; `closure` holds the kernel's arguments.
struct Grid {
    const char* kernel;
    dim3 blocks, threads;
    std::size_t dynamic_shared;
    void (*body)(void*);
    void* closure;
};

// What a lane hands to its warp, and takes from it. CUDA's own shuffles move up to 8 bytes, cooperative groups' 32.
struct LaneValue {
    unsigned char bytes[32];
};

enum class State : unsigned char { unstarted, ready, at_barrier, at_warp, exited };

struct Thread {
    State state;
    Fiber* fiber;           // where it is suspended; null while it has not been
    const char* operation;  // the warp operation that it waits in
    unsigned mask;          // the lanes that this operation names; 0 asks for the lanes that are here (__activemask)
    LaneValue value;        // what it brought; after the release, what the warp saw is in Multiprocessor::released_
};

class Multiprocessor;
inline thread_local Multiprocessor* here = nullptr;  // null outside a kernel

// `extern __shared__` arrays declared outside functions: variables to point at each block's dynamic shared memory.
using DynamicSharedSetter = void (*)(void*);
inline std::vector<DynamicSharedSetter>& dynamic_shared_setters() {
    static std::vector<DynamicSharedSetter> setters;
    return setters;
}

class Multiprocessor {
  public:
    // Makes every fiber start anew. Called by the CPU thread that is about to run blocks: the compiler may have kept
    // the address of a thread-local variable in a fiber, and that fiber ran on another CPU thread the last time.
    void rewind_fibers() {
        idle_.clear();
        for (auto& fiber : fibers_) {
            fiber->rewind();
            idle_.push_back(fiber.get());
        }
    }

    // Runs block `index` of `grid`, its `number`th, to its end. Throws Fault, naming kernel, block and thread.
    //
    // CUDA promises no order between threads, and a kernel that lacks a barrier seldom comes out right in several.
    void run_block(const Grid& grid, uint3 index, std::uint64_t number, Schedule::Kind order) {
        begin_block(grid, index);
        put_in_order(order, number);
        start_threads();
        while (alive_ > 0 && !failed()) {
            bool progress = false;
            for (int k = 0; k < warps() && !failed(); ++k) {
                const int warp = warp_order_[k];
                do {
                    progress |= run_ready_threads(warp);
                } while (!failed() && release_warp(warp));
            }
            if (failed()) break;
            if (alive_ > 0 && waiting_at_barrier_ == alive_) {
                release_barrier();
                if (order == Schedule::by_threads) put_in_order(order, ++number + next_random());
                progress = true;
            }
            if (!progress) report_deadlock();
        }
        if (failed()) {
            rewind_fibers();  // nothing that is suspended goes on; kernels own nothing that had to be unwound
            throw Fault(fault_);
        }
    }

    // ---- called by the kernel thread that is running ----

    int thread() const { return running_; }
    CUDA_EMULATION_UNTRACED int lane() const { return running_ % kWarp; }
    const Grid& grid() const { return *grid_; }

    struct BarrierCount {
        int arrived, predicates;
    };
    // Waits until every thread of the block that has not exited is here too; counts those with a true `predicate`.
    CUDA_EMULATION_UNTRACED BarrierCount wait_at_barrier(bool predicate) {
        ++waiting_at_barrier_;
        predicates_at_barrier_ += predicate;
        suspend(State::at_barrier);
        return last_barrier_;
    }

    // Waits until every lane of `mask` that has not exited is in the same operation; returns those lanes. Their values
    // can be read with `released` until this thread waits again. A mask of 0 means: all lanes that are here (__activemask).
    CUDA_EMULATION_UNTRACED unsigned wait_at_warp(const char* operation, unsigned mask, const void* value, std::size_t size) {
        Thread& self = threads_[running_];
        if (mask != 0 && (mask >> lane() & 1) == 0)
            fail("%s: the mask 0x%08x does not name the calling lane %d", operation, mask, lane());
        self.operation = operation;
        self.mask = mask;
        if (size != 0) std::memcpy(self.value.bytes, value, size);
        suspend(State::at_warp);
        return self.mask;
    }
    const LaneValue& released(int lane) const { return released_[running_ / kWarp * kWarp + lane]; }

    // Lets the other threads of the block run on: what a thread does that spins on a lock.
    void give_way() { suspend(State::ready); }

    // The block's own copy of a `__shared__` variable, garbage at first. `key` tells one variable from another.
    void* static_shared(const void* key, std::size_t bytes, std::size_t alignment) {
        for (SharedVariable& variable : shared_) {
            if (variable.key != key) continue;
            if (variable.block != block_number_) take_into_block(variable);
            return variable.memory->begin();
        }
        shared_.push_back({key, 0, std::make_unique<GuardedMemory>(bytes, alignment)});
        take_into_block(shared_.back());
        return shared_.back().memory->begin();
    }
    void* dynamic_shared() const { return dynamic_->begin(); }

    // Ends the running thread, and with it the block and the launch. It never returns to the kernel and throws no
    // exception: it may be called in a `noexcept` function and in a signal handler.
    [[noreturn]] __attribute__((format(printf, 2, 3))) void fail(const char* format, ...) {
        va_list arguments;
        va_start(arguments, format);
        record_fault(format, arguments);
        va_end(arguments);
        Fiber* fiber = current_fiber_;
        leave();
        for (;;) fiber->suspend(scheduler_);
    }

    // ---- called by the signal handler ----

    bool runs_kernel_code() const { return running_ != kNobody; }
    [[noreturn]] void fail_at_address(const void* address) {
        if (current_fiber_->stack().holds(address))
            fail("stack overflow: more than %zu KiB of local variables and calls", Fiber::kStackBytes / 1024);
        last_fault.kind = LastFault::out_of_bounds;
        for (const SharedVariable& variable : shared_)
            if (variable.memory->holds(address))
                fail("out-of-bounds access of a __shared__ variable of %zu bytes, %td bytes from its start",
                     variable.memory->size(), static_cast<const char*>(address) - variable.memory->begin());
        if (dynamic_->holds(address))
            fail("out-of-bounds access of dynamic shared memory: the launch asked for %zu bytes, this is byte %td",
                 dynamic_->size(), static_cast<const char*>(address) - dynamic_->begin());
        constexpr std::uintptr_t kLowest = 64 * 1024;  // no system maps anything below
        if (reinterpret_cast<std::uintptr_t>(address) < kLowest)
            fail("illegal memory access through a null pointer, at byte %zu", reinterpret_cast<std::uintptr_t>(address));
        fail("illegal memory access at address %p", address);
    }

  private:
    static constexpr int kNobody = -1;
    struct SharedVariable {
        const void* key;
        std::uint64_t block;  // the last block that used it
        std::unique_ptr<GuardedMemory> memory;
    };

    CUDA_EMULATION_UNTRACED int warps() const { return (block_threads_ + kWarp - 1) / kWarp; }
    CUDA_EMULATION_UNTRACED int lanes_of(int warp) const {
        const int left = block_threads_ - warp * kWarp;
        return left < kWarp ? left : kWarp;
    }
    CUDA_EMULATION_UNTRACED bool failed() const { return fault_[0] != '\0'; }

    void begin_block(const Grid& grid, uint3 index) {
        grid_ = &grid;
        block_threads_ = alive_ = static_cast<int>(grid.threads.x * grid.threads.y * grid.threads.z);
        started_ = waiting_at_barrier_ = predicates_at_barrier_ = 0;
        static_shared_bytes_ = 0;
        fault_[0] = '\0';
        ++block_number_;
        for (int t = 0; t < block_threads_; ++t) threads_[t].state = State::unstarted;
        if (!dynamic_ || dynamic_->size() != grid.dynamic_shared)
            dynamic_ = std::make_unique<GuardedMemory>(grid.dynamic_shared, kDynamicSharedAlignment);
        dynamic_->fill_with_garbage();
        for (DynamicSharedSetter set : dynamic_shared_setters()) set(dynamic_->begin());
#ifdef __SANITIZE_THREAD__
        if (tracer != nullptr) tracer->begin_block();
#endif
        show_tracer(*dynamic_);
        block_index = index;
        block_size = grid.threads;
        grid_size = grid.blocks;
    }

    // ---- threads ----

    // The order in which threads start, and in which those of a warp, and warps, go on.
    CUDA_EMULATION_UNTRACED void put_in_order(Schedule::Kind order, std::uint64_t number) {
        random_ = schedule.seed + number * 0x9e3779b97f4a7c15u;
        for (int t = 0; t < block_threads_; ++t) order_[t] = t;
        for (int w = 0; w < warps(); ++w) warp_order_[w] = w;
        const bool backwards = order == Schedule::descending || (order == Schedule::alternating && number % 2 == 1);
        if (backwards) {
            std::reverse(order_, order_ + block_threads_);
            std::reverse(warp_order_, warp_order_ + warps());
        } else if (order == Schedule::by_warps || order == Schedule::by_threads) {
            shuffle(warp_order_, warps());
            int* next = order_;
            for (int k = 0; k < warps(); ++k) {
                const int first = warp_order_[k] * kWarp, count = lanes_of(warp_order_[k]);
                for (int l = 0; l < count; ++l) next[l] = first + l;
                if (next_random() % 2) std::reverse(next, next + count);
                next += count;
            }
            if (order == Schedule::by_threads) shuffle(order_, block_threads_);
        }
        int filled[kMaxThreads / kWarp] = {};
        for (int k = 0; k < block_threads_; ++k) {
            const int warp = order_[k] / kWarp;
            lane_order_[warp * kWarp + filled[warp]++] = order_[k];
        }
    }

    CUDA_EMULATION_UNTRACED void shuffle(int* values, int count) {
        for (int i = count - 1; i > 0; --i) std::swap(values[i], values[next_random() % static_cast<unsigned>(i + 1)]);
    }
    CUDA_EMULATION_UNTRACED std::uint64_t next_random() {  // splitmix64
        std::uint64_t z = random_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    // One fiber runs thread after thread for as long as none has to wait. One that waits keeps the fiber that it is
    // on, and the next fiber goes on with the threads not started yet.
    void start_threads() {
        while (started_ < block_threads_ && !failed()) {
            Fiber* fiber = idle_fiber();
            resume(fiber);
            if (current_fiber_ != nullptr) idle_.push_back(fiber);
        }
    }

    CUDA_EMULATION_UNTRACED bool run_ready_threads(int warp) {
        bool ran = false;
        const int first = warp * kWarp, count = lanes_of(warp);
        for (int k = 0; k < count && !failed(); ++k) {
            const int t = lane_order_[first + k];
            if (threads_[t].state != State::ready) continue;
            ran = true;
            set_running(t);
            resume(threads_[t].fiber);
            if (threads_[t].state == State::exited) idle_.push_back(threads_[t].fiber);
        }
        return ran;
    }

    CUDA_EMULATION_UNTRACED void resume(Fiber* fiber) {
        current_fiber_ = fiber;
        fiber->resume(&scheduler_);
    }

    // After it `current_fiber_` is null: the fiber belongs to the thread now, until that exits.
    CUDA_EMULATION_UNTRACED void suspend(State state) {
        Thread& self = threads_[running_];
        Fiber* fiber = current_fiber_;
        self.state = state;
        self.fiber = fiber;
        leave();
        current_fiber_ = nullptr;
        fiber->suspend(scheduler_);
    }

    CUDA_EMULATION_UNTRACED static void fiber_main() {
        for (;;) {
            Multiprocessor& self = *here;
            Thread* last;
            do {
                const int t = self.order_[self.started_++];
                last = &self.threads_[t];
                last->fiber = nullptr;
                self.set_running(t);
                self.run_thread();
            } while (last->fiber == nullptr && self.started_ < self.block_threads_ && !self.failed());
            self.current_fiber_->suspend(self.scheduler_);
        }
    }

    CUDA_EMULATION_UNTRACED void run_thread() {
        try {
            grid_->body(grid_->closure);
        } catch (const std::exception& error) {
            report("%s", error.what());
        } catch (...) {  // whatever a kernel throws must not unwind past the end of its fiber
            report("the kernel threw something that is no std::exception");
        }
        threads_[running_].state = State::exited;
        leave();
        --alive_;
    }

    CUDA_EMULATION_UNTRACED void set_running(int t) {
        running_ = t;
        const unsigned x = grid_->threads.x, y = grid_->threads.y, row = static_cast<unsigned>(t) / x;
        thread_index = {static_cast<unsigned>(t) % x, row % y, row / y};
#ifdef __SANITIZE_THREAD__
        if (tracer != nullptr) tracer->run(t);
#endif
    }
    CUDA_EMULATION_UNTRACED void leave() {
#ifdef __SANITIZE_THREAD__
        if (tracer != nullptr) tracer->stop();  // may end here: the last write was a race
#endif
        running_ = kNobody;
    }
    void show_tracer(const GuardedMemory& memory) {
#ifdef __SANITIZE_THREAD__
        if (tracer != nullptr) tracer->add_shared(memory.begin(), memory.end(), memory.first(), memory.limit());
#endif
    }

    Fiber* idle_fiber() {
        if (idle_.empty()) {
            fibers_.push_back(std::make_unique<Fiber>(&Multiprocessor::fiber_main));
            return fibers_.back().get();
        }
        Fiber* fiber = idle_.back();
        idle_.pop_back();
        return fiber;
    }

    // ---- barriers and warps ----

    CUDA_EMULATION_UNTRACED void release_barrier() {
        last_barrier_ = {waiting_at_barrier_, predicates_at_barrier_};
        waiting_at_barrier_ = predicates_at_barrier_ = 0;
        for (int t = 0; t < block_threads_; ++t)
            if (threads_[t].state == State::at_barrier) threads_[t].state = State::ready;
#ifdef __SANITIZE_THREAD__
        if (tracer != nullptr) tracer->pass_barrier();
#endif
    }

    // Releases the groups of lanes that are complete. Called when no lane of the warp can run, so that every lane has
    // read what the last release gave it.
    CUDA_EMULATION_UNTRACED bool release_warp(int warp) {
        const int first = warp * kWarp, count = lanes_of(warp);
        unsigned alive = 0, waiting = 0, asking = 0;
        for (int l = 0; l < count; ++l) {
            const Thread& thread = threads_[first + l];
            if (thread.state != State::exited) alive |= 1u << l;
            if (thread.state == State::at_warp) (thread.mask != 0 ? waiting : asking) |= 1u << l;
        }
        bool any = false;
        for (unsigned left = waiting; left != 0 && !failed();) {
            const int leader = __builtin_ctz(left);
            const unsigned group = threads_[first + leader].mask & alive;
            left &= ~group;
            if ((waiting & group) == group && agrees(first, group, alive)) any |= release(first, group);
        }
        if (!any && asking != 0) any = release(first, asking);
        return any;
    }

    CUDA_EMULATION_UNTRACED bool agrees(int first, unsigned group, unsigned alive) const {
        for (unsigned left = group; left != 0; left &= left - 1)
            if ((threads_[first + __builtin_ctz(left)].mask & alive) != group) return false;
        return true;
    }

    CUDA_EMULATION_UNTRACED bool release(int first, unsigned group) {
        const char* operation = threads_[first + __builtin_ctz(group)].operation;
        for (unsigned left = group; left != 0; left &= left - 1) {
            const int t = first + __builtin_ctz(left);
            Thread& thread = threads_[t];
            if (std::strcmp(thread.operation, operation) != 0) {
                report("lanes of one warp meet in different operations: %s and %s", operation, thread.operation);
                return false;
            }
            released_[t] = thread.value;
            thread.mask = group;
            thread.state = State::ready;
        }
#ifdef __SANITIZE_THREAD__
        if (tracer != nullptr) tracer->pass_warp(first / kWarp);
#endif
        return true;
    }

    // ---- faults ----

    void report_deadlock() {
        int in_warp = 0;
        const char* operation = "";
        for (int t = 0; t < block_threads_; ++t) {
            if (threads_[t].state != State::at_warp) continue;
            ++in_warp;
            operation = threads_[t].operation;
        }
        report("deadlock: of %d threads %d wait at __syncthreads, %d wait in %s for lanes that never come, %d exited",
               block_threads_, waiting_at_barrier_, in_warp, operation, block_threads_ - alive_);
    }

    __attribute__((format(printf, 2, 3))) void report(const char* format, ...) {
        va_list arguments;
        va_start(arguments, format);
        record_fault(format, arguments);
        va_end(arguments);
    }

    // A buffer of fixed size: after a wild write the heap may be beyond use.
    void record_fault(const char* format, va_list arguments) {
        int used = std::snprintf(fault_, sizeof fault_, "emulated CUDA kernel %.160s, block (%u,%u,%u)", grid_->kernel,
                                 block_index.x, block_index.y, block_index.z);
        if (running_ != kNobody)
            used += std::snprintf(fault_ + used, sizeof fault_ - used, ", thread (%u,%u,%u)", thread_index.x,
                                  thread_index.y, thread_index.z);
        used += std::snprintf(fault_ + used, sizeof fault_ - used, ": ");
        std::vsnprintf(fault_ + used, sizeof fault_ - used, format, arguments);
    }

    // ---- shared memory ----

    void take_into_block(SharedVariable& variable) {
        variable.block = block_number_;
        static_shared_bytes_ += variable.memory->size();
        if (static_shared_bytes_ > kStaticSharedLimit)
            fail("uses too much shared data: %zu bytes of __shared__ variables, and ptxas allows %zu",
                 static_shared_bytes_, kStaticSharedLimit);
        variable.memory->fill_with_garbage();
        show_tracer(*variable.memory);
    }

    static constexpr std::size_t kDynamicSharedAlignment = 128;

    const Grid* grid_ = nullptr;
    int order_[kMaxThreads], lane_order_[kMaxThreads], warp_order_[kMaxThreads / kWarp];
    std::uint64_t random_ = 0;
    std::uint64_t block_number_ = 0;
    int block_threads_ = 0, started_ = 0, alive_ = 0, running_ = kNobody;
    int waiting_at_barrier_ = 0, predicates_at_barrier_ = 0;
    BarrierCount last_barrier_{};
    Thread threads_[kMaxThreads];
    LaneValue released_[kMaxThreads];

    void* scheduler_ = nullptr;
    Fiber* current_fiber_ = nullptr;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    std::vector<Fiber*> idle_;

    std::size_t static_shared_bytes_ = 0;
    std::vector<SharedVariable> shared_;
    std::unique_ptr<GuardedMemory> dynamic_;
    char fault_[768] = "";
};

#ifdef __SANITIZE_THREAD__
inline void fail_for_the_tracer(const char* text) { here->fail("%s", text); }
inline void describe_thread(char* text, std::size_t size, int thread) {
    const unsigned x = block_size.x, t = static_cast<unsigned>(thread), row = t / x;
    std::snprintf(text, size, "thread (%u,%u,%u)", t % x, row % block_size.y, row / block_size.y);
}
#endif

// What the rewrite makes of `extern __shared__ T name[]` in a kernel: a `T[]` decays as the array itself would.
template <class Array>
std::decay_t<Array> dynamic_shared() {
    return reinterpret_cast<std::decay_t<Array>>(here->dynamic_shared());
}

// And of one outside a function, where there is no block yet to ask.
inline bool register_dynamic_shared(DynamicSharedSetter setter) {
    dynamic_shared_setters().push_back(setter);
    return true;
}

// What it makes of `__shared__ T name`. `key` is a static of the declaration's own, one for each instantiation.
template <class T>
T& static_shared(const char& key, std::size_t alignment = 16) {
    return *static_cast<T*>(here->static_shared(&key, sizeof(T), std::max(alignment, alignof(T))));
}

}  // namespace cuda_emulation

#pragma GCC visibility pop
