"""Wrong kernels end in a sentence that says what is wrong: never in a hang, never in the end of the process."""

import ctypes
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import harness.emulate

Fault = Callable[[str], str]
TRAPS = pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 traps a division by zero")


@pytest.mark.parametrize(
    ("launch", "says"),
    [
        ("block_of_2048", r"refused the launch nothing<<<\(1,1,1\), \(2048,1,1\), 0>>>.*at most 1024 threads"),
        ("deep_block", r"at most 64 deep in z"),
        ("empty_grid", r"the grid has no blocks"),
        ("negative_grid", r"\(4294967295,1,1\).*at most 2147483647 x 65535 x 65535 blocks"),
        ("wide_grid", r"at most 2147483647 x 65535 x 65535 blocks"),
        ("shared_without_permission", r"more than 49152 bytes.*need cudaFuncSetAttribute"),
        ("shared_beyond_the_device", r"at most 232448 bytes of dynamic shared memory"),
    ],
)
def test_who_looks_after_a_launch_that_a_gpu_refuses_is_told_its_configuration(
    fault: Fault, launch: str, says: str
) -> None:
    assert re.search(says, fault(launch))
    assert re.search(r"\(cudaErrorInvalid(Configuration|Value); nothing ran\)$", fault(launch))


@pytest.mark.parametrize(("threads", "error"), [(1024, 0), (2048, 1), (0, 9)])
def test_a_refused_launch_runs_nothing_and_leaves_an_error_until_somebody_looks(
    faults: ctypes.CDLL, threads: int, error: int
) -> None:
    found = (ctypes.c_int * 6)()
    faults.unnoticed(found, threads)
    ran = 0 if error else threads
    assert list(found) == [ran, 1, error, 0, error, 0]


def test_an_error_that_nobody_looked_at_is_the_worker_s_to_ask_for(faults: ctypes.CDLL) -> None:
    faults.leaves_an_error()
    assert faults.cuda_emulation_last_error() == 9
    assert faults.cuda_emulation_last_error() == 9
    faults.unnoticed((ctypes.c_int * 6)(), 32)
    assert faults.cuda_emulation_last_error() == 0


@pytest.mark.parametrize("launch", ["looked_at_before", "warned_of"])
def test_an_error_that_was_looked_at_is_gone(fault: Fault, launch: str) -> None:
    assert fault(launch) == ""


def test_an_error_outlives_later_launches(fault: Fault) -> None:
    assert "refused the launch nothing<<<(1,1,1), (2048,1,1), 0>>>" in fault("followed_by_another")


def test_a_call_that_failed_unnoticed_is_found_by_the_next_check(fault: Fault) -> None:
    assert fault("attribute_beyond_the_device").startswith("CUDA error (emulated): invalid argument from ")


def test_a_divergent_barrier_is_a_deadlock_with_counts(fault: Fault) -> None:
    said = fault("divergent")
    assert re.match(r"emulated CUDA kernel divergent_barrier, block \(\d,\d,0\): deadlock: ", said)
    assert "of 64 threads 16 wait at __syncthreads, 16 wait in __syncwarp" in said
    assert "32 exited" in said


@pytest.mark.parametrize(
    ("launch", "says"),
    [
        ("mixed", r"lanes of one warp meet in different operations: __shfl_sync and __ballot_sync"),
        ("mask_without_caller", r"the mask 0x00000001 does not name the calling lane \d+"),
        ("null_write", r"kernel writes_far, block \(0,0,0\), thread \(0,0,0\): illegal memory access through a null"),
        ("far_write", r"illegal memory access"),
        ("impossible_write", r"illegal memory access"),
        ("past_cuda_malloc", r"illegal memory access at address 0x"),
        ("past_static_shared", r"out-of-bounds access of a __shared__ variable of 128 bytes, 128 bytes from its start"),
        ("past_dynamic_shared", r"the launch asked for 128 bytes, this is byte 128"),
        ("forgotten_dynamic_shared", r"the launch asked for 0 bytes, this is byte 0"),
        ("static_shared_beyond_48k", r"uses too much shared data: 65536 bytes"),
        ("stack_overflow", r"stack overflow: more than 256 KiB"),
        ("trap", r"thread \(5,0,0\): __trap\(\)"),
        ("assertion", r"assertion failed: threadIdx.x < n && \"too many threads\" \(line \d+\)"),
        pytest.param("division_by_zero", r"integer division by zero", marks=TRAPS),
        ("exception", r"kernel throws, block \(0,0,0\), thread \(0,0,0\): from the kernel"),
    ],
)
def test_a_fault_names_kernel_and_cause(fault: Fault, launch: str, says: str) -> None:
    said = fault(launch)
    assert said.startswith("emulated CUDA kernel ")
    assert re.search(says, said)


@pytest.mark.parametrize("launch", ["within_static_shared", "within_dynamic_shared", "assertion_holds"])
def test_what_stays_within_bounds_is_no_fault(fault: Fault, launch: str) -> None:
    assert fault(launch) == ""


def test_after_a_fault_the_next_launch_is_as_if_nothing_had_happened(fault: Fault) -> None:
    for _ in range(3):
        assert "deadlock" in fault("divergent")
        assert fault("within_static_shared") == ""
        assert "stack overflow" in fault("stack_overflow")
        assert fault("within_dynamic_shared") == ""


def test_each_of_two_modules_reports_its_own_faults(faults: ctypes.CDLL, tmp_path: Path) -> None:
    copies = [ctypes.CDLL(shutil.copy(faults._name, tmp_path / f"{i}.so")) for i in range(2)]
    for _ in range(2):
        for copy in copies:
            for launch, says in (("far_write", b"illegal memory access"), ("divergent", b"deadlock")):
                launcher = getattr(copy, launch)
                launcher.restype = ctypes.c_char_p
                assert says in launcher()


def test_an_assertion_in_a_source_without_kernels_needs_nothing_of_the_runtime(tmp_path: Path) -> None:
    """PyTorch's headers assert, and a file that binds functions has none of what fails a launch."""
    source, library = tmp_path / "host.cpp", tmp_path / "host.so"
    source.write_text('#include <assert.h>\nextern "C" int one(int n) { assert(n == 1); return n; }\n')
    include = Path(harness.emulate.__file__).parent / "include"
    command = ["g++", "-shared", "-fPIC", "-Wl,--no-undefined", f"-I{include}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    assert ctypes.CDLL(str(library)).one(1) == 1


def test_large_dynamic_shared_memory_can_be_asked_for(fault: Fault) -> None:
    # Last in the file: the permission is the process's, and the refusal above must come before it.
    assert fault("shared_with_permission") == ""
