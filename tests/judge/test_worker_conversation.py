"""Whatever a worker does instead of answering becomes a failure with a reason, and the worker is ended."""

import contextlib
import fcntl
import mmap
import os
import struct
import threading
import time
from pathlib import Path

import pytest

from harness.judge import worker_conversation as module
from harness.judge.failure import SubjectFailed
from harness.judge.worker_conversation import MAX_BUILDS, BuildRefused, Conversation
from harness.sandbox import Exit
from harness.schema.build import Artifact, BuildFailure, BuildRequest
from harness.transport import Channel
from harness.transport.worker_messages import (
    DONE,
    REQUEST,
    Attach,
    Build,
    Built,
    DeviceOpened,
    Done,
    Go,
    Load,
    Loaded,
    OpenDevice,
    Raised,
    Ready,
    Release,
    Released,
)

LOAD = Load(source="", class_name="ModelNew", device="cpu", emulate=False, visible={})
OPEN = OpenDevice(visible={"CUDA_VISIBLE_DEVICES": "0"})
FAILURE = BuildFailure(reason="compile", detail="kernel.cu:3: error", log="kernel.cu:3: error: no", toolchain="slim")


class FakeWorker:
    """Ends as it is told to."""

    pid = 4711

    def __init__(self, ended: Exit | None) -> None:
        self._ended = ended
        self.killed = False

    def wait(self, timeout_s: float | None = None) -> Exit | None:
        del timeout_s
        if self.killed and self._ended is None:
            return Exit(code=None, signal=9, cause="killed", log="last words")
        return self._ended

    def kill(self) -> None:
        self.killed = True


class Stage:
    """A conversation, and the worker's end of its wire."""

    def __init__(self, ended: Exit | None, outcome: Artifact | BuildFailure) -> None:
        channel, theirs = Channel.pair()
        self.theirs = Channel(theirs)
        self.ours = channel
        self.worker = FakeWorker(ended)
        self.requests: list[BuildRequest] = []

        def build(request: BuildRequest) -> Artifact | BuildFailure:
            self.requests.append(request)
            return outcome

        self.talk = Conversation(self.worker, channel, build)

    def failure(self, kind=Loaded, seconds: float = 5.0) -> SubjectFailed:
        with pytest.raises(SubjectFailed) as caught:
            self.talk.ask(LOAD, kind, seconds=seconds)
        return caught.value


@pytest.fixture
def stage():
    opened: list[Stage] = []

    def make(*, ended: Exit | None = None, outcome: Artifact | BuildFailure = FAILURE) -> Stage:
        opened.append(Stage(ended, outcome))
        return opened[-1]

    yield make
    for one in opened:
        one.ours.close()
        one.theirs.close()


def test_an_answer_of_the_kind_that_was_asked_for_is_given_back(stage):
    one = stage()
    one.theirs.send(Ready())
    one.theirs.send(Loaded())
    one.talk.expect_ready(seconds=5)
    assert one.talk.ask(LOAD, Loaded) == Loaded()
    assert one.theirs.receive(REQUEST) == LOAD


def test_what_a_worker_begins_with_is_waited_for_once(stage):
    one = stage()
    one.talk.begin(OPEN)
    one.theirs.send(Ready())
    assert one.theirs.receive(REQUEST) == OPEN
    with pytest.raises(SubjectFailed, match=r"no answer within 0\.05 s \(opening its device\)"):
        one.talk.expect_ready(seconds=0.05)
    other = stage()
    other.talk.begin(OPEN)
    other.theirs.send(Ready())
    other.theirs.send(DeviceOpened())
    for _ in range(2):
        other.talk.expect_ready(seconds=5)


