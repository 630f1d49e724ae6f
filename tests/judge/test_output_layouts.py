"""How a worker describes its outputs, held against what it named when the clock stopped."""

from dataclasses import replace

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


def test_strides_that_lead_nowhere_make_no_other_layout():
    """One that described such had no more calls verified one by one, before the last."""
    layouts = OutputLayouts()
    for strides in ((3, 1), (64, 1)):
        leaf = TensorValue(dtype="float32", shape=(1, 3), strides=strides, offset=64)
        layouts.learn([0], [leaf], Done(addresses=((64,),), extents=((12,),), plain=(digest_of_plain(leaf),)))
    assert len(layouts.remembered) == 1


def laid_out(address, elements):
    return TensorValue(dtype="float32", shape=(elements,), strides=(1,), offset=address)


def test_outputs_of_several_forms_are_each_held_against_what_was_named():
    layouts = OutputLayouts()
    leaves = [laid_out(64, 4), laid_out(128, 4), laid_out(256, 8)]
    done = Done(addresses=((64,), (128,), (256,)), extents=((16,), (16,), (32,)), plain=(0, 0, 0))
    layouts.learn([0, 1, 2], leaves, done)
    assert layouts.newest == (leaves[2],)
    assert {layout[0].shape for layout in layouts.remembered} == {(4,), (8,)}
    for wrong, said in (
        (replace(done, extents=((16,), (16,), (16,))), "another size"),
        (replace(done, addresses=((64,), (192,), (256,))), "other outputs"),
        (replace(done, plain=(0, 1, 0)), "other numbers"),
    ):
        with pytest.raises(SubjectFailed, match=said):
            OutputLayouts().learn([0, 1, 2], leaves, wrong)
