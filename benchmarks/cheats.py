"""The corpus of cheats, judged: what stopped each one, what it gained, and what it left behind.

    python benchmarks/cheats.py --device cuda -o results.json
    python benchmarks/cheats.py --device cpu --as nobody --isolation basic
    python benchmarks/cheats.py --table results.json

Every candidate of tests/adversarial is judged under each tier of isolation, once without screening (one at a time,
timed, the machine compared with what it was before) and once with it (several at a time). Screening decides nothing:
its verdicts are expected to be the same; `--screening off` leaves the second pass out. `--side-by-side` has several
judged at a time in the first as well, and what each left behind not told: rounds are alone on their device, but beside
trials of others, so that whatever gained, and its twin, is judged once more alone. A row that stands in the output file
for the same source, tier and screening is not judged again, so that a run can be done in parts (`--only`) and be broken
off; one that met a fault of ours is. `--as` starts the whole command anew where less is allowed.

Exit status 1: a cheat was correct and gained by it, a control was refused, a verdict was not the one that the file
names, or something was left behind.
"""

import argparse
import contextlib
import fnmatch
import hashlib
import itertools
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from corpus import Entry, read_corpus, reason_of  # noqa: E402  # the repository is found wherever this is started from

from harness.catalog import read_problem  # noqa: E402
from harness.compile.compiler import compiler_version  # noqa: E402
from harness.compile.torch_layout import cxx_compiler  # noqa: E402
from harness.controller import evaluate as evaluation  # noqa: E402
from harness.controller.engine import Ask, LocalEngine  # noqa: E402
from harness.controller.session import Build, JudgeSeat, OnPhase, Session, open_session  # noqa: E402
from harness.errors import HarnessError, SandboxError  # noqa: E402
from harness.intake import read_submission  # noqa: E402
from harness.judge.jobs import Job, Judgement  # noqa: E402
from harness.sandbox import Policy  # noqa: E402
from harness.sandbox.elsewhere import (  # noqa: E402
    SETTINGS,
    command_elsewhere,
    environment_elsewhere,
    python_elsewhere,
)
from harness.settings import GIB, Settings  # noqa: E402

TIMEOUT_S = 5.0
TIMEOUT_OF_CONTROLS_S = 60.0
"""Honest work may compile on its first call, which is not what these are judged for."""
TIMING_S = 0.0  # ten rounds are taken always
TIMING_OF_TWINS_S = 0.5
LARGEST_GAIN = 1.05
"""A cheat gains where even the low end of its speed-up is this many times the high end of its honest twin's."""
JUDGE_S = 90  # what one candidate may keep a judge for; past it the judge is killed and the row says so
SEATS_SIDE_BY_SIDE = 4
WORKLOADS: dict[str, dict[str, int | float]] = {"gelu": {"n": 1 << 24}, "matmul": {"n": 2048}}
"""Sizes on a GPU, by problem, where the sizes of the file are made for a CPU."""
ALONE = ("A12", "D13", "D14", "D15")
"""These disturb whoever runs beside them, which is not what they are judged for."""
MADE_BY_JUDGES = ("torchinductor_", "kernel-harness-devices")
"""How names of folders begin that torch makes in any process that compiles, and those of the devices' locks."""
OURS = ("harness", "problems", "reference_solutions", "runs")


# ---- the machine before and after ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Machine:
    """What must be the same after a cheat. `device_mib` is the memory in use by other processes than the judge's."""

    processes: frozenset[str]
    files: frozenset[str]
    ours_sha256: str
    artifacts: Mapping[str, str]
    device_mib: int | None


