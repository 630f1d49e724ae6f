// What `kernel<<<grid, block, shared, stream>>>(arguments)` becomes: a checked configuration and a run of all blocks.
#pragma once
#include <atomic>
#include <csignal>
#include <mutex>
#include <numeric>
#include <sched.h>
#include <ucontext.h>
#include <system_error>
#include <thread>

#include "errors.h"
#include "host_memory.h"
#include "multiprocessor.h"

#pragma GCC visibility push(hidden)

typedef struct CUstream_st* cudaStream_t;

namespace cuda_emulation {

// ---- signals: a kernel that touches what is not its own ends in a Fault, as it ends in an error on a GPU ----

// The handlers are installed while a launch of this module is under way, and no longer: another module has its own.
struct SignalHandlers {
    std::mutex mutex;
    int launches = 0;
    struct sigaction previous[NSIG];
};
inline SignalHandlers signal_handlers;
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE};

inline std::uint32_t place_in(const void* context) {
    const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return place_of(reinterpret_cast<const void*>(machine.gregs[REG_RIP] + 1));  // places are where a call returns to
#else
    return place_of(reinterpret_cast<const void*>(machine.pc + 1));
#endif
}

inline void on_signal(int number, siginfo_t* info, void* context) {
    if (here != nullptr && here->runs_kernel_code()) {
        last_fault = {LastFault::other, {place_in(context), 0}};
        if (number == SIGFPE) here->fail("integer division by zero, or of the lowest integer by -1");
        // An address that no process can have is reported by the processor without saying which.
        if (info->si_code == SI_KERNEL) here->fail("illegal memory access, far outside of all memory");
        here->fail_at_address(info->si_addr);
    }
    // Not a kernel's: the handler before ours gets it, when the faulting instruction runs once more.
    sigaction(number, &signal_handlers.previous[number], nullptr);
}

class SignalScope {
  public:
    SignalScope() {
#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer's own handler says more
        std::lock_guard<std::mutex> lock(signal_handlers.mutex);
        if (signal_handlers.launches++ != 0) return;
        struct sigaction action{};
        action.sa_sigaction = on_signal;
        // On a stack of its own: the fiber's may be what overflowed. SA_NODEFER: on_signal leaves by switching fibers
        // and never returns, so the signal must not stay blocked.
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (int number : kFaults) sigaction(number, &action, &signal_handlers.previous[number]);
#endif
    }
    ~SignalScope() {
#ifndef __SANITIZE_ADDRESS__
        std::lock_guard<std::mutex> lock(signal_handlers.mutex);
        if (--signal_handlers.launches != 0) return;
        for (int number : kFaults) sigaction(number, &signal_handlers.previous[number], nullptr);
#endif
    }
    SignalScope(const SignalScope&) = delete;
    SignalScope& operator=(const SignalScope&) = delete;
};

// The stack that this CPU thread's signals are handled on.
class SignalStack {
  public:
    SignalStack() : stack_(kBytes, 16) {
        stack_t ours{};
        ours.ss_sp = stack_.begin();
        ours.ss_size = kBytes;
        sigaltstack(&ours, &previous_);
    }
    ~SignalStack() { sigaltstack(&previous_, nullptr); }
    SignalStack(const SignalStack&) = delete;
    SignalStack& operator=(const SignalStack&) = delete;

  private:
    static constexpr std::size_t kBytes = 64 * 1024;
    GuardedMemory stack_;
    stack_t previous_{};
};

// ---- multiprocessors: kept between launches, because their fibers' stacks are worth keeping ----

struct MultiprocessorPool {
    std::mutex mutex;
    std::vector<std::unique_ptr<Multiprocessor>> idle;
};
inline MultiprocessorPool& multiprocessors() {
    static MultiprocessorPool* pool = new MultiprocessorPool;  // never destroyed: a kernel may run while we exit
    return *pool;
}

