"""The capped log of a process: the head and the tail of what it wrote, never more."""

from collections import deque


class CappedLog:
    """Keeps the first and the last `limit_bytes / 2` of a stream of bytes in bounded memory and time."""

    def __init__(self, limit_bytes: int) -> None:
        self._head_room = self._tail_limit = limit_bytes // 2
        self._head: list[bytes] = []
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._dropped = 0

    def write(self, data: bytes) -> None:
        """Take the next piece."""
        head, rest = data[: self._head_room], data[self._head_room :]
        if head:
            self._head.append(head)
            self._head_room -= len(head)
        if not rest:
            return
        self._tail.append(rest)
        self._tail_bytes += len(rest)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._tail_limit:
            gone = self._tail.popleft()
            self._tail_bytes -= len(gone)
            self._dropped += len(gone)

    def text(self) -> str:
        """What was kept, with one line in the middle that says how much was not."""
        tail = b"".join(self._tail)
        extra = max(0, len(tail) - self._tail_limit)
        dropped, tail = self._dropped + extra, tail[extra:]
        gap = f"\n[... {dropped} bytes left out ...]\n".encode() if dropped else b""
        return (b"".join(self._head) + gap + tail).decode("utf-8", "replace")
