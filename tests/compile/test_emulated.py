"""The emulated build over torch's own headers, whose word on an emulated candidate is final."""

import subprocess

import pytest

from harness.compile import ArtifactCache, cxx_compiler, find_torch
from harness.compile.emulated import EMULATED, EMULATED_STOCK, MOST_CHARACTERS
from harness.compile.recipe import Machine
from harness.compile.toolchain import Refused, Surroundings, Toolchain
from harness.emulate import COMPILE_FLAGS, HEADER, INCLUDE_DIR, OVER_TORCH
from harness.schema import BuildRequest


def test_it_is_told_that_torch_declares_some_of_it_itself(shared_cache: ArtifactCache) -> None:
    machine = Machine(target="cpu-emulated", layout=find_torch(), cxx=cxx_compiler())
    around = Surroundings(machine=machine, cache=shared_cache, on_status=lambda text: None)
    plan = EMULATED_STOCK.plan(BuildRequest(name="f", cpp_sources=("",), cuda_sources=("",)), around)
    assert all(OVER_TORCH in call for call in plan.compile)


@pytest.mark.parametrize(("flags", "declared"), [((OVER_TORCH,), True), ((), False)], ids=["torch's", "the facade's"])
def test_what_torch_declares_for_cuda_compilers_alone_is_declared_where_the_facade_does_not(
    flags: tuple[str, ...], declared: bool
) -> None:
    source = f'#include "{HEADER}"\nat::RestrictPtrTraits<float>::PtrType p;\n'
    command = [cxx_compiler(), "-std=c++17", "-fsyntax-only", f"-I{INCLUDE_DIR}", *COMPILE_FLAGS, *flags, "-xc++", "-"]
    run = subprocess.run(command, input=source, capture_output=True, text=True)
    assert (run.returncode == 0) == declared, run.stderr


@pytest.mark.parametrize("toolchain", [EMULATED, EMULATED_STOCK], ids=["slim", "stock"])
def test_more_text_than_is_rewritten_in_some_seconds_is_refused_unread(
    toolchain: Toolchain, shared_cache: ArtifactCache
) -> None:
    machine = Machine(target="cpu-emulated", layout=find_torch(), cxx=cxx_compiler())
    around = Surroundings(machine=machine, cache=shared_cache, on_status=lambda text: None)
    request = BuildRequest(name="f", cuda_sources=("//" + "x" * MOST_CHARACTERS,))
    with pytest.raises(Refused, match="more than 1,048,576 characters"):
        toolchain.plan(request, around)
