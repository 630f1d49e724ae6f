"""The oracle: what the reference says of given inputs, in float64 beside the reference as written."""

import copy
import math
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from harness.errors import ProblemError
from harness.judge.conditioning import EXPLAINED, SCALES, Jittered, Mixes, Other, in_tf32, moved
from harness.judge.correctness import Expected
from harness.judge.in_range import InRange, cannot_be_watched
from harness.judge.operator_mode import OperatorMode
from harness.judge.problem import LoadedProblem, line_in, seed_everything
from harness.judge.rounding import Convolutions, Operators, coarse
from harness.judge.rows import (
    WHOLE,
    Blocks,
    Rows,
    alone_as_among_others,
    count_of,
    in_blocks,
    joined,
    of_outputs,
    stays_beside_others,
    unmixed,
)
from harness.judge.sampled import at_kept_places
from harness.judge.tensors import in_each, leaves, mapped, pieces, storages
from harness.judge.ties import Choice, InOrder, Wishes, same_choices
from harness.schema.problem import Precision

FLOAT64_BYTES = 4 << 30
"""Inputs and outputs that would take more than this in float64 are judged by the reference as written."""
DEVICE_SHARE, SLICE_ELEMENTS = 0.5, 1 << 21
"""Once something is out of tolerance, float64 and what is beside it may take this share of a device's free memory, at a
time, where rows do not mix; which is tried by rows of so many elements."""
FLOAT64_SECONDS = 0.5
"""Once a float64 call took longer than this, later trials are judged by the reference as written."""
QUICK_FLOAT64_SECONDS = 5e-3
"""Calls of timed rounds are judged in float64 where it takes less than this; there are hundreds of them."""
SLOW_FLOAT64_SECONDS = 2.0
"""Once a float64 call took longer than this it is not asked how rounding moves its outputs either."""
HARDLY_EXPLAINED = 256.0
"""Where the reference as written is off by more than so many times what a sample moves in all, float64 is another
function and is not asked how rounding falls. Of outputs that saturate some samples move hardly any elements."""
FEWEST_OTHERS = 2
"""So many samples of how rounding may fall are taken whatever the time; then as many as there is time for."""


@dataclass(frozen=True)
class Otherwise:
    """What the reference says of some inputs where its rounding falls otherwise.

    `exact` are float64's outputs, None where it has none. `first` is the sample of the first of `SCALES`; `sample`
    makes one more, by so many units of rounding that fall as a seed says, None where that is of no use.
    """

    exact: Any
    first: Other
    sample: Callable[[float, int], Other | None]

    def samples(self, until: float) -> Iterator[Other]:
        """Those of `SCALES`: `FEWEST_OTHERS`, and then as many as come before `until`, in CPU time of this process."""
        yield self.first
        yield from self.further(SCALES[1:], until, fewest=FEWEST_OTHERS - 1)

    def further(self, scales: Sequence[float], until: float, *, fewest: int = FEWEST_OTHERS) -> Iterator[Other]:
        """One by so many units each: `fewest` at least, and then as long as it is before `until`.

        A host that others keep busy leaves as many samples: time is of this process's cores.
        """
        for count, units in enumerate(scales):
            if count >= fewest and time.process_time() > until:
                return
            found = self.sample(units, secrets.randbits(62))
            if found is not None:
                yield found


FEWEST_ROWS, COPIES = 16, 4
"""Where outputs have so many rows, one is asked by so many copies of it: what takes a quarter of a call at most."""


@dataclass(frozen=True)
class Copies:
    """What the reference says of `COPIES` copies of one row, in float64 where it has that.

    `convolves`: it does so by convolutions. `samples` are what it says where its rounding falls otherwise, by so many
    units as a seed says: in float64, and as written on inputs that are moved, each copy by itself.
    """

    exact: Any
    convolves: bool
    samples: Callable[[float, int], Iterator[Other | None]]


class ReferenceRaised(Exception):
    """The reference raised on these inputs: no trial can be made of them."""


