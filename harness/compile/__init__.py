"""Build: from what a candidate asked of the compiler to an artifact in the cache."""

from harness.compile.builder import Builder, FirstTry
from harness.compile.cache import ArtifactCache, CacheSummary
from harness.compile.lines import locate, to_candidate_lines
from harness.compile.torch_layout import CudaToolkit, TorchLayout, cxx_compiler, find_toolkit, find_torch
from harness.compile.waiting import GoOn, endless

__all__ = [
    "ArtifactCache",
    "Builder",
    "CacheSummary",
    "CudaToolkit",
    "FirstTry",
    "GoOn",
    "TorchLayout",
    "cxx_compiler",
    "endless",
    "find_toolkit",
    "find_torch",
    "locate",
    "to_candidate_lines",
]
