"""Tie orders: in which order a candidate seems to have equal elements, told from its outputs.

What is told here is a guess and excuses nothing (`by_ties`). The reference is computed in some orders, and what it says
and chooses in each is held against what the candidate says. Told are indices that an output holds, elements that a mask
or a scattering shows, and by rows, or by the places of the indices, which of the orders the candidate agrees with.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from harness.judge.subject import Sampled
from harness.judge.tensors import at_places, plain
from harness.judge.ties import Choice, Wish, Wishes

ORDERS = 64
"""So many orders are tried at most."""
SHORT = 48
"""Rows of so many elements at most are turned around by each of them."""
_CLOSE = 1e-3
_WITH_ARITHMETIC = frozenset(
    {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
    | {torch.float16, torch.bfloat16, torch.float32, torch.float64}
)

Rank = Callable[[int, torch.Tensor], torch.Tensor]
"""`Wish.rank` of the operator of a number, which is given its operand as `Wishes` are."""


@dataclass(frozen=True)
class Told:
    """What the candidate says in one tensor: its values at flat places, or all of them where these are None."""

    values: torch.Tensor
    places: torch.Tensor | None
    shape: torch.Size

    def at(self, value: torch.Tensor) -> torch.Tensor:
        """What another tensor of that shape says at these places."""
        return value.reshape(-1) if self.places is None else at_places(value.reshape(-1), self.places)

    def fits(self, like: torch.Tensor) -> torch.Tensor:
        """At which of these places it says about what `like` does."""
        want = self.at(like)
        if not want.is_floating_point():
            return self.values == want
        size = float(want.abs().nan_to_num(0.0, 0.0, 0.0).double().mean())
        return torch.isclose(self.values.double(), want.double(), rtol=_CLOSE, atol=_CLOSE * size, equal_nan=True)

    def parts(self, like: torch.Tensor, count: int) -> torch.Tensor:
        """In which of so many equal parts of an output, one after the other, it says about what `like` does."""
        fits = self.fits(like)
        if self.places is None:
            return fits.view(count, -1).all(1)
        found = torch.ones(count, dtype=torch.bool, device=fits.device)
        found[self.places[~fits] // (like.numel() // count)] = False
        return found


def told(output: Any, like: Any) -> list[Told | None]:
    """What the candidate says in each value of its outputs; None of what is not looked at."""
    return [_told(*pair) for pair in zip(plain(output), plain(like), strict=True)]


def _told(output: Any, like: Any) -> Told | None:
    if not isinstance(like, torch.Tensor) or not like.numel() or like.is_complex():
        return None
    if isinstance(output, Sampled):
        return Told(comparable(output.values.to(like.device)), output.places.to(like.device), like.shape)
    return Told(comparable(output.detach().to(like.device)).reshape(-1), None, like.shape)


def comparable(value: Any) -> Any:
    """The same value of a dtype that torch compares with others, where one has arithmetic with none but itself."""
    if not isinstance(value, torch.Tensor) or value.dtype in _WITH_ARITHMETIC or value.is_complex():
        return value
    return value.float() if value.is_floating_point() else value.long()  # as indices are


@dataclass(frozen=True)
class Run:
    """What the reference says in the order of a number, value by value and `comparable`, and what it chose."""

    order: int
    outputs: list[Any]
    choices: Sequence[Choice]


@dataclass(frozen=True)
class Order:
    """The wish for what operators are to name, and for ranks of what is not named, each by the operator's number."""

    named: dict[int, torch.Tensor] = field(default_factory=dict)
    ranks: dict[int, Rank] = field(default_factory=dict)

    def __call__(self, operator: int, value: torch.Tensor) -> Wish:
        """This is one of `Wishes`."""
        rank = self.ranks.get(operator)
        return Wish(None if rank is None else rank(operator, value), self.named.get(operator))


def _in_all(runs: Sequence[Run]) -> list[tuple[int, Choice]]:
    """The operators that choose alike in all these orders, by number, with what they chose in the first.

    What runs after a choice may go by it: a reference that sorts what it has routed sorts other rows in another order.
    """
    by_operator = enumerate(zip(*(run.choices for run in runs), strict=False))
    return [(number, choices[0]) for number, choices in by_operator if all(map(choices[0].is_alike, choices))]


