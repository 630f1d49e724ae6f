"""Frames over a Unix socket: a length, a JSON text, and now and then a file descriptor. Never pickle.

A frame is an 8-byte header (little-endian: u32 length of the text, u32 number of descriptors), then the text. The
peer may be hostile: lengths are capped before anything is read, descriptors that were not asked for are closed, and
every wait has a deadline.
"""

import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.errors import ProtocolError
from harness.schema.base import Frozen

MAX_TEXT = 16 * 1024 * 1024
MAX_DESCRIPTORS = 4
_PEEK = int(socket.MSG_PEEK | socket.MSG_DONTWAIT)  # an enum's `|` takes longer than the call itself
_HEADER = struct.Struct("<II")

M = TypeVar("M")


class Closed(ProtocolError):
    """The peer went away, in between frames or inside one."""


class Late(ProtocolError):
    """Nothing complete arrived before the deadline."""


@dataclass(frozen=True)
class Frame:
    """What arrived."""

    text: bytes
    descriptors: tuple[int, ...]

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


def text_of(message: Frozen) -> bytes:
    """The text of a frame that says it."""
    return message.model_dump_json().encode()


def parsed(frame: Frame, kind: TypeAdapter[M]) -> M:
    """The message in a frame. Raises ProtocolError where it is none of `kind`; descriptors are closed then.

    Keys that no message has are passed over: each would be a fault of its own, and a peer has room for millions.
    """
    try:
        return kind.validate_json(frame.text, extra="ignore")
    except ValidationError as error:
        frame.close()
        first = error.errors(include_url=False, include_input=False)[0]
        raise ProtocolError(f"not a message of this wire: {first['msg']}") from error


class Channel:
    """One end of a conversation. Owns its socket; not safe for two threads that receive at once."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        """What was read already of the frames that come next."""

    @classmethod
    def from_descriptor(cls, descriptor: int) -> "Channel":
        return cls(socket.socket(fileno=descriptor))

    @classmethod
    def pair(cls) -> tuple["Channel", socket.socket]:
        """A channel and the bare socket of its peer, to be handed to another process."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(ours), theirs

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()

    def __enter__(self) -> "Channel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, message: Frozen, descriptors: Sequence[int] = (), *, deadline: float | None = None) -> None:
        """Send one message. `deadline` is a `time.monotonic()` value; without one it waits for the peer to read.

        Raises `Closed` where the peer has gone, `Late` where it has not read enough by then.
        """
        self.send_text(text_of(message), descriptors, deadline=deadline)

    def send_text(self, text: bytes, descriptors: Sequence[int] = (), *, deadline: float | None = None) -> None:
        if len(text) > MAX_TEXT:
            raise ProtocolError(f"a frame of {len(text)} bytes is over the wire's limit of {MAX_TEXT}")
        rest = memoryview(_HEADER.pack(len(text), len(descriptors)) + text)
        flags = 0 if deadline is None else socket.MSG_DONTWAIT
        handed = list(descriptors)
        while rest:
            try:
                sent = socket.send_fds(self._sock, [rest], handed, flags) if handed else self._sock.send(rest, flags)
            except BlockingIOError:
                self._wait(deadline, select.POLLOUT)
                continue
            except OSError as error:
                raise Closed(f"the peer went away: {error.strerror}") from error
            rest, handed = rest[sent:], []

    def receive(self, kind: TypeAdapter[M], *, deadline: float | None = None) -> M:
        """The next message, which must carry no descriptor. `deadline` is a `time.monotonic()` value."""
        message, frame = self.receive_frame(kind, deadline=deadline)
        if frame.descriptors:
            frame.close()
            raise ProtocolError("a descriptor arrived that was not asked for")
        return message

    def receive_frame(
        self, kind: TypeAdapter[M], *, deadline: float | None = None, spin_s: float = 0.0
    ) -> tuple[M, Frame]:
        """The next message with its frame, whose descriptors then belong to the caller.

        `spin_s` seconds are waited for it awake: a core that has gone to sleep takes up to 0.4 ms to come back.

        Raises `Closed`, `Late`, or `ProtocolError` where the frame is malformed or no message of `kind`.
        """
        frame = self.receive_text(deadline=deadline, spin_s=spin_s)
        return parsed(frame, kind), frame

    def receive_text(self, *, deadline: float | None = None, spin_s: float = 0.0) -> Frame:
        descriptors: list[int] = []
        self._spin(spin_s)
        try:
            header = self._read(_HEADER.size, deadline, descriptors)
            length, count = _HEADER.unpack(header)
            if length > MAX_TEXT or count > MAX_DESCRIPTORS:
                raise ProtocolError(f"a frame announces {length} bytes and {count} descriptors")
            text = self._read(length, deadline, None)
            if count != len(descriptors):
                raise ProtocolError(f"a frame announces {count} descriptors and brings {len(descriptors)}")
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        return Frame(text, tuple(descriptors))

    def _read(self, size: int, deadline: float | None, descriptors: list[int] | None) -> bytes:
        parts, missing = list[bytes](), size
        while missing:
            self._wait(deadline)
            parts.append(self._part(min(missing, 1 << 20), descriptors))
            missing -= len(parts[-1])
        return b"".join(parts)

    def _part(self, most: int, descriptors: list[int] | None = None) -> bytes:
        """Up to so many bytes, at least one. Descriptors that come along are added to a list, or closed."""
        try:
            if descriptors is None:
                part = self._sock.recv(most)
            else:
                part, arrived, _, _ = socket.recv_fds(self._sock, most, MAX_DESCRIPTORS)
                descriptors.extend(arrived)
        except OSError as error:
            raise Closed(f"the peer went away: {error.strerror}") from error
        if not part:
            raise Closed("the peer went away")
        return part

    def is_quiet(self) -> bool:
        """Whether nothing has arrived that was not received yet; a peer that has gone counts as quiet."""
        try:
            return not self._sock.recv(1, _PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return True  # the next message says what happened

    def _spin(self, seconds: float) -> None:
        """Return as soon as something can be read, or after `seconds`."""
        if not seconds:
            return
        poller, until = _poller(self._sock, select.POLLIN), time.monotonic() + seconds
        while not poller.poll(0) and time.monotonic() < until:
            pass

    def _wait(self, deadline: float | None, event: int = select.POLLIN) -> None:
        if deadline is None:
            return
        remaining = deadline - time.monotonic()
        if remaining <= 0 or not _poller(self._sock, event).poll(remaining * 1000):
            raise Late("nothing was answered, or read, before the deadline")


def _poller(sock: socket.socket, event: int) -> "select.poll":
    """What waits for an event of a socket. `select` takes no descriptor above 1023.

    Each wait has its own: two threads may not wait by one.
    """
    poller = select.poll()
    poller.register(sock, event)
    return poller
