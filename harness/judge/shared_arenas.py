"""Shared arenas: memory handed to a worker by its descriptor, and values whose tensors lie in such memory."""

import os
from contextlib import closing
from typing import Any

import torch

from harness.judge.worker_conversation import Conversation
from harness.transport.memory import Arena, HostArena, view
from harness.transport.values import TensorValue, Value, encode, tensors
from harness.transport.worker_messages import Attach, Attached


class SharedArenas:
    """Those of one worker, by numbers that count up. Methods raise SubjectFailed as the conversation does."""

    def __init__(self, conversation: Conversation) -> None:
        self._talk = conversation
        self._arenas = 0

    def attach(self, arena: Arena) -> tuple[int, int]:
        """Have the worker map it; its number, and the address where the worker says that it lies."""
        self._arenas += 1
        descriptor = arena.descriptor()
        try:
            request = Attach(arena=self._arenas, size=arena.size, kind=arena.kind)
            answer = self._talk.ask(request, Attached, descriptors=[descriptor])
        finally:
            os.close(descriptor)
        return self._arenas, answer.base

    def attach_words(self, size: int) -> tuple[int, memoryview]:
        """Have the worker map so many bytes, a multiple of eight; their number, and them as words of eight bytes."""
        with closing(HostArena(size)) as arena:  # what words are of stays mapped
            number, _ = self.attach(arena)
            return number, arena.words()

    def share(self, given: Any) -> tuple[Value, int | None]:
        """A nested value for the worker; tensors in it go into a host arena of their own, by its number."""
        found: list[torch.Tensor] = []
        cursor = 0

        def place(value: torch.Tensor) -> TensorValue:
            nonlocal cursor
            found.append(value.detach().cpu().contiguous())
            offset, cursor = cursor, cursor + found[-1].numel() * found[-1].element_size() + 256 & ~255
            return TensorValue(
                dtype=str(value.dtype).removeprefix("torch."),
                shape=tuple(value.shape),
                strides=tuple(found[-1].stride()),
                offset=offset,
            )

        arguments = encode(given, place)
        if not found:
            return arguments, None
        with closing(HostArena(cursor)) as arena:
            for leaf, value in zip(tensors(arguments), found, strict=True):
                view(arena.bytes(), leaf, leaf.offset).copy_(value)
            number, _ = self.attach(arena)
        return arguments, number
