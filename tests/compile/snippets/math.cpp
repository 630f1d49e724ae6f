// The C library's functions and the standard library's, with and without a namespace, on what kernels hold.

// --- unary-unqualified
// for: abs | fabs | exp | expf | sqrt | sqrtf | log | tanh | tanhf | sin | cos | floor | ceil | round | rint | trunc | erf | erff | lgamma | cbrt | log1p | expm1 | exp2 | log2 | log10 | sinh | cosh | atan | asin | acos | labs | fabsf
// call: f(X)
torch::Tensor f(torch::Tensor x) { auto y = torch::empty_like(x); auto a = x.data_ptr<float>(); auto b = y.data_ptr<float>(); for (int64_t i = 0; i < x.numel(); ++i) b[i] = @(a[i]); return y; }

// --- unary-standard
// for: abs | fabs | exp | expf | sqrt | log | tanh | sin | cos | floor | ceil | round | rint | trunc | erf | lgamma | cbrt | log1p | expm1 | exp2 | signbit | isnan | isinf | isfinite
// call: f(X)
torch::Tensor f(torch::Tensor x) { auto y = torch::empty_like(x); auto a = x.data_ptr<float>(); auto b = y.data_ptr<float>(); for (int64_t i = 0; i < x.numel(); ++i) b[i] = std::@(a[i]); return y; }

// --- unary-global
// for: abs | fabs | exp | sqrt | isnan | isfinite | floorf
// call: f(X)
torch::Tensor f(torch::Tensor x) { auto y = torch::empty_like(x); auto a = x.data_ptr<float>(); auto b = y.data_ptr<float>(); for (int64_t i = 0; i < x.numel(); ++i) b[i] = ::@(a[i]); return y; }

// --- binary-unqualified
// for: pow | fmax | fmin | fmod | hypot | atan2 | fmaxf | powf | max | min | copysign | remainder | fdim | nextafter
// call: f(X, Y)
torch::Tensor f(torch::Tensor x, torch::Tensor y) { auto z = torch::empty_like(x); auto a = x.data_ptr<float>(); auto b = y.data_ptr<float>(); auto c = z.data_ptr<float>(); for (int64_t i = 0; i < x.numel(); ++i) c[i] = @(a[i], b[i]); return z; }

// --- binary-mixed
// for: std::max(a[i], 0.0f) | std::max(a[i], 0.0) | std::max(a[i], 0) | std::pow(a[i], 2) | pow(a[i], 2) | std::fmax(a[i], 0) | fmaxf(a[i], 0) | std::min<float>(a[i], 1) | a[i] > 0 ? a[i] : 0 | std::clamp(a[i], -1.0f, 1.0f) | std::fma(a[i], 2.0f, 1.0f) | fma(a[i], 2.0f, 1.0f) | fmaf(a[i], 2, 1) | abs(i) | std::abs(i - 5) | abs((int)a[i]) | std::exp(i) | exp(i) | sqrt(2) * a[i] | M_PI * a[i] | INFINITY | NAN | FLT_MAX | std::numeric_limits<float>::max() | std::numeric_limits<float>::epsilon() | HUGE_VAL | DBL_MAX | INT_MAX | 1 / (1 + exp(-a[i])) | 0.5 * a[i] * (1 + erf(a[i] / sqrt(2))) | a[i] * 0.5f * (1.0f + tanhf(0.79788456f * (a[i] + 0.044715f * a[i] * a[i] * a[i]))) | __builtin_expf(a[i]) | rsqrt(a[i]) | rsqrtf(a[i]) | __expf(a[i]) | sigmoid(a[i])
// call: f(X)
torch::Tensor f(torch::Tensor x) { auto y = torch::empty_like(x); auto a = x.data_ptr<float>(); auto b = y.data_ptr<float>(); for (int i = 0; i < (int)x.numel(); ++i) b[i] = @; return y; }

