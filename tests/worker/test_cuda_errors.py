"""CUDA's account of calls that failed and that nobody looked at."""

import ctypes

import pytest
import torch

from harness.worker.cuda_errors import last_error_of_cuda


def test_without_cuda_s_runtime_nothing_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    assert last_error_of_cuda()() == 0


def test_the_runtime_that_torch_has_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Runtime:
        class cudaPeekAtLastError:  # noqa: N801  # CUDA's own name
            def __new__(cls) -> int:  # type: ignore[misc]
                return 9

    asked: list[str] = []
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: asked.append(name) or Runtime)
    assert last_error_of_cuda()() == 9
    assert asked == ["libcudart.so.13"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_launch_that_failed_is_seen_until_somebody_looks() -> None:
    torch.zeros(1, device="cuda")
    failed = last_error_of_cuda()
    assert failed() == 0
    runtime = ctypes.CDLL(f"libcudart.so.{(torch.version.cuda or '').split('.')[0]}")
    runtime.cudaFuncSetAttribute(None, 0, 0)
    assert failed() != 0
    runtime.cudaGetLastError()
    assert failed() == 0
