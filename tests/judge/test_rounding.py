"""Whether an error comes from a smaller type: told by its pattern where its size says nothing."""

import time
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from harness.judge.comparison import Comparison
from harness.judge.correctness import Agreement
from harness.judge.question import Question
from harness.judge.rounding import COARSE, EIGHT_BITS, OperandsRounded, coarse, in_eight_bits, rounded
from harness.schema.audit import Audit

POSITIVE = """
import torch
class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.sqrt(a) @ torch.sqrt(b)
def get_inputs():
    return [torch.rand(64, 128), torch.rand(128, 64)]
def get_init_inputs():
    return []
"""


def in_type(value, name):
    bits, cut = COARSE[name]
    return rounded(value.double(), bits, cut=cut).float()


@pytest.fixture
def operands():
    torch.manual_seed(0)
    return torch.rand(96, 800), torch.rand(800, 64)


def asked(actual, operands, like=None):
    a, b = (value.double() for value in operands)

    def in_float64(mode):
        with mode:
            return a @ b

    return coarse(actual, operands[0] @ operands[1] if like is None else like, in_float64)


@pytest.mark.parametrize("name", COARSE)
def test_a_product_of_positive_numbers_in_a_smaller_type_is_told(name, operands):
    a, b = (in_type(value, name) for value in operands)
    assert asked((a.double() @ b.double()).float(), operands) is not None
    assert asked(a @ b, operands) is not None


def test_rounding_half_of_what_is_summed_is_told(operands):
    a, b = operands
    halves = in_type(a[:, :400], "tf32 or half") @ in_type(b[:400], "tf32 or half") + a[:, 400:] @ b[400:]
    assert asked(halves, operands) == "tf32 or half"


def one_by_one(a, b):
    out = torch.zeros(len(a), b.shape[1])
    for k in range(a.shape[1]):
        out += a[:, k, None] * b[k]
    return out


def by_blocks(a, b):
    return sum(a[:, k : k + 50] @ b[k : k + 50] for k in range(0, a.shape[1], 50))


def with_a_lasting_bias(a, b):
    return (a @ b) * (1 - 3e-6)


@pytest.mark.parametrize("honest", [one_by_one, by_blocks, with_a_lasting_bias, torch.matmul])
def test_float32_in_any_order_has_nothing_in_common_with_a_smaller_type(honest, operands):
    assert asked(honest(*operands), operands) is None


def test_what_the_reference_rounds_itself_is_no_choice_of_the_candidates(operands):
    a, b = (in_type(value, "tf32 or half") for value in operands)
    assert asked(a @ b, operands, like=one_by_one(a, b)) is None


def test_few_elements_tell_nothing(operands):
    a, b = operands[0][:10], operands[1][:, :10]
    small = (a, b)
    assert asked(in_type(a, "bfloat16") @ in_type(b, "bfloat16"), small) is None


def test_operands_are_rounded_to_nearest_or_cut():
    value = torch.tensor([1 + 2**-11 + 2**-13, -(1 + 2**-11 + 2**-13), 3.0], dtype=torch.float64)
    assert rounded(value, 10).tolist() == [1 + 2**-10, -(1 + 2**-10), 3.0]
    assert rounded(value, 10, cut=True).tolist() == [1.0, -1.0, 3.0]


def test_only_products_and_sums_have_their_operands_rounded():
    fine = torch.full((4,), 1 + 2**-20, dtype=torch.float64)
    with OperandsRounded(partial(rounded, bits=10)):
        assert (fine * 2).tolist() == [2 + 2**-19] * 4
        assert float(fine.sum()) == 4.0


@pytest.mark.parametrize(("name", "told"), [("tf32 or half", True), (None, False)])
@pytest.mark.parametrize("timed", [False, True])
def test_the_judge_flags_it_where_no_input_may_be_negative(judge_function, name, told, timed):
    def forward(a, b):
        a, b = a.sqrt(), b.sqrt()
        return one_by_one(a, b) if name is None else in_type(a, name) @ in_type(b, name)

    finding = judge_function(POSITIVE, forward, timed=timed)
    assert finding.verdict.kind == "correct"
    assert (finding.reduced > 0) == told


def test_a_candidate_that_rounds_only_while_it_is_timed_is_told(judge_function):
    calls = []

    def forward(a, b):
        calls.append(None)
        a, b = a.sqrt(), b.sqrt()
        return a @ b if len(calls) < 12 else in_type(a, "tf32 or half") @ in_type(b, "tf32 or half")

    assert judge_function(POSITIVE, forward, timed=True).reduced > 0


def timed_call(coarse):
    return Question(SimpleNamespace(coarse=coarse), "nominal", SimpleNamespace(inputs=list), 0, timed=True)


def test_a_question_that_was_answered_no_is_asked_again(bench):
    """A candidate could spend it on noise, and round from then on."""
    answers = iter([None, None, "tf32 or half"])
    comparison = Comparison(Audit(), bench, "scaled", leave_out=lambda kind: None)
    question = timed_call(lambda *args, **kwargs: next(answers))
    for _ in range(5):
        comparison.ask_fewer_bits(Agreement(spread=1e-5), None, None, question)
    assert comparison.reduced == 1e-5
    assert next(answers, "none left") == "none left"


