"""What a record says of itself."""

import pytest

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
