"""Inspecting: a candidate that was judged runs once more, in a new process under a tool, and the tool's word is kept.

Nothing of it touches the verdict. The process is a worker like any other to the sandbox, and the wire is the same; what
it runs is `harness.inspect.target`, on inputs freshly drawn, with extensions built so that findings name their lines.
"""

import os
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from harness.backends import BACKENDS
from harness.compile import to_candidate_lines
from harness.controller.session import OnPhase, Session
from harness.errors import HarnessError, SandboxError
from harness.formats import FORMATS
from harness.inspect import Findings, Invocation, Tool, find_tool, to_report, unsupported
from harness.inspect.launch import Launch, needed_to_import
from harness.judge.drawing import Draw, drawn_by
from harness.judge.failure import SubjectFailed
from harness.judge.worker_conversation import Conversation
from harness.sandbox import Exit, Limits, Policy, Worker
from harness.schema import Candidate, DeviceKind, Problem, Verdict
from harness.schema.build import Artifact, BuildFailure, BuildRequest
from harness.schema.record import ToolName, ToolReport
from harness.settings import Settings
from harness.transport import Channel
from harness.transport.worker_messages import (
    Attach,
    Attached,
    Construct,
    Constructed,
    Go,
    Load,
    Loaded,
    Prepare,
    Prepared,
)

LAUNCH_ENTRY = "harness.inspect.launch:main"
_START_S = 120.0  # an interpreter that imports torch under a tool
_SLOWER = 10.0  # so many times what a step may take otherwise
_END_S = 60.0  # for the tool to sum up once its target is done
_LOG_BYTES = 256 << 10
_OUTPUT_BYTES = 1 << 50  # a tool may say much of every thread: the head and the tail of it are kept


def worth_inspecting(verdict: Verdict) -> bool:
    """Whether the candidate came as far as to be called."""
    match verdict.kind:
        case "correct" | "wrong" | "rejected":
            return True
        case "failed":
            return verdict.stage in ("run", "time")
        case _:
            return False


