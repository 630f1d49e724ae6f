"""Devices by name, isolation as asked, and judges that are lost and started anew."""

import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from harness.backends import cuda as cuda_backend
from harness.cache_folder import cache_folder
from harness.catalog.hub import hub_cache
from harness.controller import session as session_module
from harness.controller.session import DeviceChoice, JudgeLost, JudgeSeat, choose_devices
from harness.errors import (
    DeadlineError,
    DeviceError,
    GivenUpError,
    InputError,
    ProblemError,
    SandboxError,
    ToolchainError,
)
from harness.judge.jobs import (
    TO_JUDGE,
    BuildDone,
    BuildWanted,
    Fault,
    GaveUp,
    GiveUp,
    Job,
    Judgement,
    Phase,
    Proceed,
    Seated,
)
from harness.sandbox import Confinement, Exit
from harness.schema import Correct, Environment
from harness.schema.build import BuildFailure, BuildRequest
from harness.settings import Settings
from harness.transport import Channel, Closed

CPU = DeviceChoice("cpu", None)
SEATED = Seated(environment=Environment(harness="0", python="3", torch="2"), device_name="a CPU")
FAILURE = BuildFailure(reason="compile", detail="no", log="no", toolchain="slim")


@pytest.fixture
def machine(monkeypatch):
    """A machine with these GPUs, and a torch for this CUDA (None: a CPU build)."""

    def make(*gpus: str, cuda: str | None = "13.0") -> None:
        monkeypatch.setattr(cuda_backend, "visible_gpus", lambda: list(gpus))
        monkeypatch.setattr(session_module, "find_torch", lambda: SimpleNamespace(cuda=cuda))

    return make


def test_auto_takes_all_gpus_where_torch_can_use_them_and_else_the_cpu(machine):
    machine("0", "1")
    assert choose_devices("auto") == [DeviceChoice("cuda:0", "0"), DeviceChoice("cuda:1", "1")]
    machine("0", cuda=None)
    assert choose_devices("auto") == [CPU]
    machine()
    assert choose_devices("auto") == [CPU]


def test_a_gpu_is_counted_among_those_that_are_visible(machine):
    machine("4", "GPU-8f2a")
    assert choose_devices("cuda:1") == [DeviceChoice("cuda:1", "GPU-8f2a")]
    assert choose_devices("cuda") == [DeviceChoice("cuda:0", "4"), DeviceChoice("cuda:1", "GPU-8f2a")]
    assert choose_devices("cpu") == [CPU]


def test_timed_workers_have_a_core_of_their_own_that_is_not_the_machines_first(monkeypatch):
    monkeypatch.setattr(session_module.os, "sched_getaffinity", lambda pid: set(range(16)))
    devices, others = session_module._with_cores([DeviceChoice("a", "0"), DeviceChoice("b", "1")])
    assert [device.core for device in devices] == [2, 5]
    assert others == set(range(6, 16))
    monkeypatch.setattr(session_module.os, "sched_getaffinity", lambda pid: {0, 1})
    assert session_module._with_cores(devices[:1])[1] == {0, 1}


@pytest.mark.parametrize("name", ["", "gpu", "cuda:", "cuda:-1", "cuda:a", "CPU", "cuda:0,1"])
def test_a_device_that_is_none_is_bad_input(machine, name):
    machine("0")
    with pytest.raises(InputError, match="give auto, cpu, cuda or cuda:N"):
        choose_devices(name)


def test_a_gpu_that_cannot_be_used_is_the_machines_fault_with_the_way_out(machine):
    machine()
    with pytest.raises(DeviceError, match="no NVIDIA GPU here: use --device cpu"):
        choose_devices("cuda")
    machine("0", cuda=None)
    with pytest.raises(DeviceError, match="CPU build: install a CUDA build"):
        choose_devices("cuda:0")
    machine("0")
    with pytest.raises(DeviceError, match=r"no cuda:1: this machine shows 1 GPU"):
        choose_devices("cuda:1")


@pytest.mark.parametrize(
    ("visible", "names"), [(None, ["0", "1"]), ("1", ["1"]), ("", []), ("-1", []), ("1, 0", ["1", "0"])]
)
def test_cuda_visible_devices_is_obeyed(monkeypatch, visible, names):
    pynvml = pytest.importorskip("pynvml")
    monkeypatch.setattr(pynvml, "nvmlInit", lambda: None)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetCount", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert cuda_backend.visible_gpus() == names