@pytest.mark.parametrize(
    ("ended", "reason", "detail"),
    [
        ({"code": 0, "signal": None, "cause": "exited"}, "exit", "left with status 0 instead of answering"),
        ({"code": None, "signal": 11, "cause": "signal"}, "crash", "died of signal 11"),
        ({"code": None, "signal": 9, "cause": "memory", "peak_rss_bytes": 17_000_000_000}, "out-of-memory", "17.0 GB"),
        ({"code": None, "signal": 9, "cause": "cpu"}, "cpu-time", "more CPU time"),
        ({"code": None, "signal": 9, "cause": "processes"}, "processes", "more processes"),
        ({"code": 1, "signal": None, "cause": "processes"}, "processes", "more processes"),
        ({"code": None, "signal": 9, "cause": "scratch"}, "disk", "more to the disk"),
        ({"code": None, "signal": 25, "cause": "file"}, "disk", "a larger file"),
    ],
)
def test_a_death_tells_its_reason_and_brings_the_log(stage, ended, reason, detail):
    one = stage(ended=Exit(**ended, log="last words"))
    one.theirs.close()
    failed = one.failure()
    assert failed.reason == reason
    assert detail in failed.detail
    assert failed.log == "last words"


def test_answers_without_a_deadline_of_their_own_have_one_together(stage, monkeypatch):
    monkeypatch.setattr(module, "_LEAST_ANSWER_S", 0.05)
    one = stage()
    one.talk.limit_answers(0.5)

    def answer() -> None:
        for _ in range(2):
            one.theirs.receive(REQUEST)
            time.sleep(0.3)
            one.theirs.send(Loaded())

    answering = threading.Thread(target=answer)
    answering.start()
    assert one.talk.ask(LOAD, Loaded, seconds=5.0) == Loaded()  # which has one, and does not count
    assert one.talk.ask(LOAD, Loaded) == Loaded()
    answering.join()
    with pytest.raises(SubjectFailed, match=r"no answer within 0\.\d+ s \(load: the last of 0\.5 s for all answers"):
        one.talk.ask(LOAD, Loaded)
    assert one.worker.killed


def test_a_worker_that_hangs_up_and_lives_on_broke_the_protocol_and_is_killed(stage):
    one = stage()
    one.theirs.close()
    assert one.failure().reason == "protocol"
    assert one.worker.killed


def test_silence_is_a_timeout_that_says_what_was_asked(stage):
    one = stage()
    failed = one.failure(seconds=0.05)
    assert (failed.reason, failed.detail) == ("timeout", "no answer within 0.05 s (load)")
    assert one.worker.killed
    assert failed.log == "last words"


@pytest.mark.parametrize("answer", [b'{"say": "verdict", "kind": "correct"}', b"\x80\x04pickle", b"[]"])
def test_what_is_no_message_broke_the_protocol(stage, answer):
    one = stage()
    one.theirs.send_text(answer)
    assert one.failure().reason == "protocol"
    assert one.worker.killed


def test_an_answer_to_another_question_broke_the_protocol(stage):
    one = stage()
    one.theirs.send(Released())
    failed = one.failure()
    assert (failed.reason, failed.detail) == ("protocol", "answered 'released' while load")
    assert one.worker.killed


def test_a_descriptor_that_nobody_asked_for_broke_the_protocol(stage, tmp_path):
    one = stage()
    with (tmp_path / "file").open("w") as file:
        one.theirs.send(Loaded(), [file.fileno()])
    before = len(os.listdir("/proc/self/fd"))
    assert one.failure().reason == "protocol"
    assert len(os.listdir("/proc/self/fd")) == before
    assert one.worker.killed


@pytest.mark.parametrize(
    "kind",
    [
        "exception",
        "syntax",
        "missing",
        "out-of-memory",
        "device-memory",
        "processes",
        "open-files",
        "disk",
        "device",
        "exit",
    ],
)
def test_what_a_candidate_raised_is_told_in_one_line_with_its_traceback(stage, kind):
    one = stage()
    message = Raised(during="load", kind=kind, type="ValueError", message="no such\nkernel", traceback="Traceback ...")
    one.theirs.send(message)
    failed = one.failure()
    assert (failed.reason, failed.detail, failed.log) == (kind, "ValueError: no such", "Traceback ...")
    assert not one.worker.killed


def test_a_failed_build_keeps_what_the_compiler_said(stage):
    one = stage()
    one.theirs.send(Raised(during="load", kind="build", type="RuntimeError", message="", traceback="", failure=FAILURE))
    failed = one.failure()
    assert isinstance(failed, BuildRefused)
    assert failed.failure == FAILURE
    assert (failed.reason, failed.log) == ("compile", FAILURE.log)


