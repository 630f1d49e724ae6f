"""Verdicts, from plain functions in place of sandboxed processes."""

from functools import partial

import pytest
import torch

from harness.errors import ProblemError
from harness.judge import inputs, verification
from harness.judge.comparison import Comparison
from harness.judge.failure import SubjectFailed
from harness.judge.inputs import InputSets
from harness.judge.oracle import Oracle, reference_must_run
from harness.judge.question import SHAPES_VARY
from harness.judge.reference_alone import ALONE_ROUNDS
from harness.judge.subject import Opaque

RELU = """
import torch
batch_size, dim = 16, 33
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.rand(batch_size, dim)]
def get_init_inputs():
    return []
"""

LINEAR = """
import torch
class Model(torch.nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.gemm = torch.nn.Linear(inside, outside)
    def forward(self, x):
        return torch.tanh(self.gemm(x))
def get_inputs():
    return [torch.rand(8, 32)]
def get_init_inputs():
    return [32, 16]
"""

POSITIVE_ONLY = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.log(x)
def get_inputs():
    return [torch.rand(64) + 0.5]
def get_init_inputs():
    return []
"""


class Linear(torch.nn.Module):
    def __init__(self, bias=True):
        super().__init__()
        self.inner = torch.nn.Linear(32, 16, bias=bias)

    def forward(self, x):
        return self.inner(x).tanh()


def seeded(make):
    def build(seed):
        torch.manual_seed(seed)
        return make()

    return build


def test_an_honest_function_is_correct_on_every_kind_of_trial(judge_function):
    verdict = judge_function(RELU, lambda x: x.clamp(min=0)).verdict
    assert verdict.kind == "correct"
    assert verdict.trials == 8  # two calls on nominal inputs, five stressed ones, small ones, no second weights


def test_returning_the_input_is_wrong_though_it_passes_on_the_problems_own_inputs(judge_function):
    verdict = judge_function(RELU, lambda x: x.clone()).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "values", "signed")
    assert verdict.mismatch.actual < 0 == verdict.mismatch.expected


@pytest.mark.parametrize("body", ["x.sum().item()", "x.double().square().mean()"])
def test_a_number_whose_square_no_float_holds_is_wrong(judge_function, body):
    """It ended the judge."""
    source = RELU.replace("torch.relu(x)", body)
    assert body in source
    honest, wrong = (judge_function(source, lambda x, by=by: eval(body) * by).verdict for by in (1.0, 1e200))
    assert (honest.kind, wrong.kind) == ("correct", "wrong")


def test_an_output_that_is_an_input_is_wrong_where_the_reference_returns_memory_of_its_own(judge_function):
    verdict = judge_function(RELU, lambda x: x).verdict
    assert (verdict.kind, verdict.reason) == ("wrong", "aliased-input")


def test_an_output_that_is_an_input_is_right_where_the_reference_does_the_same(judge_function):
    source = RELU.replace("torch.relu(x)", "x.view(-1)")
    assert judge_function(source, lambda x: x.view(-1)).verdict.kind == "correct"


def test_an_answer_that_the_next_call_writes_over_is_wrong(judge_function):
    buffer = torch.empty(0)
    verdict = judge_function(RELU, lambda x: torch.clamp(x, min=0, out=buffer)).verdict
    assert (verdict.kind, verdict.reason) == ("wrong", "aliased-output")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (0, ""),
        (9, "invalid configuration argument (the sizes of a grid, a block or its shared memory)"),
        (77, "error 77"),
    ],
)
def test_a_call_to_cuda_that_failed_unnoticed_is_told_where_values_are_wrong(judge_function, error, said):
    verdict = judge_function(RELU, torch.zeros_like, cuda_error=error).verdict
    assert verdict.unnoticed == said
    assert verdict.detail.endswith(f"; a CUDA call of it failed: {said}") is bool(said)


OF_ITS_OWN = RELU.replace("torch.relu(x)", "(torch.relu(x), self.table, torch.arange(3), x.view(-1))").replace(
    "    def forward", "    table = torch.nn.Parameter(torch.ones(2))\n    def forward"
)


def test_an_input_and_what_no_input_changes_may_be_handed_out_again(judge_function):
    table, numbers = torch.ones(2), torch.arange(3)
    verdict = judge_function(OF_ITS_OWN, lambda x: (torch.relu(x), table, numbers, x.view(-1))).verdict
    assert verdict.kind == "correct"
    buffer = torch.empty(0)
    again = judge_function(OF_ITS_OWN, lambda x: (torch.clamp(x, min=0, out=buffer), table, numbers, x.view(-1)))
    assert again.verdict.reason == "aliased-output"


OF_RANDOM = RELU.replace("torch.relu(x)", "(torch.relu(x) * torch.rand_like(x), self.table)").replace(
    "    def forward", "    table = torch.nn.Parameter(torch.ones(2))\n    def forward"
)
FINITE_AT_FIRST = RELU.replace("torch.relu(x)", "(x / (x >= 0), torch.arange(3))")


@pytest.mark.parametrize("timed", [False, True])
def test_a_parameter_may_be_handed_out_again_where_the_reference_draws_random_numbers(judge_function, timed):
    table = torch.ones(2)
    finding = judge_function(OF_RANDOM, lambda x: (torch.relu(x) * torch.rand_like(x), table), timed=timed)
    assert finding.verdict.kind == "correct"


@pytest.mark.parametrize("timed", [False, True])
def test_what_no_input_changes_is_known_where_only_nominal_trials_are_finite(judge_function, timed):
    numbers = torch.arange(3)
    finding = judge_function(FINITE_AT_FIRST, lambda x: (x / (x >= 0), numbers), timed=timed)
    assert finding.verdict.kind == "correct"


TABLE = """
import random
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.arange(640.0).view(64, 10)
    def forward(self, x, at):
        return x * 2, self.table[at : at + 8]
