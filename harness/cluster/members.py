"""Members: what the engine of a cluster knows of each node, and of each submission on its way."""

from concurrent.futures import Future
from dataclasses import dataclass, field

from harness.cluster.messages import DeviceSeen, Opened
from harness.cluster.nodes import Actor, Node
from harness.controller.engine import BUILDERS_AN_AUDITOR, Ask
from harness.controller.evaluate import Evaluated


@dataclass(frozen=True)
class Patience:
    """Seconds. `placed`: until a node's process runs; `opened`: until its session does, a GPU's first context included.

    `alone`: with no node at all, and none that opens its session. `pause`: the first and the longest before a process
    is started again. `look`: between two looks at which nodes there are.
    """

    placed: float = 60.0
    opened: float = 300.0
    alone: float = 120.0
    pause: tuple[float, float] = (1.0, 60.0)
    look: float = 2.0


PATIENCE = Patience()


@dataclass(eq=False)
class Task:
    """An ask on its way. `tries`: so often it was in flight at a node that died."""

    ask: Ask
    number: int
    future: "Future[Evaluated]" = field(default_factory=Future)
    tries: int = 0


@dataclass(eq=False)
class Member:
    """A node of the cluster, and the process on it. `tried`: it was opened once, or could not be.

    `until`: the end of the patience with a start. `start_at`: when the next may be, None for never. `leaving`: it is
    given nothing more, and started anew once nothing is in flight there.
    """

    node: Node
    name: str
    pause_s: float
    start_at: float | None = 0.0
    actor: Actor | None = None
    is_placed: bool = False
    until: float = 0.0
    opened: Opened | None = None
    facts: tuple[DeviceSeen, ...] = ()
    tried: bool = False
    faults: int = 0
    leaving: bool = False
    flying: dict[int, Task] = field(default_factory=dict)

    @property
    def judges(self) -> bool:
        return self.opened is not None and not self.leaving

    @property
    def bound(self) -> int:
        """So many are in flight at most: one waits there for each device, so that none waits for a message."""
        return 0 if self.opened is None else self.opened.width + len(self.opened.devices)

    @property
    def idle_bound(self) -> int:
        """The same of what is built on idle cores, which leaves no room for others."""
        return 0 if self.opened is None else 1 + max(1, self.opened.width // BUILDERS_AN_AUDITOR)

    def room(self, *, idle: bool) -> int:
        taken = sum(task.ask.idle == idle for task in self.flying.values())
        return (self.idle_bound if idle else self.bound) - taken
