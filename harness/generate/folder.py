"""Where answers lie: below a run, a folder for each model, and two files for each answer.

    runs/<run>/generations/<model>/
      settings.json                        what decided the prompts and the sampling
      level1/19_ReLU/sample_0.txt          the submission: the answer as it came
      level1/19_ReLU/sample_0.json         a `Generation`: request, response, usage, attempts, hashes
      level1/19_ReLU/sample_0_turn_1.txt   the answer to the verdict on the one before

`harness batch runs/<run>/generations --run <run>` judges them. The .json is written first and holds the text too, so
that whatever was killed in between is mended from it.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from pydantic import ValidationError

from harness.errors import StoreError
from harness.schema import Problem, Submission
from harness.schema.generation import Generation, GenerationSettings
from harness.store.files import disk_faults, make_folder, require_own_folders, sole_writer, whole_file, write_atomically

_SETTINGS, _LOCK = "settings.json", ".lock"
_NAME = re.compile(r"sample_\d+(_turn_[1-9]\d*)?\.json")

Key = tuple[str, int, int]


class GenerationFolder:
    """The answers of one model in one run. Made by `open_generations`; `keep` may be called from several threads."""

    def __init__(self, root: Path, settings: GenerationSettings) -> None:
        self.root, self.settings = root, settings
        self._model = encoded(settings.model)

    def generations(self) -> Iterator[Generation]:
        """Every answer that is kept, by path. Raises StoreError for a file that cannot be read as one, and for a link,
        a pipe or a device in its place.
        """
        for path in sorted((self.root / self._model).rglob("*.json")):  # which goes into no folder behind a link
            if _NAME.fullmatch(path.name):
                yield _read(path)

    def keep(self, generation: Generation) -> None:
        """Write an answer down. When this returns it is on the disk. Raises StoreError or MachineError."""
        text = self.root / self.path(generation)
        self._require_own(text)
        with disk_faults(text.parent):
            make_folder(text.parent)
        write_atomically(text.with_suffix(".json"), generation.model_dump_json(indent=1).encode() + b"\n")
        write_atomically(text, generation.text.encode())

    def _require_own(self, path: Path) -> None:
        """Raises StoreError where a link leads from the folder of all answers to this file."""
        below = path.relative_to(self.root).parents  # itself last
        require_own_folders(*(self.root / folder for folder in below))

    def mend(self) -> dict[Key, Generation]:
        """All answers by key, after the texts that a death in the middle of `keep` left unwritten are written.

        Their responses stay on the disk: with all its thoughts one may be long, and a run holds thousands.
        """
        kept = {}
        for generation in self.generations():
            kept[generation.key] = without_response(generation)
            text = self.root / self.path(generation)
            if not text.exists():
                self._require_own(text)
                write_atomically(text, generation.text.encode())
        return kept

    def path(self, generation: Generation) -> PurePosixPath:
        """Where the submission lies, relative to `root`."""
        turn = f"_turn_{generation.turn}" if generation.turn else ""
        folders = (encoded(part) for part in generation.problem.split("/"))
        return PurePosixPath(self._model, *folders, f"sample_{generation.sample}{turn}.txt")

    def submission(self, generation: Generation) -> Submission:
        """The answer as something to judge, the same as reading the folder gives."""
        return generation.submission(str(self.path(generation)))

    def check(self, problem: Problem, generation: Generation) -> None:
        """Raises StoreError where the problem is no longer the one that this answers."""
        if generation.problem_sha256 != problem.sha256:
            raise StoreError(
                f"{self.root / self.path(generation)} answers {problem.title} as it was before it was changed: choose "
                "another run name"
            )


@contextmanager
def open_generations(root: Path, settings: GenerationSettings) -> Iterator[GenerationFolder]:
    """The answers of `settings.model` below `root`, made or resumed, with this process as their only writer.

    Raises StoreError where another process writes them, or where they were asked for with other settings.
    """
    folder = root / encoded(settings.model)
    require_own_folders(root, folder)
    with disk_faults(folder):
        make_folder(folder)
    with sole_writer(folder / _LOCK):
        path = folder / _SETTINGS
        content = settings.model_dump_json(indent=1).encode() + b"\n"
        if not write_atomically(path, content, keep_existing=True):
            _check_settings(path, settings)
        yield GenerationFolder(root, settings)


def _check_settings(path: Path, settings: GenerationSettings) -> None:
    try:
        there = GenerationSettings.model_validate_json(whole_file(path))
    except ValidationError as error:
        raise StoreError(f"{path} is not what this harness wrote there: restore it, or choose another run") from error
    mine, theirs = settings.model_dump(), there.model_dump()
    conflicts = [
        f"{name} is {theirs[name]!r} there and {mine[name]!r} here" for name in mine if mine[name] != theirs[name]
    ]
    if conflicts:
        raise StoreError(f"{path.parent} was asked for otherwise: {'; '.join(conflicts)}. Choose another run name")


def _read(path: Path) -> Generation:
    """Raises StoreError for a file that is no generation."""
    try:
        return Generation.model_validate_json(whole_file(path))
    except ValidationError as error:
        raise StoreError(f"{path} is not what this harness wrote there: restore it, or remove it") from error


def without_response(generation: Generation) -> Generation:
    """An answer with all that the next question needs."""
    return generation.model_copy(update={"response": {}})


def encoded(name: str) -> str:
    """`name` as the name of one folder: readable, no two alike, and never hidden or a way up."""
    quoted = quote(name, safe=" +,=@()[]{}~!$&'")
    hidden = quoted.startswith((".", "__"))  # a batch passes over such folders
    return f"%{ord(quoted[0]):02X}{quoted[1:]}" if hidden else quoted
