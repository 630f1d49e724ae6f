// PYBIND11_MODULE, m.def and py::arg without pybind11's headers: templates that take a function's signature apart.
#pragma once

#include <slim/torch_all.h>

// As torch/csrc/python_headers.h includes them: their names and macros are part of what a source sees.
#include <Python.h>
#include <frameobject.h>
#include <structseq.h>

#include <slim/extension_versions.h>

#include <slim/binding_shim.h>

#include <memory>

namespace slim::binding {

// How a parameter of type T is read from Python. `Slot` holds the value while the call runs.
template <typename T>
struct Parameter {
  T value{};
  bool load(PyObject* object, bool convert) { return binding::load(object, convert, value); }
  T& get() { return value; }
  static std::string name(bool argument = true) { return name_of(static_cast<const T*>(nullptr), argument); }
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
  static std::string name(bool argument = true) { return Parameter<int64_t>::name(argument); }
};
template <>
struct Parameter<c10::Device> {
  c10::Device value{c10::DeviceType::CPU};
  bool load(PyObject* object, bool convert) { return binding::load(object, convert, value); }
  c10::Device& get() { return value; }
  static std::string name(bool argument = true) { return name_of(static_cast<const c10::Device*>(nullptr), argument); }
};
template <>
struct Parameter<const char*> {
  std::string text;
  const char* value = nullptr;
  bool load(PyObject* object, bool convert) {
    if (is_none(object)) return convert;
    bool fits = binding::load(object, convert, text);
    value = text.c_str();
    return fits;
  }
  const char*& get() { return value; }
  static std::string name(bool argument = true) { return Parameter<std::string>::name(argument); }
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
  static std::string name(bool argument = true) { return container_name(Container::Optional, Parameter<T>::name(argument), argument); }
};

// The elements of a container, as pybind11's caster of that container finds them.
struct Items {
  std::vector<PyObject*> all;
  Items() = default;
  Items(const Items&) = delete;
  ~Items() { for (PyObject* item : all) drop(item); }
};
template <typename T, typename Use>
bool load_each(PyObject* object, bool convert, Container container, Use use) {
  Items items;
  if (!items_of(object, convert, container, items.all)) return false;
  for (PyObject* item : items.all) {
    Parameter<T> inner;
    if (!inner.load(item, convert)) return false;
    use(std::move(inner.get()));
  }
  return true;
}
template <typename T>
struct Parameter<std::vector<T>> {
  std::vector<T> value;
  bool load(PyObject* object, bool convert) {
    return load_each<T>(object, convert, Container::List, [&](T&& item) { value.push_back(std::move(item)); });
  }
  std::vector<T>& get() { return value; }
  static std::string name(bool argument = true) { return container_name(Container::List, Parameter<T>::name(argument), argument); }
};
template <typename T, size_t N>
struct Parameter<std::array<T, N>> {
  std::array<T, N> value;
  bool load(PyObject* object, bool convert) {
    size_t found = 0;
    const auto keep = [&](T&& item) { if (found++ < N) value[found - 1] = std::move(item); };
    return load_each<T>(object, convert, Container::List, keep) && found == N;
  }
  std::array<T, N>& get() { return value; }
  static std::string name(bool argument = true) { return array_name(Parameter<T>::name(argument), N, argument); }
};
template <typename Set>
struct SetParameter {
  using T = typename Set::value_type;
  Set value;
  bool load(PyObject* object, bool convert) {
    return load_each<T>(object, convert, Container::Set, [&](T&& item) { value.insert(std::move(item)); });
  }
  Set& get() { return value; }
  static std::string name(bool argument = true) { return container_name(Container::Set, Parameter<T>::name(argument), argument); }
};
template <typename Map>
struct MapParameter {
  using K = typename Map::key_type;
  using V = typename Map::mapped_type;
  Map value;
  bool load(PyObject* object, bool convert) {
    Items items;
    if (!items_of(object, convert, Container::Map, items.all)) return false;
    for (size_t i = 0; i < items.all.size(); i += 2) {
      Parameter<K> key;
      Parameter<V> entry;
      if (!key.load(items.all[i], convert) || !entry.load(items.all[i + 1], convert)) return false;
      value.emplace(std::move(key.get()), std::move(entry.get()));
    }
    return true;
  }
  Map& get() { return value; }
  static std::string name(bool argument = true) {
    return container_name(Container::Map, Parameter<K>::name(argument) + ", " + Parameter<V>::name(argument), argument);
  }
};
template <typename Tuple, typename... T>
struct TupleParameter {
  std::tuple<Parameter<std::decay_t<T>>...> slots;
  std::optional<Tuple> value;
  bool load(PyObject* object, bool convert) {
    Items items;
    if (!items_of(object, convert, Container::Tuple, items.all) || items.all.size() != sizeof...(T)) return false;
    size_t next = 0;
    bool fits = true;
    std::apply([&](auto&... slot) { ((fits = fits && slot.load(items.all[next++], convert)), ...); }, slots);
    if (fits) std::apply([&](auto&... slot) { value.emplace(std::move(slot.get())...); }, slots);
    return fits;
  }
  Tuple& get() { return *value; }
  static std::string name(bool argument = true) {
    std::string inner;
    ((inner += (inner.empty() ? "" : ", ") + Parameter<std::decay_t<T>>::name(argument)), ...);
    return container_name(Container::Tuple, inner, argument);
  }
};
template <typename... T>
struct Parameter<std::tuple<T...>> : TupleParameter<std::tuple<T...>, T...> {};
template <typename A, typename B>
struct Parameter<std::pair<A, B>> : TupleParameter<std::pair<A, B>, A, B> {};
// An ArrayRef points into the slot, so it may be a parameter and no part of one. Stock has no caster for other elements.
template <>
struct Parameter<c10::IntArrayRef> {
  std::vector<int64_t> numbers;
  c10::IntArrayRef value;
  Parameter() = default;
  Parameter(const Parameter&) = delete;
  bool load(PyObject* object, bool) {
    if (!load_integers(object, numbers)) return false;
    value = c10::IntArrayRef(numbers);
    return true;
  }
  c10::IntArrayRef& get() { return value; }
  static std::string name(bool argument = true) { return integers_name(argument); }
};
template <typename T>
struct Parameter<c10::ArrayRef<T>>;
template <typename T>
struct Parameter<std::optional<c10::ArrayRef<T>>>;
template <typename T>
struct Parameter<std::vector<c10::ArrayRef<T>>>;

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
  static std::string name() { return container_name(Container::Optional, Result<T>::name(), false); }
};
template <typename T>
struct Result<std::vector<T>> {
  static PyObject* make(const std::vector<T>& values) {
    PyObject* list = make_list(values.size());
    for (size_t i = 0; i < values.size(); ++i) set_item(list, i, Result<T>::make(values[i]));
    return list;
  }
  static std::string name() { return container_name(Container::List, Result<T>::name(), false); }
};
template <typename T, size_t N>
struct Result<std::array<T, N>> {
  static PyObject* make(const std::array<T, N>& values) {
    PyObject* list = make_list(N);
    for (size_t i = 0; i < N; ++i) set_item(list, i, Result<T>::make(values[i]));
    return list;
  }
  static std::string name() { return array_name(Result<T>::name(), N, false); }
};
template <typename Set>
struct SetResult {
  static PyObject* make(const Set& values) {
    PyObject* set = make_set();
    for (const auto& value : values) add_item(set, Result<typename Set::value_type>::make(value));
    return set;
  }
  static std::string name() { return container_name(Container::Set, Result<typename Set::value_type>::name(), false); }
};
template <typename Map>
struct MapResult {
  using K = typename Map::key_type;
  using V = typename Map::mapped_type;
  static PyObject* make(const Map& values) {
    PyObject* dict = make_dict();
    for (const auto& entry : values) add_pair(dict, Result<K>::make(entry.first), Result<V>::make(entry.second));
    return dict;
  }
  static std::string name() {
    return container_name(Container::Map, Result<K>::name() + ", " + Result<V>::name(), false);
  }
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
    std::string inner;
    ((inner += (inner.empty() ? "" : ", ") + Result<T>::name()), ...);
    return container_name(Container::Tuple, inner, false);
  }
};
template <typename A, typename B>
struct Result<std::pair<A, B>> {
  static PyObject* make(const std::pair<A, B>& value) {
    return Result<std::tuple<A, B>>::make(std::tuple<A, B>(value.first, value.second));
  }
  static std::string name() { return Result<std::tuple<A, B>>::name(); }
};

