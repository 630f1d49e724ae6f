"""Spared: tensors of an output that a subject may hand out again, and that are not overwritten between rounds.

Outputs are their caller's: what they lie in is overwritten before the next round (`Subject.spoil`), so that no call
finds there what an earlier one wrote. Two kinds are no caller's alone. Where the reference returns a parameter or a
buffer, or memory that it returned in a call before, so may a candidate. And what is the same whatever the inputs, a
table of positions say, may be computed once and returned for good.
"""

from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from harness.judge.tensors import leaves, same_bits, storages

_MOST_BYTES = 256 << 20
"""A tensor that is larger than this is not remembered, and so counts as one that the inputs decide."""


class Spared:
    """Learns from what a reference says of several inputs, all with the same weights."""

    def __init__(self) -> None:
        self._first: list[torch.Tensor | None] | None = None
        self._calls = 0
        self._of_the_model: set[int] = set()
        self._before: dict[int, StorageWeakRef] = {}

    def learn(self, output: Any, model: torch.nn.Module) -> None:
        """Take in what `model` returned for other inputs than before."""
        own = storages([*model.parameters(), *model.buffers()])
        found = [leaf.detach() for leaf in leaves(output)]
        self._of_the_model |= {place for place, leaf in enumerate(found) if storages(leaf) & own}
        self._of_the_model |= self._returned_before(found)
        self._calls += 1
        if self._first is None:
            self._first = [leaf.clone() if leaf.nbytes <= _MOST_BYTES else None for leaf in found]
            return
        self._first = [
            one if one is not None and same_bits(one, leaf) else None
            for one, leaf in zip(self._first, found, strict=False)
        ]

    def _returned_before(self, found: list[torch.Tensor]) -> set[int]:
        """Places whose memory an earlier call returned there: a table that is neither a parameter nor a buffer.

        Memory that was let go of is not kept for this, and no other is taken for it.
        """
        lie_in = {
            place: StorageWeakRef(leaf.untyped_storage())
            for place, leaf in enumerate(found)
            if leaf.numel() and leaf.layout is torch.strided
        }
        again = {place for place, one in lie_in.items() if place in self._before and one == self._before[place]}
        self._before = {**self._before, **lie_in}
        return again

    @property
    def places(self) -> frozenset[int]:
        """The numbers of these tensors among those of an output, in the order of `leaves`."""
        kept = [one is not None for one in self._first or ()]
        return frozenset(self._of_the_model | {place for place, same in enumerate(kept) if same and self._calls > 1})
