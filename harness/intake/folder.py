"""Submissions on disk: one file, or a folder of them for a batch.

Which problem a file of a folder answers is read from, in this order:

1. `generations.csv` in the folder: columns `file` (relative to it) and `problem`, and if wanted `sample` and `model`.
   Where it stands, nothing else in the folder is read.
2. The `.json` of the same name that `harness generate` keeps beside its submissions, which also tells turn, parent and
   tokens.
3. KernelBench's file names: `level_1_problem_19_sample_0_kernel.py`.
4. A folder named like a problem (`19_ReLU`, or any name where the file's own is one of a sample): `19_ReLU/a.txt`,
   `level1/19_ReLU/0.py`, `softmax/sample_2.py`. The sample is the last number in the file's name, 0 where it has none.
5. A file named like a problem: `19_ReLU.txt`, `level1/19_ReLU.md`, `19_ReLU_sample_1.py`; failing all else, any
   file's stem is its problem's name.

Folders above those that name the set and the problem name the model: `gpt-x/level_1_problem_19_sample_0_kernel.py`.
Where none does, the `generation_config.yaml` that KernelBench leaves in its `runs/NAME` may.
Files that are not `.py`, `.txt` or `.md`, hidden ones, `README` files and KernelBench's logged prompts
(`level_1_problem_19_sample_0_prompt.txt`) are no submissions.
"""

import csv
import hashlib
import io
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path, PurePosixPath

import pydantic_core
from pydantic import ValidationError

from harness.errors import InputError
from harness.intake import kernel_alone
from harness.intake.extract import MAX_SUBMISSION
from harness.intake.neighbours import with_neighbours
from harness.schema import Submission
from harness.schema.generation import Generation

STDIN = "-"
TABLE = "generations.csv"
GENERATION_CONFIG = "generation_config.yaml"
SUFFIXES = (".py", ".txt", ".md")
MAX_FILE_BYTES = 1 << 28
"""What is hashed of one file; extraction refuses far shorter texts, but its record names them by their hash."""

_KERNELBENCH = re.compile(r"(?P<problem>level_\d+_problem_\d+)_sample_(?P<sample>\d+)(?:_kernel)?")
_PROMPT = re.compile(r"level_\d+_problem_\d+_sample_\d+_prompt")
_PROBLEM = re.compile(r"\d+_[A-Za-z][\w.+-]*|level_\d+_problem_\d+")
_PROBLEM_SAMPLE = re.compile(r"(?P<problem>\d+_[A-Za-z][\w.+-]*?)(?:_sample_(?P<sample>\d+))?(?:_kernel)?")
_SET = re.compile(r"level_?\d+")
_SAMPLE_NAME = re.compile(
    r"(?:sample|attempt|response|completion|generation|output|candidate|solution|kernel)?[_-]?\d*(?:_kernel)?",
    re.IGNORECASE,
)
# A line `model_name: gpt-x` at the top level, as yaml.dump writes it; YAML itself is not needed for that.
_MODEL_NAME = re.compile(r"""^model_name:[ ]+(?P<quote>['"]?)(?P<name>[^'"\n]+)(?P=quote)[ ]*$""", re.MULTILINE)
_LAST_NUMBER = re.compile(r"\d+(?=\D*$)")
_MOST_DIGITS = 9  # of a sample's number; longer runs of digits are a hash or a time stamp


@dataclass(frozen=True)
class _Place:
    """What the name of a file says."""

    problem: str
    sample: int = 0
    model: str = ""


def read_submission(path: Path) -> Submission:
    """Read one file, and the sources beside it that a `.py` file builds (`neighbours`); STDIN is standard input.

    A C++ or CUDA file gets Python around it where its text says which function is meant (`kernel_alone`).
    Bytes that are not UTF-8 become U+FFFD: what a candidate holds is data. The problem is set where the file's name is
    KernelBench's or a problem's own. Raises InputError for a file that is missing, a folder, or unreadable.
    """
    named = _KERNELBENCH.fullmatch(path.stem) or _PROBLEM_SAMPLE.fullmatch(path.stem)
    place = _place_of(PurePosixPath(path.name)) if named else None
    read = _read_stdin() if str(path) == STDIN else _read(path, name=str(path), place=place)
    text = _with_what_it_needs(read.text, path)
    if text == read.text:
        return read
    return read.model_copy(update={"text": text, "sha256": hashlib.sha256(text.encode()).hexdigest()})


