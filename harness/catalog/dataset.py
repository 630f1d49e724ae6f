"""KernelBench as a data set: rows of parquet files, or of the Hugging Face hub, laid out as problem files.

Each row has the columns `code`, `level`, `name` and `problem_id`, as https://huggingface.co/datasets/ScalingIntelligence/KernelBench
has them (levels 1 to 4, 270 problems). They become `level<level>/<name>.py`, what a checkout of KernelBench holds, and
from then on are files like any other: judging reads files, and only `fetch` ever asks the hub.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, InputError, MachineError

KERNELBENCH = "ScalingIntelligence/KernelBench"
COLUMNS = ("code", "level", "name", "problem_id")

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_FILE_NAME = re.compile(r"\d+_[\w.+-]{1,200}")


def is_hub_name(source: str) -> bool:
    """Whether `source` can name a data set on the hub: `owner/name`, and nothing of that name lies here."""
    return _HUB_NAME.fullmatch(source) is not None and not Path(source).exists()


def parquet_files(path: Path) -> list[Path]:
    """The parquet file that `path` is, or those in the folder and one below, as a download of a data set has them."""
    if path.is_file():
        return [path] if path.suffix == ".parquet" else []
    return sorted(file for file in (*path.glob("*.parquet"), *path.glob("*/*.parquet")) if file.is_file())


def fetch(source: str, folder: Path | None = None) -> Path:
    """Lay out a data set as problem files in `folder`, and say where they lie.

    `source` is a parquet file, a folder of them, or a name on the hub; `folder` must be empty or missing. None means
    the cache, where `fetched` finds what came from the hub; what was there before is replaced.

    Raises InputError for a source or a folder that cannot be used, MachineError where the hub cannot be reached.
    """
    if is_hub_name(source):
        return _lay_out(_hub_rows(source), source, folder or _fetched_folder(source), replace=folder is None)
    files = parquet_files(Path(source))
    if not files:
        raise InputError(
            f"{source} is no parquet file, no folder of them and no name on the Hugging Face hub such as {KERNELBENCH}."
        )
    return _lay_out(_parquet_rows(files), source, folder, replace=False) if folder else unpacked(files)


def fetched(name: str) -> Path:
    """Where an earlier `fetch` laid out a data set of the hub. Raises InputError where there was none."""
    folder = _fetched_folder(name)
    if not folder.is_dir():
        raise InputError(
            f"There is no {name} here, and no data set of that name has been fetched: `harness problems fetch {name}` "
            "downloads one, once."
        )
    return folder


def unpacked(files: Sequence[Path]) -> Path:
    """Where the problems of parquet files lie, laid out now if never before. Raises InputError as `fetch` does."""
    digest = hashlib.sha256()
    for file in files:
        with _readable(file):
            with file.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
    folder = _cache_root() / digest.hexdigest()[:16]
    if folder.is_dir():
        return folder
    try:
        return _lay_out(_parquet_rows(files), str(files[0]), folder, replace=False)
    except HarnessError:
        if folder.is_dir():  # another process was first with the same
            return folder
        raise


def _cache_root() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "kernel-harness" / "problems"


def _fetched_folder(name: str) -> Path:
    return _cache_root() / name.replace("/", "--")


def _hub_rows(name: str) -> Iterator[Mapping[str, Any]]:
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise InputError(_NO_LIBRARY) from error
    try:
        splits = load_dataset(name)
    except Exception as error:
        # Whichever library of the stack below raised: the data set cannot be had.
        reason = str(error).strip().split("\n", 1)[0]
        raise MachineError(
            f"{name} cannot be fetched ({reason}): mend the network, or bring its parquet files here and name their "
            "folder."
        ) from error
    for split in splits.values():
        _check_columns(split.column_names, name)
        yield from split


def _parquet_rows(files: Iterable[Path]) -> Iterator[Mapping[str, Any]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(_NO_LIBRARY) from error
    for file in files:
        with _readable(file):
            try:
                _check_columns(parquet.read_schema(file).names, str(file))
                rows = parquet.read_table(file, columns=list(COLUMNS)).to_pylist()
            except pyarrow.ArrowException as error:
                raise InputError(f"{file} is not a parquet file that can be read: {error}") from error
        yield from rows


_NO_LIBRARY = "reading data sets needs two more packages: pip install 'kernel-harness[datasets]'"


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}.") from error


def _check_columns(names: Iterable[str], source: str) -> None:
    if missing := [column for column in COLUMNS if column not in set(names)]:
        raise InputError(f"{source} has no column {missing[0]!r}: a data set of problems has {', '.join(COLUMNS)}.")


def _lay_out(rows: Iterable[Mapping[str, Any]], source: str, folder: Path, *, replace: bool) -> Path:
    """Write every row into a new folder beside `folder` and put that into its place, whole or not at all."""
    if not replace and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty: choose a new folder for the problems of {source}.")
    files: dict[str, str] = {}
    for row in rows:
        title, code = _placed(row, source)
        if title in files:
            raise InputError(f"{source} has two problems named {title}; each may stand there once.")
        files[title] = code
    if not files:
        raise InputError(f"{source} holds no problems.")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as beside:
            new = Path(beside) / "new"
            for title, code in files.items():
                path = new / f"{title}.py"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(code.encode())
            if replace and folder.exists():
                folder.rename(Path(beside) / "old")
            new.rename(folder)  # onto an empty folder too, never onto a full one
    except OSError as error:
        raise MachineError(f"{folder} cannot be written: {error.strerror or error}; choose another folder.") from error
    return folder


def _placed(row: Mapping[str, Any], source: str) -> tuple[str, str]:
    """The title and the code of a row. Names become files, so nothing but a plain one passes."""
    level, number, name, code = row["level"], row["problem_id"], row["name"], row["code"]
    if not (isinstance(level, int) and isinstance(number, int) and isinstance(name, str) and isinstance(code, str)):
        raise InputError(f"{source}: level and problem_id must be whole numbers, name and code text ({name!r}).")
    stem = name.removesuffix(".py")
    if not stem.startswith(f"{number}_"):  # as in a checkout, where the number is part of the name
        stem = f"{number}_{stem}"
    if level < 0 or not _FILE_NAME.fullmatch(stem):
        raise InputError(f"{source}: {name!r} at level {level} is no name for a problem's file.")
    return f"level{level}/{stem}", code
