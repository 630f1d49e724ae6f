"""What needs no device and judges, a server's engine over it, and a server in a thread of this process."""

import asyncio
import contextlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from relu import PROBLEM

from harness.catalog import open_catalog
from harness.controller.engine import Ask, DeviceFacts, LocalEngine
from harness.controller.evaluate import Evaluated
from harness.errors import DeadlineError, DeviceError, MachineError, ProblemError, SandboxError, ToolchainError
from harness.schema import (
    Correct,
    Device,
    Environment,
    Failed,
    Infrastructure,
    Interval,
    ProblemRef,
    Record,
    SubmissionRef,
    Timing,
    Verdict,
)
from harness.serve.asked import Asked
from harness.serve.engine import Engine, Watcher
from harness.serve.jobs import Job
from harness.settings import Settings

OURS = "control_"  # in the text of a control alone
TIMES = {"once": 1, "twice": 2, "thrice": 3}
ENVIRONMENT = Environment(harness="0.1.0", python="3.11", torch="2.13")
TIMING = Timing(
    candidate_ms=0.5,
    reference_ms=1.0,
    speedup=Interval(value=2.0, low=1.9, high=2.1),
    conclusion="faster",
    rounds=10,
    calls_per_round=1,
)


class FakeBench:
    """Does what a submission says: `correct`, `machine`, `compiler`, `problem`, `swapped`, `zygote`, `explode`, ...;
    else it fails and names the submission. `gate` is what those that say `hold` wait for on the device. Once `sick`,
    nothing can be judged until it is opened anew. `together` is the most that were prepared or judged at once.
    `judged` holds the last `remembered` texts.
    """

    def __init__(self, remembered: int | None = None) -> None:
        self.model = "a fake device"
        self.gate, self.build_gate = threading.Event(), threading.Event()
        self.build_gate.set()
        self.judged: Any = [] if remembered is None else deque(maxlen=remembered)
        self.opened = 0
        self.holding = threading.Event()
        self.broken: MachineError | None = None
        self.sick: MachineError | None = None
        self.together = self._now = 0
        self._counting = threading.Lock()

    @contextmanager
    def open(self) -> Iterator["FakeEngine"]:
        if self.broken is not None:
            raise self.broken
        self.opened += 1
        self.sick = None
        with FakeEngine(self) as engine:
            yield engine

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._counting:
            self._now += 1
            self.together = max(self.together, self._now)
        try:
            yield
        finally:
            with self._counting:
                self._now -= 1

    def prepare(self) -> None:
        with self._counted():
            assert self.build_gate.wait(60)

    def judge(self, ask: Ask) -> Evaluated:
        with self._counted():
            return self._judge(ask)

    @staticmethod
    def _times(text: str) -> int:
        """So often it meets its fault."""
        return next((n for times, n in TIMES.items() if times in text), 1000)

    def _judge(self, prepared: Ask) -> Evaluated:
        text = prepared.submission.text
        self.judged.append("ours" if OURS in text else text)
        if self.sick is not None or "sickens" in text:
            self.sick = self.sick or SandboxError("the zygote is gone")
            return Evaluated(record(prepared, Infrastructure(detail=str(self.sick))), {}, self.sick)
        if "hold" in text:
            self.holding.set()
            assert self.gate.wait(60)
        if "explode" in text and self.judged.count(text) == 1:
            raise DeviceError("the judge cannot be started")
        for word, fault in {
            "machine": DeviceError("the judge died"),
            "compiler": ToolchainError("the compiler cannot be started"),
            "zygote": SandboxError("no worker can be started"),
            "problem": ProblemError("the reference raises"),
        }.items():
            if word in text and self.judged.count(text) <= self._times(text):
                return Evaluated(record(prepared, Infrastructure(detail=str(fault))), {}, fault)
        verdict: Verdict = Failed(stage="run", reason="exception", detail=f"it says {text}")
        if "correct" in text:
            verdict = Correct(trials=3)
        made = record(prepared, verdict)
        if "swapped" in text:
            made = made.model_copy(update={"submission": made.submission.model_copy(update={"sha256": "9" * 64})})
        return Evaluated(made, {"submission.txt": text})


class FakeEngine(LocalEngine):
    """The engine of this machine, whose turns are real, over a bench."""

    def __init__(self, bench: FakeBench) -> None:
        seat = SimpleNamespace(device=SimpleNamespace(name="fake:0"))
        super().__init__(SimpleNamespace(seats=[seat]), builders=2)  # type: ignore[arg-type]
        self._bench = bench

    @property
    def devices(self) -> tuple[DeviceFacts, ...]:
        return (DeviceFacts("fake:0", self._bench.model, ENVIRONMENT),)

    def _judge(self, job: Any) -> Evaluated:
        try:
            with self._core(job):
                job.phase("build")
                self._bench.prepare()
            with self._seat(job):
                job.phase("check")
                return self._bench.judge(job.ask)
        except DeadlineError as late:
            return Evaluated(record(job.ask, Infrastructure(detail=str(late))), {}, late)