def _with_what_it_needs(text: str, path: Path) -> str:
    if path.suffix == ".py":
        return with_neighbours(text, path.parent)
    return kernel_alone.with_python(text, path) if path.suffix in kernel_alone.SUFFIXES else text


def read_folder(folder: Path) -> list[Submission]:
    """Read all submissions of a folder, in the natural order of their paths; paths are relative to the folder.

    Raises InputError for a folder that is missing or holds no submission, for a file that leads out of it (a link, a
    row with `..`), and for a `generations.csv` that cannot be used, with the row at fault.
    """
    if not folder.is_dir():
        what = "is not a folder; `harness eval` takes one file" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {what}.")
    table = folder / TABLE
    if table.is_file():
        return _read_table(table)
    model = _generated_by(folder)
    submissions = [_read_named(folder, name, model) for name in _files(folder)]
    if not submissions:
        raise InputError(
            f"{folder} holds no submissions: put files named like level_1_problem_19_sample_0_kernel.py or 19_ReLU.txt "
            f"there, one folder a problem, or a {TABLE}."
        )
    return submissions


def _read_named(folder: Path, name: PurePosixPath, model: str) -> Submission:
    """A file whose name, or what lies beside it, says what it answers; `model` made it unless these name another."""
    _require_inside(folder, folder / name)
    generation = _generation(folder / name)
    place = _place_of(name)
    read = _read(folder / name, name=str(name), place=place if place.model else replace(place, model=model))
    if generation is None:
        return read
    return generation.submission(str(name)).model_copy(update={"text": read.text, "sha256": read.sha256})


def _require_inside(folder: Path, path: Path) -> None:
    """Raises InputError for a file elsewhere: a folder of others would have it kept and published as an answer."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{path} leads out of {folder}: put the file itself there.")


def _generation(path: Path) -> Generation | None:
    """What `harness generate` kept beside a submission; None where there is nothing of its own."""
    beside = path.with_suffix(".json")
    try:
        with _open_regular(beside) as file:
            content = file.read(MAX_FILE_BYTES)
        if pydantic_core.from_json(content)["kind"] != "generation":
            return None
    except (OSError, InputError, ValueError, TypeError, LookupError):  # no file, no JSON, no object, or another tool's
        return None
    try:
        return Generation.model_validate_json(content)
    except ValidationError as error:
        raise InputError(f"{beside} is not what this harness wrote there: restore it, or remove it.") from error


def _read(path: Path, *, name: str, place: _Place | None) -> Submission:
    if path.is_dir():
        raise InputError(f"{path} is a folder; name one file, or score the folder with `harness batch`.")
    try:
        with _open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                raise InputError(f"{path} is larger than the {MAX_FILE_BYTES >> 20} MiB that a submission may have.")
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            head = file.read(4 * MAX_SUBMISSION + 1)  # a character takes up to 4 bytes; extraction refuses longer text
    except FileNotFoundError:
        raise InputError(f"There is no file {path}; check the path.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    return Submission(
        path=name,
        sha256=sha256,
        text=head.decode("utf-8", errors="replace"),
        problem=place.problem if place else None,
        sample=place.sample if place else 0,
        model=place.model if place else "",
    )


def _read_stdin() -> Submission:
    data = sys.stdin.buffer.read(4 * MAX_SUBMISSION + 1)
    return Submission(path="stdin", sha256=hashlib.sha256(data).hexdigest(), text=data.decode("utf-8", "replace"))


def _open_regular(path: Path) -> BufferedReader:
    """Open a file that ends, for reading. Raises InputError for a pipe, a device or a socket, OSError otherwise."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path} is no regular file: a submission is a file of text.")
    return open(descriptor, "rb")


def _files(folder: Path) -> list[PurePosixPath]:
    found: list[PurePosixPath] = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        here = PurePosixPath(Path(parent).relative_to(folder).as_posix())
        found.extend(here / name for name in files if _is_submission(name) and (Path(parent) / name).is_file())
    return sorted(found, key=lambda path: _natural(str(path)))


def _is_submission(name: str) -> bool:
    path = PurePosixPath(name)
    if path.suffix not in SUFFIXES or name.startswith((".", "__")) or path.stem.upper() == "README":
        return False
    return not _PROMPT.fullmatch(path.stem)


