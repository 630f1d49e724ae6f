"""The slim toolchain: the stock compilers and flags over a facade of torch's headers, and a prebuilt library behind it.

Reading torch's headers is nineteen twentieths of a stock build. Here the source sees classes of the same names and
layout, and those of torch's own operator declarations whose names occur in it. Whatever is missing is a compile error,
and a compile error here means only that the next toolchain is asked.
"""

import contextlib
import re
from dataclasses import replace

from harness.compile.beyond import WRITTEN, beyond_the_facade
from harness.compile.parts import prelude_of
from harness.compile.recipe import Extras, Plan, plan_build
from harness.compile.slim_tool import SlimTool, slim_tool
from harness.compile.sources import candidate_texts, source_files
from harness.compile.toolchain import SteppedBack, Surroundings, Toolchain
from harness.schema import BuildRequest

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def _plan(request: BuildRequest, around: Surroundings) -> Plan:
    tool = slim_tool(around.machine, around.cache, around.on_status)
    if (beyond := beyond_the_facade(request, tool.visible)) is not None:
        raise SteppedBack(f"the source uses {beyond}")
    plan = plan_build(request, source_files(request), around.machine, slim_extras(tool, around))
    headers = mentioned_headers("\n".join(candidate_texts(request)), tool)
    return replace(plan, files={**plan.files, **headers}, refused_link=unkept_promises(around))


def unkept_promises(around: Surroundings) -> str | None:
    """What the linker says where the facade declared something that no library has."""
    # CUDA code where torch is a CPU build: it can be compiled, to look at it, but not loaded.
    if around.machine.nvcc and around.machine.layout.cuda is None:
        return None
    before = r"(?:[^('`]*[\s*&])?"  # "typeinfo for ", "vtable for ", what a function template returns
    kept = r"(?!TensorBase::\w*data_ptr<)"  # declared just as torch does: undefined over its headers too
    return rf"undefined reference to [`']{before}(?:at|c10|caffe2|torch|slim|pybind11)::{kept}"


def slim_extras(tool: SlimTool, around: Surroundings) -> Extras:
    """The facade's include directories, that of what is written for each source first, and the link with libslim."""
    linked = (
        str(tool.library),
        "-Wl,-rpath,$ORIGIN",  # libslim lies beside every module, wherever that is
        f"-Wl,--version-script={tool.version_script}",
        # Names that are missing are told, and only those that the facade promised make the attempt fail: stock finds
        # the others (cuBLAS's, through libtorch_cuda) when the module is loaded, or reports them then.
        *("-Wl,--no-undefined", "-Wl,--warn-unresolved-symbols"),
    )
    return Extras(first=(WRITTEN, str(tool.include)), linked=linked, library=tool.library)


def mentioned_headers(text: str, tool: SlimTool) -> dict[str, str]:
    """The headers written for one source: what it mentions of the standard library, the facade and ATen."""
    own = set(_IDENTIFIER.findall(text))
    names = sorted(own)
    return {
        f"{WRITTEN}/slim_prelude.h": prelude_of(text, own),
        f"{WRITTEN}/slim_methods.inc": tool.operators.methods_text(names),
        f"{WRITTEN}/slim_operators.inc": tool.operators.operators_text(names),
        f"{WRITTEN}/slim_factories.inc": tool.operators.factories_text(names),
    }


def prepare_slim(around: Surroundings) -> None:
    """Make the tool now. Where it cannot be made, planning says so."""
    with contextlib.suppress(SteppedBack):
        slim_tool(around.machine, around.cache, around.on_status)


SLIM = Toolchain(name="slim", plan=_plan, memory_bytes=1 << 30, prepare=prepare_slim)
