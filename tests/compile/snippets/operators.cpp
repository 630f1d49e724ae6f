// Torch's operators, as functions and as methods, with the arguments that models give them.

// --- operator-scalar
// for: 1 | 2.5 | 2.5f | 3L | 3LL | 3u | 3ul | 3ull | 2.0L | true | 'c' | (int8_t)3 | (uint8_t)3 | (short)3 | (unsigned short)3
// call: f(X)
torch::Tensor f(torch::Tensor x) { return torch::relu(x) * @; }

// --- operator-scalar-left
// for: 1 | 2.5f | 3L | 3LL | 3u | 3ull | true | (char)3 | (size_t)2
// call: f(X)
torch::Tensor f(torch::Tensor x) { return @ - x; }

// --- operator-symbol
// for: + | - | * | / | < | <= | > | >= | == | !=
// call: f(X, Y)
// call: f(I, I)
torch::Tensor f(torch::Tensor x, torch::Tensor y) { return (x @ y) @ (y @ 2); }

// --- operator-whole
// call: f(I, I)
torch::Tensor f(torch::Tensor x, torch::Tensor y) { return x % 3 + (x ^ y) + (x & 5) + (y | 1); }

// --- operator-in-place
// for: += | -= | *= | /= | &= | %= | <<=
// call: f(X, Y)
torch::Tensor f(torch::Tensor x, torch::Tensor y) { auto z = x.clone(); z @ y; z @ 2; return z; }

// --- unary-symbols
// call: f(X)
// call: f(I)
torch::Tensor f(torch::Tensor x) { return -x + (+1) + (x > 0).to(x.dtype()); }

// --- not-of-bool
// call: f(B)
torch::Tensor f(torch::Tensor x) { return ~x; }

// --- exclamation
// call: f(B)
torch::Tensor f(torch::Tensor x) { return !x; }

// --- reduction-of-an-int-dim
// for: var | std | sum | mean | prod | logsumexp | amax | amin | any | all | argmax | argmin | cumsum | cumprod | softmax | log_softmax | squeeze | unsqueeze | flip | norm | median | count_nonzero
// call: f(X)
torch::Tensor f(torch::Tensor x) { return x.@(1); }

// --- function-of-an-int-dim
// for: var | std | sum | mean | prod | logsumexp | amax | amin | any | all | argmax | argmin | cumsum | cumprod | softmax | log_softmax | squeeze | unsqueeze | flip | norm | median | count_nonzero
// call: f(X)
torch::Tensor f(torch::Tensor x) { return torch::@(x, 1); }

// --- function-of-at
// for: var | std | sum | mean | relu | abs | exp | neg | sqrt | sigmoid | tanh
// call: f(X)
torch::Tensor f(torch::Tensor x) { return at::@(x); }

// --- pair-of-an-int-dim
// for: var_mean | std_mean | max | min | sort | median | mode | cummax | kthvalue | topk
// call: f(X)
torch::Tensor f(torch::Tensor x) { return std::get<0>(torch::@(x, 1)); }

// --- variance-in-every-way
// for: x.var() | x.var(true) | x.var(false) | x.var(0, true) | x.var({0, 1}) | x.var({1}, true, true) | x.var(0, 1, true) | torch::var(x, 0, false) | torch::var(x, {1}, 0) | x.var(c10::nullopt) | x.std(-1) | torch::std(x, {-1}) | x.std(1, true, true) | x.var((int64_t)1) | x.var(1L)
// call: f(X)
torch::Tensor f(torch::Tensor x) { return @; }

// --- reductions-of-lists
// for: x.sum({0, 1}) | x.sum({0}, true) | x.mean({1}, true) | x.sum(0, false, torch::kDouble) | x.sum(torch::kDouble) | x.mean(torch::kDouble) | x.amax({0, 1}) | x.amax() | x.max() | x.min() | x.norm() | x.norm(2, 1) | x.norm(2, {1}, true) | x.norm(torch::nullopt, {0}, false)
// call: f(X)
torch::Tensor f(torch::Tensor x) { return @; }

