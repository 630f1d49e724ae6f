"""References that turn rounding into something else, each with an honest twin and a planted bug."""

import torch

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(96, 48) / 96 ** 0.5)
        self.book = nn.Parameter(torch.randn(32, 48))
    def forward(self, x):
{body}
def get_inputs():
    return [{inputs}]
def get_init_inputs():
    return []
"""
ROWS = "torch.randn(128, 96)"


def source(body, inputs=ROWS):
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return HEAD.replace("{body}", lines).replace("{inputs}", inputs)


def twin(forward):
    """A model of the reference's weights under another forward, which is given them."""

    class Twin(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.randn(96, 48) / 96**0.5)
            self.book = torch.nn.Parameter(torch.randn(32, 48))

        def forward(self, x):
            return forward(x, self.w, self.book)

    def build(seed):
        torch.manual_seed(seed)
        return Twin()

    return build


def product(x, w):
    """Adds from the last term to the first, one by one."""
    total = torch.zeros(*x.shape[:-1], w.shape[1])
    for k in reversed(range(w.shape[0])):
        total = total + x[..., k : k + 1] * w[k]
    return total


def added(x, dim=-1):
    """A sum term by term, from the end."""
    total = torch.zeros_like(x.select(dim, 0))
    for part in reversed(x.unbind(dim)):
        total = total + part
    return total


def mean(x, dim=-1):
    return added(x, dim) / x.shape[dim]


def normalised(x, dim=-1, eps=1e-5):
    centred = x - mean(x, dim).unsqueeze(dim)
    return centred / (mean(centred * centred, dim).unsqueeze(dim) + eps).sqrt()


def noise_of_group_norm(x, w, book):
    y = product(x, w).view(-1, 8, 48)
    return mean(normalised(y.flatten(1)))


def logistic(y):
    y = y.sigmoid()
    for _ in range(60):
        y = 3.99 * y * (1 - y)
    return y


def reversed_logistic(y):
    y = y.sigmoid()
    for _ in range(60):
        y = 3.99 * y - 3.99 * y * y
    return y


def recurrent(step, y, book, dot):
    h = torch.zeros_like(y)
    gain = 12 * book[:16].T @ book[16:] / 48
    for _ in range(12):
        h = torch.tanh(dot(h, gain) + step * y)
    return h


def spoilt(y):
    """The product as a kernel leaves it that forgets the last eight columns."""
    return torch.cat([y[..., :-8], torch.zeros_like(y[..., -8:])], -1)


