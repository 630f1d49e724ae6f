"""Operands of which a kernel on a device would assert are told before it runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from harness.judge.in_range import InRange

X = torch.linspace(0.1, 0.9, 20).view(5, 4)
FAR = torch.tensor([[9]])
NONE = torch.zeros(1, 1)
RAISING: dict[str, Callable[[], Any]] = {
    "an index in brackets": lambda: X[torch.tensor([5])],
    "an index behind a mask": lambda: X[torch.ones(5).bool(), torch.tensor([4])],
    "an index that is written to": lambda: X.clone().index_put_((torch.tensor([-6]),), torch.zeros(4)),
    "rows that are selected": lambda: X.index_select(0, FAR[0]),
    "rows that are added to": lambda: X.clone().index_add_(0, FAR[0], X[:1]),
    "what is gathered": lambda: X.gather(1, FAR),
    "what is scattered": lambda: X.scatter(1, FAR, 1.0),
    "what is scattered and added": lambda: X.clone().scatter_add_(1, FAR, NONE),
    "a flat place": lambda: X.take(torch.tensor([20])),
    "a row of an embedding": lambda: F.embedding(FAR, X),
    "a row of a bag": lambda: F.embedding_bag(FAR, X),
    "a class": lambda: F.cross_entropy(X, torch.tensor([0, 1, 2, 3, 4])),
    "a probability of an entropy": lambda: F.binary_cross_entropy(X + 1, X),
    "a probability to draw by": lambda: torch.bernoulli(X - 1),
    "weights to draw by": lambda: torch.multinomial(-X, 1),
    "a mask of more than there is": lambda: X.masked_scatter(X > 0, torch.zeros(2)),
}
PASSING: dict[str, Callable[[], Any]] = {
    "a negative index": lambda: X[torch.tensor([-5, 4])],
    "a mask": lambda: X[X > 0.5],
    "an index in another place": lambda: X[:, torch.tensor([3])],
    "a class that is left out": lambda: F.cross_entropy(X, torch.tensor([0, 1, 2, 3, -100])),
    "probabilities": lambda: F.binary_cross_entropy(X, X),
    "weights": lambda: torch.multinomial(X, 1),
    "no index": lambda: X[torch.zeros(0, dtype=torch.int64)],
}


@pytest.mark.parametrize("of", RAISING)
def test_raises_for_what_no_kernel_can_do(of: str) -> None:
    with pytest.raises((IndexError, ValueError)) as raised, InRange():
        RAISING[of]()

    assert Path(raised.traceback[-1].path).name == "in_range.py"  # and not the operator itself


@pytest.mark.parametrize("of", PASSING)
def test_leaves_what_can_be_done_as_it_is(of: str) -> None:
    with InRange():
        got = PASSING[of]()

    if of != "weights":
        torch.testing.assert_close(got, PASSING[of]())


def test_operators_that_run_functions_run_as_they_would() -> None:
    with torch.no_grad(), InRange():
        got = torch.cond(X.sum() > 0, lambda x: x + 1, lambda x: x - 1, (X,))

    torch.testing.assert_close(got, X + 1)


def drops(value: torch.Tensor) -> torch.Tensor:
    value[:, 1] = value[:, 0]
    return value


LAYERS = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU())
WATCHED_ONCE: dict[str, Callable[[], Any]] = {
    "layers": lambda: LAYERS(X),
    "another type": lambda: X.double().float(),
    "a part that is written to": lambda: drops(X.clone()),
    "a recurrence": lambda: torch.nn.LSTM(4, 3)(X),
}
WATCHED_ALWAYS: dict[str, Callable[[], Any]] = {
    **PASSING,
    "a number": lambda: X.sum().item(),
    "a condition": lambda: X if X.sum() > 0 else -X,
    "what is not 0": lambda: X.nonzero(),
    "numbers in a new tensor": lambda: torch.tensor([X.sum(), X.max()]).tolist(),
    "how many are not 0": lambda: X.to_sparse()._nnz(),
    "different values": lambda: X.round().unique(),
    "a copy that may be elsewhere": lambda: X.to(device="cpu", dtype=torch.float64),
    "a function that an operator runs": lambda: torch.cond(X.sum() > 0, lambda x: x + 1, lambda x: x - 1, (X,)),
}


@pytest.mark.parametrize("of", [*WATCHED_ONCE, *WATCHED_ALWAYS])
def test_once_is_enough_where_nothing_goes_by_contents(of: str) -> None:
    with torch.no_grad(), InRange() as watch:
        {**WATCHED_ONCE, **WATCHED_ALWAYS}[of]()

    assert watch.is_enough == (of in WATCHED_ONCE)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_reference_on_a_device_raises_and_goes_on() -> None:
    values = torch.rand(8, device="cuda")
    with pytest.raises(IndexError), InRange():
        values[torch.tensor([8], device="cuda")]

    assert float(values.sum()) > 0
