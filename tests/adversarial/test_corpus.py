"""The corpus is as large as it says, covers what docs/security.md lists, and the page's table is the committed one."""

import json
import re
from pathlib import Path

import pytest
from cheats import document, stopped_by
from corpus import Entry, read_corpus

from harness.intake import extract, read_submission, screen
from harness.schema import Correct, Failed, Rejected, Wrong

ROOT = Path(__file__).resolve().parents[2]
KINDS, PAGE = (ROOT / "docs" / f"{name}.md" for name in ("security", "corpus"))
CORPUS = read_corpus()


def test_there_are_sixty_cheats_and_twenty_five_honest_controls():
    assert sum(entry.path.parent.name == "cheats" for entry in CORPUS) >= 60
    assert sum(entry.threat == "control" for entry in CORPUS) >= 25
    assert {entry.path.parent.name for entry in CORPUS if entry.threat == "control"} == {"controls"}


def test_every_way_to_cheat_that_the_page_lists_has_a_file_and_no_other():
    listed = set(re.findall(r"^\| ([A-D]\d+) \|", KINDS.read_text(), re.MULTILINE))
    assert listed == {entry.threat for entry in CORPUS} - {"", "control"}


def test_a_cheat_that_may_be_correct_for_the_sake_of_time_has_an_honest_twin():
    for entry in CORPUS:
        timed = entry.threat.startswith("A") and "correct" in map(str, entry.expected_on_gpu)
        assert not timed or entry.twin, entry.name


@pytest.mark.parametrize("entry", [one for one in CORPUS if one.threat == "control"], ids=lambda one: one.name)
def test_screening_rejects_no_control(entry):
    candidate = extract(read_submission(entry.path)).outcome
    assert [flag.rule for flag in screen(candidate) if flag.severity == "reject"] == []


def test_screening_sees_a_cache_by_inputs():
    (entry,) = (one for one in CORPUS if one.name == "caches_by_object")
    assert "replay" in {flag.rule for flag in screen(extract(read_submission(entry.path)).outcome)}


@pytest.mark.parametrize("results", ["cheats-cpu.json", "cheats-corpus-h100.json"])
def test_the_page_holds_the_table_of_the_committed_results(results):
    found = (ROOT / "benchmarks" / "results" / results).read_text()
    assert document(json.loads(found)) in PAGE.read_text()


@pytest.mark.parametrize(
    ("threat", "verdict", "layer"),
    [
        ("B1", Wrong(reason="values", detail="", trial="nominal"), "comparison"),
        ("A10", Rejected(rule="batched-calls", detail=""), "rule batched-calls"),
        ("D3", Failed(stage="run", reason="protocol", detail=""), "protocol"),
        ("D7", Failed(stage="load", reason="exception", detail="PermissionError"), "confinement"),
        ("D7", Failed(stage="build", reason="compile", detail=""), "confinement"),
        ("D14", Failed(stage="run", reason="disk", detail="wrote more to the disk than allowed"), "limits"),
        ("D14", Failed(stage="run", reason="processes", detail=""), "limits"),
        ("D15", Failed(stage="run", reason="timeout", detail="no answer within 5 s"), "deadline"),
        ("D16", Failed(stage="run", reason="device", detail=""), "process of its own"),
        ("D13", Correct(trials=1), "nothing to gain"),
        ("control", Correct(trials=1), ""),
    ],
)
def test_a_verdict_tells_which_layer_stood_in_the_way(threat, verdict, layer):
    entry = Entry(Path("x.py"), "", threat, ("cpu",), Path("relu.py"), None, (), ())
    assert stopped_by(entry, verdict) == layer
