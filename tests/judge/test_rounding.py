"""Whether an error comes from a smaller type: told by its pattern where its size says nothing."""

import pytest
import torch

from harness.judge.rounding import COARSE, OperandsRounded, coarse, rounded

POSITIVE = """
import torch
class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.sqrt(a) @ torch.sqrt(b)
def get_inputs():
    return [torch.rand(64, 512), torch.rand(512, 64)]
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
        if mode is None:
            return a @ b
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
    with OperandsRounded(10, cut=False):
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
