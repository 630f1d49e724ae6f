"""What is the reference as written but for its last digits is settled without float64, alone and with other calls."""

import math

import pytest
import torch

from harness.judge.correctness import Agreement, Expected
from harness.judge.settled import Kept, kept_alike, settled_as_written, settled_together
from harness.judge.subject import Elsewhere, Sampled


def sampled(tensor, places):
    return Sampled(tuple(tensor.shape), torch.tensor(places), tensor.reshape(-1)[places].clone())


SAID = torch.randn(64, 32, generator=torch.Generator().manual_seed(1))
LAST_DIGIT = torch.nextafter(SAID[0, 0], torch.tensor(9.0))


def settled(output, like=SAID, exact=None):
    exact = like if exact is None else exact
    return settled_as_written(output, Expected(like=like, exact=exact, may_widen=True), "scaled")


def expecting(like, *, may_widen=True):
    return Expected(like=like, exact=like, may_widen=may_widen)


def but_for(value, place=(0, 0), of=SAID):
    changed = of.clone()
    changed[place] = value
    return changed


@pytest.mark.parametrize(
    "output", [SAID.clone(), but_for(LAST_DIGIT), sampled(SAID, [3, 70, 2000])], ids=["equal", "a digit", "sampled"]
)
def test_what_is_the_reference_as_written_but_for_last_digits_is_settled(output):
    found = settled(output)
    assert isinstance(found, Agreement)
    assert found.relative < 1e-6
    assert found.own == ()


@pytest.mark.parametrize(
    "output",
    [
        but_for(SAID[0, 0] + 1e-5),
        but_for(float("nan")),
        SAID * (1 + 1e-6 * torch.randn(64, 32, generator=torch.Generator().manual_seed(2))),
        SAID.half().float(),
        SAID.double(),
        SAID.T,
        [SAID],
        sampled(SAID + 1e-5, [3, 70]),
    ],
    ids=["an element", "nan", "all over", "half", "dtype", "shape", "structure", "sampled"],
)
def test_and_what_is_further_off_is_not(output):
    assert settled(output) is None


def test_marks_let_no_other_element_be_off():
    marked = but_for(-1e9, (slice(None), 5))
    assert settled(marked.clone(), marked) is not None
    assert settled(but_for(marked[3, 3] + 1e-4, (3, 3), marked), marked) is None


def test_what_the_reference_is_known_to_be_off_by_excuses_nothing_there():
    assert settled(SAID + 1e-4, exact=SAID.double() + 1e-2) is None


# ---- of several calls ----


@pytest.mark.parametrize("count", [3000, 9000])
def test_sizes_of_many_powers_of_ten_are_no_marks_where_some_lie_between(count):
    wide, end = torch.logspace(-6, 6, count), torch.tensor(math.inf)
    marked = but_for(1e12, 7, wide)
    calls = [Kept(but_for(torch.nextafter(of[9], end), 9, of), of) for of in (wide, marked)]
    assert [found is not None for found in settled_together(calls, "scaled")] == [True, False]
    assert all(settled_as_written(got, expecting(want), "scaled") is not None for got, want in calls)


def drawn(seed):
    """An output, what the reference says and whether there are marks: a scale, a dtype and an error by chance."""
    chance = torch.Generator().manual_seed(seed)

    def below(most):
        return int(torch.randint(most, (), generator=chance))

    like = torch.randn(200, generator=chance) * 10.0 ** (below(60) - 30)
    if is_wide := below(3) == 0:  # what lies far below the rest leaves a gap, too
        like *= 10.0 ** (2 * torch.randn(200, generator=chance))
    if below(4) == 0:
        like = like.relu()
    if marked := below(4) == 0:
        like[:: below(30) + 1] *= 10.0 ** (below(12) - 6)
    if below(10) == 0:
        like[below(200)] = (math.inf, math.nan, 0.0)[below(3)]
    like = like.to((torch.float32, torch.float16, torch.bfloat16)[below(3)])
    output = like.clone()
    size = 10.0 ** (-3 - below(7))
    if below(3) == 0:
        output *= 1 + size * torch.randn(200, generator=chance)
    elif below(3) == 0:
        output[below(200)] += size * float(like.float().abs().nan_to_num(1.0, 1.0).mean())
    elif below(3) == 0:
        output[below(200)] = like[below(200)]
    return output, like, marked or is_wide