def get_inputs():
    return [torch.rand(8, 10), random.randrange(56)]
def get_init_inputs():
    return []
"""


def test_memory_that_the_reference_returns_again_and_again_may_be_handed_out_again(judge_function):
    table, buffer = torch.arange(640.0).view(64, 10), torch.empty(0)
    verdict = judge_function(TABLE, lambda x, at: (x * 2, table[at : at + 8]), timed=True).verdict
    assert verdict.kind == "correct", verdict
    verdict = judge_function(TABLE, lambda x, at: (torch.mul(x, 2, out=buffer), table[at : at + 8])).verdict
    assert verdict.reason == "aliased-output"


IN_PLACE = RELU.replace("torch.relu(x)", "torch.relu(x.mul_(2))")


@pytest.mark.parametrize("timed", [False, True])
def test_what_the_reference_leaves_in_its_inputs_has_to_be_left_there(judge_function, timed):
    assert judge_function(IN_PLACE, lambda x: torch.relu(x.add_(x)), timed=timed).verdict.kind == "correct"
    verdict = judge_function(IN_PLACE, lambda x: torch.relu(x * 2), timed=timed).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "inputs-changed", "nominal")
    assert "input[0]" in verdict.detail


def test_what_is_left_in_inputs_is_looked_at_in_timed_rounds(judge_function):
    calls = []

    def forward(x):
        calls.append(0)
        return torch.relu(x.mul_(2) if len(calls) < 10 else x * 2)

    verdict = judge_function(IN_PLACE, forward, timed=True).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "inputs-changed", "timed")


MAPS = """
import torch
class Model(torch.nn.Module):
    def forward(self, maps, more):
        return torch.cat([torch.nn.functional.elu(one).flatten(1) for one in (*maps, more["last"][0])], dim=1)
def get_inputs():
    return [[torch.rand(4, 3, size) for size in (8, 4)], {"last": (torch.rand(4, 2), "mean")}]
def get_init_inputs():
    return []
"""


def test_what_lies_within_arguments_is_tried_on_every_kind(judge_function):
    def maps_of(maps, more):
        return torch.cat([one.flatten(1) for one in (*maps, more["last"][0])], dim=1)

    honest = judge_function(MAPS, lambda *inputs: torch.nn.functional.elu(maps_of(*inputs)), timed=True).verdict
    assert (honest.kind, honest.trials >= 7) == ("correct", True)
    verdict = judge_function(MAPS, maps_of).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "values", "signed")


STEP = """
import torch
class Model(torch.nn.Module):
    def forward(self, parameters, gradients):
        torch._foreach_add_(parameters, gradients, alpha=-0.1)
        return torch.stack([one.norm() for one in gradients])
def get_inputs():
    return [[torch.rand(size, 3) for size in (8, 4)], [torch.rand(size, 3) for size in (8, 4)]]