CASES = {
    "a mean of normalised values": (
        "return F.group_norm((x @ self.w).view(-1, 8, 48), 1).mean((1, 2))",
        noise_of_group_norm,
        lambda x, w, book: torch.ones(len(x) // 8),
    ),
    "a batch norm over two rows that are nearly equal": (
        "y = (x @ self.w)[:2] * 1e-6 + x[:1, :48]\nreturn F.batch_norm(y, None, None, training=True, eps=1e-20)",
        lambda x, w, book: normalised(product(x, w)[:2] * 1e-6 + x[:1, :48], 0, 1e-20),
        lambda x, w, book: 100 * normalised(product(x, w)[:2] * 1e-6 + x[:1, :48], 0, 1e-20),
    ),
    "a sign": (
        "return torch.sign(x @ self.w)",
        lambda x, w, book: torch.sign(product(x, w)),
        lambda x, w, book: torch.sign(spoilt(x @ w)),
    ),
    "a threshold": (
        "return ((x @ self.w) > 0.25).float()",
        lambda x, w, book: (product(x, w) > 0.25).float(),
        lambda x, w, book: (product(x, w) > 0.2505).float(),
    ),
    "an argmax of near ties": (
        "y = x @ self.w\ny = y[:, None] * 1e-4 + y.roll(1, 0)[:, None] * 1e-4\n"
        "return torch.argmax((y + 1).expand(-1, 8, -1), -1)",
        lambda x, w, book: argmax_of_near(product(x, w)),
        lambda x, w, book: argmax_of_near(spoilt(x @ w)),
    ),
    "a top-k": (
        "y = x @ self.w\nreturn torch.topk(y - y.roll(1, 0), 5, -1)",
        lambda x, w, book: torch.topk(product(x, w) - product(x, w).roll(1, 0), 5, -1),
        lambda x, w, book: torch.topk(spoilt(x @ w) - (x @ w).roll(1, 0), 5, -1),
    ),
    "an order": (
        "return torch.argsort(x @ self.w, -1)",
        lambda x, w, book: torch.argsort(product(x, w), -1),
        lambda x, w, book: torch.argsort(spoilt(x @ w), -1),
    ),
    "a softmax at a low temperature": (
        "return F.softmax((x @ self.w) * 2e4, -1)",
        lambda x, w, book: lowered(product(x, w) * 2e4),
        lambda x, w, book: lowered(spoilt(x @ w) * 2e4),
    ),
    "a recurrence": (
        "y = (x @ self.w).sigmoid()\nfor _ in range(60):\n    y = 3.99 * y * (1 - y)\nreturn y",
        lambda x, w, book: reversed_logistic(product(x, w)),
        lambda x, w, book: reversed_logistic(product(x, w)) * 4,
    ),
    "a recurrent network of a large gain": (
        "y = x @ self.w\nh = torch.zeros_like(y)\ng = 12 * self.book[:16].T @ self.book[16:] / 48\n"
        "for _ in range(12):\n    h = torch.tanh(h @ g + y)\nreturn h",
        lambda x, w, book: recurrent(1, product(x, w), book, product),
        lambda x, w, book: recurrent(1, product(x, w), book, product).mul(3),
    ),
    "a norm over two elements that are nearly equal": (
        "y = (x @ self.w).view(-1, 24, 2)\nreturn F.layer_norm(torch.cat([y[..., :1], y[..., :1] * (1 + 1e-6)], -1), "
        "(2,), eps=1e-20)",
        lambda x, w, book: normalised(nearly(product(x, w).view(-1, 24, 2)), -1, 1e-20),
        lambda x, w, book: normalised(nearly(product(x, w).view(-1, 24, 2)), -1, 1e-20) + 9,
    ),
    "a rounding to whole numbers": (
        "return ((x @ self.w) * 64).round()",
        lambda x, w, book: (product(x, w) * 64).round(),
        lambda x, w, book: (product(x, w) * 64).floor(),
    ),
    "a fraction of large sums": (
        "return ((x @ self.w).cumsum(0) * 1e3).frac()",
        lambda x, w, book: (torch.stack([product(x, w)[: i + 1].flip(0).sum(0) for i in range(len(x))]) * 1e3).frac(),
        lambda x, w, book: (x @ w).cumsum(0).frac() * 10,
    ),
    "a route to one of several experts": (
        "e = self.book[:, :16].reshape(8, 4, 16)[:, 0]\ny = x @ self.w\n"
        "return y * torch.take(self.book, (y[:, :16] @ e.T).argmax(-1))[:, None]",
        lambda x, w, book: routed(product(x, w), book, product),
        lambda x, w, book: routed(product(x, w), book, product).roll(1, 0),
    ),
    "the nearest of a code book": (
        "y = x @ self.w\nd = (y[:, None] - self.book).square().sum(-1)\nreturn self.book[d.argmin(-1)]",
        lambda x, w, book: book[(product(x, w).square().sum(-1, keepdim=True) - 2 * product(product(x, w), book.T)
                                 + book.square().sum(-1)).argmin(-1)],
        lambda x, w, book: book[:24][(product(x, w)[:, None] - book[:24]).square().sum(-1).argmin(-1)],
    ),
    "what is left of two sums": (
        "y = x @ self.w\nreturn (y.sum(-1) - y.flip(-1).cumsum(-1)[:, -1]) * 1e6",
        lambda x, w, book: (added(product(x, w)) - product(x, w).sum(-1)) * 1e6,
        lambda x, w, book: (x @ w).sum(-1) * 1e6,
    ),
    "a variance of what is nearly constant": (
        "return ((x @ self.w) * 1e-4 + 1).var(-1)",
        lambda x, w, book: ((product(x, w) * 1e-4 + 1) - mean(product(x, w) * 1e-4 + 1)[:, None]).square().sum(-1) / 47,
        lambda x, w, book: ((x @ w)[:, :-8] * 1e-4 + 1).var(-1),
    ),
}  # fmt: skip


def argmax_of_near(y):
    return torch.argmax((1 + y[:, None] * 1e-4 + y.roll(1, 0)[:, None] * 1e-4).expand(-1, 8, -1), -1)


def lowered(y):
    shifted = (y - y.amax(-1, keepdim=True)).exp()
    return shifted / added(shifted)[..., None]


def nearly(y):
    return torch.cat([y[..., :1], y[..., :1] * (1 + 1e-6)], -1)


def routed(y, book, dot):
    experts = book[:, :16].reshape(8, 4, 16)[:, 0]
    return y * torch.take(book, dot(y[:, :16], experts.T).argmax(-1))[:, None]