class Watch:
    """Looks at the machine on which a session runs.

    Two workers may stay: the judge, and the worker of the reference, which the judge keeps for the next candidate of
    the same problem. What they use of the device is not counted.
    """

    def __init__(self, session: Session, *, on_gpu: bool) -> None:
        self._session = session
        self._cache = session.cache.root
        self._cache.mkdir(parents=True, exist_ok=True)  # or the first judgement that keeps something leaves it behind
        self._nvml: Any = None
        if on_gpu:
            import pynvml

            pynvml.nvmlInit()
            self._nvml = pynvml
            visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
            find = pynvml.nvmlDeviceGetHandleByIndex if visible.isdecimal() else pynvml.nvmlDeviceGetHandleByUUID
            self._gpu = find(int(visible) if visible.isdecimal() else visible)

    def look(self) -> Machine:
        found, kept = self._processes()
        return Machine(
            processes=frozenset(found),
            files=frozenset(_files()) - _folders_of(kept),
            ours_sha256=_sha256_of_ours(),
            artifacts=_artifacts(self._cache),
            device_mib=self._device_mib(kept),
        )

    def left_behind(self, before: Machine, *, patience_s: float = 3.0) -> list[str]:
        """What differs from `before`, once it has had time to go; nothing, as it should be."""
        deadline = time.monotonic() + patience_s
        while True:
            found = _differences(before, self.look())
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    def _processes(self) -> tuple[list[str], set[int]]:
        """Processes that are ours, a sandboxed worker's, or nobody's child, as "name pid/start", without those that may
        stay; and the pids of these.
        """
        table = {one.pid: one for one in _all_processes()}
        zygote = self._session.zygote.pid
        assert zygote is not None
        judges = {seat.pid for seat in self._session.seats if seat.pid is not None}
        stays: set[int] = {os.getpid(), zygote}
        chains = [chain for one in table.values() if one.parent == zygote and (chain := _chain(one.pid, table))]
        for chain in chains:
            if judges & set(chain):
                stays |= set(chain)
        workers = [chain for chain in chains if not judges & set(chain)]
        spares = [chain for chain in workers if not _has_loaded(chain)]
        references = [chain for chain in workers if chain not in spares]
        for chains_of_ours, most in ((references, 1), (spares, _MOST_SPARES)):
            if len(chains_of_ours) <= most:
                stays.update(*chains_of_ours)
        ours = _below({os.getpid()}, table)
        found = [
            f"{one.name} {one.pid}/{one.started}"
            for one in table.values()
            if one.pid not in stays and (one.pid in ours or one.uid >= _FIRST_SLOT or one.parent == 1)
        ]
        return found, stays

    def _device_mib(self, kept: set[int]) -> int | None:
        if self._nvml is None:
            return None
        using = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._gpu)
        if any(one.pid in kept for one in using):
            return sum((one.usedGpuMemory or 0) >> 20 for one in using if one.pid not in kept)
        # The driver does not tell our pids (a pid namespace): all of it, of which the judge's cache is a part.
        return int(self._nvml.nvmlDeviceGetMemoryInfo(self._gpu).used) >> 20


_DEVICE_SLACK_MIB = 6 << 10  # what judge and reference may take, where that cannot be told from the rest
_MOST_SPARES = 3  # workers that the judge of a GPU has started before it is known what they will run
_FIRST_SLOT = 0x6000_0000  # uids that sandboxed workers have where root starts them


@dataclass(frozen=True)
class Process:
    """A line of /proc. `started` is in clock ticks since boot."""

    pid: int
    parent: int
    uid: int
    name: str
    started: str


def _all_processes() -> Iterator[Process]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name, _, rest = (entry / "stat").read_text(errors="replace").partition("(")[2].rpartition(")")
            uid = entry.stat().st_uid
        except OSError:
            continue
        fields = rest.split()
        if fields[0] not in "ZX":
            yield Process(int(entry.name), int(fields[1]), uid, name, fields[19])


def _has_loaded(chain: Iterable[int]) -> bool:
    """Whether one of these processes lies in a folder that a candidate, or a reference, was loaded in."""
    return any(Path(f"/proc/{pid}/cwd/candidate.py").exists() for pid in chain)


def _below(roots: set[int], table: Mapping[int, Process]) -> set[int]:
    """The pids of `roots` and all that descend from them."""
    found = set(roots)
    while more := {one.pid for one in table.values() if one.parent in found} - found:
        found |= more
    return found


def _chain(top: int, table: Mapping[int, Process]) -> list[int]:
    """A supervisor, its init where there is one, and its one process; empty where there are more."""
    chain = [top]
    while children := [one.pid for one in table.values() if one.parent == chain[-1]]:
        if len(children) > 1 or len(chain) == 3:
            return []
        chain += children
    return chain


