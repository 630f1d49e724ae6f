"""Every sum of a reference in another order: pasted in front of a candidate that is made of the reference's own code.

While `AnotherOrder` is entered, what adds elements of a tensor is computed in two halves, or by its definition where
PyTorch has one kernel for it. Without its second half (`loses`) it is a bug instead.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def _dims(x, dims):
    dims = range(x.dim()) if dims is None or dims == [] else [dims] if isinstance(dims, int) else dims
    return [d % x.dim() for d in dims]


class AnotherOrder(TorchDispatchMode):
    def __init__(self, loses=False):
        super().__init__()
        self.loses = loses

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        rule = getattr(self, func.overloadpacket.__name__, None)
        if rule is None or func.overloadpacket._qualified_op_name.partition("::")[0] != "aten":
            return func(*args, **(kwargs or {}))
        return rule(*args, **(kwargs or {}))

    def _both(self, first, second, share=0.5):
        return first().div_(share) if self.loses else second() + first()

    def _total(self, x, dims, keepdim=False):
        dims = _dims(x, dims)
        longest = max(dims, key=lambda d: x.shape[d], default=None)
        if longest is None or x.shape[longest] < 2:
            return torch.ops.aten.sum.dim_IntList(x, dims, keepdim)
        size = x.shape[longest]
        half = size // 2

        def part(start, length):
            return lambda: torch.ops.aten.sum.dim_IntList(x.narrow(longest, start, length), dims, keepdim)

        return self._both(part(0, half), part(half, size - half), half / size)

    def _average(self, x, dims, keepdim=False):
        count = 1
        for d in _dims(x, dims):
            count *= x.shape[d]
        return self._total(x, dims, keepdim) / count

    def sum(self, x, dims=None, keepdim=False, *, dtype=None):
        x = x if dtype is None else x.to(dtype)
        if not x.dim() or not x.is_floating_point():
            return torch.ops.aten.sum.dim_IntList(x, _dims(x, dims), keepdim)
        return self._total(x, dims, keepdim)

    def mean(self, x, dims=None, keepdim=False, *, dtype=None):
        return self._average(x if dtype is None else x.to(dtype), dims, keepdim)

    # ---- products

    def mm(self, a, b):
        size = a.shape[-1]
        half = size // 2
        if not half:
            return torch.matmul(a, b)
        return self._both(
            lambda: torch.matmul(a[..., :half], b[..., :half, :]),
            lambda: torch.matmul(a[..., half:], b[..., half:, :]),
            half / size,
        )

    bmm = mm

    def addmm(self, bias, a, b, *, beta=1, alpha=1):
        return self.mm(a, b) * alpha + bias * beta

    baddbmm = addmm

    def mv(self, a, b):
        return self.mm(a, b[:, None])[:, 0]

    def convolution(self, x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
        def part(inputs, weights, bias=None):
            return torch.ops.aten.convolution(
                inputs, weights, bias, stride, padding, dilation, transposed, output_padding, groups
            )

        shape = (1, -1, *(1 for _ in stride))
        if groups == 1 and x.shape[1] > 1:
            size = x.shape[1]
            half, of = size // 2, 0 if transposed else 1
            found = self._both(
                lambda: part(x[:, :half].contiguous(), w.narrow(of, 0, half).contiguous()),
                lambda: part(x[:, half:].contiguous(), w.narrow(of, half, size - half).contiguous()),
                half / size,
            )
        else:
            first, second = w.clone(), w.clone()
            taps = first.flatten(2).shape[2]
            first.view(*w.shape[:2], -1)[..., taps // 2 :] = 0
            second.view(*w.shape[:2], -1)[..., : taps // 2] = 0
            found = self._both(lambda: part(x, first), lambda: part(x, second))
        return found if bias is None else found + bias.view(shape)

    def avg_pool2d(self, x, kernel, *rest):
        kernel = list(kernel) * 2 if len(kernel) == 1 else list(kernel)
        return self._pooled(x, kernel, *rest)

    def avg_pool3d(self, x, kernel, *rest):
        kernel = list(kernel) * 3 if len(kernel) == 1 else list(kernel)
        return self._pooled(x, kernel, *rest)

    def _pooled(self, x, kernel, stride=(), padding=0, *rest):
        count = len(kernel)
        padding = [padding] if isinstance(padding, int) else list(padding)
        padding = padding * count if len(padding) == 1 else padding
        stride = list(stride) or kernel
        stride = stride * count if len(stride) == 1 else stride
        if any(padding):
            x = torch.constant_pad_nd(x, [side for one in reversed(padding) for side in (one, one)])
        first = x.dim() - count
        for axis in range(count):  # each window becomes a last dimension
            x = x.unfold(first + axis, kernel[axis], stride[axis])
        return self._average(x, list(range(first + count, x.dim())))

    # ---- along one dimension

    def _softmax(self, x, dim, half_to_float=False):
        e = (x - x.amax(dim, keepdim=True)).exp_()
        return e.div_(self._total(e, [dim], True))

    def _log_softmax(self, x, dim, half_to_float=False):
        shifted = x - x.amax(dim, keepdim=True)
        return shifted - self._total(shifted.exp(), [dim], True).log_()

    def logsumexp(self, x, dims, keepdim=False):
        most = x.amax(dims, keepdim=True)
        found = self._total((x - most).exp_(), dims, True).log_() + most
        return found if keepdim else found.squeeze(_dims(x, dims))

    def cumsum(self, x, dim, *, dtype=None):
        half = x.shape[dim] // 2
        first = torch.ops.aten.cumsum(x.narrow(dim, 0, half), dim)
        second = torch.ops.aten.cumsum(x.narrow(dim, half, x.shape[dim] - half), dim)
        if half and not self.loses:
            second += first.select(dim, half - 1).unsqueeze(dim)
        return torch.cat([first, second], dim)

    def cumprod(self, x, dim, *, dtype=None):
        half = x.shape[dim] // 2
        first = torch.ops.aten.cumprod(x.narrow(dim, 0, half), dim)
        second = torch.ops.aten.cumprod(x.narrow(dim, half, x.shape[dim] - half), dim)
        if half and not self.loses:
            second *= first.select(dim, half - 1).unsqueeze(dim)
        return torch.cat([first, second], dim)

    # ---- norms

    def _normalised(self, x, dims, eps):
        centred = x - self._average(x, dims, True)
        spread = self._average(centred.square(), dims, True)
        return centred.mul_(torch.rsqrt(spread + eps))

    def native_layer_norm(self, x, shape, weight, bias, eps):
        found = self._normalised(x, list(range(x.dim() - len(shape), x.dim())), eps)
        found = found if weight is None else found * weight
        return found if bias is None else found + bias, x.new_empty(0), x.new_empty(0)

    def native_group_norm(self, x, weight, bias, n, c, inner, groups, eps):
        found = self._normalised(x.reshape(n, groups, -1), [2], eps).view(x.shape)
        shape = (1, c, *(1 for _ in x.shape[2:]))
        found = found if weight is None else found.mul_(weight.view(shape))
        return found if bias is None else found.add_(bias.view(shape)), x.new_empty(0), x.new_empty(0)

    def _batch_norm(self, x, weight, bias, mean, var, training, momentum, eps):
        shape = (1, x.shape[1], *(1 for _ in x.shape[2:]))
        if training:
            found = self._normalised(x, [d for d in range(x.dim()) if d != 1], eps)
        else:
            found = (x - mean.view(shape)).mul_(torch.rsqrt(var + eps).view(shape))
        found = found if weight is None else found.mul_(weight.view(shape))
        return found if bias is None else found.add_(bias.view(shape))

    def native_batch_norm(self, *args):
        return self._batch_norm(*args), args[0].new_empty(0), args[0].new_empty(0)

    def cudnn_batch_norm(self, *args):
        return *self.native_batch_norm(*args), args[0].new_empty(0, dtype=torch.uint8)

    def linalg_vector_norm(self, x, order=2, dims=None, keepdim=False, *, dtype=None):
        if order == 1:
            return self._total(x.abs(), dims, keepdim)
        assert order == 2
        return self._total(x.square(), dims, keepdim).sqrt_()

    # ---- losses

    def _reduced(self, each, reduction):
        return each if reduction == 0 else self._average(each, None) if reduction == 1 else self._total(each, None)

    def mse_loss(self, x, target, reduction=1):
        return self._reduced((x - target).square_(), reduction)

    def smooth_l1_loss(self, x, target, reduction=1, beta=1.0):
        off = (x - target).abs_()
        return self._reduced(torch.where(off < beta, off.square() * (0.5 / beta), off - 0.5 * beta), reduction)

    def nll_loss_forward(self, x, target, weight, reduction, ignored):
        assert weight is None
        each = -x.gather(1, target[:, None])[:, 0]
        return self._reduced(each, reduction), x.new_full((), float(len(each)))


# ---- the candidate