def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("timed", [False, True])
def test_what_the_reference_leaves_in_lists_has_to_be_left_there(judge_function, timed):
    def step(parameters, gradients):
        for one, change in zip(parameters, gradients, strict=True):
            one.sub_(change * 0.1)
        return norms(parameters, gradients)

    def norms(parameters, gradients):
        return torch.stack([one.norm() for one in gradients])

    assert judge_function(STEP, step, timed=timed).verdict.kind == "correct"
    verdict = judge_function(STEP, norms, timed=timed).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "inputs-changed", "nominal")
    assert "input[0]" in verdict.detail


def test_the_reference_that_works_in_place_on_a_list_is_right_as_its_own_candidate(judge_function):
    def reference(parameters, gradients):
        torch._foreach_add_(parameters, gradients, alpha=-0.1)
        return torch.stack([one.norm() for one in gradients])

    verdict = judge_function(STEP, reference, timed=True).verdict
    assert verdict.kind == "correct", verdict


def test_outputs_that_are_infinite_under_a_mask_are_tried_on_every_kind(judge_function):
    source = RELU.replace("torch.relu(x)", "torch.relu(x).index_fill(1, torch.tensor([3]), float('-inf'))")
    honest = judge_function(source, lambda x: x.clamp(min=0).index_fill_(1, torch.tensor([3]), -torch.inf)).verdict
    assert (honest.kind, honest.trials) == ("correct", 7)
    verdict = judge_function(source, lambda x: x.clone().index_fill_(1, torch.tensor([3]), -torch.inf)).verdict
    assert (verdict.kind, verdict.trial) == ("wrong", "signed")


def test_a_zero_tensor_is_wrong(judge_function):
    verdict = judge_function(RELU, torch.zeros_like).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "values", "nominal")
    assert verdict.mismatch.elements == 16 * 33


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        (lambda x: x.clamp(min=0)[:-1], "shape"),
        (lambda x: x.clamp(min=0).double(), "dtype"),
        (lambda x: (x.clamp(min=0),), "structure"),
        (lambda x: Opaque("a.Lazy"), "structure"),
        (lambda x: None, "structure"),
        (lambda x: x.clamp(min=0).mul(float("nan")), "non-finite"),
        (lambda x: x.mul_(2).mul(0.5).clamp(min=0), "inputs-changed"),
        (lambda x: x.clamp_(min=0), "aliased-input"),
        (lambda x: x.clamp(min=0) + 0.01, "values"),
        (lambda x: x.half().clamp(min=0).float(), "values"),
    ],
)
def test_each_kind_of_difference_has_its_reason(judge_function, forward, reason):
    verdict = judge_function(RELU, forward).verdict
    assert (verdict.kind, verdict.reason) == ("wrong", reason)


def test_the_worst_element_is_named_with_both_values(judge_function):
    def forward(x):
        out = x.clamp(min=0)
        out[3, 7] += 5
        return out

    mismatch = judge_function(RELU, forward).verdict.mismatch
    assert mismatch.worst_index == (3, 7)
    assert mismatch.mismatched == 1
    assert mismatch.actual == pytest.approx(mismatch.expected + 5)


def test_weights_are_equal_by_seed_whatever_their_names(judge_function):
    finding = judge_function(LINEAR, seeded(Linear), models=True)
    assert finding.verdict.kind == "correct"
    assert finding.verdict.trials == 10  # two seeds of weights


def test_other_parameters_are_named_when_the_values_are_wrong(judge_function):
    verdict = judge_function(LINEAR, seeded(lambda: Linear(bias=False)), models=True).verdict
    assert verdict.kind == "wrong"
    assert "gemm.weight" in verdict.detail


def test_a_model_that_ignores_its_weights_is_wrong(judge_function):
    torch.manual_seed(1)
    fixed = Linear()
    assert judge_function(LINEAR, lambda seed: fixed, models=True).verdict.kind == "wrong"


def test_stress_that_the_reference_cannot_take_is_left_out(judge_function):
    verdict = judge_function(POSITIVE_ONLY, torch.log).verdict
    assert verdict.kind == "correct"
    assert verdict.trials == 2


