"""References that turn rounding into something else: honest twins pass, and their planted bugs do not."""

import pytest
import torch
from delicate import CASES, added, product, source, twin

from harness.judge import conditioning
from harness.judge.audit import audit
from harness.judge.conditioning import FAR, Jittered, Movable, Other, forgiven, in_tf32, moved
from harness.judge.correctness import Agreement, Disagreement, Expected, compare
from harness.judge.oracle import Oracle
from harness.judge.problem import load_problem
from harness.judge.tensors import same


@pytest.mark.parametrize("name", CASES)
def test_an_honest_twin_that_adds_in_another_order_is_correct(judge_function, name):
    body, honest, _ = CASES[name]
    verdict = judge_function(source(body), twin(honest), models=True).verdict
    assert verdict.kind == "correct", f"{verdict.trial}: {verdict.detail}"


@pytest.mark.parametrize("name", CASES)
def test_a_planted_bug_is_caught_where_rounding_decides_much(judge_function, name):
    body, _, wrong = CASES[name]
    assert judge_function(source(body), twin(wrong), models=True).verdict.kind == "wrong"


@pytest.mark.parametrize("first", ["torch.sign(x @ self.w), {}", "[{}, torch.sign(x @ self.w)]", "{}"])
@pytest.mark.parametrize(("off", "verdict"), [(0.0, "correct"), (1e3, "wrong")])
def test_a_number_beside_tensors_may_be_off_where_rounding_moves_it(judge_function, first, off, verdict):
    number = "float((y.sum(-1) - y.flip(-1).cumsum(-1)[:, -1]).sum() * 1e6)"

    def forward(x, w, book):
        y = product(x, w)
        found = float((added(y) - y.sum(-1)).sum() * 1e6) + off * float(y.abs().sum())
        return {"t": (torch.sign(y), found), "[": [found, torch.sign(y)], "{": found}[first[0]]

    body = source("y = x @ self.w\nreturn " + first.format(number))
    assert judge_function(body, twin(forward), models=True).verdict.kind == verdict


def noise_of(work, units=1.0, coarse=frozenset()):
    """The root mean square of what the jitter leaves, relative."""
    exact = work()
    mode = Jittered(3, units, coarse)
    with mode:
        found = work()
    return float((found - exact).square().mean().sqrt() / exact.square().mean().sqrt()), mode.noisy


def test_jitter_is_of_the_size_of_float32s_rounding_and_follows_its_units():
    a, b = torch.randn(64, 128, dtype=torch.float64), torch.randn(128, 32, dtype=torch.float64)
    one, _ = noise_of(lambda: a @ b)
    four, _ = noise_of(lambda: a @ b, units=4.0)
    assert 1e-8 < one < 1e-6
    assert 3 < four / one < 5


@pytest.mark.parametrize(
    "work", [lambda a: torch.relu(a), lambda a: a.round() * 2, lambda a: a.sort(-1)[0], lambda a: a.round().sum(-1)]
)
def test_what_float32_holds_exactly_is_not_jittered(work):
    value = torch.randn(50, 20).double()
    noise, noisy = noise_of(lambda: work(value) + 0)
    assert (noise, noisy) == (0.0, False)


def shift_of_norm(value):
    """The root mean square, over seeds, of the mean that jitter leaves in values that are normalised to have none."""
    shifts = []
    for seed in range(30):
        with Jittered(seed, 1.0):
            found = torch.nn.functional.layer_norm(value, value.shape[-1:])
        shifts.append(float(found.mean().square()))
    return (sum(shifts) / len(shifts)) ** 0.5


def test_the_mean_that_a_norm_takes_off_is_as_rough_as_a_sum_term_by_term():
    value = torch.randn(4, 4096, dtype=torch.float64)
    assert shift_of_norm(value) < 5e-7
    assert 3e-6 < shift_of_norm(value + 10) < 5e-5


