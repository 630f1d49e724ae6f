"""Builder: from requests to artifacts that load and run, or to failures that say whose fault it is."""

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import cpp_extension

import harness.compile.builder as builder_module
from harness.compile import ArtifactCache, Builder, FirstTry, compiler, find_toolkit, to_candidate_lines
from harness.compile.builder import cache_key
from harness.compile.recipe import Plan
from harness.compile.stock import STOCK
from harness.compile.toolchain import SteppedBack, Surroundings, Toolchain
from harness.errors import DeadlineError, MachineError, ToolchainError
from harness.sandbox import tool
from harness.sandbox.processes import descendants
from harness.schema import Artifact, BuildFailure, BuildRequest
from harness.worker import capture
from harness.worker.capture import load_artifact

Build = Callable[..., Artifact | BuildFailure]

CPP = """
#include <torch/extension.h>
#include <vector>

torch::Tensor scale(const torch::Tensor& x, double factor) {
    TORCH_CHECK(x.dim() == 1, "expected one dimension, got ", x.dim(), " in ", x.sizes());
    return x * factor;
}

std::vector<torch::Tensor> halves(torch::Tensor x, c10::optional<int64_t> at) {
    auto middle = at.value_or(x.size(0) / 2);
    return {x.slice(0, 0, middle).contiguous(), x.slice(0, middle)};
}

void fill(torch::Tensor& x, std::string how) {
    if (how == "ones") x.fill_(1);
    else if (how == "index") throw std::out_of_range("no such way");
    else AT_ERROR("unknown way: ", how);
}
"""
REQUEST = BuildRequest(
    name="cpp_builder_test", cpp_sources=(CPP,), functions={"scale": "scales", "halves": "halves", "fill": "fill"}
)
PYBIND11_ALONE = """
#include <pybind11/pybind11.h>
int answer() { return ANSWER; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("answer", &answer); }
"""
RELU = """
#include <torch/extension.h>

__global__ void relu_kernel(const float* x, float* out, int size) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < size) out[idx] = fmaxf(x[idx], 0.0f);
}

torch::Tensor relu(torch::Tensor x) {
    auto out = torch::empty_like(x);
    relu_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
"""
RELU_REQUEST = BuildRequest(
    name="relu_builder_test",
    cpp_sources=("torch::Tensor relu(torch::Tensor x);",),
    cuda_sources=(RELU,),
    functions={"relu": "relu"},
)


def module_of(request: BuildRequest, outcome: Artifact | BuildFailure) -> Any:
    assert isinstance(outcome, Artifact), outcome.log
    return load_artifact(request, outcome)


# ---- slim, on the CPU ----


@pytest.fixture(scope="module")
def extension(build: Build) -> Any:
    outcome = build(REQUEST)
    assert isinstance(outcome, Artifact), outcome.log
    assert outcome.toolchain == "slim", outcome.notes
    return load_artifact(REQUEST, outcome)


def test_a_cpp_candidate_runs_and_gives_what_torch_gives(extension: Any) -> None:
    x = torch.randn(100)
    assert torch.equal(extension.scale(x, 3), x * 3)
    first, second = extension.halves(x, 30)
    assert torch.equal(first, x[:30])
    assert torch.equal(second, x[30:])
    assert len(extension.halves(x, None)[0]) == 50


def test_an_argument_is_changed_in_place_through_a_reference(extension: Any) -> None:
    x = torch.zeros(3)
    assert extension.fill(x, "ones") is None
    assert torch.equal(x, torch.ones(3))


def test_tensors_are_not_leaked(extension: Any) -> None:
    import resource

    x = torch.zeros(1 << 20)
    extension.scale(x, 2.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        extension.halves(extension.scale(x, 2.0), 1 << 19)
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kb < 200 * 4096 / 10


def test_autograd_sees_through_an_extension(extension: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    extension.scale(x, 4.0).sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 4.0))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda e: e.scale(torch.ones(2, 2), 1.0), RuntimeError, r"expected one dimension, got 2 in \[2, 2\]"),
        (lambda e: e.fill(torch.ones(1), "index"), (RuntimeError, IndexError), "no such way"),
        (lambda e: e.fill(torch.ones(1), "odd"), RuntimeError, "unknown way: odd"),
        (lambda e: e.scale(torch.ones(2)), TypeError, "incompatible function arguments"),
        (lambda e: e.scale(None, 1.0), TypeError, r"1\. \(arg0: torch.Tensor, arg1: "),
        (lambda e: e.scale(torch.ones(2), "2"), TypeError, "Invoked with: tensor"),
        (lambda e: e.scale(torch.ones(2), factor=2.0), TypeError, "kwargs: factor=2.0"),
    ],
)
def test_errors_have_the_classes_and_words_of_torch_and_pybind(
    extension: Any, call: Callable[[Any], Any], error: Any, words: str
) -> None:
    with pytest.raises(error, match=words):
        call(extension)


