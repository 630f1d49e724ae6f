// pybind11's classes of Python objects, where a source names one.
#pragma once

#include <stdexcept>
#include <typeinfo>

#include <slim/binding_shim.h>  // and PyObject's own functions, by Python.h

namespace pybind11 {

class object;
class Attribute;
class Subscript;

// What every object can do. `Derived` gives the object by `ptr()`.
template <typename Derived>
class object_api {
  PyObject* self() const { return static_cast<const Derived&>(*this).ptr(); }

 public:
  Attribute attr(const char* name) const;
  template <typename Key>
  Subscript operator[](const Key& key) const;
  template <typename... A>
  object operator()(const A&... arguments) const;
  template <typename T>
  bool contains(const T& item) const;
  bool is_none() const { return slim::binding::is_none(self()); }
  bool is(const object_api& other) const { return self() == other.self(); }
  template <typename T>
  T cast() const;
};

class handle : public object_api<handle> {
 protected:
  PyObject* pointer_ = nullptr;

 public:
  handle() = default;
  handle(PyObject* pointer) : pointer_(pointer) {}
  PyObject* ptr() const { return pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
};

class object : public handle {
 public:
  static constexpr auto kind = slim::binding::Kind::object;
  object() = default;
  object(const object& other) : handle(other) { slim::binding::retain(pointer_); }
  object(object&& other) noexcept : handle(other) { other.pointer_ = nullptr; }
  object& operator=(const object& other) {
    object copy(other);
    std::swap(pointer_, copy.pointer_);
    return *this;
  }
  object& operator=(object&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~object() { slim::binding::drop(pointer_); }

  struct Taken {};
  object(PyObject* pointer, Taken) : handle(pointer) {}
};

template <typename T>
T reinterpret_steal(handle from) {
  return T(from.ptr(), object::Taken());
}
template <typename T>
T reinterpret_borrow(handle from) {
  slim::binding::retain(from.ptr());
  return reinterpret_steal<T>(from);
}

template <typename T>
constexpr bool is_object = std::is_base_of_v<object, T>;
template <typename T>
constexpr bool is_pyobject =
    std::is_base_of_v<handle, T> || std::is_same_v<T, Attribute> || std::is_same_v<T, Subscript>;

// A value as a new reference.
template <typename T>
PyObject* to_python(const T& value) {
  if constexpr (std::is_base_of_v<handle, T>) {
    slim::binding::retain(value.ptr());
    return value.ptr();
  } else if constexpr (std::is_same_v<T, Attribute> || std::is_same_v<T, Subscript>) {
    return to_python(static_cast<const object&>(value.get()));
  } else if constexpr (std::is_array_v<T>) {
    return slim::binding::Result<const char*>::make(value);
  } else {
    return slim::binding::Result<T>::make(value);
  }
}

// `x.attr("name")`, which is read when it is used and written when it is assigned to.
class Attribute : public object_api<Attribute> {
  object owner_;
  const char* name_;
  mutable object found_;

 public:
  Attribute(object owner, const char* name) : owner_(std::move(owner)), name_(name) {}
  const object& get() const {
    if (!found_) found_ = reinterpret_steal<object>(slim::binding::get_attribute(owner_.ptr(), name_));
    return found_;
  }
  PyObject* ptr() const { return get().ptr(); }
  operator object() const { return get(); }
  Attribute(const Attribute&) = default;
  void operator=(const Attribute& value) && { set(value); }  // not the implicit one, which would write nothing
  template <typename T>
  void operator=(const T& value) && { set(value); }

 private:
  template <typename T>
  void set(const T& value) const { slim::binding::set_attribute(owner_.ptr(), name_, to_python(value)); }
};
class Subscript : public object_api<Subscript> {
  object owner_, key_;
  mutable object found_;

