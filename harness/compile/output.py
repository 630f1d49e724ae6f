"""What a compiler left, taken as from a stranger: it read what a candidate wrote and may have been made to do anything.

What should be a shared object may be a link to any file that we can read, a pipe that nothing writes to, a folder, a
sparse giant, or nothing. It is opened once, never followed and never waited for, and what is kept is what was read from
that descriptor.
"""

import errno
import hashlib
import os
import stat
from pathlib import Path

MODULE_BYTES = 256 << 20
"""The largest shared object that is kept; one of CUTLASS's for several architectures takes some tens of MB."""
_PIECE_BYTES = 1 << 20
_NO_FILE = {errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.ENOTDIR, errno.EACCES, errno.EPERM}


class BadOutput(Exception):
    """What a compiler left is not a file that can be used. The message says why, in a few words."""


def take_output(left: Path, to: Path) -> str:
    """Copy what a compiler left to a new file of ours; gives the SHA-256 of what was copied, in hexadecimal.

    Raises BadOutput where it is no regular file of one name and a bounded size, OSError where `to` cannot be written.
    """
    try:
        descriptor = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in _NO_FILE:  # a machine that is out of descriptors, a broken disk
            raise
        raise BadOutput(f"the linker left no shared object ({error.strerror})") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise BadOutput("the linker left something else than a file of its own")
        if found.st_size > MODULE_BYTES:
            raise BadOutput(f"the linker left {found.st_size} bytes, more than the {MODULE_BYTES} that are kept")
        digest, missing = hashlib.sha256(), found.st_size
        with to.open("xb") as target:
            while missing > 0 and (piece := os.read(descriptor, min(_PIECE_BYTES, missing))):
                digest.update(piece)
                target.write(piece)
                missing -= len(piece)
    finally:
        os.close(descriptor)
    return digest.hexdigest()
