"""Merging runs: every record and attachment of several runs in one new run, none of them twice."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import harness
from harness.errors import StoreError
from harness.schema.columns import Columns
from harness.store.files import disk_faults, make_folder, plain_files, sync_folder, whole_file
from harness.store.index import Index, by_key, keys, last_words
from harness.store.lines import Line, parse
from harness.store.manifest import Manifest
from harness.store.run import ARTIFACTS_NAME, GENERATIONS_NAME, MANIFEST_NAME, MOST_ATTACHED_BYTES, Run, run_folder


@dataclass(frozen=True)
class Merged:
    """What came of it. `records` count, `earlier` are further attempts at the same, `repeated` stood there more than
    once to the letter and stand in the new run once. `differing` names what the new run promises nothing about,
    because the others do not agree in it.
    """

    folder: Path
    records: int
    earlier: int
    repeated: int
    differing: tuple[str, ...]


def merge(runs: Sequence[Run], target: str | Path, *, root: Path = Path("runs")) -> Merged:
    """Makes the run `target` of all that is in `runs`; it appears whole or not at all.

    Of several attempts at the same the one counts that would count between the shards of one run, and its attachments
    are kept; the records of the others stand before it.

    Raises:
        StoreError: the target exists, a run cannot be read, a line of one is a record in part alone, or one would hide
            the other: they judged the same submission in different places, or different ones under the same name.
        MachineError: the disk is full or broken.
    """
    folder = run_folder(target, root)
    if folder.exists():
        raise StoreError(f"{folder} is there already: choose a new name for the merged run")
    lines = _Lines([run.index() for run in runs])
    _check(lines, runs)
    manifest, differing = _manifest([run.manifest for run in runs])
    with disk_faults(folder):
        make_folder(folder.parent)
        draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        try:
            written, repeated = _write_records(lines, draft / "records.jsonl")
            _copy_attachments(lines, runs, draft / ARTIFACTS_NAME)
            _copy_generations(runs, draft / GENERATIONS_NAME)
            (draft / MANIFEST_NAME).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
            draft.chmod(0o755)
            os.rename(draft, folder)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return Merged(folder, len(lines.counting), written - len(lines.counting), repeated, differing)


class _Lines:
    """All lines of several runs: `origin` is the run that each is from, `groups` are the rows of each key, and
    `counting` is the row of each key that counts.
    """

    def __init__(self, indexes: Sequence[Index]) -> None:
        self._indexes = indexes
        self.columns = Columns.joined([index.lines for index in indexes])
        self.origin = np.repeat(np.arange(len(indexes)), [len(index.lines) for index in indexes]).tolist()
        # The files of a later run sort after those of an earlier one.
        files = np.cumsum([0, *(int(index.file.max(initial=-1)) + 1 for index in indexes)])
        file = np.concatenate([index.file + before for index, before in zip(indexes, files, strict=False)])
        order, starts, ends = by_key(self.columns)
        self.groups = [order[start:end].tolist() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        self.counting: list[int] = last_words(self.columns, file).tolist()

    def contents(self) -> Iterator[list[tuple[Line, bytes]]]:
        """The lines of each group, the one that counts at the end."""
        ordered = [
            [*(row for row in group if row != last), last]
            for group, last in zip(self.groups, self.counting, strict=True)
        ]
        first = np.cumsum([0, *(len(index.lines) for index in self._indexes)]).tolist()
        rows: list[list[int]] = [[] for _ in self._indexes]
        for row in (row for group in ordered for row in group):
            rows[self.origin[row]].append(row - first[self.origin[row]])
        readers = [index.contents(np.array(mine, np.int64)) for index, mine in zip(self._indexes, rows, strict=True)]
        for group in ordered:
            yield [next(readers[self.origin[row]]) for row in group]


def _check(lines: _Lines, runs: Sequence[Run]) -> None:
    """Raises StoreError where a key has verdicts of more than one run on what is not the same."""
    columns = lines.columns
    fault = columns.verdict.code("infrastructure")
    for group in lines.groups:
        judged = {lines.origin[row]: row for row in group if columns.verdict.codes[row] != fault}
        asked = {_asked(columns, row): origin for origin, row in judged.items()}
        if len(asked) > 1:
            first, second = (runs[origin] for origin in list(asked.values())[:2])
            raise StoreError(
                f"{columns.path[group[0]]} for {columns.problem[group[0]]} is another text, device or precision in "
                f"{first.name} than in {second.name}, and one verdict would hide the other: harness leaderboard takes "
                "both runs as they are, harness runs diff compares them"
            )


def _asked(columns: Columns, row: int) -> tuple[object, ...]:
    return (
        columns.sha256[row].tobytes(),
        columns.device.codes[row],
        columns.device_name.codes[row],
        columns.precision.codes[row],
    )


def _write_records(lines: _Lines, path: Path) -> tuple[int, int]:
    """How many lines were written, and how many were left out because they stand there already.

    Raises StoreError for a line that is a record in what an index reads of it alone: it would hide one that is whole.
    """
    written = repeated = 0
    with path.open("wb") as out:
        for group in lines.contents():
            for line, content in group:
                parse(line, content)
            # The one that counts stays where it is, at the end; in a file the order of lines decides.
            last = group[-1][1]
            once = dict.fromkeys(content for _, content in group[:-1] if content != last)
            out.writelines(content + b"\n" for content in (*once, last))
            written += len(once) + 1
            repeated += len(group) - len(once) - 1
        out.flush()
        os.fsync(out.fileno())
    return written, repeated


def _copy_attachments(lines: _Lines, runs: Sequence[Run], target: Path) -> None:
    """Those of the record that counts, or where it has none those of another attempt at the same."""
    folders = [run.folder / ARTIFACTS_NAME for run in runs]
    there = [set(os.listdir(path)) if path.is_dir() and not path.is_symlink() else set() for path in folders]
    named = keys(lines.columns.take(np.array(lines.counting, np.int64)))
    for key, counting, group in zip(named, lines.counting, lines.groups, strict=True):
        slug = key.slug
        origins = (lines.origin[row] for row in (counting, *group))
        origin = next((origin for origin in origins if slug in there[origin]), None)
        if origin is not None:
            (target / slug).mkdir(parents=True)
            for name, file in plain_files(folders[origin] / slug):
                with (target / slug / name).open("xb") as copy:
                    copy.write(file.read(MOST_ATTACHED_BYTES))


def _copy_generations(runs: Sequence[Run], target: Path) -> None:
    """What models answered, before it was judged. Raises StoreError where two runs have it otherwise."""
    for run in runs:
        folder = run.folder / GENERATIONS_NAME
        for path in sorted(folder.rglob("*")) if folder.is_dir() and not folder.is_symlink() else ():
            copy = target / path.relative_to(folder)
            if not path.is_file() or path.is_symlink() or path.name.startswith("."):
                continue
            content = whole_file(path)
            if copy.exists() and copy.read_bytes() != content:
                raise StoreError(f"{path} differs from that of another run: answers of one model must be of one run")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)


def _manifest(manifests: Sequence[Manifest]) -> tuple[Manifest, tuple[str, ...]]:
    """What all agree in, and the names of what they do not."""
    first, *others = manifests
    settings = {
        name: value
        for name, value in first.settings.items()
        if all(name in other.settings and other.settings[name] == value for other in others)
    }
    differing = [name for name in {name: 0 for each in manifests for name in each.settings} if name not in settings]
    hashes = {title: sha256 for each in manifests for title, sha256 in each.problem_sha256.items()}
    same_problems = _same_problems(manifests)
    same_device = all(other.device == first.device for other in others)
    merged = Manifest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        harness=harness.__version__,
        settings=settings,
        problems_sha256=first.problems_sha256 if len({each.problems_sha256 for each in manifests}) == 1 else "",
        problems=tuple(dict.fromkeys(title for each in manifests for title in each.problems)),
        problem_sha256=hashes if same_problems else {},
        device=first.device if same_device else "",
    )
    differing += ["problems"] * (not same_problems) + ["device"] * (not same_device)
    return merged, tuple(differing)


def _same_problems(manifests: Sequence[Manifest]) -> bool:
    """Whether no problem has another hash in one run than in another; where some know none, the catalogues' decide."""
    if not all(each.problem_sha256 for each in manifests):
        return len({each.problems_sha256 for each in manifests}) == 1
    pairs = {pair for each in manifests for pair in each.problem_sha256.items()}
    return len(pairs) == len({title for title, _ in pairs})