 public:
  Subscript(object owner, object key) : owner_(std::move(owner)), key_(std::move(key)) {}
  const object& get() const {
    if (!found_) found_ = reinterpret_steal<object>(slim::binding::get_subscript(owner_.ptr(), to_python(key_)));
    return found_;
  }
  PyObject* ptr() const { return get().ptr(); }
  operator object() const { return get(); }
  Subscript(const Subscript&) = default;
  void operator=(const Subscript& value) && { set(value); }
  template <typename T>
  void operator=(const T& value) && { set(value); }

 private:
  template <typename T>
  void set(const T& value) const { slim::binding::set_subscript(owner_.ptr(), to_python(key_), to_python(value)); }
};

// An iteration over anything that Python iterates over; what it points to lives until the next step.
class iterator {
  object source_, item_;
  handle shown_;

 public:
  iterator() = default;
  explicit iterator(PyObject* object_to_read)
      : source_(reinterpret_steal<object>(slim::binding::iterator_of(object_to_read))) {
    ++*this;
  }
  const handle& operator*() const { return shown_; }
  const handle* operator->() const { return &shown_; }
  iterator& operator++() {
    item_ = reinterpret_steal<object>(slim::binding::next_of(source_.ptr()));
    shown_ = item_;
    return *this;
  }
  bool operator==(const iterator& other) const { return shown_.ptr() == other.shown_.ptr(); }
  bool operator!=(const iterator& other) const { return !(*this == other); }
};

// The classes: built from another object as pybind11 converts it.
#define SLIM_CLASS(name)                                                                                \
 public:                                                                                                \
  static constexpr auto kind = slim::binding::Kind::name;                                               \
  name(PyObject* pointer, Taken taken) : object(pointer, taken) {}                                      \
  name(const object& other) : object(slim::binding::convert_to(kind, other.ptr()), Taken()) {}          \
  name(const Attribute& other) : name(other.get()) {}                                                   \
  name(const Subscript& other) : name(other.get()) {}
// Elements by their number, which is no other type's for these.
#define SLIM_NUMBERED(integer)                                                                          \
  Subscript operator[](size_t index) const {                                                            \
    return Subscript(*this, reinterpret_steal<object>(to_python(static_cast<integer>(index))));         \
  }                                                                                                     \
  template <typename Key, typename = std::enable_if_t<is_pyobject<Key>>>                                \
  Subscript operator[](const Key& key) const { return object::operator[](key); }
#define SLIM_ITERABLE                                                                                   \
  iterator begin() const { return iterator(ptr()); }                                                    \
  iterator end() const { return {}; }

class none : public object {
  SLIM_CLASS(none)
  none() : object(slim::binding::make_none(), Taken()) {}
};
class int_ : public object {
  SLIM_CLASS(int_)
  int_() : int_(int64_t{0}) {}
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  int_(T value) : object(to_python(static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value)), Taken()) {}
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  operator T() const {
    static_assert(!sizeof(T), "pybind11 cuts off what does not fit, and leaves an error behind: left to stock");
    return T();
  }
};
class float_ : public object {
  SLIM_CLASS(float_)
  float_(float value) : float_(static_cast<double>(value)) {}
  float_(double value = 0.0) : object(to_python(value), Taken()) {}
  operator float() const { return cast<float>(); }
  operator double() const { return cast<double>(); }
};
class bool_ : public object {
  SLIM_CLASS(bool_)
  bool_() : bool_(false) {}
  bool_(bool value) : object(to_python(value), Taken()) {}
  operator bool() const { return cast<bool>(); }
};
class str : public object {
  SLIM_CLASS(str)
  str(const char* text = "") : object(to_python(std::string(text)), Taken()) {}
  str(const std::string& text) : object(to_python(text), Taken()) {}
  explicit str(handle other) : object(slim::binding::convert_to(kind, other.ptr()), Taken()) {}
  operator std::string() const { return cast<std::string>(); }
};
class tuple : public object {
  SLIM_CLASS(tuple)
  tuple() : object(slim::binding::make_tuple(0), Taken()) {}
  SLIM_NUMBERED(uint64_t)
  size_t size() const { return slim::binding::length_of(ptr()); }
  bool empty() const { return size() == 0; }
  SLIM_ITERABLE
};
class sequence : public object {
  SLIM_CLASS(sequence)
  SLIM_NUMBERED(int64_t)
  size_t size() const { return slim::binding::length_of(ptr()); }
  bool empty() const { return size() == 0; }
  SLIM_ITERABLE
};
class iterable : public object {
  SLIM_CLASS(iterable)
  SLIM_ITERABLE
};
class function : public object {
  SLIM_CLASS(function)
};
class list : public object {
  SLIM_CLASS(list)
  list() : object(slim::binding::make_list(0), Taken()) {}
  SLIM_NUMBERED(uint64_t)
  size_t size() const { return slim::binding::length_of(ptr()); }
  bool empty() const { return size() == 0; }
  template <typename T>
  void append(const T& item) const { slim::binding::append_to(ptr(), to_python(item)); }
  SLIM_ITERABLE
};

// A dict and its entries, as they are when the iteration begins.
class dict : public object {
 public:
  class iterator {
    std::vector<object> items_;
    std::pair<handle, handle> shown_;
    size_t next_ = 0;
    void show() { if (next_ < items_.size()) shown_ = {items_[next_], items_[next_ + 1]}; }

