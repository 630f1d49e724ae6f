"""Unread: parts of inputs, and weights, that may be left out, because the output is the same to the tolerance.

A recurrence forgets its first steps under the weights that a constructor draws, a scale of 10^-6 hides what it scales,
and what begins as zeros adds nothing. A candidate that never computes these passes all trials, since each of them has
such weights; only the problem can be mended. Looked at are inputs by themselves, halves along each dimension of those
that hold floats, with more of a half that does not matter, all weights together and each of them.

An input or a part of it gives way to contents of another kind than the rest: an average over many elements is the same
for others of one kind, and yet has to be computed. What does not matter once is asked again on every kind of inputs,
under these weights and others: a maximum may lie in the other half by chance. Not found: what matters alone but not
with others, scattered elements, parts of integers, which may be offsets into another input, and parts of a weight.
"""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import torch

from harness.judge.correctness import Expected, all_finite
from harness.judge.inputs import KINDS
from harness.judge.oracle import Oracle
from harness.judge.tensors import at_places, leaves, mapped, overlap, same, same_bits

LEAST_SIZE = 4
"""Of a dimension of fewer elements no half is looked at."""
SAMPLE = 1 << 12
"""So many elements of an output are compared first: what matters nearly always shows there, and all of 4 million take
0.7 s of a core."""
FEW, TIMES_FEW = 16, 3
"""Of outputs of so few elements each kind is asked so often: one number that is 0 or 1 may be the same by chance."""
NAMED = 3
"""Weights that a finding names."""


class OutOfTime(Exception):
    """What was not asked is left out."""