// --- conversion-of-a-tensor
// for: x.to(torch::kDouble) | x.to(torch::kCPU) | x.to(torch::kCPU, torch::kHalf) | x.to(x.dtype()) | x.to(y.dtype(), true) | x.to(y.options()) | x.to(y) | x.to("cpu") | x.to(torch::Device("cpu")) | x.to(torch::Device(torch::kCPU), y.dtype()) | x.to(torch::dtype(torch::kInt)) | x.toType(torch::kInt) | x.type_as(y) | x.to(torch::kFloat64, false, true) | x.cpu() | x.contiguous() | x.to(at::MemoryFormat::Contiguous) | x.to(1) | x.to(torch::kFloat, torch::kCPU)
// call: f(X, D)
torch::Tensor f(torch::Tensor x, torch::Tensor y) { return @; }

// --- shape
// for: x.view({-1}) | x.view({2, -1}) | x.view(12) | x.reshape({4, 3}) | x.reshape(-1) | x.transpose(0, 1) | x.t() | x.permute({1, 0}) | x.flatten() | x.flatten(0) | x.unsqueeze(-1) | x.expand({2, 3, 4}) | x.expand_as(x) | x.repeat({2, 1}) | x.narrow(0, 1, 2) | x.slice(1, 0, 2) | x.slice(1) | x.select(0, 1) | x.chunk(2, 1)[0] | x.split(2, 1)[1] | x.split({1, 3}, 1)[1] | x.unbind(0)[0] | x.view(x.sizes()) | x.view_as(x) | x.swapaxes(0, 1) | x.movedim(0, 1) | x.roll(1, 0) | x.roll({1}, {0}) | x.diagonal() | x.tril() | x.triu(1) | x[0] | x[0][1] | x[-1] | x.index_select(0, torch::tensor({0, 2})) | x.masked_fill(x > 0, 0) | x.masked_fill(x > 0, 0.5f) | x.clamp(0) | x.clamp(0, 1) | x.clamp_min(0.5) | x.clamp(-1.0f, c10::nullopt)
// call: f(X)
torch::Tensor f(torch::Tensor x) { return @; }

// --- factory
// for: torch::zeros({2, 3}) | torch::zeros(3) | torch::ones({2}, torch::kInt) | torch::ones({2}, x.options()) | torch::full({2}, 3) | torch::full({2}, 3.5f) | torch::full({2}, 3, torch::kInt) | torch::full({2, 2}, true) | torch::arange(5) | torch::arange(5.0) | torch::arange(0, 5) | torch::arange(0, 5, 2, torch::kFloat) | torch::arange(0, 1, 0.25) | torch::linspace(0, 1, 5) | torch::eye(3) | torch::zeros_like(x) | torch::ones_like(x, torch::kInt) | torch::full_like(x, 2) | torch::empty({2}).fill_(1) | torch::empty({0}) | torch::zeros({}) | torch::zeros({2, 3}, torch::dtype(torch::kLong).device(torch::kCPU)) | torch::zeros({2}, at::kDouble) | at::zeros({2}, at::kDouble) | torch::zeros(x.sizes(), x.options()) | torch::zeros({x.size(0), 2}) | torch::zeros(x.sizes().vec()) | torch::scalar_tensor(3) | torch::zeros(2, 3) | torch::zeros("2") | torch::empty({2, 2}, torch::TensorOptions().dtype(torch::kFloat).requires_grad(true)).fill_(0).detach()
// call: f(X)
torch::Tensor f(torch::Tensor x) { return @; }