def order_of(number: int) -> Wishes:
    """The order of all ties of a number, below `ORDERS`.

    0 has the first of equal elements first, 1 the last. Of rows that are short enough the next ones begin with each
    element in turn, so that each of equal ones is at each place once. Others are random.
    """
    return lambda operator, value: Wish(rank=_rank(number, operator, value))


def _rank(number: int, operator: int, value: torch.Tensor) -> torch.Tensor:
    size = value.shape[-1]
    places = torch.arange(size, device=value.device, dtype=torch.float64)
    if number < 2:
        return -places if number else places
    if number <= size <= SHORT:
        return (places - number + 1) % size
    chance = torch.Generator(value.device).manual_seed(number << 16 | operator)
    return torch.rand(value.shape, generator=chance, device=value.device)


# ---- indices that an output holds ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """An output that shows what an operator named: the flat places of its indices that the output holds, in order.

    `choice` is what it named in one order of ties, its indices without contents. An output of another shape than
    `like`, as one that goes by the contents may have in another call, shows nothing.
    """

    output: int
    operator: int
    places: torch.Tensor
    choice: Choice
    like: torch.Size


def shown(runs: Sequence[Run], said: Sequence[Told | None]) -> list[Shown]:
    """The outputs that are an operator's indices, or a part of them, in all these orders."""
    return [
        Shown(place, operator, places, replace(choice, indices=choice.indices.to("meta")), one.shape)
        for place, one in enumerate(said)
        if one is not None
        for operator, choice in _in_all(runs)
        if (places := _places(runs, place, operator)) is not None
    ]


def _showing(which: Sequence[Shown], said: Sequence[Told | None]) -> Iterator[tuple[Shown, Told]]:
    """Those of a candidate's outputs that show something, with what it says there."""
    for one in which:
        mine = said[one.output]
        if mine is not None and mine.shape == one.like:
            yield one, mine


def _places(runs: Sequence[Run], output: int, operator: int) -> torch.Tensor | None:
    for places in _parts(runs[0].choices[operator], runs[0].outputs[output].numel()):
        held = (run.choices[operator].indices.reshape(-1)[places] == run.outputs[output].reshape(-1) for run in runs)
        if all(bool(one.all()) for one in held):
            return places
    return None


def _parts(choice: Choice, count: int) -> Iterator[torch.Tensor]:
    """The flat places of so many indices: the first along the dimension, or the last, as they are and reversed."""
    size = choice.indices.shape[choice.dim]
    wide, rest = divmod(count * size, choice.indices.numel())
    if rest or not 0 < wide <= size:
        return
    places = torch.arange(choice.indices.numel(), device=choice.indices.device).view(choice.indices.shape)
    for one in (places, places.flip(choice.dim)):
        yield one.narrow(choice.dim, 0, wide).reshape(-1)
        yield one.narrow(choice.dim, size - wide, wide).reshape(-1)


def named(which: Sequence[Shown], said: Sequence[Told | None]) -> dict[int, torch.Tensor]:
    """What a candidate's outputs name, by the operator's number."""
    found: dict[int, torch.Tensor] = {}
    for one, mine in _showing(which, said):
        none = torch.full(one.choice.indices.shape, -1, device=mine.values.device)
        found.setdefault(one.operator, none).view(-1)[mine.at(one.places)] = mine.values.long()
    return found


def cannot_be(which: Sequence[Shown], said: Sequence[Told | None]) -> bool:
    """Whether a candidate's outputs name what is no element, or an element twice where an operator names each once."""
    for one, mine in _showing(which, said):
        values, dim = mine.values.long(), one.choice.dim
        none_such = (values < 0) | (values >= one.choice.shape[dim])
        ordered = named([one], said)[one.operator].sort(dim)[0].movedim(dim, -1)
        twice = (ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] >= 0)
        if bool(none_such.any()) or (one.choice.once and bool(twice.any())):
            return True
    return False


# ---- elements that an output of the operand's shape marks ------------------------------------------------------------


def marked(runs: Sequence[Run], said: Sequence[Told | None]) -> dict[int, Rank]:
    """Ranks by the operator's number, where an output of the operand's shape shows which elements it chose.

    An element is taken to be chosen where the candidate says what the reference does where it chooses it, and not to be
    where it says what the reference does where it does not.
    """
    found: dict[int, Rank] = {}
    for operator, choice in _in_all(runs):
        for place, one in enumerate(said):
            is_part = choice.indices.shape[choice.dim] < choice.shape[choice.dim]
            if one is not None and is_part and runs[0].outputs[place].shape == choice.shape:
                found[operator] = _as_marked(runs, place, operator, one)
    return found