def test_a_subject_that_fails_is_a_failed_run(judge_function):
    def forward(x):
        raise SubjectFailed("crash", "died of signal 11", "log")

    verdict = judge_function(RELU, forward).verdict
    assert (verdict.kind, verdict.stage, verdict.reason) == ("failed", "run", "crash")


def test_a_reference_that_raises_is_the_problems_fault(judge_function):
    broken = RELU.replace("torch.relu(x)", "x.view(-1, 7)")
    with pytest.raises(ProblemError, match="the reference raised"):
        judge_function(broken, lambda x: x)


def test_a_cache_by_address_is_wrong_because_contents_change_under_it(judge_function):
    memory: dict[int, torch.Tensor] = {}

    def forward(x):
        if x.data_ptr() not in memory:
            memory[x.data_ptr()] = x.clamp(min=0)
        return memory[x.data_ptr()]

    assert judge_function(RELU, forward).verdict.kind == "wrong"


def test_timing_compares_like_with_like(judge_function):
    finding = judge_function(RELU, torch.relu, timed=True)
    assert finding.verdict.kind == "correct"
    timing = finding.timing
    assert timing.rounds >= ALONE_ROUNDS  # of which only the last count where the machine slowed the reference
    assert len(timing.candidate_samples_ms) == len(timing.reference_samples_ms) == timing.rounds
    assert timing.speedup.low <= timing.speedup.value <= timing.speedup.high


def test_a_candidate_that_is_right_only_at_first_is_caught_in_a_timed_round(judge_function):
    calls = []

    def forward(x):
        calls.append(1)
        return x.clamp(min=0) if len(calls) < 60 else torch.zeros_like(x)

    verdict = judge_function(RELU, forward, timed=True).verdict
    assert (verdict.kind, verdict.trial) == ("wrong", "timed")


def test_what_the_last_call_of_a_round_leaves_undone_is_missed_though_nothing_else_is_verified(
    judge_function, monkeypatch
):
    """What a call leaves undone the next one does."""
    monkeypatch.setattr("harness.judge.verification.verified_calls", lambda *_: 0)
    calls, undone = [], []

    def forward(x):
        calls.append(1)
        while undone:
            output, given = undone.pop()
            output.copy_(given.clamp(min=0))
        if len(calls) < 60:
            return x.clamp(min=0)
        undone.append((torch.zeros_like(x), x.clone()))
        return undone[-1][0]

    verdict = judge_function(RELU, forward, timed=True).verdict
    assert (verdict.kind, verdict.trial) == ("wrong", "timed")


DROPOUT = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.dropout(x, 0.5, training=True)
def get_inputs():
    return [torch.rand(64, 64)]
def get_init_inputs():
    return []
"""

CONSTANT = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x)
def get_inputs():
    return [torch.linspace(-1, 1, 4096)]
def get_init_inputs():
    return []
"""


def test_every_call_of_a_round_draws_what_the_reference_would(judge_function):
    finding = judge_function(DROPOUT, lambda x: torch.nn.functional.dropout(x, 0.5, training=True), timed=True)
    assert finding.verdict.kind == "correct"


def test_of_a_round_that_draws_random_numbers_not_only_the_first_call_is_verified(judge_function):
    seen = []

    def forward(x):
        seen.append(torch.initial_seed())
        first = len(seen) < 2 or seen[-1] != seen[-2]
        return torch.nn.functional.dropout(x, 0.5, training=True) if first else torch.zeros_like(x)

    finding = judge_function(DROPOUT, forward, timed=True)
    assert (finding.verdict.kind, finding.verdict.trial) == ("wrong", "timed")


def test_inputs_that_never_change_are_not_what_is_timed(judge_function):
    seen = set()

    def forward(x):
        seen.add(float(x[1]))
        return torch.tanh(x)

    judge_function(CONSTANT, forward, timed=True)
    assert len(seen) > 12  # six trials see other values too


POSITIVE = RELU.replace("torch.relu(x)", "torch.nonzero(x > 0.5)")
"""Contents decide on the shape of the output, nominal ones too."""
NEGATIVE = RELU.replace("torch.relu(x)", "torch.nonzero(x < 0)")
"""As those of some kinds do alone."""