def test_operators_that_the_reference_computes_in_tf32_are_as_coarse_as_that():
    x, w = torch.randn(2, 8, 16, 16, dtype=torch.float64), torch.randn(8, 8, 3, 3, dtype=torch.float64)
    coarse, _ = noise_of(lambda: torch.conv2d(x, w), coarse=frozenset({"convolution"}))
    assert 2e-4 < coarse < 6e-4
    assert in_tf32(torch.device("cpu")) == frozenset()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_inputs_move_by_one_step_equal_values_alike_and_zeros_not_at_all(dtype):
    value = torch.tensor([0.0, 1.5, 1.5, -3.25, float("inf"), float("nan"), 7.0], dtype=dtype)
    seen = set()
    for seed in range(20):
        (found, text) = moved([value, "a"], seed, 1)
        assert text == "a"
        assert found[0] == 0
        assert found[1] == found[2]
        assert found[4] == float("inf")
        assert found[5].isnan()
        assert float((found[1] - 1.5).abs()) <= 1.5 * torch.finfo(dtype).eps
        seen.add(float(found[3]))
    assert len(seen) == 3


def test_inputs_that_move_in_parts_move_as_they_would_at_once(monkeypatch):
    value = torch.randn(7, 11, 3).transpose(0, 2)
    (whole,) = moved([value], 5, 2)
    monkeypatch.setattr(conditioning, "_MOVED_AT_ONCE", 10)
    assert torch.equal(moved([value], 5, 2)[0], whole)
    assert not torch.equal(whole, value)


def agreed(actual, exact, *others):
    like = exact.float() if exact.is_floating_point() else exact
    return compare(actual, Expected(like, exact, others=tuple(Other(one, 1.0) for one in others)))


def test_an_element_may_be_off_where_samples_move_it_and_nowhere_else():
    exact = torch.ones(100, dtype=torch.float64)
    flipped = exact.clone()
    flipped[7] = -1
    actual = flipped.float()
    assert isinstance(agreed(actual, exact, flipped, flipped), Agreement)
    actual[9] = -1
    assert agreed(actual, exact, flipped, flipped).mismatch.worst_index == (9,)
    assert isinstance(agreed(actual, exact, exact, exact), Disagreement)


def chosen(count, far):
    """What comes of so many elements that are off where no sample moved any, with further samples."""
    exact = torch.ones(1000, dtype=torch.float64)
    samples = []
    for start in range(4):
        one = exact.clone()
        one[start * 10 : start * 10 + 5] = -1
        samples.append(Other(one, 1.0))
    actual = exact.float()
    actual[500 : 500 + count] = -1
    return compare(actual, Expected(exact.float(), exact, others=(*samples, *(Other(one, FAR[0]) for one in far))))


def test_as_many_more_as_one_sample_alone_moved_are_forgiven_in_part_where_further_ones_say_the_same():
    near_the_jump = torch.ones(1000, dtype=torch.float64)
    near_the_jump[500:520] = -1
    assert forgiven(20, 5) == 12
    assert isinstance(chosen(12, [near_the_jump]), Agreement)
    assert isinstance(chosen(13, [near_the_jump]), Disagreement)


@pytest.mark.parametrize("far", [[], [torch.ones(1000).double()], [torch.full((1000,), 3.0).double()]])
def test_elements_at_places_of_a_candidates_choice_are_not_forgiven(far):
    assert isinstance(chosen(1, far), Disagreement)


def test_further_samples_excuse_nothing_by_themselves():
    exact, other = torch.arange(50), torch.arange(50)
    other[3] = 49
    expected = Expected(exact, exact, others=(Other(exact, 1.0), Other(other, FAR[0])))
    assert isinstance(compare(other, expected), Disagreement)
    assert isinstance(compare(3, Expected(4, 4, others=(Other(4, 1.0), Other(3, FAR[0])))), Disagreement)


def test_integers_may_differ_where_samples_do():
    exact = torch.arange(50)
    other = exact.clone()
    other[3] = 49
    actual = exact.clone()
    actual[3] = 17
    assert isinstance(agreed(actual, exact, other, other), Agreement)
    actual[4] = 17
    assert isinstance(agreed(actual, exact, other, other), Disagreement)


