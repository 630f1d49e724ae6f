"""Comparison: exact structure, a tolerance that scales, and no pardon for NaN."""

import math
from collections import OrderedDict
from dataclasses import replace

import pytest
import torch

from harness.judge import correctness
from harness.judge.conditioning import Other
from harness.judge.correctness import Agreement, Disagreement, Expected, all_finite, compare
from harness.judge.output_scale import Own
from harness.judge.subject import Elsewhere, Opaque


def held(actual, like, exact=None):
    return compare(actual, Expected(like=like, exact=like if exact is None else exact))


@pytest.fixture(params=[1 << 26, 7])
def chunk(request, monkeypatch):
    """Comparing in one piece and in many gives the same."""
    monkeypatch.setattr(correctness, "_CHUNK", request.param)


@pytest.mark.usefixtures("chunk")
def test_equal_tensors_agree_whatever_is_in_them():
    value = torch.tensor([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 1e-38, 3e38] * 3)
    assert held(value.clone(), value) == Agreement()


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize(("got", "want"), [(math.nan, 1.0), (math.inf, 1.0), (1.0, math.nan), (-math.inf, math.inf)])
def test_a_non_finite_element_only_passes_where_the_reference_has_it(got, want):
    like = torch.ones(20)
    like[13] = want
    actual = torch.ones(20)
    actual[13] = got
    found = held(actual, like)
    assert isinstance(found, Disagreement)
    assert found.mismatch.worst_index == (13,)
    assert found.mismatch.mismatched == 1


@pytest.mark.usefixtures("chunk")
def test_the_worst_of_several_wrong_elements_is_named():
    like = torch.arange(60, dtype=torch.float32).view(6, 10) + 1
    actual = like.clone()
    actual[1, 2] += 1
    actual[4, 5] += 30
    actual[5, 9] += 2
    found = held(actual, like).mismatch
    assert (found.mismatched, found.elements, found.worst_index) == (3, 60, (4, 5))
    assert (found.actual, found.expected) == (76.0, 46.0)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_the_tolerance_scales_with_the_output(scale):
    like = torch.linspace(-1, 1, 1001) * scale
    assert isinstance(held(like * (1 + 1e-6), like), Agreement)
    assert isinstance(held(like * 1.01, like), Disagreement)
    assert isinstance(held(torch.zeros_like(like), like), Disagreement)


def test_where_the_reference_is_far_from_float64_a_candidate_may_be_as_far():
    exact = torch.ones(100, dtype=torch.float64)
    like = (exact + 1e-3).float()
    assert isinstance(held((exact - 1e-3).float(), like, exact), Agreement)
    assert isinstance(held((exact - 1e-2).float(), like, exact), Disagreement)


@pytest.mark.parametrize(
    ("dtype", "step"), [(torch.float16, 2e-3), (torch.bfloat16, 8e-3), (torch.float32, 1e-6), (torch.float64, 1e-13)]
)
def test_each_precision_has_its_own_tolerance(dtype, step):
    like = torch.ones(64, dtype=dtype)
    assert isinstance(held(like * (1 + step), like), Agreement)
    assert isinstance(held(like * (1 + 40 * RATIO[dtype]), like), Disagreement)


RATIO = {torch.float16: 1e-2, torch.bfloat16: 1e-2, torch.float32: 1e-4, torch.float64: 1e-10}


EXACT = [torch.int64, torch.int32, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.bool]


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("dtype", EXACT)
def test_integers_and_bools_are_compared_exactly(dtype):
    like = torch.ones(3, 4, dtype=dtype)
    actual = like.clone()
    assert held(actual, like) == Agreement()
    actual[2, 1] = 0
    assert held(actual, like).mismatch.worst_index == (2, 1)


@pytest.mark.usefixtures("chunk")
def test_the_integer_that_is_furthest_off_is_named():
    like = torch.arange(20)
    actual = like.clone()
    actual[3], actual[11], actual[19] = 4, 1000, 0
    found = held(actual, like).mismatch
    assert (found.mismatched, found.worst_index, found.actual, found.expected) == (3, (11,), 1000, 11)


