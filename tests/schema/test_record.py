"""What a record says of itself."""

import pytest

from harness.schema import BuildSummary, Failed
from harness.schema.base import MOST_NOTES
from harness.schema.build import BuildFailure
from harness.schema.record import SandboxReport


@pytest.mark.parametrize(
    ("missing", "weakened"),
    [
        ((), False),
        (("cgroup: /x is not delegated to us",), False),
        (("uid: only root can give one", "cgroup: /x is not delegated to us"), True),
    ],
)
def test_only_a_layer_that_nothing_stands_in_for_weakens(missing: tuple[str, ...], weakened: bool) -> None:
    assert SandboxReport(missing=missing).weakened == weakened


def test_what_a_candidate_had_said_of_its_builds_is_cut_in_failures_and_records() -> None:
    long = "x" * 20_000_000
    build = BuildSummary(name=long, toolchain="stock", cached=False, seconds=0, cpu_seconds=0, notes=(long, "short"))
    failure = BuildFailure(reason="compile", detail=long, log="", toolchain="stock")
    failed = Failed(stage="build", reason="compile", detail=long)
    assert all(len(model.model_dump_json()) < 10_000 for model in (build, failure, failed))
    assert build.notes[1] == "short"
    assert BuildSummary.model_validate_json(build.model_dump_json()) == build


def test_of_a_hundred_thousand_sentences_about_a_build_a_record_keeps_the_first() -> None:
    many = tuple(f"cuda_sources[0]: k{number}<<<...>>> run on the CPU (line 1)" for number in range(100_000))
    build = BuildSummary(name="many", toolchain="emulated", cached=False, seconds=0, cpu_seconds=0, notes=many)
    assert build.notes[0] == many[0]
    assert build.notes[-2:] == (many[MOST_NOTES - 2], f"… and {100_000 - MOST_NOTES + 1} more")
    assert len(build.notes) == MOST_NOTES
    assert BuildSummary.model_validate_json(build.model_dump_json()) == build
