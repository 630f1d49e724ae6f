"""Kept outputs: what outputs of a round held when the clock stopped, before the worker runs again (`snapshot`)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import torch

from harness.backends.hardware import Hardware
from harness.judge.attached_inputs import AttachedInputs
from harness.judge.failure import SubjectFailed
from harness.judge.opened_memory import OpenedMemory
from harness.judge.output_layouts import Layout, OutputLayouts
from harness.judge.reading import bytes_of_copy, read_output, spreads
from harness.judge.snapshot import Gathered, Kept, Places, Source, gather, keep, places_of, shown_twice
from harness.judge.subject import Unsettled
from harness.judge.worker_conversation import Conversation
from harness.transport.memory import element_size
from harness.transport.values import TensorValue
from harness.transport.worker_messages import Done

_SNAPSHOT_BYTES = 1 << 29
"""Of the outputs of a call that are larger than this only some elements are kept."""
ByAddress = dict[int, list[Kept]]
"""Of a call, by the addresses of its outputs: several may begin at one."""
LookedFor = list[tuple[Layout, list[Places]]]
"""How outputs may be laid out, and which elements of each are read then."""


class KeptOutputs:
    """Those of one worker. On a device elements are gathered while the clock runs, on the host copied after it."""

    def __init__(
        self,
        conversation: Conversation,
        *,
        hardware: Hardware,
        inputs: AttachedInputs,
        layouts: OutputLayouts,
        opened: OpenedMemory,
    ) -> None:
        self._talk, self._hardware, self._inputs = conversation, hardware, inputs
        self._layouts, self._opened = layouts, opened
        self._wanted: dict[int, Sequence[torch.Tensor | None]] = {}
        self._looked_for: LookedFor = []
        self._gathered: list[Gathered] | None = None
        self._kept: dict[int, ByAddress] = {}
        self._everywhere = torch.empty(0, dtype=torch.int64)

    # ---- before a round ----------------------------------------------------------------------------------------

    def look_at(self, places: Mapping[int, Sequence[torch.Tensor | None]]) -> None:
        """Of large outputs of these calls of the next round keep these elements as well (`Subject.look_at`)."""
        self._wanted = dict(places)

    def look_for(self, calls: int) -> None:
        """Draw which elements are gathered of so many calls, for each layout that is remembered."""
        self._looked_for = [(layout, self._places(layout, calls)) for layout in self._layouts.remembered]

    def round_begins(self) -> LookedFor:
        """Let go of what was kept; what is to be gathered of this round, where it is held."""
        self._gathered, self._kept = None, {}
        looked_for, self._looked_for = self._looked_for, []
        return looked_for

    # ---- while the clock runs ----------------------------------------------------------------------------------

    def gather(self, done: Done, looked_for: LookedFor) -> None:
        """Read elements of all outputs on the device, and wait for it."""
        allocations = self._opened.allocations + self._inputs.allocations
        self._gathered = [gather(done.addresses, layout, at, allocations) for layout, at in looked_for]
        self._hardware.wait()

    # ---- once it has stopped -----------------------------------------------------------------------------------

    @property
    def gathered(self) -> bool:
        """Whether elements of any output were read while the clock ran."""
        return any(one.rows for one in self._gathered or ())

    def keep_gathered(self, done: Done, calls: Sequence[int]) -> None:
        """Keep what was gathered of these calls. Raises Unsettled where that is not all."""
        self._kept = {call: self._of_gathered(done, call) for call in calls}

    def keep_seen(self, seen: ByAddress) -> None:
        """Keep what was read of a round of one call otherwise than by gathering."""
        self._kept = {0: seen}

    def keep_on_host(self, done: Done, calls: Sequence[int]) -> None:
        """Copy the outputs of these calls. Raises Unsettled where they are not as many as were described last."""
        newest = self._layouts.newest
        whole = sum(map(bytes_of_copy, newest)) <= _SNAPSHOT_BYTES
        self._inputs.locate()
        for call in calls:
            addresses = done.addresses[call]
            self._kept[call] = {}
            if len(addresses) != len(newest):
                raise Unsettled
            for index, (address, leaf) in enumerate(zip(addresses, newest, strict=True)):
                kept = self._keep(address, leaf, whole=whole, wanted=self._wanted_of(call, index))
                if kept is not None:
                    self._kept[call].setdefault(address, []).append(kept)
        self._require_memory_of_its_own()

    def of(self, call: int) -> ByAddress | None:
        """What was kept of a call; None where nothing was to be."""
        return self._kept.get(call)

    def release(self) -> None:
        """Let go of what was kept."""
        self._kept = {}

    # ---- which elements ----------------------------------------------------------------------------------------

    def _wanted_of(self, call: int, index: int) -> torch.Tensor | None:
        wanted = self._wanted.get(call, ())
        return wanted[index] if index < len(wanted) else None

    def _places(self, layout: Layout, calls: int) -> list[Places]:
        """Where to look in each output of so many calls that are laid out like this."""
        device = self._hardware.device
        return [
            places_of(leaf, device, calls, {call: self._wanted_of(call, index) for call in self._wanted})
            for index, leaf in enumerate(layout)
        ]

    # ---- on the device -----------------------------------------------------------------------------------------

    def _of_gathered(self, done: Done, call: int) -> ByAddress:
        """What was read of a call's outputs on the device, by address. Raises Unsettled where that is not all."""
        found: ByAddress = {}
        for gathered in self._gathered or ():
            for address, kept in gathered.of(call).items():
                found.setdefault(address, []).extend(kept)
        named = done.addresses[call]
        alike = self._layouts.alike(len(named))
        for index, address in enumerate(named):
            if address not in found and (not alike or any(layout[index].elements for layout in alike)):
                raise Unsettled
        return found

    # ---- on the host -------------------------------------------------------------------------------------------

    def _keep(self, address: int, leaf: TensorValue, *, whole: bool, wanted: torch.Tensor | None) -> Kept | None:
        """What is at an address of the host now; None where nothing can be, by what was described so far."""
        source = self._inputs.part_at(address, leaf.span * element_size(leaf.dtype)) or Source(self._talk.pid, address)
        with suppress(OSError):  # what is described afterwards tells why
            if not leaf.elements:
                return None
            if whole and spreads(leaf):
                with suppress(ValueError):  # elements over each other: some places tell
                    return self._picked_out(source, leaf)
            return keep(source, leaf, whole=whole and not spreads(leaf), wanted=wanted)
        return None

    def _picked_out(self, source: Source, leaf: TensorValue) -> Kept:
        """All elements of an output that lie far apart: how they lie is the candidate's choice, what is seen is not."""
        elements = read_output(self._talk.pid, source.address, leaf).contiguous()
        if self._everywhere.numel() != leaf.elements:
            self._everywhere = torch.arange(leaf.elements)
        return Kept(source, leaf, elements.view(torch.uint8).view(leaf.elements, -1), self._everywhere)

    def _require_memory_of_its_own(self) -> None:
        """Raises SubjectFailed where an output that was kept is fewer pages than it seems."""
        ranges = {
            (address, address + kept.layout.span * element_size(kept.layout.dtype))
            for found in self._kept.values()
            for address, several in found.items()
            for kept in several
        }
        with suppress(OSError):  # it is gone, which the next question tells
            if shown_twice(self._talk.pid, sorted(ranges)):
                raise SubjectFailed("protocol", "an output shows the same memory at several addresses")
