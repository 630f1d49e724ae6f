"""Everything that judge and worker can say to each other. There is no word for a verdict.

The judge asks, the worker answers; the one question that a worker may ask is for a build. `Raised` is how a
worker says that the candidate's code raised: a claim about itself that can only do it harm.
"""

import itertools
import math
import struct
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from harness.errors import ProtocolError
from harness.schema.base import Frozen
from harness.schema.build import Artifact, BuildFailure, BuildRequest
from harness.schema.record import CompileMode
from harness.transport.memory import ArenaKind
from harness.transport.values import Size, Value

Duration = Annotated[float, Field(ge=0, allow_inf_nan=False)]

# ---- judge to worker -------------------------------------------------------------------------------------------


class OpenDevice(Frozen):
    """Make a context of the CUDA device that `visible` leaves, as `Load` has it. Answer: `DeviceOpened`.

    Sent before a candidate is there. It may not be sent to a worker that is to see none.
    """

    say: Literal["open-device"] = "open-device"
    visible: dict[str, str]


class Load(Frozen):
    """Import `source` as a module and find `class_name` in it. Answer: `Loaded`, `Raised`, or `Build` first.

    `visible` goes into the environment: it names the one device that the worker may see, or none.
    `threads` limits torch's own CPU threads; 0 leaves them as they are. `call_s` is what a call may take: a kernel
    that is interpreted says beforehand that it would take longer.
    """

    say: Literal["load"] = "load"
    source: str
    class_name: str
    device: Literal["cpu", "cuda"]
    emulate: bool
    visible: dict[str, str]
    threads: int = 0
    call_s: Duration = 60.0


class Built(Frozen):
    """The answer to `Build`. To a worker, an artifact comes with descriptors of the shared object and its library."""

    say: Literal["built"] = "built"
    artifact: Artifact | None = None
    failure: BuildFailure | None = None


class Attach(Frozen):
    """Map the shared memory whose descriptor comes with this frame. Answer: `Attached`."""

    say: Literal["attach"] = "attach"
    arena: int
    size: Size
    kind: ArenaKind


class Construct(Frozen):
    """Seed torch, build the model from the arguments, move it to the device. Answer: `Constructed` or `Raised`.

    `compile_mode` wraps it in torch.compile of that mode: only references are asked for that.
    """

    say: Literal["construct"] = "construct"
    seed: int
    arguments: Value
    arena: int | None
    precision: Literal["fp32", "fp16", "bf16"] = "fp32"
    compile_mode: CompileMode | None = None


class TakeWeights(Frozen):
    """Copy these tensors, by name, over the model's parameters and buffers, and unmap the arena that they lie in.

    Answer: `Taken` or `Raised`.
    """

    say: Literal["take-weights"] = "take-weights"
    values: Value
    arena: int | None


class Prepare(Frozen):
    """Lay the inputs of slots 0..n-1 over the arena. Answer: `Prepared`."""

    say: Literal["prepare"] = "prepare"
    arena: int
    slots: tuple[Value, ...]


class Take(Frozen):
    """Copy what was sent into parts of a copied arena over the worker's own memory. Answer: `Taken`."""

    say: Literal["take"] = "take"
    arena: int
    parts: tuple[tuple[int, int], ...]


class Attend(Frozen):
    """A round comes at once: wait for it awake. Answer: `Attending`."""

    say: Literal["attend"] = "attend"


class Order(Frozen):
    """In which order the threads of emulated kernels run: each is one that CUDA allows. `seed` is of what is random.

    `alternating` is ascending and descending by turns, from block to block. `watch`: what ends a kernel, which takes
    some times as long: `faults` are accesses out of bounds and data races, `strictly` those as well that may be meant
    (a read of global memory that another thread writes).
    """

    kind: Literal["alternating", "ascending", "descending", "by-warps", "by-threads"]
    seed: Annotated[int, Field(ge=0, lt=1 << 64)] = 0
    watch: Literal["nothing", "faults", "strictly"] = "nothing"


class Go(Frozen):
    """Seed torch, call the model once per slot, wait for the device, answer `Done` or `Raised`: what the clock sees.

    The seed is for models that draw random numbers: the first call of a round can be compared with a reference that
    was seeded in the same way. `plain` is all that is no tensor in the arguments of each slot (`values.packed_plain`),
    where that was drawn anew: it comes no earlier than the tensors' contents. None leaves it as it is.

    `spin_ms`: instead of calling the model keep the device busy for so long. The outputs are those of the round before,
    which had as many calls.
    """

    say: Literal["go"] = "go"
    slots: tuple[int, ...]
    seed: int
    order: Order | None = None
    plain: str | None = None
    spin_ms: float | None = None