@pytest.mark.parametrize(
    ("wanted", "tier", "refused"),
    [
        ("auto", "none", False),
        ("full", "full", False),
        ("basic", "full", False),
        ("full", "basic", True),
        ("basic", "none", True),
    ],
)
def test_less_isolation_than_asked_for_is_refused_before_the_first_candidate(wanted, tier, refused):
    zygote = SimpleNamespace(ready=lambda: Confinement(tier=tier, missing=("pid-namespace: not permitted",)))
    if not refused:
        session_module._check_isolation(zygote, wanted)
        return
    with pytest.raises(SandboxError, match=f"{wanted} isolation is wanted, {tier} is all .*not permitted.*doctor"):
        session_module._check_isolation(zygote, wanted)


# A seat and its judge


class FakeProcess:
    """What the zygote hands out for a judge: a thread that follows a script over the same channel."""

    def __init__(self, script, descriptor: int) -> None:
        self._channel = Channel.from_descriptor(descriptor)
        self._thread = threading.Thread(target=self._run, args=(script,), name="fake judge")
        self._thread.start()

    def _run(self, script) -> None:
        with self._channel, contextlib.suppress(Closed):  # who asked may hang up first
            self.seat = self._channel.receive(TO_JUDGE)
            self._channel.send(SEATED)
            script(self._channel)

    def wait(self, timeout_s: float) -> Exit:
        self._thread.join(timeout_s)
        return Exit(code=1, signal=None, cause="exited", log="Traceback\nMemoryError\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """The channel is closed after this, and that is what ends the thread."""


@pytest.fixture
def seat():
    """A seat whose judges follow the given scripts, one each."""
    opened: list[JudgeSeat] = []

    def make(*scripts) -> JudgeSeat:
        left = list(scripts)
        zygote = SimpleNamespace(
            spawn_trusted=lambda entry, fds: FakeProcess(left.pop(0), os.dup(fds[0])),
        )
        opened.append(JudgeSeat(zygote, CPU))
        return opened[-1]

    yield make
    for one in opened:
        one.close()
    for thread in threading.enumerate():
        if thread.name == "fake judge":
            thread.join(5)
            assert not thread.is_alive()


@pytest.fixture
def job(problem) -> Job:
    return Job(problem=problem(), source="", kind="cpu", settings=Settings())


JUDGEMENT = Judgement(verdict=Correct(trials=3))


def until_hang_up(channel: Channel) -> None:
    with pytest.raises(Closed):
        channel.receive(TO_JUDGE)


def judging(channel: Channel) -> None:
    asked = channel.receive(TO_JUDGE)
    channel.send(Phase(name="check", job=asked.id))
    assert channel.receive(TO_JUDGE) == Proceed(job=asked.id)
    channel.send(JUDGEMENT.model_copy(update={"job": asked.id}))
    until_hang_up(channel)


def told(seat: JudgeSeat, job: Job) -> Judgement:
    """What a seat says of a job, without the id, which is new each time."""
    found = seat.judge(job, build=lambda request: FAILURE, on_phase=lambda name: None)
    return found.model_copy(update={"job": ""})


def dying(channel: Channel) -> None:
    channel.receive(TO_JUDGE)


def test_a_job_is_judged_and_its_phases_are_told(seat, job):
    phases = []
    found = seat(judging).judge(job, build=lambda request: FAILURE, on_phase=phases.append)
    assert found.model_copy(update={"job": ""}) == JUDGEMENT
    assert phases == ["check"]


def test_a_judge_is_told_where_the_caches_are_and_needs_no_home_of_its_own(seat, job, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    one = seat(judging)
    told(one, job)
    told_of = one._process.seat.environment
    for name in ("XDG_CACHE_HOME", "HF_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pathlib.Path.home", lambda: pytest.fail("a home is looked for"))
    for name, value in told_of.items():
        monkeypatch.setenv(name, value)
    assert (cache_folder(), hub_cache()) == (tmp_path / "kernel-harness", tmp_path / "hub" / "hub")


def test_a_judge_that_dies_is_named_with_its_last_words_and_started_anew(seat, job):
    one = seat(dying, judging)
    with pytest.raises(JudgeLost, match=r"judge's process for cpu died \(exit status 1; MemoryError\)"):
        one.judge(job, build=lambda request: FAILURE, on_phase=lambda name: None)
    assert told(one, job) == JUDGEMENT


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (None, "judge's process for cpu hung up and did not end"),
        (Exit(code=None, signal=11, cause="signal", log=""), r"judge's process for cpu died \(signal 11\)"),
    ],
)
def test_how_a_judge_was_lost_is_said(seat, job, monkeypatch, ended, said):
    monkeypatch.setattr(FakeProcess, "wait", lambda self, timeout_s: ended)
    one = seat(dying, judging)
    with pytest.raises(JudgeLost, match=said):
        one.judge(job, build=lambda request: FAILURE, on_phase=lambda name: None)
    assert told(one, job) == JUDGEMENT


def test_an_answer_that_no_frame_holds_loses_the_judge_and_not_the_session(seat, job):
    def asking(channel: Channel) -> None:
        asked = channel.receive(TO_JUDGE)
        channel.send(BuildWanted(request=BuildRequest(name="large"), job=asked.id))
        with pytest.raises(Closed):
            channel.receive(TO_JUDGE)

    one = seat(asking, judging)
    large = FAILURE.model_copy(update={"log": "x" * (17 << 20)})
    with pytest.raises(JudgeLost, match="over the wire's limit"):
        one.judge(job, build=lambda request: large, on_phase=lambda name: None)
    assert told(one, job) == JUDGEMENT


@pytest.mark.parametrize(
    ("said", "lost", "kind"),
    [
        ("problem", False, ProblemError),
        ("device", False, DeviceError),
        ("device", True, JudgeLost),
        ("problem", True, ProblemError),
    ],
)
def test_a_fault_keeps_its_kind_and_the_judge_unless_its_device_is_lost(seat, job, said, lost, kind):
    def failing(channel: Channel) -> None:
        asked = channel.receive(TO_JUDGE)
        channel.send(Fault(kind=said, detail="get_inputs() raised", device_lost=lost, job=asked.id))
        if not lost:
            judging(channel)

    one = seat(failing, judging)
    with pytest.raises(kind, match=r"get_inputs\(\) raised"):
        one.judge(job, build=lambda request: FAILURE, on_phase=lambda name: None)
    assert told(one, job) == JUDGEMENT


def test_a_judge_that_waits_for_a_build_nobody_can_do_is_not_asked_again(seat, job):
    def wanting(channel: Channel) -> None:
        asked = channel.receive(TO_JUDGE)
        channel.send(BuildWanted(request=BuildRequest(name="a"), job=asked.id))
        until_hang_up(channel)

    def impossible(request: BuildRequest) -> BuildFailure:
        raise ToolchainError("No C++ compiler was found.")

    one = seat(wanting, judging)
    with pytest.raises(ToolchainError):
        one.judge(job, build=impossible, on_phase=lambda name: None)
    assert told(one, job) == JUDGEMENT


@pytest.mark.parametrize(
    "said",
    [
        JUDGEMENT,
        Fault(kind="problem", detail="no"),
        Phase(name="check"),
        BuildWanted(request=BuildRequest(name="a")),
        GaveUp(),
    ],
    ids=lambda said: said.say,
)
@pytest.mark.parametrize("of", ["", "another"])
def test_what_is_said_of_another_job_is_nobody_s_verdict(seat, job, said, of):
    def confused(channel: Channel) -> None:
        channel.receive(TO_JUDGE)
        channel.send(said.model_copy(update={"job": of}))
        until_hang_up(channel)

    one = seat(confused, judging)
    with pytest.raises(DeviceError, match="of another job than the one that it was given"):
        told(one, job)
    assert told(one, job) == JUDGEMENT


def test_the_answer_to_a_build_names_its_job(seat, job):
    heard = []

    def wanting(channel: Channel) -> None:
        asked = channel.receive(TO_JUDGE)
        channel.send(BuildWanted(request=BuildRequest(name="a"), job=asked.id))
        heard.append((asked.id, channel.receive(TO_JUDGE)))
        channel.send(JUDGEMENT.model_copy(update={"job": asked.id}))
        until_hang_up(channel)

    assert told(seat(wanting), job) == JUDGEMENT
    ((id, answer),) = heard
    assert answer == BuildDone(job=id, outcome=FAILURE)


@pytest.mark.parametrize("why", [GivenUpError("cancelled"), DeadlineError("late")])
def test_a_job_that_is_given_up_ends_between_phases_and_its_judge_takes_the_next(seat, job, why):
    def giving_up(channel: Channel) -> None:
        asked = channel.receive(TO_JUDGE)
        channel.send(Phase(name="load", job=asked.id))
        assert channel.receive(TO_JUDGE) == Proceed(job=asked.id)
        channel.send(Phase(name="check", job=asked.id))
        assert channel.receive(TO_JUDGE) == GiveUp(job=asked.id)
        channel.send(GaveUp(job=asked.id))
        judging(channel)

    def on_phase(name: str) -> None:
        if name == "check":
            raise why

    one = seat(giving_up)  # a second judge is not to be had
    with pytest.raises(type(why), match=str(why)):
        one.judge(job, build=lambda request: FAILURE, on_phase=on_phase)
    assert told(one, job) == JUDGEMENT


def test_a_job_that_is_given_up_while_its_judge_waits_for_a_build_ends_there_and_the_judge_takes_the_next(seat, job):
    def wanting(channel: Channel) -> None:
        asked = channel.receive(TO_JUDGE)
        channel.send(BuildWanted(request=BuildRequest(name="a"), job=asked.id))
        assert channel.receive(TO_JUDGE) == GiveUp(job=asked.id)
        channel.send(GaveUp(job=asked.id))
        judging(channel)

    def late(request: BuildRequest) -> BuildFailure:
        raise DeadlineError("late")

    one = seat(wanting)  # a second judge is not to be had
    with pytest.raises(DeadlineError, match="late"):
        one.judge(job, build=late, on_phase=lambda name: None)
    assert told(one, job) == JUDGEMENT


@pytest.mark.parametrize("said", [JUDGEMENT, Phase(name="time"), BuildWanted(request=BuildRequest(name="a"))])
def test_a_judge_that_goes_on_with_what_was_given_up_is_not_asked_again(seat, job, said):
    def deaf(channel: Channel) -> None:
        asked = channel.receive(TO_JUDGE)
        channel.send(Phase(name="load", job=asked.id))
        assert channel.receive(TO_JUDGE) == GiveUp(job=asked.id)
        channel.send(said.model_copy(update={"job": asked.id}))
        until_hang_up(channel)

    def cancelled(name: str) -> None:
        raise GivenUpError("cancelled")

    one = seat(deaf, judging)
    with pytest.raises(DeviceError, match="in the middle of a job"):
        one.judge(job, build=lambda request: FAILURE, on_phase=cancelled)
    assert told(one, job) == JUDGEMENT


def test_a_judge_that_gives_up_unasked_is_not_asked_again(seat, job):
    def unasked(channel: Channel) -> None:
        asked = channel.receive(TO_JUDGE)
        channel.send(GaveUp(job=asked.id))
        until_hang_up(channel)

    one = seat(unasked, judging)
    with pytest.raises(DeviceError, match="in the middle of a job"):
        told(one, job)
    assert told(one, job) == JUDGEMENT


def test_what_a_judge_said_of_its_device_is_known_while_it_judges(seat, job):
    begun, go_on = threading.Event(), threading.Event()

    def busy(channel: Channel) -> None:
        asked = channel.receive(TO_JUDGE)
        begun.set()
        assert go_on.wait(60)
        channel.send(JUDGEMENT.model_copy(update={"job": asked.id}))
        until_hang_up(channel)

    one = seat(busy)
    with ThreadPoolExecutor(1) as threads:
        judged = threads.submit(told, one, job)
        assert begun.wait(60)
        assert one.start() == SEATED
        go_on.set()
        assert judged.result(60) == JUDGEMENT


def test_a_judge_that_nobody_listened_to_until_the_end_is_not_asked_again(seat, job):
    """Its answer is still to come, and would be taken for that to the next job."""

    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    one = seat(judging, judging)
    with pytest.raises(KeyboardInterrupt):
        one.judge(job, build=lambda request: FAILURE, on_phase=interrupted)
    assert told(one, job) == JUDGEMENT


def test_threads_that_ask_one_judge_take_turns(seat, job):
    def judging_many(channel: Channel) -> None:
        with contextlib.suppress(Closed):
            while True:
                asked = channel.receive(TO_JUDGE)
                channel.send(JUDGEMENT.model_copy(update={"job": asked.id, "worker_log": asked.source}))

    one = seat(judging_many)
    with ThreadPoolExecutor(16) as threads:
        found = threads.map(lambda n: told(one, job.model_copy(update={"source": str(n)})).worker_log, range(300))
        assert list(found) == [str(n) for n in range(300)]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_has_nothing_to_say_to_the_judge_of_its_parent(seat, job):
    one = seat(judging)
    pid = os.fork()
    if not pid:
        try:
            told(one, job)
        except SandboxError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert told(one, job) == JUDGEMENT


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ProblemError("no"), "problem"), (InputError("no"), "problem"), (ToolchainError("no"), "device")],
)
def test_an_error_of_the_judge_s_crosses_the_wire_by_its_kind(error, kind):
    fault = Fault.of(error)
    assert (fault.kind, fault.detail) == (kind, "no")
    assert isinstance(fault.error(), ProblemError if kind == "problem" else DeviceError)


def test_asking_what_is_known_of_a_seat_starts_nothing(seat, job):
    one = seat(judging)
    assert one.known() is None
    assert one._channel is None
    assert one.start() == one.known() == SEATED
    assert one._channel is not None
