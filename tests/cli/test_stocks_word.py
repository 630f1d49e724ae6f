"""The last lines of a batch on what stock said."""

import pytest

from harness.cli.stocks_word import StocksWord
from harness.controller.evaluate import Evaluated
from harness.errors import MachineError
from harness.schema import Correct, Device, Environment, Flag, ProblemRef, Record, SubmissionRef
from harness.schema.record import DIFFERED


@pytest.fixture
def record() -> Record:
    return Record(
        problem=ProblemRef(set="level1", name="19_ReLU", sha256="0" * 64),
        submission=SubmissionRef(path="a.py", sha256="1" * 64),
        device=Device(kind="cpu", name="a CPU"),
        verdict=Correct(trials=3),
        confirmed="stock",
        environment=Environment(harness="0", python="3", torch="2"),
        judged_at="2026-01-01T00:00:00+00:00",
    )


def test_where_stock_was_not_asked_there_is_nothing_to_say(record: Record) -> None:
    stock = StocksWord()
    stock.see(record.model_copy(update={"confirmed": "none"}))
    assert stock.lines() == []


def test_agreement_is_counted_be_it_before_or_after_the_verdict_was_told(record: Record) -> None:
    stock = StocksWord()
    stock.see(record)
    stock.hear(Evaluated(record, {}, told=True))
    assert stock.lines() == ["stock was asked about 2 of them and agreed"]


def test_a_disagreement_is_an_alarm_and_a_fault_is_named(record: Record) -> None:
    stock = StocksWord()
    flag = Flag(rule=DIFFERED, severity="warn", detail="d")
    stock.hear(Evaluated(record.model_copy(update={"flags": (flag,)}), {}, told=True))
    stock.hear(Evaluated(record, {}, fault=MachineError("no room"), told=True))
    alarm, fault = stock.lines()
    assert alarm.startswith("ALARM: stock was asked about 1 of them and judged 1 otherwise")
    assert "a.py" in alarm
    assert fault == "stock could not be asked about a.py: no room"
