"""Preparing: import a candidate in a CPU-only worker, so that everything it builds on import lies in the cache.

Importing runs candidate code, so it happens in the same sandbox as judging. A candidate whose import needs a GPU
gets as far as it can here and builds the rest on the device's worker.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256

from harness.backends import BACKENDS
from harness.catalog.hub import hub_environment, models_of
from harness.judge.failure import SubjectFailed
from harness.judge.worker_conversation import BuildRefused, conversing
from harness.sandbox import Policy, Zygote
from harness.schema import Problem
from harness.schema.build import Artifact, BuildFailure, BuildRequest, DeviceKind
from harness.schema.record import BuildSummary
from harness.schema.submission import Candidate
from harness.schema.verdict import Failed, Reason
from harness.settings import Settings
from harness.transport.worker_messages import Load, Loaded

_LASTING: frozenset[Reason] = frozenset(
    ("timeout", "cpu-time", "processes", "disk", "protocol", "missing", "syntax", "exit")
)
"""Reasons that a device would not mend: an import that fails for any other may only have missed the GPU."""

Build = Callable[[BuildRequest], Artifact | BuildFailure]


@dataclass(frozen=True)
class Preparation:
    """What importing a candidate on the CPU came to, and what it had built, later too.

    `failure` is None where it may go on to a device. `known` are the keys of what was built, and hashes of the requests
    that were refused.
    """

    builds: tuple[BuildSummary, ...] = ()
    notes: tuple[str, ...] = ()
    build_log: str = ""
    failure: Failed | None = None
    known: frozenset[str] = frozenset()

    def with_build(self, request: BuildRequest, outcome: Artifact | BuildFailure) -> "Preparation":
        """The same with one more build. What is asked for again, as in the worker that is judged, counts once."""
        key = outcome.key if isinstance(outcome, Artifact) else sha256(request.model_dump_json().encode()).hexdigest()
        if key in self.known:
            return self
        counts = isinstance(outcome, Artifact) or outcome.decided
        return replace(
            self,
            builds=(*self.builds, _summary(request, outcome)) if counts else self.builds,
            notes=(*self.notes, *(outcome.notes if isinstance(outcome, Artifact) else ())),
            build_log="\n".join(log for log in (self.build_log, outcome.log) if log),
            known=self.known | {key},
        )


def prepare(
    candidate: Candidate,
    problem: Problem,
    kind: DeviceKind,
    *,
    entry: str,
    zygote: Zygote,
    build: Build,
    settings: Settings,
) -> Preparation:
    """Import `candidate`, which defines `entry` for `problem`, and build what it asks for."""
    backend = BACKENDS[kind]
    found = Preparation()

    def built(request: BuildRequest) -> Artifact | BuildFailure:
        nonlocal found
        outcome = build(request)
        found = found.with_build(request, outcome)
        return outcome

    failure: Failed | None = None
    models = models_of(problem)
    policy = Policy(
        readable=models,
        devices=False,
        limits=settings.limits,
        isolation=settings.isolation,
        environment=hub_environment(models),
    )
    with conversing(zygote, policy, built) as (_, conversation):
        _keep_off_the_timed_cores(conversation.pid)
        try:
            conversation.expect_ready()
            request = Load(
                source=candidate.source,
                class_name=entry,
                device="cpu",
                emulate=backend.emulates,
                visible=dict(backend.visibility(None)),
                call_s=settings.timeout_s,
            )
            conversation.ask(request, Loaded, seconds=settings.timeout_s)
        except BuildRefused as refused:
            failure = refused.at("build")
        except SubjectFailed as failed:
            if not backend.is_gpu or failed.reason in _LASTING:
                failure = failed.at("load")
    return replace(found, failure=failure)


def _keep_off_the_timed_cores(pid: int) -> None:
    """Have a worker run where this thread may: it is forked from a process that may run everywhere.

    Where it shares a core with a worker that is timed, calls that take the host's time take twice as long.
    """
    with suppress(OSError):  # it is gone, which the next question tells
        os.sched_setaffinity(pid, os.sched_getaffinity(0))


def _summary(request: BuildRequest, outcome: Artifact | BuildFailure) -> BuildSummary:
    """A build for the record."""
    return BuildSummary(
        name=request.name,
        toolchain=outcome.toolchain,
        cached=isinstance(outcome, Artifact) and outcome.cached,
        seconds=outcome.seconds,
        cpu_seconds=outcome.cpu_seconds,
        notes=outcome.notes if isinstance(outcome, Artifact) else (),
        decided=outcome.decided if isinstance(outcome, BuildFailure) else "",
    )
