// In a kernel a failed assertion is a fault of the launch, not the end of the process. No include guard: by the C
// standard each inclusion looks at NDEBUG anew. The system's own comes first, because PyTorch calls its __assert_fail,
// and is all there is before the runtime: a source without kernels does not hold what fails a launch.
#include_next <assert.h>
#if defined(CUDA_EMULATION_ASSERTS) && !defined(NDEBUG)
#undef assert
#define assert(...) \
    ((__VA_ARGS__) ? static_cast<void>(0) : ::cuda_emulation::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__))
#endif
