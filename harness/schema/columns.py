"""Columns: what a leaderboard needs of many records, as arrays, so that a million of them are ranked in seconds.

Needs numpy, so nothing imports this module before it is wanted.
"""

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Self, overload

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from harness.schema.build import FAST_TOOLCHAINS
from harness.schema.head import Head, HeadBuild, HeadFlag, HeadTiming, read_sandbox
from harness.schema.record import DIFFERED, Record

Codes = NDArray[np.int32]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
_UNKNOWN = -1
_DOUBTFUL = {"warn", "reject"}


class Texts(Sequence[str]):
    """Strings that lie end to end in one array of bytes: a million of them cost what their letters cost."""

    def __init__(self, letters: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self.letters = letters
        self.ends = ends

    @classmethod
    def of(cls, strings: Iterable[str]) -> Self:
        # What UTF-8 cannot say (a file name of stray bytes) is written as its escape, as in a run's JSON.
        encoded = [string.encode("utf-8", "backslashreplace") for string in strings]
        ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "list[str]": ...
    def __getitem__(self, index: int | slice) -> "str | list[str]":
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        start = int(self.ends[index - 1]) if index else 0
        return self.letters[start : int(self.ends[index])].tobytes().decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        letters, start = self.letters.tobytes(), 0
        for end in self.ends.tolist():
            yield letters[start:end].decode("utf-8")
            start = end


@dataclass(frozen=True)
class Coded:
    """A column of text: `codes[n]` says which of `texts` the n-th record has. Each text stands there once."""

    texts: Texts
    codes: Codes

    def __getitem__(self, row: int) -> str:
        return self.texts[int(self.codes[row])]

    def code(self, text: str) -> int:
        """The code of a text, -1 where no record has it."""
        return next((code for code, each in enumerate(self.texts) if each == text), _UNKNOWN)

    def take(self, rows: NDArray[np.int64]) -> "Coded":
        return Coded(self.texts, self.codes[rows])

    @classmethod
    def joined(cls, parts: Sequence["Coded"]) -> "Coded":
        known: dict[str, int] = {}
        codes = []
        for part in parts:
            mine = np.fromiter((known.setdefault(text, len(known)) for text in part.texts), np.int32, len(part.texts))
            codes.append(mine[part.codes] if len(mine) else part.codes)
        return cls(Texts.of(known), np.concatenate(codes))


@dataclass(frozen=True)
class Columns:
    """n records. Every array has n entries, except the last three, which have one for each speed-up.

    `row` numbers the records as they came, so that a selection of them still says which they are. `problem` is the
    title, `reason` what a failed or wrong verdict says, or the rule of a rejected one, `isolation` JSON of the
    layers that held and those that were missing. `sha256` is the submission's, n by 32 bytes. `turn`, `sample` and
    tokens are -1 where they are not known. `flagged` and `audited` count doubts of severity warn or reject alone.
    `quick`: timed until the band of its speed-up was known. `fast`: something of it was built fast; `confirmed`: stock
    was asked about it; `differed`: and said something else.
    `roofline` is the fraction, NaN where there is none. `timed` is the position (0 to n-1) that a speed-up belongs
    to, `baseline` what it is measured against, `speedup` its value, low and high, as the record says them.
    """

    row: NDArray[np.int64]
    problem: Coded
    set: Coded
    model: Coded
    path: Coded
    device: Coded
    device_name: Coded
    precision: Coded
    verdict: Coded
    stage: Coded
    reason: Coded
    isolation: Coded
    judged_at: Coded
    sha256: NDArray[np.uint8]
    sample: NDArray[np.int64]
    turn: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    completion_tokens: NDArray[np.int64]
    reduced: Bools
    flagged: Bools
    audited: Bools
    disturbed: Bools
    quick: Bools
    fast: Bools
    confirmed: Bools
    differed: Bools
    roofline: Floats
    timed: NDArray[np.int64]
    baseline: Coded
    speedup: Floats

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Columns":
        """The columns of records that are at hand."""
        builder = ColumnsBuilder()
        builder.add(map(Head.of, records))
        return builder.build()

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> "Columns":
        """The records at these positions, none of them twice, in this order; or those where a mask is True."""
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64)
        place = np.full(len(self), _UNKNOWN, np.int64)
        place[rows] = np.arange(len(rows))
        kept = np.flatnonzero(place[self.timed] >= 0)
        taken: dict[str, Any] = {name: getattr(self, name)[rows] for name in _PLAIN}
        taken |= {name: getattr(self, name).take(rows) for name in _CODED}
        return Columns(
            **taken, timed=place[self.timed[kept]], baseline=self.baseline.take(kept), speedup=self.speedup[kept]
        )

    @classmethod
    def joined(cls, parts: Sequence["Columns"]) -> "Columns":
        """One after the other, numbered anew."""
        if len(parts) == 1:
            return parts[0]
        starts = np.cumsum([0, *(len(part) for part in parts)])
        joined: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _PLAIN}
        joined |= {name: Coded.joined([getattr(part, name) for part in parts]) for name in (*_CODED, "baseline")}
        joined["timed"] = np.concatenate([part.timed + start for part, start in zip(parts, starts, strict=False)])
        joined["speedup"] = np.concatenate([part.speedup for part in parts])
        joined["row"] = np.arange(starts[-1])
        return cls(**joined)

    def speedups(self, baseline: str) -> Floats:
        """n by 3: the speed-up over `baseline` with its interval, NaN where the record has none."""
        found = np.full((len(self), 3), np.nan)
        mine = self.baseline.codes == self.baseline.code(baseline)
        found[self.timed[mine]] = self.speedup[mine]
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it as plain arrays, for `from_arrays`."""
        flat: dict[str, NDArray[Any]] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Coded):
                flat[field.name] = value.codes
                flat[f"{field.name}.letters"], flat[f"{field.name}.ends"] = value.texts.letters, value.texts.ends
            else:
                flat[field.name] = value
        return flat

    @classmethod
    def from_arrays(cls, flat: Mapping[str, NDArray[Any]]) -> "Columns":
        """What `arrays` gave. Raises KeyError where one is missing."""
        coded: dict[str, Any] = {
            name: Coded(Texts(flat[f"{name}.letters"], flat[f"{name}.ends"]), flat[name])
            for name in (*_CODED, "baseline")
        }
        coded |= {name: flat[name] for name in (*_PLAIN, "timed", "speedup")}
        return cls(**coded)


_CODED = (
    "problem", "set", "model", "path", "device", "device_name", "precision", "verdict", "stage", "reason", "isolation",
    "judged_at",
)  # fmt: skip
_WHOLES = ("sample", "turn", "prompt_tokens", "completion_tokens")
_BOOLS = ("reduced", "flagged", "audited", "disturbed", "quick", "fast", "confirmed", "differed")
_PLAIN = ("row", "sha256", *_WHOLES, *_BOOLS, "roofline")
# Where a head says what a column is made of.
_PLACES = {
    "problem": "problem.name",
    "set": "problem.set",
    "model": "submission.model",
    "path": "submission.path",
    "device": "device.kind",
    "device_name": "device.name",
    "precision": "problem.workload.precision",
    "verdict": "verdict.kind",
    "stage": "verdict.stage",
    "reason": "verdict.reason",
    "rule": "verdict.rule",
    "sandbox": "sandbox",
    "judged_at": "judged_at",
    "sha256": "submission.sha256",
    "sample": "submission.sample",
    "turn": "submission.turn",
    "prompt_tokens": "submission.prompt_tokens",
    "completion_tokens": "submission.completion_tokens",
    "reduced": "problem.workload.reduced",
    "flagged": "flags",
    "audited": "audit",
    "fast": "builds",
    "confirmed": "confirmed",
    "timing": "timing",
    "roofline": "roofline",
}
_look = attrgetter(*_PLACES.values())


class _Codebook(dict[str, int]):
    """Texts numbered as they first appear."""

    def __missing__(self, text: str) -> int:
        self[text] = code = len(self)
        return code


class ColumnsBuilder:
    """Columns while their records go by. Hundreds of heads are best added at once: several times as fast as one after
    the other, and no more than stay in a core's cache.
    """

    def __init__(self) -> None:
        self._count = 0
        self._known = {name: _Codebook() for name in (*_CODED, "baseline")}
        self._values: dict[str, array[Any]] = {name: array("i") for name in self._known}
        self._values |= {name: array("q") for name in (*_WHOLES, "timed")}
        self._values |= {name: array("b") for name in _BOOLS}
        self._values |= {name: array("d") for name in ("roofline", "speedup")}
        self._sha256 = bytearray()
        self._isolations: dict[bytes, str] = {}

    def add(self, heads: Iterable[Head]) -> None:
        """Adds them all; none, and raises ValueError, where a head has not looked at what is not what it is for."""
        rows = list(map(_look, heads))
        if not rows:
            return
        columns: dict[str, Any] = dict(zip(_PLACES, zip(*rows, strict=True), strict=True))
        columns["isolation"] = list(map(self._isolation, columns.pop("sandbox")))
        self._sha256 += bytes.fromhex("".join(columns.pop("sha256")))
        rules, timings = columns.pop("rule"), columns.pop("timing")
        columns["problem"] = map(_title, columns["set"], columns["problem"])
        columns["reason"] = (reason or rule for reason, rule in zip(columns["reason"], rules, strict=True))
        for name in ("turn", "prompt_tokens", "completion_tokens"):
            columns[name] = (_UNKNOWN if value is None else value for value in columns[name])
        columns["fast"] = map(_built_fast, columns["fast"])
        columns["confirmed"] = (confirmed == "stock" for confirmed in columns["confirmed"])
        columns["differed"] = map(_has_differed, columns["flagged"])
        for name in ("flagged", "audited"):
            columns[name] = map(_doubtful, columns[name])
        columns["roofline"] = (roofline.fraction if roofline else np.nan for roofline in columns["roofline"])
        columns["disturbed"] = (bool(each and each.conditions and each.conditions.disturbed) for each in timings)
        columns["quick"] = (each is not None and each.mode == "quick" for each in timings)
        for name, column in columns.items():
            self._extend(name, column)
        self._add_timings(timings)
        self._count += len(rows)

    def build(self) -> Columns:
        arrays: dict[str, Any] = {
            name: Coded(Texts.of(known), np.frombuffer(self._values[name], np.int32))
            for name, known in self._known.items()
        }
        arrays |= {name: np.frombuffer(self._values[name], np.int64) for name in (*_WHOLES, "timed")}
        arrays |= {name: np.frombuffer(self._values[name], np.bool_) for name in _BOOLS}
        return Columns(
            row=np.arange(self._count),
            sha256=np.frombuffer(self._sha256, np.uint8).reshape(-1, 32),
            roofline=np.frombuffer(self._values["roofline"]),
            speedup=np.frombuffer(self._values["speedup"]).reshape(-1, 3),
            **arrays,
        )

    def _add_timings(self, timings: Iterable[HeadTiming | None]) -> None:
        found = [
            (row, name, speedup)
            for row, timing in enumerate(timings, self._count)
            if timing is not None
            for name, speedup in (
                (timing.baseline, timing.speedup), *((each.name, each.speedup) for each in timing.baselines),
            )
        ]  # fmt: skip
        if found:
            timed, baseline, speedups = zip(*found, strict=True)
            self._extend("timed", timed)
            self._extend("baseline", baseline)
            self._extend("speedup", (value for each in speedups for value in (each.value, each.low, each.high)))

    def _isolation(self, raw: Raw) -> str:
        found = self._isolations.get(bytes(raw))
        if found is None:
            sandbox = read_sandbox(bytes(raw))
            found = self._isolations[bytes(raw)] = json.dumps([sandbox.layers, sandbox.missing])
        return found

    def _extend(self, name: str, column: Iterable[Any]) -> None:
        codes = self._known.get(name)
        self._values[name].fromlist(list(map(codes.__getitem__, column) if codes is not None else column))


def _title(set_name: str, name: str) -> str:
    return f"{set_name}/{name}" if set_name else name


def _built_fast(builds: Sequence[HeadBuild]) -> bool:
    return any(build.toolchain in FAST_TOOLCHAINS for build in builds)


def _has_differed(flags: Sequence[HeadFlag]) -> bool:
    return bool(flags) and any(flag.rule == DIFFERED for flag in flags)


def _doubtful(flags: Sequence[HeadFlag]) -> bool:
    return bool(flags) and any(flag.severity in _DOUBTFUL for flag in flags)
