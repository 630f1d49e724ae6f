import pytest
import torch

from harness.judge.outputs_seen import OutputsSeen


@pytest.mark.parametrize("kind", ["narrow", "nominal"])
@pytest.mark.parametrize("rare", [True, False])
def test_what_is_nearly_all_one_value_on_narrow_contents_tells_of_these_alone(kind, rare):
    """Rounds of calls one by one had such contents, of which what is read of an output tells nothing."""
    said, seen = torch.rand(20_000), OutputsSeen()
    if rare:
        said[100:] = 0.0
    seen.learn(said, None, kind, first_weights=False)
    assert seen.flat_narrow == (rare and kind == "narrow")
    assert seen.mostly_one_value == (rare and kind == "nominal")
    assert not seen.lost_narrow
