"""CUDA emulated on the CPU: correctness at a reduced batch, labelled as emulated everywhere, and never a time."""

from harness.backends.backend import Backend
from harness.backends.cpu import hide_gpus, one_without_handle, open_cpu
from harness.schema import EMULATED

BACKEND = Backend(
    name=EMULATED,
    title="CUDA emulated on a CPU",
    find=one_without_handle,
    visibility=hide_gpus,
    open=open_cpu,
    toolchains=("emulated", "emulated-stock"),
    absent="there is no CPU",
    selectable=False,
    numbered=False,
    emulates=True,
)