def test_asking_takes_no_more_than_its_share_of_the_time(bench):
    asked = []

    def coarse(*args, **kwargs):
        time.sleep(0.02)
        asked.append(None)

    comparison = Comparison(Audit(), bench, "scaled", leave_out=lambda kind: None)
    comparison.fewer_bits.timing_begins()
    for _ in range(100):
        comparison.ask_fewer_bits(Agreement(spread=1e-5), None, None, timed_call(coarse))
    assert len(asked) < 5


HALF = POSITIVE.replace(
    "torch.rand(64, 128), torch.rand(128, 64)", "torch.rand(64, 512).half(), torch.rand(512, 64).half()"
)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, "half") for name in EIGHT_BITS), ("float8 e4m3", "bfloat16"), ("float8 e5m2", "bfloat16")],
)
def test_eight_bits_are_told_where_half_is_asked_for(judge_function, dtype, name):
    kind = getattr(torch, "float16" if dtype == "half" else dtype)

    def forward(a, b):
        a, b = (in_eight_bits(x.sqrt().double(), name) for x in (a, b))
        return (a @ b).to(kind)

    finding = judge_function(HALF.replace("half()", f"{dtype}()"), forward)
    assert finding.verdict.kind == "correct"
    assert finding.reduced > 0


@pytest.mark.parametrize("dtype", ["half", "bfloat16"])
def test_half_in_any_order_has_nothing_in_common_with_eight_bits(judge_function, dtype):
    def forward(a, b):
        return one_by_one(a.sqrt().float(), b.sqrt().float()).to(a.dtype)

    assert judge_function(HALF.replace("half()", f"{dtype}()"), forward, timed=True).reduced == 0


MIXING = {
    "matmul": lambda x: x @ x.mT,
    "linear": lambda x: torch.nn.functional.linear(x, x[0]),
    "einsum": lambda x: torch.einsum("bij,bkj->bik", x, x),
    "baddbmm": lambda x: torch.baddbmm(x, x, x),
    "bilinear": lambda x: torch.nn.functional.bilinear(x[0], x[0], x),
    "convolution": lambda x: torch.nn.functional.conv1d(x, x),
    "transposed convolution": lambda x: torch.nn.functional.conv_transpose1d(x, x[:, :, :3].contiguous()),
    "lstm": lambda x: torch.nn.LSTM(8, 8).double()(x)[0],
    "gru": lambda x: torch.nn.GRU(8, 8).double()(x)[0],
    "rnn": lambda x: torch.nn.RNN(8, 8).double()(x)[0],
    "distances": lambda x: torch.cdist(x, x.flip(0)),
    "attention": lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x),
    "layer norm": lambda x: torch.nn.functional.layer_norm(x, (8,)),
    "group norm": lambda x: torch.nn.functional.group_norm(x, 2),
    "batch norm": lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=1),
    "prod": lambda x: x.prod(1),
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1),
    "variance": lambda x: x.var(1),
    "deviation": lambda x: x.std(1),
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(1),
    "softmax": lambda x: x.softmax(1),
    "log of sums": lambda x: x.logsumexp(1),
    "average pool": lambda x: torch.nn.functional.avg_pool1d(x, 2),
    "trilinear": lambda x: torch._trilinear(x, x, x, [], [], [], [2]),
    "kronecker by hand": lambda x: (x[:, :, None] * x[:, None]).sum(-1),
}


@pytest.mark.parametrize("name", MIXING)
def test_operands_of_whatever_mixes_elements_are_rounded(name):
    torch.manual_seed(0)
    x = torch.rand(8, 8, 8, dtype=torch.float64) + 0.1
    changed = []

    def note(value):
        changed.append(value.shape)
        return value

    with torch.no_grad(), OperandsRounded(note):
        MIXING[name](x)
    assert changed


KEEPING = {
    "element by element": lambda x: torch.tanh(torch.relu(x) * 2 + x),
    "views": lambda x: x.view(64, 8).t()[2:].unsqueeze(0),
    "moves": lambda x: torch.cat([x, x.flip(0)]).index_select(0, torch.tensor([1, 2])).clone(),
    "padding": lambda x: torch.nn.functional.pad(x, (1, 1)),
    "the largest": lambda x: torch.nn.functional.max_pool1d(x, 2).amax(1).sort().values,
}


@pytest.mark.parametrize("name", KEEPING)
def test_what_moves_numbers_or_goes_one_by_one_has_nothing_rounded(name):
    with OperandsRounded(lambda value: pytest.fail("rounded")):
        KEEPING[name](torch.rand(8, 8, 8, dtype=torch.float64))


def test_a_product_written_as_a_multiplication_and_a_sum_is_told(operands):
    a, b = operands[0][:, :512], operands[1][:512]

    def in_float64(mode):
        with mode:
            return (a.double()[:, :, None] * b.double()[None]).sum(1)

    small = in_type(a, "tf32 or half") @ in_type(b, "tf32 or half")
    assert coarse(small, a @ b, in_float64) == "tf32 or half"
    assert coarse(one_by_one(a, b), a @ b, in_float64) is None
