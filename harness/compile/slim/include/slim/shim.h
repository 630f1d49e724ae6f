// What libslim does for the facade: the inline parts of torch, compiled once against its real headers.
//
// Included by the facade's headers and by shim.cpp alike, so both sides agree on every signature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#define SLIM_API __attribute__((visibility("default")))

struct _object;
typedef _object PyObject;

namespace slim {

using Impl = c10::TensorImpl;

struct Extent {
  const int64_t* data;
  size_t length;
};

// Reference counts, and the tensor that is not defined.
SLIM_API extern Impl* const undefined_impl;
SLIM_API void retain(Impl*) noexcept;
SLIM_API void release(Impl*) noexcept;
SLIM_API size_t use_count(Impl*) noexcept;

// Properties of a tensor.
SLIM_API Extent sizes(Impl*);
SLIM_API Extent strides(Impl*);
SLIM_API int64_t size(Impl*, int64_t dim);
SLIM_API int64_t stride(Impl*, int64_t dim);
SLIM_API int64_t dim(Impl*);
SLIM_API int64_t numel(Impl*);
SLIM_API int64_t storage_offset(Impl*);
SLIM_API int64_t version(Impl*);
SLIM_API size_t itemsize(Impl*);
SLIM_API size_t nbytes(Impl*);
SLIM_API bool is_contiguous(Impl*, c10::MemoryFormat);
SLIM_API bool is_non_overlapping_and_dense(Impl*);
SLIM_API c10::MemoryFormat suggest_memory_format(Impl*, bool exact);
SLIM_API c10::ScalarType scalar_type(Impl*);
SLIM_API c10::Device device(Impl*);
SLIM_API c10::Layout layout(Impl*);
SLIM_API bool requires_grad(Impl*);
SLIM_API void set_requires_grad(Impl*, bool);
SLIM_API bool is_alias_of(Impl*, Impl*);
SLIM_API void* data(Impl*);
SLIM_API const void* const_data(Impl*);

// dtypes.
SLIM_API std::string_view type_name(c10::ScalarType);
SLIM_API size_t type_size(c10::ScalarType);
SLIM_API c10::ScalarType default_dtype();
SLIM_API bool is_floating(c10::ScalarType);
SLIM_API bool is_integral(c10::ScalarType, bool include_bool);
SLIM_API bool is_complex(c10::ScalarType);
SLIM_API c10::ScalarType promote_types(c10::ScalarType, c10::ScalarType);

// c10::Scalar, whose storage the facade only holds.
constexpr size_t scalar_size = 32, scalar_alignment = 16;
SLIM_API void scalar_double(void* where, double);
SLIM_API void scalar_int(void* where, int64_t);
SLIM_API void scalar_uint(void* where, uint64_t);
SLIM_API void scalar_bool(void* where, bool);
SLIM_API void scalar_copy(void* where, const void* other);
SLIM_API void scalar_destroy(void* where) noexcept;
SLIM_API void scalar_to(const void*, c10::ScalarType, void* number);  // checked, as Scalar::to<T>() is
SLIM_API c10::ScalarType scalar_type_of(const void*);

// c10::IListRef<at::Tensor>, likewise.
constexpr size_t list_ref_size = 24;
SLIM_API void list_ref(void* where, const at::Tensor* data, size_t length);
SLIM_API void list_ref_destroy(void* where) noexcept;

// Errors and warnings. `kind` picks the class, and with it the Python exception.
enum class ErrorKind { Error, Index, Value, Type, NotImplemented, LinAlg };
[[noreturn]] SLIM_API void fail(ErrorKind, const char* function, const char* file, uint32_t line, const std::string&);
// TORCH_CHECK_EQ and its like, whose message libtorch's own logger makes into an error.
SLIM_API void check_failed(const char* function, const char* file, uint32_t line, const std::string& text);
SLIM_API void warn(const char* function, const char* file, uint32_t line, const std::string&);
SLIM_API void append(std::string&, double);
SLIM_API void append(std::string&, const std::vector<int64_t>&);
SLIM_API void append(std::string&, const std::vector<double>&);
SLIM_API void append(std::string&, const at::Tensor&);

// Operators of tensors; one entry for all, since no identifier of a source says which of them it uses.
enum class Binary { Add, Sub, Mul, Div, Remainder, And, Or, Xor, Lt, Le, Gt, Ge, Eq, Ne };
SLIM_API at::Tensor binary(Binary, const at::Tensor&, const at::Tensor&);
SLIM_API at::Tensor binary(Binary, const at::Tensor&, const c10::Scalar&);
SLIM_API at::Tensor binary(Binary, const c10::Scalar&, const at::Tensor&);
SLIM_API void binary_in_place(Binary, const at::Tensor&, const at::Tensor&);
SLIM_API void binary_in_place(Binary, const at::Tensor&, const c10::Scalar&);
SLIM_API at::Tensor negate(const at::Tensor&);
SLIM_API at::Tensor invert(const at::Tensor&);
SLIM_API at::Tensor select(const at::Tensor&, int64_t index);
SLIM_API at::Tensor select(const at::Tensor&, const c10::Scalar& index);
SLIM_API at::Tensor select(const at::Tensor&, const at::Tensor& index);
SLIM_API void assign(const at::Tensor&, const at::Tensor&);
SLIM_API void assign(const at::Tensor&, const c10::Scalar&);

// Indexing with integers, slices and tensors: what `x.index({...})` was given, one item each.
enum class IndexKind : int { None, Ellipsis, Integer, Boolean, Slice, Tensor };
struct Index {
  IndexKind kind;
  std::optional<int64_t> start, stop, step;  // of a slice; `start` alone of an integer and a boolean
  Impl* tensor;                              // borrowed
};
SLIM_API at::Tensor index(const at::Tensor&, const Index*, size_t length);
SLIM_API void index_put(const at::Tensor&, const Index*, size_t length, const at::Tensor&);
SLIM_API void index_put(const at::Tensor&, const Index*, size_t length, const c10::Scalar&);

// c10::List<std::optional<Tensor>>: one pointer that libtorch counts.
SLIM_API void tensor_list(void* where);
SLIM_API void tensor_list_copy(void* where, const void* other);
SLIM_API void tensor_list_destroy(void* where) noexcept;
SLIM_API void tensor_list_push(void* where, const at::Tensor*);
SLIM_API size_t tensor_list_size(const void* where);

// torch::tensor of a number, of numbers that lie beside each other, or of a list in braces.
enum class Given : int { Number, Array, List };
struct OptionParts {
  std::optional<c10::ScalarType> dtype;
  std::optional<c10::Device> device;
  std::optional<c10::Layout> layout;
  std::optional<c10::MemoryFormat> memory_format;
  std::optional<bool> requires_grad, pinned_memory;
};
SLIM_API at::Tensor tensor_of(Given, const void* data, size_t length, c10::ScalarType, const OptionParts&);

// New tensors over given memory.
SLIM_API at::Tensor from_blob(void* data, Extent sizes, const Extent* strides, c10::ScalarType, c10::Device, bool grad);
SLIM_API at::Tensor from_blob(void* data, Extent sizes, const Extent* strides, void (*deleter)(void* context, void* data),
                              void (*forget)(void* context), void* context, c10::ScalarType, c10::Device, bool grad);
SLIM_API at::Tensor to_device(const at::Tensor&, c10::DeviceType);
SLIM_API at::Tensor to_type(const at::Tensor&, c10::ScalarType);

// A device that is current for a scope, whatever its kind.
SLIM_API void* enter_device(c10::Device);
SLIM_API void leave_device(void*) noexcept;

// What torch:: adds to at:: when it makes a tensor.
SLIM_API uint64_t below_autograd_enter();
SLIM_API void below_autograd_leave(uint64_t);
SLIM_API bool grad_enabled();
SLIM_API void set_grad_enabled(bool);
SLIM_API void* enter_inference(bool enabled);
SLIM_API void leave_inference(void*) noexcept;
SLIM_API void manual_seed(uint64_t);
SLIM_API bool has_cuda();

// CUDA. Defined only in a library built with a CUDA torch.
SLIM_API void cuda_check(int error, const char* file, const char* function, uint32_t line);
SLIM_API int cuda_exchange_device(int index);
SLIM_API void cuda_restore_device(int index) noexcept;
SLIM_API int cuda_current_device();
SLIM_API int cuda_device_count() noexcept;
struct StreamParts { int64_t id; int device; };
SLIM_API StreamParts cuda_current_stream(int device);
SLIM_API StreamParts cuda_default_stream(int device);
SLIM_API StreamParts cuda_pool_stream(bool high_priority, int device);
SLIM_API void cuda_set_stream(StreamParts);
SLIM_API void* cuda_raw_stream(StreamParts);
SLIM_API void cuda_synchronize(StreamParts);
SLIM_API void* cublas_handle();
SLIM_API const void* cuda_device_properties(int device);

}  // namespace slim