// --- tensor-of
// for: 5 | 5u | 5L | 5LL | 5ull | 5.0 | 5.0f | true | 'c' | (int8_t)5 | (uint8_t)5 | (short)5 | (uint16_t)5 | {1, 2} | {1.0, 2.5} | {1.0f} | {true, false} | {1, 2.0} | {{1, 2}, {3, 4}} | {} | std::vector<int>{1, 2} | std::vector<float>{1.5f} | std::vector<bool>{true} | std::vector<int8_t>{1} | std::vector<unsigned>{1} | at::ArrayRef<double>({1.0, 2.0}) | x.sizes() | std::array<int, 2>{1, 2} | 2.0L | {(int8_t)1} | {1L, 2L}
// call: f(X)
torch::Tensor f(torch::Tensor x) { return torch::tensor(@); }

// --- tensor-with-options
// for: 300, torch::kByte | {300, 1}, torch::kByte | std::vector<int>{300}, torch::kByte | 2.7, torch::kInt | {2.7, 1.2}, torch::kInt | 1, torch::kBool | {1, 2}, x.options() | 1e300, torch::kFloat | (int8_t)5, torch::kFloat | 1, torch::requires_grad() | 1.0, torch::dtype(torch::kHalf) | -1, torch::kByte | {1, 2}, torch::dtype(torch::kDouble).requires_grad(true)
// call: f(X)
torch::Tensor f(torch::Tensor x) { return torch::tensor(@); }

// --- item
// for: x.sum().item<float>() | x.sum().item<double>() | x.sum().item<int>() | x.sum().item().toDouble() | x.sum().item().toInt() | x.sum().item().to<float>() | x.sum().item().to<int64_t>() | x.sum().item().to<long long>() | x.sum().item().to<uint8_t>() | x.sum().item().to<unsigned>() | x.sum().item().to<char>() | x.sum().item<long>() | x.sum().item().isFloatingPoint() | x.item<float>() | x.sum().item().toLong() | x.numel() | x.dim() | x.size(0) | x.size(-1) | x.size(7) | x.stride(0) | x.element_size() | x.nbytes() | x.storage_offset() | x.is_contiguous() | x.requires_grad() | x.scalar_type() == torch::kFloat | x.dtype() == torch::kFloat | x.dtype().itemsize() | x.is_floating_point() | x.device().is_cpu() | x.equal(x) | x.allclose(x) | torch::equal(x, x) | torch::allclose(x, x) | x.is_same(x) | x.defined() | x.sizes().size() | x.is_complex() | x.is_sparse() | x.get_device() | torch::numel(x) | at::numel(x) | torch::size(x, 0) | at::is_floating_point(x) | torch::is_signed(x) | torch::stride(x, 1)
// call: f(X)
// call: f(I)
double f(torch::Tensor x) { return (double)(@); }

// --- index-by-a-scalar
// for: X.sum() | I.sum() * 0 | (X * 0).sum() | (I * 0 + 1)[0][0]
// call: f(X, @)
torch::Tensor f(torch::Tensor x, torch::Tensor i) { return x[i.item()]; }

// --- index-by-a-tensor
// for: I[0][0] | X[0][0] | I[0] | B[0][0]
// call: f(X, @)
torch::Tensor f(torch::Tensor x, torch::Tensor i) { return x[i]; }