// Gives this CPU thread a multiprocessor for as long as it lives.
class MultiprocessorScope {
  public:
    MultiprocessorScope() {
        {
            std::lock_guard<std::mutex> lock(multiprocessors().mutex);
            auto& idle = multiprocessors().idle;
            if (!idle.empty()) {
                taken_ = std::move(idle.back());
                idle.pop_back();
            }
        }
        if (!taken_) taken_ = std::make_unique<Multiprocessor>();
        taken_->rewind_fibers();
        here = taken_.get();
    }
    ~MultiprocessorScope() {
        here = nullptr;
        std::lock_guard<std::mutex> lock(multiprocessors().mutex);
        multiprocessors().idle.push_back(std::move(taken_));
    }
    MultiprocessorScope(const MultiprocessorScope&) = delete;
    MultiprocessorScope& operator=(const MultiprocessorScope&) = delete;

  private:
    std::unique_ptr<Multiprocessor> taken_;
};

// Has the launch watched, where that was asked for and the module was compiled for it.
class TraceScope {
  public:
    TraceScope() {
#ifdef __SANITIZE_THREAD__
        static Tracer* const only = new Tracer;  // never destroyed: a kernel may run while we exit
        if (schedule.watch == Watch::nothing) return;
        only->begin_launch();
        tracer = only;
#endif
    }
    ~TraceScope() {
#ifdef __SANITIZE_THREAD__
        tracer = nullptr;
#endif
    }
    TraceScope(const TraceScope&) = delete;
    TraceScope& operator=(const TraceScope&) = delete;
};

// ---- a grid ----

// Blocks taken one by one by the CPU's threads. The threads live as long as the launch: a pool would not survive the
// fork() of a process that has launched before.
class GridRun {
  public:
    explicit GridRun(const Grid& grid) : grid_(grid), blocks_(std::uint64_t{grid.blocks.x} * grid.blocks.y * grid.blocks.z) {
        static std::atomic<unsigned> launches{0};
        launch_number_ = launches++;
    }

    // Throws the Fault of the first block that failed, after every CPU thread has come to rest.
    void run() {
        SignalScope signals;
        TraceScope trace;
        std::vector<std::thread> helpers;
        try {
            for (std::uint64_t i = 1; i < std::min<std::uint64_t>(cpu_threads(), blocks_); ++i)
                helpers.emplace_back(&GridRun::run_blocks, this);
        } catch (const std::system_error&) {
            // No more threads are to be had here; those we have, this one among them, do all the work.
        }
        run_blocks();
        for (std::thread& helper : helpers) helper.join();
        if (error_) std::rethrow_exception(error_);
    }

  private:
    static unsigned cpu_threads() {
        if (schedule.watch != Watch::nothing) return 1;
        constexpr int kMost = 16;  // each may need 1024 stacks, and a process may have 65530 mappings
        cpu_set_t allowed;
        if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
        return static_cast<unsigned>(std::clamp(CPU_COUNT(&allowed), 1, kMost));
    }

    // The block that comes at a place of the order: at random, it is a step of a length that meets every block once.
    std::uint64_t block_at(std::uint64_t place, Schedule::Kind order) const {
        if (__atomic_load_n(&blocks_start_in_order, __ATOMIC_RELAXED)) return place;
        if (order == Schedule::descending) return blocks_ - 1 - place;
        if (order != Schedule::by_warps && order != Schedule::by_threads) return place;
        std::uint64_t step = schedule.seed / 7 % blocks_ | 1;
        while (std::gcd(step, blocks_) != 1) step += 2;
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(place) * step + schedule.seed) % blocks_);
    }

    void run_blocks() {
        try {
            MultiprocessorScope multiprocessor;
            SignalStack signal_stack;
            const auto order = static_cast<Schedule::Kind>(schedule.kind);
            for (std::uint64_t next; !stop_ && (next = next_++) < blocks_;) {
                const std::uint64_t i = block_at(next, order), row = i / grid_.blocks.x;
                const uint3 index = {static_cast<unsigned>(i % grid_.blocks.x), static_cast<unsigned>(row % grid_.blocks.y),
                                     static_cast<unsigned>(row / grid_.blocks.y)};
                here->run_block(grid_, index, i + launch_number_, order);
            }
        } catch (...) {  // carried to the thread that launched, which throws it again
            std::lock_guard<std::mutex> lock(error_mutex_);
            if (!error_) error_ = std::current_exception();
            stop_ = true;
        }
    }

    const Grid& grid_;
    std::uint64_t blocks_;
    unsigned launch_number_;
    std::atomic<std::uint64_t> next_{0};
    std::atomic<bool> stop_{false};
    std::mutex error_mutex_;
    std::exception_ptr error_;
};

