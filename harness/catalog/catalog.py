"""Catalog: the problems below one folder, found by any name that people use for them."""

import ast
import difflib
import hashlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.catalog.dataset import fetched, is_hub_name, parquet_files, unpacked
from harness.catalog.source import parse
from harness.errors import InputError, ProblemError
from harness.formats import FORMATS
from harness.schema import Problem
from harness.schema.base import encodable
from harness.shipped import shipped

MOST_BYTES = 16 << 20
"""Of a problem file, as of a submission."""
# Python refuses to make a number of more than 4,300 digits, and names come from strangers too.
_KERNELBENCH_NAME = re.compile(r"level_(?P<level>\d{1,18})_problem_(?P<number>\d{1,18})")
_LEVEL = re.compile(r"level_?(?P<level>\d{1,18})")
_MODEL = re.compile(rb"^class Model\b", re.MULTILINE)
_RANGE = re.compile(r"(?:(?P<set>[^/]+)/)?(?P<first>\d{1,9})-(?P<last>\d{1,9})")
_NUMBER = re.compile(r"(?P<number>\d{1,18})(?:_|$)")
# Where a folder keeps its problems: in itself, as a checkout of KernelBench does, or as this repository does.
_PLACES = ("", "KernelBench", "KernelBench/KernelBench", "problems")
# Where they lie from inside such a folder.
_OWN_PLACES = ("problems", "KernelBench")


@dataclass(frozen=True)
class Catalog:
    """Problem files by title ("level1/19_ReLU"), in natural order. `root` is the folder or the file they come from."""

    root: Path
    files: dict[str, Path]

    def problems(self) -> list[Problem]:
        """All problems, by level and then number. They are read but not checked; `find` checks the one it returns."""
        return [_read(path, title) for title, path in self.files.items()]

    def find(self, name: str | tuple[int, int]) -> Problem:
        """The problem that `name` means.

        Names: "19_ReLU", "level1/19_ReLU", either with ".py", the path of a file (of this catalogue or not), and as
        KernelBench counts, "level_1_problem_19" or the pair (1, 19). Raises ProblemError for a name that is unknown or
        means several problems, and for a file that is no problem.
        """
        if isinstance(name, str) and (path := _as_path(name)) is not None:
            return self._at(path)
        return self.named(name if isinstance(name, str) else f"level_{name[0]}_problem_{name[1]}")

    def named(self, wanted: str) -> Problem:
        """The problem of this catalogue that a name means, and never a file: for names that strangers give.

        Raises ProblemError as `find` does.
        """
        titles = self._titles(encodable(wanted.strip().removesuffix(".py")))
        if not titles:
            raise ProblemError(self._unknown(wanted))
        if len(titles) > 1:
            raise ProblemError(f"{wanted!r} could be {_listed(titles)}; name one of them in full.")
        return check(_read(self.files[titles[0]], titles[0]))

    def only(self, wanted: Sequence[str]) -> list[Problem]:
        """The problems that these mean, each checked, in the catalogue's order; all where there are none.

        Each is a name as for `find`, a set ("level1"), or numbers ("1-50", of every set, or "level1/1-50"). Raises
        ProblemError for one that means nothing here.
        """
        chosen = {title for name in wanted for title in self._meant(name.strip())}
        titles = [title for title in self.files if title in chosen or not wanted]
        return [check(_read(self.files[title], title)) for title in titles]

    def _meant(self, name: str) -> list[str]:
        if match := _RANGE.fullmatch(name):
            first, last = int(match["first"]), int(match["last"])
            found = [title for title in self.files if _is_numbered_within(title, match["set"], first, last)]
            if not found:
                raise ProblemError(f"There is no problem with a number from {first} to {last} in {self.root}.")
            return found
        of_set = [title for title in self.files if title.rpartition("/")[0] == encodable(name)]
        return of_set or [self.find(name).title]

    def _at(self, path: Path) -> Problem:
        for title, file in self.files.items():
            if file.resolve() == path.resolve():
                return check(_read(file, title))
        return read_problem(path)

    def _titles(self, name: str) -> list[str]:
        if name in self.files:
            return [name]
        if match := _KERNELBENCH_NAME.fullmatch(name):
            counted = int(match["level"]), int(match["number"])
            return [title for title in self.files if _counted(title) == counted]
        return [title for title in self.files if title.rpartition("/")[2] == name or _numbered(title, name)]

    def _unknown(self, name: str) -> str:
        start = f"There is no problem {name!r} in {self.root}"
        if name.endswith(".py"):
            start = f"There is no file {name}, and no problem of that name in {self.root}"
        names = {title.rpartition("/")[2].lower(): title for title in self.files} | {t.lower(): t for t in self.files}
        close = difflib.get_close_matches(name.lower().removesuffix(".py"), names, n=3, cutoff=0.6)
        if close:
            return f"{start}; did you mean {_listed(list(dict.fromkeys(names[one] for one in close)))}?"
        held = f"{start}; it holds {len(self.files)}, from {next(iter(self.files))} to {next(reversed(self.files))}"
        if self.root == shipped("problems"):
            return f"{held}. KernelBench's 270 are brought by `harness problems fetch`, or named by --problems DIR."
        return f"{held}."