@pytest.mark.parametrize(
    ("source", "forward"),
    [
        (POSITIVE, lambda x: torch.stack(torch.where(x > 0.5), 1)),
        (NEGATIVE, lambda x: torch.stack(torch.where(x < 0), 1)),
    ],
)
def test_where_contents_decide_on_shapes_a_right_answer_is_correct_and_has_no_time(judge_function, source, forward):
    finding = judge_function(source, forward, timed=True)
    assert (finding.verdict.kind, finding.timing, finding.untimed) == ("correct", None, SHAPES_VARY)
    assert judge_function(source, lambda x: forward(x)[:-1], timed=True).verdict.kind == "wrong"
    assert judge_function(source, forward).untimed == ""


def test_shapes_that_no_trial_shows_to_vary_leave_no_time_once_a_verified_call_does(judge_function, monkeypatch):
    monkeypatch.setattr("harness.judge.judge._require_timable", lambda contents, seen: None)
    finding = judge_function(POSITIVE, lambda x: torch.stack(torch.where(x > 0.5), 1), timed=True)
    assert (finding.verdict.kind, finding.timing, finding.untimed) == ("correct", None, SHAPES_VARY)


def test_a_candidate_whose_shapes_alone_vary_is_timed_as_ever_and_wrong(judge_function):
    calls = iter(range(1_000_000))
    verdict = judge_function(RELU, lambda x: torch.relu(x)[int(next(calls) > 40) :], timed=True).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "shape", "timed")


GROUPED = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, group):
        return x[torch.argsort(group, stable=True)]
def get_inputs():
    return [torch.randn(64, 4), INTEGERS]
def get_init_inputs():
    return []
"""


def remembering():
    kept = []

    def forward(x, group):
        if not kept:
            kept.append(torch.argsort(group, stable=True))
        return x[kept[0]]

    return forward


def test_what_is_remembered_of_integers_that_never_change_is_contradicted(judge_function):
    source = GROUPED.replace("INTEGERS", "torch.arange(64) * 37 % 8")
    verdict = judge_function(source, remembering()).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "values", "permuted")
    honest = judge_function(source, lambda x, group: x[torch.argsort(group, stable=True)], timed=True)
    assert honest.verdict.kind == "correct"


def test_integers_are_permuted_in_every_kind_but_the_nominal_one(judge_function):
    seen = {}

    def forward(x, group):
        seen.setdefault(tuple(group.tolist()), 0)
        seen[tuple(group.tolist())] += 1
        return x[torch.argsort(group, stable=True)]

    judge_function(GROUPED.replace("INTEGERS", "torch.arange(64) * 37 % 8"), forward)
    assert sorted(seen.values()) == [1] * 5 + [2, 3]  # two calls on nominal inputs, and two more on the last ones


def test_what_is_remembered_of_integers_within_an_argument_is_contradicted(judge_function):
    source = GROUPED.replace("INTEGERS", "[torch.arange(64) * 37 % 8, 4]").replace(
        "argsort(group,", "argsort(group[0],"
    )
    remembers = remembering()
    verdict = judge_function(source, lambda x, group: remembers(x, group[0])).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "values", "permuted")
    honest = judge_function(source, lambda x, group: x[torch.argsort(group[0], stable=True)], timed=True)
    assert honest.verdict.kind == "correct"


@pytest.mark.parametrize("integers", ["torch.arange(64)", "torch.arange(64) // 4"])
def test_integers_that_ascend_are_offsets_and_stay(judge_function, integers):
    assert judge_function(GROUPED.replace("INTEGERS", integers), remembering()).verdict.kind == "correct"


def test_integers_are_left_alone_where_the_reference_raises_on_others(judge_function):
    source = GROUPED.replace("INTEGERS", "torch.arange(64) * 37 % 8").replace(
        "return x[", "assert group[1] == 5 and group[2] == 2 and group[3] == 7 and group[4] == 4\n        return x["
    )
    verdict = judge_function(source, remembering(), timed=True).verdict
    assert verdict.kind == "correct"


WEIGHTED = """
import torch
class Model(torch.nn.Module):
    def forward(self, x, weights):
        return x @ OPERATION
def get_inputs():
    return [torch.rand(4, 64), FLOATS]
def get_init_inputs():
    return []
