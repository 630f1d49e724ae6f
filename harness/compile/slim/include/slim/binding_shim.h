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
// Nothing that merely converts to one of them: stock asks for a caster of the type itself.
template <typename T>
PyObject* cast(const T&) = delete;
// torch's own caster of at::IntArrayRef, which takes tuples and lists of numbers and nothing else.
SLIM_API bool load_integers(PyObject* object, std::vector<int64_t>& values);
SLIM_API std::string integers_name(bool argument);

// pybind11's containers, whose elements are left to the caller: what the caster of one makes of an object. A map gives
// its keys and values in turn.
enum class Container : int { List, Set, Map, Tuple, Optional };
SLIM_API bool items_of(PyObject*, bool convert, Container, std::vector<PyObject*>& items);  // new references
SLIM_API std::string container_name(Container, const std::string& inner, bool argument);
SLIM_API std::string array_name(const std::string& inner, size_t size, bool argument);

SLIM_API bool is_none(PyObject*);
SLIM_API PyObject* make_none();
SLIM_API PyObject* make_list(size_t length);
SLIM_API PyObject* make_tuple(size_t length);
SLIM_API PyObject* make_set();
SLIM_API PyObject* make_dict();
SLIM_API void set_item(PyObject* sequence, size_t index, PyObject* item);  // these three take the references
SLIM_API void add_item(PyObject* set, PyObject* item);
SLIM_API void add_pair(PyObject* dict, PyObject* key, PyObject* value);
SLIM_API void retain(PyObject*);
SLIM_API void drop(PyObject*);

// Python objects as such. What is given back is a new reference; errors of Python's are thrown as pybind11 throws them.
#define SLIM_OBJECT_KINDS(_)                                                                            \
  _(object) _(list) _(tuple) _(dict) _(str) _(int_) _(float_) _(bool_) _(none) _(sequence) _(iterable) _(function)
#define SLIM_KIND(name) name,
enum class Kind : int { SLIM_OBJECT_KINDS(SLIM_KIND) };
#undef SLIM_KIND
enum class Raised : int { Value, Type, Index, Key, Import, Stop };
SLIM_API bool is_a(Kind, PyObject*);
SLIM_API PyObject* load_object(Kind, PyObject*, bool convert);  // null where it is none, and cannot be made one
SLIM_API std::string typed_tuple_name(const std::string& inner);  // py::make_tuple's type, with its items' names
SLIM_API PyObject* convert_to(Kind, PyObject*);
SLIM_API std::string kind_name(Kind, bool argument);
SLIM_API PyObject* get_attribute(PyObject*, const char* name);
SLIM_API void set_attribute(PyObject*, const char* name, PyObject* value);
SLIM_API bool has_attribute(PyObject*, const char* name);
SLIM_API PyObject* get_subscript(PyObject*, PyObject* key);
SLIM_API void set_subscript(PyObject*, PyObject* key, PyObject* value);
SLIM_API PyObject* call_object(PyObject*, PyObject* args, PyObject* kwargs);
SLIM_API bool contains(PyObject*, PyObject* item);
SLIM_API size_t length_of(PyObject*);
SLIM_API void append_to(PyObject* list, PyObject* item);
SLIM_API std::vector<PyObject*> pairs_of(PyObject* dict);
SLIM_API PyObject* iterator_of(PyObject*);
SLIM_API PyObject* next_of(PyObject* iterator);  // null at the end
SLIM_API PyObject* import_module(const char* name);
SLIM_API PyObject* representation(PyObject*);
SLIM_API void print(PyObject* args);
[[noreturn]] SLIM_API void cast_failed(PyObject*, const char* mangled);
SLIM_API void set_error(Raised, const char* text);
SLIM_API int hold_gil();
SLIM_API void leave_gil(int);
SLIM_API void* release_gil();
SLIM_API void acquire_gil(void*);

struct Argument {
  const char* name = nullptr;          // py::arg
  PyObject* otherwise = nullptr;       // its default, owned
  bool convert = true;                 // not so after .noconvert()
  bool none = true;                    // not so after .none(false)
  std::string type;                    // in signatures
  std::string strict;                  // the same where nothing is converted
};

// What stands for a result where an argument was refused, as pybind11's PYBIND11_TRY_NEXT_OVERLOAD does.
inline PyObject* refused() { return reinterpret_cast<PyObject*>(1); }
// Calls the C++ function with converted arguments: its result, null where that is no Python object, or `refused`.
using Call = PyObject* (*)(void* target, PyObject* const* given, const Argument* arguments, bool convert);

// One overload, as `m.def` registers it. `wrapped` says that torch::wrap_pybind_function translates its errors.
struct Overload {
  const char* doc;
  Call call;
  void* target;
  Argument* arguments;
  size_t count;
  size_t positional;  // so many may be given by their places: all but those after py::kw_only
  size_t nameless;    // so many may not be given by their names: those before py::pos_only
  std::string result;
  bool wrapped;
};

SLIM_API PyObject* submodule(PyObject* module, const char* name, const char* doc);  // borrowed, as the module keeps it
SLIM_API void set_doc(PyObject* module, const char* doc);
SLIM_API void add_function(PyObject* module, const char* name, const Overload&);
SLIM_API void add_object(PyObject* module, const char* name, PyObject* object);  // takes the reference
// Runs the body of PYBIND11_MODULE; an exception becomes an ImportError and null.
SLIM_API PyObject* initialise(const char* name, void (*body)(PyObject* module));

}  // namespace slim::binding
