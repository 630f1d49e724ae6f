"""CUDA for a CPU: sources rewritten by harness.emulate, then compiled by g++ as any other C++ of the candidate.

The first toolchain uses the slim facade, the second torch's own headers. Neither result says anything about time, so
the candidate's optimisation flags are dropped, and what it asked of nvcc is kept only where g++ knows it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from harness.compile.beyond import beyond_the_facade
from harness.compile.recipe import Extras, Plan, plan_build, split_flags
from harness.compile.slim import mentioned_headers, prepare_slim, slim_extras, unkept_promises
from harness.compile.slim_tool import slim_tool
from harness.compile.sources import SourceFile, candidate_texts, source_files
from harness.compile.toolchain import Refused, SteppedBack, Surroundings, Toolchain
from harness.emulate import COMPILE_FLAGS, HEADER, INCLUDE_DIR, OVER_TORCH, OWN_TYPES, TRACE_FLAGS, NotEmulated, rewrite
from harness.schema import BuildRequest

MOST_CHARACTERS = 1 << 20
"""Of all sources together: rewriting a token takes the controller 12 µs and 200 bytes, and hears of no deadline."""
_PREPROCESSOR = re.compile(r"-[DUI]\S")
_OPTIMISATION = re.compile(r"-O\w*$")
_OWN_TYPES = re.compile(r"\b(?:struct|union|class\s+\w+\s*(?:final\s*)?[:{]|(?:pair|tuple|array)\s*<)")
"""Types that may have 16 bytes and be aligned to 8, which `trace.h` cannot tell from float4."""
_CUDA_LIBRARY = re.compile(r"-l(?:cuda|cudart|cudart_static|cudadevrt|nvrtc)$|-L.*cuda")


def _plan_slim(request: BuildRequest, around: Surroundings) -> Plan:
    tool = slim_tool(around.machine, around.cache, around.on_status)
    if (beyond := beyond_the_facade(request, tool.visible)) is not None:
        raise SteppedBack(f"the source uses {beyond}")
    rewritten, notes = _rewritten(request)
    facade = slim_extras(tool, around)
    extras = replace(facade, first=(str(INCLUDE_DIR), *facade.first), cxx_flags=COMPILE_FLAGS)
    plan = plan_build(rewritten, _files(request, rewritten, around), around.machine, extras)
    # The emulation's own headers are written in terms of Half and BFloat16.
    headers = mentioned_headers("\n".join((*candidate_texts(rewritten), "c10::Half")), tool)
    files = {**plan.files, **headers}
    return replace(plan, files=files, notes=tuple(notes), refused_link=unkept_promises(around))


def _plan_stock(request: BuildRequest, around: Surroundings) -> Plan:
    rewritten, notes = _rewritten(request)
    extras = Extras(first=(str(INCLUDE_DIR),), cxx_flags=(*COMPILE_FLAGS, OVER_TORCH))
    plan = plan_build(rewritten, _files(request, rewritten, around), around.machine, extras)
    return replace(plan, notes=tuple(notes))


def _files(request: BuildRequest, rewritten: BuildRequest, around: Surroundings) -> Iterator[SourceFile]:
    """The files to compile, with the emulation's header on top of those that need it.

    They are watched, unless that is what AddressSanitizer does.
    """
    own_types = any(map(_OWN_TYPES.search, candidate_texts(request)))
    watched = (*TRACE_FLAGS, OWN_TYPES) if own_types else TRACE_FLAGS
    flags = () if around.machine.sanitizer_flags else watched
    for file in source_files(rewritten):
        needed = file.compiled and (file.language == "cuda" or "cuda_emulation" in file.text)
        yield replace(file, on_top=HEADER, flags=flags) if needed else file


def _rewritten(request: BuildRequest) -> tuple[BuildRequest, list[str]]:
    """The request with its sources made C++, and what was substituted. Raises Refused."""
    if sum(map(len, candidate_texts(request))) > MOST_CHARACTERS:
        detail = f"more than {MOST_CHARACTERS:,} characters in one build are not emulated on the CPU"
        raise Refused("not-emulated", detail, log=detail)
    notes: list[str] = []
    cpp = tuple(_rewrite(f"cpp_sources[{i}]", text, notes) for i, text in enumerate(request.cpp_sources))
    cuda = tuple(_rewrite(f"cuda_sources[{i}]", text, notes) for i, text in enumerate(request.cuda_sources))
    files = {name: _rewrite(name, text, notes) for name, text in request.files.items()}
    flags = {
        "extra_cflags": (*_kept(request.extra_cflags), *_preprocessor(request.extra_cuda_cflags)),
        "extra_cuda_cflags": (),
        "extra_ldflags": tuple(flag for flag in split_flags(request.extra_ldflags) if not _CUDA_LIBRARY.match(flag)),
    }
    return request.model_copy(update={"cpp_sources": cpp, "cuda_sources": cuda, "files": files, **flags}), notes


def _rewrite(label: str, text: str, notes: list[str]) -> str:
    try:
        done = rewrite(text)
    except NotEmulated as why:
        place = f"{label}:{why.line}"
        detail = f"{why.construct} is not emulated on the CPU"
        raise Refused("not-emulated", f"{place}: {detail}", log=f"{place}: error: {detail}") from why
    notes += [f"{label}: {substitution}" for substitution in done.substitutions]
    return done.source


def _kept(flags: Iterable[str]) -> list[str]:
    return [flag for flag in split_flags(flags) if not _OPTIMISATION.match(flag)]


def _preprocessor(flags: Iterable[str]) -> list[str]:
    return [flag for flag in split_flags(flags) if _PREPROCESSOR.match(flag)]


EMULATED = Toolchain(name="emulated", plan=_plan_slim, memory_bytes=1 << 30, prepare=prepare_slim)
EMULATED_STOCK = Toolchain(name="emulated-stock", plan=_plan_stock, memory_bytes=2 << 30)
