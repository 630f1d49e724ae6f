"""Emulation: how the emulated kernels of this worker are run, and what the modules tell of a kernel that failed.

A module is one that was built against `harness/emulate`; it exports a few functions of C (`cuda_emulation/trace.h`).
They are the candidate's to overwrite, as everything of this process is: what comes of it is a better explanation of
its own failure, or none.
"""

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from harness.schema.build import Artifact, BuildRequest
from harness.transport.worker_messages import Order, Raised
from harness.worker.lines import place_in_candidate

_KINDS = {"alternating": 0, "ascending": 1, "descending": 2, "by-warps": 3, "by-threads": 4}
_WATCHES = {"nothing": 0, "faults": 1, "strictly": 2}
_FAULTS: dict[int, Any] = {1: "data-race", 2: "out-of-bounds"}
_A_FAULTS_WORDS = "emulated CUDA "
_INPUTS_RED_ZONE = 512
"""Bytes around an input that belong to no tensor: half of what the judge lays between two of them."""


class _Zone(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("begin", "end", "first", "limit")]


class Emulation:
    """The emulated modules of one candidate."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._built: list[tuple[BuildRequest, Artifact]] = []
        self._allocator: Any = None
        self._zones: Any = None

    def add(self, request: BuildRequest, artifact: Artifact) -> None:
        """Remember a module that the candidate is about to load. Tensors made from now on have red zones."""
        self._built.append((request, artifact))
        if artifact.library is not None and self._allocator is None:
            self._guard(ctypes.CDLL(artifact.library))

    def know_inputs(self, inputs: Sequence[torch.Tensor]) -> None:
        """The tensors that lie in the judge's memory, each with red zones around it."""
        zone = _INPUTS_RED_ZONE
        found = [_Zone(first, end, first - zone, end + zone) for first, end in map(span_of, inputs)]
        self._zones = (_Zone * len(found))(*found)

    def run_in(self, order: Order | None) -> None:
        """Have launches to come run in this order; None: as they do where no order is asked for."""
        order = order or Order(kind="alternating")
        for _, module in self._modules():
            if self._allocator is None and hasattr(module, "cuda_emulation_guard_tensors"):
                self._guard(module)
            zone_of = None
            if self._allocator is not None:
                zone_of = ctypes.cast(self._allocator.cuda_emulation_zone_of, ctypes.c_void_p)
                if self._zones is not None:
                    self._allocator.cuda_emulation_know_inputs(self._zones, ctypes.c_size_t(len(self._zones)))
            seed = ctypes.c_uint64(order.seed)
            module.cuda_emulation_schedule(_KINDS[order.kind], seed, _WATCHES[order.watch], zone_of)

    def last_error(self) -> int:
        """The number of CUDA's last error of this thread that nobody looked at, 0 where there is none."""
        asked = (module.cuda_emulation_last_error() for _, module in self._modules())
        return next((error for error in asked if error > 0), 0)

    def explained(self, raised: Raised) -> Raised:
        """What was raised, with the kind of fault and the candidate's line where a kernel of these ended in one."""
        if not raised.message.startswith(_A_FAULTS_WORDS):
            return raised
        for (request, artifact), module in self._modules():
            places = (ctypes.c_uint32 * 2)()
            kind = module.cuda_emulation_fault(places)
            if not places[0]:
                continue
            at = [
                place_in_candidate(Path(artifact.path), place, request, self._source) if place else None
                for place in places
            ]
            where = f" ({at[0]})" if at[0] else ""
            where = f" ({at[0]}, and {at[1]})" if at[0] and at[1] and at[1] != at[0] else where
            first, *rest = raised.message.split("\n")
            message = "\n".join((first + where, *rest))
            return raised.model_copy(update={"kind": _FAULTS.get(kind, raised.kind), "message": message[:100_000]})
        return raised

    def _guard(self, library: Any) -> None:
        # AddressSanitizer has red zones of its own, and does not see what is done in others.
        if hasattr(library, "cuda_emulation_guard_tensors") and not hasattr(ctypes.CDLL(None), "__asan_init"):
            library.cuda_emulation_guard_tensors(ctypes.c_bool(True))
            self._allocator = library

    def _modules(self) -> list[tuple[tuple[BuildRequest, Artifact], Any]]:
        """Those that are loaded by now and were built to be watched or not, but emulated."""
        found = []
        for built in self._built:
            try:
                module = ctypes.CDLL(built[1].path, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
            except OSError:  # the candidate has not loaded it
                continue
            if hasattr(module, "cuda_emulation_schedule"):
                found.append((built, module))
        return found


def span_of(value: torch.Tensor) -> tuple[int, int]:
    """The addresses of a tensor's first element and of the end of its last."""
    first = value.data_ptr()
    if value.numel() == 0:
        return first, first
    last = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
    return first, first + (last + 1) * value.element_size()
