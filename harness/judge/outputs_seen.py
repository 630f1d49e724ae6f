"""Outputs seen: what the reference's outputs in trials tell of those in timed rounds."""

from typing import Any

import torch

from harness.judge.oracle import Oracle
from harness.judge.snapshot import mostly_one_value
from harness.judge.spared import Spared
from harness.judge.tensors import leaves, plain, size_of
from harness.judge.told import Told

Form = tuple[tuple[torch.dtype, torch.Size], ...]


def form_of(output: Any) -> Form:
    """The dtype and shape of each tensor of an output."""
    return tuple((leaf.dtype, leaf.shape) for leaf in leaves(output))


class OutputsSeen:
    """Bytes of the outputs of one call, whether any is nearly all one value, and what else trials are asked for.

    `form` is that of the first outputs; `varies`: others have another, since contents decide on shapes.
    `has_plain`: whether any holds more than tensors. `lost_narrow`: whether one is all one value on narrow contents
    alone, which then tell nothing of small ones, `flat_narrow`: nearly all.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.mostly_one_value = self.lost_narrow = self.flat_narrow = self.has_plain = False
        self.form: Form | None = None
        self.varies = False
        self.spared = Spared()
        self.told = Told()

    def learn(self, said: Any, oracle: Oracle, kind: str, *, first_weights: bool) -> None:
        """Take in what the reference says in a trial. What may be handed out again is asked of one set of weights.

        Of narrow contents, which are negative throughout, an activation makes nothing but zeros: that tells of no
        others.
        """
        self.bytes = size_of(said)
        self.has_plain |= not all(isinstance(one, torch.Tensor) for one in plain(said))
        is_flat = any(mostly_one_value(leaf) for leaf in leaves(said))
        if kind == "narrow":
            self.flat_narrow |= is_flat
        else:
            self.mostly_one_value |= is_flat
        self.told.learn(said)
        self.lost_narrow |= kind == "narrow" and self.told.is_flat
        self.learn_what_stays(said, oracle, first_weights=first_weights)

    def learn_what_stays(self, said: Any, oracle: Oracle, *, first_weights: bool) -> None:
        """Take in the form, and what may be handed out again, of a call that no candidate is held to too."""
        self.form = self.form or form_of(said)
        self.varies |= form_of(said) != self.form
        if first_weights:
            self.spared.learn(said, oracle.model)
