"""Jobs on this machine: many are prepared at once, each device takes one prepared job at a time."""

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import Generic, TypeVar

T = TypeVar("T")
P = TypeVar("P")
D = TypeVar("D")
R = TypeVar("R")


class _Stop(Exception):
    """The run is over; nobody takes from the queue any more."""


def run(
    tasks: Iterable[T | None],
    *,
    prepare: Callable[[T], P],
    devices: Sequence[D],
    judge: Callable[[D, P], R],
    builders: int,
    ahead: int = 8,
) -> Generator[R]:
    """Yield `judge(device, prepare(task))` for every task, in the order in which they finish.

    At most `builders` tasks are prepared at once and `ahead` wait for a device. The first exception of either
    function ends the run and is raised here; closing the iterator ends it too. Work under way is waited for.

    Tasks are taken as builders become free, so more of them may come while others are judged: a source that has none
    at the moment, but may have later, gives None after a short while.
    """
    stages = _Stages(iter(tasks), prepare, judge, ahead)
    bodies = [(f"builder-{index}", stages.build) for index in range(builders)]
    bodies += [(f"device-{index}", partial(stages.use, device)) for index, device in enumerate(devices)]
    threads = [threading.Thread(target=stages.guarded, args=(body,), name=name) for name, body in bodies]
    for thread in threads:
        thread.start()
    try:
        yield from stages.results()
    finally:
        stages.stop.set()
        for thread in threads:
            thread.join()


class _Stages(Generic[T, P, D, R]):
    """What the threads of a run share: tasks to take, a queue of prepared ones, and results."""

    def __init__(
        self, source: Iterator[T | None], prepare: Callable[[T], P], judge: Callable[[D, P], R], ahead: int
    ) -> None:
        self._source, self._prepare, self._judge = source, prepare, judge
        self._taking = threading.Lock()
        self._taken = 0
        self._prepared: queue.Queue[P] = queue.Queue(maxsize=ahead)
        self._results: queue.Queue[tuple[R] | BaseException | None] = queue.Queue()
        self._exhausted = threading.Event()
        self.stop = threading.Event()

    def guarded(self, body: Callable[[], None]) -> None:
        """Run the body of a thread; what it raises is raised again in the caller's."""
        try:
            body()
        except _Stop:
            return
        except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
            self._results.put(error)

    def build(self) -> None:
        """Take tasks and prepare them, until there are none."""
        while not self.stop.is_set():
            task = self._take()
            if task is not None:
                self._put(self._prepare(task))

    def use(self, device: D) -> None:
        """Judge on one device whatever is prepared."""
        while not self.stop.is_set():
            try:
                item = self._prepared.get(timeout=0.05)
            except queue.Empty:
                continue
            self._results.put((self._judge(device, item),))

    def results(self) -> Iterator[R]:
        """Results as they come, until every task that was taken has one."""
        given = 0
        while not (self._exhausted.is_set() and given == self._taken):
            result = self._results.get()
            if isinstance(result, BaseException):
                raise result
            if result is not None:
                given += 1
                yield result[0]

    def _take(self) -> T | None:
        with self._taking:
            if self._exhausted.is_set():
                raise _Stop
            try:
                task = next(self._source)
            except StopIteration:
                self._exhausted.set()
                self._results.put(None)  # wakes who waits for results: there may be no more to come
                raise _Stop from None
            self._taken += task is not None
            return task

    def _put(self, item: P) -> None:
        while not self.stop.is_set():
            try:
                return self._prepared.put(item, timeout=0.2)
            except queue.Full:
                continue
        raise _Stop
