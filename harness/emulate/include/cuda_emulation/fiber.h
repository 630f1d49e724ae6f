// A fiber: a stack that a CPU thread switches to and from. One kernel thread that waits for others keeps one.
#pragma once
#include "memory.h"

#pragma GCC visibility push(hidden)

// Saves the callee-saved registers on the current stack, leaves its stack pointer in *save, and goes on where `load`
// was left. Written out, because swapcontext() makes a system call each time and a barrier of 1024 threads switches
// 2048 times. Weak, because each translation unit of an extension brings its own copy.
extern "C" void cuda_emulation_switch(void** save, void* load);

#if defined(__x86_64__)
asm(R"(
    .pushsection .text
    .weak cuda_emulation_switch
    .hidden cuda_emulation_switch
    .type cuda_emulation_switch, @function
cuda_emulation_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cuda_emulation_switch, . - cuda_emulation_switch
    .popsection
)");
#elif defined(__aarch64__)
asm(R"(
    .pushsection .text
    .weak cuda_emulation_switch
    .hidden cuda_emulation_switch
    .type cuda_emulation_switch, %function
cuda_emulation_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x2, sp
    str x2, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size cuda_emulation_switch, . - cuda_emulation_switch
    .popsection
)");
#else
#error "CUDA is emulated on x86-64 and aarch64 only: the switch between fibers is written for these two."
#endif

namespace cuda_emulation {

class Fiber {
  public:
    static constexpr std::size_t kStackBytes = 256 * 1024;
    using Main = void (*)();

    // `main` must never return: there is nothing below it on the stack.
    explicit Fiber(Main main) : stack_(kStackBytes, kStackAlignment), main_(main) { rewind(); }

    // Forgets whatever was running and makes the next resume() start `main` anew.
    void rewind() {
        void** top = reinterpret_cast<void**>(stack_.end());
#if defined(__x86_64__)
        // Six registers, then the address that `ret` takes. On entry to a function the stack pointer must be 8 more
        // than a multiple of 16, as if a call had pushed a return address; that one stays null and ends backtraces.
        constexpr int kSlots = 8, kReturnAddress = 6;
#else
        constexpr int kSlots = 20, kReturnAddress = 11;  // x30
#endif
        stack_pointer_ = top - kSlots;
        std::memset(stack_pointer_, 0, kSlots * sizeof(void*));
        static_cast<void**>(stack_pointer_)[kReturnAddress] = reinterpret_cast<void*>(main_);
    }
    __attribute__((no_sanitize("thread"))) void resume(void** scheduler) { cuda_emulation_switch(scheduler, stack_pointer_); }
    __attribute__((no_sanitize("thread"))) void suspend(void* scheduler) { cuda_emulation_switch(&stack_pointer_, scheduler); }
    const GuardedMemory& stack() const { return stack_; }

  private:
    static constexpr std::size_t kStackAlignment = 16;
    GuardedMemory stack_;
    Main main_;
    void* stack_pointer_ = nullptr;
};

}  // namespace cuda_emulation

#pragma GCC visibility pop
