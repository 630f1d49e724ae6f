"""A sandboxed worker as the judge's `Subject`: every call goes over the wire, with a deadline and a cap.

What is asked, and in which order. What its inputs and outputs lie in and look like is told by the classes it composes.
Whatever the worker does wrong becomes `SubjectFailed`: it is the candidate's failure, and data.
"""

import time
from collections import abc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import torch

from harness.backends.hardware import Hardware
from harness.judge.attached_inputs import AttachedInputs
from harness.judge.deadlines import Deadlines
from harness.judge.device_steps import DeviceSteps
from harness.judge.failure import LaidOutAnew
from harness.judge.held_worker import HeldWorker
from harness.judge.host_steps import HostSteps
from harness.judge.inputs import InputSets, Staged
from harness.judge.kept_outputs import KeptOutputs, LookedFor
from harness.judge.opened_memory import OpenedMemory
from harness.judge.output_layouts import OutputLayouts
from harness.judge.output_memory import OutputMemory
from harness.judge.output_reader import OutputReader
from harness.judge.shared_arenas import SharedArenas
from harness.judge.subject import KernelUse, Round, Stepped, Trace, Unsettled
from harness.judge.worker_conversation import Conversation
from harness.schema.problem import Precision
from harness.schema.record import CompileMode
from harness.transport.configurations import described
from harness.transport.values import Value
from harness.transport.worker_messages import (
    Attend,
    Attending,
    Construct,
    Constructed,
    Describe,
    Described,
    Done,
    Go,
    Order,
    Release,
    Released,
    Taken,
    TakeWeights,
    Traced,
)
from harness.transport.worker_messages import Trace as TraceCalls

_SPIN_S = 1.0  # how long the judge waits awake for the end of a round
_WAKE_S = 3e-4
"""How long judge and worker are awake before a round on a device: a core that slept runs slower at first. The device is
kept busy by the judge meanwhile, so that what a worker queues there waits until the clock runs."""
_START_S, _FILL_S = 8e-6, 2e-6
"""What starting to fill a range takes the host, and filling a small one the device: how many there are the layout of
outputs decides, and side by side they are one."""