def test_integers_that_a_float_cannot_tell_apart_differ_and_are_named_exactly():
    like = torch.tensor([2**53, 2**63 - 1])
    actual = torch.tensor([2**53, 2**63 - 2])
    found = held(actual, like)
    assert found.mismatch.worst_index == (1,)
    assert (found.mismatch.actual, found.mismatch.expected) == (str(2**63 - 2), str(2**63 - 1))
    assert f"{2**63 - 2} should be {2**63 - 1}" in found.detail
    wide = torch.tensor([2**64 - 1], dtype=torch.uint64)
    assert isinstance(held(torch.tensor([2**64 - 2], dtype=torch.uint64), wide), Disagreement)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_bool_that_nobody_wrote_is_wrong_though_it_reads_as_true(transposed):
    like = torch.ones(4, 5, dtype=torch.bool)
    actual = like.clone()
    actual.view(torch.uint8)[2, 3] = 0xFF  # what poison leaves there
    if transposed:  # as bytes: a bool that is copied becomes one
        actual, like = (value.view(torch.uint8).t().contiguous().t().view(torch.bool) for value in (actual, like))
    found = held(actual, like).mismatch
    assert (found.mismatched, found.worst_index, found.actual) == (1, (2, 3), 255)


def test_complex_numbers_are_compared_by_both_parts():
    like = torch.complex(torch.ones(5), torch.ones(5))
    assert isinstance(held(like.clone(), like), Agreement)
    assert isinstance(held(like.conj(), like), Disagreement)


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_a_wrong_complex_number_counts_once_and_its_worse_part_is_named(dtype):
    like = torch.complex(torch.ones(4, 6), torch.ones(4, 6)).to(dtype)
    actual = like.clone()
    actual[2, 3] = 3 + 9j
    actual[0, 1] = 2 + 1j
    found = held(actual, like).mismatch
    assert (found.output, found.elements, found.mismatched, found.worst_index) == ("output.imag", 24, 2, (2, 3))
    assert (found.actual, found.expected) == (9.0, 1.0)


def test_a_complex_number_with_a_part_that_is_not_a_number_agrees_only_in_the_same_part():
    nan = torch.tensor([complex(math.nan, 1), 1 + 1j])
    assert isinstance(held(nan.clone(), nan), Agreement)
    assert isinstance(held(torch.tensor([complex(1, math.nan), 1 + 1j]), nan), Disagreement)
    assert isinstance(held(torch.tensor([complex(math.nan, 2), 1 + 1j]), nan), Disagreement)
    assert isinstance(held(nan, torch.tensor([1 + 1j, 1 + 1j])), Disagreement)


def test_a_small_part_of_a_complex_number_is_held_to_the_size_of_both():
    like = torch.complex(torch.ones(50), torch.full((50,), 1e-7))
    assert isinstance(held(torch.complex(torch.ones(50), torch.zeros(50)), like), Agreement)
    assert isinstance(held(torch.complex(torch.ones(50), torch.full((50,), 1e-2)), like), Disagreement)


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_8_bit_floats_are_compared_within_their_own_precision(dtype):
    exact = torch.linspace(0.5, 8, 40, dtype=torch.float64)
    like = exact.to(dtype)
    assert isinstance(held(like.clone(), like), Agreement)
    assert isinstance(held(like.clone(), like, exact), Agreement)
    assert isinstance(held((exact * 2).to(dtype), like), Disagreement)
    broken = like.clone()
    broken[7] = math.nan
    assert held(broken, like).mismatch.worst_index == (7,)
    assert all_finite(like)
    assert not all_finite(broken)


def test_bfloat16_is_held_against_float64():
    exact = torch.linspace(-3, 3, 1001, dtype=torch.float64)
    like = exact.to(torch.bfloat16)
    assert isinstance(held(like.clone(), like, exact), Agreement)
    assert isinstance(held((exact + 0.001).to(torch.bfloat16), like, exact), Agreement)
    assert isinstance(held((exact * 1.2).to(torch.bfloat16), like, exact), Disagreement)