"""
LOGARITHMS = WEIGHTED.replace("OPERATION", "torch.log(weights)").replace("FLOATS", "torch.linspace(1, 2, 64)")


def remembering_logarithms():
    kept = []

    def forward(x, weights):
        if not kept:
            kept.append(torch.log(weights))
        return x @ kept[0]

    return forward


def test_what_is_remembered_of_floats_that_never_change_is_contradicted(judge_function):
    verdict = judge_function(LOGARITHMS, remembering_logarithms()).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "values", "shuffled")
    honest = judge_function(LOGARITHMS, lambda x, weights: x @ torch.log(weights), timed=True)
    assert (honest.verdict.kind, honest.timing is not None) == ("correct", True)


def test_floats_that_never_change_are_varied_in_half_of_the_rounds(judge_function):
    seen = []

    def forward(x, weights):
        seen.append(float(weights[:32].sum()))
        return x @ torch.log(weights)

    judge_function(LOGARITHMS, forward, timed=True)
    assert 0.2 < len(set(seen)) / len(seen) < 0.9


def test_floats_whose_order_matters_are_varied_where_they_are(judge_function):
    source = WEIGHTED.replace("OPERATION", "weights.diff().log()").replace("FLOATS", "2.0 ** torch.arange(65)")
    finding = judge_function(source, lambda x, weights: x @ weights.diff().log(), timed=True)
    assert (finding.verdict.kind, finding.timing is not None) == ("correct", True)
    kept = []

    def remembering(x, weights):
        kept.append(weights.diff().log())
        return x @ kept[0]

    verdict = judge_function(source, remembering).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "values", "varied")


def test_there_is_no_time_where_floats_never_change_and_no_others_can_be_made(judge_function):
    source = WEIGHTED.replace("OPERATION", "(1 / (weights == 1).all() * weights)").replace("FLOATS", "torch.ones(64)")
    finding = judge_function(source, lambda x, weights: x @ weights, timed=True)
    assert (finding.verdict.kind, finding.timing) == ("correct", None)


def test_floats_that_another_kind_of_contents_changes_are_not_varied(judge_function):
    source = WEIGHTED.replace("OPERATION", "weights").replace("FLOATS", "torch.linspace(1, 2, 64)")
    assert judge_function(source, lambda x, weights: x @ weights).verdict.trials == 7


def test_what_a_disagreement_says_is_bounded(judge_function):
    finding = judge_function(RELU, lambda x: Opaque("A" * 1_000_000))
    assert finding.verdict.reason == "structure"
    assert len(finding.verdict.detail) < 5_000


NUMBERS = """
import random
import torch
class Model(torch.nn.Module):
    def forward(self, x, factor, options):
        if options["negate"]:
            x = -x
        return torch.tanh(x) * factor + options["steps"][0]
def get_inputs():
    numbers = {"steps": [int(torch.randint(1, 1000, ()))], "negate": random.random() < 0.5}
    return [torch.randn(33), random.uniform(1, 9), numbers]
def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("timed", [False, True])
def test_numbers_that_are_drawn_are_the_same_for_both_sides_and_others_in_each_call(judge_function, timed):
    seen = set()

    def forward(x, factor, options):
        seen.add((factor, options["steps"][0]))
        return torch.tanh(-x if options["negate"] else x) * factor + options["steps"][0]

    finding = judge_function(NUMBERS, forward, timed=timed)
    assert finding.verdict.kind == "correct"
    assert len(seen) >= (100 if timed else 6)
    assert (finding.timing is not None) == timed


def test_numbers_that_were_drawn_for_an_earlier_call_are_wrong(judge_function):
    kept = []

    def forward(x, *numbers):
        kept.append(numbers)
        factor, options = kept[0]
        return torch.tanh(-x if options["negate"] else x) * factor + options["steps"][0]

    verdict = judge_function(NUMBERS, forward).verdict
    assert (verdict.kind, verdict.reason, verdict.trial) == ("wrong", "values", "signed")


def test_another_number_of_numbers_at_each_draw_is_the_problems_fault(judge_function):
    source = NUMBERS.replace("[int(torch.randint(1, 1000, ()))]", "[1] * random.randint(1, 1000)")
    with pytest.raises(ProblemError, match="of one form"):
        judge_function(source, lambda x, factor, options: torch.tanh(-x if options["negate"] else x) * factor + 1)


LARGEST = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return OPERATION
def get_inputs():
    return [torch.rand(4, 8, 32, 32)]
