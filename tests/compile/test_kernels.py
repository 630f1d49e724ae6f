"""The kernels of benchmarks/kernels: right, built by the slim toolchain but for two; all on a GPU, a few emulated."""

import types
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from harness.compile import ArtifactCache, Builder
from harness.schema import Artifact, BuildFailure, BuildRequest, DeviceKind
from harness.worker import capture

FOLDER = Path(__file__).parents[2] / "benchmarks" / "kernels"
KERNELS = sorted(FOLDER.glob("*.py"))
# For the parts of the facade: dispatch and half, accessors, optional and ATen, files, objects, containers.
EMULATED = (
    *("06_sigmoid_half", "17_depthwise_conv", "29_aten_wrapper", "42_from_files"),
    *("45_python_parameters", "46_map_of_tensors"),
)
LEFT_TO_STOCK = ("44_nn_functional", "47_functional_index")

Run = Callable[[Path, DeviceKind, str], list[Artifact]]


@pytest.fixture
def run_kernel(shared_cache: ArtifactCache) -> Run:
    """Imports a kernel with its builds captured, and compares its ModelNew with its Model."""

    def run_kernel(file: Path, target: DeviceKind, device: str) -> list[Artifact]:
        arch = "".join(map(str, torch.cuda.get_device_capability())) if device == "cuda" else None
        builder = Builder(cache=shared_cache, target=target, arch=arch)
        built: list[Artifact] = []

        def request_build(request: BuildRequest) -> Artifact:
            outcome = builder.build(request, deadline_s=280)
            if isinstance(outcome, BuildFailure):
                raise capture.BuildFailed(request.name, outcome)
            built.append(outcome)
            return outcome

        undo = capture.install(request_build)
        try:
            kernel = types.ModuleType(file.stem)
            exec(compile(file.read_text(), str(file), "exec"), kernel.__dict__)
        finally:
            undo()
        torch.manual_seed(0)
        inputs = [value.to(device) for value in kernel.get_inputs()]
        expected = kernel.Model().to(device)(*inputs)
        torch.testing.assert_close(kernel.ModelNew().to(device)(*inputs), expected, rtol=2e-3, atol=2e-4)
        return built

    return run_kernel


def test_there_are_at_least_forty_kernels() -> None:
    assert len(KERNELS) >= 40


@pytest.mark.parametrize("name", EMULATED)
def test_a_kernel_is_emulated_through_the_slim_headers(name: str, run_kernel: Run) -> None:
    built = run_kernel(FOLDER / f"{name}.py", "cpu-emulated", "cpu")
    assert [artifact.toolchain for artifact in built] == ["emulated"], built[0].notes


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("file", KERNELS, ids=lambda f: f.stem)
def test_a_kernel_runs_on_the_device_through_the_slim_headers(file: Path, run_kernel: Run) -> None:
    if file.stem == "43_cpp_only":
        pytest.skip("is for the CPU")
    built = run_kernel(file, "cuda", "cuda")
    toolchain = "stock" if file.stem in LEFT_TO_STOCK else "slim"
    assert [artifact.toolchain for artifact in built] == [toolchain], built[0].notes
