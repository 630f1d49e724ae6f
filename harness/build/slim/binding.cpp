// libslim, second half: modules, dispatch and conversions, on top of the real pybind11.

#include <torch/extension.h>

#include "slim/binding_shim.h"

namespace slim::binding {
namespace {

namespace py = pybind11;

struct Function {
  std::string name;
  std::string doc;
  std::vector<Overload> overloads;
  PyMethodDef method{};
};

constexpr const char* function_capsule = "slim.function";

// pybind11 3 writes "@as argument@as result@" into a caster's name; older ones the name alone.
std::string resolve(const std::string& text, bool argument) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    size_t first = text.find('@', at);
    size_t second = first == std::string::npos ? first : text.find('@', first + 1);
    size_t third = second == std::string::npos ? second : text.find('@', second + 1);
    if (third == std::string::npos) return out + text.substr(at);
    out += text.substr(at, first - at);
    out += argument ? text.substr(first + 1, second - first - 1) : text.substr(second + 1, third - second - 1);
    at = third + 1;
  }
  return out;
}

std::string signature(const Overload& overload) {
  std::string text = "(";
  for (size_t i = 0; i < overload.count; ++i) {
    const Argument& argument = overload.arguments[i];
    text += i ? ", " : "";
    text += argument.name ? argument.name : "arg" + std::to_string(i);
    text += ": " + argument.type;
    if (argument.otherwise) text += " = " + std::string(py::repr(argument.otherwise));
  }
  return text + ") -> " + overload.result;
}

std::string refusal(const Function& function, PyObject* args, PyObject* kwargs) {
  std::string text = function.name + "(): incompatible function arguments. The following argument types are supported:\n";
  int number = 0;
  for (const Overload& overload : function.overloads)
    text += "    " + std::to_string(++number) + ". " + signature(overload) + "\n";
  text += "\nInvoked with: ";
  bool some = false;
  for (py::handle argument : py::reinterpret_borrow<py::tuple>(args)) {
    text += (some ? ", " : "") + std::string(py::repr(argument));
    some = true;
  }
  if (kwargs && PyDict_Size(kwargs)) {
    text += some ? "; " : "";
    text += "kwargs: ";
    bool more = false;
    for (auto item : py::reinterpret_borrow<py::dict>(kwargs)) {
      text += (more ? ", " : "") + std::string(py::str(item.first)) + "=" + std::string(py::repr(item.second));
      more = true;
    }
  }
  return text;
}

// Puts the arguments of a call into the order of an overload; false where they do not fit it.
bool bind(const Overload& overload, PyObject* args, PyObject* kwargs, std::vector<PyObject*>& bound) {
  size_t given = static_cast<size_t>(PyTuple_GET_SIZE(args));
  size_t used = 0;
  if (given > overload.count) return false;
  bound.clear();
  for (size_t i = 0; i < overload.count; ++i) {
    const Argument& argument = overload.arguments[i];
    PyObject* object = i < given ? PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i)) : nullptr;
    PyObject* named = kwargs && argument.name ? PyDict_GetItemString(kwargs, argument.name) : nullptr;
    if (object && named) return false;
    if (named) {
      object = named;
      ++used;
    }
    if (!object) object = argument.otherwise;
    if (!object) return false;
    bound.push_back(object);
  }
  return used == (kwargs ? static_cast<size_t>(PyDict_Size(kwargs)) : 0);
}

PyObject* try_overloads(const Function& function, PyObject* args, PyObject* kwargs) {
  std::vector<PyObject*> bound;
  for (bool convert : {false, true}) {
    if (!convert && function.overloads.size() == 1) continue;
    for (const Overload& overload : function.overloads) {
      if (!bind(overload, args, kwargs, bound)) continue;
      if (PyObject* result = overload.call(overload.target, bound.data(), convert)) return result;
      if (PyErr_Occurred()) return nullptr;
    }
  }
  PyErr_SetString(PyExc_TypeError, refusal(function, args, kwargs).c_str());
  return nullptr;
}

// torch::wrap_pybind_function: torch's translation of errors and warnings.
PyObject* call_wrapped(const Function& function, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  return try_overloads(function, args, kwargs);
  END_HANDLE_TH_ERRORS
}

// A plain `m.def`: pybind11's translation.
PyObject* call_plain(const Function& function, PyObject* args, PyObject* kwargs) {
  try {
    return try_overloads(function, args, kwargs);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const std::domain_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::length_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::out_of_range& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const std::range_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::overflow_error& error) {
    PyErr_SetString(PyExc_OverflowError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "Caught an unknown exception!");
  }
  return nullptr;
}