def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("operation", "from_zero"),
    [
        ("x.amax(-1)", lambda x: x.amax(-1).clamp(min=0)),
        ("x.amax(0)", lambda x: x.amax(0).clamp(min=0)),
        ("x.amax()", lambda x: x.amax().clamp(min=0)),
        (
            "torch.nn.functional.max_pool2d(x, 9, 5, padding=4)",
            lambda x: torch.nn.functional.max_pool2d(torch.nn.functional.pad(x, (4,) * 4), 9, 5),
        ),
    ],
)
def test_a_maximum_that_starts_at_zero_is_wrong(judge_function, operation, from_zero):
    verdict = judge_function(LARGEST.replace("OPERATION", operation), from_zero).verdict
    assert (verdict.kind, verdict.reason) == ("wrong", "values")


@pytest.mark.parametrize("operation", ["torch.relu(x)", "torch.relu(x) * 2", "torch.relu(x).sum(-1)"])
def test_an_absolute_step_is_wrong_where_nothing_is_left_of_what_is_negative(judge_function, operation):
    source = RELU.replace("torch.relu(x)", operation)

    def in_steps(x):
        return eval(operation, {"torch": torch, "x": torch.round(x * 2.0**14) / 2.0**14})

    verdict = judge_function(source, in_steps).verdict
    assert (verdict.kind, verdict.reason) == ("wrong", "values")
    assert judge_function(source, lambda x: eval(operation, {"torch": torch, "x": x})).verdict.kind == "correct"


def test_an_activation_that_makes_zeros_of_what_is_negative_throughout_is_no_reason_to_look_elsewhere(judge_function):
    looked_at = []
    assert judge_function(RELU, torch.relu, timed=True, looked_at=looked_at).verdict.kind == "correct"
    assert not looked_at


RARE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x == 7
def get_inputs():
    return [torch.randint(0, 5000, (100, 100))]
def get_init_inputs():
    return []
"""


def test_calls_are_looked_at_where_outputs_are_not_what_they_nearly_all_are(judge_function):
    looked_at = []
    assert judge_function(RARE, lambda x: x == 7, timed=True, looked_at=looked_at).verdict.kind == "correct"
    assert len(looked_at) >= 10
    assert any(places[0] is not None for looked in looked_at for places in looked.values())


def test_nothing_is_computed_before_rounds_of_ordinary_outputs(judge_function):
    looked_at = []
    judge_function(RARE.replace("x == 7", "x % 7"), lambda x: x % 7, timed=True, looked_at=looked_at)
    assert not looked_at


@pytest.mark.parametrize(("digits", "least", "most"), [(0.0, 2, 2), (1e-6, 6, 7)])
def test_float64_is_asked_of_two_trials_and_of_those_that_the_reference_as_written_does_not_settle(
    judge_function, monkeypatch, digits, least, most
):
    """The first, and one at random: a candidate that knows the first could be another in all others."""
    asked, in_double = [], Oracle._in_double

    def counted(self, *given, **named):
        asked.append(named["quick"])
        return in_double(self, *given, **named)

    monkeypatch.setattr(Oracle, "_in_double", counted)
    monkeypatch.setattr("harness.judge.audit.reference_must_run", partial(reference_must_run, widened=False))
    monkeypatch.setattr("harness.judge.audit._Auditor._degenerate", lambda *_: None)
    verdict = judge_function(RELU, lambda x: x.relu() * (1 + digits * torch.randn_like(x))).verdict
    assert verdict.kind == "correct"
    assert verdict.error.oracle == "float64"
    assert least <= len(asked) <= most  # of seven: what is narrow leaves zeros alone


WRITES_BACK = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(64, 64) / 8)
    def forward(self, x):
        y = x @ self.w
        {change}
        return y
def get_inputs():
    return [torch.randn(32, 64)]
def get_init_inputs():
    return []
"""


class WritesBack(torch.nn.Module):
    def __init__(self, change):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(64, 64) / 8)
        self.change = change

    def forward(self, x):
        y = x @ self.w
        self.change(x, y)
        return y


@pytest.mark.parametrize("large", [False, True])
def test_what_is_left_in_inputs_is_held_against_float64_under_each_weights(judge_function, large):
    """More exact than the reference, and refused under the second weights, or on contents that first change inputs."""
    change = "x.copy_((y + 8192) - 8192)" if not large else "x.copy_((y + 8192) - 8192) if x.max() > 8 else None"

    def changed(x, y):
        if not large or x.max() > 8:
            x.copy_(y)

    candidate = seeded(lambda: WritesBack(changed))
    verdict = judge_function(WRITES_BACK.replace("{change}", change), candidate, models=True).verdict
    assert verdict.kind == "correct", verdict
    assert verdict.error.oracle == "float64"


