"""The stock toolchain: what torch's own `load_inline` would run, without torch and without ninja."""

from harness.compile.recipe import Plan, plan_build
from harness.compile.sources import source_files
from harness.compile.toolchain import Surroundings, Toolchain
from harness.schema import BuildRequest


def _plan(request: BuildRequest, around: Surroundings) -> Plan:
    return plan_build(request, source_files(request), around.machine)


STOCK = Toolchain(name="stock", plan=_plan, memory_bytes=4 << 30)
