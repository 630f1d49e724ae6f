"""Tools on demand: compute-sanitizer, Nsight Compute, and AddressSanitizer where there is no GPU.

A tool runs the candidate once more, in a new process and confined like any worker. Its output explains and decides
nothing: the candidate shares that process and may write what it likes into it.
"""

from harness.inspect.report import Findings, to_report
from harness.inspect.tools import Invocation, Tool, find_tool, require_tools, unsupported

__all__ = ["Findings", "Invocation", "Tool", "find_tool", "require_tools", "to_report", "unsupported"]
