// Launches that hand memory to a kernel: of the host, or what only looks so. Each returns what the fault said, "" where
// there was none, and leaves 8 times 1 to 8 in `out` where it is right.
#include <cuda_runtime.h>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

static char said[1024];
#define CASE(NAME, ...)                                               \
    extern "C" const char* NAME(float* out) {                         \
        said[0] = 0;                                                  \
        try {                                                         \
            __VA_ARGS__                                               \
        } catch (const std::exception& error) {                       \
            std::strncpy(said, error.what(), sizeof said - 1);        \
        }                                                             \
        return said;                                                  \
    }

constexpr int n = 8;
struct Numbers {
    float values[n];
};
static const Numbers numbers{{1, 2, 3, 4, 5, 6, 7, 8}};
static std::vector<float> made() { return {numbers.values, numbers.values + n}; }

__global__ void copies(const float* x, float* out) { out[threadIdx.x] = x[threadIdx.x] * 8; }
__global__ void takes_bytes(const void* x, float* out) { out[threadIdx.x] = ((const float*)x)[threadIdx.x] * 8; }
__global__ void takes_numbers(Numbers x, const float*, float* out) { out[threadIdx.x] = x.values[threadIdx.x] * 8; }
__global__ void adds_if(const float* x, const float* bias, bool has_bias, float* out) {
    out[threadIdx.x] = x[threadIdx.x] * 8 + (has_bias ? bias[threadIdx.x] : 0);
}
__global__ void takes_pointers(float* const* x, float* out) { out[threadIdx.x] = x[0][threadIdx.x] * 8; }
__global__ void takes_volatile(volatile float* x, float* out) { out[threadIdx.x] = x[threadIdx.x] * 8; }
struct Opaque;
typedef void (*Function)();
__global__ void ignores(const float* x, Opaque*, Function, const void*, float (*)[n], float* out) { out[threadIdx.x] = x[threadIdx.x] * 8; }
template <class T>
__global__ void copies_any(const T* x, T* out) { out[threadIdx.x] = x[threadIdx.x] * 8; }
template <class F>
__global__ void calls(F f, float* out) { out[threadIdx.x] = f(threadIdx.x) * 8; }
__constant__ float constants[n];
__global__ void reads_constants(float* out) { out[threadIdx.x] = constants[threadIdx.x] * 8; }
__global__ void reads_locals(const float* x, float* out) {
    float locals[n];
    for (int i = 0; i < n; ++i) locals[i] = x[i];
    const float* p = locals;
    __syncthreads();
    out[threadIdx.x] = p[(threadIdx.x + blockDim.x) % n] * 8;
}

template <class T>
struct Managed {
    using value_type = T;
    T* allocate(std::size_t count) {
        T* found = nullptr;
        cudaMallocManaged(&found, count * sizeof(T));
        return found;
    }
    void deallocate(T* at, std::size_t) { cudaFree(at); }
    bool operator==(const Managed&) const { return true; }
};
// A copy where a kernel may read it.
template <class Allocate>
static std::unique_ptr<float, void (*)(float*)> on_device(Allocate allocate) {
    float* found = nullptr;
    allocate(&found);
    cudaMemcpy(found, numbers.values, sizeof numbers, cudaMemcpyHostToDevice);
    return {found, [](float* at) { cudaFree(at); }};
}
static auto on_device() {
    return on_device([](float** found) { cudaMalloc(found, sizeof numbers); });
}

// ---- of the host ----

