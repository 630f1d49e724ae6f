"""What may be set, and what is said of what may not."""

import pytest

from harness.errors import InputError
from harness.settings import REJECTABLE, require_rejectable


@pytest.mark.parametrize("name", REJECTABLE)
def test_every_flag_of_the_judge_may_reject(name):
    assert require_rejectable(name) == name


@pytest.mark.parametrize(
    ("name", "meant"),
    [("reduced-precison", "reduced-precision"), ("no_custom_kernel", "no-custom-kernel"), ("batched", "batched-calls")],
)
def test_an_unknown_flag_is_answered_with_the_known_ones_and_the_nearest(name, meant):
    with pytest.raises(InputError, match=f"did you mean {meant}\\?") as error:
        require_rejectable(name)
    assert all(known in str(error.value) for known in REJECTABLE)


def test_a_flag_of_screening_rejects_nobody():
    with pytest.raises(InputError, match="'hidden-code' is no flag that can reject: give one of reduced-precision"):
        require_rejectable("hidden-code")
