"""Of which elements of an output the trials tell anything.

Products of many numbers vanish, whatever the numbers are, unless they lie near one: where the reference says the same
on all kinds of contents, a candidate that never computes an element is as right as one that does.
"""

import secrets
from typing import Any

import torch

from harness.judge.correctness import RTOL, RTOL_OTHER_FLOATS
from harness.judge.tensors import at_places, leaves

PLACES = 4096
UNTOLD = 1 / 16
"""Where more of an output's elements than this share are untold, contents of a further kind are asked."""


class Told:
    """At which of some random places of the outputs two trials expect what is apart by more than the tolerance.

    `is_flat`: whether the last one expects the same at all of an output's, and the first did not.
    """

    def __init__(self) -> None:
        self._places: list[torch.Tensor] = []
        self._first: list[torch.Tensor] = []
        self._told: list[torch.Tensor] = []
        self.is_flat = False

    def learn(self, expected: Any) -> None:
        """Take what the reference says in a trial. Its shapes are those of all trials before, or it is passed over."""
        found = [leaf.detach().reshape(leaf.shape or (1,)) for leaf in leaves(expected) if leaf.numel()]
        if not self._first:
            self._places = [_places(leaf) for leaf in found]
        if len(found) != len(self._places):
            return
        values = [_some(leaf, places) for leaf, places in zip(found, self._places, strict=True)]
        if not self._first:
            self._first = values
            self._told = [torch.zeros(value.shape, dtype=torch.bool, device=value.device) for value in values]
            return
        self.is_flat = any(_is_flat(value) > _is_flat(first) for value, first in zip(values, self._first, strict=True))
        for leaf, value, first, told in zip(found, values, self._first, self._told, strict=True):
            sizes = torch.maximum(value.abs(), first.abs())
            known = sizes.masked_fill(~sizes.isfinite(), 0.0)
            rtol = RTOL.get(leaf.dtype, RTOL_OTHER_FLOATS if leaf.is_floating_point() else 0.0)
            told |= ~((value - first).abs() <= rtol * (sizes + known.mean())) & (value != first)

    @property
    def leaves_out(self) -> bool:
        """Whether so much of an output is untold that further contents are worth a trial."""
        return any(float((~told).double().mean()) > UNTOLD for told in self._told)


def _places(leaf: torch.Tensor) -> torch.Tensor:
    if leaf.numel() <= PLACES:
        return torch.arange(leaf.numel(), device=leaf.device)
    chance = torch.Generator(leaf.device).manual_seed(secrets.randbits(62))
    return torch.randint(0, leaf.numel(), (PLACES,), generator=chance, device=leaf.device)


def _is_flat(values: torch.Tensor) -> bool:
    return len(values) > 1 and bool((values == values[0]).all())


def _some(leaf: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    found = at_places(leaf, places)
    return found.to(torch.complex128 if found.is_complex() else torch.float64)
