// PYBIND11_MODULE, m.def and py::arg without pybind11's headers: templates that take a function's signature apart.
#pragma once

#include <slim/torch_all.h>

#include <slim/binding_shim.h>

#include <memory>

namespace slim::binding {

// How a parameter of type T is read from Python. `Slot` holds the value while the call runs.
template <typename T>
struct Parameter {
  T value{};
  bool load(PyObject* object, bool convert) { return binding::load(object, convert, value); }
  T& get() { return value; }
  static std::string name() { return name_of(static_cast<const T*>(nullptr), true); }
};
template <>
struct Parameter<long long> {
  int64_t wide{};
  long long value{};
  bool load(PyObject* object, bool convert) {
    bool fits = binding::load(object, convert, wide);
    value = wide;
    return fits;
  }
  long long& get() { return value; }
  static std::string name() { return Parameter<int64_t>::name(); }
};
template <>
struct Parameter<c10::Device> {
  c10::Device value{c10::DeviceType::CPU};
  bool load(PyObject* object, bool convert) { return binding::load(object, convert, value); }
  c10::Device& get() { return value; }
  static std::string name() { return name_of(static_cast<const c10::Device*>(nullptr), true); }
};
template <typename T>
struct Parameter<std::optional<T>> {
  std::optional<T> value;
  bool load(PyObject* object, bool convert) {
    if (is_none(object)) return true;
    Parameter<T> inner;
    if (!inner.load(object, convert)) return false;
    value.emplace(std::move(inner.get()));
    return true;
  }
  std::optional<T>& get() { return value; }
  static std::string name() { return Parameter<T>::name() + " | None"; }
};
template <typename T>
struct Parameter<std::vector<T>> {
  std::vector<T> value;
  bool load(PyObject* object, bool convert) {
    if (!is_sequence(object)) return false;
    int64_t length = length_of(object);
    value.reserve(length);
    for (int64_t i = 0; i < length; ++i) {
      PyObject* item = item_of(object, i);
      Parameter<T> inner;
      bool fits = inner.load(item, convert);
      drop(item);
      if (!fits) return false;
      value.push_back(std::move(inner.get()));
    }
    return true;
  }
  std::vector<T>& get() { return value; }
  static std::string name() { return "list[" + Parameter<T>::name() + "]"; }
};
template <typename T>
struct Parameter<c10::ArrayRef<T>> {
  Parameter<std::vector<T>> list;
  c10::ArrayRef<T> value;
  bool load(PyObject* object, bool convert) {
    bool fits = list.load(object, convert);
    value = list.get();
    return fits;
  }
  c10::ArrayRef<T>& get() { return value; }
  static std::string name() { return Parameter<std::vector<T>>::name(); }
};

// How a result of type T becomes a Python object.
template <typename T>
struct Result {
  static PyObject* make(const T& value) { return cast(value); }
  static std::string name() { return name_of(static_cast<const T*>(nullptr), false); }
};
template <>
struct Result<long long> {
  static PyObject* make(long long value) { return cast(static_cast<int64_t>(value)); }
  static std::string name() { return Result<int64_t>::name(); }
};
template <>
struct Result<const char*> {
  static PyObject* make(const char* value) { return cast(std::string(value)); }
  static std::string name() { return Result<std::string>::name(); }
};
template <typename T>
struct Result<std::optional<T>> {
  static PyObject* make(const std::optional<T>& value) { return value ? Result<T>::make(*value) : make_none(); }
  static std::string name() { return Result<T>::name() + " | None"; }
};
template <typename T>
struct Result<std::vector<T>> {
  static PyObject* make(const std::vector<T>& values) {
    PyObject* list = make_list(values.size());
    for (size_t i = 0; i < values.size(); ++i) set_item(list, i, Result<T>::make(values[i]));
    return list;
  }
  static std::string name() { return "list[" + Result<T>::name() + "]"; }
};
template <typename... T>
struct Result<std::tuple<T...>> {
  static PyObject* make(const std::tuple<T...>& values) { return make(values, std::index_sequence_for<T...>()); }
  template <size_t... I>
  static PyObject* make(const std::tuple<T...>& values, std::index_sequence<I...>) {
    PyObject* tuple = make_tuple(sizeof...(T));
    (set_item(tuple, I, Result<T>::make(std::get<I>(values))), ...);
    return tuple;
  }
  static std::string name() {
    std::string text;
    ((text += (text.empty() ? "tuple[" : ", ") + Result<T>::name()), ...);
    return text + "]";
  }
};
template <typename A, typename B>
struct Result<std::pair<A, B>> {
  static PyObject* make(const std::pair<A, B>& value) {
    return Result<std::tuple<A, B>>::make(std::tuple<A, B>(value.first, value.second));
  }
  static std::string name() { return Result<std::tuple<A, B>>::name(); }
};

// The GIL, released for one call where `py::call_guard<py::gil_scoped_release>()` asks for it.
struct ReleasedGil {
  void* state = release_gil();
  ~ReleasedGil() { acquire_gil(state); }
};
struct KeptGil {};

// A parameter of the type that the function declares: by value, by reference or as an rvalue.
template <typename A, typename P>
A pass(P& parameter) {
  if constexpr (std::is_lvalue_reference_v<A>) return parameter.get();
  else return std::move(parameter.get());
}

template <typename F, typename Guard, typename R, typename... A>
PyObject* call(void* target, PyObject* const* arguments, bool convert) {
  std::tuple<Parameter<std::decay_t<A>>...> slots;
  bool fits = true;
  size_t next = 0;
  std::apply([&](auto&... slot) { ((fits = fits && slot.load(arguments[next++], convert)), ...); }, slots);
  if (!fits) return nullptr;
  auto invoke = [&](auto&... slot) -> R {
    [[maybe_unused]] Guard guard;
    return (*static_cast<F*>(target))(pass<A>(slot)...);
  };
  if constexpr (std::is_void_v<R>) {
    std::apply(invoke, slots);
    return make_none();
  } else {
    return Result<std::decay_t<R>>::make(std::apply(invoke, slots));
  }
}

template <typename R>
std::string result_name() {
  if constexpr (std::is_void_v<R>) return "None";
  else return Result<std::decay_t<R>>::name();
}

}  // namespace slim::binding

