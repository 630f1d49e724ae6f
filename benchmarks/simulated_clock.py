"""The judge's turns over a made-up clock: what candidates that cheat would be stated as, and honest ones on bad hosts.

    python benchmarks/simulated_clock.py -n 40 -o benchmarks/results/simulated-clock.json
    python benchmarks/simulated_clock.py --only pause

Everything that decides is the judge's own: which rounds are taken, when they suffice, the reference alone, what comes
of them. Only a round itself is made up: what its calls take, its noise, and what a candidate does to the reference's.
So a rule of the clock can be tried in minutes without a GPU, and not whether a GPU lets a candidate do that.

A candidate that cheats is twice as fast but on some kinds of contents, and slows the reference's rounds that have or
may have these: it knows its own last round's kind and who went before. `honest` is what it should be stated as.
Honest ones run on hosts whose rounds scatter, or whose launches take half as long again for some seconds.
"""

import argparse
import json
import math
import os
import platform
import random
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median_high
from types import SimpleNamespace
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

BASE, OTHERS = "nominal", ("signed", "wide", "narrow", "ties", "huge")
HAND_OVER_S, BETWEEN_S, LOOP_S = 1.5e-3, 0.03, 3e-4
Speedups = Mapping[str, float]


class Time:
    """Stands for the `time` module."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def one_kind(fast: float, slow: float) -> Speedups:
    return {kind: slow if kind == "huge" else fast for kind in (BASE, *OTHERS)}


def all_alike(faster: float) -> Speedups:
    return dict.fromkeys((BASE, *OTHERS), faster)


@dataclass(frozen=True)
class Case:
    """One candidate on one host. `faster`: by kind of contents, `slows`: on which the reference is slowed.

    `events` and `beyond_s`: by what factor its calls, and by how many seconds besides. `unsure`: how often it is slowed
    where its round may or may not have such contents. `pause_s`: how long the judge is kept waiting, once, after the
    candidate's second round. `heavy`: every so many rounds of the candidate take three times as long. `launching`:
    the share of a call that a slower core makes longer. `takes`: how many times as long a kind takes, by either side.
    `hiccups`: the share of all rounds that the host makes later, by `hiccup_s` on average.
    """

    name: str
    honest: float
    faster: Speedups
    call_ms: float = 1.0
    calls: int = 8
    noise: float = 0.02
    slows: Sequence[str] = ()
    events: float = 1.0
    beyond_s: float = 0.0
    unsure: float = 0.7
    pause_s: float = 0.0
    heavy: int = 0
    launching: float = 0.0
    quick: bool = False
    takes: Speedups = field(default_factory=lambda: all_alike(1.0))
    hiccups: float = 0.0
    hiccup_s: float = 0.0


DECOYS = {**all_alike(1.0), "huge": 2.0, "wide": 1.6, "ties": 1.6}
CASES = (
    Case("one kind, events", 1.0, one_kind(2.0, 1.0), slows=("huge",), events=2.0),
    Case("one kind, events, 30 us", 1.0, one_kind(2.0, 1.0), 0.03, 256, slows=("huge",), events=2.0),
    Case("one kind, beyond events", 1.0, one_kind(2.0, 1.0), slows=("huge",), beyond_s=8e-3),
    Case("one kind, beyond events, if sure", 1.0, one_kind(2.0, 1.0), slows=("huge",), beyond_s=12e-3, unsure=0.0),
    Case(
        "all others, beyond events, if sure", 1.0, {**all_alike(1.0), BASE: 2.0},
        slows=OTHERS, beyond_s=12e-3, unsure=0.0,
    ),
    Case("one kind, events, quick", 1.0, one_kind(1.45, 1.0), calls=4, slows=("huge",), events=1.45, quick=True),
    Case("half on one kind, events, quick", 0.5, one_kind(1.45, 0.5), calls=4, slows=("huge",), events=2.9, quick=True),
    Case(
        "one kind, beyond events, quick", 1.0, one_kind(1.45, 1.0), calls=4,
        slows=("huge",), beyond_s=2e-3, quick=True,
    ),
    Case("a pause before a slow kind", 0.3, one_kind(2.0, 0.3), pause_s=9.5),
    Case("a pause before a kind that is a little slower", 1.7, one_kind(2.0, 1.7), pause_s=9.5),
    Case("work in every third round", 2 / (1 + 2 / 3), all_alike(2.0), heavy=3),
    Case("work in every tenth round", 2 / (1 + 2 / 10), all_alike(2.0), heavy=10),
    Case("one kind of calls of 250 ms", 1.0, one_kind(2.0, 1.0), 250.0, 1),
    Case("one kind of calls of 60 ms", 1.7, one_kind(2.0, 1.7), 60.0, 1),
    Case("one kind beside decoys", 1.65, {**all_alike(2.0), "narrow": 1.65}, takes=DECOYS),
    Case("one kind, all slowed 15 times", 1.65, one_kind(2.0, 1.65), slows=(BASE, *OTHERS), events=15.0, unsure=1.0),
    Case("one kind, all later by 0.5 s", 1.0, one_kind(2.0, 1.0), slows=(BASE, *OTHERS), beyond_s=0.5, unsure=1.0),
    Case("honest, equal", 1.0, all_alike(1.0), noise=0.01),
    Case("honest, values decide", 1.0, all_alike(1.0), takes=DECOYS),
    Case("honest, values decide, quick", 1.0, all_alike(1.0), calls=4, takes=DECOYS, quick=True),
    Case("honest, 3% of rounds late", 1.0, all_alike(1.0), hiccups=0.03, hiccup_s=5e-3),
    Case("honest, 20% of rounds late", 1.0, all_alike(1.0), hiccups=0.2, hiccup_s=5e-3),
    Case("honest, 2.0, 20% of rounds late", 2.0, all_alike(2.0), hiccups=0.2, hiccup_s=5e-3),
    Case("honest, equal, 4% of noise", 1.0, all_alike(1.0), noise=0.04),
    Case("honest, equal, quick", 1.0, all_alike(1.0), calls=4, noise=0.03, quick=True),
    Case("honest, 1.3, quick", 1.3, all_alike(1.3), calls=4, noise=0.03, quick=True),
    Case("honest, 20 us, 20% of noise", 1.0, all_alike(1.0), 0.02, 256, noise=0.2),
    Case("honest, 20 us, 20% of noise, quick", 1.0, all_alike(1.0), 0.02, 256, noise=0.2, quick=True),
    Case("honest, 16 us, drifting host", 1.0, all_alike(1.0), 0.016, 256, launching=0.95),
    Case("honest, 67 us, drifting host", 1.0, all_alike(1.0), 0.067, 120, launching=0.9),
    Case("honest, 120 us, drifting host", 1.0, all_alike(1.0), 0.12, 67, launching=0.9),
    Case("honest, 16 us, drifting host, quick", 1.0, all_alike(1.0), 0.016, 128, launching=0.95, quick=True),
    Case("honest, 67 us, drifting host, quick", 1.0, all_alike(1.0), 0.067, 60, launching=0.9, quick=True),
)  # fmt: skip


@dataclass
class World:
    """A host, a device and a candidate, by chance of a seed."""

    case: Case
    seed: int
    time: Time = field(default_factory=Time)
    gone: bool = False
    rounds: int = 0
    block: list[tuple[bool, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self._changes = [self.chance.random() < 0.5]
        self._until = [0.0]
        while self._until[-1] < 120.0:
            self._until.append(self._until[-1] + self.chance.expovariate(0.5))
            self._changes.append(not self._changes[-1])

    def scatter(self, share: float) -> float:
        return math.exp(self.chance.gauss(0, share))

    def core(self) -> float:
        """How much slower the host is now: half as fast for two seconds, on average, and then not."""
        at = sum(until <= self.time.now for until in self._until)
        return 1.5 if self.case.launching and self._changes[min(at, len(self._changes) - 1)] else 1.0

    def slows(self, kind_before: list[tuple[bool, str]]) -> bool:
        """Whether the candidate slows the round of the reference that comes, by what it can know of its contents."""
        of = self.case.slows
        if not of or self.gone:
            return False
        if len(kind_before) % 2:  # the candidate had the first of this pair, and a pair has one kind
            return kind_before[-1][1] in of
        others_only = set(of) >= {*OTHERS}
        if kind_before and kind_before[-1][1] == BASE and others_only:
            return True
        may = not kind_before or (kind_before[-1][1] == BASE) != (BASE in of)
        return may and self.chance.random() < self.case.unsure

    def round(self, mine: bool, kind: str, calls: int, samples: Any, *, counts: bool) -> None:
        """One round: how long it took goes into `samples`, and the time goes on. `counts`: it is one of a block."""
        case, beyond_s = self.case, 0.0
        if counts and not self.gone and len(self.block) == 4:
            self.block.clear()
        ms = case.call_ms * case.takes[kind] * self.scatter(case.noise)
        ms *= 1 - case.launching + case.launching * self.core()
        if mine:
            ms /= case.faster[kind]
            self.rounds += counts
            ms *= 3 if case.heavy and counts and not self.rounds % case.heavy else 1
        elif counts and self.slows(self.block):
            ms, beyond_s = ms * case.events, case.beyond_s
        if counts and not self.gone:
            self.block.append((mine, kind))
        if self.chance.random() < case.hiccups:
            beyond_s += case.hiccup_s * self.chance.expovariate(1.0)
        seconds = HAND_OVER_S + abs(self.chance.gauss(0, 1e-4)) + beyond_s + ms * calls / 1e3
        paused_s = case.pause_s if mine and counts and self.rounds == 2 else 0.0
        self.time.now += seconds + BETWEEN_S + paused_s
        if samples is None:
            return
        samples.round_s.append(seconds)
        samples.worked_s.append(seconds)
        samples.device_ms.append(ms)
        samples.nominal.append(kind == BASE)
        samples.kinds.append(kind)
        samples.aside_s.append(3e-4 * self.scatter(0.1) + paused_s)
        samples.loop_s.append(0.0 if mine else LOOP_S * self.core() * self.scatter(0.01))


class MadeUpClock:
    """Stands for `rounds.Clock` on a device."""

    def __init__(self, candidate: Any, base: str, draw: Any, device: Any, **_: Any) -> None:
        self._world, self._candidate, self._base = device.world, candidate, base
        self.evict_s = {0: [1e-4]}
        self._world.gone = candidate is None

    def round(self, side: Any, kind: str, samples: Any, *, look: bool = False) -> None:
        counts = samples is not None and not look
        self._world.round(side is self._candidate, kind, self._world.case.calls, samples, counts=counts)

    def single(self, side: Any, samples: Any, *, kind: str | None = None, look: bool = False) -> None:
        self._world.round(side is self._candidate, kind or self._base, 1, samples, counts=False)

    def split_round(self, side: Any) -> None:
        self._world.round(True, self._base, self._world.case.calls, None, counts=False)

    def require_explained(self, mine: Any, theirs: Any) -> None:
        """Never more than that here."""

    def beyond_spans(self, side: Any, spans_s: Sequence[float]) -> list[float]:
        return [HAND_OVER_S for _ in spans_s]

    def paused(self, candidate: Any, reference: Any) -> bool:
        return False


def stated(case: Case, seed: int) -> tuple[Any, World]:
    """What the judge makes of a case."""
    from harness.judge import reference_alone, timing

    world = World(case, seed)
    device: Any = SimpleNamespace(world=world, awake=nullcontext, settle=lambda: None)
    mine, theirs = (SimpleNamespace(sets=SimpleNamespace(count=case.calls)) for _ in range(2))
    sides: Any = (mine, theirs)
    nothing: Any = None
    made_up: dict[str, Any] = {"Clock": MadeUpClock, "time": world.time}
    with mock.patch.multiple(timing, **made_up), mock.patch.multiple(reference_alone, **made_up):
        plan = timing.Plan(budget_s=2.0, quick=case.quick, singles=True, steps=False)
        measured = timing.measure(
            *sides, draw=nothing, base=BASE, kinds=OTHERS, device=device, plan=plan, reference_s=case.call_ms / 1e3
        )
        found = reference_alone.beside_and_alone(
            measured, sides[1], draw=nothing, base=BASE, kinds=OTHERS, device=device, plan=plan
        )
    return found.timing, world


def told(case: Case, count: int) -> dict[str, Any]:
    """Of so many measurements of a case."""
    results = [stated(case, seed) for seed in range(count)]
    values = sorted(timing.speedup.value for timing, _ in results)
    return {
        "honest": case.honest,
        "median": median_high(values),
        "least": values[0],
        "most": values[-1],
        "above_1.05_of_honest": sum(value > 1.05 * case.honest for value in values),
        "below_0.9_of_honest": sum(value < 0.9 * case.honest for value in values),
        "rounds": median_high(timing.rounds for timing, _ in results),
        "judge_s": median_high(world.time.now for _, world in results),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--count", type=int, default=40, help="measurements of each case")
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    cases = {}
    for case in CASES:
        if options.only in case.name:
            cases[case.name] = found = told(case, options.count)
            print(
                f"{case.name:<46} {found['median']:.2f} for {found['honest']:.2f} ({found['least']:.2f} to"
                f" {found['most']:.2f}), {found['above_1.05_of_honest']}/{options.count} above 1.05,"
                f" {found['below_0.9_of_honest']} below 0.9",
                flush=True,
            )
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, no device",
        "python": platform.python_version(),
        "each": options.count,
        "cases": cases,
    }
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
