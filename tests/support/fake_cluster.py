"""A cluster without Ray: nodes that a test adds and takes away, and actors that answer at once or when told."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

import harness
from harness.cluster.engine import not_judged
from harness.cluster.messages import Asked, DeviceSeen, Fault, GivenUp, Opened, Opening, Outcome, Told
from harness.cluster.nodes import Actor, ActorLost, Cluster, Node
from harness.controller.reuse import Reuse
from harness.schema import Environment, Failed

ENVIRONMENT = Environment(harness=harness.__version__, python="3.11", torch="2.13", driver="580")


def device(**other: str) -> DeviceSeen:
    """A device; `other` is of the environment, or its `model`."""
    model = other.pop("model", "a fake device")
    return DeviceSeen(name="cpu", model=model, environment=ENVIRONMENT.model_copy(update=other))


def told(asked: Asked, *, fault: Fault | None = None) -> Told:
    """A verdict that names the submission, or a record of a fault."""
    ask = asked.ask(Reuse())
    if fault is not None:
        return Told(record=not_judged(ask, fault.error(), device()), attachments={}, fault=fault)
    verdict = Failed(stage="run", reason="exception", detail=f"it says {asked.submission.text}")
    record = not_judged(ask, Fault(kind="MachineError", detail="").error(), device())
    return Told(record=record.model_copy(update={"verdict": verdict}), attachments={}, device="cpu", device_s=0.1)


class FakeActor(Actor):
    """`answers` is what it says; where None, a test answers with `tell`."""

    def __init__(self, node: Node, cluster: "FakeCluster") -> None:
        self.node, self.cluster = node, cluster
        self.asked: dict[int, Asked] = {}
        self.given_up: list[int] = []
        self.opening: Opening | None = None
        self.is_stopped = self.is_ended = False
        self._open: dict[int, Future[Outcome]] = {}
        self._starting: list[Future[str]] = []

    def placed(self) -> "Future[str]":
        placed: Future[str] = Future()
        if self.node.host in self.cluster.full:
            self._starting.append(placed)
        else:
            placed.set_result(self.cluster.versions.get(self.node.host, harness.__version__))
        return placed

    def open(self, opening: Opening) -> "Future[Opened | Fault]":
        self.opening = opening
        opened: Future[Opened | Fault] = Future()
        broken = self.cluster.broken.get(self.node.host)
        sort = self.cluster.sorts.get(self.node.host, device())
        opened.set_result(broken or Opened(devices=(sort,), width=self.cluster.width))
        return opened

    def judge(self, asked: Asked) -> "Future[Outcome]":
        future: Future[Outcome] = Future()
        self.asked[asked.number] = asked
        self._open[asked.number] = future
        self.cluster.sent.append((self.node.host, asked.submission.path))
        if self.cluster.answers is not None:
            self.tell(asked.number, self.cluster.answers(self, asked))
        return future

    def tell(self, number: int, outcome: Outcome | None = None) -> None:
        asked = self.asked.pop(number)
        self._open.pop(number).set_result(outcome or told(asked))

    def die(self, reason: str = "it was killed") -> None:
        """Its process ends, as by `kill -9`."""
        self.asked.clear()
        for number in list(self._open):
            self._open.pop(number).set_exception(ActorLost(reason))

    def give_up(self, number: int) -> None:
        self.given_up.append(number)
        if number in self.asked:
            self.tell(number, GivenUp())

    def stop(self) -> None:
        self.is_stopped = True

    def end(self) -> None:
        self.is_ended = True


class FakeCluster(Cluster):
    """`full` hosts have no room for a process, `broken` ones say a fault in the place of opening."""

    def __init__(
        self, *hosts: str, width: int = 2, answers: Callable[[FakeActor, Asked], Outcome] | None = None
    ) -> None:
        self.width, self.answers = width, answers
        self.there = {host: Node(f"id-{host}", host, 4, 0) for host in hosts}
        self.full: set[str] = set()
        self.broken: dict[str, Fault] = {}
        self.sorts: dict[str, DeviceSeen] = {}
        self.versions: dict[str, str] = {}
        self.started: list[FakeActor] = []
        self.sent: list[tuple[str, str]] = []
        self.is_closed = threading.Event()

    def nodes(self) -> list[Node]:
        return list(self.there.values())

    def start(self, node: Node) -> FakeActor:
        self.started.append(FakeActor(node, self))
        return self.started[-1]

    def close(self) -> None:
        self.is_closed.set()

    def join(self, host: str) -> None:
        self.there = {**self.there, host: Node(f"id-{host}", host, 4, 0)}

    def leave(self, host: str) -> None:
        self.there = {name: node for name, node in self.there.items() if name != host}

    def actor(self, host: str) -> FakeActor:
        """The last one that was started there."""
        return next(actor for actor in reversed(self.started) if actor.node.host == host)


def soon(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until that holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.005)
