"""A worker's end of the wire that plays a script, before the judge's own reading code."""

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from hosts import Host

from harness.errors import ProtocolError
from harness.judge.failure import SubjectFailed
from harness.judge.inputs import InputSets
from harness.judge.worker_conversation import Conversation
from harness.judge.worker_subject import WorkerSubject
from harness.sandbox import Exit, Freezer
from harness.schema.build import BuildFailure, BuildRequest
from harness.transport import Channel, Frame, steps_page
from harness.transport.channel import parsed
from harness.transport.memory import HostArena, view
from harness.transport.values import TensorValue, encode
from harness.transport.worker_messages import (
    REQUEST,
    Attach,
    Attached,
    Attending,
    Built,
    Construct,
    Constructed,
    Describe,
    Described,
    Detach,
    Done,
    Go,
    Prepare,
    Prepared,
    Ready,
    Release,
    Released,
    Steps,
)

CALLS = 2
DEADLINE_S = 0.2  # what the judge waits for an answer of a hostile peer; one that falls silent costs this
_HEADER = struct.Struct("<II")


@dataclass(frozen=True)
class Sent:
    """One frame as it leaves the worker: its text, its descriptors, and what the header claims of both."""

    text: bytes
    descriptors: tuple[int, ...] = ()
    length: int | None = None
    count: int | None = None

    def header(self) -> bytes:
        length = len(self.text) if self.length is None else self.length
        return _HEADER.pack(length, len(self.descriptors) if self.count is None else self.count)


Change = Callable[[int, Sent], Sequence[Sent | bytes | None]]
"""From the number of an answer and the honest one to what is sent in its place; bytes go raw, None hangs up."""


class ScriptedWorker:
    """What a conversation needs to know of a worker's process: this one, which is never really killed."""

    pid = os.getpid()

    def __init__(self) -> None:
        self.killed = False

    def kill(self) -> None:
        self.killed = True

    def freezer(self) -> Freezer:
        return Freezer(self.pid)

    def wait(self, timeout_s: float | None = None) -> Exit | None:
        del timeout_s
        return Exit(code=None, signal=9, cause="killed") if self.killed else None


class HonestWorker:
    """Answers as a worker with `torch.relu` for a model would."""

    def __init__(self) -> None:
        self._arenas: dict[int, HostArena] = {}
        self._inputs: list[torch.Tensor] = []
        self.outputs: list[torch.Tensor] = []

    def answer(self, request: Any, descriptors: Sequence[int]) -> Any:
        match request:
            case Construct():
                return Constructed(parameters=())
            case Attach():
                arena = self._arenas[request.arena] = HostArena(request.size, descriptors[0])
                return Attached(base=arena.bytes().data_ptr())
            case Prepare():
                raw = self._arenas[request.arena].bytes()
                leaves = [slot.items[0] for slot in request.slots]
                self._inputs = [view(raw, leaf, leaf.offset) for leaf in leaves]
                return Prepared()
            case Go():
                return self._called(request.slots)
            case Steps():
                return Attending()
            case Describe():
                return Described(outputs=tuple(encode(self.outputs[call], _described) for call in request.calls))
            case Release() | Detach():
                return Released()

    def _called(self, slots: Sequence[int]) -> Done:
        self.outputs = [torch.relu(self._inputs[slot]) for slot in slots]
        addresses = tuple((output.data_ptr(),) for output in self.outputs)
        return Done(addresses, extents=tuple((output.nbytes,) for output in self.outputs))

    def step(self, page: int, gone: Callable[[], bool]) -> Done:
        """Answer calls by the words of a page, until there are no more or nobody is there to ask."""
        words, number = self._arenas[page].words(), 0
        done = Done(((),))
        while (word := words[steps_page.SHOWN]) != steps_page.OVER and not gone():
            if steps_page.number_of(word) > number:
                number += 1
                done = self._called((steps_page.slot_of(word),))
                words[steps_page.TENSORS], words[steps_page.ADDRESSES] = 1, done.addresses[0][0]
                words[steps_page.ANSWERED] = number
        return done

    def close(self) -> None:
        self._inputs = []
        for arena in self._arenas.values():
            arena.close()


def _described(value: torch.Tensor) -> TensorValue:
    return TensorValue(
        dtype=str(value.dtype).removeprefix("torch."),
        shape=tuple(value.shape),
        strides=tuple(value.stride()),
        offset=value.data_ptr(),
    )


@dataclass
class Outcome:
    """How a conversation ended: with outputs, or with the reason of its failure."""

    outputs: list[Any] | None = None
    reason: str = ""
    detail: str = ""
    honest: list[torch.Tensor] = field(default_factory=list)
    killed: bool = False