@pytest.mark.usefixtures("chunk")
def test_half_that_overflows_as_the_reference_does_is_right_and_so_is_what_float64_says():
    exact = torch.full((30,), 100.0, dtype=torch.float64)
    exact[4], exact[5], exact[6] = 1e5, -1e5, 7e4
    like = exact.half()
    assert like[4] == math.inf
    assert isinstance(held(like.clone(), like, exact), Agreement)
    wide = like.float()
    assert isinstance(held(exact.float(), wide, exact), Agreement)
    other = like.clone()
    other[5] = math.inf
    found = held(other, like, exact)
    assert isinstance(found, Disagreement)
    assert found.mismatch.worst_index == (5,)
    early = like.clone()
    early[20] = math.inf
    assert held(early, like, exact).reason == "non-finite"


@pytest.mark.usefixtures("chunk")
def test_where_float64_is_no_number_the_reference_as_written_decides():
    like = torch.ones(20)
    exact = like.double()
    exact[3] = math.nan
    assert isinstance(held(like.clone(), like, exact), Agreement)
    found = held(torch.full((20,), 2.0), like, exact).mismatch
    assert found.mismatched == 20
    assert found.expected == 1.0


def test_zeros_of_either_sign_are_equal():
    assert held(torch.tensor([-0.0, 0.0]), torch.tensor([0.0, -0.0])) == Agreement()


def test_an_output_of_zeros_has_to_be_zero():
    assert held(torch.zeros(5), torch.zeros(5)) == Agreement()
    assert isinstance(held(torch.full((5,), 1e-30), torch.zeros(5)), Disagreement)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.complex64])
def test_a_single_number_and_nothing_at_all_are_tensors_too(dtype):
    one = torch.ones((), dtype=dtype)
    assert isinstance(held(one.clone(), one), Agreement)
    assert held(torch.zeros((), dtype=dtype), one).mismatch.worst_index == ()
    assert held(one.view(1), one).reason == "shape"
    nothing = torch.empty(0, 3, dtype=dtype)
    assert held(nothing.clone(), nothing) == Agreement()
    assert held(torch.empty(3, 0, dtype=dtype), nothing).reason == "shape"


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_expanded_and_overlapping_outputs_are_read_by_their_indices_where_the_reference_has_such(dtype):
    row = torch.arange(6).to(dtype)
    like = row.repeat(4, 1)
    assert isinstance(held(like, row.expand(4, 6)), Agreement)
    assert isinstance(held(row.clone().expand(4, 6), row.expand(4, 6)), Agreement)
    diagonal = torch.arange(9).to(dtype)
    windows = diagonal.as_strided((4, 6), (1, 1))
    assert isinstance(held(windows.clone(), windows), Agreement)
    found = held(windows, row.expand(4, 6)).mismatch
    assert (found.worst_index, found.mismatched) == ((3, 0), 18)


@pytest.mark.parametrize("shape", [(4, 6), (1, 6, 4)])
def test_elements_that_share_memory_are_no_output_where_the_reference_writes_each(shape):
    row = torch.ones(1)
    found = held(row.expand(shape), torch.ones(shape))
    assert (found.reason, found.mismatch) == ("structure", None)
    assert "share memory" in found.detail


@pytest.mark.parametrize(
    "laid_out",
    [
        lambda x: x.transpose(0, 2).contiguous().transpose(0, 2),
        lambda x: torch.zeros(9, 9, 9)[2:6, 1:6, ::2][..., :3].copy_(x),
        lambda x: x.contiguous()[:, None][:, 0],
        lambda x: x.permute(1, 2, 0).contiguous().permute(2, 0, 1),
    ],
)
def test_an_output_may_lie_in_memory_as_it_likes_with_an_element_in_each_place(laid_out):
    like = torch.rand(4, 5, 3)
    assert isinstance(held(laid_out(like), like), Agreement)


def test_outputs_may_share_memory_with_each_other():
    value = torch.arange(8.0)
    like = (value.clone(), value[2:].clone())
    assert isinstance(held((value, value[2:]), like), Agreement)