def _files() -> Iterator[str]:
    """What lies in the places that anybody could write to, and at the top of ours."""
    homes = (Path.home(), Path("/root"))
    for place in {Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), *homes}:
        try:
            yield from (entry.path for entry in os.scandir(place) if not entry.name.startswith(MADE_BY_JUDGES))
        except OSError:
            continue


def _folders_of(pids: Iterable[int]) -> set[str]:
    """The scratch folders that processes work in."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/{pid}/cwd"))
    return found


def _sha256_of_ours() -> str:
    """One hash of our own sources, problems, solutions and runs: names and contents."""
    digest = hashlib.sha256()
    for name in OURS:
        for path in sorted((ROOT / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(ROOT)} ".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _artifacts(cache: Path) -> dict[str, str]:
    """Every shared object of the cache with its size and time; others may come, none may change."""
    found = {}
    for path in cache.glob("artifacts/*/*/module.so"):
        try:
            status = path.stat()
        except OSError:
            continue
        found[str(path)] = f"{status.st_size}/{status.st_mtime_ns}"
    return found


def _differences(before: Machine, after: Machine) -> list[str]:
    found = [f"process {name}" for name in sorted(after.processes - before.processes)]
    found += [f"file {path}" for path in sorted(after.files - before.files)]
    if after.ours_sha256 != before.ours_sha256:
        found.append("our own files have changed")
    found += [f"artifact {path}" for path, was in before.artifacts.items() if after.artifacts.get(path, was) != was]
    if before.device_mib is not None and after.device_mib is not None:
        slack = 64 if before.device_mib == 0 else _DEVICE_SLACK_MIB
        if after.device_mib > before.device_mib + slack:
            found.append(f"{after.device_mib - before.device_mib} MiB on the device")
    return found


# ---- rows ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A candidate under one tier, with or without screening. `compared`: its time matters, or its twin's does."""

    entry: Entry
    tier: str
    screening: bool
    device: str
    compared: bool = False

    @property
    def key(self) -> str:
        screened = "on" if self.screening else "off"
        return f"{self.entry.name} {self.device} {self.tier} {screened} {sha256_of(self.entry)}"


def sha256_of(entry: Entry) -> str:
    """The first letters of the hash of a candidate's source."""
    return hashlib.sha256(entry.path.read_bytes()).hexdigest()[:16]


def row_of(case: Case, evaluated: evaluation.Evaluated, *, left: list[str] | None, seconds: float) -> dict[str, Any]:
    """What the table is made of. `left` is None where the machine was not looked at."""
    record = evaluated.record
    verdict, timing = record.verdict, record.timing
    found = f"{verdict.kind}/{reason}" if (reason := reason_of(verdict)) else verdict.kind
    return {
        "key": case.key,
        "name": case.entry.name,
        "part": case.entry.path.parent.name,
        "threat": case.entry.threat,
        "what": case.entry.what,
        "twin": case.entry.twin,
        "tier": case.tier,
        "screening": case.screening,
        "expected": "|".join(map(str, case.entry.expectations(case.device))),
        "verdict": found,
        "detail": getattr(verdict, "detail", "").replace(str(ROOT), ".").replace(sys.executable, "python")[:300],
        "as_expected": any(one.meets(verdict) for one in case.entry.expectations(case.device)),
        "stopped_by": stopped_by(case.entry, verdict),
        "speedup": timing.speedup.model_dump() if timing else None,
        "candidate_ms": timing.candidate_ms if timing else None,
        "reference_ms": timing.reference_ms if timing else None,
        "flags": sorted({flag.rule for flag in record.flags if flag.severity != "info"}),
        "left_behind": left,
        "seconds": round(seconds, 3),
    }


_BY_REASON = {
    "protocol": "protocol",
    "timeout": "deadline",
    "cpu-time": "limits",
    "out-of-memory": "limits",
    "device-memory": "limits",
    "processes": "limits",
    "open-files": "limits",
    "disk": "limits",
    "compile": "compiler",
    "not-emulated": "compiler",
    "unsupported": "list of flags",
    "missing": "loading",
    "syntax": "loading",
    "device": "process of its own",
    "crash": "process of its own",
    "exit": "process of its own",
    "out-of-bounds": "emulation",
}


