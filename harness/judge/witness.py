"""Witness: whether outputs are off by more than rounding could make of them, told from a few elements.

What `moved_by_rounding` asks of a whole output takes up to sixteen calls of the reference and three comparisons, and is
answered by one element that no sample explains. So the clear cases are told before:

- One row. Where rows do not mix the reference is asked about the row of the worst element alone, by some copies of it.
- One element. Where they do mix, and few elements are out of tolerance, the whole is asked, and that element looked at.
- Most elements. Where many are out of tolerance the first sample is looked at, at random places, and two opposite ones
  of many units: all elements of a row, or of the whole, may go by one sum that tips over.

Nothing is called right here, and what is called wrong would be in the end. An element is out of tolerance in the full
comparison too, and not explained there, if its error is beyond all of these:

- what the tolerance is, by the reference's own error: twice what was found where the trial had float64, since random
  elements tell the scale; and otherwise a bound (`output_scale.most_of`), which holds of convolutions in tf32 as well;
- what `Movable.allowance` adds, which is never more than `FACTOR * CHANCE` times what a sample of up to `NEAREST_FAR`
  units moved it;
- what a further sample says, or half of the range beyond: never more than three times what one moved it.

Samples are random, and those here are not those there. So both factors are wider than they need be, units are more,
and samples are taken in opposite pairs: of an element near a jump one of the two falls over it, unless the noise of
all pairs is by chance less than the few units that an honest kernel is off by. Where it is off by two that is about
once in 10^4 if all copies share one noise, and hardly ever else; samples of the full comparison miss it more often.
That rows do not mix is told by copies of one: what is shared out, counted or normalised among rows comes out otherwise
for them. A threshold that all rows share shows where a row lies beside one far above, far below, or of zeros. Most
elements are out of reach by eight times what the second sample, of a quarter as many units, is expected to allow.
"""

import itertools
import math
import secrets
from collections.abc import Iterable
from typing import Any

import torch

from harness.judge.conditioning import CHANCE, FACTOR, NEAREST_FAR, Other
from harness.judge.correctness import Disagreement, Expected, Witness, not_finite
from harness.judge.oracle import Otherwise
from harness.judge.output_scale import some_places
from harness.judge.question import Question
from harness.judge.tensors import at_places, leaves

NEAR_REACH, FAR_REACH = 2 * FACTOR * CHANCE, 4.0
"""An element may be off by so many times what a sample moved it, of up to `NEAREST_FAR` units, and of more."""
PAIRS = (4.0, 128.0, 128.0)
"""Units of rounding of the pairs of opposite samples."""
ROUNDED = 0.25
"""So much of a row has to be rounded in float32: signs, indices and whole numbers come out alike by chance where rows
mix, and tell nothing of that."""
PLACES, ALMOST_ALL = 1 << 16, 0.75
"""At so many random places most elements are told: of those out of tolerance this share has to be beyond any sample."""


def is_wrong_by_a_row(output: Any, expected: Expected, question: Question, found: Disagreement) -> bool:
    """Whether the row of the worst element settles that a trial's output is wrong, whatever else would be asked."""
    witness, oracle = found.witness, question.oracle
    if witness is None or not witness.index or not oracle.repeats:
        return False
    copies = oracle.copies(expected.like, question.given.inputs(), witness.index[0], seed=question.seed)
    if copies is None:
        return False
    written = leaves(expected.like)[witness.place].detach()[witness.index[0]]
    rounded = leaves(copies.exact)[witness.place].detach()[0] != written
    if float(rounded.double().mean()) < ROUNDED:
        return False
    question.row_was_asked = True
    right = _of_copies(copies.exact, witness)
    base = _base(expected, witness, at_most=copies.convolves or expected.exact is expected.like)
    own = Other(_at(expected.like, witness).double().expand_as(right), 1.0)
    samples = itertools.chain.from_iterable(copies.samples(units, chance) for units, chance in _pairs())
    said = (Other(_of_copies(other.outputs, witness), other.units) for other in samples if other is not None)
    return _are_beyond(_at(output, witness).double(), right, base, own, said)


