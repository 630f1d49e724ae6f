"""Output layouts: how a worker describes its outputs, held against what it said before and remembered."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from harness.judge.failure import LaidOutAnew, SubjectFailed
from harness.judge.reach import Range, extent, parts
from harness.transport.values import TensorValue, Value, digest_of_plain, tensors
from harness.transport.worker_messages import Done

_MOST_ELEMENTS = 1 << 44  # an expanded tensor has more elements than memory; indices of them must not overflow
MOST_LAYOUTS = 4
"""In so many ways a candidate may lay out its outputs from call to call on a device; each is read for every call."""
MOST_PARTS = 1 << 16
"""Outputs of a round that are more parts than this, by what lies between their elements, are overwritten with all that
lies between."""
Lie = tuple[tuple[Range, ...], ...]
"""Of each tensor of an output which bytes it takes, from its first element on."""
Layout = tuple[TensorValue, ...]
"""The tensors of an output, in order."""


class OutputLayouts:
    """Those that one worker has described, as far as they are remembered."""

    def __init__(self) -> None:
        self.newest: Layout = ()
        self.has_plain = False
        """Whether outputs hold anything besides tensors."""
        self._layouts: dict[tuple[object, ...], Layout] = {}
        self._parts: dict[tuple[int, ...], Lie] = {}
        self._overwritten: dict[tuple[int, ...], Lie] = {}

    @property
    def remembered(self) -> list[Layout]:
        """The newest, the largest, and some others."""
        return list(self._layouts.values())

    def alike(self, tensors: int) -> list[Layout]:
        """Those remembered of so many tensors."""
        return [layout for layout in self._layouts.values() if len(layout) == tensors]

    @property
    def parts(self) -> Mapping[tuple[int, ...], Lie]:
        """How outputs lie that are far apart in memory, by how far their tensors reach."""
        return self._parts

    def forget(self) -> None:
        """Forget how outputs are laid out; not which parts of memory they take."""
        self.newest, self.has_plain, self._layouts = (), False, {}

    def overwritten_as(self, lies: dict[tuple[int, ...], Lie]) -> None:
        """So outputs were overwritten, by how far they reach: until the next round they may not lie otherwise."""
        self._overwritten = lies

    def learn(self, calls: Sequence[int], outputs: Sequence[Value], done: Done) -> None:
        """Remember how outputs of these calls of a round are described.

        Raises SubjectFailed where they cannot be so, or are not those that the worker named when the clock stopped.
        """
        if len(outputs) != len(calls):
            raise SubjectFailed("protocol", f"described {len(outputs)} of {len(calls)} outputs")
        known: dict[tuple[object, ...], tuple[tuple[int, ...], Lie]] = {}
        for call, output in zip(calls, outputs, strict=True):
            leaves, named = tuple(tensors(output)), done.addresses[call]
            form = _form(leaves)
            if form not in known:  # of hundreds of calls nearly all are laid out alike
                if any(leaf.elements > _MOST_ELEMENTS for leaf in leaves):
                    raise SubjectFailed(
                        "protocol", "described an output that cannot be: no machine has so many elements"
                    )
                known[form] = _extents(leaves), _parts(leaves)
            if tuple(leaf.offset for leaf in leaves) != tuple(named):
                raise SubjectFailed("protocol", "described other outputs than it had when the clock stopped")
            extents, lie = known[form]
            if extents != done.extents[call]:
                raise SubjectFailed("protocol", "described outputs of another size than it had when the clock stopped")
            if digest_of_plain(output) != done.plain[call]:
                raise SubjectFailed("protocol", "described other numbers than it had when the clock stopped")
            if self._overwritten.get(extents, lie) != lie:
                raise LaidOutAnew("described outputs that lie otherwise than when they were overwritten")
            self.has_plain |= bool(done.plain[call])
            self._remember(form, leaves)
            self._remember_parts(extents, lie)

    def _remember(self, form: tuple[object, ...], layout: Layout) -> None:
        """By what outputs of further rounds are read: the newest layout, the largest, and others as there is room."""
        self.newest = layout
        self._layouts.pop(form, None)
        self._layouts[form] = layout
        if len(self._layouts) > MOST_LAYOUTS:
            older = list(self._layouts)[:-1]
            del self._layouts[min(older, key=lambda one: sum(leaf.elements for leaf in self._layouts[one]))]

    def _remember_parts(self, extents: tuple[int, ...], lie: Lie) -> None:
        """How outputs lie that are far apart in memory: the newest ways, by how far they reach."""
        self._parts.pop(extents, None)
        if lie != tuple(((0, size),) if size else () for size in extents):
            self._parts[extents] = lie
            while len(self._parts) > MOST_LAYOUTS:
                del self._parts[next(iter(self._parts))]


@contextmanager
def as_described() -> Iterator[None]:
    """Whatever of a description cannot be true is the worker's fault."""
    try:
        yield
    except ValueError as error:
        raise SubjectFailed("protocol", f"described an output that cannot be: {error}") from error


def _form(layout: Layout) -> tuple[object, ...]:
    """What tells layouts apart: strides of dimensions of one element lead nowhere."""
    return tuple((leaf.dtype, leaf.shape, _strides_of(leaf)) for leaf in layout)


def _strides_of(leaf: TensorValue) -> tuple[int, ...]:
    if len(leaf.shape) != len(leaf.strides):  # which cannot be, and is told later
        return tuple(leaf.strides)
    return tuple(0 if size == 1 else stride for size, stride in zip(leaf.shape, leaf.strides, strict=True))


def _extents(layout: Layout) -> tuple[int, ...]:
    """How many bytes of memory each tensor reaches over, as `Done` names it."""
    with as_described():
        return tuple(map(extent, layout))


def _parts(layout: Layout) -> Lie:
    """Which bytes each tensor takes, from its first element on; all that it reaches over where those are too many."""
    found: list[tuple[Range, ...]] = []
    left = MOST_PARTS
    with as_described():
        for leaf in layout:
            lie = parts(leaf, left)
            found.append(((0, extent(leaf)),) if lie is None else lie)
            left -= len(found[-1])
    return tuple(found)
