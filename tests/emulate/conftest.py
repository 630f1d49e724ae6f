"""Kernels compiled once a session, without PyTorch's headers, and loaded by ctypes."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from harness.emulate import COMPILE_FLAGS, HEADER, INCLUDE_DIR, TRACE_FLAGS, rewrite

Compile = Callable[..., "subprocess.CompletedProcess[str]"]
KERNELS = Path(__file__).parent / "kernels"
TORCH_INCLUDE = Path(torch.__file__).parent / "include"


@pytest.fixture(scope="session")
def compile_emulated() -> Compile:
    """Rewrites and compiles a source to a shared object: `compile_emulated(source, output, *flags)`."""

    def compile_emulated(source: str, output: Path, *flags: str) -> "subprocess.CompletedProcess[str]":
        text = output.with_suffix(".cpp")
        text.write_text(f'#include "{HEADER}"\n#line 1 "candidate.cu"\n{rewrite(source).source}')
        shared = () if "-c" in flags else ("-shared",)
        command = ["g++", *shared, "-std=c++17", *COMPILE_FLAGS, "-I", str(INCLUDE_DIR), *flags, str(text)]
        return subprocess.run([*command, "-o", str(output)], capture_output=True, text=True, check=False)

    return compile_emulated


@pytest.fixture(scope="session")
def load(compile_emulated: Compile) -> Callable[..., ctypes.CDLL]:
    """The same, loaded."""

    def load(source: str, output: Path, *flags: str) -> ctypes.CDLL:
        result = compile_emulated(source, output, *flags)
        assert result.returncode == 0, result.stderr[:4000]
        return ctypes.CDLL(str(output))

    return load


@pytest.fixture(scope="session")
def load_watchable(compile_emulated: Compile) -> Callable[..., ctypes.CDLL]:
    """The same, with every access reported: compiled and linked apart, as no runtime of the sanitizer's is wanted."""

    def load_watchable(source: str, output: Path) -> ctypes.CDLL:
        compiled = output.with_suffix(".o")
        result = compile_emulated(source, compiled, *TRACE_FLAGS, "-c")
        assert result.returncode == 0, result.stderr[:4000]
        subprocess.run(["g++", "-shared", str(compiled), "-o", str(output)], check=True)
        return ctypes.CDLL(str(output))

    return load_watchable


@pytest.fixture(scope="session")
def basics(load: Callable[..., ctypes.CDLL], tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load((KERNELS / "basics.cu").read_text(), tmp_path_factory.mktemp("basics") / "basics.so")


@pytest.fixture(scope="session")
def halves(load: Callable[..., ctypes.CDLL], tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    output = tmp_path_factory.mktemp("halves") / "halves.so"
    return load((KERNELS / "halves.cu").read_text(), output, "-isystem", str(TORCH_INCLUDE))


@pytest.fixture(scope="session")
def faults(load: Callable[..., ctypes.CDLL], tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return load((KERNELS / "faults.cu").read_text(), tmp_path_factory.mktemp("faults") / "faults.so")


@pytest.fixture(scope="session")
def fault(faults: ctypes.CDLL) -> Callable[[str], str]:
    """What the launch NAME of `faults.cu` says went wrong; "" where nothing did."""

    def verdict(name: str) -> str:
        launcher = getattr(faults, name)
        launcher.restype = ctypes.c_char_p
        said = launcher()
        assert isinstance(said, bytes)
        return said.decode()

    return verdict