class Oracle:
    """The reference with the weights of one seed. One that draws random numbers (`random`) has no float64.

    There it draws others, and what they are apart would pass for the reference's own error.
    """

    def __init__(self, problem: LoadedProblem, arguments: list[Any], seed: int, *, random: bool = False) -> None:
        self._problem = problem
        self.model = problem.model(seed, arguments)
        self._double: torch.nn.Module | None = None
        self._affordable = True
        self._possible = not random
        self.random = random
        self._reached: tuple[int, int, list[torch.Tensor]] | None = None
        self._double_s = 0.0
        self._same_function = False
        self._by_rounding: frozenset[int] = frozenset()
        self._by_element = False
        self._convolves = True
        self._watches = problem.device.type == "cuda"  # where a kernel's assertion would end this process
        self._rows: Rows | None = None
        self.changes_inputs = False
        self.aliases_inputs = False

    def expected(
        self,
        inputs: list[Any],
        *,
        seed: int = 0,
        calls_before: int = 0,
        quick: bool = False,
        widened: bool = True,
    ) -> Expected:
        """The reference's outputs with torch's generators seeded by `seed`, for references that draw random numbers.

        So many calls before this one have drawn under the same seed; how much they draw is taken to depend on shapes
        alone. Asked for the calls of a round in order, it makes each of them once. `inputs` may be changed by it, which
        `changes_inputs` then says, and are in `Expected.left`; `aliases_inputs` says that outputs share memory with
        inputs. `quick` leaves float64 out where it takes long, and does not ask again whether rounding makes it differ
        from the outputs; where it is not `widened` float64 may be asked later (`widened`). Raises ReferenceRaised.
        """
        left_out = calls_before or self._is_too_slow(quick) or not widened
        doubled = None if left_out else self._doubled(inputs)  # before they can be changed
        if not widened and self._fits(inputs):
            self._made_double()  # before it is called: it may keep what it made of its weights then
        self._draw_as_after(calls_before, seed, inputs)
        versions = [leaf._version for leaf in leaves(inputs)]
        like = self._call(self.model, inputs)
        if self.random:
            self._reached = seed, calls_before + 1, _states(self._problem.device)
        if [leaf._version for leaf in leaves(inputs)] != versions:
            self.changes_inputs = True
        if storages(like) & storages(inputs):
            self.aliases_inputs = True
        exact = None if doubled is None else self._in_double(doubled, like, seed, quick=quick)
        left = Expected(inputs, inputs if exact is None else doubled) if self.changes_inputs else None
        may_widen = not widened and self.repeats and self._affordable
        return Expected(like=like, exact=like if exact is None else exact, left=left, may_widen=may_widen)

    def widened(self, expected: Expected, inputs: list[Any], *, seed: int, quick: bool) -> Expected:
        """What `expected` says of these inputs, with float64 beside if that is to be had; for what may be widened."""
        doubled = None if self._is_too_slow(quick) else self._doubled(inputs)
        exact = None if doubled is None else self._in_double(doubled, expected.like, seed, quick=quick)
        return Expected(like=expected.like, exact=expected.like if exact is None else exact)

    def _is_too_slow(self, quick: bool) -> bool:
        """Whether float64 took too long before for what is to be quick."""
        return quick and self._double_s > QUICK_FLOAT64_SECONDS

    def _draw_as_after(self, calls: int, seed: int, inputs: list[Any]) -> None:
        """Bring torch's generators to where they are after so many calls under a seed."""
        done = 0
        if self._reached is not None and self._reached[0] == seed and self._reached[1] <= calls:
            _, done, states = self._reached
            _go_on_from(states, self._problem.device)
        else:
            seed_everything(seed)
        for _ in range(done, calls):
            self._call(self.model, inputs)

    def coarse(self, output: Any, expected: Expected, inputs: list[Any], *, most_s: float) -> str | None:
        """Which smaller type's rounding the errors of `output` are; None where none, or not to be told (`rounding`).

        `output` and `expected` may be narrowed to sampled elements. Takes some float64 calls, none where one takes
        longer than `most_s`.
        """
        if self._double is None or not self._same_function or self._double_s > most_s or self._by_element:
            return None

        def in_float64(mode: OperatorMode) -> Any:
            doubled = self._doubled(inputs)
            if doubled is None or self._double is None:
                return None
            with mode:
                result = self._call(self._double, doubled)
            if not _same_form(expected.like, result):  # how many elements there are, rounding decides
                return None
            return at_kept_places(output, replace(expected, exact=result))[1].exact

        actual, narrowed = at_kept_places(output, expected)
        operators = Operators()
        found = coarse(actual, narrowed.like, in_float64, operators)
        self._by_element = operators.ran and not operators.products | operators.sums
        return found

    def otherwise(self, like: Any, inputs: list[Any], *, seed: int) -> "Otherwise | None":
        """What the reference says of these inputs where its rounding falls otherwise; None where it cannot be asked.

        For a float32 reference that is float64 with the rounding of float32 at every operator (`Jittered`); where that
        cannot be, costs too much, or is another function on these inputs, the reference as written on inputs moved by
        steps of their type, if it adds or multiplies elements of one tensor at all. `like` is what the reference as
        written says; samples of another form are none. `inputs` are not changed, and are to stay as they are while
        samples are taken.
        """
        blocks = self._blocks(inputs, like, seed)
        if blocks is None:
            return None
        started = time.monotonic()
        exact = self._again(self._double, inputs, seed, blocks) if self._has_double() else None
        if exact is not None and self._problem.device.type == "cuda":  # where no trial may have timed it
            torch.cuda.synchronize()
            if (seconds := time.monotonic() - started) > SLOW_FLOAT64_SECONDS:
                self._double_s, exact = seconds, None
        if exact is not None and not _same_form(like, exact):
            exact = None
        far = frozenset() if exact is None else _far(like, exact)
        if exact is not None and _is_float32([like, inputs, list(self.model.parameters())]):
            first = self._jittered(like, inputs, seed, SCALES[0], secrets.randbits(62), blocks=blocks)
            if first is not None:
                untold = far - _explained(first, like, exact, HARDLY_EXPLAINED)
                jittered = partial(self._jittered, like, inputs, seed, blocks=blocks)
                if not untold:
                    return Otherwise(exact, first, jittered)
                if told := _of_floats(like) - untold:
                    stepped = partial(self._moved, like, inputs, seed, blocks=blocks)
                    return _in_part(told, like, Otherwise(exact, first, jittered), stepped)
        exact = None if far else exact
        mixing = Mixes()
        with mixing:
            self._again(self.model, inputs, seed, blocks)
        first = (
            self._moved(like, inputs, seed, SCALES[0], secrets.randbits(62), blocks=blocks) if mixing.found else None
        )
        if first is None:
            return None
        return Otherwise(exact, first, partial(self._moved, like, inputs, seed, blocks=blocks))

    def copies(self, like: Any, inputs: list[Any], row: int, *, seed: int) -> Copies | None:
        """What it says of copies of one row of these inputs; None where there are few rows, or they are seen to mix.

        They do not where copies alone come out as the row does among all others, and it does so beside far ones too.
        """
        if count_of(like) < FEWEST_ROWS:
            return None
        convolutions, taken = Convolutions(in_tf32=False), [row] * COPIES

        def as_written(some: list[Any]) -> Any:
            with convolutions:
                return self._again(self.model, some, seed)

        rows = alone_as_among_others(as_written, inputs, like, taken)
        if rows is None or not stays_beside_others(as_written, rows, inputs, like, row):
            return None
        given, written = rows.of(inputs, taken), of_outputs(like, taken)
        exact = self._again(self._double, given, seed) if self._has_double() else None
        if not _same_form(written, exact):
            exact = None
        float32 = _is_float32([like, inputs, list(self.model.parameters())])

        def samples(units: float, chance: int) -> Iterator[Other | None]:
            if exact is not None and float32:
                yield self._jittered(written, given, seed, units, chance, always=True)
            stepped = rows.each(given, lambda some, number: moved(some, chance + number, int(units)))
            outputs = self._again(self.model, stepped, seed)
            yield Other(outputs, units) if _same_form(written, outputs) else None

        return Copies(written if exact is None else exact, convolutions.found, samples)

    def in_class(self, like: Any, inputs: list[Any], *, seed: int, tf32: bool) -> Any:
        """The outputs as they would be written with convolutions in tf32 throughout, or on a GPU without any.

        PyTorch takes convolutions of float32 in tf32 on a GPU where cuDNN picks a kernel that does, which goes by sizes
        and layouts, and never on a CPU. In tf32 they are had by rounding their operands, in float64 where that can be
        had; without it by telling cuDNN. As the dtypes of `like` hold them. None where nothing in the reference may be
        in tf32, and where it cannot be had.
        """
        if not self._convolves or not _is_float32([like, inputs, list(self.model.parameters())]):
            return None
        on_gpu = self._problem.device.type == "cuda"
        if not (torch.backends.cudnn.allow_tf32 if on_gpu else tf32):
            return None
        too_large = 4 * (_size_in_double(inputs) + _size_in_double(like)) > FLOAT64_BYTES
        narrow = too_large or not self._has_double() or not self._same_function
        model = self.model if narrow or not tf32 else self._double
        mode = Convolutions(in_tf32=tf32)
        with _without_tf32(), mode:
            found = self._again(model, inputs, seed)
        self._convolves = mode.found or found is None
        return _narrowed(found, like) if mode.found and _same_form(like, found) else None

    def in_order(
        self, expected: Expected, inputs: list[Any], wishes: Wishes, *, seed: int
    ) -> tuple[Expected, list[Choice]] | None:
        """What is expected where equal elements come in the order that is wished for, and what was chosen (`ties`).

        As written, and in float64 where `expected` has that and chooses the same there: what is equal as written need
        not be so in float64, and what the two are apart then is no rounding. None where it cannot be had. Where no
        choice is open it is `expected` itself, and none.
        """
        written, wide = InOrder(wishes), InOrder(wishes)
        with written:
            exact = like = self._again(self.model, inputs, seed)
        if not written.choices:
            return expected, []
        if not _same_form(expected.like, like):
            return None
        if expected.exact is not expected.like:
            with wide:
                exact = self._again(self._double, inputs, seed)
            if not _same_form(like, exact) or not same_choices(written.choices, wide.choices):
                exact = like
        return replace(expected, like=like, exact=exact, others=()), written.choices

    @property
    def repeats(self) -> bool:
        """Whether it can be asked again of the same inputs: it has changed none, and draws no random numbers."""
        return not (self.changes_inputs or self.random)

    @property
    def title(self) -> str:
        """The problem's."""
        return self._problem.title

    @property
    def precision(self) -> Precision:
        """That of weights and inputs."""
        return self._problem.precision

    @property
    def affordable(self) -> bool:
        """Whether later trials may have float64."""
        return self._affordable

    def as_written(self, inputs: list[Any], seed: int) -> Any:
        """The outputs as written, for a copy of the inputs; None where it raises."""
        return self._again(self.model, inputs, seed)

    def in_float64(self, inputs: list[Any], seed: int) -> Any:
        """The outputs in float64, however long that takes; None where it has none."""
        return self._again(self._double, inputs, seed) if self._made_double() else None

    def off(self, like: Any, inputs: list[Any], *, seed: int) -> float | None:
        """How far the outputs as written are off float64 in all, as a share of their size; None where it has none."""
        if 4 * (_size_in_double(inputs) + _size_in_double(like)) > FLOAT64_BYTES:
            return None
        exact = self.in_float64(inputs, seed) if self._has_double() else None
        return _apart(like, exact) if _same_form(like, exact) else None

    def _has_double(self) -> bool:
        """Whether float64 can be asked how rounding falls; never of a reference that draws random numbers."""
        return self._possible and self._double_s <= SLOW_FLOAT64_SECONDS and self._made_double()

    def _blocks(self, inputs: list[Any], like: Any, seed: int) -> Blocks | None:
        """In which parts float64 finds room beside it and samples of the outputs; None where rows mix."""
        room = FLOAT64_BYTES
        if self._problem.device.type == "cuda":
            torch.cuda.empty_cache()
            free = torch.cuda.mem_get_info(self._problem.device)[0] - 3 * _size_in_double(like)
            room = max(room, int(DEVICE_SHARE * free))
        parts = math.ceil(4 * (_size_in_double(inputs) + _size_in_double(like)) / room)
        if parts <= 1:
            return WHOLE
        if self._rows is not None:
            return in_blocks(self._rows, parts) if self._is_unmixed_again(self._rows, inputs, like, seed) else None
        if not self.random:
            self._rows = unmixed(lambda some: self._again(self.model, some, seed), inputs, like, SLICE_ELEMENTS)
        return None if self._rows is None else in_blocks(self._rows, parts)

    def _is_unmixed_again(self, rows: Rows, inputs: list[Any], like: Any, seed: int) -> bool:
        """Whether rows that did not mix on other contents do not on these: a maximum may have been below a bound."""
        alone, some = self._again(self.model, rows.of(inputs, rows.tried), seed), of_outputs(like, rows.tried)
        return alone is not None and _same_form(some, alone) and _is_near(some, alone)

    def _again(
        self,
        model: torch.nn.Module | None,
        inputs: list[Any],
        seed: int,
        blocks: Blocks = WHOLE,
        *,
        narrow: bool = False,
    ) -> Any:
        """The outputs for a copy of the inputs, widened where the model is; `narrow` leaves no float64 in them.

        None where it raises, or blocks take longer than `SLOW_FLOAT64_SECONDS`.
        """
        found: list[Any] = []
        started = time.monotonic()
        for given in blocks.of(inputs):
            if found and time.monotonic() - started > SLOW_FLOAT64_SECONDS:
                return None
            outputs = self._once(model, given, seed)
            if outputs is None:
                return None
            found.append(mapped(outputs, _in_float32) if narrow else outputs)
            if blocks is not WHOLE and self._problem.device.type == "cuda":
                torch.cuda.synchronize()
        return found[0] if len(found) == 1 else joined(found)

    def _once(self, model: torch.nn.Module | None, inputs: list[Any], seed: int) -> Any:
        assert model is not None
        given = in_each(inputs, _doubled) if model is self._double else _copied(inputs)
        seed_everything(seed)
        try:
            return self._call(model, given)
        except (ReferenceRaised, RuntimeError) as error:
            if isinstance(error, torch.OutOfMemoryError):
                torch.cuda.empty_cache()
            return None

    def _jittered(
        self,
        like: Any,
        inputs: list[Any],
        seed: int,
        units: float,
        chance: int,
        *,
        blocks: Blocks = WHOLE,
        always: bool = False,
    ) -> Other | None:
        mode = Jittered(chance, units, in_tf32(self._problem.device), always=always)
        with mode:
            outputs = self._again(self._double, inputs, seed, blocks, narrow=True)
        return Other(outputs, units) if mode.noisy and outputs is not None and _same_form(like, outputs) else None

    def _moved(
        self,
        like: Any,
        inputs: list[Any],
        seed: int,
        units: float,
        chance: int,
        *,
        blocks: Blocks = WHOLE,
    ) -> Other | None:
        outputs = self._again(self.model, moved(inputs, chance, int(units)), seed, blocks)
        return Other(outputs, units) if outputs is not None and _same_form(like, outputs) else None

    def shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Parameters and buffers of the reference by name: dtype and shape."""
        named = self.weights().items()
        return {name: (str(value.dtype).removeprefix("torch."), tuple(value.shape)) for name, value in named}

    def weights(self) -> dict[str, torch.Tensor]:
        """Parameters and buffers of the reference by name, as they are now."""
        return dict([*self.model.named_parameters(), *self.model.named_buffers()])

    def _doubled(self, inputs: list[Any]) -> list[Any] | None:
        """The inputs in float64, and the model beside; None where float64 is not to be had, or not affordable."""
        return in_each(inputs, _doubled) if self._fits(inputs) and self._made_double() else None

    def _fits(self, inputs: list[Any]) -> bool:
        if 2 * _size_in_double(inputs) > FLOAT64_BYTES:
            self._affordable = False
        return self._affordable

    def _made_double(self) -> bool:
        """Whether there is a model in float64; makes it."""
        if self._double is None and self._possible:
            try:
                self._double = copy.deepcopy(self.model).double()
            except (RuntimeError, TypeError):  # some models cannot be copied
                self._possible = False
        return self._double is not None

    def _in_double(self, doubled: list[Any], like: Any, seed: int, *, quick: bool) -> Any:
        """The outputs for `doubled`; None where float64 does not compute the same function."""
        assert self._double is not None
        if _size_in_double(doubled) + _size_in_double(like) > FLOAT64_BYTES:
            self._affordable = False
            return None
        seed_everything(seed)
        started = time.monotonic()
        try:
            result = self._call(self._double, doubled)
        except (ReferenceRaised, RuntimeError):  # models that fix a dtype inside cannot run in float64
            self._affordable = self._possible = False
            return None
        if self._problem.device.type == "cuda":
            torch.cuda.synchronize()
        self._double_s = time.monotonic() - started
        self._affordable = self._double_s <= FLOAT64_SECONDS
        self._same_function = _same_form(like, result) and self._is_same(like, result, doubled, seed, quick=quick)
        return result if self._same_function else None

    def _is_same(self, like: Any, exact: Any, inputs: list[Any], seed: int, *, quick: bool) -> bool:
        """Whether each output is near float64's, or off it by rounding; where it is to be quick, as it was before."""
        far = _far(like, exact)
        if far and not quick:
            self._by_rounding = self._explained(like, exact, inputs, seed)
        return far <= self._by_rounding

    def _explained(self, like: Any, exact: Any, inputs: list[Any], seed: int) -> frozenset[int]:
        """The places of the outputs that rounding moves as far as the reference as written is off there.

        A reference that draws random numbers draws others in float64, and has none of that.
        """
        if self.changes_inputs or not _is_float32([like, list(self.model.parameters())]):
            return frozenset()
        other = self._jittered(like, inputs, seed, SCALES[0], secrets.randbits(62))
        return frozenset() if other is None else _explained(other, like, exact, EXPLAINED / other.units)

    def _call(self, model: torch.nn.Module, inputs: list[Any]) -> Any:
        """The outputs. Tensors may be changed by it; lists and dicts of them are its own, and stay as they are here."""
        try:
            watch = InRange() if self._watches else None
            with torch.no_grad(), watch or nullcontext():
                outputs = model(*in_each(inputs, lambda leaf: leaf))
            self._watches = watch is not None and not watch.is_enough
            return outputs
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            if self._watches and cannot_be_watched(error):
                self._watches = False
                return self._call(model, inputs)
            raise ReferenceRaised(f"{type(error).__name__}: {error}") from error