def record(work: Ask, verdict: Verdict) -> Record:
    return Record(
        problem=ProblemRef(set=work.problem.set, name=work.problem.name, sha256=work.problem.sha256),
        submission=SubmissionRef(path=work.submission.path, sha256=work.submission.sha256),
        device=Device(kind="cpu", name="fake"),
        verdict=verdict,
        timing=TIMING if verdict.kind == "correct" else None,
        phases_s={"build": 0.1, "check": 0.2},
        environment=ENVIRONMENT,
        judged_at="2026-01-01T00:00:00+00:00",
    )


@pytest.fixture
def bench() -> Iterator[FakeBench]:
    made = FakeBench()
    yield made
    made.gate.set()
    made.build_gate.set()


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    folder = tmp_path / "problems" / "level1"
    folder.mkdir(parents=True)
    (folder / "19_ReLU.py").write_text(PROBLEM)
    return folder.parent


MakeEngine = Callable[..., AbstractContextManager[Engine]]


@pytest.fixture
def engines(tmp_path: Path, problems: Path, bench: FakeBench) -> MakeEngine:
    """Opens an engine over the state of this test; opened again, it finds what the one before has left."""

    @contextmanager
    def opened(*, most_queued: int = 100, watcher: Watcher | None = None, **more: Any) -> Iterator[Engine]:
        engine = Engine(
            tmp_path / "state",
            open_judging=more.get("open_judging", bench.open),
            catalog=open_catalog(problems),
            settings=more.get("settings", Settings()),
            most_queued=most_queued,
            keep_s=more.get("keep_s"),
            watcher=watcher,
        )
        with contextlib.ExitStack() as closing:
            engine.start()
            closing.callback(engine.close)
            closing.callback(bench.gate.set)
            yield engine

    return opened


def ask(engine: Engine, text: str, *, problem: str = "19_ReLU", trusted: bool = False, **more: Any) -> str:
    return engine.accept(Asked(submission=text, problem=problem, **more), trusted=trusted)[0]


def ended(engine: Engine, id: str, *, tries: int = 3000) -> Job:
    """The job once it is no longer open."""
    state = ""
    for _ in range(tries):
        job = engine.jobs.look(id)
        assert job is not None
        if not job.is_open:
            return job
        state = job.state
        threading.Event().wait(0.02)
    raise AssertionError(f"{id} is still {state}")


@dataclass(frozen=True)
class Served:
    """A server in a thread of this process: its engine, and where it is; the connections that it holds, and how many
    requests wait for a job.
    """

    engine: Engine
    url: str
    port: int
    connections: set[Any]
    waiting: Callable[[str], int]

    def ask(self, method: str, path: str, body: Any = None, *, token: str = "", **headers: str) -> tuple[int, Any]:
        """Status and body, read as JSON where it is that. The headers are in `last_headers`."""
        text = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(connection):
            connection.request(method, path, text, {**given, **headers})
            response = connection.getresponse()
            found = response.read().decode()
            self.last_headers.clear()
            self.last_headers.update({name.lower(): value for name, value in response.getheaders()})
        is_json = response.headers.get("content-type") == "application/json"
        return response.status, json.loads(found) if is_json else found

    last_headers: dict[str, str] = field(default_factory=dict)


Serve = Callable[..., AbstractContextManager[Served]]


@pytest.fixture
def serve(engines: MakeEngine) -> Serve:
    """Opens a server over the fake bench, at a free port."""

    @contextmanager
    def opened(
        *, token: str = "", body_s: float = 30.0, most: int = 1000, peer_s: float = 30.0, **more: Any
    ) -> Iterator[Served]:
        from harness.serve.changes import Changes
        from harness.serve.connections import Connection
        from harness.serve.process import Telling, application, bound, server_of

        changes = Changes()
        telling = Telling(changes)
        with bound("127.0.0.1", 0, token=token) as listening, engines(watcher=telling, **more) as engine:
            guarded = application(engine, changes, telling, token=token, most=most)
            guarded._body_s = body_s
            server = server_of(guarded, Connection.of_at_most(most, peer_s))

            async def run() -> None:
                changes.attach(asyncio.get_running_loop())
                try:
                    await server.serve(sockets=[listening])
                finally:
                    changes.attach(None)

            thread = threading.Thread(target=asyncio.run, args=(run(),))
            thread.start()
            port = listening.getsockname()[1]
            try:
                url, held = f"http://127.0.0.1:{port}", server.server_state.connections
                yield Served(engine, url, port, held, lambda id: len(changes._waiting.get(id, ())))
            finally:
                server.should_exit = True
                thread.join()

    return opened
