"""Jobs on this machine: many are prepared at once, each device takes one prepared job at a time."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

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
) -> Iterator[R]:
    """Yield `judge(device, prepare(task))` for every task, in the order in which they finish.

    At most `builders` tasks are prepared at once and `ahead` wait for a device. The first exception of either
    function ends the run and is raised here; closing the iterator ends it too. Work under way is waited for.

    Tasks are taken as builders become free, so more of them may come while others are judged: a source that has none
    at the moment, but may have later, gives None after a short while.
    """
    source = iter(tasks)
    taking = threading.Lock()
    taken = 0
    prepared: queue.Queue[P] = queue.Queue(maxsize=ahead)
    results: queue.Queue[tuple[R] | BaseException | None] = queue.Queue()
    stop, exhausted = threading.Event(), threading.Event()

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def body() -> None:
            try:
                work()
            except _Stop:
                return
            except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
                results.put(error)

        return body

    def put(item: P) -> None:
        while not stop.is_set():
            try:
                return prepared.put(item, timeout=0.2)
            except queue.Full:
                continue
        raise _Stop

    def take() -> T | None:
        nonlocal taken
        with taking:
            if exhausted.is_set():
                raise _Stop
            try:
                task = next(source)
            except StopIteration:
                exhausted.set()
                results.put(None)  # wakes who waits for results: there may be no more to come
                raise _Stop from None
            taken += task is not None
            return task

    def build() -> None:
        while not stop.is_set():
            task = take()
            if task is not None:
                put(prepare(task))

    def use(device: D) -> None:
        while not stop.is_set():
            try:
                item = prepared.get(timeout=0.05)
            except queue.Empty:
                continue
            results.put((judge(device, item),))

    threads = [threading.Thread(target=guarded(build), name=f"builder-{index}") for index in range(builders)]
    threads += [
        threading.Thread(target=guarded(lambda device=device: use(device)), name=f"device-{index}")  # type: ignore[misc]  # mypy cannot type a lambda's default
        for index, device in enumerate(devices)
    ]
    for thread in threads:
        thread.start()
    try:
        given = 0
        while not (exhausted.is_set() and given == taken):
            result = results.get()
            if isinstance(result, BaseException):
                raise result
            if result is not None:
                given += 1
                yield result[0]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