@pytest.mark.parametrize(
    ("actual", "like", "reason"),
    [
        ([torch.ones(2)], (torch.ones(2),), "structure"),
        ((torch.ones(2),), (torch.ones(2), torch.ones(2)), "structure"),
        ({"a": torch.ones(2)}, {"b": torch.ones(2)}, "structure"),
        (torch.ones(2), 1.0, "structure"),
        (1, 1.0, "structure"),
        (1, True, "structure"),
        (True, 1, "structure"),
        (1.0, 1, "structure"),
        (None, torch.ones(2), "structure"),
        (torch.ones(2), None, "structure"),
        (math.nan, 1.0, "non-finite"),
        (-math.inf, math.inf, "values"),
        (False, True, "values"),
        ({"a": 1, "b": 2}, {"a": 1}, "structure"),
        ({"a": 2, "b": 1}, {"b": 2, "a": 1}, "values"),
        (1.5, 1.0, "values"),
        ("a", "b", "values"),
        (Opaque("Lazy"), torch.ones(2), "structure"),
        (Elsewhere("cpu"), torch.ones(2), "device"),
        (torch.ones(2, 1), torch.ones(2), "shape"),
        (torch.ones(0), torch.ones(0, 3), "shape"),
        (torch.ones(2).half(), torch.ones(2), "dtype"),
    ],
)
def test_structure_is_exact(actual, like, reason):
    found = held(actual, like)
    assert isinstance(found, Disagreement)
    assert found.reason == reason


def test_nested_outputs_are_compared_leaf_by_leaf():
    like = {"loss": 0.5, "parts": (torch.ones(3), [torch.zeros(())], None, True)}
    assert isinstance(held(like, like), Agreement)
    worse = {"loss": 0.5, "parts": (torch.ones(3), [torch.ones(())], None, True)}
    assert held(worse, like).mismatch.output == "output['parts'][1][0]"


def test_a_strided_output_is_compared_in_its_own_order():
    like = torch.arange(12.0).view(3, 4)
    assert isinstance(held(like.t().contiguous().t(), like), Agreement)


def test_the_order_of_keys_and_the_name_of_a_tuple_do_not_matter():
    one, two = torch.ones(2), torch.zeros(3)
    assert isinstance(held({"b": two, "a": one}, {"a": one, "b": two}), Agreement)
    named = torch.max(torch.eye(3), dim=0)
    assert isinstance(held(tuple(named), named), Agreement)
    assert isinstance(held(OrderedDict(a=one), {"a": one}), Agreement)
    assert isinstance(held(math.nan, math.nan), Agreement)


@pytest.mark.usefixtures("chunk")
def test_an_error_throughout_is_told_from_one_in_a_single_element():
    torch.manual_seed(0)
    exact = torch.rand(5000, dtype=torch.float64)
    like = exact.float()
    assert "is that of tf32 or half arithmetic" in held((like * 1.003).half().float(), like, exact).detail
    single = like.clone()
    single[77] += 1
    assert "tf32" not in held(single, like, exact).detail


def test_the_error_of_half_that_is_allowed_is_kept_for_the_flag():
    torch.manual_seed(0)
    exact = torch.rand(5000, dtype=torch.float64) / 10
    found = compare(exact.half().float(), Expected(exact.float(), exact), "kernelbench")
    assert 1e-4 < found.reduced < 1e-3
    assert compare(exact.float(), Expected(exact.float(), exact), "kernelbench").reduced == 0


@pytest.mark.usefixtures("chunk")
def test_values_past_the_range_of_half_do_not_widen_the_tolerance_of_the_rest():
    exact = torch.ones(100, dtype=torch.float64)
    exact[::3] = 1e30
    like = exact.half()
    wrong = like.clone()
    wrong[10] = 2.0
    assert isinstance(held(like.clone(), like, exact), Agreement)
    assert held(wrong, like, exact).mismatch.worst_index == (10,)


