"""Options that come to settings."""

import click
import pytest

from harness.cli.options import TIMING_S, Timing
from harness.settings import Settings


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("full", ("full", TIMING_S)),
        ("quick", ("quick", TIMING_S)),
        ("none", ("none", TIMING_S)),
        ("0", ("full", 0.0)),
        ("0.5", ("full", 0.5)),
    ],
)
def test_timing_is_a_word_or_seconds(said: str, meant: tuple[str, float]) -> None:
    assert Timing().convert(said, None, None) == meant


@pytest.mark.parametrize("said", ["-1", "nan", "inf", "fast", ""])
def test_any_other_timing_is_refused(said: str) -> None:
    with pytest.raises(click.BadParameter, match="neither full, quick, none nor a number of seconds"):
        Timing().convert(said, None, None)


def test_the_command_line_times_as_long_as_the_library() -> None:
    assert Settings().timing_s == TIMING_S