   public:
    iterator() = default;
    explicit iterator(const std::vector<PyObject*>& items) {
      for (PyObject* item : items) items_.push_back(reinterpret_steal<object>(item));
      show();
    }
    const std::pair<handle, handle>& operator*() const { return shown_; }
    const std::pair<handle, handle>* operator->() const { return &shown_; }
    iterator& operator++() {
      next_ += 2;
      show();
      return *this;
    }
    // Only ever compared with the end.
    bool operator!=(const iterator&) const { return next_ < items_.size(); }
  };
  SLIM_CLASS(dict)
  dict() : object(slim::binding::make_dict(), Taken()) {}
  size_t size() const { return slim::binding::length_of(ptr()); }
  bool empty() const { return size() == 0; }
  iterator begin() const { return iterator(slim::binding::pairs_of(ptr())); }
  iterator end() const { return {}; }
};
#undef SLIM_CLASS
#undef SLIM_ITERABLE
#undef SLIM_NUMBERED

template <typename Derived>
Attribute object_api<Derived>::attr(const char* name) const {
  return Attribute(reinterpret_borrow<object>(self()), name);
}
template <typename Derived>
template <typename Key>
Subscript object_api<Derived>::operator[](const Key& key) const {
  static_assert(is_pyobject<Key> || std::is_convertible_v<const Key&, const char*>, "a key is an object or a text");
  return Subscript(reinterpret_borrow<object>(self()), reinterpret_steal<object>(to_python(key)));
}
template <typename Derived>
template <typename... A>
object object_api<Derived>::operator()(const A&... arguments) const {
  PyObject* places = slim::binding::make_tuple(sizeof...(A));
  size_t next = 0;
  (slim::binding::set_item(places, next++, to_python(arguments)), ...);
  return reinterpret_steal<object>(slim::binding::call_object(self(), places, nullptr));
}
template <typename Derived>
template <typename T>
bool object_api<Derived>::contains(const T& item) const {
  return slim::binding::contains(self(), to_python(item));
}
template <typename Derived>
template <typename T>
T object_api<Derived>::cast() const {
  if constexpr (is_object<T>) {
    if constexpr (std::is_same_v<T, object>) return reinterpret_borrow<object>(self());
    else return T(reinterpret_borrow<object>(self()));
  } else if constexpr (!std::is_void_v<T>) {
    slim::binding::Parameter<T> value;
    if (!value.load(self(), true)) slim::binding::cast_failed(self(), typeid(T).name());
    return std::move(value.get());
  }
}

template <typename T>
T cast(const handle& from) { return from.cast<T>(); }
// Not of what `x.attr("a")` and `x["a"]` give, which stock refuses as well.
template <typename T, typename = std::enable_if_t<!is_pyobject<T>>>
object cast(const T& value) { return reinterpret_steal<object>(to_python(value)); }
template <typename T, typename = std::enable_if_t<is_object<T>>>
bool isinstance(handle from) { return slim::binding::is_a(T::kind, from.ptr()); }
inline size_t len(handle of) { return slim::binding::length_of(of.ptr()); }
inline bool hasattr(handle of, const char* name) { return slim::binding::has_attribute(of.ptr(), name); }
inline object getattr(handle of, const char* name) {
  return reinterpret_steal<object>(slim::binding::get_attribute(of.ptr(), name));
}
inline str repr(handle of) { return reinterpret_steal<str>(slim::binding::representation(of.ptr())); }
namespace typing {
template <typename... A>
class Tuple : public tuple {
 public:
  using tuple::tuple;
};
}  // namespace typing
template <typename... A>
typing::Tuple<A...> make_tuple(const A&... items) {
  PyObject* made = slim::binding::make_tuple(sizeof...(A));
  size_t next = 0;
  (slim::binding::set_item(made, next++, to_python(items)), ...);
  return reinterpret_steal<typing::Tuple<A...>>(made);
}
template <typename... A>
void print(const A&... items) {
  tuple all = make_tuple(items...);
  slim::binding::retain(all.ptr());
  slim::binding::print(all.ptr());
}

// Exceptions that become Python's. Laid out as pybind11's are, because libslim catches them as those.
class __attribute__((visibility("default"))) builtin_exception : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  virtual void set_error() const = 0;
};
#define SLIM_ERROR(name, raised)                                                                        \
  class __attribute__((visibility("default"))) name : public builtin_exception {                       \
   public:                                                                                              \
    using builtin_exception::builtin_exception;                                                         \
    name() : name("") {}                                                                                \
    void set_error() const override { slim::binding::set_error(slim::binding::Raised::raised, what()); } \
  };
SLIM_ERROR(value_error, Value)
SLIM_ERROR(type_error, Type)
SLIM_ERROR(index_error, Index)
SLIM_ERROR(key_error, Key)
SLIM_ERROR(import_error, Import)
SLIM_ERROR(stop_iteration, Stop)
#undef SLIM_ERROR

}  // namespace pybind11