@pytest.mark.parametrize(
    ("source", "forward", "said"),
    [
        (RELU, torch.relu, "correct"),
        (RELU, lambda x: torch.relu(x.mul_(2)) / 2, "inputs-changed"),
        (RELU, lambda x: torch.relu(x) + 1, "values"),
        (IN_PLACE, lambda x: torch.relu(x.add_(x)), "correct"),
        (IN_PLACE, lambda x: torch.relu(x * 2), "inputs-changed"),
    ],
)
def test_large_contents_are_let_go_of_while_a_candidate_runs_and_all_is_asked_as_of_others(
    judge_function, monkeypatch, source, forward, said
):
    gone = []
    let_go = InputSets.let_go

    def noted(self):
        gone.append(self)
        let_go(self)

    monkeypatch.setattr(InputSets, "let_go", noted)
    monkeypatch.setattr(inputs, "LARGE_BYTES", 1)
    verdict = judge_function(source, forward, timed=True).verdict
    assert (verdict.kind if said == "correct" else verdict.reason) == said
    assert gone


@pytest.mark.parametrize(("factor", "alone"), [(1.0, 0.0), (1 + 4e-6, 0.5)], ids=["as written", "within tolerance"])
def test_timed_calls_are_held_one_by_one_only_where_the_last_of_their_kind_was_not_settled(
    judge_function, monkeypatch, factor, alone
):
    held = []

    def counted(self, output, expected, question, *, hold=Comparison.hold):
        held.append(question.timed)
        return hold(self, output, expected, question)

    monkeypatch.setattr(Comparison, "hold", counted)
    verdict = judge_function(RELU, lambda x: torch.relu(x) * factor, timed=True).verdict
    assert verdict.kind == "correct"
    timed = sum(held)
    assert timed < 10 if not alone else timed > alone * verdict.trials


@pytest.mark.parametrize("skips", [True, False])
def test_a_call_that_is_left_out_where_calls_come_one_by_one_is_wrong_though_the_last_one_is_not(judge_function, skips):
    def change(candidate):
        step = candidate.step

        def left_out(slot, *, seed, last=False):
            answered_s = step(slot, seed=seed, last=last)
            if skips and not last:
                candidate.kept_steps[-1] = torch.zeros_like(candidate.kept_steps[-1])
            return answered_s

        candidate.step = left_out

    verdict = judge_function(RELU, torch.relu, timed=True, singles=True, change=change).verdict
    assert verdict.kind == ("wrong" if skips else "correct"), verdict


@pytest.mark.parametrize(
    ("ways", "spoiled", "verdict"),
    [(4, 0.0, "correct"), (4, 1.0, "failed"), (4, 0.05, "wrong"), (3, 1.0, "wrong"), (3, 0.0, "correct")],
)
def test_of_four_ways_to_read_a_call_one_may_be_right_and_none_is_no_wrong_answer_unless_most_is(
    judge_function, ways, spoiled, verdict
):
    """There may be a fifth. Who left out a tenth of outputs that lie in four ways had three tries for free."""

    def change(candidate):
        step_outputs = candidate.step_outputs

        def read(calls):
            found = {}
            for call, (output,) in step_outputs(calls).items():
                missing = torch.rand(output.shape) < spoiled
                found[call] = [torch.full_like(output, 7.0)] * (ways - 1) + [torch.where(missing, 5.0, output)]
            return found

        candidate.step_outputs = read

    found = judge_function(RELU, torch.relu, timed=True, singles=True, change=change).verdict
    assert found.kind == verdict, found


@pytest.mark.parametrize("factor", [1.0, 1 + 4e-6], ids=["as written", "within tolerance"])
def test_the_reference_is_asked_once_about_each_timed_call(judge_function, monkeypatch, factor):
    asked = []

    def counted(*given, **named):
        asked.append(given)
        return reference_must_run(*given, **named)

    monkeypatch.setattr(verification, "reference_must_run", counted)
    verdict = judge_function(RELU, lambda x: torch.relu(x) * factor, timed=True).verdict
    assert verdict.kind == "correct"
    assert 50 < len(asked) <= verdict.trials
