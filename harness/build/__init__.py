"""Build: from what a candidate asked of the compiler to an artifact in the cache."""

from harness.build.builder import Builder
from harness.build.cache import ArtifactCache, CacheSummary, default_root
from harness.build.lines import locate, to_candidate_lines
from harness.build.torch_layout import CudaToolkit, TorchLayout, cxx_compiler, find_toolkit, find_torch

__all__ = [
    "ArtifactCache",
    "Builder",
    "CacheSummary",
    "CudaToolkit",
    "TorchLayout",
    "cxx_compiler",
    "default_root",
    "find_toolkit",
    "find_torch",
    "locate",
    "to_candidate_lines",
]
