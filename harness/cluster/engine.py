"""The engine of a cluster: an actor a node, each with a session, and what waits goes where there is room.

One thread decides everything: it is told of what was asked, of answers and of nodes as events, and asks the actors.
What was in flight at a node that died waits again, at its old place in the line.
"""

import itertools
import math
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import harness
from harness.cluster.members import PATIENCE, Member, Patience, Task
from harness.cluster.messages import Asked, DeviceSeen, Fault, Opened, Opening, Outcome, Told
from harness.cluster.nodes import Actor, Cluster, Node
from harness.cluster.placement import Placement, Waiting
from harness.controller.engine import MOST_QUEUED, Ask, DeviceFacts, Engine
from harness.controller.evaluate import Evaluated
from harness.errors import (
    DeadlineError,
    DeviceError,
    GivenUpError,
    HarnessError,
    InputError,
    MachineError,
    SandboxError,
)
from harness.schema import Device, Infrastructure, ProblemRef, Record, Workload
from harness.settings import Settings

TRIES = 3
"""So often a submission may be in flight at a node that dies."""
FAULTS_IN_A_ROW = 3
"""After so many faults of the machine's with no verdict between them a node's session is started anew."""


_TICK_S = 0.2
OnNews = Callable[[str, str], None]
"""Told what has become of a node, a sentence, and what judges now (`ClusterEngine.description`)."""


