// Shadows the system's <assert.h>: in a kernel a failed assertion is a fault of the launch, not the end of the process.
// No include guard: by the C standard each inclusion looks at NDEBUG anew.
#undef assert
#ifdef NDEBUG
#define assert(...) static_cast<void>(0)
#else
#define assert(...) \
    ((__VA_ARGS__) ? static_cast<void>(0) : ::cuda_emulation::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__))
#endif
namespace cuda_emulation {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}
