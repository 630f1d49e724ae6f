"""TOOLCHAINS by name. A backend's row says which to try, in order; the last one's word is final."""

from harness.backends import BACKENDS
from harness.compile.emulated import EMULATED, EMULATED_STOCK
from harness.compile.slim import SLIM
from harness.compile.stock import STOCK
from harness.compile.toolchain import Toolchain
from harness.schema import DeviceKind, ToolchainChoice

TOOLCHAINS: dict[str, Toolchain] = {each.name: each for each in (SLIM, STOCK, EMULATED, EMULATED_STOCK)}


def toolchains_for(target: DeviceKind, choice: ToolchainChoice) -> tuple[Toolchain, ...]:
    """The toolchains to try: all of the target's, or its last alone where the user forces the stock one."""
    row = tuple(TOOLCHAINS[name] for name in BACKENDS[target].toolchains)
    return row if choice == "auto" else row[-1:]