class ClusterEngine(Engine):
    """Judges on the nodes of a cluster, those that come later included, as long as one is there.

    All nodes have to be of one sort: the harness, torch, CUDA, the driver and the device's model. Those that differ
    from the first are a mistake when it starts (InputError), and are not used when they come later.
    A submission's phase is the node that has it; what it does there is not told.
    """

    def __init__(
        self,
        cluster: Cluster,
        device: str,
        settings: Settings,
        *,
        builders: int | None = None,
        most_queued: int = MOST_QUEUED,
        patience: Patience = PATIENCE,
        on_news: OnNews = lambda news, judging: None,
    ) -> None:
        """Waits until each node judges or has been found not to. The cluster is closed with this.

        Args:
            device: what each node judges on, "cuda" or "cpu".
            builders: prepared at once on a node; where None, as many as its devices leave cores.
            on_news: told of nodes that come, that are lost and that are not used, by one thread.

        Raises MachineError where none judges, InputError where they differ.
        """
        super().__init__(width=1, most_queued=most_queued)
        self._cluster, self._device, self._settings, self._builders = cluster, device, settings, builders
        self._patience, self._on_news = patience, on_news
        self._members: dict[str, Member] = {}
        self._names: set[str] = set()
        self._lines = {False: Placement[Task](), True: Placement[Task]()}
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._numbers = itertools.count()
        self._news = threading.Condition()
        self._open: dict[int, Task] = {}
        self._in_flight = 0
        self._stopped = self._is_closed = False
        self._failure: HarnessError | None = None
        self._started, self._over = threading.Event(), threading.Event()
        self._expired = self._looked = -math.inf
        self._alone_since = time.monotonic()
        self._last_reason = self._first = ""
        self._sort: DeviceSeen | None = None
        self._differ: list[str] = []
        self._thread = threading.Thread(target=self._work, name="cluster", daemon=True)
        self._thread.start()
        try:
            self._started.wait()
            self._require_judging()
        except BaseException:
            self.close()
            raise

    # Asked from outside

    @property
    def devices(self) -> tuple[DeviceFacts, ...]:
        """Those of all nodes that judged at some time and have not left, each under its node's name."""
        self._require_judging()
        return tuple(
            DeviceFacts(f"{member.name} {seen.name}", seen.model, seen.environment)
            for member in list(self._members.values())
            for seen in member.facts
        )

    @property
    def is_lost(self) -> bool:
        return self._failure is not None

    @property
    def description(self) -> str:
        """How many nodes judge now, on what, and which do not."""
        members = list(self._members.values())
        judging = [member for member in members if member.judges]
        count = sum(len(member.facts) for member in judging)
        model = judging[0].facts[0].model if judging else "no device"
        missing = [member.name for member in members if member.tried and not member.judges]
        lost = f", without {', '.join(missing)}" if missing else ""
        return f"{len(judging)} node{'s' * (len(judging) != 1)}, {count} x {model}{lost}"

    def drain(self, seconds: float | None = None) -> bool:
        self._holder.require()
        with self._news:
            return self._news.wait_for(lambda: not self._open, seconds)

    def stop(self) -> None:
        if not self._holder.is_here:
            return
        with self._news:
            if self._stopped:
                return
            self._stopped = True
        self._events.put(self._stop)

    def close(self) -> None:
        if not self._holder.is_here:
            return
        self.stop()
        if not self._is_closed:
            self._is_closed = True
            self._events.put(self._over.set)
            self._thread.join()
            self._cluster.close()

    def _enter(self, ask: Ask, *, bounded: bool) -> "Future[Evaluated]":
        task = Task(ask, next(self._numbers))
        with self._news:
            self._require_judging()
            if self._stopped:
                raise SandboxError("this was closed while it was asked: ask again")
            if bounded:
                self._require_room(len(self._open) - self._in_flight)
            self._open[task.number] = task
        task.future.add_done_callback(partial(self._ended, task.number))
        self._events.put(partial(self._wait, task))
        return task.future

    def _require_judging(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _ended(self, number: int, future: "Future[Evaluated]") -> None:
        """In any thread; where it was cancelled its caller has gone."""
        if future.cancelled():
            future.set_running_or_notify_cancel()  # tells `concurrent.futures.wait`
            self._events.put(partial(self._give_up, number))

    # The thread that decides

    def _work(self) -> None:
        try:
            while not (self._over.is_set() and not any(member.flying for member in self._members.values())):
                self._look()
                self._expire()
                self._dispatch()
                self._next_event()
        except HarnessError as error:
            self._fail(error)
        except BaseException as error:  # noqa: BLE001  # the caller that waits is told; this thread is not looked at
            self._fail(MachineError(f"the cluster cannot be asked any more: {type(error).__name__}: {error}"))
        finally:
            for member in self._members.values():
                if member.actor is not None:
                    member.actor.end()
            self._started.set()

    def _next_event(self) -> None:
        """Whatever has happened meanwhile, or nothing in a short while."""
        with suppress(queue.Empty):
            self._events.get(timeout=_TICK_S)()
            while True:
                self._events.get_nowait()()

    def _fail(self, error: HarnessError) -> None:
        with self._news:
            self._failure = error
            left = list(self._open.values())
        for task in left:
            self._end(task, error)

    def _wait(self, task: Task) -> None:
        """Put it, or put it back, into its line."""
        if task.number not in self._open:
            return
        if self._stopped or task.future.cancelled():
            task.future.cancel()
            self._leave(task)
            return
        ask = task.ask
        only = None if ask.device is None else ask.device.rpartition(" ")[0]
        if only is not None and all(member.name != only for member in self._members.values()):
            self._end(task, DeviceError(f"{ask.device} has left the cluster"))
            return
        waiting = Waiting(
            task.number, ask.rank, f"{ask.problem.title}\n{ask.problem.sha256}", ask.submission.sha256, task, only
        )
        self._lines[ask.idle].put(waiting)

    def _give_up(self, number: int) -> None:
        for line in self._lines.values():
            if (task := line.drop(number)) is not None:
                self._leave(task)
        for member in self._members.values():
            if number in member.flying and member.actor is not None:
                member.actor.give_up(number)

    def _stop(self) -> None:
        for line in self._lines.values():
            for task in line.things():
                task.future.cancel()
        for member in self._members.values():
            if member.actor is not None:
                member.actor.stop()

    def _end(self, task: Task, outcome: Evaluated | HarnessError | BaseException) -> None:
        """Tell what came of it: a fault as a record where that was asked for, and nothing where it was given up."""
        given_up = isinstance(outcome, GivenUpError) and not isinstance(outcome, DeadlineError)
        if isinstance(outcome, HarnessError) and task.ask.noting and not given_up:
            outcome = self._noted(task.ask, outcome)
        with suppress(InvalidStateError):  # it was cancelled
            if isinstance(outcome, Evaluated):
                task.future.set_result(outcome)
            elif given_up:
                task.future.cancel()
            else:
                task.future.set_exception(outcome)
        self._leave(task)

    def _leave(self, task: Task) -> None:
        with self._news:
            self._open.pop(task.number, None)
            self._news.notify_all()

    def _noted(self, ask: Ask, fault: HarnessError) -> Evaluated | HarnessError:
        """A record that says so and is never a score; the fault itself where no node ever judged."""
        if ask.confirms is not None:
            return replace(ask.confirms, fault=fault, unconfirmed=False, told=True)
        if self._sort is None or self._failure is not None:
            return fault
        return Evaluated(not_judged(ask, fault, self._sort), {"submission.txt": ask.submission.text}, fault)

    def _expire(self) -> None:
        now = time.monotonic()
        if now < self._expired + _TICK_S:
            return
        self._expired = now
        for line in self._lines.values():
            for task in line.things():
                if task.ask.deadline is not None and now >= task.ask.deadline:
                    line.drop(task.number)
                    self._end(task, DeadlineError("the deadline was over before there was a verdict"))

    # Submissions

    def _dispatch(self) -> None:
        """Give every node what it has room for, one to each in turn."""
        for idle, line in self._lines.items():
            members = [member for member in self._members.values() if member.judges]
            while members and len(line) and not self._stopped:
                members = [member for member in members if self._sends(member, line, idle)]

    def _sends(self, member: Member, line: Placement[Task], idle: bool) -> bool:
        """Whether there was room, and something for it."""
        if member.room(idle=idle) <= 0 or not member.judges:
            return False
        task = line.take(member.name)
        if task is None:
            return False
        assert member.actor is not None
        try:
            task.ask.on_phase(member.name)
        except HarnessError as error:
            self._end(task, error)
            return True
        device = None if task.ask.device is None else task.ask.device.rpartition(" ")[2]
        member.flying[task.number] = task
        self._in_flight += 1
        answer = member.actor.judge(Asked.of(task.number, task.ask, device=device))
        answer.add_done_callback(
            lambda future: self._events.put(partial(self._answered, member, member.actor, task, future))
        )
        return True

    def _answered(self, member: Member, actor: Actor | None, task: Task, answer: "Future[Outcome]") -> None:
        if member.actor is not actor or task.number not in member.flying:
            return  # that process is lost, and what it had waits again
        if isinstance(error := answer.exception(), HarnessError):
            self._lose(member, str(error))
            return
        del member.flying[task.number]
        self._in_flight -= 1
        if error is not None:
            self._end(task, error)
            return
        outcome = answer.result()
        fault: HarnessError | None = None
        if isinstance(outcome, Told):
            evaluated = outcome.evaluated()
            fault = evaluated.fault
            device = f"{member.name} {evaluated.device}" if evaluated.device else ""
            self._end(task, replace(evaluated, device=device))
        elif isinstance(outcome, Fault):
            fault = outcome.error()
            if isinstance(fault, MachineError) and task.ask.noting:  # no other would fare better there: it is the node
                member.faults = FAULTS_IN_A_ROW
                self._again(task, member, str(fault))
            else:
                self._end(task, fault)
        else:
            self._end(task, GivenUpError("cancelled by its caller"))
        self._count(member, outcome, fault)

    def _count(self, member: Member, outcome: Outcome, fault: HarnessError | None) -> None:
        """After faults in a row a node judges what it has, and then its session is started anew."""
        if isinstance(fault, MachineError):
            member.faults += 1
        elif isinstance(outcome, Told):
            member.faults, member.pause_s = 0, self._patience.pause[0]
        if member.faults >= FAULTS_IN_A_ROW and not member.leaving:
            member.leaving = True
            self._last_reason = f"{member.name}: {fault}"
            self._members_changed()
        if member.leaving and not member.flying:
            self._lose(member, f"faults of the machine's, the last: {fault}")

    def _again(self, task: Task, member: Member, reason: str) -> None:
        """Have it judged again where it was in flight when its node was lost; the third time is the last."""
        task.tries += 1
        if task.tries >= TRIES:
            self._end(task, MachineError(f"{task.tries} times its node was lost, the last {member.name}: {reason}"))
            return
        with suppress(HarnessError):  # that it was given up is seen when it is sent
            task.ask.on_phase("")
        self._wait(task)

    # Nodes

    def _look(self) -> None:
        """See which nodes there are, start what may be started, and end what has been waited for too long."""
        now = time.monotonic()
        if now >= self._looked + self._patience.look:
            self._looked = now
            found = {node.id: node for node in self._cluster.nodes()}
            for id, member in list(self._members.items()):
                if id not in found:
                    self._lose(member, "it left the cluster")
                    self._forget(id)
            for id, node in found.items():
                if id not in self._members:
                    self._members[id] = Member(node, self._new_name(node), self._patience.pause[0])
        for member in list(self._members.values()):
            if member.actor is None and member.start_at is not None and now >= member.start_at and not self._stopped:
                self._start(member, now)
            elif member.actor is not None and member.opened is None and now >= member.until:
                self._lose(member, self._why_late(member))
        if any(member.opened is not None for member in self._members.values()):
            self._alone_since = now
        self._begin_if_ready(now)

    def _why_late(self, member: Member) -> str:
        if member.is_placed:
            return f"its session did not open within {self._patience.opened:.0f} s"
        what = f"{member.node.gpus} GPU(s)" if self._device == "cuda" else f"{member.node.cpus} core(s)"
        return f"no process could be placed on it within {self._patience.placed:.0f} s: all its {what} have to be free"

    def _new_name(self, node: Node) -> str:
        """The host's name, with a number where several nodes have it."""
        names = itertools.chain([node.host], (f"{node.host}-{number}" for number in itertools.count(2)))
        name = next(name for name in names if name not in self._names)
        self._names.add(name)
        return name

    def _forget(self, id: str) -> None:
        member = self._members.pop(id)
        self._names.discard(member.name)
        for line in self._lines.values():
            for task in line.things():
                if task.ask.device is not None and task.ask.device.rpartition(" ")[0] == member.name:
                    line.drop(task.number)
                    self._end(task, DeviceError(f"{task.ask.device} has left the cluster"))

    def _start(self, member: Member, now: float) -> None:
        actor = member.actor = self._cluster.start(member.node)
        member.is_placed, member.leaving, member.faults = False, False, 0
        member.until = now + self._patience.placed
        actor.placed().add_done_callback(lambda future: self._events.put(partial(self._placed, member, actor, future)))

    def _placed(self, member: Member, actor: Actor, answer: "Future[str]") -> None:
        if member.actor is not actor:
            return
        if (error := answer.exception()) is not None:
            self._lose(member, str(error))
            return
        if (version := answer.result()) != harness.__version__:
            self._refuse(member, [f"the harness is {version} there and {harness.__version__} here"])
            return
        member.is_placed, member.until = True, time.monotonic() + self._patience.opened
        same = sorted(each.name for each in self._members.values() if each.node.host == member.node.host)
        opening = Opening(
            device=self._device,
            settings=self._settings,
            builders=self._builders,
            part=(same.index(member.name), len(same)),
        )
        actor.open(opening).add_done_callback(
            lambda future: self._events.put(partial(self._was_opened, member, actor, future))
        )

    def _was_opened(self, member: Member, actor: Actor, answer: "Future[Opened | Fault]") -> None:
        if member.actor is not actor:
            return
        if (error := answer.exception()) is not None:
            self._lose(member, f"{type(error).__name__}: {error}")
            return
        opened = answer.result()
        if isinstance(opened, Fault):
            self._lose(member, opened.detail)
            return
        if self._sort is None:
            self._sort, self._first = opened.devices[0], member.name
        sort = self._sort.sort
        if differences := [
            f"{what} is {here} there and {sort[what]} on {self._first}"
            for seen in opened.devices
            for what, here in seen.sort.items()
            if here != sort[what]
        ]:
            self._refuse(member, differences)
            return
        member.opened, member.facts, member.tried = opened, opened.devices, True
        self._members_changed()
        self._tell(f"{member.name} judges on {len(opened.devices)} x {opened.devices[0].model}")

    def _refuse(self, member: Member, differences: list[str]) -> None:
        reason = "; ".join(dict.fromkeys(differences))
        self._differ.append(f"{member.name}: {reason}")
        self._lose(member, f"it is not like the others: {reason}")
        member.start_at = None

    def _lose(self, member: Member, reason: str) -> None:
        """Its process is ended; what it had in flight waits again, and another one is started after a pause."""
        flying, member.flying = member.flying, {}
        self._in_flight -= len(flying)
        first, member.tried = not member.facts, True
        self._last_reason = f"{member.name}: {reason}"
        if member.actor is not None:
            member.actor.end()
            member.actor = None
        member.opened = None
        if member.start_at is not None:
            member.start_at = time.monotonic() + member.pause_s
            member.pause_s = min(self._patience.pause[1], 2 * member.pause_s)
        self._members_changed()
        back = f"; {len(flying)} in flight there are judged again" if flying else ""
        if not self._stopped:
            self._tell(f"{'without' if first else 'lost'} {member.name}: {reason}{back}")
        for task in flying.values():
            self._again(task, member, reason)

    def _tell(self, news: str) -> None:
        self._on_news(news, self.description)

    def _members_changed(self) -> None:
        judging = [member for member in self._members.values() if member.judges]
        self.width = max(1, sum(member.bound for member in judging))
        for line in self._lines.values():
            line.set_nodes(member.name for member in judging)

    def _begin_if_ready(self, now: float) -> None:
        """The start is over once each node was tried. Raises what says why nothing can be judged."""
        if not self._started.is_set():
            waits = not self._members and now < self._alone_since + self._patience.placed
            if waits or not all(member.tried for member in self._members.values()):
                return
            if self._differ:
                raise InputError(f"the nodes of a run have to be alike, and these differ: {'. '.join(self._differ)}")
            if not any(member.judges for member in self._members.values()):
                raise MachineError(self._nothing())
            self._started.set()
        elif now >= self._alone_since + self._patience.alone and not any(
            member.actor is not None and member.is_placed for member in self._members.values()
        ):
            raise MachineError(f"no node has judged for {self._patience.alone:.0f} s: {self._last_reason}")

    def _nothing(self) -> str:
        if self._last_reason:
            return f"no node of the cluster can judge: {self._last_reason}"
        what = "a GPU" if self._device == "cuda" else "a core"
        return f"no node of the cluster has {what}: see docs/cluster.md"


def not_judged(ask: Ask, fault: HarnessError, seen: DeviceSeen) -> Record:
    """The record of a submission that no node could be had for; the device is the sort that was asked for."""
    return Record(
        problem=ProblemRef(
            set=ask.problem.set,
            name=ask.problem.name,
            sha256=ask.problem.sha256,
            workload=Workload(precision=ask.settings.precision),
        ),
        submission=ask.submission.ref(),
        device=Device(kind="cuda" if seen.environment.gpu is not None else "cpu", name=seen.model),
        verdict=Infrastructure(detail=str(fault)),
        tolerance=ask.settings.tolerance,
        environment=seen.environment,
        judged_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


@contextmanager
def open_cluster_engine(
    address: str,
    device: str,
    settings: Settings,
    *,
    builders: int | None = None,
    on_news: OnNews = lambda news, judging: None,
) -> Iterator[Engine]:
    """An engine over the Ray cluster at HOST:PORT. Raises InputError, MachineError as `ClusterEngine` does.

    `device` is what `--device` takes: "auto" takes the nodes with GPUs where there are any, else all that have cores.
    """
    from harness.cluster.ray_cluster import UNGUARDED, is_guarded, join  # loads ray

    cluster, kind = join(address, device)
    if not is_guarded():
        on_news(UNGUARDED, "")
    with ClusterEngine(cluster, kind, settings, builders=builders, on_news=on_news) as engine:
        yield engine