def stopped_by(entry: Entry, verdict: Any) -> str:
    """The layer that stood in the way, as far as the verdict tells."""
    if verdict.kind == "correct":
        return "" if entry.threat in ("control", "") else "clock" if entry.twin else "nothing to gain"
    if verdict.kind == "wrong":
        return "comparison"
    if verdict.kind == "rejected":
        return f"rule {verdict.rule}"
    if verdict.kind == "infrastructure":
        return "no score"
    out_of_reach = entry.threat in ("D6", "D7", "D8", "D10", "D12", "D13", "D21", "D22")
    if verdict.reason == "exception":
        return "confinement" if out_of_reach else "exception"
    if verdict.reason == "compile" and out_of_reach:
        return "confinement"
    return _BY_REASON[verdict.reason]


def add_gains(rows: Iterable[dict[str, Any]]) -> None:
    """Write into each row with a twin how much faster it is than that, under the same tier and screening."""
    rows = list(rows)
    by_name = {(row["name"], row["tier"], row["screening"]): row for row in rows}
    for row in rows:
        twin = by_name.get((row["twin"], row["tier"], row["screening"]))
        row["gain"] = row["gain_at_least"] = None
        if twin and row["speedup"] and twin["speedup"]:
            row["gain"] = round(row["speedup"]["value"] / twin["speedup"]["value"], 3)
            row["gain_at_least"] = round(row["speedup"]["low"] / twin["speedup"]["high"], 3)


def gained(row: Mapping[str, Any]) -> bool:
    """Whether it was called correct and was faster than its honest twin."""
    return row["verdict"] == "correct" and (row["gain_at_least"] or 0) > LARGEST_GAIN


def complaints(row: Mapping[str, Any]) -> list[str]:
    """What is not as it must be."""
    found = []
    if not row["as_expected"]:
        found.append(f"{row['verdict']} instead of {row['expected']}: {row['detail']}")
    if row["left_behind"]:
        found.append(f"left behind: {', '.join(row['left_behind'])}")
    # Those with screening run side by side, where a clock tells nothing.
    if not row["screening"] and gained(row):
        found.append(f"correct, and {row['gain']:.2f} times as fast as its honest twin {row['twin']}")
    return found


# ---- running ---------------------------------------------------------------------------------------------------


@dataclass
class Results:
    """The rows so far, kept in a file after each."""

    path: Path | None
    device: str
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    layers: dict[str, list[str]] = field(default_factory=dict)
    setting: str = ""

    def load(self) -> None:
        if self.path is not None and self.path.exists():
            kept = json.loads(self.path.read_text())
            current = {f"{entry.name} {sha256_of(entry)}" for entry in read_corpus()}
            self.rows = {
                row["key"]: row
                for row in kept["rows"]
                if f"{row['name']} {row['key'].split()[-1]}" in current and row["verdict"] != "infrastructure"
            }
            self.environment, self.layers = kept["environment"], kept["layers"]

    def add(self, row: dict[str, Any]) -> None:
        self.rows[row["key"]] = row
        mark = "  " if row["as_expected"] and not row["left_behind"] else "! "
        print(
            f"{mark}{row['name']:40} {row['threat']:8} {row['tier']:6} {'on ' if row['screening'] else 'off'} "
            f"{row['verdict']:24} {row['stopped_by']:20} {row['seconds']:6.1f} s",
            flush=True,
        )
        self.write()

    def write(self) -> None:
        add_gains(self.rows.values())
        if self.path is None:
            return
        about = {
            "date": datetime.now(UTC).date().isoformat(),
            "machine": machine_in_words(),
            "device": self.device,
            "setting": self.setting,
            "environment": self.environment,
            "layers": self.layers,
        }
        rows = ",\n ".join(json.dumps(row) for row in self.rows.values())
        text = json.dumps(about, indent=1)[:-2] + f',\n "rows": [\n {rows}\n ]\n}}\n'
        beside = self.path.with_suffix(".new")
        beside.write_text(text)
        beside.replace(self.path)


def machine_in_words() -> str:
    """The machine's kernel and its C++ compiler, which the environment of a record leaves out."""
    compiler = compiler_version(cxx_compiler()).partition("\n")[0]
    return f"{os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}, {compiler}"


