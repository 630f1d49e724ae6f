"""Desk: where a request is taken in, told how its judgement goes, and waits for it."""

import asyncio
import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fastapi import HTTPException, Request

from harness.errors import InputError, ProblemError
from harness.serve.asked import Asked, NeedsToken
from harness.serve.changes import Changes
from harness.serve.engine import Busy, Engine, Unavailable
from harness.serve.jobs import Job
from harness.serve.metrics import Metrics

LATER = {"Retry-After": "5"}


@dataclass
class Desk:
    """What the routes share.

    `trusted`: every caller that gets here has shown a token. `most_waiting`: of requests that wait for something to
    happen there are no more, so that there is room for those that do not. `waiting`: how many there are.
    """

    engine: Engine
    changes: Changes
    metrics: Metrics
    trusted: bool
    most_waiting: int
    waiting: int = 0

    @functools.cached_property
    def known_sources(self) -> dict[str, str]:
        """The catalogue's problems: the hash of a source to its title. All are read when the first is asked for.

        One that cannot be read is left out, as nobody can name it either.
        """
        known = {}
        for title in self.engine.catalog.files:
            with contextlib.suppress(ProblemError):
                known[self.engine.named(title).sha256] = title
        return known

    async def accept(self, asked: Asked) -> str:
        """The id of what is asked for. Raises HTTPException where it is refused."""
        try:
            id, _ = await asyncio.to_thread(self.engine.accept, asked, trusted=self.trusted)
        except NeedsToken as error:
            raise HTTPException(403, str(error)) from None
        except InputError as error:
            raise HTTPException(422, str(error)) from None
        except Busy as busy:
            raise HTTPException(429, str(busy), {"Retry-After": str(busy.retry_after_s)}) from None
        except Unavailable as error:
            raise HTTPException(503, str(error), LATER) from None
        return id

    def job(self, id: str) -> Job:
        """Raises HTTPException where there is none."""
        job = self.engine.jobs.look(id)
        if job is None:
            raise HTTPException(404, "there is no such judgement")
        return job

    @property
    def is_full(self) -> bool:
        """Whether as many wait as may."""
        return self.waiting >= self.most_waiting

    def require_a_place(self) -> None:
        """Raises HTTPException where there is none."""
        if self.is_full:
            raise HTTPException(503, "too many requests wait already: ask later, or without waiting", LATER)

    @contextlib.contextmanager
    def place(self, *ids: str) -> Iterator[asyncio.Event]:
        """A place for one that waits, and what is set by every change of these."""
        self.waiting += 1
        try:
            with self.changes.of(*ids) as changed:
                yield changed
        finally:
            self.waiting -= 1

    async def settled(self, id: str, wait_s: float, request: Request) -> Job:
        """The job, once it has ended, `wait_s` is over or the caller of `request` has left.

        It has ended too where it has had a verdict since and is open anew: others could keep it so without end.
        Raises HTTPException where it is waited for and too many are, or the server drains: it stays queued, and is not
        begun now.
        """
        job = self.job(id)
        if not job.is_open or wait_s <= 0:
            return job
        self.require_a_place()
        end = asyncio.get_running_loop().time() + wait_s
        before = job.record
        with self.place(id) as changed, _gone(request, changed) as gone:
            while True:
                changed.clear()
                job = as_ended(self.job(id), before)
                left = end - asyncio.get_running_loop().time()
                if not job.is_open or left <= 0 or gone.done():
                    return job
                if self.engine.draining and job.state == "queued":
                    raise HTTPException(503, "the server is draining; the judgement stays queued", LATER)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await changed.wait()


def as_ended(job: Job, before: str | None) -> Job:
    """The job, as done where it is open anew and its record is another than `before`: it has had a verdict since."""
    return replace(job, state="done") if job.is_open and job.record != before else job


@contextlib.contextmanager
def _gone(request: Request, changed: asyncio.Event) -> "Iterator[asyncio.Task[None]]":
    """A task that ends, and sets `changed`, when the caller has left: nothing else ends what waits for it."""

    async def notice() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        changed.set()

    noticing = asyncio.create_task(notice())
    try:
        yield noticing
    finally:
        noticing.cancel()
