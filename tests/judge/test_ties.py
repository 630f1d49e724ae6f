"""References that leave the order of equal elements open: honest twins in another order pass, and bugs do not."""

import pytest
import torch
import torch.nn.functional as F

from harness.judge.contents_by_kind import ContentsByKind
from harness.judge.oracle import Oracle
from harness.judge.subject import Sampled
from harness.judge.tie_orders import Agreeing, Order, Run, marked, named, shown, told
from harness.judge.ties import Choice, InOrder, Wish
from harness.judge.verification import Verification

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
class Model(nn.Module):
    def forward(self, x):
{body}
def get_inputs():
    return [torch.rand(24, 40)]
def get_init_inputs():
    return []
"""


def source(body):
    return HEAD.replace("{body}", "\n".join(f"        {line}" for line in body.strip().splitlines()))


def ranked(x, dim=-1, descending=True):
    """A sort with the last of equal elements first."""
    values, indices = x.flip(dim).sort(dim=dim, descending=descending, stable=True)
    return values, x.shape[dim] - 1 - indices


def shuffled(x, descending=True):
    """A sort with equal elements in an order of its own in each row."""
    chance = torch.rand(x.shape).argsort(-1)
    values, indices = x.gather(-1, chance).sort(dim=-1, descending=descending, stable=True)
    return values, chance.gather(-1, indices)


def top(x, k, order=ranked):
    return tuple(part[..., :k] for part in order(x))


def where(x, value):
    """The first element that is equal to each of these values."""
    return (x[:, None] == value[:, :, None]).int().argmax(-1)


def one_off(indices, x):
    """Another element than the last one that is named."""
    indices = indices.clone()
    indices[..., -1] = (indices[..., -1] + 1) % x.shape[-1]
    return indices


def last(x, value):
    return x.shape[-1] - 1 - (x == value[:, None]).flip(-1).int().argmax(-1)


def router(x, order=ranked, second=1, scale=1.0):
    p = F.softmax(x[:, :8], -1)
    v, i = top(p, 2, order)
    v, i = torch.stack([v[:, 0], v[:, second]], 1), torch.stack([i[:, 0], i[:, second]], 1)
    return torch.zeros_like(p).scatter(-1, i, scale * v / v.sum(-1, keepdim=True))


def mixed(x, order=ranked, **wrong):
    gates = router(x, order, **wrong)
    return (gates[:, :, None] * (x[:, 8:24].view(-1, 1, 16) * torch.arange(1.0, 9).view(1, 8, 1)).cos()).sum(1)


ROUTER = """
p = F.softmax(x[:, :8], -1)
v, i = torch.topk(p, 2)
gates = torch.zeros_like(p).scatter(-1, i, v / v.sum(-1, keepdim=True))
"""

CASES = {
    "topk": (
        "return torch.topk(x, 5)",
        lambda x: top(x, 5),
        lambda x: (top(x, 5)[0], torch.arange(5).expand(len(x), 5).contiguous()),
        lambda x: (top(x, 5)[0], where(x, top(x, 5)[0])),
    ),
    "topk of the least along the first dimension": (
        "return torch.topk(x, 7, 0, largest=False)[1]",
        lambda x: ranked(x, 0, descending=False)[1][:7].contiguous(),
        lambda x: ranked(x, 0, descending=False)[1][1:8].contiguous(),
        lambda x: ranked(x, 0, descending=True)[1][:7].contiguous(),
    ),
    "topk in no order": (
        "return torch.topk(x, 12, sorted=False)",
        lambda x: tuple(part.flip(-1) for part in top(x, 12)),
        lambda x: (top(x, 12)[0].flip(-1), top(x, 12)[1]),
        lambda x: (top(x, 12)[0], where(x, top(x, 12)[0])),
    ),
    "topk of keys that are equal in float32 alone": (
        "return torch.topk(x * 1e-9 + 1, 5)[1]",
        lambda x: top(x * 1e-9 + 1, 5, shuffled)[1],
        lambda x: top(x * 1e-9 + 1, 5, shuffled)[1] + 36,
        lambda x: where(x * 1e-9 + 1, torch.ones(len(x), 5)),
    ),
    "argsort": (
        "return torch.argsort(x, -1, descending=True)",
        lambda x: ranked(x)[1],
        lambda x: one_off(ranked(x)[1], x),
        lambda x: torch.arange(40).expand(len(x), 40).contiguous(),
    ),
    "the first of an argsort, in 32 bits": (
        "return torch.argsort(x, -1).flip(-1)[:, :12].int()",
        lambda x: shuffled(x)[1][:, :12].int(),
        lambda x: one_off(shuffled(x)[1][:, :12], x).int(),
        lambda x: shuffled(x)[1][:, 1:13].int(),
    ),
    "sort": (
        "return torch.sort(x, 0)",
        lambda x: ranked(x, 0, descending=False),
        lambda x: (ranked(x, 0, descending=False)[0], ranked(x, 0, descending=False)[1].roll(1, 0)),
        lambda x: (ranked(x, 0, descending=False)[0], torch.zeros(24, 40, dtype=torch.int64)),
    ),
    "sort of whole numbers in half": (
        "return torch.sort((x * 8).round().half())",
        lambda x: shuffled((x * 8).round().half(), descending=False),
        lambda x: (lambda v, i: (v, i.roll(1, 1)))(*shuffled((x * 8).round().half(), descending=False)),
        lambda x: (lambda v, i: (v, i.flip(0)))(*shuffled((x * 8).round().half(), descending=False)),
    ),
    "median": (
        "return torch.median(x, -1)",
        lambda x: (x.median(-1)[0], last(x, x.median(-1)[0])),
        lambda x: (x.median(-1)[0], (last(x, x.median(-1)[0]) + 1) % 40),
        lambda x: (x.median(-1)[0], torch.zeros(len(x), dtype=torch.int64)),
    ),
    "kthvalue": (
        "return torch.kthvalue(x, 9, -1, keepdim=True)[1]",
        lambda x: last(x, x.kthvalue(9, -1)[0])[:, None],
        lambda x: last(x, x.kthvalue(14, -1)[0])[:, None],
        lambda x: last(x, x.kthvalue(9, -1)[0])[:, None].clamp(max=30),
    ),
    "mode": (
        "return torch.mode((x * 4).round(), -1)",
        lambda x: (lambda y: (y.mode(-1)[0], last(y, y.mode(-1)[0])))((x * 4).round()),
        lambda x: (lambda y: (y.mode(-1)[0], last(y, y.median(-1)[0])))((x * 4).round()),
        lambda x: (lambda y: (y.median(-1)[0], last(y, y.median(-1)[0])))((x * 4).round()),
    ),
    "the largest so far": (
        "return torch.cummax(x, -1)",
        lambda x: (x.cummax(-1)[0], where(x, x.cummax(-1)[0])),
        lambda x: (x.cummax(-1)[0], last(x.flatten(1)[:, :, None].expand(-1, -1, 40).transpose(1, 2).reshape(-1, 40),
                                         x.cummax(-1)[0].reshape(-1)).view(-1, 40)),
        lambda x: (x.cummax(-1)[0], torch.arange(40).expand(len(x), 40).contiguous()),
    ),
    "values gathered by a topk": (
        "return torch.gather(0.2 * x.roll(1, 0) + torch.arange(40.0), -1, torch.topk(x, 3)[1])",
        lambda x: torch.gather(0.2 * x.roll(1, 0) + torch.arange(40.0), -1, top(x, 3, shuffled)[1]),
        lambda x: torch.gather(0.2 * x + torch.arange(40.0), -1, top(x, 3)[1]),
        lambda x: torch.gather(0.2 * x.roll(1, 0) + torch.arange(40.0), -1, one_off(top(x, 3)[1], x)),
    ),
    "a router that scatters": (
        ROUTER + "return gates",
        router,
        lambda x: router(x, second=0),
        lambda x: router(x, scale=0.9),
    ),
    "a router with its choice": (
        ROUTER + "return gates, i",
        lambda x: (router(x, shuffled_once(x)), shuffled_once(x)(x[:, :8])[1][:, :2]),
        lambda x: (router(x), shuffled_once(x)(x[:, :8])[1][:, :2].roll(1, 0)),
        lambda x: (router(x).roll(1, 1), top(x[:, :8], 2)[1]),
    ),
    "experts behind a router": (
        ROUTER + "steps = torch.arange(1.0, 9).view(1, 8, 1)\n"
        "return (gates[:, :, None] * (x[:, 8:24].view(-1, 1, 16) * steps).cos()).sum(1)",
        lambda x: mixed(x, shuffled),
        lambda x: mixed(x, second=0),
        lambda x: mixed(x, scale=0.99),
    ),
    "a mask of the largest": (
        "i = torch.topk(x, 5)[1]\nreturn torch.zeros_like(x).scatter(-1, i, 1.0).bool()",
        lambda x: torch.zeros_like(x).scatter(-1, top(x, 5, shuffled)[1], 1.0).bool(),
        lambda x: torch.zeros_like(x).scatter(-1, top(x, 6, shuffled)[1], 1.0).bool(),
        lambda x: x >= top(x, 5)[0][:, -1:],
    ),
    "all but the largest left out": (
        "i = torch.topk(x, 5)[1]\nreturn torch.full_like(x, float('-inf')).scatter(-1, i, x.gather(-1, i))",
        lambda x: torch.full_like(x, float("-inf")).scatter(-1, top(x, 5, shuffled)[1], top(x, 5)[0]),
        lambda x: x.masked_fill(x < top(x, 5)[0][:, -1:], float("-inf")),
        lambda x: torch.full_like(x, float("-inf")).scatter(-1, top(x, 4)[1], top(x, 4)[0]),
    ),
    "how often each is among the largest": (
        "return torch.bincount(torch.topk(x, 5)[1].view(-1), minlength=40)",
        lambda x: torch.bincount(top(x, 5)[1].reshape(-1), minlength=40),
        lambda x: torch.bincount(top(x, 6)[1].reshape(-1), minlength=40),
        lambda x: torch.bincount(top(x, 5)[1].reshape(-1), minlength=40).flip(0),
    ),
    "beams": (
        "v, i = torch.topk(x.view(4, -1), 6)\nreturn v, i // 40, i % 40",
        lambda x: (lambda v, i: (v, i // 40, i % 40))(*top(x.view(4, -1), 6)),
        lambda x: (lambda v, i: (v, i // 40, (i + 1) % 40))(*top(x.view(4, -1), 6)),
        lambda x: (lambda v, i: (v, i % 6, i % 40))(*top(x.view(4, -1), 6)),
    ),
    "what makes up nine tenths": (
        "p, i = torch.sort(F.softmax(x, -1), -1, descending=True)\n"
        "return torch.zeros_like(p).scatter(-1, i, p * (p.cumsum(-1) - p < 0.9))",
        lambda x: nucleus(x),
        lambda x: nucleus(x, 0.8),
        lambda x: nucleus(x).roll(1, 1),
    ),
}  # fmt: skip


def shuffled_once(x):
    """`shuffled` with one order for all that is asked about an input."""

    def order(y):
        torch.manual_seed(int(x.double().sum() * 1e6) % 2**31)
        return shuffled(y)

    return order


def nucleus(x, most=0.9):
    p, i = ranked(F.softmax(x, -1))
    return torch.zeros_like(p).scatter(-1, i, p * (p.cumsum(-1) - p < most))


def by_counting(x):
    """How many elements go before each in a stable sort."""
    less, equal = x[:, None] < x[:, :, None], x[:, None] == x[:, :, None]
    return (less | equal.tril(-1)).sum(-1)


LEAVE_NOTHING_OPEN = {
    "argmax": ("return x.argmax(-1)", lambda x: where(x, x.amax(-1)[:, None])[:, 0], lambda x: last(x, x.amax(-1))),
    "max": (
        "return x.max(-1)",
        lambda x: (x.amax(-1), where(x, x.amax(-1)[:, None])[:, 0]),
        lambda x: (x.amax(-1), last(x, x.amax(-1))),
    ),
    "min": (
        "return x.min(-1)[1]",
        lambda x: where(x, x.amin(-1)[:, None])[:, 0],
        lambda x: last(x, x.amin(-1)),
    ),
    "a stable sort": (
        "return torch.sort(x, stable=True)[1]",
        lambda x: by_counting(x).argsort(-1),
        lambda x: ranked(x, descending=False)[1],
    ),
    "a stable argsort": (
        "return torch.argsort(x, descending=True, stable=True)",
        lambda x: torch.argsort(-x, dim=-1, stable=True),
        lambda x: ranked(x)[1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_honest_twin_that_names_others_of_equal_elements_is_correct(judge_function, name):
    body, honest, *_ = CASES[name]
    verdict = judge_function(source(body), honest).verdict
    assert verdict.kind == "correct", f"{verdict.trial}: {verdict.detail}"
    assert verdict.left_out == ()


def on_ties_alone(honest, wrong):
    """A candidate that does what is wrong where many elements are equal, and is right elsewhere."""
    return lambda x: wrong(x) if len(x.unique()) < 0.9 * x.numel() else honest(x)


@pytest.mark.parametrize("bug", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_what_no_order_of_equal_elements_explains_is_wrong(judge_function, name, bug):
    body, honest, *wrong = CASES[name]
    verdict = judge_function(source(body), on_ties_alone(honest, wrong[bug])).verdict
    assert (verdict.kind, verdict.trial) == ("wrong", "ties")


@pytest.mark.parametrize("name", CASES)
def test_nor_are_constants(judge_function, name):
    body, honest, *_ = CASES[name]

    def constants(x):
        said = honest(x)
        return tuple(map(torch.zeros_like, said)) if isinstance(said, tuple) else torch.zeros_like(said)

    assert judge_function(source(body), on_ties_alone(honest, constants)).verdict.trial == "ties"


@pytest.mark.parametrize("name", LEAVE_NOTHING_OPEN)
def test_where_nothing_is_left_open_another_of_equal_elements_is_wrong(judge_function, name):
    body, first, other = LEAVE_NOTHING_OPEN[name]
    assert judge_function(source(body), first).verdict.kind == "correct"
    verdict = judge_function(source(body), other).verdict
    assert (verdict.kind, verdict.trial) == ("wrong", "ties")


@pytest.fixture
def ties_are_timed(monkeypatch):
    monkeypatch.setattr(ContentsByKind, "timed", lambda self: ("nominal", ("ties",)))


@pytest.mark.usefixtures("ties_are_timed")
@pytest.mark.parametrize("name", ["topk", "a mask of the largest", "how often each is among the largest"])
def test_an_honest_twin_is_timed_as_well(judge_function, name):
    body, honest, *_ = CASES[name]
    finding = judge_function(source(body), honest, timed=True)
    assert finding.verdict.kind == "correct", f"{finding.verdict.trial}: {finding.verdict.detail}"
    assert finding.timing is not None


@pytest.mark.usefixtures("ties_are_timed")
@pytest.mark.parametrize("name", ["topk", "a router that scatters"])
def test_a_bug_that_begins_in_timed_calls_is_wrong(judge_function, name):
    body, honest, wrong, _ = CASES[name]
    calls = []

    def begins_after(count):
        return lambda x: calls.append(x) or (honest if len(calls) <= count else on_ties_alone(honest, wrong))(x)

    assert judge_function(source(body), begins_after(1000)).verdict.kind == "correct"
    trials = len(calls)
    calls.clear()
    verdict = judge_function(source(body), begins_after(trials), timed=True).verdict
    assert (verdict.kind, verdict.trial) == ("wrong", "timed")


@pytest.fixture
def no_time_is_left(monkeypatch):
    """None for doubts about timed calls; holds something once the first of them is verified."""
    verify, begun = Verification.verify, []

    def spent(*arguments):
        monkeypatch.setattr("harness.judge.question.DOUBTS_S", -1.0)
        begun.append(1)
        verify(*arguments)

    monkeypatch.setattr(Verification, "verify", spent)
    return begun


@pytest.mark.usefixtures("ties_are_timed", "no_time_is_left")
def test_a_timed_call_that_nobody_has_time_to_ask_about_leaves_no_time(judge_function):
    body, honest, *_ = CASES["topk"]
    finding = judge_function(source(body), honest, timed=True)
    assert (finding.verdict.kind, finding.timing) == ("correct", None)


@pytest.mark.usefixtures("ties_are_timed")
def test_a_timed_call_that_nothing_explains_is_wrong_though_no_time_for_doubts_is_left(judge_function, no_time_is_left):
    """Else who used that time up could answer anything, and chose not to be timed."""
    body, honest, *_ = CASES["topk"]

    def forward(x):
        values, places = honest(x)
        return (values * 0.0 + 1e6, places * 0) if no_time_is_left else (values, places)

    verdict = judge_function(source(body), forward, timed=True).verdict
    assert (verdict.kind, verdict.trial) == ("wrong", "timed")


def test_a_candidate_that_agrees_is_not_asked(judge_function, monkeypatch):
    monkeypatch.setattr(Oracle, "in_order", lambda *_, **__: pytest.fail("was asked"))
    verdict = judge_function(source(CASES["topk"][0]), lambda x: torch.topk(x, 5), timed=True).verdict
    assert verdict.kind == "correct"


def test_a_reference_that_leaves_nothing_open_is_asked_once(judge_function, monkeypatch):
    asked = []
    before = Oracle.in_order
    monkeypatch.setattr(Oracle, "in_order", lambda *a, **k: asked.append(a) or before(*a, **k))
    body = "return torch.sign(x @ x.T - x.sum(-1))"
    assert judge_function(source(body), lambda x: torch.sign(-(x.sum(-1) - x @ x.T) + 1)).verdict.kind == "wrong"
    assert len(asked) <= 1


@pytest.mark.parametrize("sort", [lambda x: x.sort(-1, True), lambda x: x.topk(9), lambda x: x.kthvalue(5), torch.mode])
def test_what_is_wished_is_named_where_it_is_equal_and_once(sort):
    x = torch.randint(-2, 3, (50, 40)).float()
    with InOrder(lambda operator, value: Wish(rank=torch.rand(value.shape))) as mode:
        values, _ = sort(x)
    (random,) = mode.choices
    hidden = random.indices.masked_fill(torch.rand(random.indices.shape) < 0.5, -1)
    with InOrder(lambda operator, value: Wish(named=hidden)) as mode:
        again, also = sort(x)
    assert torch.equal(again, values) or sort is torch.mode
    assert bool(((mode.choices[0].indices == hidden) | (hidden < 0)).all())
    for wrong in (torch.full_like(hidden, 3), torch.full_like(hidden, 99), (random.indices + 1) % 40):
        with InOrder(lambda operator, value, wrong=wrong: Wish(named=wrong)):
            again, also = sort(x)
        also = also.view(random.indices.shape)
        assert torch.equal(again, values) or sort is torch.mode
        assert torch.equal(again.view(also.shape), x.gather(-1, also))
        assert bool((also.sort(-1)[0].diff(dim=-1) != 0).all())


@pytest.mark.parametrize("right", [True, False])
def test_an_output_whose_shape_goes_by_the_contents_may_show_the_order_of_ties(judge_function, right):
    body = source("return torch.sort((x[x.sum(1) > 0] * 4).round(), descending=True)").replace("rand(", "randn(")

    def candidate(x):
        y = (x[x.sum(1) > 0] * 4).round()
        values, indices = shuffled(y)
        return values, indices if right else one_off(indices, y)

    assert judge_function(body, candidate).verdict.kind == ("correct" if right else "wrong")


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"])
def test_outputs_of_dtypes_without_arithmetic_tell_an_order_of_ties(judge_function, dtype, right):
    def candidate(x):
        values, indices = top((x * 8).round(), 3, shuffled)
        return values.to(getattr(torch, dtype)), indices if right else one_off(indices, x)

    body = source(f"values, indices = (x * 8).round().topk(3)\nreturn values.to(torch.{dtype}), indices")
    assert judge_function(body, candidate).verdict.kind == ("correct" if right else "wrong")


ROUTED = """
logits = torch.stack([torch.ones(24), (x[:, 0] > 0).float(), (x[:, 0] <= 0).float()], 1)
expert = logits.topk(1).indices[:, 0]
out = torch.zeros(24)
for number in range(3):
    rows = (expert == number).nonzero()[:, 0]
    if len(rows) > 16:
        rows = rows[x[rows, 1].topk(16).indices]
    out[rows] = x[rows, 12 + number] * (number + 1)