def _as_marked(runs: Sequence[Run], output: int, operator: int, one: Told) -> Rank:
    choice = runs[0].choices[operator]
    within, without = (torch.zeros_like(one.values, dtype=torch.bool) for _ in range(2))
    for run in runs:
        indices = run.choices[operator].indices
        chosen = torch.zeros(choice.shape, dtype=torch.bool, device=indices.device)
        chosen = one.at(chosen.scatter(choice.dim, indices, torch.ones_like(chosen)))
        fits = one.fits(run.outputs[output])
        within, without = within | (fits & chosen), without | (fits & ~chosen)
    rank = torch.ones(math.prod(choice.shape), dtype=torch.int8, device=within.device)
    told_of = 1 + without.to(torch.int8) - within.to(torch.int8)
    rank = told_of if one.places is None else rank.index_put((one.places,), told_of)
    ranks = rank.view(choice.shape).movedim(choice.dim, -1)
    return lambda operator, value: ranks if ranks.shape == value.shape else _rank(0, operator, value)


# ---- by rows and by places -------------------------------------------------------------------------------------------


class Agreeing:
    """Which of the orders the candidate agrees with, for each row and each place of the indices of each operator."""

    def __init__(self, said: Sequence[Told | None]) -> None:
        self._said = said
        self._places: dict[int, torch.Tensor] = {}
        self._rows: dict[int, torch.Tensor] = {}
        self._choices: dict[int, Choice] = {}

    def look(self, runs: Iterable[Run]) -> None:
        """Go through these orders until all agrees. The first that a row or a place agrees with is kept."""
        for run in runs:
            for operator, choice in enumerate(run.choices):
                if self._choices.setdefault(operator, choice).is_alike(choice):
                    indices, rows = choice.indices.reshape(-1), math.prod(choice.shape[: choice.dim])
                    self._note(self._places, operator, indices, self._fitting(run, indices.numel()))
                    self._note(self._rows, operator, run.order, self._fitting(run, rows))
            kept = [*self._rows.values(), *self._places.values()]
            if kept and all(bool((one >= 0).all()) for one in kept):
                return

    def _fitting(self, run: Run, count: int) -> torch.Tensor | None:
        """Which of so many rows, or places, agree in all outputs that consist of as many; None where none does."""
        found: torch.Tensor | None = None
        for one, like in zip(self._said, run.outputs, strict=True):
            sizes = () if one is None else like.shape
            if one is not None and count in (math.prod(sizes[:dims]) for dims in range(1, len(sizes) + 1)):
                fits = one.parts(like, count)
                found = fits if found is None else found & fits
        return found

    @staticmethod
    def _note(kept: dict[int, torch.Tensor], operator: int, value: Any, fitting: torch.Tensor | None) -> None:
        if fitting is not None:
            before = kept.get(operator, torch.full_like(fitting, -1, dtype=torch.int64))
            kept[operator] = torch.where((before < 0) & fitting, value, before)

    @property
    def named(self) -> dict[int, torch.Tensor]:
        """What operators name at the places that agree with some order."""
        return {operator: value.view(self._choices[operator].indices.shape) for operator, value in self._places.items()}

    @property
    def ranks(self) -> dict[int, Rank]:
        """Ranks that are in each row those of the order that it agrees with."""
        return {operator: self._rank_of(operator) for operator in self._rows}

    def _rank_of(self, operator: int) -> Rank:
        choice, orders = self._choices[operator], self._rows[operator]
        leading = choice.shape[: choice.dim]

        def rank(operator: int, value: torch.Tensor) -> torch.Tensor:
            if value.shape != (*leading, *choice.shape[choice.dim + 1 :], choice.shape[choice.dim]):
                return _rank(0, operator, value)
            which = orders.view(*leading, *(1 for _ in range(value.dim() - len(leading))))
            ranks = _rank(0, operator, value).expand(value.shape)
            for number in orders.unique().tolist():
                if number > 0:
                    ranks = torch.where(which == number, _rank(number, operator, value), ranks)
            return ranks

        return rank
