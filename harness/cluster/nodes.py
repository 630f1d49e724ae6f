"""What is asked of a cluster: its nodes, and a process on one of them. Tests put one in its place that needs no Ray."""

from abc import ABC, abstractmethod
from concurrent.futures import Future
from dataclasses import dataclass

from harness.cluster.messages import Asked, Fault, Opened, Opening, Outcome
from harness.errors import MachineError


class ActorLost(MachineError):
    """The process on a node died, or its node did."""


@dataclass(frozen=True)
class Node:
    """A node of the cluster: `id` is new each time that it joins, `host` is the machine's name."""

    id: str
    host: str
    cpus: int
    gpus: int


class Actor(ABC):
    """A process on a node, which holds one session. Futures raise ActorLost where it died, or could not be started."""

    @abstractmethod
    def placed(self) -> "Future[str]":
        """It runs: the version of the harness there."""

    @abstractmethod
    def open(self, opening: Opening) -> "Future[Opened | Fault]":
        """Open its session."""

    @abstractmethod
    def judge(self, asked: Asked) -> "Future[Outcome]":
        """Judge it; any number may be asked for at once."""

    @abstractmethod
    def give_up(self, number: int) -> None:
        """No caller waits for it any more. Its future ends all the same."""

    @abstractmethod
    def stop(self) -> None:
        """Let no device begin anything more."""

    @abstractmethod
    def end(self) -> None:
        """End the process and all that it has started. Returns at once."""


class Cluster(ABC):
    """The nodes that may judge. Used by one thread but for `close`, which comes last."""

    @abstractmethod
    def nodes(self) -> list[Node]:
        """Those that are there now and have what is to be judged on."""

    @abstractmethod
    def start(self, node: Node) -> Actor:
        """Start a process there, alone on what the node has to judge on."""

    @abstractmethod
    def close(self) -> None:
        """Leave the cluster, which goes on."""
