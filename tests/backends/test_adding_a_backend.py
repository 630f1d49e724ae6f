"""To add a backend: a `Backend`, a `Hardware` and a row. Nothing outside of its folder changes."""

import ast
import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from harness.backends import BACKENDS, Backend
from harness.backends.awake_core import AwakeCore
from harness.backends.hardware import Hardware
from harness.cache_folder import cache_folder
from harness.compile.toolchains import toolchains_for
from harness.controller import session as session_module
from harness.controller.evaluate import begin
from harness.controller.session import Session, choose_devices
from harness.errors import DeviceError, InputError
from harness.inspect.tools import find_tool, unsupported
from harness.judge import process as process_module
from harness.judge.jobs import FROM_JUDGE, TO_JUDGE, Seat, Seated
from harness.judge.process import JudgeProcess
from harness.report.kernelbench import torch_device
from harness.schema import BuildRequest, Device
from harness.settings import Settings
from harness.transport import Channel
from harness.transport.memory import HostArena


class StubDevice(Hardware):
    """A device of another maker, here with the CPU's arithmetic."""

    arch, identity, name = "stub-7", "stub-0", "Stub 7000"

    def __init__(self, handle: str | None) -> None:
        super().__init__(torch.device("cpu"), 1 << 16, AwakeCore(None))
        self.handle = handle

    def arena(self, size, *, copied):
        del copied
        return HostArena(size)

    def free_bytes(self) -> int:
        return 1 << 30

    def clocks(self) -> dict[str, float]:
        return {"stub": 1.0}


STUB = Backend(
    name="stub",
    title="a stub",
    find=lambda: ["a", "b"],
    visibility=lambda handle: {"STUB_VISIBLE": handle or ""},
    open=lambda handle, core: StubDevice(handle),
    toolchains=("stock",),
    absent="there is no stub here",
    is_gpu=True,
)
SETTINGS = Settings()


@pytest.fixture(autouse=True)
def added(monkeypatch):
    monkeypatch.setitem(BACKENDS, "stub", STUB)
    monkeypatch.setenv("STUB_VISIBLE", "")


def test_its_devices_are_chosen_by_its_name():
    assert [(device.name, device.gpu) for device in choose_devices("stub")] == [("stub:0", "a"), ("stub:1", "b")]
    assert [device.gpu for device in choose_devices("stub:1")] == ["b"]
    with pytest.raises(DeviceError, match="this machine shows 2"):
        choose_devices("stub:2")
    with pytest.raises(InputError, match=r"stub or stub:N"):
        choose_devices("stub:x")


def test_a_judge_holds_it_and_says_what_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "/of/another")
    roots = []
    monkeypatch.setattr(process_module, "Known", lambda *_: roots.append(cache_folder()))
    ours, theirs = Channel.pair()
    caches = {"XDG_CACHE_HOME": str(tmp_path)}
    with ours, Channel.from_descriptor(theirs.detach()) as judges:
        judge = JudgeProcess(judges, None, Seat(backend="stub", gpu="b", name="stub:1", environment=caches))
        seated = ours.receive(FROM_JUDGE)
    assert isinstance(seated, Seated)
    assert (seated.device_name, seated.arch, seated.environment.gpu) == ("Stub 7000", "stub-7", None)
    assert process_module.os.environ["STUB_VISIBLE"] == "b"
    assert roots == [tmp_path / "kernel-harness"] * 2
    assert isinstance(judge._bench.make_arena(64), HostArena)
    assert judge._bench.clock.clocks() == {"stub": 1.0}


def test_its_seat_crosses_the_wire_and_its_kind_stands_in_a_record():
    seat = Seat(backend="stub", gpu="a")
    assert TO_JUDGE.validate_json(seat.model_dump_json()) == seat
    assert Device(kind="stub", name="Stub 7000").kind == "stub"
    assert [torch_device(kind) for kind in ("stub", "cuda", "cpu", "cpu-emulated")] == [
        "stub:0",
        "cuda:0",
        "cpu",
        "cpu",
    ]


def test_what_is_built_for_it_goes_by_its_toolchains_and_the_architecture_of_the_seat(monkeypatch):
    assert [tool.name for tool in toolchains_for("stub", "auto")] == ["stock"]
    made = []

    class Builder:
        def __init__(self, **how):
            made.append((how["target"], how["arch"]))

        def build(self, request, *, deadline_s, go_on):
            del request, deadline_s, go_on
            return session_module.BuildFailure(reason="compile", detail="", log="", toolchain="stock")

    monkeypatch.setattr(session_module, "Builder", Builder)
    monkeypatch.setattr(session_module, "to_candidate_lines", lambda text, *_: text)
    session = Session(None, choose_devices("stub"), SETTINGS, print)
    for seat, arch in zip(session.seats, ("stub-7", "stub-8"), strict=True):
        monkeypatch.setattr(seat, "start", lambda arch=arch: SimpleNamespace(arch=arch))
    candidate, request = SimpleNamespace(source=""), BuildRequest(name="a")
    session.build("stub", request, candidate)
    for seat in session.seats:
        session.build("stub", request, candidate, seat=seat)
    assert made == [("stub", "stub-7"), ("stub", "stub-8")]
    assert begin(None, None, session=session).kind == "stub"


def test_tools_are_those_of_a_device_with_nodes_of_its_own():
    assert find_tool("memcheck", "stub") is not None
    assert "ran on a stub" in unsupported("memcheck", "stub").summary


def test_the_clock_can_use_it():
    device = STUB.open("a", None)
    device.evict()
    device.touch()
    device.settle()
    with contextlib.closing(device.arena(64, copied=False)), device.awake():
        assert device.read() is None
    assert device.rates("fp32").copy > 0
    assert device.knows_rates("fp32")
    assert device.environment().driver is None


def test_one_file_names_the_kind_of_device_that_is_emulated():
    harness = Path(session_module.__file__).parents[1]
    named = {
        str(path.relative_to(harness))
        for path in harness.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value == "cpu-emulated"
    }
    assert named == {"schema/build.py"}