namespace pybind11 {

struct none {};

// py::arg("x"), py::arg("x") = value.
struct arg {
  const char* name;
  PyObject* otherwise = nullptr;
  constexpr explicit arg(const char* name) : name(name) {}
  template <typename T>
  arg operator=(const T& value) const {
    using Plain = std::conditional_t<std::is_array_v<T>, const char*, T>;
    arg with(*this);
    if constexpr (std::is_same_v<T, std::nullopt_t> || std::is_same_v<T, none>) with.otherwise = slim::binding::make_none();
    else with.otherwise = slim::binding::Result<Plain>::make(value);
    return with;
  }
};
namespace literals {
constexpr arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals

struct gil_scoped_release {
  slim::binding::ReleasedGil released;
};
template <typename Guard>
struct call_guard;
template <>
struct call_guard<gil_scoped_release> {};

class module_ {
  PyObject* created_;

 public:
  explicit module_(PyObject* module) : created_(module) {}
  PyObject* ptr() const { return created_; }

  struct Doc {
    PyObject* module;
    void operator=(const char* text) { slim::binding::set_doc(module, text); }
    void operator=(const std::string& text) { slim::binding::set_doc(module, text.c_str()); }
  };
  Doc doc() { return {created_}; }

  struct Attribute {
    PyObject* module;
    const char* name;
    template <typename T>
    void operator=(const T& value) {
      using Plain = std::conditional_t<std::is_array_v<T>, const char*, T>;
      slim::binding::add_object(module, name, slim::binding::Result<Plain>::make(value));
    }
  };
  Attribute attr(const char* name) { return {created_, name}; }

  template <typename F, typename... Extra>
  module_& def(const char* name, F&& function, const Extra&... extra) {
    add(name, std::forward<F>(function), extra...);
    return *this;
  }

