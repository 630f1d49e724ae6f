import pytest

from harness.report.units import bytes_text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (4_294_967_296, "4.29 GB"),
        (999_900_000, "1 GB"),
        (12_345_678, "12.3 MB"),
    ],
)
def test_a_size_is_written_in_the_largest_unit_that_fits(count, text):
    assert bytes_text(count) == text