@pytest.mark.parametrize(("value", "is_right"), [(998, True), (1005, True), (42, False), (10_000, False)])
def test_integers_that_rounding_moves_by_a_few_may_not_be_anything(value, is_right):
    exact = torch.full((50,), 1000)
    samples = [exact + step for step in (-3, 1, 0, 2)]
    actual = torch.full((50,), value)
    assert isinstance(agreed(actual, exact, *samples), Agreement if is_right else Disagreement)
    others = tuple(Other(int(sample[0]), 4.0) for sample in samples)
    assert isinstance(compare(value, Expected(1000, 1000, others=others)), Agreement if is_right else Disagreement)


def test_bools_and_words_are_what_some_sample_says():
    exact, other = torch.tensor([True, True]), torch.tensor([True, False])
    assert isinstance(agreed(torch.tensor([True, False]), exact, other, exact), Agreement)
    assert isinstance(agreed(torch.tensor([False, False]), exact, other, exact), Disagreement)
    others = (Other("cat", 4.0), Other("dog", 4.0))
    assert isinstance(compare("cat", Expected("dog", "dog", others=others)), Agreement)
    assert isinstance(compare("cow", Expected("dog", "dog", others=others)), Disagreement)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e6])
def test_what_no_rounding_explains_is_wrong_where_everything_moves(value):
    exact = torch.randn(200, dtype=torch.float64)
    samples = [torch.randn(200, dtype=torch.float64) for _ in range(4)]
    assert isinstance(agreed(torch.randn(200), exact, *samples), Agreement)
    assert isinstance(agreed(torch.full((200,), value), exact, *samples), Disagreement)


def test_the_share_that_is_lost_counts_elements_that_move_by_their_own_size():
    exact = torch.ones(100, dtype=torch.float64)
    other = exact.clone()
    other[:30] = -1
    other[30:60] += 1e-3
    movable = Movable(1e-4, 1.0, ((other, 1.0), (other, 1.0)))
    movable.look(exact.float(), exact, torch.float64, 1 << 20)
    assert movable.share == 0.3


def steps(units: float, moved: int):
    """1,000 values of 2, and eight samples of which so many are a step of four tolerances off at the first value."""
    exact = torch.full((1000,), 2.0, dtype=torch.float64)
    samples = [exact.clone() for _ in range(8)]
    for sample in samples[:moved]:
        sample[0] += 4 * 1e-4 * (2 + 2)
    return exact, tuple(Other(sample, units) for sample in samples)


@pytest.mark.parametrize("moved", [1, 3, 6])
def test_a_step_of_a_few_tolerances_is_one_however_many_units_of_rounding_it_took(moved):
    exact, others = steps(4.0, moved)
    expected = Expected(exact.float(), exact, others=others)
    actual = exact.float()
    actual[0] = others[0].outputs[0]
    assert isinstance(compare(actual, expected), Agreement)
    actual[1] = others[0].outputs[0]  # which no sample moved
    assert isinstance(compare(actual, expected), Disagreement)


def test_noise_of_one_size_is_no_step():
    exact = torch.full((1000,), 2.0, dtype=torch.float64)
    noise = torch.Generator().manual_seed(0)
    others = tuple(Other(exact + 4e-4 * torch.randn(1000, generator=noise, dtype=torch.float64), 4.0) for _ in range(7))
    movable = Movable(1e-4, 2.0, tuple((other.outputs, other.units) for other in others))
    _, _, jumps = movable.moves(exact, [exact + 1e-4, *(other.outputs for other in others)])
    assert int(jumps.sum()) < 20


WELL_CONDITIONED = {
    "a tenth of a per cent": lambda x, w, book: x @ w * 1.001,
    "bfloat16": lambda x, w, book: (x.bfloat16() @ w.bfloat16()).float(),
    "one element": lambda x, w, book: (x @ w).index_fill(1, torch.tensor([5]), 0.0),
    "zeros": lambda x, w, book: torch.zeros(len(x), 48),
}


