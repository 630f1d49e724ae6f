"""Where jobs run: two stages, the first on threads of the CPU, the second on one device each."""

from harness.executor.local import run

__all__ = ["run"]