def play(sock: socket.socket, change: Change, worker: HonestWorker) -> None:
    """The worker's side: every answer goes through `change`, which may send anything at all in its place."""
    number = 0
    with Channel(sock) as channel:
        try:
            answer: Any = Ready()
            request: Any = None
            while True:
                text = answer.packed() if isinstance(answer, Done) else answer.model_dump_json().encode()
                for sent in change(number, Sent(text)):
                    if sent is None:
                        return
                    _send(sock, sent)
                number += 1
                if isinstance(request, Steps):
                    answer, request = worker.step(request.page, lambda: _has_hung_up(sock)), None
                    continue
                request, frame = _next(channel)
                if isinstance(request, Built):  # the answer to a build that `change` asked for
                    request, frame = _next(channel)
                answer = worker.answer(request, frame.descriptors)
        except (ProtocolError, OSError):
            return  # the judge has hung up


def _next(channel: Channel) -> tuple[Any, Frame]:
    frame = channel.receive_text()
    return parsed(frame, REQUEST), frame


def _has_hung_up(sock: socket.socket) -> bool:
    """Whether the judge will say nothing more; a message of it counts as well, for it ends the calls."""
    try:
        sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    return True


def _send(sock: socket.socket, sent: Sent | bytes) -> None:
    if isinstance(sent, bytes):
        sock.sendall(sent)
    elif sent.descriptors:
        socket.send_fds(sock, [sent.header()], list(sent.descriptors))
        sock.sendall(sent.text)
    else:
        sock.sendall(sent.header() + sent.text)


def refuse_to_build(request: BuildRequest) -> BuildFailure:
    del request
    return BuildFailure(reason="compile", detail="no", log="no", toolchain="none")


@contextmanager
def _in_a_thread(work: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def converse(change: Change, *, seconds: float = DEADLINE_S) -> Outcome:
    """A whole conversation as the judge holds it, over a real socket, with a worker that `change` speaks for.

    Only `SubjectFailed` is an answer of the reading code to whatever comes; anything else is raised here.
    """
    ours, theirs = Channel.pair()
    worker, honest = ScriptedWorker(), HonestWorker()
    outcome = Outcome()
    inputs = [torch.tensor([[-1.0, 2.0], [3.0, -4.0]])]
    sets = InputSets(inputs, CALLS, HostArena)
    talk = Conversation(worker, ours, refuse_to_build)
    hasty: Any = _Hasty(talk, seconds)
    subject = WorkerSubject(hasty, hardware=Host(), init_arguments=[], call_s=seconds, memory_bytes=1 << 30)
    with _in_a_thread(lambda: play(theirs, change, honest)):
        try:
            with ours:
                talk.expect_ready(seconds=seconds)
                subject.construct(1)
                subject.attach(sets)
                for slot in range(CALLS):
                    sets.write(slot, inputs)
                sets.reveal()
                subject.round(range(CALLS), seed=1)
                found = subject.outputs(range(CALLS))
                outcome.outputs = [value.clone() if isinstance(value, torch.Tensor) else value for value in found]
                outcome.honest = [value.clone() for value in honest.outputs]
                del found
                subject.expect_steps(range(CALLS), seed=1)
                for slot in range(CALLS):
                    subject.step(slot, seed=1, last=slot == CALLS - 1)
                subject.step_outputs(range(CALLS))
                subject.outputs([0])
                subject.detach()
        except SubjectFailed as failed:
            outcome.outputs, outcome.reason, outcome.detail = None, failed.reason, failed.detail
        finally:
            subject.close()
            sets.close()
    honest.close()
    outcome.killed = worker.killed
    return outcome


class _Hasty:
    """The conversation with the judge's default deadline of a minute cut to what a test can wait for."""

    def __init__(self, talk: Conversation, seconds: float) -> None:
        self._talk, self._seconds = talk, seconds
        self.pid, self.could_be_read = talk.pid, True
        self.freezer = talk.freezer

    def ask(self, request: Any, kind: Any, *, descriptors: Sequence[int] = (), **_: Any) -> Any:
        return self._talk.ask(request, kind, seconds=self._seconds, descriptors=descriptors)

    def ask_round(self, request: Any, *, descriptors: Sequence[int] = (), **_: Any) -> Any:
        return self._talk.ask_round(request, seconds=self._seconds, descriptors=descriptors)

    def attend(self, deadline: float, seconds: float, why: str) -> float:
        return self._talk.attend(deadline, seconds, why)

    def last_step(self, **_: Any) -> Any:
        return self._talk.last_step(seconds=self._seconds, stop=lambda: None)


@pytest.fixture
def conversation() -> Callable[[Change], Outcome]:
    return converse