def open_catalog(path: Path | None = None) -> Catalog:
    """Open a folder of problems, a KernelBench checkout, one problem file, or a data set.

    A data set is a parquet file or a folder of them, whose rows are laid out in the cache, or a name on the Hugging
    Face hub ("ScalingIntelligence/KernelBench") that `fetch` has brought here before: nothing is downloaded.

    None means the problems of where one is: `problems/` or a checkout's `KernelBench/` in the working directory or a
    folder above it, else those that come along with this package. Raises InputError where there is
    nothing, and names what was expected.
    """
    if path is None:
        return _own_catalog()
    if path.is_file() and path.suffix != ".parquet":
        return Catalog(root=path, files={encodable(path.stem): path})
    if not path.exists():
        if not is_hub_name(str(path)):
            raise InputError(f"There are no problems at {path}: it does not exist.")
        path = fetched(str(path))
    for place in _PLACES:
        files = _with_levels(path / place)
        if files:
            return Catalog(root=path / place, files=files)
    files = _problem_files(path)
    if files:
        return Catalog(root=path, files=files)
    if parquet := parquet_files(path):
        return Catalog(root=path, files=_with_levels(unpacked(parquet)))
    raise InputError(
        f"{path} holds no problems: they lie in it or one folder below, as in level1/19_ReLU.py; a checkout of "
        "KernelBench or its data set's parquet files will do."
    )


def read_problem(path: Path) -> Problem:
    """Read and check one problem file that belongs to no set. Raises ProblemError."""
    return check(_read(path, path.stem))


def text_problem(source: str, *, name: str = "problem") -> Problem:
    """A problem of no set, given as text. Raises ProblemError where it is none."""
    return check(Problem(set="", name=name, sha256=hashlib.sha256(source.encode()).hexdigest(), source=source))


def check(problem: Problem) -> Problem:
    """Return `problem` if its module defines what a problem must; the code is not run. Raises ProblemError."""
    defined = {name for statement in parse(problem).body for name in _names(statement)}
    form = FORMATS[problem.format]
    if missing := form.lacking(defined):
        raise ProblemError(
            f"The problem {problem.title} defines no {' and no '.join(missing)}: a problem file needs a class "
            f"{form.reference} and the functions {form.inputs}() and {form.arguments}()."
        )
    return problem


def _names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name for alias in aliases]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def _own_catalog() -> Catalog:
    here = Path.cwd()
    places = [folder / place for folder in (here, *here.parents) for place in _OWN_PLACES]
    if own := shipped("problems"):
        places.append(own)
    for place in places:
        files = _with_levels(place)
        if files:
            return Catalog(root=place, files=files)
    raise InputError(
        "No folder of problems was found from here: name one with --problems DIR, or bring KernelBench's by "
        "`harness problems fetch`."
    )