// Containers that are read only where a source names them.
#ifdef SLIM_MAP
template <typename K, typename V>
struct Parameter<std::map<K, V>> : MapParameter<std::map<K, V>> {};
template <typename K, typename V>
struct Result<std::map<K, V>> : MapResult<std::map<K, V>> {};
#endif
#ifdef SLIM_UNORDERED_MAP
template <typename K, typename V>
struct Parameter<std::unordered_map<K, V>> : MapParameter<std::unordered_map<K, V>> {};
template <typename K, typename V>
struct Result<std::unordered_map<K, V>> : MapResult<std::unordered_map<K, V>> {};
#endif
#ifdef SLIM_SET
template <typename T>
struct Parameter<std::set<T>> : SetParameter<std::set<T>> {};
template <typename T>
struct Result<std::set<T>> : SetResult<std::set<T>> {};
#endif

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
PyObject* call(void* target, PyObject* const* given, [[maybe_unused]] const Argument* arguments, bool convert) {
  std::tuple<Parameter<std::decay_t<A>>...> slots;
  bool fits = true;
  size_t next = 0;
  [[maybe_unused]] const auto load_next = [&](auto& slot) {
    const size_t i = next++;
    return slot.load(given[i], convert && arguments[i].convert);
  };
  std::apply([&](auto&... slot) { ((fits = fits && load_next(slot)), ...); }, slots);
  if (!fits) return refused();
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

#ifdef SLIM_OBJECTS
#include <slim/objects.h>
#endif

namespace pybind11 {

#ifndef SLIM_OBJECTS
struct none {};
#endif

// py::arg("x"), py::arg("x") = value.
struct arg {
  const char* name;
  PyObject* otherwise = nullptr;
  bool convert = true;
  bool takes_none = true;
  constexpr explicit arg(const char* name) : name(name) {}
  arg& noconvert(bool flag = true) {
    convert = !flag;
    return *this;
  }
  arg& none(bool flag = true) {
    takes_none = flag;
    return *this;
  }
  arg operator=(const arg&) const = delete;
  template <typename T>
  arg operator=(const T& value) const {
    using Plain = std::conditional_t<std::is_array_v<T>, const char*, T>;
    arg with(*this);
    if constexpr (std::is_same_v<T, std::nullopt_t> || std::is_same_v<T, ::pybind11::none>) with.otherwise = slim::binding::make_none();
    else with.otherwise = slim::binding::Result<Plain>::make(value);
    return with;
  }
};
namespace literals {
constexpr arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals

// How a result is owned, which no type that is passed by value asks about.
enum class return_value_policy : uint8_t {
  automatic, automatic_reference, take_ownership, copy, move, reference, reference_internal
};
struct kw_only {};
struct pos_only {};

struct gil_scoped_release {
  slim::binding::ReleasedGil released;
};
class gil_scoped_acquire {
  int state_ = slim::binding::hold_gil();

 public:
  gil_scoped_acquire() = default;
  gil_scoped_acquire(const gil_scoped_acquire&) = delete;
  ~gil_scoped_acquire() { slim::binding::leave_gil(state_); }
};

// Which of several functions of one name is meant.
template <typename... A>
struct overload_cast_of {
  template <typename R>
  constexpr auto operator()(R (*function)(A...)) const noexcept -> R (*)(A...) { return function; }
};
template <typename... A>
constexpr overload_cast_of<A...> overload_cast{};
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
  module_ def_submodule(const char* name, const char* doc = nullptr) {
    return module_(slim::binding::submodule(created_, name, doc));
  }
#ifdef SLIM_OBJECTS
  static object import(const char* name) { return reinterpret_steal<object>(slim::binding::import_module(name)); }
#endif

  struct Attribute {
    PyObject* module;
    const char* name;
    void operator=(const Attribute&) = delete;
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

// Which of some types is the first T; their number where none is.
template <typename T, typename... All>
constexpr size_t place_of = [] {
  size_t place = 0;
  (void)((std::is_same_v<T, All> || (++place, false)) || ...);
  return place;
}();

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
    ((all[next].type = Parameter<std::decay_t<A>>::name(), all[next++].strict = Parameter<std::decay_t<A>>::name(false)), ...);
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
  std::optional<size_t> positional;
  size_t nameless = 0;
  void add(pybind11::return_value_policy) {}
  void add(const pybind11::kw_only&) { positional = arguments.size(); }
  void add(const pybind11::pos_only&) { nameless = arguments.size(); }
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
    arguments[i].convert = given.convert;
    arguments[i].none = given.takes_none;
  }
  // Both live as long as the module, which is as long as the process.
  auto* kept = new std::vector<Argument>(std::move(arguments));
  auto* target = new F(std::move(function));
  add_function(module, name, Overload{extras.doc, extras.release ? released : held, target, kept->data(), kept->size(),
                                      extras.positional.value_or(kept->size()), extras.nameless, std::move(result),
                                      wrapped});
}

}  // namespace slim::binding

template <typename F, typename... Extra>
void pybind11::module_::add(const char* name, F&& function, const Extra&... extra) {
  using namespace slim::binding;
  using Kind = Target<std::decay_t<F>>;
  using Function = typename Kind::Function;
  using Shape = slim::binding::Signature<Function>;
  constexpr size_t named = (size_t{0} + ... + size_t{std::is_same_v<Extra, arg>});
  constexpr size_t keyword = (size_t{0} + ... + size_t{std::is_same_v<Extra, kw_only>});
  constexpr size_t positional = (size_t{0} + ... + size_t{std::is_same_v<Extra, pos_only>});
  static_assert(named == 0 || named == Shape::count,
                "The number of argument annotations does not match the number of function arguments");
  static_assert(named || !(keyword + positional), "py::kw_only and py::pos_only require the use of argument annotations");
  static_assert(keyword <= 1 && positional <= 1, "py::kw_only and py::pos_only may be specified only once");
  static_assert(!keyword || !positional || place_of<pos_only, Extra...> < place_of<kw_only, Extra...>,
                "py::pos_only must come before py::kw_only");
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
#define PYBIND11_MODULE(name, variable)                                                                 \
  static void SLIM_JOIN(slim_module_, name)(::pybind11::module_&);                                      \
  extern "C" SLIM_API PyObject* SLIM_JOIN(PyInit_, name)() {                                            \
    return ::slim::binding::initialise(SLIM_TEXT(name), [](PyObject* created) {                         \
      ::pybind11::module_ module(created);                                                              \
      SLIM_JOIN(slim_module_, name)(module);                                                            \
    });                                                                                                 \
  }                                                                                                     \
  void SLIM_JOIN(slim_module_, name)([[maybe_unused]] ::pybind11::module_& variable)
#define PYBIND11_MODULE_NAME TORCH_EXTENSION_NAME
