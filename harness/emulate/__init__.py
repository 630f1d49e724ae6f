"""CUDA on the CPU, for correctness only: the rewrite of a source, and the headers that it compiles against."""

from harness.emulate.draft import NotEmulated
from harness.emulate.rewrite import Rewritten, rewrite
from harness.emulate.toolchain import (
    ADDRESS_SANITIZER_FLAGS,
    COMPILE_FLAGS,
    HEADER,
    INCLUDE_DIR,
    OVER_TORCH,
    OWN_TYPES,
    TRACE_FLAGS,
)

__all__ = [
    "ADDRESS_SANITIZER_FLAGS",
    "COMPILE_FLAGS",
    "HEADER",
    "INCLUDE_DIR",
    "OVER_TORCH",
    "OWN_TYPES",
    "TRACE_FLAGS",
    "NotEmulated",
    "Rewritten",
    "rewrite",
]