def test_functions_carry_their_signature_and_docstring(extension: Any) -> None:
    assert extension.scale.__doc__.startswith("scale(arg0: torch.Tensor, arg1:")
    assert "scales" in extension.scale.__doc__


def test_a_second_build_is_cached_and_costs_nothing(build: Build, extension: Any) -> None:
    again = build(REQUEST)
    assert isinstance(again, Artifact)
    assert again.cached
    assert again.seconds == again.cpu_seconds == 0.0


def test_a_module_of_its_own_with_named_arguments_works(build: Build) -> None:
    source = """
    #include <torch/extension.h>
    int64_t add(int64_t a, int64_t b) { return a + b; }
    PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
        m.doc() = "sums";
        m.def("add", &add, "adds", py::arg("a"), py::arg("b") = 10);
        m.def("pair", [](double x, bool yes) { return std::make_tuple(x, yes, std::string("s")); });
        m.def("add", [](std::string a, std::string b) { return a + b; });
    }
    """
    request = BuildRequest(name="named_arguments_test", cpp_sources=(source,))
    module = module_of(request, build(request))
    assert module.add(1) == 11
    assert module.add(b=2, a=1) == 3
    assert module.add("x", "y") == "xy"
    assert module.pair(1, True) == (1.0, True, "s")
    assert module.__doc__ == "sums"
    with pytest.raises(TypeError, match=r"\(a: .*[Ii]nt.*, b: .*= 10\) -> int"):
        module.add(1.5)


# ---- compile errors ----


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts other toolchains in the place of the table's, for every target."""

    def only(*toolchains: Toolchain) -> None:
        monkeypatch.setattr(builder_module, "toolchains_for", lambda target, choice: toolchains)

    return only


def plain(name: str = "plain", source: str = "int f;", *flags: str) -> Toolchain:
    """A toolchain that compiles one small file and looks at no request."""

    def plan(request: BuildRequest, around: Surroundings) -> Plan:
        compile_call = (around.machine.cxx, "-fPIC", *flags, "-c", "a.cpp", "-o", "a.o")
        link = (around.machine.cxx, "a.o", "-shared", "-o", "a.so")
        return Plan(files={"a.cpp": source}, compile=(compile_call,), link=link, output="a.so", notes=("a note",))

    return Toolchain(name=name, plan=plan, memory_bytes=1 << 20)


ENDLESS = (
    "template <int A, int B> struct T { static const int v = T<A - 1, B * 2>::v + T<A - 1, B * 2 + 1>::v; };\n"
    "template <int B> struct T<0, B> { static const int v = B; };\nint x = T<26, 0>::v;\n"
)
"""What takes a compiler minutes."""


REFUSED = 'static_assert(sizeof(int) == 5, "no");'
"""What no rule decides without stock."""


def stepping_back(request: BuildRequest, around: Surroundings) -> Plan:
    raise SteppedBack("it has a reason")


def small_build(cache: ArtifactCache, **kwargs: Any) -> Artifact | BuildFailure:
    return Builder(cache=cache, target="cpu").build(BuildRequest(name="m", **kwargs), deadline_s=20)


def test_a_compile_error_names_the_line_of_the_candidate(only: Callable[..., None], cache: ArtifactCache) -> None:
    candidate = 'import torch\n\nSOURCE = """\nint fine;\nint broken = ;\n"""\n'
    source = "\nint fine;\nint broken = ;\n"
    only(plain("stock", f'#line 1 "cpp_sources[0]"\n{source}'))
    request = BuildRequest(name="m", cpp_sources=(source,))
    failure = Builder(cache=cache, target="cpu").build(request, deadline_s=20)
    assert isinstance(failure, BuildFailure)
    assert failure.reason == "compile"
    assert failure.detail.startswith("cpp_sources[0]:3:")
    assert to_candidate_lines(failure.detail, request, candidate).startswith("candidate.py:5:")