@dataclass(frozen=True)
class Inspection:
    """A judged candidate, to be looked at with tools on the device `gpu` (None: the CPU)."""

    candidate: Candidate
    problem: Problem
    kind: DeviceKind
    gpu: str | None
    settings: Settings
    session: Session

    def run(self, name: ToolName, *, on_phase: OnPhase) -> tuple[ToolReport, str]:
        """What one tool says, and everything that it and the candidate wrote, capped.

        The candidate has its verdict by now: a fault of ours or of the machine is told as a tool without a result.
        """
        tool = find_tool(name, self.kind)
        if tool is None:
            return to_report(name, unsupported(name, self.kind)), ""
        on_phase(tool.title)
        requests: list[BuildRequest] = []
        try:
            failure, ended = self._observe(name, tool, requests)
        except HarnessError as fault:
            return to_report(name, Findings(finished=False, summary=f"no result from {tool.title}: {fault}")), ""
        log = ended.log
        for request in requests:
            log = to_candidate_lines(without_folders(log, request), request, self.candidate.source)
        return to_report(name, _conclude(tool, log, failure)), log

    def _observe(self, name: ToolName, tool: Tool, requests: list[BuildRequest]) -> tuple[SubjectFailed | None, Exit]:
        """One call under the tool: how it failed, if it did, and how the process ended. Fills `requests`."""

        def build(request: BuildRequest) -> Artifact | BuildFailure:
            requests.append(request)
            return self.session.build(self.kind, request, self.candidate, inspected=True)

        failure = None
        with self._started(name, tool.find()) as (worker, channel):
            if tool.has_helpers and worker.tier == "basic":
                raise SandboxError("its processes talk over sockets, which takes full isolation; see harness doctor")
            try:
                self._call_once(Conversation(worker, channel, build))
            except SubjectFailed as failed:
                failure = failed
            channel.close()
            ended = worker.wait(_END_S)
            if ended is None:
                worker.kill()
                ended = worker.wait()
        assert ended is not None
        return failure, ended

    @contextmanager
    def _started(self, name: ToolName, invocation: Invocation) -> Iterator[tuple[Worker, Channel]]:
        policy = Policy(
            readable=(*needed_to_import(), *invocation.readable),
            devices=BACKENDS[self.kind].is_gpu,
            limits=Limits(
                memory_bytes=self.settings.memory_bytes,
                cpu_s=Limits().cpu_s * _SLOWER,
                log_bytes=_LOG_BYTES,
                output_bytes=_OUTPUT_BYTES,
                sparse_memory=True,
            ),
            isolation=self.settings.isolation,
        )
        # A tool looks for devices before the worker is told its own.
        device = BACKENDS[self.kind].visibility(self.gpu)
        launch = Launch(
            argv=invocation.argv, environment={**device, **invocation.environment}, path=tuple(sys.path), tool=name
        )
        channel, theirs = Channel.pair()
        order = os.memfd_create("launch")
        try:
            os.write(order, launch.model_dump_json().encode())
            os.lseek(order, 0, os.SEEK_SET)
            with channel:
                with theirs:
                    worker = self.session.zygote.spawn_worker(LAUNCH_ENTRY, [theirs.fileno(), order], policy)
                with worker:
                    yield worker, channel
        finally:
            os.close(order)

    def _call_once(self, conversation: Conversation) -> None:
        patience_s = self.settings.timeout_s * _SLOWER
        backend = BACKENDS[self.kind]
        conversation.expect_ready(seconds=_START_S)
        load = Load(
            source=self.candidate.source,
            class_name=FORMATS[self.problem.format].entry,
            device="cuda" if backend.is_gpu else "cpu",
            emulate=backend.emulates,
            visible=dict(backend.visibility(self.gpu)),
            call_s=patience_s,
        )
        conversation.ask(load, Loaded, seconds=patience_s)
        draw = Draw(problem=self.problem, settings=self.settings, backend=self.kind, gpu=self.gpu)
        with drawn_by(self.session.zygote, draw) as (drawn, memory):
            attach = Attach(arena=0, size=drawn.size, kind="host")
            conversation.ask(attach, Attached, seconds=patience_s, descriptors=[memory])
        construct = Construct(
            seed=secrets.randbits(62), arguments=drawn.arguments, arena=0, precision=self.settings.precision
        )
        conversation.ask(construct, Constructed, seconds=patience_s)
        conversation.ask(Prepare(arena=0, slots=(drawn.inputs,)), Prepared, seconds=patience_s)
        conversation.ask_round(Go(slots=(0,), seed=0), seconds=patience_s)


def _conclude(tool: Tool, log: str, failure: SubjectFailed | None) -> Findings:
    """What the tool found; where it found nothing and the call did not end well, there is no result."""
    findings = tool.read(log)
    if findings is not None and (findings.count or not findings.finished or failure is None):
        return findings
    said = tool.why_not(log)
    how = f"the candidate's call under it failed: {failure}" if failure else "it said nothing of a result"
    return Findings(finished=False, summary=f"no result from {tool.title}: {said or how}")


# What may be a path, a line behind it: tried where it begins and nowhere in it.
_RUN = re.compile(r"(?<![^\s:()])[^\s:()]++(?=:\d)")
_ROOT = re.compile(r"(?<![\w/])/")
_INLINE = re.compile(r"(?:cpp|cuda)_sources\[\d+\]")
_MOST_PARTS = 16
"""Of a file's name; a build takes no deeper ones."""


def without_folders(log: str, request: BuildRequest) -> str:
    """`log` with the files of a build under their own names: debug information holds the folder that they lay in."""
    has_inline = bool(request.cpp_sources or request.cuda_sources)

    def named(found: re.Match[str]) -> str:
        run = found[0]
        root = _ROOT.search(run)
        if root is None:
            return run
        _, *parts = run[root.end() :].rsplit("/", _MOST_PARTS)
        for first in range(len(parts) - 1, -1, -1):
            name = "/".join(parts[first:])
            if name in request.files or (has_inline and _INLINE.fullmatch(name)):
                return f"{run[: root.start()]}{name}"
        return run

    return _RUN.sub(named, log)
