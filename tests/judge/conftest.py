"""A subject that is a plain function, so that all of the judge's logic runs on a CPU without a process."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import pytest
import torch

from harness.judge.audit import audit
from harness.judge.bench import Bench
from harness.judge.inputs import InputSets, Staged
from harness.judge.judge import Finding, judge
from harness.judge.problem import load_problem
from harness.judge.subject import Round, Stepped, Trace
from harness.judge.tensors import in_each, leaves
from harness.judge.timing import Plan
from harness.transport.memory import HostArena, view
from harness.transport.values import decode, sample_of, with_plain
from harness.transport.worker_messages import Order


class FunctionSubject:
    """Calls `build(seed)` for a model and the model in this process."""

    def __init__(self, build: Callable[[int], Callable[..., Any]]) -> None:
        self._build = build
        self._model: Callable[..., Any] = lambda: None
        self._inputs: list[list[Any]] = []
        self._plain_of: Callable[[Sequence[int]], Sequence[Sequence[Any]] | None] = lambda slots: None
        self._outputs: list[Any] = []
        self.rounds = 0
        self.orders: list[Order] = []
        self.weights: Mapping[str, str] = {}
        self.cuda_error = 0
        self.looked_at: list[Mapping[int, Sequence[Any]]] = []
        self.spared: frozenset[int] = frozenset()

    def construct(self, seed: int) -> dict[str, tuple[str, tuple[int, ...]]]:
        self._model = self._build(seed)
        model = self._model
        named = [*model.named_parameters(), *model.named_buffers()] if isinstance(model, torch.nn.Module) else ()
        self.weights = {name: sample_of(value) for name, value in named}
        return {name: (str(value.dtype).removeprefix("torch."), tuple(value.shape)) for name, value in named}

    def take_weights(self, weights: dict[str, torch.Tensor]) -> None:
        assert isinstance(self._model, torch.nn.Module)
        named = dict([*self._model.named_parameters(), *self._model.named_buffers()])
        with torch.no_grad():
            for name, value in weights.items():
                named[name].copy_(value)

    def attach(self, sets: InputSets) -> None:
        raw = sets.arena.bytes()
        self._plain_of = sets.plain_of
        self._inputs = [decode(value, lambda leaf: view(raw, leaf, leaf.offset)) for value in sets.values]

    def detach(self) -> None:
        self._inputs, self._outputs = [], []

    def freeze(self) -> None:
        pass

    def rests(self) -> bool:
        return True

    def wake(self) -> None:
        pass

    def settle(self) -> None:
        pass

    def round(
        self,
        slots: Sequence[int],
        *,
        seed: int,
        hold: bool = False,
        order: Order | None = None,
        spin_ms: float | None = None,
    ) -> Round:
        self.rounds += 1
        self.orders += [order] if order is not None else []
        torch.manual_seed(seed)
        started = time.monotonic()
        for slot, plain in zip(slots, self._plain_of(slots) or (), strict=False):
            self._inputs[slot] = with_plain(self._inputs[slot], iter(plain))
        with torch.no_grad():
            self._outputs = [self._model(*self._inputs[slot]) for slot in slots]
        return Round(time.monotonic() - started, len(slots))

    def expect_steps(self, slots: Sequence[int], *, seed: int | None, empty: bool = False) -> None:
        self.kept_steps: list[Any] = []
        self.is_empty = empty

    def step(self, slot: int, *, seed: int, last: bool = False) -> float:
        if self.is_empty and self.kept_steps:
            return time.monotonic()
        self.round([slot], seed=seed, hold=last)
        self.kept_steps += in_each(self._outputs, torch.clone)
        return time.monotonic()

    def step_outputs(self, calls: Sequence[int]) -> dict[int, list[Any]]:
        return {call: [self.kept_steps[call]] for call in calls}

    def copies_of_a_look(self) -> int:
        return 0

    def steps(self, staged: Sequence[Staged], *, seed: int, own_seeds: Sequence[int], copies: int) -> Stepped:
        raise AssertionError("on a host calls come by `step`")

    def look_for(self, calls: int) -> None:
        pass

    def look_at(self, places: Mapping[int, Sequence[Any]]) -> None:
        self.looked_at.append(places)

    def snapshot(self, calls: Sequence[int]) -> None:
        pass

    def spoil(self) -> None:
        pass

    def spare(self, places: frozenset[int]) -> None:
        self.spared = places

    def shares_outputs(self) -> bool:
        of_calls = [
            {leaf.data_ptr() for place, leaf in enumerate(leaves(output)) if place not in self.spared}
            for output in self._outputs
        ]
        return bool(set.intersection(*of_calls) - {leaf.data_ptr() for leaf in leaves(self._inputs)})

    def loop_s(self) -> float:
        return 0.0

    def aside_s(self) -> float:
        return 0.0

    def survey(self, calls: Sequence[int]) -> None:
        pass

    def outputs(self, calls: Sequence[int], *, like: Any = None) -> list[Any]:
        return [self._outputs[call] for call in calls]

    def release(self, *, poison: bool = False, trim: bool = False) -> None:
        self._outputs = []

    def trace(self, slots: Sequence[int]) -> Trace:
        return Trace(us=0.0, calls=len(slots), kernels=())

    def end(self) -> None:
        self.detach()


class QuietDevice:
    """A device that nothing is known of."""

    def evict(self) -> None:
        pass

    def touch(self) -> None:
        pass

    def glance(self) -> float:
        return 0.0

    def trim(self) -> None:
        pass

    def settle(self) -> None:
        pass

    def awake(self) -> AbstractContextManager[None]:
        return nullcontext()

    def read(self) -> None:
        return None


@pytest.fixture
def bench() -> Bench:
    return Bench(torch.device("cpu"), HostArena, QuietDevice())


@pytest.fixture
def judge_function(bench: Bench) -> Callable[..., Finding]:
    """Judge a Python function or a factory of models against a problem's source, timed if asked."""

    def run(
        source: str,
        forward: Any,
        *,
        timed: bool = False,
        models: bool = False,
        looked_at: Any = None,
        by_name: Mapping[str, str] | None = None,
        orders_s: float = 0.0,
        cuda_error: int = 0,
        singles: bool = False,
        change: Callable[[FunctionSubject], None] = lambda candidate: None,
    ) -> Finding:
        problem = load_problem("test", source, device=torch.device("cpu"))
        candidate = FunctionSubject(forward if models else lambda seed: forward)
        candidate.cuda_error = cuda_error
        change(candidate)
        candidate.looked_at = candidate.looked_at if looked_at is None else looked_at

        @contextmanager
        def reference() -> Iterator[FunctionSubject]:
            yield FunctionSubject(lambda seed: problem.model(seed, problem.init_arguments()))

        return judge(
            problem,
            candidate,
            reference if timed else None,
            audit=audit(problem),
            bench=bench,
            plan=Plan(budget_s=0.2, singles=singles),
            by_name=by_name,
            orders_s=orders_s,
        )

    return run


@pytest.fixture
def judge_in_orders(bench: Bench) -> Callable[..., tuple[Finding, list[Order]]]:
    """Judge a function of the inputs and an order, as if its kernels were emulated; and the orders that were asked."""

    def run(source: str, answer: Callable[..., Any], *, orders_s: float = 1e6) -> tuple[Finding, list[Order]]:
        problem = load_problem("test", source, device=torch.device("cpu"))
        candidate = FunctionSubject(lambda seed: lambda *inputs: answer(*inputs, candidate.orders[-1]))
        finding = judge(
            problem, candidate, None, audit=audit(problem), bench=bench, plan=Plan(budget_s=0.1), orders_s=orders_s
        )
        return finding, candidate.orders

    return run
