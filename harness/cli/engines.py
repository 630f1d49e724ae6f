"""The engine that a command judges with: this machine's, or that of a Ray cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.console import Console

if TYPE_CHECKING:
    from harness.controller.engine import Engine
    from harness.settings import Settings


class Shown(Protocol):
    """A display that names what is judged on."""

    def judging_on(self, device: str) -> None: ...


def place_of(ray: str | None, device: str) -> str:
    """What is judged on, in words. Raises InputError or DeviceError where this machine has no such device."""
    if ray is not None:
        return f"Ray at {ray}"
    from harness.controller.session import choose_devices

    return ", ".join(choice.name for choice in choose_devices(device))


@contextmanager
def engine_of(
    ray: str | None, device: str, settings: "Settings", *, builders: int | None, console: Console, display: Shown
) -> "Iterator[Engine]":
    """The engine over the cluster at this address, over this machine where there is none.

    What becomes of nodes is printed, and `display` names those that judge. Raises HarnessError where none can be had.
    """
    if ray is None:
        from harness.controller.engine import open_engine

        with open_engine(device, settings, builders=builders) as engine:
            yield engine
        return
    from harness.cluster.engine import open_cluster_engine

    def tell(news: str, judging: str) -> None:
        console.print(news)
        display.judging_on(judging)

    with open_cluster_engine(ray, device, settings, builders=builders, on_news=tell) as cluster:
        yield cluster