def answer_builds(channel: Channel, count: int, answers: list[Built], contents: list[bytes]) -> None:
    """A worker that asks for `count` builds and then says that it has loaded."""
    channel.receive(REQUEST)
    for number in range(count):
        channel.send(Build(request=BuildRequest(name=f"extension_{number}")))
        message, frame = channel.receive_frame(REQUEST)
        answers.append(message)
        contents.extend(os.pread(descriptor, 100, 0) for descriptor in frame.descriptors)
        frame.close()
    channel.send(Loaded())


def test_a_build_is_answered_with_the_shared_object_itself(stage, tmp_path: Path):
    (tmp_path / "a.so").write_bytes(b"object")
    artifact = Artifact(
        key="k", path=str(tmp_path / "a.so"), sha256="0" * 64, module="a", toolchain="slim", cached=True,
        seconds=0.0, cpu_seconds=0.0,
    )  # fmt: skip
    one = stage(outcome=artifact)
    answers, contents = [], []
    peer = threading.Thread(target=answer_builds, args=(one.theirs, 2, answers, contents))
    peer.start()
    assert one.talk.ask(LOAD, Loaded, seconds=10) == Loaded()
    peer.join()
    assert [request.name for request in one.requests] == ["extension_0", "extension_1"]
    assert [answer.artifact for answer in answers] == [artifact, artifact]
    assert contents == [b"object", b"object"]


def test_a_shared_object_reaches_a_worker_as_a_sealed_copy(stage, tmp_path: Path):
    """What one worker does to what it was given, another never sees, nor does the cache."""
    file = tmp_path / "a.so"
    file.write_bytes(b"object" * 1000)
    artifact = Artifact(
        key="k", path=str(file), library=str(file), sha256="0" * 64, module="a", toolchain="slim", cached=True,
        seconds=0.0, cpu_seconds=0.0,
    )  # fmt: skip
    one = stage(outcome=artifact)
    allowed: list[str] = []

    def attack():
        one.theirs.receive(REQUEST)
        one.theirs.send(Build(request=BuildRequest(name="extension")))
        _, frame = one.theirs.receive_frame(REQUEST)
        for descriptor in frame.descriptors:
            again = f"/proc/self/fd/{descriptor}"
            for name, change in {
                "write": lambda fd=descriptor: os.pwrite(fd, b"x", 0),
                "cut short": lambda fd=descriptor: os.ftruncate(fd, 1),
                "grow": lambda fd=descriptor: os.ftruncate(fd, 1 << 20),
                "map writable": lambda fd=descriptor: mmap.mmap(fd, 1),
                "open anew": lambda path=again: os.truncate(path, 0),
                "unseal": lambda fd=descriptor: fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 0),
            }.items():
                with contextlib.suppress(OSError):
                    change()
                    allowed.append(name)
            allowed.extend(["the cache's own file"] * os.path.samestat(os.fstat(descriptor), file.stat()))
            assert os.pread(descriptor, 6, 0) == b"object"
        frame.close()
        one.theirs.send(Loaded())

    peer = threading.Thread(target=attack)
    peer.start()
    assert one.talk.ask(LOAD, Loaded, seconds=10) == Loaded()
    peer.join()
    assert allowed == []
    assert file.read_bytes() == b"object" * 1000


def test_a_build_in_the_middle_of_a_round_is_part_of_the_round(stage):
    """So that the clock, which runs until the round is over, counts as the candidate's what it builds in its calls."""
    one = stage()
    order: list[str] = []

    def build(request: BuildRequest) -> BuildFailure:
        order.append(request.name)
        return FAILURE

    one.talk = Conversation(one.worker, one.ours, build)

    def answer() -> None:
        one.theirs.receive(REQUEST)
        one.theirs.send(Build(request=BuildRequest(name="built")))
        one.theirs.receive(REQUEST)
        one.theirs.send_text(Done(((64,),)).packed())

    peer = threading.Thread(target=answer)
    peer.start()
    one.talk.ask_round(Go(slots=(0,), seed=0), seconds=5, stop=lambda: order.append("stopped"))
    peer.join()
    assert order == ["built", "stopped"]


