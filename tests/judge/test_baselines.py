"""Other forms of the reference: known from before, checked, and compared with."""

import pytest

from harness.judge.baselines import BaselinePair, still_true, versus
from harness.judge.known_facts import Known, key_of
from harness.schema import Environment, Interval, Timing

PAIR = BaselinePair(eager_samples_ms=(1.0, 1.01, 0.99), samples_ms=(0.5, 0.5, 0.5))
TIMING = Timing(
    candidate_ms=0.25,
    reference_ms=1.0,
    speedup=Interval(value=4.0, low=3.9, high=4.1),
    conclusion="faster",
    rounds=3,
    calls_per_round=4,
    candidate_samples_ms=(0.25, 0.25, 0.25),
    reference_samples_ms=(1.0, 1.0, 1.0),
)
MACHINE = Environment(harness="1", python="3", torch="2", driver="580")


def test_the_speed_up_over_another_form_follows_from_both_ratios():
    found = versus("compile", TIMING, PAIR, cached=True)
    assert found.speedup.value == pytest.approx(2.0)
    assert found.reference_ms == pytest.approx(0.5)
    assert found.conclusion == "faster"
    assert found.speedup.low < 2.0 < found.speedup.high


def test_a_pair_counts_as_long_as_the_reference_as_written_takes_what_it_took():
    assert still_true(PAIR, TIMING)
    assert not still_true(PAIR, TIMING.model_copy(update={"reference_ms": 1.05}))


def test_what_was_found_out_is_known_to_the_next_process(tmp_path):
    Known("baselines", BaselinePair, root=tmp_path).keep("key", PAIR)
    assert Known("baselines", BaselinePair, root=tmp_path).find("key") == PAIR


def test_a_file_that_cannot_be_read_is_found_out_again(tmp_path):
    known = Known("baselines", BaselinePair, root=tmp_path)
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / "key.json").write_text('{"eager_samples_ms": [')
    assert known.find("key") is None


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_finding_out(tmp_path):
    (tmp_path / "baselines").write_text("a file in the way")
    known = Known("baselines", BaselinePair, root=tmp_path)
    known.keep("key", PAIR)
    assert known.find("key") == PAIR


def test_another_driver_is_another_key():
    other = MACHINE.model_copy(update={"driver": "590"})
    assert key_of(MACHINE, "H200", "a") == key_of(MACHINE, "H200", "a") != key_of(other, "H200", "a")


def test_of_many_facts_a_process_keeps_the_latest_and_finds_the_others_in_their_files(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.judge.known_facts.MOST_HERE", 10)
    known = Known("baselines", BaselinePair, root=tmp_path)
    for number in range(100):
        known.keep(f"key{number}", PAIR)
        assert len(known._here) <= 10
    assert all(known.find(f"key{number}") == PAIR for number in range(100))
    assert len(known._here) == 10