class Steps(Frozen):
    """Calls come one by one: be ready for them, as far as that can be. Answer: `Attending`.

    The arena `page`, on the host, has the words of each call and answer, as `steps_page` names them, until one says
    that there are no more. Then comes a `Done` of the last call, or `Raised` before; the next request asks of its
    outputs. All calls have `seed`; where that is None each comes with its own, so that nothing is drawn before it.

    `empty`: the model is called for the first of them alone, and its output is the answer to all.
    """

    say: Literal["steps"] = "steps"
    seed: int | None
    page: int
    empty: bool = False


class Describe(Frozen):
    """Say what the outputs of these calls of the last round look like. Answer: `Described`.

    `parts` of a copied arena, in bytes, are what these calls saw: they are sent before.
    """

    say: Literal["describe"] = "describe"
    calls: tuple[int, ...]
    parts: tuple[tuple[int, int], ...] = ()


class Release(Frozen):
    """Let go of the last round's outputs. Answer: `Released`.

    `poison` fills the memory that they leave behind, so that a call which does not write its output shows. `trim`
    gives the memory that torch keeps for later calls back to the device. `loops`: tell how long a loop takes.
    """

    say: Literal["release"] = "release"
    poison: bool = False
    trim: bool = False
    loops: bool = False


class Trace(Frozen):
    """Call the model once per slot under torch's profiler. Answer: `Traced` or `Raised`."""

    say: Literal["trace"] = "trace"
    slots: tuple[int, ...]


class Detach(Frozen):
    """Forget the slots and unmap an arena. Answer: `Released`."""

    say: Literal["detach"] = "detach"
    arena: int


# ---- worker to judge -------------------------------------------------------------------------------------------


class Ready(Frozen):
    """The worker listens. Sent once, before candidate code exists in the process."""

    say: Literal["ready"] = "ready"


class DeviceOpened(Frozen):
    """The answer to `OpenDevice`."""

    say: Literal["device-opened"] = "device-opened"


class Build(Frozen):
    """The candidate called `load_inline` or `load`. Answer: `Built`."""

    say: Literal["build"] = "build"
    request: BuildRequest


class Loaded(Frozen):
    say: Literal["loaded"] = "loaded"


class Attached(Frozen):
    """`base` is where the arena lies in the worker's memory, so that an output inside of it can be recognised."""

    say: Literal["attached"] = "attached"
    base: Size


class ParameterShape(Frozen):
    """`sample` is a digest of some of its elements (`values.sample_of`): a worker's claim, which decides nothing."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    sample: Annotated[str, Field(max_length=64)] = ""


class Constructed(Frozen):
    """The model stands. `parameters` are its parameters and buffers, to explain a difference in weights."""

    say: Literal["constructed"] = "constructed"
    parameters: Annotated[tuple[ParameterShape, ...], Field(max_length=100_000)]


class Prepared(Frozen):
    say: Literal["prepared"] = "prepared"


class Taken(Frozen):
    say: Literal["taken"] = "taken"


class Attending(Frozen):
    say: Literal["attending"] = "attending"


@dataclass(frozen=True)
class Done:
    """The round is over. `addresses` holds, per call, the data pointers of its output tensors in order.

    `extents` says, tensor by tensor, how many bytes of memory it reaches over, from its address on. A claim: of the
    calls that are verified it has to be what their outputs are described as.

    `plain` has 64 bits per call of what its outputs hold beside tensors (`values.digest_of_plain`), so that no
    number can be worked out after the clock; 0 where there is none.

    `device_ms` is the time between two device events around the round. Of a candidate it is a second opinion, believed
    by nothing; of the reference it tells what a round costs beyond its calls.

    It crosses the wire in a binary form, because nothing of it is parsed before everything of the worker's has
    stopped: the byte 0x01, `device_ms` (float64, NaN for None), the number of tensors of every call (u32), `plain` of
    every call (u64), then all pointers (u64) and all extents (u64), little-endian. Of so many calls with so many
    tensors each it has exactly one size.
    """

    addresses: tuple[tuple[int, ...], ...]
    device_ms: float | None = None
    plain: tuple[int, ...] = ()
    extents: tuple[tuple[int, ...], ...] = ()

    def packed(self) -> bytes:
        counts = [len(call) for call in self.addresses]
        flat = [address for call in self.addresses for address in call]
        flat += [extent for call in self.extents for extent in call] or [0] * len(flat)
        device_ms = math.nan if self.device_ms is None else self.device_ms
        plain = self.plain or (0,) * len(counts)
        return DONE + struct.pack(f"<d{len(counts)}I{len(counts) + len(flat)}Q", device_ms, *counts, *plain, *flat)

    @classmethod
    def unpacked(cls, text: bytes, calls: int) -> "Done":
        """What `packed` made of a round of so many calls. Raises ProtocolError where it cannot be that."""
        after_plain = _DONE_HEAD + 12 * calls
        if not text.startswith(DONE) or len(text) < after_plain:
            raise ProtocolError(f"answered less than the addresses of {calls} calls")
        device_ms, *counts = struct.unpack_from(f"<d{calls}I", text, len(DONE))
        plain = struct.unpack_from(f"<{calls}Q", text, after_plain - 8 * calls)
        if len(text) != after_plain + 16 * sum(counts):
            raise ProtocolError(f"answered {len(text)} bytes for the addresses of {sum(counts)} tensors")
        numbers = struct.unpack_from(f"<{2 * sum(counts)}Q", text, after_plain)
        if max(numbers, default=0) > _HIGHEST_ADDRESS:
            raise ProtocolError("answered an address that is none")
        if not (math.isnan(device_ms) or 0 <= device_ms < math.inf):
            raise ProtocolError("answered a device time that is none")
        half = len(numbers) // 2
        addresses, extents = (_by_call(part, counts) for part in (numbers[:half], numbers[half:]))
        return cls(addresses, None if math.isnan(device_ms) else device_ms, plain, extents)


def _by_call(numbers: tuple[int, ...], counts: list[int]) -> tuple[tuple[int, ...], ...]:
    """So many of the numbers for each call. Nearly all have equally many, and a clock waits for it."""
    if counts and min(counts) == max(counts) > 0:
        return tuple(zip(*[iter(numbers)] * counts[0], strict=True))
    flat = iter(numbers)
    return tuple(tuple(itertools.islice(flat, count)) for count in counts)


DONE = b"\x01"
"""The first byte of `Done`: no JSON begins with it."""
_DONE_HEAD = len(DONE) + 8
_HIGHEST_ADDRESS = 1 << 62  # sums with any size stay below 2**63


class DeviceHandle(Frozen):
    """A device allocation that the judge may open: its base address, its size and the driver's 64-byte handle."""

    base: Size
    size: Annotated[Size, Field(ge=1)]
    handle: Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]


