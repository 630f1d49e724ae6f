"""A cache may lie anywhere: what was built names no place, and what is missing from it is made again."""

import dataclasses
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import harness.compile.builder as builder_module
import harness.compile.slim_tool as tool_module
from harness import Evaluator, Settings
from harness.compile import ArtifactCache, Builder, cxx_compiler, find_toolkit, find_torch
from harness.compile.recipe import Machine
from harness.compile.slim_tool import SlimTool, slim_tool
from harness.schema import Artifact, BuildRequest, Correct, DeviceKind

DATA = Path(__file__).parents[1] / "data"
SCALE = BuildRequest(
    name="location_test",
    cpp_sources=("torch::Tensor scale(torch::Tensor x) { return x * 3; }",),
    functions={"scale": "scales"},
)
KERNEL = BuildRequest(
    name="location_kernel_test",
    cpp_sources=("torch::Tensor twice(torch::Tensor x);",),
    cuda_sources=(
        "__global__ void k(float* x) { x[threadIdx.x] *= 2; }\n"
        "torch::Tensor twice(torch::Tensor x) { k<<<1, x.numel()>>>(x.data_ptr<float>()); return x; }",
    ),
    functions={"twice": "twice"},
)
CANDIDATE = """
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = "torch::Tensor rectified(torch::Tensor x) { return x.clamp_min(0); }"
built = load_inline(name="rectified", cpp_sources=SOURCE, functions="rectified")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return built.rectified(x)
"""


def dynamic_section(module: str) -> str:
    return subprocess.run(["readelf", "-d", module], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("request_", "target", "inspected"),
    [
        (SCALE, "cpu", False),
        (SCALE, "cpu", True),
        (KERNEL, "cpu-emulated", False),
        pytest.param(KERNEL, "cuda", False, marks=pytest.mark.skipif(find_toolkit() is None, reason="needs nvcc")),
    ],
)
def test_a_module_names_its_libraries_and_no_place_of_theirs(
    shared_cache: ArtifactCache, request_: BuildRequest, target: DeviceKind, inspected: bool
) -> None:
    builder = Builder(cache=shared_cache, target=target, arch="9.0", inspected=inspected)
    artifact = builder.build(request_, deadline_s=240)
    assert isinstance(artifact, Artifact), artifact.log
    assert artifact.toolchain in ("slim", "emulated"), artifact.notes
    section = dynamic_section(artifact.path)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", section)
    assert "libslim.so" in needed
    assert not [name for name in needed if "/" in name]
    assert re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", section) == ["$ORIGIN"]
    assert Path(artifact.library or "") == Path(artifact.path).with_name("libslim.so")


# ---- a cache that was moved, or robbed ----


def tool_in(cache: ArtifactCache) -> SlimTool:
    return slim_tool(Machine(target="cpu", layout=find_torch(), cxx=cxx_compiler()), cache, lambda _: None)


@pytest.fixture
def cache_with_tool(shared_cache: ArtifactCache, tmp_path: Path) -> ArtifactCache:
    """A cache of a test's own in which the library is made already."""
    fingerprint = tool_in(shared_cache).include.parent.name
    shutil.copytree(shared_cache.root / "tools" / fingerprint, tmp_path / "cache" / "tools" / fingerprint)
    return ArtifactCache(tmp_path / "cache")


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def forbid() -> None:
        def run(*args: object, **kwargs: object) -> None:
            raise AssertionError("a compiler was started")

        monkeypatch.setattr(builder_module, "run_compiler", run)
        monkeypatch.setattr(tool_module, "run_compiler", run)

    return forbid


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, shared_cache: ArtifactCache) -> list[Path]:
    """Where the library was made since: by copying the one there is, because compiling takes half a minute."""
    library = tool_in(shared_cache).library
    places: list[Path] = []

    def compile_library(machine: Machine, cache: ArtifactCache, work: Path) -> None:
        places.append(work)
        shutil.copy(library, work)

    monkeypatch.setattr(tool_module, "_compile_library", compile_library)
    return places


@pytest.mark.slow
def test_a_candidate_is_judged_from_a_cache_that_was_moved_and_has_lost_the_library(
    cache_with_tool: ArtifactCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_compiler: Callable[[], None]
) -> None:
    def judged(home: Path) -> tuple[bool, str]:
        monkeypatch.setenv("XDG_CACHE_HOME", str(home))
        with Evaluator(device="cpu", settings=Settings(timing="none")) as evaluator:
            record = evaluator.evaluate(CANDIDATE, DATA / "problems" / "relu.py")
        assert isinstance(record.verdict, Correct), record.verdict
        return record.builds[0].cached, record.builds[0].toolchain

    (tmp_path / "first").mkdir()
    cache_with_tool.root.rename(tmp_path / "first" / "kernel-harness")
    assert judged(tmp_path / "first") == (False, "slim")
    no_compiler()
    (tmp_path / "first").rename(tmp_path / "second")
    shutil.rmtree(tmp_path / "second" / "kernel-harness" / "tools")
    assert judged(tmp_path / "second") == (True, "slim")


@pytest.mark.parametrize("damage", ["library", "header"])
def test_a_damaged_library_is_made_again_and_no_candidate_is_blamed(
    cache_with_tool: ArtifactCache, made: list[Path], damage: str
) -> None:
    tool = tool_in(cache_with_tool)
    folder = tool.library.parent
    folder.chmod(0o755)
    match damage:
        case "library":
            tool.library.unlink()
        case "header":
            (tool.include / "slim" / "tensor.h").write_text("")
    artifact = Builder(cache=cache_with_tool, target="cpu").build(SCALE, deadline_s=120)
    assert isinstance(artifact, Artifact)
    assert artifact.toolchain == "slim", artifact.notes
    assert len(made) == 1


def test_the_name_of_the_library_does_not_depend_on_where_torch_lies() -> None:
    here = Machine(target="cpu", layout=find_torch(), cxx=cxx_compiler())
    there = dataclasses.replace(here, layout=dataclasses.replace(here.layout, root=Path("/elsewhere/torch")))
    other = dataclasses.replace(here, layout=dataclasses.replace(here.layout, version="1.0"))
    assert tool_module._fingerprint(here) == tool_module._fingerprint(there)
    assert tool_module._fingerprint(here) != tool_module._fingerprint(other)