// --- two-inputs
// for: torch::matmul(x, y.t()) | torch::mm(x, y.t()) | x.mm(y.t()) | torch::add(x, y, 2) | torch::sub(x, y, 0.5) | x.add(y, 2) | x.add_(y, 2.5f) | torch::max(x, y) | torch::min(x, y) | torch::maximum(x, y) | torch::where(x > 0, x, y) | torch::where(x > 0, x, 0) | torch::where(x > 0, 1.0, 0.0) | torch::cat({x, y}) | torch::cat({x, y}, 1) | torch::stack({x, y}, 0) | torch::pow(x, 2) | torch::pow(2, x) | torch::pow(y, 0.5) | x.pow(3) | torch::div(x, y, "floor") | torch::fmod(x, 2) | torch::remainder(x, 2) | torch::lerp(x, y, 0.5) | torch::addcmul(x, x, y, 2) | torch::dot(x[0], y[0]) | torch::outer(x[0], y[0]) | torch::cdist(x, y) | torch::einsum("ij,kj->ik", {x, y}) | torch::linear(x, y) | torch::leaky_relu(x, 0.1) | torch::leaky_relu(x) | torch::elu(x, 1.5) | torch::gelu(x) | torch::gelu(x, "tanh") | torch::softplus(x) | torch::hardtanh(x, -1, 1) | torch::clamp(x, -1, 1) | torch::dropout(x, 0.0, true) | torch::layer_norm(x, {4}) | torch::mse_loss(x, y) | torch::mse_loss(x, y, at::Reduction::Sum) | torch::cosine_similarity(x, y) | torch::softmax(x, -1, torch::kDouble) | torch::logsumexp(x, {0, 1}) | torch::bmm(x.unsqueeze(0), y.t().unsqueeze(0)) | torch::baddbmm(x.unsqueeze(0).slice(2, 0, 3), x.unsqueeze(0), y.t().unsqueeze(0), 0.5, 2) | torch::addmm(x.slice(1, 0, 3), x, y.t()) | torch::silu(x) | torch::mish(x) | torch::erf(x) | torch::floor_divide(y, 2) | torch::atan2(x, y) | torch::hypot(x, y) | torch::bitwise_and(x, y) | torch::nosuchfunction(x) | torch::frobenius_norm(x, {0, 1}) | torch::norm(x, 1) | torch::cumsum(x, 0, torch::kDouble) | torch::tril(x, -1) | torch::triu(x) | torch::diag(x[0]) | torch::trace(x) | torch::flip(x, {0}) | torch::rot90(x) | torch::bucketize(x, y[0]) | torch::histc(x, 4, -2, 2) | torch::sort(x, 1, true) | std::get<1>(torch::sort(x, 1, true)) | std::get<0>(torch::topk(x, 2)) | torch::one_hot(torch::arange(3))
// call: f(X.clone(), Y)
torch::Tensor f(torch::Tensor x, torch::Tensor y) { return @; }

// --- member-of-its-own-arguments
// for: x.add(1).mul_(2).relu() | x.addmm(x, x.t()) | x.copy_(x * 2) | x.zero_() | x.fill_(3) | x.fill_(true) | x.normal_(0, 0) | x.uniform_(1, 1) | x.sub(1, 2) | x.div(2, "trunc") | x.gt(0) | x.eq(1) | x.ne(x) | x.logical_not() | x.logical_and(x) | x.sign() | x.reciprocal() | x.rsqrt() | x.square() | x.log1p() | x.expm1() | x.round() | x.round(1) | x.trunc() | x.frac() | x.isnan() | x.isinf() | x.nan_to_num(0.0) | x.gather(1, torch::zeros({3, 1}, torch::kLong)) | x.scatter_(1, torch::zeros({3, 1}, torch::kLong), 9) | x.scatter_add_(1, torch::zeros({3, 1}, torch::kLong), x) | x.index_add_(0, torch::tensor({0}), x.slice(0, 0, 1)) | x.masked_select(x > 0) | x.nonzero() | x.unique() | x.argsort(1) | x.cross(x) | x.inverse() | x.matmul(x.t()) | x.mv(x[0]) | x.dot(x) | x.detach().requires_grad_() | x.set_requires_grad(false) | x.data() | x.alias() | x.clone(at::MemoryFormat::Contiguous) | x.contiguous(torch::MemoryFormat::ChannelsLast) | x.new_zeros({2}) | x.new_full({2}, 7) | x.new_empty({2}).fill_(1) | x.nosuchmethod() | x.softmax(1.5) | x.sum("0")
// call: f(X.clone())
torch::Tensor f(torch::Tensor x) { return @; }
