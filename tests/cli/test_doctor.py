"""The doctor tells what is there, and for each thing that is not, what mends it."""

import json
import sys
import types
from collections import namedtuple
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from harness.cli import doctor
from harness.cli.diagnosis import Diagnosis, Finding, show
from harness.errors import MachineError, SandboxError, ToolchainError
from harness.sandbox import Confinement
from harness.schema import Correct, Device, Environment, Flag, ProblemRef, Record, SubmissionRef
from harness.schema.record import DIFFERED
from harness.store import Manifest, open_run


def _invoke(*arguments: str) -> Result:
    return CliRunner().invoke(doctor.doctor, arguments)


def _text(diagnosis: Diagnosis, width: int = 80) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115 - closed with the test
    with console.file:
        console.print(show(diagnosis))
    return console.export_text()


def _raise(error: Exception):
    def function(*_args: object, **_keywords: object) -> object:
        raise error

    return function


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A machine with two H200 and a driver for CUDA 12.4, as far as NVML tells."""
    module = types.ModuleType("pynvml")

    class NVMLError(Exception):
        pass

    memory = namedtuple("memory", ["total"])
    vars(module).update(
        NVMLError=NVMLError,
        NVML_ERROR_NOT_FOUND=6,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: "NVIDIA H200",
        nvmlDeviceGetMemoryInfo=lambda handle: memory(141 << 30),
        nvmlSystemGetDriverVersion=lambda: "550.54.15",
        nvmlSystemGetCudaDriverVersion_v2=lambda: 12040,
    )
    monkeypatch.setitem(sys.modules, "pynvml", module)
    return module


def _torch_for(cuda: str | None):
    return lambda: types.SimpleNamespace(version="2.11.0", cuda=cuda)


def test_this_machine_is_described_and_can_judge() -> None:
    result = _invoke("--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    findings = {finding["name"]: finding for finding in told["findings"]}
    assert sys.executable in findings["Python"]["found"]
    assert findings["C++ compiler"]["state"] == "ok"
    assert findings["isolation"]["state"] in ("ok", "limited")
    assert "seccomp" in told["layers"]
    assert {finding["state"] for finding in told["findings"]} <= {"ok", "limited"}


def test_a_machine_without_a_compiler_cannot_judge_and_hears_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.compile.cxx_compiler", _raise(ToolchainError("none")))
    result = _invoke()
    assert result.exit_code == 3
    assert "apt-get install g++" in result.stdout


def test_without_torch_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.compile.find_torch", _raise(ToolchainError("none")))
    finding = doctor.find_torch_build(gpu_present=False)
    assert (finding.state, finding.mend) == ("missing", 'pip install "torch>=2.6"')


def test_a_gpu_is_named_with_its_driver(nvml: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.compile.find_torch", _torch_for("12.8"))
    finding = doctor.find_gpu()
    assert finding.state == "ok"
    assert finding.found == "2 x NVIDIA H200, 141 GiB, driver 550.54.15 (CUDA up to 12.4)"


def test_a_driver_too_old_for_torch_is_noticed(nvml: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.compile.find_torch", _torch_for("13.0"))
    finding = doctor.find_gpu()
    assert finding.state == "limited"
    assert "too old" in finding.found
    assert finding.mend is not None


def test_without_a_gpu_emulation_is_named(nvml: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "nvmlInit", _raise(nvml.NVMLError("no driver")))
    finding = doctor.find_gpu()
    assert finding.state == "limited"
    assert "emulated" in finding.found


def test_a_cpu_build_of_torch_beside_a_gpu_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.compile.find_torch", _torch_for(None))
    assert doctor.find_torch_build(gpu_present=True).state == "limited"
    assert doctor.find_torch_build(gpu_present=False).state == "ok"


def test_nvcc_is_missed_only_where_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.compile.find_toolkit", lambda: None)
    assert doctor.find_nvcc(gpu_present=False).state == "ok"
    missed = doctor.find_nvcc(gpu_present=True)
    assert (missed.state, "CUDA_HOME" in (missed.mend or "")) == ("limited", True)


class _FakeZygote:
    """Stands in for the prepared process: says what it is told to."""

    def __init__(self, answer: Confinement | MachineError) -> None:
        self._answer = answer

    def start(self, **_keywords: object) -> "_FakeZygote":
        return self

    def __enter__(self) -> "_FakeZygote":
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def ready(self) -> Confinement:
        if isinstance(self._answer, MachineError):
            raise self._answer
        return self._answer


def test_refused_namespaces_are_told_with_the_reason_and_the_switch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "switch").write_text("0\n")
    monkeypatch.setattr(doctor, "_SWITCHES", ((str(tmp_path / "switch"), "0", "sysctl -w some.switch=1"),))
    basic = Confinement(tier="basic", layers=("seccomp",), missing=("user-namespace: not permitted",))
    monkeypatch.setattr("harness.sandbox.Zygote", _FakeZygote(basic))
    finding, _ = doctor.find_worker_isolation()
    assert finding.state == "limited"
    assert finding.found == "basic, 1 layers; no namespaces (not permitted)"
    assert finding.mend == "sysctl -w some.switch=1"


def test_who_enforces_the_limits_is_told_with_the_reason() -> None:
    assert doctor.find_limits(Confinement(tier="full", layers=("cgroup",))).state == "ok"
    finding = doctor.find_limits(Confinement(tier="full", missing=("cgroup: /x is not delegated to us",)))
    assert finding.state == "limited"
    assert finding.found == "a watchdog; no cgroup v2: /x is not delegated to us"
    assert finding.mend is not None


def test_files_that_lie_open_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = Confinement(tier="basic", missing=("user-namespace: no", "landlock: not implemented"))
    monkeypatch.setattr("harness.sandbox.Zygote", _FakeZygote(bare))
    finding, _ = doctor.find_worker_isolation()
    assert "candidates can read your files" in finding.found


def test_a_container_is_told_its_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".dockerenv").touch()
    monkeypatch.setattr(doctor, "_SWITCHES", ())
    monkeypatch.setattr(doctor, "_CONTAINER_MARKS", (str(tmp_path / ".dockerenv"),))
    assert doctor._mend_namespaces().startswith("docker run --security-opt seccomp=unconfined")


def test_a_machine_that_starts_no_worker_cannot_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.sandbox.Zygote", _FakeZygote(SandboxError("fork failed")))
    result = _invoke("--json")
    assert result.exit_code == 3
    isolation = next(one for one in json.loads(result.stdout)["findings"] if one["name"] == "isolation")
    assert (isolation["state"], "fork failed" in isolation["found"]) == ("missing", True)


def test_without_bubblewrap_and_landlock_compilers_read_everything_and_it_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harness.sandbox.bubblewrap", lambda: None)
    monkeypatch.setattr("harness.sandbox.tool_confinement", lambda: Confinement(tier="none"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    finding = doctor.find_compiler_isolation()
    assert finding.state == "limited"
    assert "install bubblewrap" in (finding.mend or "")


def test_the_page_fits_eighty_columns_and_lists_only_what_needs_mending() -> None:
    good = Finding(name="torch", state="ok", found="2.13.0 " + "a/very/long/path" * 8)
    bad = Finding(name="nvcc", state="limited", found="none", mend="apt-get install " + "cuda " * 20)
    text = _text(Diagnosis(findings=(good, bad), layers=("seccomp",), missing_layers=("uid: only root",)))
    assert max(map(len, text.splitlines())) <= 80
    assert "only root" not in text
    assert text.count("nvcc") == 2
    assert text.count("torch") == 1


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = namedtuple("usage", ["free"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage(10**9))
    cache, disk = doctor.find_cache()
    assert str(tmp_path) in cache.found
    assert disk.state == "limited"
    assert "harness cache clear" in (disk.mend or "")


def _keep(name: str, *, flags: tuple[Flag, ...] = ()) -> None:
    record = Record(
        problem=ProblemRef(set="level1", name="19_ReLU", sha256="0" * 64),
        submission=SubmissionRef(path="a.py", sha256="1" * 64),
        device=Device(kind="cpu", name="a CPU"),
        verdict=Correct(trials=3),
        confirmed="stock",
        flags=flags,
        environment=Environment(harness="0", python="3", torch="2"),
        judged_at="2026-01-01T00:00:00+00:00",
    )
    with open_run(name, create=True, manifest=Manifest(created="2026", harness="0", settings={})) as run:
        run.append(record)


def test_a_fast_build_that_differed_from_stock_raises_the_alarm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(doctor.find_fast_builds()) == []
    _keep("good")
    (finding,) = doctor.find_fast_builds()
    assert (finding.state, finding.found) == ("ok", "stock was asked about 1 verdicts and agreed")
    _keep("bad", flags=(Flag(rule=DIFFERED, severity="warn", detail="d"),))
    (finding,) = doctor.find_fast_builds()
    assert finding.state == "limited"
    assert "1 of 2 verdicts were others over stock's build, in bad" in finding.found
    assert "harness runs show bad" in (finding.mend or "")