// --- library-without-includes
// for: std::sort(v.begin(), v.end()) | std::reverse(v.begin(), v.end()) | std::iota(v.begin(), v.end(), 1) | std::partial_sum(v.begin(), v.end(), v.begin()) | std::transform(v.begin(), v.end(), v.begin(), [](float e) { return e * 2; }) | std::fill(v.begin(), v.end(), 2.0f) | std::nth_element(v.begin(), v.begin() + 1, v.end()) | std::for_each(v.begin(), v.end(), [](float& e) { e += 1; }) | v[0] = std::accumulate(v.begin(), v.end(), 0.0f) | v[0] = std::inner_product(v.begin(), v.end(), v.begin(), 0.0) | v[0] = *std::max_element(v.begin(), v.end()) | v[0] = std::reduce(v.begin(), v.end()) | v[0] = std::gcd(12, 8) | std::memset(v.data(), 0, 4) | memcpy(v.data(), v.data() + 1, 4) | std::copy(v.begin(), v.begin() + 1, v.begin() + 2) | std::swap(v[0], v[1]) | std::unique_ptr<float> p(new float(2)); v[0] = *p | auto p = std::make_shared<float>(3); v[0] = *p | std::mutex m; std::lock_guard<std::mutex> l(m); v[0] = 5 | std::atomic<int> n{0}; n++; v[0] = n | std::string s = std::to_string(3); v[0] = s.size() | std::map<int, float> m; m[1] = 2; v[0] = m[1] | std::set<int> s{1, 2}; v[0] = s.size() | std::deque<float> d{1, 2}; v[0] = d[1] | std::bitset<8> b(5); v[0] = b.count() | std::queue<int> q; q.push(1); v[0] = q.front() | std::stack<int> q; q.push(1); v[0] = q.top() | std::list<int> q{1}; v[0] = q.front() | std::function<float(float)> g = [](float e) { return e + 1; }; v[0] = g(v[0]) | std::ostringstream o; o << 5; v[0] = o.str().size() | std::complex<float> c(3, 4); v[0] = std::abs(c) | std::mt19937 g(3); v[0] = g() % 7 | std::thread t([&] { v[0] = 9; }); t.join() | v[0] = std::chrono::seconds(3).count() | std::regex r("a"); v[0] = 1 | std::any a = 1; v[0] = std::any_cast<int>(a) | std::variant<int, float> a = 1; v[0] = std::get<int>(a) | std::span<float> a(v); v[0] = a.size() | v[0] = std::popcount(5u) | std::cout << "" | printf("%s", "") | v[0] = rand() * 0 + 1 | v[0] = atoi("12") | assert(v.size() == 3) | v[0] = std::filesystem::path("a").string().size() | v[0] = std::stoi("42") | v[0] = std::tolower('A') | v[0] = tolower('A') | v[0] = strlen("abc") | v[0] = std::exchange(v[1], 4.0f) | std::tie(v[0], v[1]) = std::make_tuple(1.0f, 2.0f) | std::optional<int> o = 3; v[0] = *o | v[0] = std::bit_cast<int>(1.0f) | v[0] = std::lerp(0.0f, 1.0f, 0.5f) | v[0] = std::midpoint(1.0f, 2.0f) | v[0] = std::beta(1.0, 2.0) | auto g = std::bind(std::plus<float>(), 1, 2); v[0] = g() | for (const auto i : c10::irange(3)) v[i] = i | usleep(0); v[0] = getpid() > 0 | v[0] = time(nullptr) > 0 | int64_t k = INT64_MAX; v[0] = k > 0 | size_t k = SIZE_MAX; v[0] = k > 0 | uint32_t k = UINT32_MAX; v[0] = k > 0
// call: f([3.0, 1.0, 2.0])
std::vector<float> f(std::vector<float> v) { @; return v; }

// --- a-function-named-like-one-of-c
// for: lgamma | fma | remainder | acos | index | abs | exp | select | div | round | dup | sqrt | pow | fmod | log2 | round_ | rand | sync | link | access | clone | read | time | gamma | swab | step | relu | scale | div_ | norm | logb | pause | truncate | signal | bind | tanh | erf
// global
// call: @(X)
torch::Tensor @(torch::Tensor x) { return x + 1; }