def test_a_toolchain_that_steps_back_leaves_a_note(only: Callable[..., None], cache: ArtifactCache) -> None:
    only(Toolchain("first", stepping_back, 1), plain("second", REFUSED), plain("third"))
    artifact = small_build(cache)
    assert isinstance(artifact, Artifact)
    assert artifact.toolchain == "third"
    assert artifact.notes[0] == "first stepped back: it has a reason"
    assert artifact.notes[1].startswith("second stepped back: a.cpp:1:")
    assert artifact.notes[2] == "a note"


def test_the_first_step_of_a_build_can_be_taken_alone(only: Callable[..., None], cache: ArtifactCache) -> None:
    request = BuildRequest(name="m")
    tries = []
    for first in (plain("first"), plain("first", REFUSED), Toolchain("first", stepping_back, 1)):
        only(first, plain("stock"))
        tries.append(Builder(cache=cache, target="cpu").first_try(request, deadline_s=20))
    built, refused, stepped_back = (one for one in tries if isinstance(one, FirstTry))
    assert (built.built, built.decision, built.cpu_seconds > 0) == (True, None, True)
    assert (refused.built, refused.reason, refused.decision) == (False, "compile", None)
    assert refused.detail.startswith("a.cpp:1:")
    assert (stepped_back.built, stepped_back.reason, stepped_back.detail) == (False, "unsupported", "it has a reason")
    assert list((cache.root / "work").iterdir()) == []
    none = Builder(cache=cache, target="cpu").first_try(BuildRequest(name="no name"), deadline_s=20)
    assert isinstance(none, BuildFailure)


def test_only_the_last_toolchain_decides_that_a_candidate_is_wrong(
    only: Callable[..., None], cache: ArtifactCache
) -> None:
    only(plain("first", REFUSED.replace("no", "slim_message")), plain("stock", REFUSED.replace("no", "stock_message")))
    failure = small_build(cache)
    assert isinstance(failure, BuildFailure)
    assert failure.toolchain == "stock"
    assert "stock_message" in failure.log
    assert "slim_message" not in failure.log


def test_forcing_the_stock_toolchain_leaves_out_the_others(cache: ArtifactCache) -> None:
    builder = Builder(cache=cache, target="cuda", arch="9.0", choice="stock")
    assert builder._toolchains == (STOCK,)


def test_two_modules_of_one_name_are_each_their_own_by_stock(cache: ArtifactCache) -> None:
    """pybind11 alone, without torch's headers, so that stock compiles in a second: it is what keeps modules by name."""
    builder = Builder(cache=cache, target="cpu", choice="stock")

    def build(request: BuildRequest) -> Artifact:
        outcome = builder.build(request, deadline_s=240)
        assert isinstance(outcome, Artifact), outcome.log
        return outcome

    undo = capture.install(build)
    try:
        sources = [PYBIND11_ALONE.replace("ANSWER", answer) for answer in ("1", "2")]
        modules: list[Any] = [
            cpp_extension.load_inline("answers", source, no_implicit_headers=True, with_pytorch_error_handling=False)
            for source in sources
        ]
    finally:
        undo()
    assert [module.answer() for module in modules] == [1, 2]


def test_a_failed_compile_is_remembered_and_a_timeout_is_not(only: Callable[..., None], cache: ArtifactCache) -> None:
    only(plain("stock", "int f = ;"))
    small_build(cache)
    assert cache.summary().failures == 1
    only(plain("slow", '#include "/dev/zero"'))
    outcome = Builder(cache=cache, target="cpu").build(BuildRequest(name="slow"), deadline_s=0.2)
    assert isinstance(outcome, BuildFailure)
    assert cache.summary().failures == 1 + (outcome.reason == "compile")


def test_a_compiler_that_hangs_is_a_timeout(only: Callable[..., None], cache: ArtifactCache) -> None:
    only(plain("stock", ENDLESS))
    failure = Builder(cache=cache, target="cpu").build(BuildRequest(name="bomb"), deadline_s=1.5)
    assert isinstance(failure, BuildFailure)
    assert failure.reason == "timeout"
    assert "1" in failure.detail


