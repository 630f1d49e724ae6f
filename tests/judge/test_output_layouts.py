"""How a worker describes its outputs, held against what it named when the clock stopped."""

import pytest

from harness.judge.failure import SubjectFailed
from harness.judge.output_layouts import OutputLayouts
from harness.transport.values import TensorValue, digest_of_plain
from harness.transport.worker_messages import Done


@pytest.mark.parametrize(
    "leaf",
    [
        TensorValue(dtype="bogus", shape=(0,), strides=(1,), offset=64),
        TensorValue(dtype="float32", shape=(0, 3), strides=(1,), offset=64),
    ],
    ids=["no such dtype", "a stride short"],
)
def test_an_empty_output_that_cannot_be_is_the_worker_s_failure_before_anything_goes_by_it(leaf):
    layouts = OutputLayouts()
    with pytest.raises(SubjectFailed, match="cannot be") as raised:
        layouts.learn([0], [leaf], Done(addresses=((64,),), extents=((0,),)))
    assert raised.value.reason == "protocol"
    assert layouts.newest == ()


def test_an_empty_output_is_remembered_like_any():
    layouts = OutputLayouts()
    leaf = TensorValue(dtype="float32", shape=(0, 3), strides=(3, 1), offset=64)
    layouts.learn([0], [leaf], Done(addresses=((64,),), extents=((0,),), plain=(digest_of_plain(leaf),)))
    assert layouts.newest == (leaf,)
