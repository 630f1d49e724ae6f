"""A trusted process that draws one set of inputs into shared memory and is gone: the controller has no torch.

Forked from the prepared process, like the judge, because the problem's own code draws them.
"""

import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, TypeAdapter

from harness.backends import BACKENDS
from harness.errors import DeviceError, HarnessError
from harness.formats import FORMATS
from harness.judge.jobs import Fault
from harness.sandbox import Zygote
from harness.schema.base import Frozen
from harness.schema.build import DeviceKind
from harness.schema.problem import Problem
from harness.settings import Settings
from harness.transport import Channel, Closed, Late
from harness.transport.values import Value

if TYPE_CHECKING:
    from harness.transport.memory import HostArena

ENTRY = "harness.judge.drawing:main"
_DRAW_S = 300.0


class Draw(Frozen):
    """Draw inputs of one call and the arguments of the model, at the size that a judge would. Answer: `Drawn`.

    `backend` and `gpu` name the device to draw on, as in `harness.backends`.
    """

    problem: Problem
    settings: Settings
    backend: DeviceKind
    gpu: str | None


class Drawn(Frozen):
    """They lie in the host memory whose descriptor comes with this frame; `size` bytes."""

    say: Literal["drawn"] = "drawn"
    inputs: Value
    arguments: Value
    size: int


_DRAW: TypeAdapter[Draw] = TypeAdapter(Draw)
_DRAWN: TypeAdapter[Drawn | Fault] = TypeAdapter(Annotated[Drawn | Fault, Field(discriminator="say")])


@contextmanager
def drawn_by(zygote: Zygote, request: Draw) -> Iterator[tuple[Drawn, int]]:
    """Fresh inputs, and a descriptor of the memory that holds them, open within the block.

    Raises ProblemError or InputError as a judge does, DeviceError where the process dies of it.
    """
    channel, theirs = Channel.pair()
    with channel:
        with theirs:
            process = zygote.spawn_trusted(ENTRY, [theirs.fileno()])
        with process:
            try:
                channel.send(request)
                answer, frame = channel.receive_frame(_DRAWN, deadline=time.monotonic() + _DRAW_S)
            except (Closed, Late) as error:
                raise DeviceError(
                    f"inputs could not be drawn: {error}; use --set to make the problem smaller"
                ) from None
    if isinstance(answer, Fault):
        raise answer.error()
    (memory,) = frame.descriptors
    try:
        yield answer, memory
    finally:
        frame.close()


def main(descriptors: Sequence[int], _zygote: Zygote) -> None:
    """Entry of the process: one request, one answer."""
    with Channel.from_descriptor(descriptors[0]) as channel:
        request = channel.receive(_DRAW)
        try:
            drawn, arena = draw(request)
        except HarnessError as error:
            channel.send(Fault.of(error))
            return
        channel.send(drawn, [arena.descriptor()])


def draw(request: Draw) -> tuple[Drawn, "HostArena"]:
    """Fresh inputs and the model's arguments in host memory. Raises ProblemError and InputError as a judge does."""
    import torch

    from harness.judge.inputs import InputSets
    from harness.judge.problem import load_problem
    from harness.judge.workload_sizes import sized
    from harness.transport.memory import HostArena

    backend = BACKENDS[request.backend]
    os.environ.update(backend.visibility(request.gpu))
    device = torch.device("cuda", 0) if backend.is_gpu else torch.device("cpu")
    settings = request.settings
    source, _ = sized(request.problem, settings.workload, emulated=backend.emulates)
    form = FORMATS[request.problem.format]
    problem = load_problem(request.problem.title, source, device=device, precision=settings.precision, form=form)
    both = [problem.draw(secrets.randbits(62)), problem.init_arguments()]
    sets = InputSets(both, 1, HostArena)
    sets.write(0, both)
    sets.reveal()
    (slot,) = sets.values
    assert slot.kind == "list"
    assert isinstance(sets.arena, HostArena)
    inputs, arguments = slot.items
    return Drawn(inputs=inputs, arguments=arguments, size=sets.arena.size), sets.arena