def test_equal_requests_in_flight_compile_once(only: Callable[..., None], cache: ArtifactCache) -> None:
    calls: list[int] = []
    gate = threading.Event()
    inner = plain()

    def counted(request: BuildRequest, around: Surroundings) -> Plan:
        calls.append(1)
        gate.wait(10)
        return inner.plan(request, around)

    only(dataclasses.replace(inner, plan=counted))
    builder = Builder(cache=cache, target="cpu")
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(builder.build, BuildRequest(name="m"), deadline_s=20) for _ in range(4)]
        gate.set()
        outcomes = [future.result() for future in futures]
    assert len(calls) == 1
    assert sorted(outcome.cached for outcome in outcomes if isinstance(outcome, Artifact)) == [False, True, True, True]


class GivenUp:
    """A `go_on` that ends the wait once `over` is set; `asked` once it was asked."""

    def __init__(self) -> None:
        self.asked, self.over = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.asked.set()
        if self.over.is_set():
            raise DeadlineError("late")


def compilers_below() -> list[str]:
    """What this process has started of compilers."""
    names = []
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            names.append(Path(f"/proc/{pid}/comm").read_text().strip())
    return [name for name in names if name in ("cc1plus", "g++", "c++", "nvcc")]


def until(true: Callable[[], object]) -> None:
    for _ in range(6000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come about within a minute")


def never_ending(gate: threading.Event, started: threading.Event) -> Toolchain:
    """A toolchain whose plan is held back by `gate`, and says that it began."""
    inner = plain()

    def held(request: BuildRequest, around: Surroundings) -> Plan:
        started.set()
        assert gate.wait(60)
        return inner.plan(request, around)

    return dataclasses.replace(inner, plan=held)


def test_a_build_that_nobody_waits_for_is_ended_with_its_compilers_and_nothing_of_it_is_kept(
    only: Callable[..., None], cache: ArtifactCache
) -> None:
    only(plain("stock", ENDLESS))
    builder, given_up = Builder(cache=cache, target="cpu"), GivenUp()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(builder.build, BuildRequest(name="m"), deadline_s=600, go_on=given_up)
        until(compilers_below)
        given_up.over.set()
        with pytest.raises(DeadlineError):
            future.result(60)
    builder.close()
    assert compilers_below() == []
    assert (cache.summary().artifacts, cache.summary().failures) == (0, 0)
    assert list((cache.root / "work").iterdir()) == []
    only(plain("stock"))
    assert isinstance(Builder(cache=cache, target="cpu").build(BuildRequest(name="m"), deadline_s=60), Artifact)


def test_a_build_goes_on_for_whoever_waits_when_the_one_that_began_it_leaves(
    only: Callable[..., None], cache: ArtifactCache
) -> None:
    gate, started, given_up = threading.Event(), threading.Event(), GivenUp()
    only(never_ending(gate, started))
    builder = Builder(cache=cache, target="cpu")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(builder.build, BuildRequest(name="m"), deadline_s=60, go_on=given_up)
        assert started.wait(60)
        second = pool.submit(builder.build, BuildRequest(name="m"), deadline_s=60)
        until(lambda: [build.waiting for build in builder._under_way.values()] == [2])
        given_up.over.set()
        with pytest.raises(DeadlineError):
            first.result(60)
        assert not second.done()
        gate.set()
        assert isinstance(second.result(60), Artifact)
    assert not builder._under_way


def test_who_asks_for_a_build_that_is_being_ended_has_one_of_its_own(
    only: Callable[..., None], cache: ArtifactCache
) -> None:
    gate, started, given_up = threading.Event(), threading.Event(), GivenUp()
    only(never_ending(gate, started))
    builder = Builder(cache=cache, target="cpu")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(builder.build, BuildRequest(name="m"), deadline_s=60, go_on=given_up)
        assert started.wait(60)
        given_up.over.set()
        with pytest.raises(DeadlineError):
            first.result(60)
        second = pool.submit(builder.build, BuildRequest(name="m"), deadline_s=60)
        until(lambda: builder._under_way)
        gate.set()
        assert isinstance(second.result(60), Artifact)
    builder.close()


@pytest.mark.parametrize("waits_for", ["another build of the machine's memory", "another process that builds it"])
def test_what_waits_to_build_leaves_when_it_is_given_up(
    only: Callable[..., None], cache: ArtifactCache, waits_for: str
) -> None:
    only(plain("stock"))
    builder, given_up = Builder(cache=cache, target="cpu"), GivenUp()
    request = BuildRequest(name="m")
    key = cache_key(request, builder._around.machine, ["stock"])
    taken = builder._gate.hold(builder._gate.budget_bytes) if "memory" in waits_for else cache.lock(f"{key}.lock")
    with ThreadPoolExecutor(1) as pool:
        with taken:
            future = pool.submit(builder.build, request, deadline_s=60, go_on=given_up)
            assert given_up.asked.wait(60)
            given_up.over.set()
            with pytest.raises(DeadlineError):
                future.result(60)
            builder.close()
        assert isinstance(builder.build(request, deadline_s=60), Artifact)


def test_sources_that_are_too_long_to_be_read_are_refused(only: Callable[..., None], cache: ArtifactCache) -> None:
    only(plain())
    outcome = small_build(cache, cpp_sources=(" " * (3 << 20), " " * (2 << 20)))
    assert isinstance(outcome, BuildFailure)
    assert outcome.reason == "unsupported"
    assert "4,194,304 characters" in outcome.detail


def test_a_sandbox_that_did_not_start_is_no_failure_of_the_build_and_is_not_kept(
    only: Callable[..., None], cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(plain())
    with monkeypatch.context() as broken:
        broken.setattr(tool, "_NAMESPACES", (*tool._NAMESPACES, "--ro-bind", "/not/there", "/not/there"))
        broken.setattr(tool, "_JAIL", "raise SystemExit(1)")
        with pytest.raises(ToolchainError, match="could not start"):
            small_build(cache)
    assert cache.summary().failures == 0
    assert isinstance(small_build(cache), Artifact)


def test_a_build_that_writes_too_much_is_the_candidate_s_failure(
    only: Callable[..., None], cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "BUILD_BYTES", 1 << 20)
    first = plain()

    def large(request: BuildRequest, around: Surroundings) -> Plan:
        script = "head -c 8M /dev/zero > large; sleep 60"
        return dataclasses.replace(first.plan(request, around), link=("/bin/sh", "-c", script))

    only(Toolchain("large", large, 1 << 20))
    outcome = small_build(cache)
    assert isinstance(outcome, BuildFailure)
    assert (outcome.reason, "wrote more than" in outcome.detail) == ("compile", True)


def test_what_one_toolchain_left_is_gone_before_the_next_one_runs(
    only: Callable[..., None], cache: ArtifactCache, tmp_path: Path
) -> None:
    """A source may have its objects fill the disk: the next toolchain would fail for want of room."""
    left = tmp_path / "left"
    first, second = plain("first"), plain("second")

    def unlinkable(request: BuildRequest, around: Surroundings) -> Plan:
        script = "echo 'terminated with signal 9 [Killed]'; exit 1"  # so that it is tried once more, alone
        return dataclasses.replace(first.plan(request, around), link=("/bin/sh", "-c", script))

    def looks(request: BuildRequest, around: Surroundings) -> Plan:
        left.write_text("\n".join(str(path) for path in (cache.root / "work").rglob("*.o")))
        return second.plan(request, around)

    only(Toolchain("first", unlinkable, 1 << 20), Toolchain("second", looks, 1 << 20))
    outcome = small_build(cache)
    assert isinstance(outcome, Artifact), outcome.log
    assert outcome.toolchain == "second"
    assert left.read_text() == ""


def without_threads(monkeypatch: pytest.MonkeyPatch, *, but: int = 0) -> None:
    """From now on no pool starts a thread, `but` so many, as where others have all that the user may have."""
    start, left = threading.Thread.start, iter(range(but))

    def refused(thread: threading.Thread) -> None:
        if thread.name.startswith("ThreadPool") and next(left, None) is None:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)


def test_a_single_compiler_needs_no_thread_of_its_own(
    only: Callable[..., None], cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(plain())
    without_threads(monkeypatch)
    assert isinstance(small_build(cache), Artifact)


@pytest.mark.parametrize("begun", [0, 1])
def test_compilers_that_no_thread_is_left_for_are_the_machines_fault(
    only: Callable[..., None], cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch, begun: int
) -> None:
    """Workers of others may have taken all threads of the user: no candidate's failure, and nothing to keep."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    one = plain()

    def several(request: BuildRequest, around: Surroundings) -> Plan:
        plan = one.plan(request, around)
        return dataclasses.replace(plan, compile=plan.compile * 3)

    only(Toolchain("several", several, 1 << 20))
    without_threads(monkeypatch, but=begun)
    with pytest.raises(MachineError, match="can't start new thread"):
        small_build(cache)
    assert cache.summary().failures == 0


def test_a_fault_of_ours_reaches_everyone_who_waits(only: Callable[..., None], cache: ArtifactCache) -> None:
    def broken(request: BuildRequest, around: Surroundings) -> Plan:
        raise ToolchainError("no compiler")

    only(Toolchain("broken", broken, 1))
    builder = Builder(cache=cache, target="cpu")
    for _ in range(2):
        with pytest.raises(ToolchainError):
            builder.build(BuildRequest(name="m"), deadline_s=5)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"extra_cflags": ("-O2 -fplugin=/tmp/x.so",)}, "-fplugin"),
        ({"extra_ldflags": ("-o", "/etc/passwd")}, "-o"),
        ({"extra_cuda_cflags": ("@file",)}, "@file"),
        ({"files": {"../../x.cpp": ""}}, "../../x.cpp"),
        ({"files": {"-fplugin=a.cpp": ""}}, "-fplugin"),
        ({"files": {"@a.cpp": ""}}, "@a.cpp"),
        ({"files": {"a\0.cpp": ""}}, "none that can be given"),
        ({"files": {"a/" * 17 + "b.cpp": ""}}, "none that can be given"),
        ({"files": {"a": "", "a/b.cpp": ""}}, "a file and a folder"),
        ({"files": {"main.cpp/a.h": ""}}, "a file and a folder"),
        ({"files": {"./cuda.cu/a.h": ""}, "cuda_sources": ("x",)}, "a file and a folder"),
        ({"files": {f"{i}.cpp": "" for i in range(300)}}, "more than 256 files"),
        ({"functions": {f"f{i}": "" for i in range(1_001)}}, "more than 1,000 functions"),
        ({"name": "a -fplugin=b"}, "no name"),
        ({"extra_ldflags": ("-L.",)}, "-L."),
        ({"name": "a/b"}, "no name"),
        ({"cuda_sources": ("x",)}, "without emulation"),
    ],
)
def test_requests_that_may_not_be_built_are_refused_by_name(
    cache: ArtifactCache, fields: dict[str, Any], words: str
) -> None:
    request = BuildRequest(**{"name": "m", "cpp_sources": ("int f;",), **fields})
    failure = Builder(cache=cache, target="cpu").build(request, deadline_s=5)
    assert isinstance(failure, BuildFailure)
    assert failure.reason == "unsupported"
    assert words in failure.detail


def test_a_file_named_like_a_folder_of_the_toolchains_own_headers_is_no_fault_of_the_machine(
    only: Callable[..., None], cache: ArtifactCache
) -> None:
    def plan(request: BuildRequest, around: Surroundings) -> Plan:
        return Plan(files={"ATen/ops/relu.h": "", **request.files}, compile=(), link=("false",), output="module.so")

    only(Toolchain("with-headers", plan, 1))
    request = BuildRequest(name="m", cpp_sources=("int f;",), files={"ATen/ops": ""})
    failure = Builder(cache=cache, target="cpu").build(request, deadline_s=5)
    assert isinstance(failure, BuildFailure)
    assert (failure.reason, failure.detail) == ("unsupported", "'ATen/ops' names a file and a folder")


# ---- CUDA ----


def test_the_relu_kernel_is_emulated_and_gives_what_torch_gives(build: Build) -> None:
    outcome = build(RELU_REQUEST, "cpu-emulated")
    module = module_of(RELU_REQUEST, outcome)
    assert isinstance(outcome, Artifact)
    assert outcome.toolchain == "emulated", outcome.notes
    assert any("relu_kernel<<<" in note for note in outcome.notes)
    x = torch.randn(7, 1001)
    assert torch.equal(module.relu(x), torch.relu(x))


def test_what_cannot_be_emulated_is_named_with_its_line(build: Build) -> None:
    request = RELU_REQUEST.model_copy(update={"cuda_sources": ("\n#include <cublas_v2.h>\n" + RELU,)})
    failure = build(request, "cpu-emulated")
    assert isinstance(failure, BuildFailure)
    assert failure.reason == "not-emulated"
    assert "cuda_sources[0]:2" in failure.log
    assert "cuBLAS" in failure.detail


@pytest.mark.skipif(find_toolkit() is None, reason="needs nvcc")
def test_nvcc_compiles_a_cuda_candidate_against_the_slim_headers(build: Build) -> None:
    outcome = build(RELU_REQUEST, "cuda")
    assert isinstance(outcome, Artifact), outcome.log
    assert outcome.toolchain == "slim", outcome.notes
    assert b"relu_kernel" in Path(outcome.path).read_bytes()