class WorkerSubject:
    """The candidate in a worker process that has loaded it. Implements `judge.subject.Subject`."""

    substitutions: tuple[str, ...] = ()
    cuda_error = 0
    _was_stepped = False
    _last_described: tuple[Value, ...] = ()

    def __init__(
        self,
        conversation: Conversation,
        *,
        hardware: Hardware,
        init_arguments: list[Any],
        precision: Precision = "fp32",
        call_s: float,
        memory_bytes: int,
        compile_mode: CompileMode | None = None,
        core: int | None = None,
        deadlines: Deadlines | None = None,
        loops: bool = False,
    ) -> None:
        """`call_s` bounds one question, `memory_bytes` what of its host memory is copied at once. `loops`: it is a
        reference, which tells `loop_s`.

        `deadlines` are those of rounds and of the constructor; `call_s` bounds them where there are none.

        `hardware` is the device that the judge holds and the worker computes on. `core` is the CPU that the model is
        called on in timed rounds.
        """
        self._talk = conversation
        self._apart = hardware.apart
        self._init_arguments, self._precision, self._compile_mode = init_arguments, precision, compile_mode
        self._call_s = call_s
        self._deadlines, self._was_called = deadlines, False
        self._spin_s = _SPIN_S if self._apart else 0.0
        self._arenas = SharedArenas(conversation)
        self._inputs = AttachedInputs(conversation, self._arenas)
        self._done: Done | None = None
        self._held = HeldWorker(conversation, apart=self._apart, core=core)
        self._hardware, self._aside_s = hardware, 0.0
        self._loops, self._loop_s = loops and hardware.apart, 0.0
        self._opened = OpenedMemory(hardware)
        self._layouts = OutputLayouts()
        self._memory = OutputMemory(
            conversation,
            inputs=self._inputs,
            layouts=self._layouts,
            opened=self._opened,
            apart=self._apart,
            memory_bytes=memory_bytes,
        )
        self._kept = KeptOutputs(
            conversation, hardware=hardware, inputs=self._inputs, layouts=self._layouts, opened=self._opened
        )
        self._reader = OutputReader(
            conversation, hardware=hardware, inputs=self._inputs, opened=self._opened, memory_bytes=memory_bytes
        )
        self._steps = DeviceSteps(
            conversation,
            self._arenas,
            hardware=hardware,
            inputs=self._inputs,
            layouts=self._layouts,
            opened=self._opened,
        )
        self._host_steps = HostSteps(conversation, self._arenas, inputs=self._inputs, layouts=self._layouts)
        self.weights: abc.Mapping[str, str] = {}

    def construct(self, seed: int) -> dict[str, tuple[str, tuple[int, ...]]]:
        self._opened.unmark()
        arguments, arena = self._arenas.share([described(argument) for argument in self._init_arguments])
        seconds, why = self._call_s, ""
        if self._deadlines is not None:
            deadline = self._deadlines.of_construction()
            seconds, why = deadline.seconds, deadline.why
        answer = self._talk.ask(
            Construct(
                seed=seed,
                arguments=arguments,
                arena=arena,
                precision=self._precision,
                compile_mode=self._compile_mode,
            ),
            Constructed,
            seconds=seconds,
            why=why,
        )
        self._was_called = False
        self.weights = {entry.name: entry.sample for entry in answer.parameters}
        return {entry.name: (entry.dtype, entry.shape) for entry in answer.parameters}

    def take_weights(self, weights: dict[str, torch.Tensor]) -> None:
        self._opened.unmark()
        values, arena = self._arenas.share(weights)
        self._talk.ask(TakeWeights(values=values, arena=arena), Taken, seconds=self._call_s)

    def attach(self, sets: InputSets) -> None:
        self._opened.unmark()
        self._held.start_anew()
        self._inputs.attach(sets)

    def detach(self) -> None:
        if self._inputs.attached:
            self.release()
            self._opened.close()
            self._layouts.forget()
            self._inputs.detach()

    def freeze(self) -> None:
        self._held.stop()
        if self._apart:
            with self._besides_rounds():
                self._hardware.touch()  # after what it queued

    def settle(self) -> None:
        self._held.settle()

    def rests(self) -> bool:
        return self._held.rests()

    def wake(self) -> None:
        if not self._apart:  # there a waiting worker would take a core from the judge
            self._held.resume()
            self._inputs.give_contents()
            return
        fills = self._opened.fills()
        hold_s = _WAKE_S + len(fills) * _START_S
        with self._besides_rounds(judge_s=hold_s + len(fills) * _FILL_S):
            self._held.resume()
            self._inputs.give_contents()
            self._talk.ask(Attend(), Attending)
            self._hardware.hold(hold_s)
            for fill in fills:
                fill()
            self._hardware.wait()

    def round(
        self,
        slots: Sequence[int],
        *,
        seed: int,
        hold: bool = False,
        order: Order | None = None,
        spin_ms: float | None = None,
    ) -> Round:
        looked_for = self._round_begins(slots)
        request = Go(slots=tuple(slots), seed=seed, order=order, plain=self._inputs.plain_of(slots), spin_ms=spin_ms)
        gathers = hold and self._apart and self._inputs.copied_arena is None
        started = time.monotonic()
        seconds, why = self._deadline_of(len(slots))
        stop = self._held.halt if hold else lambda: None
        self._done = done = self._talk.ask_round(request, seconds=seconds, why=why, spin_s=self._spin_s, stop=stop)
        self._was_called = True
        if gathers:
            self._kept.gather(done, looked_for)
        took_s = time.monotonic() - started
        device_ms = done.device_ms if self._apart else None
        worked_s = self._held.worked_s if hold else None
        return Round(took_s, len(slots), device_ms, self._kept.gathered, worked_s)

    def _round_begins(self, slots: Sequence[int]) -> LookedFor:
        self._opened.unmark()
        self._was_stepped = False
        self._inputs.round_begins(slots)
        self._held.round_begins()
        self._layouts.overwritten_as({})
        return self._kept.round_begins()

    def _deadline_of(self, calls: int) -> tuple[float, str]:
        """How long so many calls may take, and why."""
        if self._deadlines is None:
            return self._call_s, ""
        deadline = self._deadlines.of_round(calls, first=not self._was_called)
        return deadline.seconds, deadline.why

    def expect_steps(self, slots: Sequence[int], *, seed: int | None, empty: bool = False) -> None:
        self._opened.unmark()
        if self._inputs.copied_arena is None:
            seconds, why = self._deadline_of(1)
            self._host_steps.expect(slots, seed=seed, empty=empty, seconds=seconds, why=why)

    def step(self, slot: int, *, seed: int, last: bool = False) -> float:
        if self._inputs.copied_arena is not None:  # it takes a message to have contents copied
            self.round([slot], seed=seed, hold=last)
            return time.monotonic()
        self._round_begins([slot])
        seconds, why = self._deadline_of(1)
        end = partial(self._host_steps.end, seconds=seconds, stop=self._held.halt)
        try:
            over_s = self._host_steps.step(slot, seed=seed, seconds=seconds, why=why)
        except LaidOutAnew:
            self._done = end()
            raise
        if last:
            self._done = end()
        return over_s

    def copies_of_a_look(self) -> int:
        is_plain = self._inputs.copied_arena is None and self._inputs.plain_of([0]) is None
        return self._steps.copies() if is_plain else 0

    def steps(self, staged: Sequence[Staged], *, seed: int, own_seeds: Sequence[int], copies: int) -> Stepped:
        self._round_begins([one.slot for one in staged])
        seconds, why = self._deadline_of(len(staged))
        stepped, self._done = self._steps.take(
            staged,
            seed=seed,
            own_seeds=own_seeds,
            copies=copies,
            seconds=seconds,
            why=why,
            stop=self._held.halt,
        )
        self._was_stepped = True
        return stepped

    def step_outputs(self, calls: Sequence[int]) -> dict[int, list[Any]]:
        if self._layouts.has_plain or self._inputs.copied_arena is not None:
            return {}  # nothing tells which numbers a call had
        steps = self._steps if self._apart else self._host_steps
        like = self._last_described[-1]
        return {call: [self._reader.put_together(like, each) for each in steps.seen_of(call)] for call in calls}

    def look_at(self, places: abc.Mapping[int, Sequence[torch.Tensor | None]]) -> None:
        self._kept.look_at(places)

    def look_for(self, calls: int) -> None:
        if self._apart and self._inputs.copied_arena is None:
            self._kept.look_for(calls)

    def snapshot(self, calls: Sequence[int]) -> None:
        assert self._done is not None
        if self._inputs.copied_arena is not None:  # a flag says of such drivers that this cannot be done
            return
        if self._was_stepped:
            self._kept.keep_seen(self._steps.seen(self._done))
            return
        if self._apart:
            self._kept.keep_gathered(self._done, calls)
            return
        self._kept.keep_on_host(self._done, calls)
        if self._held.ran():
            raise Unsettled

    def spare(self, places: frozenset[int]) -> None:
        self._memory.spare(places)
        self._steps.spared = places

    def shares_outputs(self) -> bool:
        assert self._done is not None
        return self._memory.is_shared(self._done)

    def aside_s(self) -> float:
        if not self._apart:
            return self._held.aside_s()
        seconds, self._aside_s = self._aside_s, 0.0
        return seconds

    def loop_s(self) -> float:
        return self._loop_s

    @contextmanager
    def _besides_rounds(self, *, judge_s: float = 0.0) -> Iterator[None]:
        """What is waited for here the worker may have worked, on the host or on the device, but for `judge_s`."""
        started = time.monotonic()
        yield
        self._aside_s += max(0.0, time.monotonic() - started - judge_s)

    def spoil(self) -> None:
        if self._done is not None and self._inputs.copied_arena is None:
            self._memory.spoil(self._done)

    def survey(self, calls: Sequence[int]) -> None:
        if self._inputs.copied_arena is not None:
            return
        if not self._apart:
            self._described(calls[-1:])  # what lies on the host can be read wherever it is
            return
        self._reader.open_all(self._described(calls))

    def outputs(self, calls: Sequence[int], *, like: Any = None) -> list[Any]:
        answer = self._described(calls)
        return self._reader.read(answer, [self._kept.of(call) for call in calls], like)

    def _described(self, calls: Sequence[int]) -> Described:
        """What the worker says of the outputs of these calls, as far as it agrees with what it said before."""
        assert self._done is not None
        held = self._held.holds
        with self._besides_rounds():
            self._held.resume()
            parts = self._inputs.parts_of(calls)
            answer = self._talk.ask(Describe(calls=tuple(calls), parts=parts), Described)
        if held:
            self.freeze()  # until it is asked again: nothing else of it is wanted meanwhile
        self._inputs.take_back(parts)
        self.substitutions, self.cuda_error = answer.substitutions, answer.cuda_error
        self._inputs.locate()
        self._layouts.learn(calls, answer.outputs, self._done)
        self._last_described = answer.outputs
        return answer

    def release(self, *, poison: bool = False, trim: bool = False) -> None:
        if trim:
            self._opened.close()
        self._done = None
        self._kept.release()
        with self._besides_rounds() if not trim else nullcontext():  # giving memory back takes what it takes
            self._held.resume()
            answer = self._talk.ask(Release(poison=poison, trim=trim, loops=self._loops), Released)
        self._loop_s = answer.loop_s if self._loops else 0.0  # whatever a candidate says
        self._aside_s -= min(self._aside_s, self._loop_s)

    def trace(self, slots: Sequence[int]) -> Trace:
        self._opened.unmark()
        self._held.resume()
        answer = self._talk.ask(TraceCalls(slots=tuple(slots)), Traced, seconds=self._call_s)
        used = tuple(KernelUse(kernel.name, kernel.us, kernel.launches) for kernel in answer.kernels)
        return Trace(answer.us, len(slots), used)

    def close(self) -> None:
        """Unmap what was opened of the worker's memory. The worker itself is its owner's to end."""
        self._opened.close()
        self._steps.close()
        self._host_steps.close()

    def end(self) -> None:
        self._opened.close()
        self._steps.close()
        self._host_steps.close()
        self._talk.end()
