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
from harness.judge.outputs_seen import OutputsSeen
from harness.judge.problem import LoadedProblem
from harness.judge.progress import Progress
from harness.judge.question import SHAPES_VARY, CannotBeTimed
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
    that is allowed only because PyTorch takes convolutions in tf32 on a GPU, else 0. `untimed`: why there is no time
    where one was wanted.
    """

    verdict: Verdict
    timing: Timing | None = None
    trace: Trace | None = None
    evict_s: float | None = None
    paused: bool = False
    reduced: float = 0.0
    by_tf32: float = 0.0
    untimed: str = ""
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

    `audit` says what is known of the problem. `orders_s`: seconds for calling trials of an emulated candidate again,
    with the threads of its kernels in other orders. `by_name`: it is given the reference's weights and not only their
    seed; these are its `Subject.weights` under another seed, and it fails where they are the same again. Raises
    ProblemError where the reference fails on its own inputs, torch.OutOfMemoryError where the judge lacks memory.
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
    untimed = ""
    try:
        trials.run()
        if open_reference is not None:
            _require_timable(contents, trials.seen)
            measurement = Measurement(
                placed, plan, progress=progress, weights=weights, contents=contents, comparison=comparison,
                seen=trials.seen, reference_s=audit.call_s,
            )  # fmt: skip
            measured, trace = measurement.take(open_reference, call_s=trials.call_s)
        verdict: Verdict = comparison.correct(by_name=by_name is not None)
    except WrongAnswer as wrong:
        verdict = _with_cuda_s_word(wrong.verdict, candidate.cuda_error)
    except CannotBeTimed as why:
        untimed, verdict = str(why), comparison.correct(by_name=by_name is not None)
    except SubjectFailed as failed:
        verdict = _of_failure(failed, progress)
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
        untimed=untimed,
        other_weights=candidate.weights if weights.differ and at_once else None,
        phases_s=progress.phases_s,
    )


def _require_timable(contents: ContentsByKind, seen: OutputsSeen) -> None:
    """Raise CannotBeTimed where there is no time, whatever the candidate is. Ask once all trials are over."""
    if not contents.can_be_timed:
        raise CannotBeTimed("there are no contents of which a candidate could not remember what follows from them")
    if seen.varies or contents.shapes_vary:
        raise CannotBeTimed(SHAPES_VARY)


def _of_failure(failed: SubjectFailed, progress: Progress) -> Verdict:
    if isinstance(failed, RaceFound):
        return Wrong(reason="data-race", detail=failed.detail, trial=progress.kind)
    return failed.at(progress.stage)


def _with_cuda_s_word(wrong: Wrong, error: int) -> Wrong:
    """The verdict with CUDA's word on a call of the candidate's that failed unnoticed, where values are wrong."""
    if not error or wrong.reason not in ("values", "non-finite"):
        return wrong
    said = CUDA_ERRORS.get(error, f"error {error}")
    return wrong.model_copy(update={"unnoticed": said, "detail": f"{wrong.detail}; a CUDA call of it failed: {said}"})