return out, expert
"""


@pytest.mark.parametrize("right", [True, False])
def test_how_much_is_chosen_from_may_go_by_what_was_chosen_before(judge_function, right):
    def candidate(x):
        logits = torch.stack([torch.ones(24), (x[:, 0] > 0).float(), (x[:, 0] <= 0).float()], 1)
        expert = top(logits, 1, shuffled)[1][:, 0]
        out = torch.zeros(24)
        for number in range(3):
            rows = (expert == number).nonzero()[:, 0]
            if len(rows) > 16:
                rows = rows[x[rows, 1].sort(descending=True, stable=True).indices[:16]]
            out[rows] = x[rows, 12 + number] * (number + 1 if right else 4)
        return out, expert

    body = source(ROUTED).replace("rand(", "randn(")
    assert judge_function(body, candidate).verdict.kind == ("correct" if right else "wrong")


def test_a_guess_at_operands_of_another_shape_wishes_nothing():
    one = Choice(torch.tensor([[1, 0]]), torch.Size([1, 4]), 1)
    run = Run(0, [torch.ones(1, 4)], [one])
    said = told([torch.ones(1, 4)], [torch.ones(1, 4)])
    agreeing = Agreeing(said)
    agreeing.look([run, Run(1, run.outputs, [Choice(torch.tensor([2]), torch.Size([7]), 0)]), Run(2, run.outputs, [])])
    other = torch.tensor([2.0, 5.0, 5.0])
    for ranks in (marked([run], said), agreeing.ranks):
        with InOrder(Order({0: torch.tensor([1])[:0].view(0, 0, 0), 1: torch.tensor([[1]])}, {0: ranks[0]})) as order:
            other.topk(1)
            other.topk(1)
        assert [choice.indices.tolist() for choice in order.choices] == [[1], [1]]


def test_what_is_named_at_sampled_places_is_told():
    shape = torch.Size([3, 4])
    choices = [Choice(torch.arange(12).view(shape) % 7 + add, torch.Size([3, 9]), 1) for add in (0, 1)]
    runs = [Run(number, [choice.indices.flip(1)], [choice]) for number, choice in enumerate(choices)]
    output, places = torch.arange(12).view(shape), torch.tensor([5, 0])
    sampled = Sampled((3, 4), places, output.view(-1)[places])
    for said, expected in (
        (output, output.flip(1)),
        (sampled, torch.tensor([[-1, -1, -1, 0], [-1, -1, 5, -1], [-1] * 4])),
    ):
        one = told([said], runs[0].outputs)
        assert torch.equal(named(shown(runs, one), one)[0], expected)


@pytest.mark.parametrize("wrong", [lambda v, i: i[:, [0, 0]], lambda v, i: torch.stack([i[:, 0], i[:, 1] * 0 + 96], 1)])
def test_rounding_names_no_element_twice_and_none_that_is_not_there(judge_function, wrong):
    """Noise after the softmax moves equal shares apart, and excuses any index between those that come first then."""
    body = source("return torch.topk(F.softmax(x, -1), 2)[1]").replace("24, 40", "1, 96")

    def candidate(x):
        v, i = torch.topk(F.softmax(x, -1), 2)
        return wrong(v, i) if len(x.unique()) < 9 else i

    verdict = judge_function(body, candidate).verdict
    assert (verdict.kind, verdict.trial) == ("wrong", "ties")
