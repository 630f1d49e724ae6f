// In a kernel a failed assertion is a fault of the launch, not the end of the process. No include guard: by the C
// standard each inclusion looks at NDEBUG anew. The system's own comes first, because PyTorch calls its __assert_fail.
#include_next <assert.h>
#ifndef NDEBUG
#undef assert
#define assert(...) \
    ((__VA_ARGS__) ? static_cast<void>(0) : ::cuda_emulation::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__))
#endif
namespace cuda_emulation {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}