@dataclass(frozen=True)
class Part:
    """Elements `begin` to `end` of an input along a dimension; all of it where `dimension` is None.

    Of a list, tuple or dict of tensors it is a part of the one numbered `leaf`, in the order of `leaves`.
    """

    place: int
    dimension: int | None = None
    begin: int = 0
    end: int = 0
    leaf: int = 0

    def moved(self, inputs: list[Any], others: list[Any]) -> list[Any]:
        """The inputs with this part from others; with all of the argument where others have another number in it."""
        argument = others[self.place]
        mine, theirs = (leaves(values[self.place]) for values in (inputs, others))
        if len(mine) == len(theirs):
            value = theirs[self.leaf]
            if self.dimension is not None:
                value = mine[self.leaf].clone()
                length = self.end - self.begin
                other = theirs[self.leaf].narrow(self.dimension, self.begin, length)
                value.narrow(self.dimension, self.begin, length).copy_(other)
            given = iter([*mine[: self.leaf], value, *mine[self.leaf + 1 :]])
            argument = mapped(inputs[self.place], lambda _: next(given))
        return [*inputs[: self.place], argument, *inputs[self.place + 1 :]]

    def grown(self, size: int) -> "Part":
        """The same with half of what is left besides, of a dimension of this size."""
        if self.begin == 0:
            return replace(self, end=self.end + (size - self.end) // 2)
        return replace(self, begin=(self.begin + 1) // 2)


@dataclass(frozen=True)
class Until:
    """Times on the monotonic clock: until when it is searched, and until when what was found is asked again.

    What asking again takes does not count as search. No call is begun that would end later, by the seconds `call_s`
    that one takes.
    """

    search: float
    confirm: float
    call_s: float


class Unread:
    """Asks a reference, as `oracle`, on nominal inputs of which `expected` is what it says.

    `another` makes the reference with weights of another seed. `draw` gives inputs of a kind (`KINDS`, or "nominal"),
    new ones each time; `agrees` says whether an output is as good as what is expected. Every method raises `OutOfTime`.
    """

    def __init__(
        self,
        oracle: Oracle,
        inputs: list[Any],
        expected: Expected,
        *,
        another: Callable[[], Oracle],
        draw: Callable[[str], list[Any]],
        agrees: Callable[[Any, Expected], bool],
        until: Until,
    ) -> None:
        self._oracle, self._inputs, self._expected = oracle, inputs, expected
        self._another, self._draw, self._all_agree, self._until = another, draw, agrees, until
        self._other: Oracle | None = None
        self._of_other: Any = None
        self._state: set[str] = set()
        self._others: list[Any] | None = None

    # ---- inputs ------------------------------------------------------------------------------------------------

    def wholes(self) -> Iterator[Part]:
        """Inputs that do not matter."""
        for part, value in self._tensors():
            if value.numel():
                others = leaves(self._replacements()[part.place])
                alike = part.leaf < len(others) and same_bits(value, others[part.leaf])
                if not alike and self._idle(part, self._until.confirm):
                    yield part

    def halves(self, unread: Collection[Part]) -> Iterator[Part]:
        """Of the inputs that matter the parts that do not, one a dimension and the largest that is found.

        `unread` are the inputs of which all does not.
        """
        for whole, value in self._tensors():
            if whole in unread or not value.is_floating_point():
                continue
            for dimension, size in enumerate(value.shape):
                halves = ((0, size // 2), (size // 2, size)) if size >= LEAST_SIZE and value.numel() else ()
                for begin, end in halves:
                    part = replace(whole, dimension=dimension, begin=begin, end=end)
                    if self._idle(part, self._until.search):
                        yield self._largest(part, size)
                        break

    def _tensors(self) -> Iterator[tuple[Part, torch.Tensor]]:
        """All inputs that are tensors, alone or within an argument, each with the part that is all of it."""
        for place, argument in enumerate(self._inputs):
            for leaf, value in enumerate(leaves(argument)):
                yield Part(place, leaf=leaf), value

    def named(self, part: Part) -> str:
        """Which input a part is of."""
        alone = isinstance(self._inputs[part.place], torch.Tensor)
        return f"input {part.place}" if alone else f"tensor {part.leaf} of input {part.place}"

    def _largest(self, part: Part, size: int) -> Part:
        """As much of a dimension of this size around a part as does not matter, as far as there is time.

        Grown on nominal inputs first, because asking again takes some thirty calls; then from the largest down.
        """
        parts = [part]
        with suppress(OutOfTime):
            while (more := parts[-1].grown(size)) != parts[-1] and self._seems_idle(more):
                parts.append(more)
        with suppress(OutOfTime):
            while len(parts) > 1 and not self._idle_on_all_kinds(parts[-1]):
                parts.pop()
            return parts[-1]
        return part

    def _seems_idle(self, part: Part) -> bool:
        return self._agrees(self._said_without(part, self._until.confirm), self._expected)

    def _said_without(self, part: Part, until: float) -> Any:
        """What it says of the nominal inputs with this part of others."""
        return self._said(self._oracle, part.moved(self._inputs, self._replacements()), until)

    def _idle_on_all_kinds(self, part: Part) -> bool:
        with self._asking_again():
            return all(self._idle_under(oracle, part) for oracle in (self._oracle, self._of_another_seed()))

    def _idle(self, part: Part, until: float) -> bool:
        """Whether a part does not matter: on nominal inputs, and then on every kind that stays finite."""
        given = self._said_without(part, until)
        if not self._agrees(given, self._expected):
            return False
        try:
            return self._idle_on_all_kinds(part)
        except OutOfTime:
            if part.dimension is None and same(given, self._expected.like):  # to the last bit: that says enough
                return True
            raise

    def _idle_under(self, oracle: Oracle, part: Part) -> bool:
        for kind, drawn, told in self._cases(oracle):
            if told is None:
                return False
            moved = part.moved(drawn, self._draw(_other_than(kind)))
            if not self._agrees(self._said(oracle, moved, self._until.confirm), told):
                return False
        return True

    def _replacements(self) -> list[Any]:
        """What parts of nominal inputs give way to."""
        if self._others is None:
            self._others = self._draw(_other_than("nominal"))
        return self._others

    # ---- weights -----------------------------------------------------------------------------------------------

    def no_weight_matters(self) -> bool:
        """Whether the output does not depend on weights, of which some are drawn: those of another seed do as well."""
        if not self._drawn() or not self._agrees(self._of_other, self._expected):
            return False
        try:
            with self._asking_again():
                return self._without(self._oracle.weights())
        except OutOfTime:
            if same(self._of_other, self._expected.like):
                return True
            raise

    def weights(self) -> list[str]:
        """Names of weights that do not matter, all of them together."""
        return self._confirmed(self._suspects())

    def constant(self) -> list[str]:
        """Names of weights of two elements or more that are all one value, the same under both seeds."""
        mine, theirs = self._oracle.weights(), self._of_another_seed().weights()
        return [
            name
            for name, value in mine.items()
            if value.is_floating_point()
            and value.numel() > 1
            and name not in self._state
            and bool((value == value.reshape(-1)[0]).all())
            and same_bits(value, theirs[name])
        ]

    def _drawn(self) -> list[str]:
        """Names of weights that the seed decides."""
        theirs = self._of_another_seed().weights()
        return [
            name
            for name, value in self._oracle.weights().items()
            if name not in self._state and _can_be_another(value, theirs[name])
        ]

    def _suspects(self) -> list[str]:
        """Weights for which those of another seed do as well on nominal inputs, together with those before."""
        names, mine, theirs = self._drawn(), self._oracle.weights(), self._of_another_seed().weights()
        kept: dict[str, torch.Tensor] = {}
        try:
            for name in names:
                kept[name] = mine[name].detach().clone()
                _write(mine[name], theirs[name])
                if not self._agrees(self._said(self._oracle, self._inputs, self._until.search), self._expected):
                    _write(mine[name], kept.pop(name))
        finally:
            for name, value in kept.items():
                _write(mine[name], value)
        return list(kept)

    def _confirmed(self, names: list[str]) -> list[str]:
        """Of these the ones that do not matter on any kind of inputs either; where not all, those of a half of them."""
        if not names or self._without(names):
            return names
        if len(names) == 1:
            return []
        half = len(names) // 2
        return self._confirmed(names[:half]) or self._confirmed(names[half:])

    def _without(self, names: Any) -> bool:
        """Whether outputs are the same where these weights are another seed's, under these weights and others.

        In models that were never called: one may keep what it made of its weights.
        """
        for oracle in (self._oracle, self._another()):
            other = self._another()
            theirs = other.weights()
            for name, value in oracle.weights().items():
                is_there = name in theirs  # one may have buffers only once it was called
                if is_there and name not in names and not same_bits(value, theirs[name]):
                    _write(theirs[name], value)
            for _, drawn, told in self._cases(oracle):
                if told is None or not self._agrees(self._said(other, drawn, self._until.confirm), told):
                    return False
        return True

    # ---- means -------------------------------------------------------------------------------------------------

    def _of_another_seed(self) -> Oracle:
        """The reference with weights of another seed, called once: buffers that change by that are its state."""
        if self._other is None:
            other = self._another()
            before = {name: value.clone() for name, value in other.model.named_buffers()}
            self._of_other = self._said(other, self._inputs, self._until.confirm)
            now = dict(other.model.named_buffers())
            self._state = {name for name, value in before.items() if not same_bits(value, now[name])}
            self._other = other
        return self._other

    def _agrees(self, given: Any, expected: Expected) -> bool:
        parts = [leaves(value) for value in (given, expected.like, expected.exact)]
        for one, like, exact in zip(*parts, strict=False):  # of another number where it raised
            if one.shape == like.shape and one.numel() > SAMPLE:
                places = torch.randint(one.numel(), (SAMPLE,), device=one.device)
                few, of_like, of_exact = (at_places(value, places) for value in (one, like, exact))
                if not self._all_agree(few, Expected(of_like, of_exact)):
                    return False
        return self._all_agree(given, expected)

    def _cases(self, oracle: Oracle) -> Iterator[tuple[str, list[Any], Expected | None]]:
        """Inputs of each kind on which the reference stays finite, and what it says; None for nominal ones if not."""
        few = sum(leaf.numel() for leaf in leaves(self._expected.like)) <= FEW
        for kind in ("nominal", *KINDS) * (TIMES_FEW if few else 1):
            drawn = self._draw(kind)
            told = self._said(oracle, drawn, self._until.confirm)
            if told is not None and all_finite(told):
                yield kind, drawn, Expected(told, told)
            elif kind == "nominal":
                yield kind, drawn, None

    @contextmanager
    def _asking_again(self) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self._until = replace(self._until, search=self._until.search + time.monotonic() - started)

    def _said(self, oracle: Oracle, inputs: list[Any], until: float) -> Any:
        if time.monotonic() + self._until.call_s > min(until, self._until.confirm):
            raise OutOfTime
        return oracle.as_written(inputs, 1)


def is_more_than_a_vector(value: torch.Tensor) -> bool:
    """Whether a weight has two dimensions or more: a later normalisation takes out what a vector adds or scales."""
    return sum(size > 1 for size in value.shape) > 1


def listed(names: list[str]) -> str:
    """The first of these, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _other_than(kind: str) -> str:
    """The kind that replaces parts of inputs of a kind; none that overflows."""
    return "wide" if kind == "signed" else "signed"


def _can_be_another(value: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a weight is drawn, and can be written to."""
    drawn = value.is_floating_point() and value.numel() > 0 and not same_bits(value, other)
    return drawn and not overlap(value.shape, value.stride())


def _write(value: torch.Tensor, other: torch.Tensor) -> None:
    with torch.no_grad():
        value.copy_(other)