@pytest.mark.parametrize("name", WELL_CONDITIONED)
def test_doubt_helps_nobody_on_a_product(judge_function, name):
    assert (
        judge_function(source("return x @ self.w"), twin(WELL_CONDITIONED[name]), models=True).verdict.kind == "wrong"
    )


def test_equal_outputs_of_two_calls_are_told_alike_though_the_time_for_doubts_is_over(judge_function, monkeypatch):
    """Else an honest candidate was accused of giving two answers to one call."""
    asked = []

    def after_the_first(self):
        asked.append(self)
        return len(asked) > 1

    monkeypatch.setattr("harness.judge.question.TimeForDoubts.is_spent", property(after_the_first))
    body = "return torch.sign(x @ self.w)"
    verdict = judge_function(source(body), twin(lambda x, w, book: product(x, w).sign()), models=True).verdict
    assert getattr(verdict, "reason", "") != "not-repeatable"


def told_in_no_time(judge_function, monkeypatch, name, forward):
    monkeypatch.setattr("harness.judge.question.DOUBTS_S", -1.0)
    return judge_function(source(CASES[name][0]), twin(forward), models=True).verdict


def test_a_trial_that_nobody_has_time_to_ask_about_is_left_out_where_rounding_decided_on_all_before(
    judge_function, monkeypatch
):
    name = "a mean of normalised values"
    verdict = told_in_no_time(judge_function, monkeypatch, name, CASES[name][1])
    assert (verdict.kind, verdict.left_out[:1]) == ("correct", ("nominal",))
    assert len(set(verdict.left_out)) == len(verdict.left_out)


@pytest.mark.parametrize(
    ("name", "forward"),
    [
        ("a mean of normalised values", lambda x, w, book: torch.full((len(x) // 8,), float("nan"))),
        ("a sign", CASES["a sign"][2]),
    ],
)
def test_and_is_as_it_was_found_elsewhere(judge_function, monkeypatch, name, forward):
    assert told_in_no_time(judge_function, monkeypatch, name, forward).kind == "wrong"


def test_noise_is_called_so_by_the_audit_and_named_in_the_verdict(judge_function):
    body, _, _ = CASES["a mean of normalised values"]
    problem = load_problem("p", source(body), device=torch.device("cpu"))
    found = audit(problem)
    assert "rounding-noise" in {finding.rule for finding in found.findings}
    assert found.unstable > 0.5
    zeros = judge_function(source(body), twin(lambda x, w, book: torch.zeros(len(x) // 8)), models=True).verdict
    assert zeros.kind == "correct"
    assert "nominal" in zeros.left_out


def test_a_product_is_no_noise():
    found = audit(load_problem("p", source("return x @ self.w"), device=torch.device("cpu")))
    assert "rounding-noise" not in {finding.rule for finding in found.findings}
    assert found.unstable == 0


@pytest.mark.parametrize("name", ["a sign", "a mean of normalised values", "a top-k"])
def test_an_honest_twin_is_timed_as_well(judge_function, name):
    body, honest, _ = CASES[name]
    finding = judge_function(source(body), twin(honest), models=True, timed=True)
    assert finding.verdict.kind == "correct", f"{finding.verdict.trial}: {finding.verdict.detail}"
    assert finding.timing is not None


def test_too_little_memory_to_ask_excuses_nobody(judge_function, monkeypatch):
    def otherwise(*_, **__):
        raise torch.OutOfMemoryError("too much")

    monkeypatch.setattr(Oracle, "otherwise", otherwise)
    verdict = judge_function(source("return x @ self.w"), twin(lambda x, w, book: x @ w + 1), models=True).verdict
    assert (verdict.kind, verdict.reason) == ("wrong", "values")


def test_what_lies_within_arguments_moves_as_it_would_alone():
    value, other = torch.randn(50), torch.randn(7).half()
    found = moved([[value, {"a": (other, 3)}], value], 5, 1)
    alone = moved([value, other], 5, 1)
    assert same(found, [[alone[0], {"a": (alone[1], 3)}], alone[0]])
    assert not torch.equal(alone[0], value)