def is_wrong_by_one(output: Any, expected: Expected, otherwise: Otherwise, found: Disagreement) -> bool:
    """The same by the worst element, of all rows together."""
    witness = found.witness
    if witness is None:
        return False
    exact = expected.exact if otherwise.exact is None else otherwise.exact
    base = _base(expected, witness, at_most=expected.exact is expected.like)
    own = Other(_at(expected.like, witness).double(), 1.0)
    samples = itertools.starmap(otherwise.sample, _pairs())
    said = (Other(_at(other.outputs, witness).double(), other.units) for other in samples if other is not None)
    return _are_beyond(_at(output, witness).double(), _at(exact, witness).double(), base, own, said)


def is_wrong_by_most(output: Any, expected: Expected, otherwise: Otherwise, found: Disagreement) -> bool:
    """The same by elements at random places, where many are out of tolerance."""
    witness = found.witness
    if witness is None or found.mismatch is None:
        return False
    exact = expected.exact if otherwise.exact is None else otherwise.exact
    at = some_places(leaves(expected.like)[witness.place], PLACES)

    def told(value: Any) -> torch.Tensor:
        return at_places(leaves(value)[witness.place].detach().to(at.device), at).double()

    got, like, right = map(told, (output, expected.like, exact))
    base = _base(expected, witness, at_most=expected.exact is expected.like, of=right)
    reach = (like - right).abs() * NEAR_REACH
    least = ALMOST_ALL * found.mismatch.mismatched / found.mismatch.elements
    far = (otherwise.sample(*pair) for pair in itertools.islice(_pairs(), 2, 4))
    for sample in itertools.chain((otherwise.first,), far):
        if sample is not None:
            factor = NEAR_REACH if abs(sample.units) <= NEAREST_FAR else FAR_REACH
            reach = torch.maximum(reach, (told(sample.outputs) - right).abs() * factor)
        beyond = ((got - right).abs() > base + reach) | (~got.isfinite() & right.isfinite() & reach.isfinite())
        if float(beyond.double().mean()) <= least:
            return False
    return True


def _pairs() -> Iterable[tuple[float, int]]:
    """Units and seeds of samples of which two and two are opposite."""
    for units in PAIRS:
        chance = secrets.randbits(62)
        yield from ((units, chance), (-units, chance))


def _at(value: Any, witness: Witness) -> torch.Tensor:
    found: torch.Tensor = leaves(value)[witness.place].detach()[witness.index]
    return found


def _of_copies(value: Any, witness: Witness) -> torch.Tensor:
    """The element in each of the copies of its row."""
    by_copy = leaves(value)[witness.place].detach().movedim(0, -1)
    return by_copy[witness.index[1:]].double()


def _base(expected: Expected, witness: Witness, *, at_most: bool, of: torch.Tensor | None = None) -> torch.Tensor:
    """What elements may be off by that rounding does not move; `at_most`, whatever the reference's own error is."""
    right = _at(expected.exact, witness).double() if of is None else of
    allowed = witness.allowed(right).double()
    if not at_most:
        return allowed
    if not_finite(expected.like):  # how large float64 is there nobody knows
        return torch.full_like(allowed, math.inf)
    return allowed.clamp_min(witness.most)


def _are_beyond(
    got: torch.Tensor, right: torch.Tensor, base: torch.Tensor, own: Other, samples: Iterable[Other]
) -> bool:
    """Whether an element is off by more than it may be and what each sample says of it, of which there is one at least.

    `right` and `own` are what it should be, and what the reference as written says.
    """
    error = float((got - right).abs().nan_to_num(math.inf).min())
    most, asked = float(base.max()), False
    if not bool(right.isfinite().all()) or not error > most:
        return False
    for number, sample in enumerate(itertools.chain((own,), samples)):
        apart = float((sample.outputs - right).abs().nan_to_num(math.inf).max())
        reach = apart * (NEAR_REACH if abs(sample.units) <= NEAREST_FAR else FAR_REACH)
        if not error > most + reach:
            return False
        asked = number > 0
    return asked