def _generated_by(folder: Path) -> str:
    """The model that KernelBench's configuration in the folder names; empty where there is none."""
    try:
        with _open_regular(folder / GENERATION_CONFIG) as file:
            text = file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, InputError):  # not there, or nothing that can be read: then the model is not known
        return ""
    match = _MODEL_NAME.search(text)
    return match["name"].strip() if match and match["name"] not in ("null", "~") else ""


def _natural(text: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """Sort 2 before 10; the text itself breaks ties, so that the order is total."""
    parts = re.findall(r"\d+|\D+", text)
    return tuple((int(part[:18]), "") if part.isdecimal() else (-1, part) for part in parts), text


def _place_of(path: PurePosixPath) -> _Place:
    """What a path relative to the batch's folder says; the rules of the module's docstring, 3 to 5."""
    folders, stem = path.parts[:-1], path.stem
    if match := _KERNELBENCH.fullmatch(stem):
        return _Place(match["problem"], _number(match["sample"]), "/".join(folders))
    if folders and (_PROBLEM.fullmatch(folders[-1]) or _SAMPLE_NAME.fullmatch(stem)):
        number = _LAST_NUMBER.search(stem)
        return _within(folders[:-1], folders[-1], _number(number.group()) if number else 0)
    if match := _PROBLEM_SAMPLE.fullmatch(stem):
        return _within(folders, match["problem"], _number(match["sample"] or "0"))
    return _within(folders, stem, 0)


def _within(folders: Sequence[str], problem: str, sample: int) -> _Place:
    """A problem below `folders`: the last may name its set, those above it name the model."""
    if folders and _SET.fullmatch(folders[-1]):
        return _Place(f"{folders[-1]}/{problem}", sample, "/".join(folders[:-1]))
    return _Place(problem, sample, "/".join(folders))


def _number(digits: str) -> int:
    return int(digits[-_MOST_DIGITS:])


def _read_table(table: Path) -> list[Submission]:
    seen: dict[tuple[str, str, int], int] = {}
    submissions = []
    for row, (name, place) in enumerate(_rows(table), start=1):
        path = table.parent / name
        if not path.is_file():
            raise InputError(f"{table}, row {row}: there is no file {path}; correct the row or add the file.")
        _require_inside(table.parent, path)
        earlier = seen.setdefault((name, place.problem, place.sample), row)
        if earlier != row:
            raise InputError(f"{table}, row {row} repeats row {earlier}; give it another sample number or remove it.")
        submissions.append(_read(path, name=name, place=place))
    if not submissions:
        raise InputError(f"{table} has no rows; add one a submission below its header: file,problem,sample,model.")
    return sorted(submissions, key=lambda one: (_natural(one.path), one.problem or "", one.sample))


def _rows(table: Path) -> Iterator[tuple[str, _Place]]:
    """The rows of `generations.csv`. Row 1 is the first below the header; empty lines are no rows."""
    try:
        with _open_regular(table) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                raise InputError(f"{table} is larger than the {MAX_FILE_BYTES >> 20} MiB that a table may have.")
            reader = csv.DictReader(text, strict=True)
            for column in ("file", "problem"):
                if column not in (reader.fieldnames or ()):
                    raise InputError(
                        f"{table} has no column {column!r}; its first line must name file and problem, and if wanted "
                        "sample and model."
                    )
            for row, cells in enumerate(reader, start=1):
                yield _row(table, row, cells)
    except UnicodeDecodeError as error:
        raise InputError(f"{table} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error
    except csv.Error as error:
        raise InputError(f"{table} is not a valid CSV file: {error}; correct it and try again.") from error
    except OSError as error:
        raise InputError(f"{table} cannot be read: {error.strerror or error}.") from error


def _row(table: Path, row: int, cells: dict[str, str | None]) -> tuple[str, _Place]:
    name, problem = ((cells.get(column) or "").strip() for column in ("file", "problem"))
    for column, value in (("file", name), ("problem", problem)):
        if not value:
            raise InputError(f"{table}, row {row}: the column {column!r} is empty; fill it in or remove the row.")
    sample = (cells.get("sample") or "0").strip()
    if not re.fullmatch(rf"[0-9]{{1,{_MOST_DIGITS}}}", sample):
        raise InputError(f"{table}, row {row}: the sample {sample!r} is not a whole number from 0 up.")
    return name, _Place(problem, int(sample), (cells.get("model") or "").strip())
