// Python's objects in C++.

// --- an-object-made
// for: py::int_(1) | py::int_(true) | py::int_('c') | py::int_(2.5) | py::int_(3ull) | py::float_(1) | py::float_(1.5f) | py::float_(1.5) | py::float_(1L) | py::bool_(true) | py::bool_(1) | py::bool_(0.5) | py::str("a") | py::str(std::string("b")) | py::str('c') | py::str(3) | py::none() | py::list() | py::list(3) | py::tuple() | py::tuple(2) | py::dict() | py::make_tuple(1, 2.5, "a", true) | py::make_tuple('c') | py::make_tuple(torch::ones(1), torch::kFloat) | py::make_tuple(torch::kCPU) | py::cast(1) | py::cast('c') | py::cast("a") | py::cast(1.5f) | py::cast(3ull) | py::cast(true) | py::cast(std::vector<int>{1}) | py::cast(torch::ones(1)) | py::cast(torch::kCPU) | py::cast(torch::kHalf) | py::cast(nullptr) | py::cast(L'c') | py::cast(2.0L) | py::cast(std::string("a")) | py::cast(std::make_pair(1, 2)) | py::cast(E::A) | py::cast(A) | py::cast(at::Scalar(3)) | py::bytes("a") | py::set() | py::slice(0, 1, 1) | py::eval("1+1") | py::repr(py::int_(1)) | py::type::of(py::int_(1)) | py::object() | py::reinterpret_borrow<py::object>(Py_None) | py::ellipsis() | py::int_(py::str("12")) | py::float_(py::int_(3)) | py::str(py::int_(3)) | py::list(py::make_tuple(1, 2)) | py::tuple(py::list()) | py::dict(py::arg("a") = 1)
// call: f()
enum P { A, B };
enum class E { A };
py::object f() { return @; }

// --- an-object-read
// for: o[0] | o[-1] | o["a"] | o[py::int_(0)] | o[py::str("a")] | o[std::string("a")] | o.attr("a") | o.attr("__len__")() | o.cast<int>() | o.cast<float>() | o.cast<std::string>() | o.cast<torch::Tensor>() | o.cast<std::vector<int>>() | o.cast<py::list>() | o.cast<py::dict>() | o.cast<char>() | o.cast<long double>() | o.cast<torch::Device>() | o.cast<at::DeviceType>() | o.cast<torch::IntArrayRef>() | o.is_none() | o.contains("a") | o.contains(1) | py::len(o) | py::isinstance<py::list>(o) | py::isinstance<torch::Tensor>(o) | py::isinstance<py::int_>(o) | py::hasattr(o, "shape") | py::getattr(o, "shape") | py::getattr(o, "nope", py::none()) | py::str(o) | py::repr(o) | py::bool_(o) | py::list(o) | py::tuple(o) | py::dict(o) | (bool)o | o.ref_count() > 0 | o.equal(o) | o == o | o.is(o) | o(1) | o(1, "a") | o(py::arg("k") = 1) | o.doc() | o.get_type() | py::cast<int>(o) | py::cast<torch::Tensor>(o) | *o.begin() | o.begin() == o.end() | -o | o + o | int(py::int_(o)) | float(py::float_(o)) | std::string(py::str(o)) | Py_IsNone(o.ptr())
// each: f(V)
py::object f(py::object o) { return py::cast(@); }

// --- a-list-read
// for: l[0] | l[1] | l[-1] | l[7] | l[(size_t)0] | l["a"] | l[py::int_(0)] | l[true] | l[1.5] | l.size() | l.empty() | l[0].cast<int>() | l[0].cast<float>() | l[0].attr("real") | *l.begin() | l.begin()->cast<int>() | l.contains(1) | l.insert(0, 1)
// call: f([1, 2, 3])
// call: f(["a", "b"])
// call: f([])
// call: f((1,))
py::object f(py::list l) { return py::cast(@); }

// --- a-tuple-read
// for: t[0] | t[-1] | t[7] | t["a"] | t.size() | t[0].cast<int>()
// call: f((1, 2))
// call: f(())
py::object f(py::tuple t) { return py::cast(@); }

// --- a-sequence-read
// for: t[0] | t[-1] | t[7] | t.size() | t[0].cast<int>()
// call: f((1, 2))
// call: f([5, 6])
// call: f("ab")
py::object f(py::sequence t) { return py::cast(@); }

// --- a-dict-read
// for: d["a"] | d["b"] | d[py::str("a")] | d[1] | d[0] | d.size() | d.contains("a") | d["a"].cast<int>() | d.attr("get")("a") | d.attr("get")("z", 5) | d["t"].cast<torch::Tensor>() | d.begin()->first | d[std::string("a").c_str()] | d.get("a", 1)
// call: f({"a": 1, "t": X})
// call: f({})
py::object f(py::dict d) { return py::cast(@); }

// --- a-list-written
// for: l.append(1) | l.append("a") | l.append(torch::ones(1)) | l.append('c') | l.append(3ull) | l.append(torch::kCPU) | l[0] = 5 | l[0] = "x" | l[-1] = 5 | l[9] = 5 | l[0] = l[1] | l.append(py::none()) | l.append(l) | l[0] = torch::kFloat | l[0] = 'c' | l.clear() | l.attr("append")(4) | l.attr("extra") = 1
// call: f([1, 2])
py::object f(py::list l) { @; return py::cast(py::len(l) < 4 ? py::object(l) : py::object(py::str("long"))); }

// --- a-dict-written
// for: d["a"] = 1 | d["a"] = "b" | d["a"] = 'c' | d["a"] = 1.5f | d["a"] = torch::ones(1) | d["a"] = d | d[py::int_(1)] = 2 | d[1] = 2 | d["a"] = torch::kCPU | d["a"] = std::vector<int>{1} | d["a"] = py::list() | d["a"] = nullptr | d["a"] = d["b"] | d.clear()
// call: f({"b": 3})
py::object f(py::dict d) { @; return py::cast(py::len(d)); }
