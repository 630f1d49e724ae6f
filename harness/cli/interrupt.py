"""Leaving on Ctrl-C or SIGTERM: at once, with everything that was started.

Not by KeyboardInterrupt: threads of ours wait for compilers and judges for as long as their deadlines allow, minutes
perhaps, and a compiler that is killed while its builder lives on looks like a kernel that does not compile. What is
kept is durable line by line, so that leaving hard loses nothing.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType

from harness.sandbox.processes import descendants

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\r\x1b[2K\x1b[?25h"


@contextlib.contextmanager
def leaving_at_once(message: str) -> Iterator[None]:
    """While the block runs, either signal says `message`, kills this process's descendants and exits with 128 + n."""
    last_words = f"harness: {message}\n".encode()

    def leave(number: int, frame: FrameType | None) -> None:
        del frame
        started = descendants(os.getpid())
        sys.setswitchinterval(1000.0)  # no other thread of ours may look at what died before all is over
        for pid in started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):  # a reader of our stderr may have left
            os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + last_words)
        os._exit(128 + number)

    before = {number: signal.signal(number, leave) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