 private:
  template <typename F, typename... Extra>
  void add(const char* name, F&& function, const Extra&... extra);
};
using module = module_;

}  // namespace pybind11

namespace slim::binding {

// torch::wrap_pybind_function(f): f, with torch's translation of errors.
template <typename F, typename Guard>
struct Wrapped {
  F function;
};

template <typename F>
struct Signature : Signature<decltype(&F::operator())> {};
template <typename R, typename... A>
struct Signature<R (*)(A...)> {
  static constexpr size_t count = sizeof...(A);
  template <typename F, typename Guard>
  static constexpr Call caller() { return &call<F, Guard, R, A...>; }
  static std::vector<Argument> arguments() {
    std::vector<Argument> all(sizeof...(A));
    size_t next = 0;
    ((all[next++].type = Parameter<std::decay_t<A>>::name()), ...);
    return all;
  }
  static std::string result() { return result_name<R>(); }
};
template <typename R, typename... A>
struct Signature<R (*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <typename R, typename C, typename... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <typename R, typename C, typename... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};

template <typename F>
struct Target {
  using Function = std::decay_t<F>;
  static constexpr bool wrapped = false;
  using Guard = KeptGil;
};
template <typename F, typename G>
struct Target<Wrapped<F, G>> {
  using Function = F;
  static constexpr bool wrapped = true;
  using Guard = G;
};

// What follows the function in `m.def`: docstrings, arguments and guards.
struct Extras {
  const char* doc = "";
  std::vector<pybind11::arg> arguments;
  bool release = false;
  void add(const char* text) { doc = text; }
  void add(const pybind11::arg& argument) { arguments.push_back(argument); }
  void add(const pybind11::call_guard<pybind11::gil_scoped_release>&) { release = true; }
};

template <typename F>
void define(PyObject* module, const char* name, F function, const Extras& extras, bool wrapped, Call held, Call released,
            std::vector<Argument> arguments, std::string result) {
  for (size_t i = 0; i < extras.arguments.size() && i < arguments.size(); ++i) {
    const pybind11::arg& given = extras.arguments[i];
    arguments[i].name = given.name;
    arguments[i].otherwise = given.otherwise;
  }
  // Both live as long as the module, which is as long as the process.
  auto* kept = new std::vector<Argument>(std::move(arguments));
  auto* target = new F(std::move(function));
  add_function(module, name, Overload{extras.doc, extras.release ? released : held, target, kept->data(), kept->size(),
                                      std::move(result), wrapped});
}

}  // namespace slim::binding

template <typename F, typename... Extra>
void pybind11::module_::add(const char* name, F&& function, const Extra&... extra) {
  using namespace slim::binding;
  using Kind = Target<std::decay_t<F>>;
  using Function = typename Kind::Function;
  using Shape = slim::binding::Signature<Function>;
  Extras extras;
  (extras.add(extra), ...);
  Function plain = [&]() -> Function {
    if constexpr (Kind::wrapped) return function.function;
    else return std::forward<F>(function);
  }();
  define(created_, name, std::move(plain), extras, Kind::wrapped, Shape::template caller<Function, typename Kind::Guard>(),
         Shape::template caller<Function, ReleasedGil>(), Shape::arguments(), Shape::result());
}

namespace torch {
template <typename F>
auto wrap_pybind_function(F&& function) {
  return slim::binding::Wrapped<std::decay_t<F>, slim::binding::KeptGil>{std::forward<F>(function)};
}
template <typename F>
auto wrap_pybind_function_no_gil(F&& function) {
  return slim::binding::Wrapped<std::decay_t<F>, slim::binding::ReleasedGil>{std::forward<F>(function)};
}
}  // namespace torch

namespace py = pybind11;

#define SLIM_TEXT_(name) #name
#define SLIM_TEXT(name) SLIM_TEXT_(name)
#define SLIM_JOIN_(a, b) a##b
#define SLIM_JOIN(a, b) SLIM_JOIN_(a, b)
#define PYBIND11_MODULE(name, variable, ...)                                                            \
  static void SLIM_JOIN(slim_module_, name)(::pybind11::module_&);                                      \
  extern "C" SLIM_API PyObject* SLIM_JOIN(PyInit_, name)() {                                            \
    return ::slim::binding::initialise(SLIM_TEXT(name), [](PyObject* created) {                         \
      ::pybind11::module_ module(created);                                                              \
      SLIM_JOIN(slim_module_, name)(module);                                                            \
    });                                                                                                 \
  }                                                                                                     \
  void SLIM_JOIN(slim_module_, name)([[maybe_unused]] ::pybind11::module_& variable)
#define PYBIND11_MODULE_NAME TORCH_EXTENSION_NAME
