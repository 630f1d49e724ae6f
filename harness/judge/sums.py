"""Sums of outputs: what rounding moves element by element, held together.

Where rounding decides, an element may be whatever a sample says of it. That says nothing of elements together: of two
equal scores either may be the one that is chosen, and an output that chooses both has elements that all are told of. So
the sums of an output along each of its dimensions are held against those of the samples as well.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import torch

from harness.judge.conditioning import FACTOR, NEAREST_FAR, Other

MORE_OFTEN, A_FEW, OF = 3.0, 2, 16
"""So many times as many sums may be untold of as are of a sample by the others, and a few more, of so many each."""
_PIECE = 1 << 24
"""Elements that are summed at once."""

Allowed = Callable[[torch.Tensor], torch.Tensor]
"""What elements of these expected values may be off by where rounding does not move them."""


class Sums:
    """The sums along each dimension of one output of two dimensions or more, with what is said of them.

    `exact` and `like` are what is expected and the reference as written, `others` the samples, all of one shape. The
    sums of one that has no rows (of fewer dimensions that are larger than 1) tell nothing: it has none.
    """

    def __init__(self, like: torch.Tensor, exact: torch.Tensor, others: Sequence[Other], allowed: Allowed) -> None:
        self._exact, self._allowed = exact, allowed
        self._others = (Other(like, 1.0), *others)
        self._dims = [dim for dim, size in enumerate(exact.shape) if size > 1]

    def apart(self, output: torch.Tensor) -> tuple[int, int, int] | None:
        """A dimension, how many sums along it rounding does not explain, and of how many; None where it does.

        A sum may be off by what its elements may, and by `FACTOR` times what a sample moved it, for each element that
        is out of tolerance by its root: noise that has a direction adds up where a sample's cancels. A sample of many
        units of rounding counts once.
        """
        for dim in self._dims if len(self._dims) > 1 else ():
            right = self._along(dim, self._exact)
            within = self._along(dim, self._exact, self._allowed)
            errors = [(self._along(dim, other.outputs) - right).abs() for other in self._others]
            reaches = [
                error * (FACTOR if other.units <= NEAREST_FAR else 1.0)
                for error, other in zip(errors, self._others, strict=True)
            ]
            usual = 0
            for number, other in enumerate(self._others):
                if other.units <= 1:
                    rest = _largest([*reaches[:number], *reaches[number + 1 :]], like=right)
                    usual = max(usual, int((errors[number] > within + rest).sum()))
            moved = self._out_of_tolerance(dim, output).clamp_(min=1).sqrt_()
            error = (self._along(dim, output) - right).abs()
            untold = int((error > within + moved * _largest(reaches, like=right)).sum())
            if untold > math.ceil(MORE_OFTEN * usual) + min(A_FEW, right.numel() // OF):
                return dim, untold, right.numel()
        return None

    def _out_of_tolerance(self, dim: int, output: torch.Tensor) -> torch.Tensor:
        """How many elements of each sum are."""
        counts = (
            ((got - want).abs() > self._allowed(want)).sum(dim, dtype=torch.float64)
            for got, want in zip(_pieces(output), _pieces(self._exact), strict=True)
        )
        return _joined(dim, list(counts))

    @staticmethod
    def _along(dim: int, value: torch.Tensor, change: Allowed = lambda piece: piece) -> torch.Tensor:
        return _joined(dim, [change(piece).sum(dim) for piece in _pieces(value)])


def _pieces(value: torch.Tensor) -> Iterator[torch.Tensor]:
    """Rows of a tensor in float64, so many at once. What is not finite, and would leave no sum, counts as 0."""
    rows = max(1, _PIECE * len(value) // value.numel())
    return (piece.to(torch.float64).nan_to_num(0.0, 0.0, 0.0) for piece in value.detach().split(rows))


def _joined(dim: int, sums: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack(sums).sum(0) if dim == 0 else torch.cat(sums)


def _largest(values: Sequence[torch.Tensor], *, like: torch.Tensor) -> torch.Tensor:
    return torch.stack([torch.zeros_like(like), *values]).amax(0)
