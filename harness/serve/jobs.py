"""Jobs: what was accepted, in SQLite, so that it outlives the server. One row a judgement, one state a row.

    queued ─► running ─► done         a verdict; the record lies in the run, and here for a quick answer
      ▲          ├─────► fault        ours, the machine's or the problem's: never a verdict
      └──────────┤─────► expired      its deadline was over before it had a verdict
                 └─────► cancelled

Any of the last four is queued anew by being asked for again, `done` only where that asks for a fresh verdict: behind
all that wait. What goes back into the queue without having ended keeps its place.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

State = Literal["queued", "running", "done", "expired", "cancelled", "fault"]
OPEN: tuple[State, ...] = ("queued", "running")
Taken = Literal["queued", "attached", "answered"]

_TABLES = """
create table if not exists jobs(
    seq integer primary key, id text unique not null, sha256 text not null, asked text not null, tag text not null,
    state text not null, rank integer not null, accepted real not null, deadline real, tries integer not null default 0,
    reason text, record text, summary text, askers integer not null default 1
);
create index if not exists jobs_queued on jobs(rank, seq) where state = 'queued';
create index if not exists jobs_open on jobs(state) where state in ('queued', 'running');
create table if not exists tasks(task_id text primary key, id text not null, asks text not null default '');
"""
_COLUMNS = "id, sha256, asked, tag, state, rank, accepted, deadline, tries, reason, record, summary, askers"
_SELECT = f"select {_COLUMNS} from jobs"
_CANCELLED = "cancelled by a caller"


class QueueFull(Exception):
    """As many wait already as may."""


class NameTaken(Exception):
    """A caller's own name for a judgement stands for another one already."""


class Shared(Exception):
    """It was asked for more than once, by others maybe, so that none may cancel it."""


@dataclass(frozen=True)
class Job:
    """A row. Times are seconds since 1970; `asked`, `record` and `summary` are JSON; `sha256` is the submission's.

    `asked` is empty where it ended as expired or cancelled, since nothing bounds how many do, and is written anew where
    it is asked for again. `record` is the last one that counts: that of a job which is judged anew stays until the new
    one is there.
    `askers` is how often it was asked for, but for what the store answered; 0 once it was cancelled while it ran.
    """

    id: str
    sha256: str
    asked: str
    tag: str
    state: State
    rank: int
    accepted: float
    deadline: float | None
    tries: int
    reason: str | None
    record: str | None
    summary: str | None
    askers: int

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def is_late(self) -> bool:
        return self.deadline is not None and time.time() > self.deadline


