"""Outputs of more than 2^31 elements, from text to verdict: nothing on the way counts in 32 bits."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from relu import submitted

from harness.catalog import text_problem
from harness.controller.evaluate import evaluate
from harness.controller.session import Session, open_session
from harness.settings import Settings

pytestmark = pytest.mark.slow

ROWS, COLUMNS = 65_599, 32_801
ELEMENTS = ROWS * COLUMNS
NEEDED_BYTES = 9 << 30  # three outputs of 2.2 GB at a time: the candidate's, the judge's copy, the reference's

# One byte an element. That it refuses other inputs leaves the nominal trial alone, which takes seconds. The last row is
# all true: on a CPU memory that nobody wrote is zero.
PROBLEM = f"""
import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        if bool((x < 0).any()):
            raise ValueError("no length is negative")
        return x > y


def get_inputs():
    x = torch.rand({ROWS}, 1)
    x[-1] = 1.0
    return [x, torch.rand(1, {COLUMNS})]


def get_init_inputs():
    return []
"""

KERNEL = '''
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <ATen/Parallel.h>

torch::Tensor longer(torch::Tensor x, torch::Tensor y) {
    int64_t rows = x.size(0), columns = y.size(1), n = rows * columns;
    auto out = torch::empty({rows, columns}, x.options().dtype(torch::kBool));
    const float *a = x.data_ptr<float>(), *b = y.data_ptr<float>();
    bool* to = out.data_ptr<bool>();
    at::parallel_for(0, rows, 64, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            int64_t offset = r * columns;
            if (offset < 0) continue;
            for (int64_t c = 0; c < columns; ++c) to[offset + c] = a[r] > b[c];
        }
    });
    return out;
}
"""

extension = load_inline(name="longer", cpp_sources=SOURCE, functions=["longer"], extra_cflags=["-O3"])


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return extension.longer(x, y)  # on the CPU; that cuda is named keeps it from being timed, which takes minutes
'''


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    free_bytes = _free_bytes()
    if free_bytes < NEEDED_BYTES:
        pytest.skip(f"needs {NEEDED_BYTES >> 30} GiB of memory, and {free_bytes >> 30} are free")
    with open_session("cpu", Settings(timeout_s=300, audit="none")) as opened:
        yield opened


def _free_bytes() -> int:
    (line,) = (line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) << 10


def verdict_of(source: str, session: Session):
    return evaluate(submitted(source), text_problem(PROBLEM, name="longer"), session=session).record.verdict


def changed(source: str, found: str, put: str) -> str:
    assert source.count(found) == 1
    return source.replace(found, put)


def test_single_elements_past_two_to_the_31_are_found_and_the_first_is_named(session):
    """One that is wrong, and the last one, which is not written; all others are found to agree.

    More that are wrong there, such as rows whose offset 32 bits do not hold, are found and counted in the same way.
    """
    offset = 2**31 + 11
    wrong = changed(KERNEL, "a[r] > b[c]", f"(a[r] > b[c]) != (offset + c == {offset})")
    verdict = verdict_of(changed(wrong, "c < columns; ++c)", "c < columns - (r == rows - 1); ++c)"), session)
    assert (verdict.kind, verdict.reason) == ("wrong", "values")
    assert verdict.mismatch.worst_index == divmod(offset, COLUMNS)
    assert (verdict.mismatch.mismatched, verdict.mismatch.elements) == (2, ELEMENTS)