def settings_for(case: Case) -> Settings:
    workload = WORKLOADS.get(case.entry.problem.stem, {}) if case.device == "cuda" else {}
    return Settings(
        workload=workload,
        isolation=case.tier,
        timeout_s=TIMEOUT_OF_CONTROLS_S if case.entry.threat == "control" else TIMEOUT_S,
        timing_s=TIMING_OF_TWINS_S if case.compared and not case.screening else TIMING_S,
        memory_bytes=8 * GIB if case.device == "cuda" else 4 * GIB,
    )


@contextlib.contextmanager
def screening(wanted: bool) -> Iterator[None]:
    """Take screening out of the way of a submission, or leave it in."""
    with contextlib.nullcontext() if wanted else mock.patch.object(evaluation, "screen", return_value=()):
        yield


def prepared(case: Case, session: Session) -> evaluation.Draft:
    problem = read_problem(case.entry.problem)
    draft = evaluation.begin(read_submission(case.entry.path), problem, session=session, settings=settings_for(case))
    try:
        evaluation.examine(draft, session=session, on_phase=lambda name: None)
    except HarnessError as error:
        draft.fault = error
    return draft


@contextlib.contextmanager
def guarded(seat: JudgeSeat) -> Iterator[OnPhase]:
    """A judge that does not come back is killed, which the verdict then says.

    It is to be told each phase: waiting for a device that another process is timing on does not count.
    """
    done, phases = threading.Event(), [""]

    def guard() -> None:
        spent_s = 0
        while not done.wait(1.0):
            spent_s += not phases[-1].startswith("waiting for ")
            if spent_s > JUDGE_S and (pid := seat.pid) is not None:
                os.kill(pid, signal.SIGKILL)
                spent_s = 0  # a judge that is lost is started anew and asked again

    threading.Thread(target=guard, daemon=True).start()
    try:
        yield phases.append
    finally:
        done.set()


class GuardedSeat(JudgeSeat):
    """A seat with a guard over its judge, whoever asks."""

    def judge(self, job: Job, *, build: Build, on_phase: OnPhase) -> Judgement:
        with guarded(self) as hear:

            def heard(name: str) -> None:
                hear(name)
                on_phase(name)

            return super().judge(job, build=build, on_phase=heard)


def guard_seats(session: Session, count: int) -> None:
    """Give a session that has judged nothing yet so many seats with a guard, in place of its own."""
    device = session.seats[0].device
    while session.seats:
        session.seats.pop().close()
    session.seats.extend(GuardedSeat(session.zygote, device) for _ in range(count))


def one_by_one(cases: list[Case], session: Session, watch: Watch, add: Callable[[dict[str, Any]], None]) -> None:
    """Judge each alone and compare the machine with what it was before. Imports happen first, side by side."""
    seat = session.seats[0]
    seat.start()  # starts the judge, which is no leftover
    before = watch.look()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        drafts = list(pool.map(lambda case: prepared(case, session), cases))
    for left in watch.left_behind(before):
        print(f"! imports left behind: {left}", flush=True)
    for case, draft in zip(cases, drafts, strict=True):
        seat.start()  # a judge that was lost is not counted for the candidate that comes after it
        before = watch.look()
        started = time.monotonic()
        evaluated = evaluation.settle_or_record(draft, session=session, seat=seat)
        seconds = time.monotonic() - started
        add(row_of(case, evaluated, left=watch.left_behind(before), seconds=seconds))


def side_by_side(cases: list[Case], session: Session, results: Results) -> None:
    """Judge several at a time. Last and alone come those that would disturb the others, and those that may have been
    disturbed by others: whose verdict is not the expected one, and then what gained and its twin.
    """
    seats = len(session.seats)
    quiet = [case for case in cases if case.entry.threat not in ALONE]
    alone = [case for case in cases if case not in quiet]
    with LocalEngine(session) as engine:
        engine.devices  # noqa: B018  # starts the judges
        for case, evaluated in engine.stream((case, ask_of(case)) for case in quiet):
            row = row_of(case, evaluated, left=None, seconds=evaluated.device_s)
            if row["as_expected"] or seats == 1:
                results.add(row)
            else:
                alone.append(case)

        def judge_alone(cases: Iterable[Case]) -> None:
            for case in cases:
                evaluated = engine.evaluate(ask_of(case))
                results.add(row_of(case, evaluated, left=None, seconds=evaluated.device_s))

        judge_alone(alone)
        too_fast = [case.entry for case in cases if not case.screening and gained(results.rows[case.key])]
        again = {name for entry in too_fast for name in (entry.name, entry.twin)}
        judge_alone(case for case in cases if case.entry.name in again)


