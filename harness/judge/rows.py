"""Rows: which inputs belong to some rows of the outputs, where rows do not mix.

What does not fit into memory as a whole is then computed some rows at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.judge.correctness import Agreement, Expected, compare
from harness.judge.tensors import leaves, mapped

FAR_ABOVE = 4.0
"""Of what the largest element of an input is: the mean of it and of any row lies beyond all elements."""
Taken = slice | list[int]
"""Which rows, and how often each."""


@dataclass(frozen=True)
class Rows:
    """The places of the inputs whose first dimension is that of all outputs, and how many rows that is.

    `tried` are the rows of which it was found that they make theirs alone.
    """

    places: frozenset[int]
    count: int
    tried: Taken

    def of(self, inputs: Sequence[Any], taken: Taken) -> list[Any]:
        """The inputs from which the model makes these rows of its outputs."""
        return [value[taken] if place in self.places else value for place, value in enumerate(inputs)]

    def each(self, inputs: Sequence[Any], change: Callable[[list[Any], int], list[Any]]) -> list[Any]:
        """Inputs with `change` of each row by itself, which is told its number, and of what belongs to no row."""

        def changed(place: int, value: Any) -> Any:
            if place not in self.places:
                return change([value], 0)[0]
            return torch.cat([change([row], number)[0] for number, row in enumerate(value.split(1))])

        return [changed(place, value) for place, value in enumerate(inputs)]


@dataclass(frozen=True)
class Blocks:
    """The parts in which outputs are computed one after the other: some rows each, or all at once."""

    rows: Rows | None = None
    taken: tuple[slice, ...] = (slice(None),)

    def of(self, inputs: Sequence[Any]) -> Iterator[list[Any]]:
        """The inputs of each part."""
        for taken in self.taken:
            yield list(inputs) if self.rows is None else self.rows.of(inputs, taken)


WHOLE = Blocks()


def in_blocks(rows: Rows, parts: int) -> Blocks | None:
    """At least so many parts of about equal size; None where there are not so many rows."""
    size = rows.count // parts
    starts = range(0, rows.count, size) if size else ()
    return Blocks(rows, tuple(slice(start, start + size) for start in starts)) if size else None


def of_outputs(outputs: Any, taken: Taken) -> Any:
    """Some rows of outputs."""
    return mapped(outputs, lambda leaf: leaf[taken])


def joined(parts: Sequence[Any]) -> Any:
    """Outputs of which the blocks of all rows are given, in order."""
    columns = zip(*map(leaves, parts), strict=True)
    return mapped(parts[0], lambda leaf: torch.cat(next(columns)))


def unmixed(as_written: Callable[[list[Any]], Any], inputs: Any, like: Any, wanted: int) -> Rows | None:
    """What belongs to the rows of `like`; None where they mix.

    Inputs and outputs of the rows that are tried have about `wanted` elements together, or are one row.
    `as_written` gives the reference's outputs, or None where it raises; `like` are those of `inputs`.
    """
    if (batch := count_of(like)) < 2:
        return None
    size = max(1, min(batch // 2, wanted * batch // max(1, sum(leaf.numel() for leaf in leaves([inputs, like])))))
    start = (batch - size + 1) // 2  # of a scan the first rows alone are those of all
    return alone_as_among_others(as_written, inputs, like, slice(start, start + size))


def alone_as_among_others(as_written: Callable[[list[Any]], Any], inputs: Any, like: Any, tried: Taken) -> Rows | None:
    """What belongs to the rows of `like`; None where those that are tried come out otherwise without the others."""
    if not (batch := count_of(like)) or not isinstance(inputs, list):
        return None
    alike = [place for place, value in enumerate(inputs) if _rows_of(value) == batch]
    for places in (alike, alike[:1]):
        rows = Rows(frozenset(places), batch, tried)
        alone = as_written(rows.of(inputs, tried)) if places else None
        if alone is not None:
            some = of_outputs(like, tried)
            if isinstance(compare(alone, Expected(like=some, exact=some)), Agreement):
                return rows
    return None


def stays_beside_others(
    as_written: Callable[[list[Any]], Any], rows: Rows, inputs: Sequence[Any], like: Any, row: int
) -> bool:
    """Whether a row comes out as it does among all others beside one that is far above them, far below, or zero.

    A threshold that all rows share may show in nothing else: copies of a row, of a similar mean, leave each of its
    elements on the side of it that it is on.
    """
    some = of_outputs(like, [row])
    for far in (FAR_ABOVE, -FAR_ABOVE, 0.0):
        found = as_written(_beside(rows, inputs, row, far))
        alone = None if found is None else compare(of_outputs(found, [0]), Expected(like=some, exact=some))
        if not isinstance(alone, Agreement):
            return False
    return True


def _beside(rows: Rows, inputs: Sequence[Any], row: int, far: float) -> list[Any]:
    """Inputs of a row and of another, whose real values all lie so many times as far from 0 as any of the input's."""
    two = rows.of(inputs, [row, row])
    for place in rows.places:
        if two[place].is_floating_point():
            two[place][1] = far * float(inputs[place].abs().nan_to_num(0.0, 0.0, 0.0).max())
    return two


def _rows_of(value: Any) -> int:
    return int(value.shape[0]) if isinstance(value, torch.Tensor) and value.dim() else 0


def count_of(outputs: Any) -> int:
    """The rows that all output tensors have; 0 where they differ, or one has none."""
    counts = {_rows_of(leaf) for leaf in leaves(outputs)}
    return counts.pop() if len(counts) == 1 else 0
