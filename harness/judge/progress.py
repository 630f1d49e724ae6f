"""Progress: how far a judgement is, which a verdict names where it ends there, and how long it took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from harness.schema.verdict import Stage


class Progress:
    """`stage` is what the candidate is at, `kind` that of the trial's contents; `phases_s` are seconds by phase."""

    def __init__(self) -> None:
        self.stage: Stage = "load"
        self.kind = "nominal"
        self.phases_s: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what is done within."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.phases_s[name] = self.phases_s.get(name, 0.0) + time.monotonic() - started
