"""Sampled outputs: a comparison at the places that were kept of a large output."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from harness.judge.correctness import Agreement, Disagreement, Expected, compare
from harness.judge.subject import Sampled
from harness.judge.tensors import at_places, leaves, overlap, same
from harness.schema.record import ToleranceName

NEAR = 0.01, 1e-4, 1e-6
"""So near elements tell one way to read an output from another; where as many are by one, the next: of few elements, or
where many are zeros, a wrong way may have as many."""
MOSTLY_NEAR = 0.75
"""What is read in a wrong way agrees where both have zeros, say half of an output."""


def compare_kept(output: Any, expected: Expected, tolerance: ToleranceName) -> Agreement | Disagreement:
    """Hold an output against what is expected of it (`correctness.compare`), at the places that were kept."""
    return compare(*at_kept_places(output, expected), tolerance)


def nearest(outputs: Sequence[Any], expected: Expected) -> Any:
    """Of several ways to read an output the one of which most, by its share, is nearest to what the reference says."""
    return max(outputs, key=lambda output: _near(*kept_of(output, expected.like))) if len(outputs) > 1 else outputs[0]


def lies_so(output: Any, expected: Expected) -> bool:
    """Whether an output that is wrong was read as it lies: most of it is what the reference says."""
    return _near(*kept_of(output, expected.like))[-1] >= MOSTLY_NEAR


def _near(output: Any, like: Any) -> list[float]:
    """The mean over tensors of the share of elements that agree to each of NEAR; of one of another shape or dtype none
    does.
    """
    pairs = list(zip(leaves(output), leaves(like), strict=False))
    alike = [
        (_comparable(got.to(want.device)), _comparable(want))
        for got, want in pairs
        if got.shape == want.shape and got.dtype == want.dtype and not got.is_meta and got.numel()
    ]

    def share(apart: float) -> float:
        near = (torch.isclose(got, want, rtol=apart, atol=apart, equal_nan=True) for got, want in alike)
        return sum(one.double().mean().item() for one in near) / max(1, len(pairs))

    return [share(apart) for apart in NEAR]


def is_as_written(output: Any, expected: Expected) -> bool:
    """Whether an output is what the reference as written says, bit for bit, at the places that were kept."""
    return same(*kept_of(output, expected.like))


def kept_of(output: Any, like: Any) -> tuple[Any, Any]:
    """An output and what the reference as written says, as `at_kept_places` has them."""
    return _narrowed(output, like, like)[:2]


def at_kept_places(output: Any, expected: Expected) -> tuple[Any, Expected]:
    """An output and what is expected of it, with only the kept elements where it is sampled.

    Each sampled tensor becomes one of one dimension, and so does what is expected in its place. One of another shape
    or dtype than expected, or whose elements share memory where those of the reference do not, becomes a tensor without
    contents, which a comparison names as what it is.
    """
    actual, like, exact = _narrowed(output, expected.like, expected.exact)
    others = tuple(
        replace(other, outputs=_narrowed(output, expected.like, other.outputs)[2]) for other in expected.others
    )
    return actual, replace(expected, like=like, exact=exact, others=others)


def _comparable(value: torch.Tensor) -> torch.Tensor:
    """A float of one byte as one of four: torch compares none of these."""
    return value.float() if value.is_floating_point() and value.element_size() == 1 else value


def _narrowed(actual: Any, like: Any, exact: Any) -> tuple[Any, Any, Any]:
    if isinstance(actual, Sampled):
        return _narrowed_tensor(actual, like, exact)
    if isinstance(actual, dict) and isinstance(like, dict) and actual.keys() == like.keys():
        found = {key: _narrowed(actual[key], like[key], exact[key]) for key in actual}
        return tuple({key: parts[place] for key, parts in found.items()} for place in range(3))  # type: ignore[return-value]
    if isinstance(actual, list | tuple) and isinstance(like, list | tuple) and len(actual) == len(like):
        items = [_narrowed(*parts) for parts in zip(actual, like, exact, strict=True)]
        columns = [[item[place] for item in items] for place in range(3)]
        kinds = (type(actual), list if isinstance(like, list) else tuple, list)
        return tuple(kind(column) for kind, column in zip(kinds, columns, strict=True))  # type: ignore[return-value]
    return actual, like, exact


def _narrowed_tensor(actual: Sampled, like: Any, exact: Any) -> tuple[Any, Any, Any]:
    if not isinstance(like, torch.Tensor) or tuple(like.shape) != actual.shape or like.dtype != actual.values.dtype:
        return torch.empty(actual.shape, dtype=actual.values.dtype, device="meta"), like, exact
    if actual.strides and overlap(actual.shape, actual.strides) and not overlap(like.shape, like.stride()):
        laid_out = torch.empty_strided(actual.shape, actual.strides, dtype=like.dtype, device="meta")
        return laid_out, like, exact
    places = actual.places.to(like.device)
    if not like.dim():  # a single number has no index
        return actual.values.to(like.device), like.reshape(1)[places], exact.reshape(1)[places]
    narrowed = _at(like, places, actual.shape)
    return actual.values.to(like.device), narrowed, narrowed if exact is like else _at(exact, places, actual.shape)


def _at(value: torch.Tensor, places: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """`at_places` of places within a tensor of that shape: of one that has it none is beyond it."""
    if tuple(value.shape) == shape and value.is_contiguous():
        return value.view(-1)[places]
    return at_places(value, places)