def reference_must_run(
    oracle: Oracle,
    inputs: list[Any],
    *,
    seed: int = 0,
    calls_before: int = 0,
    quick: bool = False,
    widened: bool = True,
) -> Expected:
    """The reference's outputs on nominal inputs, where raising is the problem's own fault: a ProblemError."""
    try:
        return oracle.expected(inputs, seed=seed, calls_before=calls_before, quick=quick, widened=widened)
    except ReferenceRaised as error:
        where, precision = line_in(oracle.title, error.__cause__ or error), oracle.precision
        narrow = "" if precision == "fp32" else f"; it runs in {precision}, and may need float32 inside"
        raise ProblemError(
            f"problem {oracle.title}: the reference raised on its own inputs{where}: {error}{narrow}"
        ) from error


@contextmanager
def _without_tf32() -> Iterator[None]:
    """cuDNN's convolutions in all of float32."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def _narrowed(value: Any, like: Any) -> Any:
    """`value` with the dtypes of `like`, which is of its form and whose integers stay."""
    written = iter(leaves(like))

    def narrowed(leaf: torch.Tensor) -> torch.Tensor:
        wanted = next(written)
        return leaf.to(wanted.dtype) if wanted.is_floating_point() or wanted.is_complex() else wanted

    return mapped(value, narrowed)


def _in_float32(value: torch.Tensor) -> torch.Tensor:
    """What is in float64 narrowed; a sample of how rounding falls needs no more, and they are many."""
    return value.float() if value.dtype == torch.float64 else value


def _doubled(value: torch.Tensor) -> torch.Tensor:
    """A copy of its own, in the wider type."""
    wide = torch.complex128 if value.is_complex() else torch.float64 if value.is_floating_point() else value.dtype
    return value.to(wide, copy=True)


def _size_in_double(value: Any) -> int:
    return sum(leaf.numel() * (16 if leaf.is_complex() else 8) for leaf in leaves(value))


NEAR, NEAR_SMALL = 1e-3, 0.05
"""Where the reference as written is off by more than this share of its outputs rounding has to explain it. Of half and
bfloat16 it cannot be asked, and leaves more. tf32 leaves 3e-4 of a product."""


def _states(device: torch.device) -> list[torch.Tensor]:
    """Where torch's generators are: of the host and of a device."""
    host = torch.default_generator.get_state()
    return [host, torch.cuda.get_rng_state(device)] if device.type == "cuda" else [host]