def ask_of(case: Case) -> Ask:
    return Ask(read_submission(case.entry.path), read_problem(case.entry.problem), settings_for(case), noting=True)


def run(entries: list[Entry], tiers: list[str], passes: list[bool], results: Results, *, beside: bool = False) -> None:
    """Judge everything that the results do not have yet; `passes` are those without (False) and with screening, which
    judges several at a time, as the other does where they are to be judged `beside` each other.
    """
    device = results.device
    seats = SEATS_SIDE_BY_SIDE if device == "cuda" else 1
    twins = {entry.twin for entry in read_corpus()}
    for wanted, tier in itertools.product(passes, tiers):
        cases = [
            case
            for entry in entries
            if (case := Case(entry, tier, wanted, device, bool(entry.twin) or entry.name in twins)).key
            not in results.rows
        ]
        if not cases:
            continue
        where = "cuda:0" if device == "cuda" else "cpu"
        with contextlib.ExitStack() as opened:
            try:
                session = opened.enter_context(open_session(where, Settings(isolation=tier, timeout_s=TIMEOUT_S)))
            except SandboxError as error:
                print(f"! the {tier} tier: {error}", flush=True)
                continue
            guard_seats(session, seats if wanted or beside else 1)
            results.environment = session.seats[0].start().environment.model_dump(mode="json")
            results.layers[tier] = layers_of(session, tier)
            with screening(wanted):
                if wanted or beside:
                    side_by_side(cases, session, results)
                else:
                    one_by_one(cases, session, Watch(session, on_gpu=device == "cuda"), results.add)


def layers_of(session: Session, tier: str) -> list[str]:
    """What holds for the workers of a tier, asked of one that does nothing."""
    with session.zygote.spawn_worker("harness.sandbox.zygote:nothing", [], Policy(isolation=tier)) as worker:
        return list(worker.layers)


# ---- the table -------------------------------------------------------------------------------------------------


def document(results: Mapping[str, Any]) -> str:
    """The page's part about one run: where and when, what it came to, and a table of every candidate."""
    environment, rows = results["environment"], results["rows"]
    gpu = f"{environment['gpu']}, driver {environment['driver']}, " if environment.get("gpu") else ""
    where = f"{gpu}{environment['cores']} cores, torch {environment['torch']}, Python {environment['python']}"
    lines = [f"{results['date']}, {where}{', as ' + results['setting'] if results['setting'] else ''}:", ""]
    lines += [f"- {sentence}" for sentence in summary(rows)]
    for part in ("cheats", "controls"):
        lines += ["", f"### {part.capitalize()}", "", table(rows, part)]
    tiers = "; ".join(f"{tier}: {', '.join(layers)}" for tier, layers in results["layers"].items())
    return "\n".join((*lines, "", f"Layers that held. {tiers}."))


def table(rows: Iterable[Mapping[str, Any]], part: str) -> str:
    """The rows of one part of the corpus as Markdown, one line a candidate; a cell that varies holds all values.

    "gain" is the speed-up over that of the honest twin, by tier, with "?" where the interval does not tell it from 1.
    """
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["part"] == part:
            by_name.setdefault(row["name"], []).append(row)
    cheats = part == "cheats"
    columns = ["file", "verdict", *(["stopped by", "gain"] if cheats else []), "flags"]
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for name, group in sorted(by_name.items(), key=lambda item: (_order(item[1][0]["threat"]), item[0])):
        flags = ", ".join(next((row for row in group if row["screening"]), group[-1])["flags"])
        cells = [
            f"{group[0]['threat']} `{name}`" if cheats else f"`{name}`",
            _distinct(row["verdict"] for row in group),
        ]
        if cheats:
            cells += [_distinct(row["stopped_by"] for row in group), _distinct(map(_gain, group))]
        lines.append("| " + " | ".join((*cells, flags)) + " |")
    return "\n".join(lines)


def _distinct(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(value for value in values if value))


def _gain(row: Mapping[str, Any]) -> str:
    """How many times as fast as its twin, from the pass that is timed alone."""
    if row["screening"] or not row.get("gain"):
        return ""
    return f"{row['gain']:.2f}" if row["gain_at_least"] > 1 else f"{row['gain']:.2f}?" if row["gain"] > 1 else "none"


