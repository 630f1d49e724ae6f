"""What a device did between rounds: looked at in moments that nothing can know."""

from types import SimpleNamespace

import pytest

from harness.judge import between_rounds
from harness.judge.between_rounds import BUSY_S, BetweenRounds


@pytest.fixture
def now(monkeypatch):
    """A clock that stands still but for a microsecond each time that it is asked."""
    moment = [0.0]

    def monotonic():
        moment[0] += 1e-6
        return moment[0]

    monkeypatch.setattr(between_rounds, "time", SimpleNamespace(monotonic=monotonic))
    return moment


def between(now, glances, *, rounds=200, spans_s=(1e-3, 4e-3), busy=lambda at_s: False):
    """Two sides' rounds, what lies after each in two parts, and whether the device is busy so long after a round of the
    candidate.
    """

    def glance():
        at_s = now[0] - began[0]
        glances.append(at_s)
        return 2 * BUSY_S if side == "candidate" and busy(at_s) else 0.0

    found, began = BetweenRounds(SimpleNamespace(glance=glance)), [0.0]
    for number in range(rounds):
        side = ("candidate", "reference")[number % 2]
        began[0] = now[0]
        found.begins(side)
        for span_s in spans_s:
            found.look()
            now[0] += span_s
        found.look(last=True)
        found.ends()
    return [found.taken(side) for side in ("candidate", "reference")]


def test_an_idle_device_is_looked_at_once_after_each_round_at_any_moment(now):
    glances = []
    mine, theirs = between(now, glances)
    assert len(glances) == 200
    assert mine.seconds == pytest.approx(theirs.seconds, rel=0.05)
    assert mine.busy_s == theirs.busy_s == 0.0
    assert min(glances) < 1.1e-3
    assert max(glances) > 4e-3


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_what_was_done_in_part_of_the_time_counts_on_average(now, share):
    mine, theirs = between(now, [], rounds=2000, spans_s=[5e-5] * 100, busy=lambda at_s: at_s < share * 5e-3)
    assert mine.busy_s / 1000 == pytest.approx(share * 5e-3, rel=0.15)
    assert theirs.busy_s == 0.0


def test_what_the_device_takes_longer_counts_as_it_is(now, monkeypatch):
    monkeypatch.setattr(between_rounds.random.SystemRandom, "random", lambda self: 0.5)
    found = BetweenRounds(SimpleNamespace(glance=lambda: 0.0))
    for side, span_s in (("candidate", 7e-3), ("reference", 4e-3)):
        found.begins(side)
        now[0] += span_s
        found.look(last=True)
        found.ends()
    assert found.taken("candidate").seconds == pytest.approx(7e-3, rel=0.01)
    assert found.taken("reference").seconds == pytest.approx(4e-3, rel=0.01)
    assert found.taken("candidate").seconds == 0.0


def test_where_no_side_was_held_nothing_is_looked_at():
    found = BetweenRounds(SimpleNamespace(glance=lambda: pytest.fail("was asked")))
    found.look(last=True)
    found.ends()
    assert found.taken("candidate").seconds == 0.0