def _go_on_from(states: list[torch.Tensor], device: torch.device) -> None:
    torch.default_generator.set_state(states[0])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states[1], device)


def _copied(inputs: list[Any]) -> list[Any]:
    return in_each(inputs, torch.clone)


def _is_float32(value: Any) -> bool:
    """Whether every float in a nested value is of float32."""
    return all(leaf.dtype == torch.float32 for leaf in leaves(value) if leaf.is_floating_point() or leaf.is_complex())


def _same_form(like: Any, other: Any) -> bool:
    """Whether two outputs have one structure, and tensors of equal shapes and of kinds that can be compared."""
    if isinstance(like, torch.Tensor):
        return (
            isinstance(other, torch.Tensor)
            and like.shape == other.shape
            and like.layout is torch.strided is other.layout
            and like.is_floating_point() == other.is_floating_point()
            and like.is_complex() == other.is_complex()
        )
    if isinstance(like, dict):
        return (
            isinstance(other, dict)
            and like.keys() == other.keys()
            and all(_same_form(like[key], other[key]) for key in like)
        )
    if isinstance(like, list | tuple):
        return (
            isinstance(other, list | tuple)
            and len(like) == len(other)
            and all(_same_form(one, another) for one, another in zip(like, other, strict=True))
        )
    return type(like) is type(other)


