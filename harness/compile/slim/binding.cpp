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
    if (i && i == overload.nameless) text += "/, ";
    if (i == overload.positional) text += "*, ";
    text += argument.name ? argument.name : "arg" + std::to_string(i);
    text += ": " + (argument.convert ? argument.type : argument.strict);
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
  if (given > overload.positional) return false;
  bound.clear();
  for (size_t i = 0; i < overload.count; ++i) {
    const Argument& argument = overload.arguments[i];
    PyObject* object = i < given ? PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i)) : nullptr;
    PyObject* named = kwargs && argument.name && i >= overload.nameless ? PyDict_GetItemString(kwargs, argument.name) : nullptr;
    if (object && named) return false;
    if (named) {
      object = named;
      ++used;
    }
    if (!object) object = argument.otherwise;
    if (!object || (!argument.none && object == Py_None)) return false;
    bound.push_back(object);
  }
  return used == (kwargs ? static_cast<size_t>(PyDict_Size(kwargs)) : 0);
}

// torch::wrap_pybind_function: torch's translation of errors and its warnings, around one call.
PyObject* call_wrapped(const Overload& overload, PyObject* const* bound, bool convert) {
  HANDLE_TH_ERRORS
  return overload.call(overload.target, bound, overload.arguments, convert);
  END_HANDLE_TH_ERRORS_PYBIND
}

// What pybind11 raises for a result that is no Python object, such as an empty py::object.
void complain_of_result(const Overload& overload) {
  const std::string text = "Unable to convert function return value to a Python type! The signature was\n\t" + signature(overload);
  if (PyErr_Occurred()) py::raise_from(PyExc_TypeError, text.c_str());
  else PyErr_SetString(PyExc_TypeError, text.c_str());
}

PyObject* try_overloads(const Function& function, PyObject* args, PyObject* kwargs) {
  std::vector<PyObject*> bound;
  for (bool convert : {false, true}) {
    if (!convert && function.overloads.size() == 1) continue;
    for (const Overload& overload : function.overloads) {
      if (!bind(overload, args, kwargs, bound)) continue;
      PyObject* result = overload.wrapped ? call_wrapped(overload, bound.data(), convert)
                                          : overload.call(overload.target, bound.data(), overload.arguments, convert);
      if (result == refused()) {
        if (PyErr_Occurred()) return nullptr;
        continue;
      }
      if (!result) complain_of_result(overload);
      return result;
    }
  }
  PyErr_SetString(PyExc_TypeError, refusal(function, args, kwargs).c_str());
  return nullptr;
}