def _with_levels(root: Path) -> dict[str, Path]:
    """The problems of a folder that keeps its sets in `level1`, `level2`, ...; empty where it does not.

    Other folders beside those count by file, where it defines `Model`: they may be sets of the user's own, or the
    source and scripts of a checkout.
    """
    if not root.is_dir() or not any(_LEVEL.fullmatch(child.name) and child.is_dir() for child in root.iterdir()):
        return {}
    return {
        title: path
        for title, path in _problem_files(root).items()
        if _LEVEL.fullmatch(title.partition("/")[0]) or _mentions_model(path)
    }


def _mentions_model(path: Path) -> bool:
    try:
        return _MODEL.search(_content(path)) is not None
    except (OSError, ProblemError):  # not readable, so nothing that the user meant to run
        return False


def _problem_files(root: Path) -> dict[str, Path]:
    """Every Python file in `root` and one folder below by title, in natural order; `_` and `.` hide a file."""
    found = {}
    for path in (*root.glob("*.py"), *root.glob("*/*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if path.is_file() and not any(part.startswith(("_", ".")) for part in parts):
            found[encodable("/".join(parts))] = path
    return dict(sorted(found.items(), key=lambda item: _natural(item[0])))


def _natural(title: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """Sort level2 before level10 and 9_ before 10_; the title itself breaks ties."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", title)
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts), title


def _counted(title: str) -> tuple[int, int] | None:
    """The level and number that KernelBench knows a problem by; None for a title without them."""
    folder, _, name = title.rpartition("/")
    level, number = _LEVEL.fullmatch(folder), _NUMBER.match(name)
    return (int(level["level"]), int(number["number"])) if level and number else None


def _numbered(title: str, name: str) -> bool:
    """Whether `name` is the bare number of the problem ("19", "level1/19")."""
    folder, _, stem = title.rpartition("/")
    wanted_folder, _, wanted = name.rpartition("/")
    return wanted.isdecimal() and stem.startswith(f"{wanted}_") and wanted_folder in ("", folder)


def _is_numbered_within(title: str, folder: str | None, first: int, last: int) -> bool:
    own_folder, _, name = title.rpartition("/")
    number = _NUMBER.match(name)
    return number is not None and first <= int(number["number"]) <= last and folder in (None, own_folder)


def _as_path(name: str) -> Path | None:
    """`name` as the path of a file, where it can only mean one or such a file is there."""
    if name.startswith(("./", "../", "/", "~")):
        return Path(name).expanduser()
    path = Path(name)
    return path if name.endswith(".py") and path.is_file() else None


def _read(path: Path, title: str) -> Problem:
    try:
        data = _content(path)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise ProblemError(f"There is no problem file {path}; check the path.") from None
    except UnicodeDecodeError as error:
        raise ProblemError(f"The problem file {path} is not UTF-8 text; save it as UTF-8.") from error
    except OSError as error:
        raise ProblemError(f"The problem file {path} cannot be read: {error.strerror or error}.") from error
    source = text.replace("\r\n", "\n").replace("\r", "\n")
    folder, _, name = title.rpartition("/")
    return Problem(set=folder, name=name, sha256=hashlib.sha256(data).hexdigest(), source=source)


def _content(path: Path) -> bytes:
    """Raises ProblemError for a pipe or a device, which may never end, and for more than MOST_BYTES, OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb", closefd=True) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ProblemError(f"The problem file {path} is no regular file: a problem is a file of text.")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ProblemError(f"The problem file {path} is larger than the {MOST_BYTES >> 20} MiB that one may have.")
    return data


def _listed(titles: list[str]) -> str:
    shown = ", ".join(titles[:5])
    return f"{shown} and {len(titles) - 5} more" if len(titles) > 5 else " or ".join(titles)
