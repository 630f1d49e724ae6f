"""What is remembered of a reference alone."""

import pytest

from harness.judge import alone_before
from harness.judge.alone_before import AloneBefore
from harness.judge.samples import Samples

KINDS = ("nominal", "huge")


def samples(call_ms, *, calls=10, beyond_s=1e-3, kinds=KINDS, loop_s=3e-4):
    count = len(kinds)
    return Samples(
        round_s=[beyond_s + call_ms * calls / 1e3] * count,
        device_ms=[call_ms] * count,
        kinds=list(kinds),
        nominal=[True] * count,
        loop_s=[loop_s] * count,
    )


BESIDE = samples(0.5)


@pytest.fixture
def now(monkeypatch):
    moment = [100.0]
    monkeypatch.setattr(alone_before.time, "monotonic", lambda: moment[0])
    return moment


def test_the_fastest_rounds_of_the_last_minute_count(now):
    before = AloneBefore()
    for call_ms in (0.5, 0.3, 0.4):
        before.keep_rounds(samples(call_ms), 10)
        now[0] += 25.0
    assert before.rounds(KINDS, 10, BESIDE).device_ms[0] == 0.3
    now[0] += 20.0
    assert before.rounds(KINDS, 10, BESIDE).device_ms[0] == 0.4
    now[0] += 50.0
    assert before.rounds(KINDS, 10, BESIDE) is None


def test_rounds_of_fewer_calls_are_as_if_they_had_as_many():
    before = AloneBefore()
    before.keep_rounds(samples(0.5, calls=10), 10)
    found = before.rounds(KINDS, 16, BESIDE)
    assert found.round_s == pytest.approx([9e-3] * 2)
    assert found.beyond_events_s(16) == pytest.approx([1e-3] * 2)
    assert before.rounds(KINDS, 21, BESIDE) is None
    assert before.rounds(KINDS, 4, BESIDE) is None


def test_rounds_without_a_kind_of_contents_tell_nothing_of_it():
    before = AloneBefore()
    before.keep_rounds(samples(0.5), 10)
    assert before.rounds((*KINDS, "small"), 10, BESIDE) is None
    assert before.rounds(KINDS[:1], 10, BESIDE) is not None


def test_calls_one_by_one_are_those_of_as_many_that_were_looked_at_alike():
    before = AloneBefore()
    before.keep_steps(samples(0.5), 24, 1, 0.03)
    before.keep_steps(samples(0.4), 24, 4, 0.0)
    assert before.steps(KINDS, 24, 1, BESIDE).samples.device_ms[0] == 0.5
    assert before.steps(KINDS, 24, 1, BESIDE).allowed == 0.03
    assert before.steps(KINDS, 24, 4, BESIDE).samples.device_ms[0] == 0.4
    assert before.steps(KINDS, 12, 4, BESIDE) is None


def test_what_another_process_took_is_forgotten():
    before = AloneBefore()
    before.keep_rounds(samples(0.5), 10)
    before.keep_steps(samples(0.5), 24, 1, 0.0)
    before.forget()
    assert before.rounds(KINDS, 10, BESIDE) is before.steps(KINDS, 24, 1, BESIDE) is None


@pytest.mark.parametrize(("loop_s", "tells"), [(3e-4, True), (3.1e-4, True), (2.5e-4, False), (4e-4, False)])
def test_what_it_took_on_a_core_of_another_speed_tells_nothing(loop_s, tells):
    """A slow second of the host would excuse whoever slows the reference in a fast one."""
    before, beside = AloneBefore(), samples(0.5, loop_s=loop_s)
    before.keep_rounds(samples(0.5), 10)
    before.keep_steps(samples(0.5), 24, 1, 0.0)
    assert (before.rounds(KINDS, 10, beside) is not None) == tells
    assert (before.steps(KINDS, 24, 1, beside) is not None) == tells