// pybind11's translation of errors, by the translators that torch has registered with it as well.
PyObject* dispatch(PyObject* self, PyObject* args, PyObject* kwargs) {
  const auto& function = *static_cast<const Function*>(PyCapsule_GetPointer(self, function_capsule));
  try {
    return try_overloads(function, args, kwargs);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

// The docstring as pybind11 puts it together.
void describe(Function& function) {
  const bool several = function.overloads.size() > 1;
  int number = 0;
  function.doc = several ? function.name + "(*args, **kwargs)\nOverloaded function.\n\n" : "";
  for (const Overload& overload : function.overloads) {
    if (number > 0) function.doc += '\n';
    ++number;
    if (several) function.doc += std::to_string(number) + ". ";
    function.doc += function.name + signature(overload) + '\n';
    if (*overload.doc) function.doc += '\n' + std::string(overload.doc) + '\n';
  }
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

bool load_integers(PyObject* object, std::vector<int64_t>& values) {
  py::detail::make_caster<at::IntArrayRef> caster;
  if (!caster.load(object, true)) return false;
  values = py::detail::cast_op<at::IntArrayRef>(caster).vec();
  return true;
}
std::string integers_name(bool argument) {
  return resolve(py::detail::make_caster<at::IntArrayRef>::name.text, argument);
}

namespace {

// What pybind11's casters fill, with elements that are any object.
struct Pairs {
  std::vector<py::object> items;
  void clear() { items.clear(); }
  void emplace(py::object key, py::object value) {
    items.push_back(std::move(key));
    items.push_back(std::move(value));
  }
};
struct Members {
  std::vector<py::object> items;
  void clear() { items.clear(); }
  void insert(py::object item) { items.push_back(std::move(item)); }
};
using ListCaster = py::detail::list_caster<std::vector<py::object>, py::object>;
using SetCaster = py::detail::set_caster<Members, py::object>;
using MapCaster = py::detail::map_caster<Pairs, py::object, py::object>;

void give(std::vector<py::object>& from, std::vector<PyObject*>& to) {
  for (py::object& item : from) to.push_back(item.release().ptr());
}

// The name of a container of objects, with other words in the place of `stand_in`.
std::string named(const char* text, bool argument, const std::string& stand_in, const std::string& inner) {
  std::string name = resolve(text, argument);
  const size_t at = name.find(stand_in);
  return at == std::string::npos ? name : name.replace(at, stand_in.size(), inner);
}

PyObject* owned(PyObject* object) {
  if (!object) throw py::error_already_set();
  return object;
}
void done(bool well) {
  if (!well) throw py::error_already_set();
}

}  // namespace

bool items_of(PyObject* object, bool convert, Container container, std::vector<PyObject*>& items) {
  switch (container) {
    case Container::List: {
      ListCaster caster;
      if (!caster.load(object, convert)) return false;
      give(static_cast<std::vector<py::object>&>(caster), items);
      return true;
    }
    case Container::Set: {
      SetCaster caster;
      if (!caster.load(object, convert)) return false;
      give(static_cast<Members&>(caster).items, items);
      return true;
    }
    case Container::Map: {
      MapCaster caster;
      if (!caster.load(object, convert)) return false;
      give(static_cast<Pairs&>(caster).items, items);
      return true;
    }
    case Container::Tuple: {
      if (!py::isinstance<py::sequence>(object)) return false;
      for (py::object item : py::reinterpret_borrow<py::sequence>(object)) items.push_back(item.release().ptr());
      return true;
    }
    case Container::Optional: break;
  }
  return false;
}
std::string container_name(Container container, const std::string& inner, bool argument) {
  switch (container) {
    case Container::List: return named(ListCaster::name.text, argument, "object", inner);
    case Container::Set: return named(SetCaster::name.text, argument, "object", inner);
    case Container::Map: return named(MapCaster::name.text, argument, "object, object", inner);
    case Container::Tuple:
      if (inner.empty()) return resolve(py::detail::make_caster<std::tuple<>>::name.text, argument);
      return named(py::detail::make_caster<std::tuple<py::object>>::name.text, argument, "object", inner);
    case Container::Optional:
      return named(py::detail::make_caster<std::optional<py::object>>::name.text, argument, "object", inner);
  }
  return inner;
}
std::string array_name(const std::string& inner, size_t size, bool argument) {
  const char* text = py::detail::make_caster<std::array<py::object, 987654321>>::name.text;
  std::string name = named(text, argument, "object", inner);
  const size_t at = name.find("987654321");
  return at == std::string::npos ? name : name.replace(at, 9, std::to_string(size));
}

bool is_none(PyObject* object) { return object == Py_None; }
PyObject* make_none() { return py::none().release().ptr(); }
PyObject* make_list(size_t length) { return owned(PyList_New(static_cast<Py_ssize_t>(length))); }
PyObject* make_tuple(size_t length) { return owned(PyTuple_New(static_cast<Py_ssize_t>(length))); }
PyObject* make_set() { return owned(PySet_New(nullptr)); }
PyObject* make_dict() { return owned(PyDict_New()); }
void set_item(PyObject* sequence, size_t index, PyObject* item) {
  if (PyList_Check(sequence)) PyList_SET_ITEM(sequence, static_cast<Py_ssize_t>(index), item);
  else PyTuple_SET_ITEM(sequence, static_cast<Py_ssize_t>(index), item);
}
void add_item(PyObject* set, PyObject* item) {
  auto member = py::reinterpret_steal<py::object>(item);
  done(PySet_Add(set, member.ptr()) == 0);
}
void add_pair(PyObject* dict, PyObject* key, PyObject* value) {
  auto first = py::reinterpret_steal<py::object>(key), second = py::reinterpret_steal<py::object>(value);
  done(PyDict_SetItem(dict, first.ptr(), second.ptr()) == 0);
}
void retain(PyObject* object) { Py_XINCREF(object); }
void drop(PyObject* object) { Py_XDECREF(object); }
void* release_gil() { return PyEval_SaveThread(); }
void acquire_gil(void* state) { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); }
int hold_gil() { return static_cast<int>(PyGILState_Ensure()); }
void leave_gil(int state) { PyGILState_Release(static_cast<PyGILState_STATE>(state)); }

bool is_a(Kind kind, PyObject* object) {
  switch (kind) {
#define SLIM_IS(name) \
  case Kind::name: return py::isinstance<py::name>(object);
    SLIM_OBJECT_KINDS(SLIM_IS)
#undef SLIM_IS
  }
  return false;
}
PyObject* load_object(Kind kind, PyObject* object, bool convert) {
  switch (kind) {
#define SLIM_LOAD(which) \
  case Kind::which: { \
    py::detail::make_caster<py::which> caster; \
    return caster.load(object, convert) ? static_cast<py::which&>(caster).release().ptr() : nullptr; \
  }
    SLIM_OBJECT_KINDS(SLIM_LOAD)
#undef SLIM_LOAD
  }
  return nullptr;
}
std::string typed_tuple_name(const std::string& inner) {
#if PYBIND11_VERSION_MAJOR >= 3
  return container_name(Container::Tuple, inner, false);
#else
  (void)inner;
  return kind_name(Kind::tuple, false);
#endif
}
PyObject* convert_to(Kind kind, PyObject* object) {
  auto given = py::reinterpret_borrow<py::object>(object);
  switch (kind) {
#define SLIM_CONVERT(name) \
  case Kind::name: return py::name(std::move(given)).release().ptr();
    SLIM_OBJECT_KINDS(SLIM_CONVERT)
#undef SLIM_CONVERT
  }
  return nullptr;
}
std::string kind_name(Kind kind, bool argument) {
  switch (kind) {
#define SLIM_NAME(which) \
  case Kind::which: return resolve(py::detail::make_caster<py::which>::name.text, argument);
    SLIM_OBJECT_KINDS(SLIM_NAME)
#undef SLIM_NAME
  }
  return {};
}
PyObject* get_attribute(PyObject* object, const char* name) { return owned(PyObject_GetAttrString(object, name)); }
void set_attribute(PyObject* object, const char* name, PyObject* value) {
  auto kept = py::reinterpret_steal<py::object>(value);
  done(PyObject_SetAttrString(object, name, kept.ptr()) == 0);
}
bool has_attribute(PyObject* object, const char* name) { return py::hasattr(object, name); }
PyObject* get_subscript(PyObject* object, PyObject* key) {
  auto kept = py::reinterpret_steal<py::object>(key);
  return owned(PyObject_GetItem(object, kept.ptr()));
}
void set_subscript(PyObject* object, PyObject* key, PyObject* value) {
  auto first = py::reinterpret_steal<py::object>(key), second = py::reinterpret_steal<py::object>(value);
  done(PyObject_SetItem(object, first.ptr(), second.ptr()) == 0);
}
PyObject* call_object(PyObject* object, PyObject* args, PyObject* kwargs) {
  auto places = py::reinterpret_steal<py::object>(args), names = py::reinterpret_steal<py::object>(kwargs);
  return owned(PyObject_Call(object, places.ptr(), names.ptr()));
}
bool contains(PyObject* object, PyObject* item) {
  auto kept = py::reinterpret_steal<py::object>(item);
  return py::reinterpret_borrow<py::object>(object).contains(kept);
}
size_t length_of(PyObject* object) { return py::len(object); }
void append_to(PyObject* list, PyObject* item) {
  auto kept = py::reinterpret_steal<py::object>(item);
  done(PyList_Append(list, kept.ptr()) == 0);
}
std::vector<PyObject*> pairs_of(PyObject* dict) {
  std::vector<PyObject*> items;
  for (auto item : py::reinterpret_borrow<py::dict>(dict)) {
    items.push_back(item.first.inc_ref().ptr());
    items.push_back(item.second.inc_ref().ptr());
  }
  return items;
}
PyObject* iterator_of(PyObject* object) { return owned(PyObject_GetIter(object)); }
PyObject* next_of(PyObject* iterator) {
  PyObject* item = PyIter_Next(iterator);
  if (!item && PyErr_Occurred()) throw py::error_already_set();
  return item;
}
PyObject* import_module(const char* name) { return owned(PyImport_ImportModule(name)); }
PyObject* representation(PyObject* object) { return py::repr(object).release().ptr(); }
void print(PyObject* args) { py::print(*py::reinterpret_steal<py::args>(args)); }
void cast_failed(PyObject* object, const char* mangled) {
  std::string name = mangled;
  py::detail::clean_type_id(name);
  throw py::cast_error("Unable to cast Python instance of type " + std::string(py::str(py::type::handle_of(object))) +
                       " to C++ type '" + name + "'");
}
void set_error(Raised raised, const char* text) {
  switch (raised) {
    case Raised::Value: PyErr_SetString(PyExc_ValueError, text); return;
    case Raised::Type: PyErr_SetString(PyExc_TypeError, text); return;
    case Raised::Index: PyErr_SetString(PyExc_IndexError, text); return;
    case Raised::Key: PyErr_SetString(PyExc_KeyError, text); return;
    case Raised::Import: PyErr_SetString(PyExc_ImportError, text); return;
    case Raised::Stop: PyErr_SetString(PyExc_StopIteration, text); return;
  }
}

PyObject* submodule(PyObject* module, const char* name, const char* doc) {
  auto parent = py::reinterpret_borrow<py::module_>(module);
  return (doc ? parent.def_submodule(name, doc) : parent.def_submodule(name)).ptr();
}
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
