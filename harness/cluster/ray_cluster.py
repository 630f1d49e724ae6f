"""Ray as it is used here, and nowhere else: it starts actors, carries messages, and says which nodes there are.

`max_restarts=0`: an actor that Ray restarts answers at once that it cannot be reached, and tries would be lost to that.
`log_to_driver=False`, and no printing of its own: a node that is lost prints pages. Never `ray stop`, which ends
processes by their names.
"""

import contextlib
import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

import ray
from ray.exceptions import ActorUnavailableError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from harness.cluster.messages import Asked, Fault, Opened, Opening, Outcome
from harness.cluster.node import NodeProcess, OpenEngine, open_session_engine
from harness.cluster.nodes import Actor, ActorLost, Cluster, Node
from harness.errors import InputError, MachineError

T = TypeVar("T")
_LOOPBACK = ("127.0.0.1", "localhost")
_MOST_AT_ONCE = 100_000
"""Calls of an actor's event loop that may be open; what is in flight is bounded by the engine."""
_ACTION_BYTES = 1024
"""More than a `struct sigaction` takes in any C library."""
UNGUARDED = (
    "this Ray cluster has no token authentication: who reaches it runs code on every node. Start it with "
    "RAY_AUTH_MODE=token (docs/cluster.md)"
)


def join(address: str, device: str, *, opens: OpenEngine = open_session_engine) -> tuple["RayCluster", str]:
    """The cluster at this address, and what its nodes judge on: "cuda" or "cpu".

    Raises InputError for an address or a device that is none, MachineError where no cluster answers.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise InputError(
            f"a cluster judges on auto, cpu or cuda, which is all GPUs of its nodes, and not on {device!r}"
        )
    connect(address)
    kind = device if device != "auto" else "cuda" if any(node.gpus for node in _alive()) else "cpu"
    return RayCluster(kind, opens), kind


def connect(address: str) -> None:
    """Join the cluster, once for this process. Raises as `join` does."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in address:
        raise InputError(f"{address!r} is no address of a Ray cluster: give HOST:PORT, as `ray start --head` prints it")
    own = {"_node_ip_address": "127.0.0.1"} if host in _LOOPBACK else {}
    ray._private.worker.print_to_stdstream = _say_nothing  # what raylets report, whatever `log_to_driver` says
    with _signals_kept():
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error", namespace="kernel-harness", **own)
        except (ConnectionError, RuntimeError, ValueError, RayError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise MachineError(
                f"no Ray cluster answers at {address}, or this machine is no node of it ({reason}): see docs/cluster.md"
            ) from None


def _say_nothing(*said: object, **options: object) -> None:
    """In the place of a function of Ray's that prints to the command's standard output."""


def is_guarded() -> bool:
    """Whether a process needs a token to join the cluster that this one has joined."""
    from ray._private.authentication.authentication_utils import is_token_auth_enabled

    return bool(is_token_auth_enabled())


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Let SIGTERM and SIGINT do what they did before, whichever thread joins a cluster or leaves it.

    Ray takes SIGTERM below Python, in whichever thread, and leaves it without any handler in the end; in the main
    thread it gives Python a handler as well.
    """
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    libc = ctypes.CDLL(None)
    actions = {number: ctypes.create_string_buffer(_ACTION_BYTES) for number in handlers}
    for number, action in actions.items():
        libc.sigaction(number, None, action)
    try:
        yield
    finally:
        if is_main:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        for number, action in actions.items():
            libc.sigaction(number, action, None)


def _alive() -> list[Node]:
    return [
        Node(
            id=node["NodeID"],
            host=node["NodeManagerHostname"],
            cpus=int(node["Resources"].get("CPU", 0)),
            gpus=int(node["Resources"].get("GPU", 0)),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]


class RayCluster(Cluster):
    """The cluster that this process has joined."""

    def __init__(self, device: str, opens: OpenEngine) -> None:
        self._device, self._opens = device, opens
        self._actors: Any = ray.remote(NodeProcess)

    def nodes(self) -> list[Node]:
        return [node for node in _alive() if (node.gpus if self._device == "cuda" else node.cpus)]

    def start(self, node: Node) -> Actor:
        on_gpus = self._device == "cuda"
        options = self._actors.options(
            num_gpus=node.gpus if on_gpus else 0,
            num_cpus=0 if on_gpus else node.cpus,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=_MOST_AT_ONCE,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
        )
        return RayActor(options.remote(self._opens))

    def close(self) -> None:
        with _signals_kept():
            ray.shutdown()


class RayActor(Actor):
    """A `NodeProcess` in an actor."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def placed(self) -> "Future[str]":
        return _answer(self._handle.version.remote())

    def open(self, opening: Opening) -> "Future[Opened | Fault]":
        return _answer(self._handle.open.remote(opening))

    def judge(self, asked: Asked) -> "Future[Outcome]":
        return _answer(self._handle.judge.remote(asked))

    def give_up(self, number: int) -> None:
        self._handle.give_up.remote(number)

    def stop(self) -> None:
        self._handle.stop.remote()

    def end(self) -> None:
        with contextlib.suppress(RayError):
            ray.kill(self._handle, no_restart=True)


def _answer(reference: Any) -> "Future[Any]":
    """What a call gives, as a future that knows of no Ray."""
    answer: Future[Any] = Future()

    def tell(done: "Future[Any]") -> None:
        try:
            answer.set_result(done.result())
        except RayTaskError as error:  # a fault of ours in the actor
            answer.set_exception(MachineError(_last_line(error)))
        except RayError as error:
            answer.set_exception(ActorLost(_last_line(error)))
        except BaseException as error:  # noqa: BLE001  # it is raised where the future is asked
            answer.set_exception(error)

    reference.future().add_done_callback(tell)
    return answer


def _last_line(error: Exception) -> str:
    """What an error of Ray's comes to: the last line of a traceback, the cause of an actor's death, else its first."""
    if isinstance(error, ActorUnavailableError):  # its message has names and ports of Ray's, and no cause
        return "its process cannot be reached"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    said = next((line for line in lines if line.startswith("The actor is dead because")), lines[0])
    if any(line.startswith("File ") for line in lines):
        said = lines[-1]
    return said.partition(" Some common causes")[0].rstrip(".")[:500]


def ask_every_node(address: str, ask: Callable[[], T], *, seconds: float) -> list[tuple[str, T | MachineError]]:
    """Call a function on each node: the node's name, and what came of it or why nothing did. Raises as `join` does."""
    connect(address)
    try:
        call: Any = ray.remote(ask)
        nodes = sorted(_alive(), key=lambda node: (node.host, node.id))
        asked = [
            call.options(
                num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)
            ).remote()
            for node in nodes
        ]
        ray.wait(asked, num_returns=len(asked), timeout=seconds)
        return [(node.host, _answered(reference)) for node, reference in zip(nodes, asked, strict=True)]
    finally:
        with _signals_kept():
            ray.shutdown()


def _answered(reference: Any) -> Any:
    try:
        return ray.get(reference, timeout=0.1)
    except RayError as error:
        return MachineError(f"it did not answer: {_last_line(error)}")
