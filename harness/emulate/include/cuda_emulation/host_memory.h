// Memory of the host that a launch hands to its kernel: on a GPU a kernel that touches it ends in an illegal access.
//
// Under emulation all memory is the host's, so only what is certain is told: a std::vector's elements, tensors of which
// the source says so (harness/emulate/host_memory.py), and what a pointer among the arguments points to on the stack
// of the thread that launches. Each is known for one launch, and told where that is watched and the kernel touches it.
#pragma once
#include <cstddef>
#include <memory>
#include <pthread.h>
#include <type_traits>
#include <vector>

#include "trace.h"

#pragma GCC visibility push(hidden)

namespace cuda_emulation {

// `pointer` leads to memory of the host: to a tensor, or to one element and whatever is behind it.
template <class Pointer>
Pointer of_the_host(Pointer pointer) {
    if constexpr (std::is_pointer_v<Pointer>) host_arguments.add((const void*)pointer, 1);
    return pointer;
}

// `pointer` was taken from `owner`. A vector with an allocator of its own may keep its elements anywhere.
template <class Pointer, class Owner>
Pointer of_owner(Pointer pointer, const Owner&) {
    return pointer;
}
template <class Pointer, class Element>
Pointer of_owner(Pointer pointer, const std::vector<Element>& owner) {
    if constexpr (!std::is_same_v<Element, bool>) host_arguments.add(owner.data(), owner.size() * sizeof(Element));
    return pointer;
}

// The stack of this thread. Asked for once: of a process's first thread the answer is read from a file.
struct HostStack {
    const char *begin = nullptr, *end = nullptr;
    HostStack() {
        pthread_attr_t attributes;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
        void* lowest = nullptr;
        std::size_t bytes = 0;
        if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0) {
            begin = static_cast<const char*>(lowest);
            end = begin + bytes;
        }
        pthread_attr_destroy(&attributes);
    }
};

// The bytes of a type, 1 where it has no size.
template <class T, class = void>
struct SizeOf {
    static constexpr std::size_t value = 1;
};
template <class T>
struct SizeOf<T, std::enable_if_t<(std::is_object_v<T> && sizeof(T) > 0)>> {
    static constexpr std::size_t value = sizeof(T);
};

// Adds the arguments that point above `frame`, where a launch and the copies of its arguments do not lie.
template <class... Arguments>
void know_stack_above(const void* frame, const Arguments&... arguments) {
    static thread_local const HostStack stack;
    const char* const above = static_cast<const char*>(frame);
    const auto add = [&](const auto& argument) {
        using Argument = std::decay_t<decltype(argument)>;
        if constexpr (std::is_pointer_v<Argument>) {
            const char* at = (const char*)argument;  // whatever it points to, volatile or not
            const std::size_t bytes = SizeOf<std::remove_pointer_t<Argument>>::value;
            const bool is_a_copy = (... || (at < (const char*)(std::addressof(arguments) + 1) &&
                                            at + bytes > (const char*)std::addressof(arguments)));
            if (at > above && at >= stack.begin && at < stack.end && !is_a_copy) host_arguments.add(at, bytes);
        }
    };
    (add(arguments), ...);
}

}  // namespace cuda_emulation

#pragma GCC visibility pop
