"""Outputs seen: what the reference's outputs in trials tell of those in timed rounds."""

from typing import Any

from harness.judge.oracle import Oracle
from harness.judge.snapshot import mostly_one_value
from harness.judge.spared import Spared
from harness.judge.tensors import leaves, size_of
from harness.judge.told import Told


class OutputsSeen:
    """Bytes of the outputs of one call, whether any is nearly all one value, and what else trials are asked for.

    `lost_narrow`: whether one is all one value on narrow contents alone, which then tell nothing of small ones.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.mostly_one_value = self.lost_narrow = False
        self.spared = Spared()
        self.told = Told()

    def learn(self, said: Any, oracle: Oracle, kind: str, *, first_weights: bool) -> None:
        """Take in what the reference says in a trial. What may be handed out again is asked of one set of weights.

        Of narrow contents, which are negative throughout, an activation makes nothing but zeros: that tells of no
        others.
        """
        self.bytes = size_of(said)
        if kind != "narrow":
            self.mostly_one_value |= any(mostly_one_value(leaf) for leaf in leaves(said))
        self.told.learn(said)
        self.lost_narrow |= kind == "narrow" and self.told.is_flat
        self.learn_what_stays(said, oracle, first_weights=first_weights)

    def learn_what_stays(self, said: Any, oracle: Oracle, *, first_weights: bool) -> None:
        """Take in what may be handed out again alone, of a call that no candidate is held to too."""
        if first_weights:
            self.spared.learn(said, oracle.model)
