"""Jobs on this machine: many are prepared at once, each device takes one prepared job at a time."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
P = TypeVar("P")
D = TypeVar("D")
R = TypeVar("R")


class _Stop(Exception):
    """The run is over; nobody takes from the queue any more."""


def run(
    tasks: Sequence[T],
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
    """
    waiting: queue.Queue[T] = queue.Queue()
    for task in tasks:
        waiting.put(task)
    prepared: queue.Queue[P] = queue.Queue(maxsize=ahead)
    results: queue.Queue[tuple[R | None, BaseException | None]] = queue.Queue()
    stop = threading.Event()

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def body() -> None:
            try:
                work()
            except _Stop:
                return
            except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
                results.put((None, error))

        return body

    def put(item: P) -> None:
        while not stop.is_set():
            try:
                return prepared.put(item, timeout=0.2)
            except queue.Full:
                continue
        raise _Stop

    def build() -> None:
        while not stop.is_set():
            try:
                task = waiting.get_nowait()
            except queue.Empty:
                return
            put(prepare(task))

    def use(device: D) -> None:
        while not stop.is_set():
            try:
                item = prepared.get(timeout=0.05)
            except queue.Empty:
                continue
            results.put((judge(device, item), None))

    threads = [threading.Thread(target=guarded(build), name=f"builder-{index}") for index in range(builders)]
    threads += [
        threading.Thread(target=guarded(lambda device=device: use(device)), name=f"device-{index}")  # type: ignore[misc]  # mypy cannot type a lambda's default
        for index, device in enumerate(devices)
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in tasks:
            result, error = results.get()
            if error is not None:
                raise error
            yield result  # type: ignore[misc]  # None only beside an error
    finally:
        stop.set()
        for thread in threads:
            thread.join()
