"""TOOLCHAINS: for each kind of device, the toolchains to try, in order. The last one's word is final."""

from harness.compile.emulated import EMULATED, EMULATED_STOCK
from harness.compile.slim import SLIM
from harness.compile.stock import STOCK
from harness.compile.toolchain import Toolchain
from harness.schema import DeviceKind, ToolchainChoice

TOOLCHAINS: dict[DeviceKind, tuple[Toolchain, ...]] = {
    "cuda": (SLIM, STOCK),
    "cpu": (SLIM, STOCK),
    "cpu-emulated": (EMULATED, EMULATED_STOCK),
}


def toolchains_for(target: DeviceKind, choice: ToolchainChoice) -> tuple[Toolchain, ...]:
    """The toolchains to try: all of the target's, or its last alone where the user forces the stock one."""
    row = TOOLCHAINS[target]
    return row if choice == "auto" else row[-1:]
