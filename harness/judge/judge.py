"""The judge: from a subject that can be called to a verdict and a time.

    weights from a secret seed ─► trials: fresh inputs, the subject's outputs, the reference's ─► compare
        ─► rounds of candidate and reference in turn ─► a verdict, with its timing where the device allows one

Seeds are drawn after the candidate was loaded; none that is still to come is known to it.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from harness.judge.bench import Bench, OnBench
from harness.judge.comparison import Comparison
from harness.judge.contents_by_kind import ContentsByKind
from harness.judge.failure import RaceFound, SubjectFailed, WrongAnswer
from harness.judge.measurement import Measurement
from harness.judge.problem import LoadedProblem
from harness.judge.progress import Progress
from harness.judge.question import CannotBeTimed
from harness.judge.subject import Subject, Trace
from harness.judge.timing import Measured, Plan
from harness.judge.trials import Trials
from harness.judge.weights import Weights
from harness.schema.audit import Audit
from harness.schema.record import Timing, ToleranceName
from harness.schema.verdict import CUDA_ERRORS, Verdict, Wrong


@dataclass
class Finding:
    """What came of it. `phases_s` are seconds by phase, in order.

    `evict_s` is the median time that the judge's eviction took before the rounds of one side, None without timing;
    `paused` whether the candidate took longer between its rounds than the reference;
    `other_weights` are its `Subject.weights` where its first answer was wrong and they, of the reference's names and
    shapes, had other values; `reduced` is the relative error of `Agreement.reduced`; `by_tf32` is a relative error
    that is allowed only because PyTorch takes convolutions in tf32 on a GPU, else 0.
    """

    verdict: Verdict
    timing: Timing | None = None
    trace: Trace | None = None
    evict_s: float | None = None
    paused: bool = False
    reduced: float = 0.0
    by_tf32: float = 0.0
    other_weights: Mapping[str, str] | None = None
    phases_s: dict[str, float] = field(default_factory=dict)


def judge(
    problem: LoadedProblem,
    candidate: Subject,
    open_reference: Callable[[], AbstractContextManager[Subject]] | None,
    *,
    audit: Audit,
    bench: Bench,
    plan: Plan,
    tolerance: ToleranceName = "scaled",
    orders_s: float = 0.0,
    by_name: Mapping[str, str] | None = None,
) -> Finding:
    """Try `candidate` on the problem and, where `open_reference` is given, time it against the reference.

    `audit` says what is known of the problem. `orders_s`: seconds to spend on calling the trials of an emulated
    candidate again, with the threads of its kernels in other orders. `by_name`: the candidate is given the reference's
    weights instead of only the seed that they were drawn with; it is what `Subject.weights` were under another seed,
    and fails where they are the same again. Raises ProblemError where the reference fails on its own inputs,
    torch.OutOfMemoryError where the judge's own device memory does not suffice.
    """
    progress, placed, contents = Progress(), OnBench(candidate, bench), ContentsByKind(problem, audit)
    weights = Weights(problem, candidate, progress, random=audit.random, by_name=by_name)
    comparison = Comparison(audit, bench, tolerance, leave_out=contents.leave_out)
    trials = Trials(
        placed, audit, progress=progress, weights=weights, contents=contents, comparison=comparison, orders_s=orders_s,
        bytes_budget=plan.bytes_budget,
    )  # fmt: skip
    measured: Measured | None = None
    trace: Trace | None = None
    try:
        trials.run()
        if open_reference is not None and contents.can_be_timed:
            measurement = Measurement(
                placed, plan, progress=progress, weights=weights, contents=contents, comparison=comparison,
                seen=trials.seen, reference_s=audit.call_s,
            )  # fmt: skip
            measured, trace = measurement.take(open_reference, call_s=trials.call_s)
        verdict: Verdict = comparison.correct(by_name=by_name is not None)
    except WrongAnswer as wrong:
        verdict = _with_cuda_s_word(wrong.verdict, candidate.cuda_error)
    except CannotBeTimed:
        verdict = comparison.correct(by_name=by_name is not None)
    except RaceFound as race:
        verdict = Wrong(reason="data-race", detail=race.detail, trial=progress.kind)
    except SubjectFailed as failed:
        verdict = failed.at(progress.stage)
    finally:
        placed.close()
    at_once = isinstance(verdict, Wrong) and not comparison.has_agreed
    return Finding(
        verdict,
        timing=measured.timing if measured else None,
        trace=trace,
        evict_s=measured.evict_s if measured else None,
        paused=measured.paused if measured else False,
        reduced=comparison.reduced,
        by_tf32=comparison.by_tf32,
        other_weights=candidate.weights if weights.differ and at_once else None,
        phases_s=progress.phases_s,
    )


def _with_cuda_s_word(wrong: Wrong, error: int) -> Wrong:
    """The verdict with CUDA's word on a call of the candidate's that failed unnoticed, where values are wrong."""
    if not error or wrong.reason not in ("values", "non-finite"):
        return wrong
    said = CUDA_ERRORS.get(error, f"error {error}")
    return wrong.model_copy(update={"unnoticed": said, "detail": f"{wrong.detail}; a CUDA call of it failed: {said}"})
