"""Scripts of benchmarks/ are run by hand and seldom: that they start is held here, what they call is held by mypy."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
FILES = sorted(BENCHMARKS.glob("*.py"))
SCRIPTS = [path for path in FILES if '__name__ == "__main__"' in path.read_text()]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
INLINE = re.compile(r"`(?:python )?(?:benchmarks/)?(\w+)\.py ([^`]*)`")
LINE = re.compile(r"^ +(?:\$ )?python benchmarks/(\w+)\.py(.*?)(?:  |$)", re.MULTILINE)
NAMED = re.compile(r"(?<![\w/])benchmarks/[\w./*-]*\w")

ASKS_ALL = """
import contextlib, io, json, runpy, sys, traceback

found = {}
sys.path[0] = sys.argv[1]
for path in sys.argv[2:]:
    sys.argv, said, ended = [path, "--help"], io.StringIO(), None
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        ended = end.code
    except BaseException:
        ended = traceback.format_exc()
    found[path] = ended, said.getvalue()
print(json.dumps(found))
"""
"""All in one process, so that what they share is imported once: how each ended, if by itself, and what it printed."""


@pytest.fixture(scope="module")
def helps() -> dict[str, str]:
    """What each script answers to `--help`."""
    command = [sys.executable, "-c", ASKS_ALL, str(BENCHMARKS), *map(str, FILES)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert run.returncode == 0, run.stderr
    found = {Path(path): answer for path, answer in json.loads(run.stdout).items()}
    assert {path.name: ended for path, (ended, _) in found.items() if ended} == {}
    assert {path.stem for path, (ended, _) in found.items() if ended == 0} == {path.stem for path in SCRIPTS}
    return {path.stem: said for path, (_, said) in found.items() if said}


def options(said: str) -> set[str]:
    """Those of a help, without those that stand in its description."""
    return set(OPTION.findall(said.rpartition("\noptions:\n")[2]))


@pytest.mark.parametrize("script", [path.stem for path in SCRIPTS])
def test_a_script_answers_with_what_it_is_for_and_its_options(helps: dict[str, str], script: str) -> None:
    first = (ast.get_docstring(ast.parse((BENCHMARKS / f"{script}.py").read_text())) or "").splitlines()[0]
    assert first
    assert first in helps[script]
    assert "--help" in options(helps[script])


@pytest.mark.parametrize("page", [*PAGES, *SCRIPTS], ids=lambda path: path.name)
def test_what_a_page_or_a_script_says_to_type_has_options_that_are_there(helps: dict[str, str], page: Path) -> None:
    text = page.read_text() if page.suffix == ".md" else ast.get_docstring(ast.parse(page.read_text())) or ""
    for script, arguments in [*INLINE.findall(text), *LINE.findall(text)]:
        if script in helps:
            assert set(OPTION.findall(arguments)) <= options(helps[script]), f"{script}.py {arguments}"
        else:
            assert not (page.suffix == ".py" and LINE.search(text)), f"{script}.py is no script of benchmarks/"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_in_benchmarks_is_there(page: Path) -> None:
    assert [name for name in NAMED.findall(page.read_text()) if not any(ROOT.glob(name))] == []


def of_others(path: Path) -> Iterator[str]:
    """The private names of something else than itself that a file uses."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and re.match(r"_(?!_)", node.attr):
            whose = ast.unparse(node.value)
            if whose not in ("self", "cls", "os"):  # `os._exit` is how a fork ends
                yield f"{whose}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("harness"):
            yield from (f"{node.module}.{name.name}" for name in node.names if re.match(r"_(?!_)", name.name))


def test_what_measures_the_harness_or_shows_it_uses_no_private_name_of_it() -> None:
    """One that is gone would be noticed on the day of the measurement."""
    paths = [path for folder in (BENCHMARKS, ROOT / "examples") for path in folder.rglob("*.py")]
    ours = [path for path in paths if re.search(r"^\s*(from|import) harness\b", path.read_text(), re.MULTILINE)]
    assert len(ours) > len(SCRIPTS) / 2
    assert {str(path.relative_to(ROOT)): found for path in ours if (found := list(of_others(path)))} == {}


def test_what_a_mutant_changes_stands_in_its_file_once() -> None:
    spec = importlib.util.spec_from_file_location("mutants", BENCHMARKS / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    mutants = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = mutants  # where a dataclass looks for its own module
    spec.loader.exec_module(mutants)
    for mutant in mutants.MUTANTS:
        assert (ROOT / "harness" / mutant.file).read_text().count(mutant.old) == 1, mutant.name
        assert all((ROOT / test).exists() for test in mutant.tests.split()), mutant.name


@pytest.mark.parametrize("name", ["honest, 16 us, drifting host", "honest, 16 us, drifting host, quick"])
def test_the_made_up_clock_has_all_that_the_judges_turns_ask_of_one(name):
    """It stood still for a day: the judge asked its sides for something that mypy does not see."""
    command = [sys.executable, str(BENCHMARKS / "simulated_clock.py"), "-n", "1", "--only", name]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert name in ran.stdout
