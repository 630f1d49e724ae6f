// Reference counts, memory of the caller's, guards.

// --- counted
// for: x.use_count() > 0 | torch::Tensor(x).is_same(x) | (y = x, y.use_count() >= 2) | (y = std::move(x), !x.defined()) | y.defined() | (y.reset(), true) | x.is_alias_of(x.view({-1})) | x.is_alias_of(x.clone()) | x.unsafeGetTensorImpl() == x.unsafeGetTensorImpl() | x.getIntrusivePtr().use_count() > 0 | x.weak_use_count() > 0 | x.is_leaf() | x._version() == 0 | (x.add_(1), x._version() > 0) | x.has_storage() | x.is_view() | x.data().is_alias_of(x) | x.detach().is_alias_of(x) | x.grad().defined() | x.name().empty() | x.output_nr() == 0 | x.toString().size() > 0 | x.is_inference() | x.is_pinned() | x.is_quantized() | x.is_meta() | x.is_xla() | x.is_nested()
// call: f(X.clone())
bool f(torch::Tensor x) { torch::Tensor y; return @; }

// --- memory-of-its-own
// for: torch::from_blob(m, {3}) | torch::from_blob(m, {3}, torch::kFloat) | torch::from_blob(m, {2, 2}, torch::TensorOptions().dtype(torch::kFloat)) | torch::from_blob(m, {2}, {2}) | torch::from_blob(m, {2}, {2}, torch::kFloat) | torch::from_blob(m, 3) | torch::from_blob(m, {3}, torch::kInt) | torch::from_blob(m, {3}, [](void*) {}) | torch::from_blob(m, {3}, [](void* p) {}, torch::kFloat) | torch::from_blob(m, {3}, {1}, [](void*) {}, torch::kFloat) | at::from_blob(m, {3}) | at::from_blob(m, {3}, at::kFloat) | torch::from_blob(v.data(), {(int64_t)v.size()}) | torch::from_blob(m, {3}, free) | torch::from_blob(m, {3}, nullptr) | torch::from_blob(m, {}) | torch::from_blob(m, v) | torch::from_blob(m, {3}, std::function<void(void*)>([](void*) {})) | torch::from_blob(m, {-1}) | torch::from_blob((const float*)m, {3}) | torch::from_blob(m, {3}, torch::kCPU) | torch::from_blob(m, {3}, torch::requires_grad()).detach() | at::for_blob(m, {3}).make_tensor() | torch::from_blob(m, {3}, [](int) {}) | torch::from_blob(m, {3}, torch::kDouble).slice(0, 0, 1) * 0
// call: f()
torch::Tensor f() { static float m[4] = {1, 2, 3, 4}; std::vector<float> v{5, 6}; (void)v; return (@).clone(); }

// --- guard
// for: torch::NoGradGuard g | at::NoGradGuard g | torch::AutoGradMode g(false) | c10::InferenceMode g | torch::InferenceMode g | torch::InferenceMode g(true) | at::AutoDispatchBelowADInplaceOrView g | at::AutoDispatchBelowAutograd g | at::AutoNonVariableTypeMode g | at::DeviceGuard g(x.device()) | c10::DeviceGuard g(x.device()) | c10::OptionalDeviceGuard g(x.device()) | at::OptionalDeviceGuard g(device_of(x)) | const at::OptionalDeviceGuard g(at::device_of(x)) | py::gil_scoped_release g | py::gil_scoped_acquire g | torch::autograd::GradMode::set_enabled(true) | c10::GradMode::set_enabled(true) | torch::autograd::AutoGradMode g(true) | at::ThreadLocalStateGuard g(at::ThreadLocalState()) | torch::NoGradGuard | c10::MaybeOwned<torch::Tensor> g = c10::MaybeOwned<torch::Tensor>::borrowed(x) | auto g = x.expect_contiguous() | auto g = (x + 1).expect_contiguous() | at::TensorArg g{x, "x", 1} | c10::impl::ExcludeDispatchKeyGuard g(c10::autograd_dispatch_keyset) | py::scoped_ostream_redirect g | at::manual_seed(3) | torch::manual_seed(3) | torch::set_num_threads(1) | at::set_num_threads(1) | auto g = at::globalContext().deterministicAlgorithms() | at::globalContext().setBenchmarkCuDNN(true) | at::init_num_threads() | auto g = torch::cuda::is_available() | at::RecordFunction g(at::RecordScope::FUNCTION)
// call: f(X.clone().requires_grad_())
torch::Tensor f(torch::Tensor x) { @; return x * 2; }

// --- returned
// for: x | x + 1 | x.view({-1}) | (x, x) | std::move(x) | torch::Tensor() | x.detach() | x.clone() | {x} | torch::Tensor(x) | x[0] | x.data() | x.t() | 5 | torch::nullopt | nullptr | at::Tensor(x) | x.contiguous() | x.sum() | true
// call: f(X)
torch::Tensor f(torch::Tensor x) { return @; }

// --- static-state
// call: f(X)
// call: f(X)
torch::Tensor f(torch::Tensor x) { static torch::Tensor kept = torch::ones(1); static int calls = 0; ++calls; return x * kept * calls; }

// --- parallel
// for: at::parallel_for(0, n, 0, [&](int64_t a, int64_t b) { for (int64_t i = a; i < b; ++i) p[i] += 1; }) | at::parallel_for(0, n, 1, [&](int64_t a, int64_t b) { while (a < b) p[a++] *= 2; }) | for (int64_t i = 0; i < at::get_num_threads() * 0 + n; ++i) p[i] = i | at::parallel_for(0, n, [&](int64_t a) {}) | torch::parallel_for(0, n, 0, [&](int64_t a, int64_t b) {}) | p[0] = at::parallel_reduce(0, n, 1, 0.0f, [&](int64_t a, int64_t b, float s) { return s + b - a; }, std::plus<float>()) | std::vector<std::thread> t; t.emplace_back([&] { p[0] = 3; }); t[0].join() | _Pragma("omp parallel for") for (int64_t i = 0; i < n; ++i) p[i] = i
// call: f(X.clone())
torch::Tensor f(torch::Tensor x) { float* p = x.data_ptr<float>(); int64_t n = x.numel(); @; return x; }