class HostCopy(Frozen):
    """The `size` bytes of an output tensor at `address` lie copied in the worker's host memory at `copied_to`."""

    address: Size
    size: Size
    copied_to: Size


class Described(Frozen):
    """Outputs by call, tensors at their address in the worker, with handles for those on the device.

    Where arenas are copied there are copies in the place of handles, and the arenas were sent back. `cuda_error` is the
    number of the last call to CUDA's runtime that failed and was not looked at, 0 where there was none.
    """

    say: Literal["described"] = "described"
    outputs: Annotated[tuple[Value, ...], Field(max_length=10_000)]
    handles: Annotated[tuple[DeviceHandle, ...], Field(max_length=10_000)] = ()
    copies: Annotated[tuple[HostCopy, ...], Field(max_length=100_000)] = ()
    substitutions: Annotated[tuple[Annotated[str, Field(max_length=1_000)], ...], Field(max_length=1_000)] = ()
    cuda_error: Annotated[int, Field(ge=0, le=100_000)] = 0


class KernelTime(Frozen):
    """Device microseconds and launches of one kernel over all traced calls; on a CPU, of one torch operator."""

    name: Annotated[str, Field(max_length=4_000)]
    us: Duration
    launches: Size


class Traced(Frozen):
    """What the profiler saw; `us` is the time of all traced calls. An explanation: nothing is decided by it."""

    say: Literal["traced"] = "traced"
    us: Duration
    kernels: Annotated[tuple[KernelTime, ...], Field(max_length=10_000)]


class Released(Frozen):
    """`loop_s`: seconds of a loop of plain Python in the worker, if that was asked."""

    say: Literal["released"] = "released"
    loop_s: Duration = 0.0


class Raised(Frozen):
    """Candidate code raised. `during` is what the judge had asked for."""

    say: Literal["raised"] = "raised"
    during: Literal["load", "construct", "call"]
    kind: Literal[
        "exception", "syntax", "missing", "out-of-memory", "device-memory", "processes", "open-files", "disk",
        "build", "device", "exit", "out-of-bounds", "data-race", "not-emulated",
    ]  # fmt: skip
    type: Annotated[str, Field(max_length=1_000)]
    message: Annotated[str, Field(max_length=100_000)]
    traceback: Annotated[str, Field(max_length=1_000_000)]
    failure: BuildFailure | None = None


Request = Annotated[
    OpenDevice
    | Load
    | Built
    | Attach
    | Construct
    | TakeWeights
    | Prepare
    | Take
    | Attend
    | Go
    | Steps
    | Describe
    | Release
    | Trace
    | Detach,
    Field(discriminator="say"),
]
Answer = Annotated[
    Ready
    | DeviceOpened
    | Build
    | Loaded
    | Attached
    | Constructed
    | Prepared
    | Taken
    | Attending
    | Described
    | Released
    | Traced
    | Raised,
    Field(discriminator="say"),
]
REQUEST: TypeAdapter[Request] = TypeAdapter(Request)
ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