namespace slim::binding {

template <typename T>
struct ObjectParameter {
  T value;
  ObjectParameter() : value(nullptr, pybind11::object::Taken()) {}
  bool load(PyObject* object, bool convert) {
    PyObject* found = load_object(T::kind, object, convert);
    if (!found) return false;
    value = pybind11::reinterpret_steal<T>(found);
    return true;
  }
  T& get() { return value; }
  static std::string name(bool argument = true) { return kind_name(T::kind, argument); }
};
template <typename T>
struct ObjectResult {
  static PyObject* make(const T& value) { return pybind11::to_python(value); }
  static std::string name() { return kind_name(T::kind, false); }
};
template <typename... A>
struct Result<pybind11::typing::Tuple<A...>> : ObjectResult<pybind11::tuple> {
  template <typename T>
  static std::string name_of() {
    if constexpr (std::is_array_v<T>) return Result<const char*>::name();
    else return Result<T>::name();
  }
  static std::string name() {
    std::string inner;
    ((inner += (inner.empty() ? "" : ", ") + name_of<A>()), ...);
    return typed_tuple_name(inner);
  }
};
#define SLIM_PASSED(name)                                                                               \
  template <>                                                                                           \
  struct Parameter<pybind11::name> : ObjectParameter<pybind11::name> {};                                \
  template <>                                                                                           \
  struct Result<pybind11::name> : ObjectResult<pybind11::name> {};
SLIM_PASSED(object) SLIM_PASSED(list) SLIM_PASSED(tuple) SLIM_PASSED(dict) SLIM_PASSED(str) SLIM_PASSED(int_)
SLIM_PASSED(float_) SLIM_PASSED(bool_) SLIM_PASSED(none) SLIM_PASSED(sequence) SLIM_PASSED(iterable) SLIM_PASSED(function)
#undef SLIM_PASSED

}  // namespace slim::binding