@pytest.mark.parametrize("tolerance", ["scaled", "kernelbench"])
def test_several_calls_are_settled_as_each_is_alone(tolerance):
    pairs = [drawn(seed) for seed in range(3000)]
    alone = [settled_as_written(got, Expected(like, like, may_widen=True), tolerance) for got, like, _ in pairs]
    together = settled_together([Kept(got, like) for got, like, _ in pairs], tolerance)
    assert 1000 < sum(found is not None for found in alone) < 2500
    for one, several, (_, like, marked) in zip(alone, together, pairs, strict=True):
        if several is None:
            assert one is None or marked or not bool(like.isfinite().all())
        else:
            assert one is not None
            assert several.of_tolerance == pytest.approx(one.of_tolerance, rel=1e-5)
            assert several.relative == pytest.approx(one.relative, rel=1e-5)


@pytest.mark.parametrize(("tolerance", "settled"), [("scaled", False), ("kernelbench", True)])
def test_next_to_nothing_where_there_should_be_zeros_is_told_by_an_absolute_tolerance(tolerance, settled):
    zeros = torch.zeros(64)
    (together,) = settled_together([Kept(zeros + 1e-8, zeros)], tolerance)
    assert (together is not None) == settled
    assert together == settled_as_written(zeros + 1e-8, expecting(zeros), tolerance)


def test_calls_of_other_lengths_and_dtypes_are_told_apart():
    calls = [SAID[0], SAID[0, :5], SAID[1].half(), SAID[2], SAID[0, :0]]
    assert settled_together([Kept(of, of.clone()) for of in calls], "scaled") == [Agreement()] * 5
    off = [Kept(of + 1, of) for of in calls[:4]]
    assert settled_together([*off[:3], Kept(SAID[2], SAID[2])], "scaled") == [None, None, None, Agreement()]
    assert settled_together([], "scaled") == []


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ([SAID], expecting([SAID])),
        (SAID, expecting(SAID, may_widen=False)),
        (SAID.double(), expecting(SAID)),
        (SAID.T, expecting(SAID)),
        (SAID[:1].expand(64, 32), expecting(SAID)),
        (Elsewhere("cuda:0"), expecting(SAID)),
        (SAID.long(), expecting(SAID.long())),
        (torch.zeros(1 << 15), expecting(torch.zeros(1 << 15))),
        (sampled(SAID.double(), [3]), expecting(SAID)),
        (sampled(SAID.T, [3]), expecting(SAID)),
        (Sampled((64, 32), torch.tensor([3]), torch.ones(1), (1, 0)), expecting(SAID)),
    ],
    ids=[
        "several",
        "float64",
        "dtype",
        "shape",
        "shared",
        "elsewhere",
        "integers",
        "large",
        "dtype'",
        "shape'",
        "shared'",
    ],
)
def test_outputs_that_more_must_be_asked_of_are_not_settled_with_others(output, expected):
    assert kept_alike(output, expected) is None


def test_what_a_reference_writes_over_in_its_next_call_stays_as_it_was():
    buffer = SAID.clone()
    kept = kept_alike(SAID, expecting(buffer))
    buffer.zero_()
    assert settled_together([kept], "scaled") == [Agreement()]


def test_the_kept_elements_of_an_output_are_settled_with_others():
    kept = kept_alike(sampled(SAID, [3, 70, 2000]), expecting(SAID))
    assert torch.equal(kept.got, kept.want)
    assert torch.equal(kept.want, SAID.reshape(-1)[[3, 70, 2000]])
    assert settled_together([kept, kept_alike(SAID + 1, expecting(SAID))], "scaled") == [Agreement(), None]