def _is_near(like: Any, exact: Any) -> bool:
    """Whether float64 is no further from the reference as written than its rounding leaves without a question."""
    return not _far(like, exact)


def _far(like: Any, exact: Any) -> frozenset[int]:
    """The places of the outputs that float64 is further from than rounding leaves without a question."""
    most = NEAR if _is_float32(like) else NEAR_SMALL
    return frozenset(place for place, ratio in enumerate(_ratios(like, exact, exact)) if not ratio <= most)


def _explained(other: Other, like: Any, exact: Any, most: float) -> frozenset[int]:
    """The places of the outputs that are off by at most so many times what rounding moves in a sample.

    What one output is off by says nothing of another.
    """
    both = zip(_ratios(like, exact, like), _ratios(other.outputs, exact, like), strict=True)
    return frozenset(place for place, (off, moved) in enumerate(both) if off <= most * moved)


def _of_floats(value: Any) -> frozenset[int]:
    """The places of the tensors that are no integers."""
    floats = (leaf.is_floating_point() or leaf.is_complex() for leaf in leaves(value))
    return frozenset(place for place, is_one in enumerate(floats) if is_one)


def _in_part(
    told: frozenset[int], like: Any, otherwise: Otherwise, stepped: Callable[[float, int], Other | None]
) -> Otherwise:
    """The same for the outputs at some places: of the others float64 is another function, and inputs are moved."""

    def beside(sample: Other | None) -> Other | None:
        if sample is None:
            return None
        others = stepped(sample.units, secrets.randbits(62))
        return Other(_chosen(told, sample.outputs, like if others is None else others.outputs), sample.units)

    first = beside(otherwise.first)
    assert first is not None
    exact = _chosen(told, otherwise.exact, like)
    return Otherwise(exact, first, lambda units, chance: beside(otherwise.sample(units, chance)))


