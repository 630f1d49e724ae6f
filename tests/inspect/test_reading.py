"""From a tool's output to what the record says of it."""

import time

import pytest

from harness.compile import to_candidate_lines
from harness.controller.inspection import without_folders
from harness.inspect import address_sanitizer, compute_sanitizer, nsight_compute, to_report
from harness.inspect.report import Findings
from harness.schema import BuildRequest

SOURCE = "\n".join(f"// line {number}" for number in range(1, 21))
CANDIDATE = f'import torch\nSOURCE = """\n{SOURCE}\n"""\n'
REQUEST = BuildRequest(name="k", cuda_sources=(f"\n{SOURCE}\n",), files={"src/k.cu": "int x;\n"})


def in_candidates_lines(log: str) -> str:
    """As the pipeline makes it: line n of this source is line n + 1 of the candidate."""
    return to_candidate_lines(without_folders(log, REQUEST), REQUEST, CANDIDATE)


# AddressSanitizer


def test_a_write_past_a_block_names_its_size_its_place_and_the_candidates_line(output):
    report = to_report("memcheck", address_sanitizer.read(output("address_sanitizer")))
    assert report.ran
    assert not report.clean
    assert report.summary == "heap-buffer-overflow: write of 4 bytes, 0 bytes to the right of 262144-byte block"
    assert report.lines == (11,), "the access itself: not the launch, not the allocation"


def test_a_wild_write_names_the_line_too(output):
    report = to_report("memcheck", address_sanitizer.read(output("address_sanitizer_segv")))
    assert report.summary == "SEGV: write at an address where there is no memory"
    assert report.lines == (10,)


def test_a_process_that_was_told_nothing_is_clean():
    assert to_report("memcheck", address_sanitizer.read("Emulating...\n")).clean


# compute-sanitizer


def test_memcheck_counts_its_findings_and_names_the_line(output):
    report = to_report("memcheck", compute_sanitizer.read(in_candidates_lines(output("memcheck"))))
    assert not report.clean
    assert report.lines == (8,)
    assert report.summary == (
        "3 findings, the first: Invalid __global__ write of size 4 bytes "
        "at relu_kernel(const float *, float *, int)+0x110 in candidate.py:8; Access to 0x7f2f4e040000 is out of bounds"
    )


def test_memchecks_older_form_is_read_as_well(output):
    report = to_report("memcheck", compute_sanitizer.read(in_candidates_lines(output("memcheck_older"))))
    assert report.lines == (13,)
    assert report.summary.startswith("256 findings, the first: Invalid __global__ read of size 16 bytes at 0xda0 in ")


def test_racecheck_names_both_accesses(output):
    report = to_report("racecheck", compute_sanitizer.read(in_candidates_lines(output("racecheck"))))
    assert not report.clean
    assert report.lines == (10, 12)
    assert report.summary.startswith("1 finding, the first: Error: Race reported between Write access at sum_kernel")


def test_initcheck_tells_of_outputs_that_were_never_written(output):
    report = to_report("initcheck", compute_sanitizer.read(in_candidates_lines(output("initcheck"))))
    assert not report.clean
    assert report.lines == (15,)
    assert report.summary.startswith("2 findings, the first: Host API memory access error")


def test_no_errors_are_clean_whatever_the_candidate_printed(output):
    findings = compute_sanitizer.read(output("memcheck_clean"))
    assert to_report("memcheck", findings).clean


def test_a_summary_that_the_candidate_printed_before_does_not_count(output):
    findings = compute_sanitizer.read("========= ERROR SUMMARY: 0 errors\n" + output("memcheck"))
    assert findings.count == 3


def test_a_tool_without_a_summary_has_no_result_and_says_why(output):
    log = output("not_supported")
    assert compute_sanitizer.read(log) is None
    assert compute_sanitizer.why_not(log).startswith("Device not supported")


# Nsight Compute


def test_the_longest_kernel_is_told_with_what_bounds_it(output):
    report = to_report("ncu", nsight_compute.read(output("ncu")))
    assert report.clean
    assert report.summary == (
        "2 kernels, 36.0 us; gelu_kernel 33.8 us: memory 92% and compute 34% of their peaks, occupancy 88%"
    )


def test_forbidden_counters_are_no_result_and_name_the_way_out(output):
    report = to_report("ncu", nsight_compute.read(output("ncu_forbidden")))
    assert not report.ran
    assert not report.clean
    assert "ERR_NVGPUCTRPERM" in report.summary
    assert "CAP_SYS_ADMIN" in report.summary


def test_no_profiled_kernel_is_no_result():
    log = "==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n==WARNING== No kernels were profiled.\n"
    assert nsight_compute.read(log) is None
    assert nsight_compute.why_not(log) == "Failed to initialize the profiler: LibraryNotLoaded"


# Lines


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("#0 0x1 in f() /cache/work/tmp1/emulated/cuda_sources[0]:4", "#0 0x1 in f() cuda_sources[0]:4"),
        ("at f()+0x10 in /w/src/k.cu:7", "at f()+0x10 in src/k.cu:7"),
        ("/usr/include/c++/12/vector:3", "/usr/include/c++/12/vector:3"),
        ("at f()+0x10 in k.cu:7", "at f()+0x10 in k.cu:7"),
    ],
)
def test_the_folder_of_a_build_is_left_out_of_a_place(said, meant):
    assert without_folders(said, REQUEST) == meant


def test_a_report_is_short_and_names_each_line_once(output):
    log = in_candidates_lines(output("memcheck")) * 3
    report = to_report("memcheck", compute_sanitizer.read(log.replace("relu_kernel", "x" * 2000)))
    assert len(report.summary) <= 500
    assert report.lines == (8,)


_DIGITS = "9" * 5000


def test_numbers_and_blanks_that_a_candidate_writes_into_the_log_of_a_tool_are_no_findings_and_cost_no_time():
    place = Findings(summary="", count=1, places=(f"candidate.py:{_DIGITS}", "candidate.py:7"))
    assert to_report("memcheck", place).lines == (7,)
    assert compute_sanitizer.read(f"========= ERROR SUMMARY: {_DIGITS} errors\n") is None
    heading = "  mine (1, 1, 1)x(1, 1, 1), Context 1, Stream 7, Device 0, CC 9.0\n"
    odd = f"    Duration  us  1.2.3\n    Duration  us  ,,\n    a{' ' * 100_000}b{' ' * 100_000}c d\n"
    assert nsight_compute.read(f"{heading}{odd}    Duration        us         4.5\n").summary.startswith(
        "1 kernel, 4.5 us"
    )


@pytest.mark.parametrize("piece", [",/", ",/k.cu", "/", "/k.cu:", "cuda_sources[0]"])
def test_a_log_of_nothing_but_beginnings_of_places_is_read_in_no_time(piece):
    started = time.process_time()
    assert without_folders(piece * 20_000, REQUEST) == piece * 20_000
    assert time.process_time() - started < 0.5
