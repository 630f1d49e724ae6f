"""Flags of candidates that nobody timed: CUDA kernels that run emulated, from text to record."""

from collections.abc import Callable, Iterator

import pytest
from relu import submitted

from harness.catalog import text_problem
from harness.controller.evaluate import begin, examine, settle
from harness.controller.session import open_session
from harness.schema import Record
from harness.settings import Settings

# Outputs below a tenth: half's rounding error stays below KernelBench's 1e-4, and is most of what there is of it.
PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return 0.1 * torch.sigmoid(x)


def get_inputs():
    return [torch.rand(64, 33)]


def get_init_inputs():
    return []
"""
FLOAT = """
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = \"\"\"
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void squash_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.1f / (1.0f + expf(-x[i]));
}

torch::Tensor squash(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    squash_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
\"\"\"

extension = load_inline(
    name="squash",
    cpp_sources="torch::Tensor squash(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["squash"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.squash(x)
"""
HALF = FLOAT.replace(
    "0.1f / (1.0f + expf(-x[i]))", "__half2float(__hmul(__float2half(0.1f), __float2half(1.0f / (1.0f + expf(-x[i])))))"
)
PYTORCH = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return {}\n"


@pytest.fixture(scope="module")
def judged() -> Iterator[Callable[..., Record]]:
    with open_session("cpu", Settings(timing_s=0, tolerance="kernelbench", audit="none")) as session:

        def judge(source: str, **more: object) -> Record:
            settings = Settings.model_validate({**session.settings.model_dump(), **more})
            problem = text_problem(PROBLEM, name="squash")
            draft = begin(submitted(source), problem, session=session, settings=settings)
            examine(draft, session=session, on_phase=lambda name: None)
            return settle(draft, session=session, seat=session.seats[0], on_phase=lambda name: None).record

        yield judge


def test_half_arithmetic_that_passes_is_flagged_where_it_is_emulated_too(judged):
    record = judged(HALF)
    assert (record.device.kind, record.verdict.kind, record.timing) == ("cpu-emulated", "correct", None)
    (flag,) = (flag for flag in record.flags if flag.rule == "reduced-precision")
    assert "of arithmetic in fewer bits" in flag.detail


def test_half_arithmetic_is_rejected_where_that_was_asked_for(judged):
    verdict = judged(HALF, reject=("reduced-precision",)).verdict
    assert (verdict.kind, verdict.rule) == ("rejected", "reduced-precision")


def test_float_arithmetic_has_no_such_flag(judged):
    record = judged(FLOAT, reject=("reduced-precision",))
    assert (record.device.kind, record.verdict.kind) == ("cpu-emulated", "correct")
    assert "reduced-precision" not in {flag.rule for flag in record.flags}


def test_who_only_calls_pytorch_is_named_and_rejected_without_a_time_too(judged):
    source = PYTORCH.format("0.1 * torch.sigmoid(x.cuda())")
    record = judged(source, reject=("reduced-precision",))
    assert (record.device.kind, record.verdict.kind) == ("cpu-emulated", "correct")
    assert "no-custom-kernel" in {flag.rule for flag in record.flags}
    assert judged(source, reject=("no-custom-kernel",)).verdict.rule == "no-custom-kernel"


def test_a_wrong_answer_stays_wrong_whatever_rejects(judged):
    record = judged(PYTORCH.format("0.2 * torch.sigmoid(x.cuda())"), reject=("no-custom-kernel",))
    assert record.verdict.kind == "wrong"


def test_who_rejects_candidates_without_a_kernel_of_their_own_has_the_profiler_look_at_all():
    assert Settings(reject=("no-custom-kernel",)).traced == "always"
    assert Settings(reject=("reduced-precision",)).traced == "never"
    assert Settings(reject=("reduced-precision",), trace="faster").traced == "faster"
