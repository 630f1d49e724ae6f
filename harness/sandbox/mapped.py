"""Files in memory that processes have mapped: what they take, whether or not a page of them is mapped any more.

A page of shared memory stays where it is when it is unmapped (MADV_DONTNEED, a part of the range given to munmap): it
belongs to a file, and no figure of a process shows it. Of a file behind a mapping the kernel tells root what it takes.
To others it tells how far mappings of it reach, and how much of such memory the whole machine has: what is hidden is at
most the smaller of both. Not covered for others than root: a file of which a part was unmapped before it was looked at.
"""

import contextlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from harness.sandbox.processes import folders_of_tasks, memory_device, read_bytes

MOST_MAPPINGS = 1 << 18
"""Of all processes together: 32 compilers of torch's have 50 thousand. These are gone through in half a second."""
MOST_TEXT_BYTES = 1 << 26
"""What the kernel says of these. A line has some 100 bytes, and 16,000 where a name is made of what it escapes."""
MOST_FILES = 1 << 14
"""Files in memory behind them; a look at each takes 5 µs."""
_SECTOR_BYTES = 512


@dataclass
class Mapped:
    """Files in memory behind the mappings of some processes, by inode.

    `known` is what a file takes in bytes; of those where the kernel does not say that `reach` is how many bytes of the
    file lie before the end of the last mapping of it. `mappings` of any kind were counted on the way, and the bytes of
    what the kernel said of them.
    """

    known: dict[int, int] = field(default_factory=dict)
    reach: dict[int, int] = field(default_factory=dict)
    mappings: int = 0
    text_bytes: int = 0

    @property
    def too_many(self) -> bool:
        """Whether there are more than can be gone through, so that not all of them were looked at."""
        too_long = self.mappings > MOST_MAPPINGS or self.text_bytes > MOST_TEXT_BYTES
        return too_long or len(self.known) + len(self.reach) > MOST_FILES


def behind_mappings(pids: Iterable[int], *, before: Mapped | None = None) -> Mapped:
    """What the processes map now. A file reaches as far as it did `before`, while any of it is mapped."""
    found = Mapped()
    for pid in pids:
        if found.too_many:
            break
        _look_through(pid, found)
    for inode in found.reach.keys() & (before.reach.keys() if before else ()):
        assert before is not None
        found.reach[inode] = max(found.reach[inode], before.reach[inode])
    return found


def is_told() -> bool:
    """Whether the kernel tells us what the files behind mappings take (CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN)."""
    try:
        os.stat(f"/proc/self/map_files/{os.listdir('/proc/self/map_files')[0]}")
    except OSError:
        return False
    return True


def _look_through(pid: int, found: Mapped) -> None:
    place, maps = _mappings(pid, MOST_TEXT_BYTES - found.text_bytes)
    untold = set()
    found.mappings += maps.count(b"\n")
    found.text_bytes += len(maps)
    for line in _lines().finditer(maps):
        start, end, offset = (int(number, 16) for number in line.groups()[:3])
        inode = int(line[4])
        if inode in found.known:
            continue
        if found.too_many:
            return
        size = _bytes_of(f"{place}/map_files/{start:x}-{end:x}", inode)
        if size is None:
            untold |= {inode} - found.reach.keys()
            found.reach[inode] = max(found.reach.get(inode, 0), offset + end - start)
        else:
            found.known[inode] = size
            found.reach.pop(inode, None)
    if untold and not _mappings(pid, 0)[0]:  # nothing is told of what it mapped, and it holds nothing any more
        for inode in untold:
            found.reach.pop(inode, None)


def _mappings(pid: int, most: int) -> tuple[str, bytes]:
    """The folder of the first of a process's threads that shows its mappings, and these.

    One that has ended shows none, and the others go on. Of a process that has closed itself to us its first thread's
    folder, and nothing: it shows in its descriptors. Both are empty where all threads have ended.
    """
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for place in folders_of_tasks(pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                try:
                    maps = read_bytes(f"{place}/maps", most)
                except PermissionError:
                    return place, b""
                if maps:
                    return place, maps
    return "", b""


def _bytes_of(link: str, inode: int) -> int | None:
    """What the file behind a mapping takes; None where the kernel does not say, or it is mapped there no more."""
    try:
        file = os.stat(link)
    except OSError:
        return None
    return file.st_blocks * _SECTOR_BYTES if (file.st_dev, file.st_ino) == (memory_device(), inode) else None


def _lines() -> re.Pattern[bytes]:
    """Matches lines of /proc/PID/maps that show a file in memory: its range, its offset there, its inode."""
    device = memory_device()
    numbers = b"%02x:%02x" % (os.major(device), os.minor(device))
    return re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) \S{4} ([0-9a-f]+) " + numbers + rb" (\d+)", re.MULTILINE)