// The most dynamic shared memory that cudaFuncSetAttribute has allowed any kernel; 48 KiB need no permission.
inline std::atomic<std::size_t> allowed_dynamic_shared{48 * 1024};

// Whether a GPU would refuse the launch. It is CUDA's last error then.
inline bool is_refused(const char* kernel, dim3 grid, dim3 block, std::size_t dynamic_shared) {
    const char* reason = nullptr;
    cudaError_t error = cudaErrorInvalidValue;  // as an H200 answered of 4096 threads, and of too much shared memory
    if (std::uint64_t{block.x} * block.y * block.z > kMaxThreads || block.x > kMaxThreads || block.y > kMaxThreads)
        reason = "a block may have at most 1024 threads";
    else if (block.z > 64)
        reason = "a block may be at most 64 deep in z";
    else if (block.x == 0 || block.y == 0 || block.z == 0)
        reason = "the block has no threads", error = cudaErrorInvalidConfiguration;
    else if (grid.x == 0 || grid.y == 0 || grid.z == 0)
        reason = "the grid has no blocks", error = cudaErrorInvalidConfiguration;
    else if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
        reason = "a grid may have at most 2147483647 x 65535 x 65535 blocks";
    else if (dynamic_shared > kDynamicSharedLimit)
        reason = "a block may have at most 232448 bytes of dynamic shared memory";
    else if (dynamic_shared > allowed_dynamic_shared)
        reason = "more than 49152 bytes of dynamic shared memory need cudaFuncSetAttribute first";
    if (reason == nullptr) return false;
    failed_with(error);
    std::snprintf(last_error.refusal, sizeof last_error.refusal,
                  "emulated CUDA refused the launch %.200s<<<(%u,%u,%u), (%u,%u,%u), %zu>>>: %s (%s; nothing ran)", kernel,
                  grid.x, grid.y, grid.z, block.x, block.y, block.z, dynamic_shared, reason, cudaGetErrorName(error));
    return true;
}

// `call(arguments...)` calls the kernel for one thread. Returns what takes the kernel's arguments, by value and once,
// as a launch does. A launch that is refused runs nothing. Throws Fault where the kernel fails.
template <class Call>
auto launch(const char* kernel, Call call, dim3 grid, dim3 block, std::size_t dynamic_shared = 0, cudaStream_t = nullptr) {
    if (here != nullptr) here->fail("a kernel launched %s: dynamic parallelism is not emulated", kernel);
    const bool refused = is_refused(kernel, grid, block, dynamic_shared);
    host_arguments.count = 0;
    return [=](auto... arguments) __attribute__((noinline)) {
        const bool watched = !refused && schedule.watch != Watch::nothing;
        if (watched) know_stack_above(__builtin_frame_address(0), arguments...);
        else host_arguments.count = 0;
        if (refused) return;
        auto run_thread = [&] { call(arguments...); };
        using Closure = decltype(run_thread);
        const auto body = [](void* closure) { (*static_cast<Closure*>(closure))(); };
        GridRun(Grid{kernel, grid, block, dynamic_shared, body, &run_thread}).run();
    };
}

}  // namespace cuda_emulation

#pragma GCC visibility pop
