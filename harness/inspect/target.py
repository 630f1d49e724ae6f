"""What runs under a tool: the worker, with memory of its own for every input. UNTRUSTED, like any worker.

Inputs of a judged call lie side by side in memory that the judge shares. Here each is copied into an allocation of its
own, so that a tool sees where it ends.
"""

from collections.abc import Callable
from typing import Any

import torch

from harness.transport import Channel
from harness.transport.values import TensorValue
from harness.transport.worker_messages import Done, Go, Ready
from harness.worker.serve import Server


def main(descriptor: int, tool: str) -> None:
    """Serve the peer of the descriptor until it hangs up; then the interpreter ends and the tool sums up."""
    with Channel.from_descriptor(descriptor) as channel:
        channel.send(Ready())
        {"initcheck": ReadServer, "ncu": ProfiledServer}.get(tool, TargetServer)(channel).run()


class TargetServer(Server):
    """A worker whose inputs and constructor arguments are allocations of their own, on its device."""

    def _tensor_in(self, arena: int | None) -> Callable[[TensorValue], torch.Tensor]:
        shared = super()._tensor_in(arena)

        def own(value: TensorValue) -> torch.Tensor:
            tensor = shared(value)
            return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=self._device).copy_(
                tensor
            )

        return own


class ReadServer(TargetServer):
    """For initcheck: it tells of memory that is read and was never written, so outputs must be read."""

    def _go(self, request: Go) -> Done:
        done = super()._go(request)
        for tensor in _tensors_in(self._outputs):
            tensor.cpu()
        return done


class ProfiledServer(TargetServer):
    """For Nsight Compute: one call to warm up, then the one that is profiled."""

    def _go(self, request: Go) -> Done:
        super()._go(request)
        runtime = torch.cuda.cudart()
        runtime.cudaProfilerStart()
        try:
            return super()._go(request)
        finally:
            runtime.cudaProfilerStop()


def _tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors_in(item)]
    return []
