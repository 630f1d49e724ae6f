"""The house is as docs/architecture.md draws it: who may import what, and that every test is run."""

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
HARNESS = REPOSITORY / "harness"
ROOMS = sorted(path.stem for path in HARNESS.iterdir() if path.suffix == ".py" or any(path.glob("*.py")))
FACE = {"__init__", "__main__"}
"""The package's own face, which hands names on."""


def allowed() -> dict[str, set[str]]:
    """The table of docs/architecture.md: room to the rooms that it may import."""
    page = (REPOSITORY / "docs" / "architecture.md").read_text()
    head, _, table = page.partition("| room | may import")
    assert table, head[-200:]
    rows = [row.strip("|").split("|") for row in table.split("\n\n")[0].splitlines()[2:]]
    found: dict[str, set[str]] = {}
    for rooms, may in rows:
        for room in _names(rooms):
            assert room not in found, f"{room} has two rows"
            found[room] = set(_names(may))
    return found


def _names(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def imported(path: Path) -> Iterator[str]:
    """The rooms that a file imports, wherever in it it does so. The package's own face is open to all."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "harness" and not node.level:
            modules = [f"harness.{alias.name}" for alias in node.names if alias.name in ROOMS]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [node.module]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            if parts[0] == "harness" and len(parts) > 1:
                yield parts[1]


def files_of(room: str) -> list[Path]:
    single = HARNESS / f"{room}.py"
    return [single] if single.exists() else sorted((HARNESS / room).rglob("*.py"))


def test_every_folder_with_code_is_a_package() -> None:
    """Others would be left out of the wheel."""
    folders = {path.parent for path in HARNESS.rglob("*.py") if "templates" not in path.parts}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_room_has_a_row_and_every_row_a_room() -> None:
    assert sorted(allowed()) == [room for room in ROOMS if room not in FACE]


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in FACE])
def test_a_room_imports_no_more_than_its_row_allows(room: str) -> None:
    may = allowed()[room] | {room}
    wrong = {
        f"{path.relative_to(REPOSITORY)} imports {other}"
        for path in files_of(room)
        for other in imported(path)
        if other not in may
    }
    assert not wrong


def test_the_table_has_no_circle() -> None:
    left = allowed()
    while left:
        ground = {room for room, may in left.items() if not may & (left.keys() - {room})}
        assert ground, f"these import each other: {sorted(left)}"
        left = {room: may for room, may in left.items() if room not in ground}


def test_no_file_imports_itself_in_a_circle() -> None:
    """Late imports count, but not what types alone need, nor the package's own face, which imports when it is asked."""
    files = {module_of(path): path for path in HARNESS.rglob("*.py") if "templates" not in path.parts}
    imports = {module: modules_of(path, files.keys()) - {"harness", module} for module, path in files.items()}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def module_of(path: Path) -> str:
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules_of(path: Path, known: Collection[str]) -> set[str]:
    """The modules of the package that a file may import; what it takes of a folder by a file's name is that file."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in known else node.module for name in inner}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & set(known)


@pytest.mark.parametrize("root", ["emulate/include", "compile/slim/include"])
def test_no_header_includes_itself_in_a_circle(root: str) -> None:
    headers = {path for path in (HARNESS / root).rglob("*") if path.is_file()}
    includes = {header: set(_included(header, HARNESS / root)) & headers for header in headers}
    assert any(includes.values())
    while includes:
        ground = {header for header, inside in includes.items() if not inside & (includes.keys() - {header})}
        assert ground, f"these include each other: {sorted(map(str, includes))}"
        includes = {header: inside for header, inside in includes.items() if header not in ground}


def _included(header: Path, root: Path) -> Iterator[Path]:
    for quoted, name in re.findall(r'#\s*include\s*(["<])([^">]+)[">]', header.read_text()):
        beside = header.parent / name
        yield beside if quoted == '"' and beside.exists() else root / name


@pytest.mark.slow
def test_every_file_of_tests_is_collected(request: pytest.FixtureRequest) -> None:
    files = {str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "tests").rglob("test_*.py")}
    if {str(item.path.relative_to(REPOSITORY)) for item in request.session.items} == files:
        return  # this very run has collected all
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "-o", "addopts=-q --import-mode=importlib", "--collect-only"],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=250, check=False,
    )  # fmt: skip
    assert listed.returncode == 0, listed.stdout[-2000:] + listed.stderr[-2000:]
    collected = {line.partition("::")[0] for line in listed.stdout.splitlines() if "::" in line}
    assert collected == files


LONGEST = 60
LONGER = {
    "cli/batch.py: batch": "its options stand one a line, and its imports within it, so that the help starts fast",
    "cli/run.py: run": "the same",
}
"""Functions of more than LONGEST lines, with the reason."""


def test_no_function_is_longer_than_a_page_but_those_with_a_reason() -> None:
    long = {
        f"{path.relative_to(HARNESS)}: {node.name}"
        for path in HARNESS.rglob("*.py")
        if "templates" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= LONGEST
    }
    assert long == set(LONGER)