def masked(mark):
    """Ordinary values, the half of them masked, and what float64 says of both."""
    exact = torch.randn(40, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    exact[:, 25:] = exact[:, 25:] + mark if abs(mark) < 1e30 else mark
    return exact.float(), exact


@pytest.mark.parametrize("mark", [-1e4, -1e9, float(torch.finfo(torch.float32).min), 1e12])
def test_a_mark_among_ordinary_values_says_nothing_of_how_far_those_may_be_off(chunk, mark):
    like, exact = masked(mark)
    assert isinstance(held(like * (1 - 1e-6), like, exact), Agreement)
    wrong = held(torch.where(like.abs() < 100, 0.0, like), like, exact)
    assert wrong.mismatch.mismatched > 990
    assert isinstance(held(torch.where(like.abs() < 100, like * 1.01, like), like, exact), Disagreement)


def test_what_rounding_leaves_of_large_values_is_not_held_to_its_own_size(chunk):
    """Half of a difference is nothing but rounding, of which float64 knows none."""
    exact = torch.randn(40, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    exact[:, 25:] = 1e-17
    like = exact.float()
    like[:, 25:] = 3e-8
    other = exact.float()
    other[:, 25:] = -5e-8
    assert isinstance(held(other, like, exact), Agreement)


def test_a_few_rare_marks_in_a_large_output_widen_no_tolerance():
    exact = torch.randn(1 << 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    exact[::9000] = -1e30
    like = exact.float()
    assert isinstance(held(like.clone(), like, exact), Agreement)
    assert isinstance(held(torch.where(like.abs() < 100, 0.0, like), like, exact), Disagreement)


def test_heavy_tails_are_of_one_size(chunk):
    exact = torch.randn(2000, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).exp().pow(3)
    like = exact.float()
    assert isinstance(held(like + 5e-5 * float(exact.mean()), like, exact), Agreement)


def test_what_one_output_was_off_by_widens_no_other():
    like = (torch.rand(500), torch.rand(500))
    wrong = (torch.zeros(500), like[1])
    assert isinstance(compare(wrong, Expected(like, like, known=(Own(5.0),))), Agreement)  # one of all
    found = compare(wrong, Expected(like, like, known=(Own(), Own(5.0))))
    assert found.mismatch.output == "output[0]"
    exact = tuple(value.double() * (1 + 1e-6 * place) for place, value in enumerate(like))
    agreement = compare(like, Expected(like, exact))
    assert agreement.own[0].relative == 0.0 < agreement.own[1].relative


def quotients(seed=1):
    """What is divided by what may be nearly 0, as written and in float64."""
    chance = torch.Generator().manual_seed(seed)
    x, w, v = (torch.randn(256, 256, generator=chance) for _ in range(3))
    exact = (x.double() @ w.double()) / (x.double() @ v.double())
    halves = [(x[:, half] @ w[half]) for half in (slice(0, 128), slice(128, 256))]
    below = [(x[:, half] @ v[half]) for half in (slice(0, 128), slice(128, 256))]
    return (x @ w) / (x @ v), exact, (halves[0] + halves[1]) / (below[0] + below[1])


def test_what_a_quotient_by_nearly_nothing_is_off_by_says_nothing_of_the_others():
    like, exact, other = quotients()
    apart = (like - exact).abs()
    few = exact.abs() > 1000 * exact.abs().median()
    assert 0 < few.sum() < 0.01 * few.numel()
    assert apart[few].max() > 20 * exact.abs().median()  # in absolute terms all others are nothing beside it
    assert isinstance(held(like, like, exact), Agreement)
    assert isinstance(held(other, like, exact), Agreement)
    for wrong in (torch.where(few, like, 0.0), torch.where(few, like, 1.01 * like), torch.where(few, 0.0, like)):
        assert isinstance(held(wrong, like, exact), Disagreement)


def test_what_was_known_of_rare_elements_counts_where_there_is_no_float64():
    like, exact, _ = quotients()
    own = compare(like, Expected(like, exact)).own
    assert own[0].share > 1e-3
    few = exact.abs() > 1000 * exact.abs().median()
    as_far_off = torch.where(few, like * (1 + own[0].share), like)
    assert isinstance(compare(as_far_off, Expected(like, like, known=own)), Agreement)
    assert isinstance(compare(as_far_off, Expected(like, like)), Disagreement)
    for wrong in (torch.where(few, like, 0.0), torch.where(few, 0.0, like)):
        assert isinstance(compare(wrong, Expected(like, like, known=own)), Disagreement)


def with_errors(errors, size=1.0):
    """Float64, and a reference as written that is off it by these."""
    exact = torch.randn(len(errors), dtype=torch.float64) * size
    return Expected(like=(exact + errors).float(), exact=exact)


def test_few_elements_at_which_a_reference_is_far_off_excuse_no_others():
    errors = torch.randn(1 << 16, dtype=torch.float64) * 1e-7
    errors[::257] = torch.randn(256, dtype=torch.float64) * 0.02
    expected = with_errors(errors)
    other = torch.randn(1 << 16, dtype=torch.float64) * 1e-7
    other[::257] = torch.randn(256, dtype=torch.float64) * 0.02
    honest, wrong = ((expected.exact + off).float() for off in (other, torch.full_like(errors, 0.01)))
    assert isinstance(compare(honest, expected), Agreement)
    found = compare(wrong, expected)
    assert isinstance(found, Disagreement)
    assert found.mismatch.mismatched > 60_000


@pytest.mark.parametrize(("sampled", "is_right"), [(0, False), (1000, True)])
def test_as_many_elements_may_be_rough_as_are_where_the_reference_s_rounding_falls_otherwise(sampled, is_right):
    """A reference that adds more exactly than most has few rough elements itself: attention in one kernel."""
    errors = torch.randn(1 << 16, dtype=torch.float64) * 1e-7
    errors[:3] = 0.01
    expected = with_errors(errors)
    other, mine = (torch.randn(1 << 16, dtype=torch.float64) * 1e-7 for _ in range(2))
    other[500 : 500 + sampled] = 5e-4
    mine[9000:9900] = 5e-4
    samples = (Other(expected.exact + other, 1.0),)
    found = compare((expected.exact + mine).float(), replace(expected, others=samples))
    assert isinstance(found, Agreement) == is_right, found


@pytest.mark.parametrize("draw", [torch.randn, lambda n: torch.distributions.Laplace(0.0, 1.0).sample((n,))])
def test_errors_of_one_distribution_excuse_each_other(draw):
    """Another order of sums has errors of its own, which are as large, elsewhere."""
    torch.manual_seed(0)
    for scale in (1e-4, 1e-3):
        expected = with_errors(draw(1 << 18).double() * scale)
        assert isinstance(compare((expected.exact + draw(1 << 18).double() * scale).float(), expected), Agreement)


def test_what_a_reference_s_error_does_not_reach_is_held_to_the_ordinary_tolerance():
    torch.manual_seed(0)
    errors = torch.randn(33, 4096, dtype=torch.float64) * 3e-4
    errors[-1] = 0.0
    exact = torch.randn(33, 4096, dtype=torch.float64)
    exact[-1] = 2.5e-4
    expected = Expected(like=(exact + errors).float(), exact=exact)
    left_out = exact.float().clone()
    left_out[-1] = 0.0
    assert isinstance(compare(exact.float(), expected), Agreement)
    assert isinstance(compare(left_out, expected), Disagreement)
    in_tf32 = exact + torch.randn(33, 4096, dtype=torch.float64) * 3e-4
    in_tf32[-1] = exact[-1]
    assert isinstance(compare(in_tf32.float(), expected), Agreement)


def test_where_no_float64_tells_few_may_be_beyond_what_is_usual_as_it_was_in_trials():
    like = torch.randn(1 << 16)
    known = (Own(relative=0.05, usual=1e-6, rough=1e-3),)
    few, many = like.clone(), like.clone()
    few[:100] += 0.03
    many[:1000] += 0.03
    assert isinstance(compare(few, Expected(like, like, known=known)), Agreement)
    assert isinstance(compare(many, Expected(like, like, known=known)), Disagreement)
    assert isinstance(compare(many, Expected(like, like, known=(Own(relative=0.05),))), Agreement)


@pytest.mark.parametrize(("dtype", "size"), [(torch.float64, 1e200), (torch.float64, 1.7e308), (torch.float32, 3e38)])
def test_numbers_whose_squares_no_type_holds_are_compared_as_others(dtype, size):
    like = torch.full((33,), size, dtype=dtype)
    like[::2] *= 0.5
    exact = like.double() * (1 - 1e-12)
    others = (Other(exact * 0.9, 1.0), Other(exact, 4.0))
    for expected in (Expected(like, exact), Expected(like, like), Expected(like, exact, others=others)):
        assert isinstance(compare(like.clone(), expected), Agreement)
        assert isinstance(compare(-like, expected), Disagreement)
