"""What may be set, and what is said of what may not."""

import pytest

from harness.errors import InputError
from harness.settings import REJECTABLE, Settings, require_rejectable


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


def test_a_name_that_is_given_many_times_counts_once():
    settings = Settings.model_validate({"baselines": ["compile", "eager"] * 1000, "reject": [REJECTABLE[0]] * 1000})
    assert settings.baselines == ("compile", "eager")
    assert settings.reject == REJECTABLE[:1]