def _order(threat: str) -> tuple[str, int]:
    return (threat[:1], int(threat[1:])) if threat[1:].isdecimal() else (threat, 0)


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """The few sentences that the table comes to."""
    off = [row for row in rows if not row["screening"]]
    cheats = [row for row in off if row["part"] == "cheats"]
    controls = [row for row in off if row["threat"] == "control"]
    looked = [row for row in rows if row["left_behind"] is not None]
    differing = {
        row["name"]
        for row in off
        for other in rows
        if other["name"] == row["name"] and other["tier"] == row["tier"] and other["verdict"] != row["verdict"]
    }
    return [
        f"{len({row['name'] for row in cheats})} cheats of {len({row['threat'] for row in cheats})} kinds under "
        f"{len({row['tier'] for row in cheats})} of two tiers: "
        f"{sum(row['verdict'] == 'correct' for row in cheats)} of {len(cheats)} judged correct, "
        f"{sum(gained(row) for row in cheats)} of those with a gain",
        f"{len({row['name'] for row in controls})} honest controls: "
        f"{sum(row['as_expected'] for row in controls)} of {len(controls)} judged as they should be",
        f"{sum(bool(row['left_behind']) for row in looked)} of {len(looked)} left something behind",
        f"verdicts that differ with screening: {', '.join(sorted(differing)) or 'none'}",
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--isolation", choices=["full", "basic"], action="append", help="a tier; both where not given")
    parser.add_argument("--screening", choices=["off", "on"], action="append", help="both where not given")
    parser.add_argument("--side-by-side", action="store_true", help="several at a time without screening, too")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="names, THREATS ids, or parts")
    parser.add_argument("--as", dest="setting", choices=sorted(SETTINGS), help="start anew where less is allowed")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print the Markdown of results, judge nothing")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    if options.table:
        print(document(json.loads(options.table.read_text())))
        return 0
    if options.setting and os.environ.get("HARNESS_CHEATS_SETTING") != options.setting:
        return elsewhere(options.setting, Path(__file__), options.output)
    corpus = read_corpus()
    entries = [entry for entry in corpus if options.device in entry.devices and _wanted(entry, options.only)]
    if not entries:
        parser.error("nothing in the corpus for this device is called that")
    results = Results(options.output, options.device, setting=options.setting or "")
    results.load()
    started = time.monotonic()
    passes = [wanted == "on" for wanted in options.screening or ["off", "on"]]
    run(entries, options.isolation or ["full", "basic"], passes, results, beside=options.side_by_side)
    results.write()
    rows = list(results.rows.values())
    bad = [(row, complaint) for row in rows for complaint in complaints(row)]
    print(f"\n{time.monotonic() - started:.0f} s")
    print("\n".join(summary(rows)))
    for row, complaint in bad:
        print(f"! {row['name']} ({row['tier']}, screening {'on' if row['screening'] else 'off'}): {complaint}")
    return 1 if bad else 0


def _wanted(entry: Entry, patterns: list[str]) -> bool:
    named = (entry.name, entry.threat, entry.path.parent.name)
    return not patterns or any(fnmatch.fnmatch(name, pattern) for name in named for pattern in patterns)


def elsewhere(setting: str, script: Path, output: Path | None) -> int:
    """The script's command once more, as somebody who may do less, with a folder of its own to write to."""
    folder = Path(tempfile.mkdtemp(prefix="harness-cheats-", dir="/var/tmp"))
    folder.chmod(0o777)
    arguments = [one for one in sys.argv[1:] if one not in ("-o", "--output", str(output))]
    kept = folder / "results.json"
    if output is not None and output.exists():
        shutil.copy(output, kept)
        kept.chmod(0o666)
    command = [python_elsewhere(setting), str(script.resolve()), *arguments, "-o", str(kept)]
    environment = environment_elsewhere(folder) | {"HARNESS_CHEATS_SETTING": setting}
    try:
        status = subprocess.run(
            command_elsewhere(setting, command), cwd=folder, env=environment, check=False
        ).returncode
        if output is not None and kept.exists():
            shutil.copy(kept, output)
        return status
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