def _chosen(places: frozenset[int], one: Any, other: Any) -> Any:
    """An output with the tensors of `one` at some places, and those of `other` elsewhere."""
    both = enumerate(zip(leaves(one), leaves(other), strict=True))
    found = iter([mine if place in places else theirs for place, (mine, theirs) in both])
    return mapped(one, lambda _: next(found))


def _apart(one: Any, other: Any) -> float:
    """The largest ratio, of all outputs, of what two are apart in all and the size of the second."""
    return max(_ratios(one, other, other), default=0.0)


def _ratios(one: Any, other: Any, of: Any) -> list[float]:
    """Of each output the ratio of what two are apart in all and the size of `of`."""
    return [_ratio(*three) for three in zip(*map(leaves, (one, other, of)), strict=True)]


def _ratio(one: torch.Tensor, other: torch.Tensor, of: torch.Tensor) -> float:
    if one.is_complex():
        one, other, of = (torch.view_as_real(value.resolve_conj()) for value in (one, other, of))
    if not one.is_floating_point():
        return 0.0  # integers are compared with the reference as written
    apart = size = 0.0
    for _, parts in pieces(one, other, of):
        mine, theirs, right = (part.double() for part in parts)
        off = mine - theirs
        sums = _sums_of_sizes(off, right)
        if not all(map(math.isfinite, sums)):
            both = mine.isfinite() & theirs.isfinite()
            sums = _sums_of_sizes(off.masked_fill_(~both, 0.0), right.masked_fill(~both, 0.0))
        apart, size = apart + sums[0], size + sums[1]
    return apart / (size + 1e-30)


def _sums_of_sizes(*values: torch.Tensor) -> list[float]:
    """Of each flat tensor of float64 the sum of what its elements are without their signs; waits for a device once."""
    return torch.stack([torch.linalg.vector_norm(value, 1) for value in values]).tolist()
