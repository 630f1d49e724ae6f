"""What a test may take of the processor, on a machine as busy as it likes."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most(cpu_s: float) -> Iterator[None]:
    """Fails what takes more of this process's own time, in the middle of a search too."""

    def ring(number: int, frame: object) -> None:
        raise AssertionError(f"more than {cpu_s} s")

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
