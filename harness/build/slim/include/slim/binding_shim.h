// What libslim does for the binding: Python objects to C++ values and back, and the module itself.
//
// The conversions are pybind11's own casters, instantiated once in libslim, so what they accept and refuse is the same.
#pragma once

#include <slim/shim.h>

namespace slim::binding {

// True and a value, or false where pybind11's caster would refuse the object. `convert` is its second pass.
#define SLIM_CONVERTIBLE(_)                                                                             \
  _(bool) _(int8_t) _(int16_t) _(int32_t) _(int64_t) _(uint8_t) _(uint16_t) _(uint32_t) _(uint64_t)      \
  _(float) _(double) _(std::string) _(at::Tensor) _(c10::Scalar) _(c10::ScalarType) _(c10::Device)       \
  _(c10::MemoryFormat) _(c10::Layout)
#define SLIM_DECLARE(type)                                                                              \
  SLIM_API bool load(PyObject* object, bool convert, type& value);                                      \
  SLIM_API PyObject* cast(const type& value);                                                           \
  SLIM_API std::string name_of(const type*, bool argument);
SLIM_CONVERTIBLE(SLIM_DECLARE)
#undef SLIM_DECLARE

SLIM_API bool is_none(PyObject*);
SLIM_API bool is_sequence(PyObject*);
SLIM_API int64_t length_of(PyObject*);
SLIM_API PyObject* item_of(PyObject*, int64_t index);  // a new reference
SLIM_API PyObject* make_none();
SLIM_API PyObject* make_list(size_t length);
SLIM_API PyObject* make_tuple(size_t length);
SLIM_API void set_item(PyObject* sequence, size_t index, PyObject* item);  // takes the reference
SLIM_API void drop(PyObject*);
SLIM_API void* release_gil();
SLIM_API void acquire_gil(void*);

// Calls the C++ function with converted arguments: its result, or null where an argument was refused.
using Call = PyObject* (*)(void* target, PyObject* const* arguments, bool convert);

struct Argument {
  const char* name = nullptr;          // py::arg
  PyObject* otherwise = nullptr;       // its default, owned
  std::string type;
};

// One overload, as `m.def` registers it. `wrapped` says that torch::wrap_pybind_function translates its errors.
struct Overload {
  const char* doc;
  Call call;
  void* target;
  Argument* arguments;
  size_t count;
  std::string result;
  bool wrapped;
};

SLIM_API PyObject* create_module(const char* name);
SLIM_API void set_doc(PyObject* module, const char* doc);
SLIM_API void add_function(PyObject* module, const char* name, const Overload&);
SLIM_API void add_object(PyObject* module, const char* name, PyObject* object);  // takes the reference
// Runs the body of PYBIND11_MODULE; an exception becomes an ImportError and null.
SLIM_API PyObject* initialise(const char* name, void (*body)(PyObject* module));

}  // namespace slim::binding
