import os
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.intake import extract, neighbours, read_folder, read_submission
from harness.intake.neighbours import MAX_BYTES, MAX_FILES, with_neighbours

CANDIDATE = '''"""A kernel beside."""
from __future__ import annotations

import torch
from torch.utils.cpp_extension import load

extension = load(name="relu", sources=["relu.cu"])


class ModelNew(torch.nn.Module):
    pass
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CANDIDATE)
    (tmp_path / "relu.cu").write_text('#include "parts/tile.cuh"\n// "quoted" \\ kernel\n')
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/tile.cuh").write_text("// tile\n")
    (tmp_path / "other.cu").write_text("// nobody's\n")
    return tmp_path


def run(text: str, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where.mkdir()
    monkeypatch.chdir(where)
    (bringing,) = (line for line in text.splitlines() if "write_text" in line)
    exec(bringing.removesuffix("import torch"))


def test_the_sources_that_a_file_names_and_what_they_include_are_brought_along(folder, monkeypatch):
    text = read_submission(folder / "mine.py").text
    run(text, folder / "elsewhere", monkeypatch)
    assert Path("relu.cu").read_text() == (folder / "relu.cu").read_text()
    assert Path("parts/tile.cuh").read_text() == "// tile\n"
    assert sorted(os.listdir()) == ["parts", "relu.cu"]


def test_lines_keep_their_numbers_and_the_file_is_still_a_candidate(folder):
    submission = read_submission(folder / "mine.py")
    assert [line.rpartition("; ")[2] for line in submission.text.splitlines()] == CANDIDATE.splitlines()
    assert extract(submission).outcome.source == submission.text


@pytest.mark.parametrize("separator", ["\f", "\v", "\x1c", "\x85", "\u2028"])
def test_lines_are_those_of_python(folder: Path, separator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `str.splitlines` takes for the end of a line put the statement into the text above."""
    text = with_neighbours(CANDIDATE.replace("A kernel", f"A{separator * 3}kernel"), folder)
    run(text, folder / "elsewhere", monkeypatch)
    assert f"A{separator * 3}kernel beside" in text
    assert Path("relu.cu").read_text() == (folder / "relu.cu").read_text()


def test_a_statement_behind_the_docstring_on_its_last_line_has_the_sources_before_it(folder: Path) -> None:
    text = CANDIDATE.replace("from __future__ import annotations\n\n", "").replace('beside."""\n', 'bésides\n"""; ')
    brought = with_neighbours(text, folder)
    assert '\nbésides\n"""; [' in brought.replace("A kernel ", "\n")
    assert brought.count("\n") == text.count("\n")
    compile(brought, "mine.py", "exec")


@pytest.mark.parametrize(
    "sources",
    [
        '[os.path.join(os.path.dirname(__file__), "csrc", "deep", "sum.cu")]',
        '[str(Path(__file__).parent / "csrc" / "deep" / "sum.cu")]',
        '[str(Path(__file__).parent / "csrc/deep" / "sum.cu")]',
        '[f"{here}/csrc/deep/sum.cu"]',
        '[here + "/csrc/deep/sum.cu"]',
        '["./csrc/deep/sum.cu"]',
        'glob.glob("csrc/deep/*.cu")',
        'Path(__file__).parent.joinpath("csrc", "deep").glob("*.cu")',
    ],
)
def test_a_path_may_be_written_in_parts_or_as_a_pattern(folder, sources, monkeypatch):
    (folder / "csrc/deep").mkdir(parents=True)
    (folder / "csrc/deep/sum.cu").write_text('#include "../part.cuh"\n// a sum\n')
    (folder / "csrc/part.cuh").write_text("// part\n")
    run(with_neighbours(CANDIDATE.replace('["relu.cu"]', sources), folder), folder / "elsewhere", monkeypatch)
    assert Path("csrc/deep/sum.cu").read_text() == (folder / "csrc/deep/sum.cu").read_text()
    assert Path("csrc/part.cuh").read_text() == "// part\n"


def test_an_edit_of_a_neighbour_is_another_submission(folder):
    before = read_submission(folder / "mine.py").sha256
    (folder / "relu.cu").write_text("// edited\n")
    assert read_submission(folder / "mine.py").sha256 != before


def test_in_a_folder_of_answers_nobody_reads_what_lies_beside(folder):
    assert all("write_text" not in each.text for each in read_folder(folder))


@pytest.mark.parametrize("name", ["../secret.cu", "/etc/hosts.h", "link.cu", "../*.cu"])
def test_nothing_outside_of_the_folder_is_read(folder, name):
    (folder.parent / "secret.cu").write_text("secret")
    (folder / "link.cu").symlink_to(folder.parent / "secret.cu")
    text = CANDIDATE.replace("relu.cu", name)
    assert with_neighbours(text, folder) == text


def test_sources_that_are_too_large_are_refused(folder):
    (folder / "relu.cu").write_text("x" * (MAX_BYTES + 1))
    with pytest.raises(InputError, match="more than 4 MiB"):
        with_neighbours(CANDIDATE, folder)


def test_as_many_files_as_nobody_writes_by_hand_are_refused(folder):
    for number in range(MAX_FILES + 1):
        (folder / f"parts/{number}.cu").touch()
    with pytest.raises(InputError, match=f"more than {MAX_FILES} files"):
        with_neighbours(CANDIDATE.replace("relu.cu", "parts/*.cu"), folder)


@pytest.mark.parametrize("pattern", ["**/*.cu", "/".join(["**"] * 20) + "/*.cu", "**/*a*a*a*a*a*a*a*a*a*a*a*b.cu"])
def test_a_pattern_is_followed_so_far_and_no_further(folder, monkeypatch, pattern):
    """One that a model wrote, in whatever folder a person has put its answer."""
    for number in range(300):
        (folder / "parts" / f"{'a' * 200}{number}").mkdir()
    text = CANDIDATE.replace("relu.cu", pattern)
    assert "write_text" in with_neighbours(text, folder) or "b.cu" in pattern
    monkeypatch.setattr(neighbours, "MAX_LOOKS", 200)
    with pytest.raises(InputError, match="than are followed"):
        with_neighbours(text, folder)


def test_a_pattern_of_folders_follows_no_link(folder):
    (folder / "parts/again").symlink_to(folder)
    (folder / "parts/root").symlink_to("/")
    assert "hosts" not in with_neighbours(CANDIDATE.replace("relu.cu", "**/*.cu"), folder)


def test_more_names_than_are_looked_for_are_refused(folder):
    names = ", ".join(f'"{number}.cu"' for number in range(neighbours.MAX_LOOKS))
    with pytest.raises(InputError, match="than are followed"):
        with_neighbours(CANDIDATE.replace('"relu.cu"', names), folder)


def test_a_pipe_beside_is_no_source(folder):
    (folder / "relu.cu").unlink()
    os.mkfifo(folder / "relu.cu")
    assert with_neighbours(CANDIDATE, folder) == CANDIDATE


def test_text_that_is_no_python_is_left_alone(folder):
    assert with_neighbours('load("relu.cu"', folder) == 'load("relu.cu"'


def test_a_string_too_long_for_the_name_of_a_file_names_none(tmp_path: Path) -> None:
    long = "é" * 200
    text = f'"""{long}"""\nNAME = "{long}.cuh"\nPATTERN = "{long}/*.cu"\n'
    assert with_neighbours(text, tmp_path) == text