class Jobs:
    """The table. Any thread may use it. What it has said is on its way to the disk: a kill of this process loses none.

    A power cut may lose the last moments (`synchronous=normal`); the run folder's records are synced to the disk.
    """

    def __init__(self, path: Path) -> None:
        self._guard = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.execute("pragma journal_mode=wal")
        self._database.execute("pragma synchronous=normal")
        self._database.executescript(_TABLES)
        self._add_column("jobs", "askers", "integer not null default 1")
        self._add_column("tasks", "asks", "text not null default ''")

    def _add_column(self, table: str, column: str, kind: str) -> None:
        """A column that the table of an older server lacks."""
        if column not in {row[1] for row in self._database.execute(f"pragma table_info({table})")}:
            self._database.execute(f"alter table {table} add column {column} {kind}")

    def close(self) -> None:
        with self._guard:
            self._database.close()

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it, or where something is raised nothing."""
        with self._guard:
            self._database.execute("begin immediate")
            try:
                yield self._database
            except BaseException:
                self._database.execute("rollback")
                raise
            self._database.execute("commit")

    def _change(self, statement: str, *values: object) -> int:
        """One statement, which is a transaction by itself; how many rows it changed."""
        with self._guard:
            return self._database.execute(statement, values).rowcount

    def look(self, id: str) -> Job | None:
        with self._guard:
            return _job(self._database, id)

    def accept(
        self,
        id: str,
        *,
        sha256: str,
        asked: str,
        tag: str,
        rank: int,
        deadline_s: float | None,
        fresh: bool,
        most: int,
        require: Callable[[], None] = lambda: None,
    ) -> Taken:
        """Queue a judgement, or attach to the same one, or find it answered.

        Raises QueueFull beyond `most` queued, and what `require` raises, which is asked before anything is queued.
        """
        now = time.time()
        deadline = None if deadline_s is None else now + deadline_s
        with self._changing() as database:
            known = _job(database, id)
            if known is not None and known.is_open:
                _attach(database, known, rank=rank, deadline=deadline, asked=asked if fresh else known.asked)
                return "attached"
            if known is not None and known.state == "done" and not fresh:
                return "answered"
            require()
            if _count(database, "queued") >= most:
                raise QueueFull
            database.execute(
                "insert into jobs(id, sha256, asked, tag, state, rank, accepted, deadline) "
                "values(?, ?, ?, ?, 'queued', ?, ?, ?) "
                "on conflict(id) do update set seq=(select max(seq) + 1 from jobs), "
                "asked=excluded.asked, tag=excluded.tag, state='queued', "
                "rank=excluded.rank, accepted=excluded.accepted, deadline=excluded.deadline, tries=0, reason=null, "
                "askers=max(askers, 1)+1",
                (id, sha256, asked, tag, rank, now, deadline),
            )
            return "queued"

    def claim(self) -> Job | None:
        """The next job by priority and then age, which is running from now on; None where none is queued."""
        with self._changing() as database:
            found = database.execute(f"{_SELECT} where state = 'queued' order by rank, seq limit 1").fetchone()
            if found is None:
                return None
            job = Job(*found)
            database.execute("update jobs set state='running', tries=tries+1 where id=?", (job.id,))
            return replace(job, state="running", tries=job.tries + 1)

    def give_back(self, id: str, *, forget_try: bool = False) -> None:
        """Queue a running job again; `forget_try` where it was not tried."""
        self._change("update jobs set state='queued', tries=tries-? where id=? and state='running'", forget_try, id)

    def finish(self, id: str, *, record: str, summary: str, asked: str | None = None) -> bool:
        """The judgement has a verdict. Where `asked` is given and no longer what is asked, nothing is done: False."""
        done = "update jobs set state='done', reason=null, record=?, summary=? where id=? and asked=ifnull(?, asked)"
        return self._change(done, record, summary, id, asked) > 0

    def end(self, id: str, state: State, reason: str) -> None:
        """The judgement has none, and will not have one unless it is asked for again."""
        kept = "''" if state in ("expired", "cancelled") else "asked"
        self._change(f"update jobs set state=?, reason=?, asked={kept} where id=?", state, reason, id)

    def expire(self, id: str, reason: str) -> bool:
        """End a judgement whose deadline is over; False, and nothing done, where another asker has lengthened it."""
        end = "update jobs set state='expired', reason=?, asked='' where id=? and deadline < ?"
        return self._change(end, reason, id, time.time()) > 0

    def cancel(self, id: str) -> State | None:
        """Cancel what was asked for once: what is queued now, what runs by `end_unwanted`. Its state, None for none.

        Raises Shared where it was asked for again, before or after it was cancelled: that may have been another caller.
        """
        with self._changing() as database:
            job = _job(database, id)
            if job is None or not job.is_open:
                return None if job is None else job.state
            if job.askers > 1:
                raise Shared
            if job.state == "running":
                database.execute("update jobs set askers=0 where id=?", (id,))
                return "running"
            database.execute("update jobs set state='cancelled', reason=?, asked='' where id=?", (_CANCELLED, id))
            return "cancelled"

    def end_unwanted(self, id: str) -> bool:
        """End a job that was cancelled while it ran; False where it was not, or was asked for since."""
        end = "update jobs set state='cancelled', reason=?, asked='' where id=? and state='running' and askers=0"
        return self._change(end, _CANCELLED, id) > 0

    def running(self) -> list[Job]:
        """What is running, or was when the last server ended."""
        with self._guard:
            rows = self._database.execute(f"{_SELECT} where state='running'").fetchall()
        return [Job(*row) for row in rows]

    def count(self, state: State) -> int:
        """How many there are; quick for `queued` and `running`."""
        with self._guard:
            return _count(self._database, state)

    def oldest_s(self) -> float:
        """Seconds that the oldest queued job has waited; 0 where there is none."""
        with self._guard:
            found = self._database.execute("select min(accepted) from jobs where state='queued'").fetchone()[0]
        return 0.0 if found is None else max(0.0, time.time() - found)

    def forget(self, older_s: float) -> int:
        """Delete what has ended and was accepted more than `older_s` seconds ago; how many. Records stay in the run."""
        with self._changing() as database:
            gone = database.execute(
                "delete from jobs where state not in ('queued', 'running') and accepted < ?", (time.time() - older_s,)
            )
            if gone.rowcount:
                database.execute("delete from tasks where id not in (select id from jobs)")
            return gone.rowcount

    def require_name(self, task_id: str, asks: str) -> None:
        """Raise NameTaken where a caller's own name stands for something else than `asks`."""
        with self._guard:
            _require_name(self._database, task_id, asks)

    def name_task(self, task_id: str, id: str, asks: str) -> None:
        """Remember by which id a caller's own name goes, and a hash of what was asked by it.

        Raises NameTaken where that was something else. The id may be another: it changes with an upgrade.
        """
        with self._changing() as database:
            _require_name(database, task_id, asks)
            database.execute("insert or replace into tasks(task_id, id, asks) values(?,?,?)", (task_id, id, asks))

    def named_task(self, task_id: str) -> str | None:
        with self._guard:
            found = self._database.execute("select id from tasks where task_id=?", (task_id,)).fetchone()
        return None if found is None else str(found[0])


def _job(database: sqlite3.Connection, id: str) -> Job | None:
    row = database.execute(f"{_SELECT} where id=?", (id,)).fetchone()
    return None if row is None else Job(*row)


def _require_name(database: sqlite3.Connection, task_id: str, asks: str) -> None:
    known = database.execute("select asks from tasks where task_id=?", (task_id,)).fetchone()
    if known is not None and known[0] not in ("", asks):  # "": of an older server, which did not note it
        raise NameTaken


def _count(database: sqlite3.Connection, state: State) -> int:
    # The words are those of the partial indices, which a parameter would not match.
    number: int = database.execute(f"select count(*) from jobs where state = '{state}'").fetchone()[0]
    return number


def _attach(database: sqlite3.Connection, known: Job, *, rank: int, deadline: float | None, asked: str) -> None:
    """A second asker may hasten a job, lengthen its deadline and ask for a fresh one, never the other way round."""
    later = None if known.deadline is None or deadline is None else max(known.deadline, deadline)
    changed = min(rank, known.rank), later, asked, known.id
    database.execute("update jobs set rank=?, deadline=?, asked=?, askers=max(askers, 1)+1 where id=?", changed)
