"""What a GPU says of a launch that it refuses and of memory of the host, said without one, from text to record."""

from collections.abc import Callable, Iterator

import pytest
from relu import submitted

from harness.catalog import text_problem
from harness.controller.evaluate import begin, examine, settle
from harness.controller.session import open_session
from harness.schema import Record
from harness.settings import Settings

PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * torch.arange(33, device=x.device)


def get_inputs():
    return [torch.rand(64, 33)]


def get_init_inputs():
    return []
"""
CANDIDATE = """
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = \"\"\"
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <numeric>

__global__ void scaled_kernel(const float* x, const float* by, float* y, int columns, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * by[i % columns];
}

torch::Tensor scaled(torch::Tensor x) {
    int n = x.numel(), columns = x.size(1), threads = 256;
    BODY
    return y;
}
\"\"\"

extension = load_inline(
    name="scaled", cpp_sources="torch::Tensor scaled(torch::Tensor x);", cuda_sources=SOURCE, functions=["scaled"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.scaled(x)
"""
BY = "auto by = torch::arange(columns, x.options());"
Y = "auto y = torch::empty_like(x);"
VECTOR = "std::vector<float> by(columns); std::iota(by.begin(), by.end(), 0.f);"
CHECK = "C10_CUDA_KERNEL_LAUNCH_CHECK();"


def launch(by: str = "by.data_ptr<float>()") -> str:
    arguments = f"x.data_ptr<float>(), {by}, y.data_ptr<float>(), columns, n"
    return f"scaled_kernel<<<(n + threads - 1) / threads, threads>>>({arguments});"


@pytest.fixture(scope="module")
def judged() -> Iterator[Callable[[str], Record]]:
    with open_session("cpu", Settings(timing="none", audit="none")) as session:

        def judge(body: str) -> Record:
            problem = text_problem(PROBLEM, name="scaled")
            source = CANDIDATE.replace("BODY", body)
            draft = begin(submitted(source), problem, session=session, settings=session.settings)
            examine(draft, session=session, on_phase=lambda name: None)
            record = settle(draft, session=session, seat=session.seats[0], on_phase=lambda name: None).record
            assert record.device.kind == "cpu-emulated"
            return record

        yield judge


def test_a_launch_that_is_refused_unnoticed_leaves_wrong_values_and_cuda_s_word(judged):
    verdict = judged(f"{BY} {Y} threads = 2048; {launch()}").verdict
    assert (verdict.kind, verdict.unnoticed) == ("wrong", "invalid argument")


def test_a_launch_that_is_refused_and_looked_at_fails_with_the_reason(judged):
    verdict = judged(f"{BY} {Y} threads = 2048; {launch()} {CHECK}").verdict
    assert (verdict.kind, verdict.reason) == ("failed", "exception")
    assert "a block may have at most 1024 threads" in verdict.detail


def test_who_looks_at_the_error_and_launches_otherwise_is_right(judged):
    again = f"if (cudaGetLastError() != cudaSuccess) {{ threads = 1024; {launch()} {CHECK} }}"
    assert judged(f"{BY} {Y} threads = 2048; {launch()} {again}").verdict.kind == "correct"


@pytest.mark.parametrize(
    "body",
    [
        f"{BY} auto y = torch::empty({{x.size(0), columns}}); {launch()}",
        f"auto by = torch::arange(columns, torch::kFloat32); {Y} {launch()}",
        f"{VECTOR} {Y} {launch('by.data()')}",
        f"float by[64]; std::iota(by, by + 64, 0.f); {Y} {launch('by')}",
    ],
    ids=["output", "tensor", "vector", "array"],
)
def test_a_kernel_that_touches_memory_of_the_host_fails(judged, body):
    verdict = judged(body).verdict
    assert (verdict.kind, verdict.reason) == ("failed", "exception")
    assert "memory of the host" in verdict.detail
    assert "(candidate.py:12)" in verdict.detail


@pytest.mark.parametrize(
    "body",
    [
        f"{BY} auto y = torch::zeros({{x.size(0), columns}}, x.options()); {launch()}",
        f"auto by = torch::arange(columns, torch::kFloat32).to(x.device()); {Y} {launch()}",
        f"auto by = torch::arange(columns, torch::kFloat32); by = by.cuda(); {Y} {launch()}",
        f"{VECTOR} {Y} auto moved = torch::from_blob(by.data(), {{columns}}).to(x.device()).clone(); "
        + launch("moved.data_ptr<float>()"),
        f"{VECTOR} {Y} float* moved; cudaMalloc(&moved, columns * 4);"
        f"cudaMemcpy(moved, by.data(), columns * 4, cudaMemcpyHostToDevice); {launch('moved')} cudaFree(moved);",
        f"auto host = torch::zeros({{2}}); host.fill_(1); {BY} {Y} {launch()}",
    ],
    ids=["zeros", "to", "cuda", "from-blob", "copied", "unused"],
)
def test_a_kernel_that_touches_what_was_moved_to_the_device_is_right(judged, body):
    assert judged(body).verdict.kind == "correct"