CASE(host_vector, auto x = made(); copies<<<1, n>>>(x.data(), out);)
CASE(host_vector_cast, auto x = made(); copies<<<1, n>>>(reinterpret_cast<const float*>(x.data()), out);)
CASE(host_vector_cast_in_c, auto x = made(); takes_bytes<<<1, n>>>((const void*)x.data(), out);)
CASE(host_vector_indexed, auto x = made(); copies<<<1, n>>>(&x[0], out);)
CASE(host_vector_of_a_template, auto x = made(); copies_any<float><<<1, n>>>(x.data(), out);)
CASE(host_vector_written, std::vector<float> y(n); copies<<<1, n>>>(on_device().get(), y.data());)
CASE(host_vector_of_pointers, auto x = on_device(); std::vector<float*> all{x.get()}; takes_pointers<<<1, n>>>(all.data(), out);)
CASE(host_vector_in_a_lambda, auto x = made(); [&] { copies<<<1, n>>>(x.data(), out); }();)
CASE(host_array, float x[n] = {1, 2, 3, 4, 5, 6, 7, 8}; copies<<<1, n>>>(x, out);)
CASE(host_struct, Numbers x = numbers; copies<<<1, n>>>(x.values, out);)
CASE(host_variable, float sum = 0; copies<<<1, 1>>>(on_device().get(), &sum);)
CASE(host_array_behind_a_variable, float x[n] = {}; const float* p = x; takes_bytes<<<1, n>>>(p, out);)
CASE(host_array_of_another_thread, std::exception_ptr error; std::thread([&] {
         try {
             float x[n] = {};
             copies<<<1, n>>>(x, out);
         } catch (...) {
             error = std::current_exception();
         }
     }).join(); if (error) std::rethrow_exception(error);)

CASE(host_volatile, volatile float x[n] = {}; takes_volatile<<<1, n>>>(x, out);)
CASE(host_vector_volatile, auto x = made(); takes_volatile<<<1, n>>>((volatile float*)x.data(), out);)

// ---- what looks like it, and is not ----

CASE(fine_malloc, auto x = on_device(); copies<<<1, n>>>(x.get(), out);)
CASE(fine_managed, auto x = on_device([](float** p) { cudaMallocManaged(p, sizeof numbers); }); copies<<<1, n>>>(x.get(), out);)
CASE(fine_pinned, auto x = on_device([](float** p) { cudaMallocHost(p, sizeof numbers); }); copies<<<1, n>>>(x.get(), out);)
CASE(fine_mapped, auto x = on_device([](float** p) { cudaHostAlloc(p, sizeof numbers, 0); }); copies<<<1, n>>>(x.get(), out);)
CASE(fine_copied, auto x = made(); auto y = on_device(); cudaMemcpy(y.get(), x.data(), sizeof numbers, cudaMemcpyHostToDevice);
     copies<<<1, n>>>(y.get(), out);)
CASE(fine_allocator, std::vector<float, Managed<float>> x(numbers.values, numbers.values + n); copies<<<1, n>>>(x.data(), out);)
CASE(fine_vector_of_device_pointers, auto x = on_device(); std::vector<float*> all{x.get()}; copies<<<1, n>>>(all[0], out);)
CASE(fine_by_value, Numbers x = numbers; takes_numbers<<<1, n>>>(x, x.values, out);)
CASE(fine_not_read, auto x = on_device(); std::vector<float> y(n); adds_if<<<1, n>>>(x.get(), y.data(), false, out);)
CASE(fine_array_not_read, auto x = on_device(); float y[n]; adds_if<<<1, n>>>(x.get(), y, false, out);)
CASE(fine_empty_vector, auto x = on_device(); std::vector<float> y; adds_if<<<1, n>>>(x.get(), y.data(), false, out);)
CASE(fine_null, adds_if<<<1, n>>>(on_device().get(), nullptr, false, out);)
CASE(fine_odd_pointers, float y[2][n]; auto x = on_device();
     ignores<<<1, n>>>(x.get(), (Opaque*)y, (Function)nullptr, y, y, out);)
CASE(fine_captured, Numbers x = numbers; calls<<<1, n>>>([=] __device__(int i) { return x.values[i]; }, out);)
CASE(fine_chosen, auto x = on_device(); void (*chosen[])(const float*, float*) = {copies, reads_locals}; int i = 1;
     chosen[i]<<<1, n>>>(x.get(), out);)
CASE(fine_constant, cudaMemcpyToSymbol(constants, numbers.values, sizeof numbers); reads_constants<<<1, n>>>(out);)
CASE(fine_locals, reads_locals<<<1, n>>>(on_device().get(), out);)
CASE(fine_after_one_that_was_refused, auto x = made(); copies<<<1, 2048>>>(x.data(), out); cudaGetLastError();
     copies<<<1, n>>>(on_device().get(), out);)

static float* device_copy_of(std::vector<float> x, float* y, float* out) {
    std::vector<float> unused = x;
    adds_if<<<1, n>>>(y, unused.data(), false, out);
    return y;
}
CASE(fine_launch_within_arguments, auto y = on_device(); copies<<<1, n>>>(device_copy_of(made(), y.get(), out), out);)
