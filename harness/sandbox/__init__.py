"""Start, limit, deadline, kill; and say which layers hold::

with Zygote.start(preload=["harness.worker.serve"]) as zygote:
    with zygote.spawn_worker("harness.worker.serve:main", [fd], Policy()) as worker:
        ...                       # talk over fd
        end = worker.wait(5.0)    # None: still running; leaving the block kills it
"""

from harness.sandbox.client import Process, Trusted, Worker, Zygote
from harness.sandbox.descriptors import raise_limit
from harness.sandbox.freezer import Freezer, NotStopped, Used
from harness.sandbox.policy import AT_LEAST, RISING, Cause, Exit, Isolation, Least, Limits, Policy, Tier
from harness.sandbox.tool import Completed, Stop, bubblewrap, run_tool, tool_confinement
from harness.sandbox.zygote_messages import Confinement

__all__ = [
    "AT_LEAST",
    "RISING",
    "Cause",
    "Completed",
    "Confinement",
    "Exit",
    "Freezer",
    "Isolation",
    "Least",
    "Limits",
    "NotStopped",
    "Policy",
    "Process",
    "Stop",
    "Tier",
    "Trusted",
    "Used",
    "Worker",
    "Zygote",
    "bubblewrap",
    "raise_limit",
    "run_tool",
    "tool_confinement",
]