PyObject* dispatch(PyObject* self, PyObject* args, PyObject* kwargs) {
  const auto& function = *static_cast<const Function*>(PyCapsule_GetPointer(self, function_capsule));
  return function.overloads.front().wrapped ? call_wrapped(function, args, kwargs) : call_plain(function, args, kwargs);
}

void describe(Function& function) {
  function.doc.clear();
  for (const Overload& overload : function.overloads)
    function.doc += function.name + signature(overload) + "\n\n" + overload.doc + "\n";
  function.method.ml_doc = function.doc.c_str();
}

}  // namespace

#define SLIM_DEFINE(type)                                                                               \
  bool load(PyObject* object, bool convert, type& value) {                                              \
    py::detail::make_caster<type> caster;                                                               \
    if (!caster.load(object, convert)) return false;                                                    \
    value = py::detail::cast_op<type>(std::move(caster));                                               \
    return true;                                                                                        \
  }                                                                                                     \
  PyObject* cast(const type& value) {                                                                   \
    return py::detail::make_caster<type>::cast(value, py::return_value_policy::move, {}).ptr(); \
  }                                                                                                     \
  std::string name_of(const type*, bool argument) {                                                     \
    return resolve(py::detail::make_caster<type>::name.text, argument);                                 \
  }
SLIM_CONVERTIBLE(SLIM_DEFINE)
#undef SLIM_DEFINE

bool is_none(PyObject* object) { return object == Py_None; }
bool is_sequence(PyObject* object) {
  return PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object);
}
int64_t length_of(PyObject* object) {
  Py_ssize_t length = PySequence_Size(object);
  if (length < 0) throw py::error_already_set();
  return length;
}
PyObject* item_of(PyObject* object, int64_t index) {
  PyObject* item = PySequence_GetItem(object, index);
  if (!item) throw py::error_already_set();
  return item;
}
PyObject* make_none() { return py::none().release().ptr(); }
PyObject* make_list(size_t length) { return PyList_New(static_cast<Py_ssize_t>(length)); }
PyObject* make_tuple(size_t length) { return PyTuple_New(static_cast<Py_ssize_t>(length)); }
void set_item(PyObject* sequence, size_t index, PyObject* item) {
  if (PyList_Check(sequence)) PyList_SET_ITEM(sequence, static_cast<Py_ssize_t>(index), item);
  else PyTuple_SET_ITEM(sequence, static_cast<Py_ssize_t>(index), item);
}
void drop(PyObject* object) { Py_XDECREF(object); }
void* release_gil() { return PyEval_SaveThread(); }
void acquire_gil(void* state) { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); }

void set_doc(PyObject* module, const char* doc) { PyModule_SetDocString(module, doc); }

void add_object(PyObject* module, const char* name, PyObject* object) {
  if (PyModule_AddObject(module, name, object) != 0) throw py::error_already_set();
}

void add_function(PyObject* module, const char* name, const Overload& overload) {
  if (PyObject* present = PyDict_GetItemString(PyModule_GetDict(module), name)) {
    if (PyCFunction_Check(present) && PyCapsule_IsValid(PyCFunction_GetSelf(present), function_capsule)) {
      auto* function = static_cast<Function*>(PyCapsule_GetPointer(PyCFunction_GetSelf(present), function_capsule));
      function->overloads.push_back(overload);
      return describe(*function);
    }
  }
  // Lives as long as the module, which is as long as the process.
  auto* function = new Function{name, {}, {overload}};
  describe(*function);
  function->method.ml_name = function->name.c_str();
  function->method.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&dispatch));
  function->method.ml_flags = METH_VARARGS | METH_KEYWORDS;
  auto self = py::reinterpret_steal<py::object>(PyCapsule_New(function, function_capsule, nullptr));
  PyObject* module_name = PyModule_GetNameObject(module);
  PyObject* callable = PyCFunction_NewEx(&function->method, self.ptr(), module_name);
  Py_XDECREF(module_name);
  if (!callable) throw py::error_already_set();
  add_object(module, name, callable);
}

PyObject* initialise(const char* name, void (*body)(PyObject* module)) {
  // Like pybind11's, the definition outlives the module.
  auto* definition = new PyModuleDef{PyModuleDef_HEAD_INIT, name, nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
  PyObject* module = PyModule_Create(definition);
  if (!module) return nullptr;
  try {
    body(module);
    return module;
  } catch (py::error_already_set& error) {
    py::raise_from(error, PyExc_ImportError, "initialization failed");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ImportError, error.what());
  }
  Py_DECREF(module);
  return nullptr;
}

}  // namespace slim::binding
