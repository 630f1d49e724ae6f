"""Messages between our own trusted processes, with descriptors beside them, over SOCK_SEQPACKET.

Nothing here ever talks to candidate code: the wire (harness.transport) does that.
"""

import os
import socket
from array import array
from collections.abc import Sequence

_CHUNK = 32 * 1024
_LAST, _MORE = b"\0", b"\1"
MAX_FDS = 250  # the kernel passes at most 253 descriptors in one message (SCM_MAX_FD)


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected ends. Both are closed on exec."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(sock: socket.socket, message: bytes, fds: Sequence[int] = ()) -> None:
    """Send one message of any length. Raises OSError where the other side is gone."""
    pieces = [message[i : i + _CHUNK] for i in range(0, len(message), _CHUNK)] or [b""]
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", fds))] if fds else []
    for index, piece in enumerate(pieces):
        mark = _LAST if index == len(pieces) - 1 else _MORE
        sock.sendmsg([mark, piece], rights if index == 0 else [], socket.MSG_NOSIGNAL)


def receive(sock: socket.socket) -> tuple[bytes, list[int]] | None:
    """The next message and the descriptors that came with it, or None where the other side is gone."""
    message, fds = b"", []
    while True:
        try:
            data, piece_fds, _, _ = socket.recv_fds(sock, _CHUNK + 1, MAX_FDS, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError:
            continue  # told once where the other side left without reading all: what it had sent comes after that
        fds += piece_fds
        if not data:
            for fd in fds:
                os.close(fd)
            return None
        message += data[1:]
        if data[:1] == _LAST:
            return message, fds