def test_the_time_of_a_build_does_not_count_against_the_deadline(stage):
    one = stage()
    slow = threading.Event()

    def build(request: BuildRequest) -> BuildFailure:
        slow.wait(0.4)
        return FAILURE

    one.talk = Conversation(one.worker, one.ours, build)
    answers: list[Built] = []
    peer = threading.Thread(target=answer_builds, args=(one.theirs, 1, answers, []))
    peer.start()
    assert one.talk.ask(LOAD, Loaded, seconds=0.3) == Loaded()
    peer.join()
    assert answers[0].failure == FAILURE


def test_builds_without_end_break_the_protocol(stage):
    one = stage()
    for number in range(MAX_BUILDS + 1):
        one.theirs.send(Build(request=BuildRequest(name=f"extension_{number}")))
    failed = one.failure()
    assert failed.reason == "protocol"
    assert len(one.requests) == MAX_BUILDS
    assert one.worker.killed


def test_shared_objects_without_end_are_too_much_for_the_disk(stage, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("harness.judge.worker_conversation.MOST_BUILT_BYTES", 2_500)
    (tmp_path / "a.so").write_bytes(b"x" * 1_000)
    artifact = Artifact(
        key="k", path=str(tmp_path / "a.so"), sha256="0" * 64, module="a", toolchain="slim", cached=False,
        seconds=0.0, cpu_seconds=0.0,
    )  # fmt: skip
    one = stage(outcome=artifact)
    for number in range(4):
        one.theirs.send(Build(request=BuildRequest(name=f"extension_{number}")))
    assert one.failure().reason == "disk"
    assert len(one.requests) == 3
    assert one.worker.killed


def test_a_worker_that_reads_no_answer_is_out_of_time(stage):
    """The socket is full by then, and nobody must wait for it without end."""
    one = stage(outcome=FAILURE.model_copy(update={"log": "x" * 65_000}))
    for number in range(20):
        one.theirs.send(Build(request=BuildRequest(name=f"extension_{number}")))
    failed = one.failure(seconds=0.3)
    assert failed.reason == "timeout"
    assert "did not read" in failed.detail
    assert one.worker.killed


def test_builds_that_each_take_long_do_not_take_for_ever(stage, monkeypatch):
    monkeypatch.setattr("harness.judge.worker_conversation.MAX_BUILDS_S", 0.0)
    one = stage(outcome=FAILURE.model_copy(update={"seconds": 5.0}), ended=None)
    for _ in range(2):
        one.theirs.send(Build(request=BuildRequest(name="slow")))
    failed = one.failure()
    assert (failed.reason, len(one.requests)) == ("timeout", 1)


def test_what_a_build_waited_for_others_is_not_counted_as_its_own_time(stage, monkeypatch):
    monkeypatch.setattr("harness.judge.worker_conversation.MAX_BUILDS_S", 0.0)
    one = stage(outcome=FAILURE.model_copy(update={"seconds": 0.0}))
    for _ in range(3):
        one.theirs.send(Build(request=BuildRequest(name="waited")))
    one.theirs.send(Released())
    one.talk.ask(Release(), Released)
    assert len(one.requests) == 3


def test_a_build_request_that_is_too_long_to_be_passed_on_is_refused(stage, monkeypatch):
    monkeypatch.setattr("harness.judge.worker_conversation._LONGEST_REQUEST", 1000)
    one = stage()
    one.theirs.send(Build(request=BuildRequest(name="long", cpp_sources=("x" * 1000,))))
    failed = one.failure()
    assert (failed.reason, one.requests) == ("protocol", [])
    assert one.worker.killed


def test_a_build_request_is_as_long_as_its_bytes(stage, monkeypatch):
    monkeypatch.setattr("harness.judge.worker_conversation._LONGEST_REQUEST", 2000)
    one = stage()
    one.theirs.send(Build(request=BuildRequest(name="long", cpp_sources=("\N{SNOWMAN}" * 1000,))))
    assert (one.failure().reason, one.requests) == ("protocol", [])


def test_what_a_worker_says_of_a_failed_build_is_bounded(stage):
    one = stage()
    loud = FAILURE.model_copy(update={"detail": "x" * 1_000_000, "log": "y" * 3_000_000})
    raised = Raised(during="call", kind="build", type="", message="", traceback="", failure=loud)
    peer = threading.Thread(target=one.theirs.send, args=(raised,))  # more than a socket holds
    peer.start()
    failed = one.failure()
    peer.join()
    assert (len(failed.detail), len(failed.log)) == (2_000, 1 << 20)


def test_a_request_to_a_dead_worker_is_its_death(stage):
    one = stage(ended=Exit(code=None, signal=6, cause="signal"))
    one.theirs.close()
    with pytest.raises(SubjectFailed, match="signal 6"):
        one.talk.ask(Release(), Released)
    with pytest.raises(SubjectFailed, match="signal 6"):
        one.talk.ask(Attach(arena=1, size=1, kind="host"), Released)


def test_done_that_was_said_before_go_broke_the_protocol(stage):
    one = stage()
    one.theirs.send_text(Done(((64,),)).packed())
    with pytest.raises(SubjectFailed, match="before it was asked") as caught:
        one.talk.ask_round(Go(slots=(0,), seed=0), seconds=5)
    assert caught.value.reason == "protocol"
    assert one.worker.killed


def test_a_round_is_stopped_before_anything_of_done_is_looked_at(stage):
    one = stage()
    stopped = []

    def answer() -> None:
        assert isinstance(one.theirs.receive(REQUEST), Go)
        one.theirs.send_text(DONE + b"nonsense")

    thread = threading.Thread(target=answer)
    thread.start()
    with pytest.raises(SubjectFailed, match="addresses of 1 calls"):
        one.talk.ask_round(Go(slots=(0,), seed=0), seconds=5, stop=lambda: stopped.append(True))
    thread.join()
    assert stopped == [True]


DONE_OF_ONE = Done(((64,),)).packed()


def stepped(one, *sent: bytes, stop=lambda: None):
    """Wait for what is said of the last call that came by a page, an output of one tensor, and have this be sent."""

    def answer() -> None:
        with contextlib.suppress(OSError):
            for part in sent:
                one.theirs._sock.sendall(part)
                time.sleep(0.01)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        return one.talk.last_step(seconds=0.5, stop=stop)
    finally:
        thread.join()


def framed(text: bytes) -> bytes:
    return struct.pack("<II", len(text), 0) + text


@pytest.mark.parametrize("cut", [0, 4, 8, 20])
def test_the_last_call_is_stopped_once_the_last_byte_of_done_was_read(stage, cut):
    one, stopped = stage(), []
    done = stepped(one, framed(DONE_OF_ONE)[:cut], framed(DONE_OF_ONE)[cut:], stop=lambda: stopped.append(True))
    assert (done.addresses, stopped) == (((64,),), [True])


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"", "timeout"),
        (framed(DONE_OF_ONE)[:20], "timeout"),
        (framed(DONE_OF_ONE + b"x"), "protocol"),
        (framed(DONE_OF_ONE[:-1]), "protocol"),
        (framed(DONE + b"x" * (len(DONE_OF_ONE) - 1)), "protocol"),
        (framed(b""), "protocol"),
        (framed(b'{"say":"released"}'), "protocol"),
        (struct.pack("<II", 1 << 30, 0), "protocol"),
    ],
)
def test_what_is_no_done_of_the_last_call_broke_the_protocol_or_is_late(stage, sent, reason):
    one = stage()
    with pytest.raises(SubjectFailed) as caught:
        stepped(one, sent)
    assert caught.value.reason == reason
    assert one.worker.killed


def test_what_is_said_while_a_call_comes_by_a_page_broke_the_protocol(stage):
    one = stage()
    one.theirs.send_text(DONE_OF_ONE)
    with pytest.raises(SubjectFailed) as caught:
        one.talk.attend(time.monotonic() + 5, 5.0, "")
    assert caught.value.reason == "protocol"


def test_what_a_step_raises_is_told(stage):
    raised = Raised(during="call", kind="exception", type="ValueError", message="no", traceback="")
    with pytest.raises(SubjectFailed, match="ValueError: no"):
        stepped(stage(), framed(raised.model_dump_json().encode()))
