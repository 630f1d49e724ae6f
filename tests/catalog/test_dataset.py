"""KernelBench as a data set: parquet files here, the hub once it was fetched, and never the network by itself."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from harness.catalog import KERNELBENCH, fetch, open_catalog
from harness.catalog import dataset as dataset_module
from harness.errors import InputError

PROBLEM = "class Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
LEVELS = {1: 100, 2: 100, 3: 50, 4: 20}

Row = dict[str, Any]


def rows(levels: dict[int, int]) -> list[Row]:
    return [
        {"code": f"# {level}.{number}\n{PROBLEM}", "level": level, "name": f"{number}_Name-x_", "problem_id": number}
        for level, count in levels.items()
        for number in range(1, count + 1)
    ]


def write(path: Path, found: Iterable[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(list(found)), path)
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernel-harness" / "problems"


@pytest.fixture
def downloaded(tmp_path: Path) -> Path:
    """What a download of the whole data set looks like: one parquet file a level below `data/`."""
    for level, count in LEVELS.items():
        write(tmp_path / f"copy/data/level_{level}-00000-of-00001.parquet", rows({level: count}))
    (tmp_path / "copy/README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n"
        + "".join(f"  - split: level_{level}\n    path: data/level_{level}-*\n" for level in LEVELS)
        + "---\n"
    )
    return tmp_path / "copy"


def test_a_download_of_the_data_set_is_a_catalogue_of_all_four_levels(downloaded: Path) -> None:
    catalog = open_catalog(downloaded)
    assert len(catalog.files) == 270
    assert catalog.find("level_3_problem_50").title == "level3/50_Name-x_"
    assert catalog.find((4, 20)).source == f"# 4.20\n{PROBLEM}"
    assert list(catalog.files)[:2] == ["level1/1_Name-x_", "level1/2_Name-x_"]


def test_one_parquet_file_is_a_catalogue_and_is_laid_out_once(tmp_path: Path, cache: Path) -> None:
    file = write(tmp_path / "level_2.parquet", rows({2: 3}))
    first = open_catalog(file)
    assert first.find("2_Name-x_").title == "level2/2_Name-x_"
    (laid_out,) = cache.iterdir()
    assert first.files["level2/1_Name-x_"] == laid_out / "level2/1_Name-x_.py"
    before = laid_out.stat().st_ino
    assert open_catalog(file).files == first.files
    assert laid_out.stat().st_ino == before
    write(file, rows({2: 4}))
    assert len(open_catalog(file).files) == 4


def test_processes_that_lay_out_the_same_at_once_do_not_disturb_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "level_2.parquet", rows({2: 3}))
    read = dataset_module._parquet_rows

    def read_while_another_is_done(files: Iterable[Path]) -> Iterable[Row]:
        found = list(read(files))
        monkeypatch.setattr(dataset_module, "_parquet_rows", read)
        first.extend(path.stat().st_ino for path in open_catalog(file).files.values())
        return found

    first: list[int] = []
    monkeypatch.setattr(dataset_module, "_parquet_rows", read_while_another_is_done)
    assert [path.stat().st_ino for path in open_catalog(file).files.values()] == first


def test_a_name_on_the_hub_is_never_downloaded_by_the_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dataset_module, "_hub_rows", lambda name: pytest.fail("the hub was asked"))
    with pytest.raises(
        InputError, match=f"no data set of that name has been fetched: `harness problems fetch {KERNELBENCH}`"
    ):
        open_catalog(Path(KERNELBENCH))


def test_what_was_fetched_once_is_read_from_files_ever_after(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    answers = [rows({1: 2}), rows({1: 3})]
    monkeypatch.setattr(dataset_module, "_hub_rows", lambda name: answers.pop(0))
    assert fetch(KERNELBENCH) == cache / "ScalingIntelligence--KernelBench"
    assert len(open_catalog(Path(KERNELBENCH)).files) == 2
    assert len(answers) == 1
    fetch(KERNELBENCH)
    assert len(open_catalog(Path(KERNELBENCH)).files) == 3
    assert [path.name for path in cache.iterdir()] == ["ScalingIntelligence--KernelBench"]


def test_a_file_or_folder_of_that_name_is_no_name_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "lab/problems/level_1.parquet", rows({1: 2}))
    assert len(open_catalog(Path("lab/problems")).files) == 2


def test_the_library_of_the_hub_reads_the_splits(downloaded: Path) -> None:
    found = list(dataset_module._hub_rows(str(downloaded)))  # a folder in the hub's layout stands for its name
    assert [(row["level"], row["problem_id"]) for row in found] == [
        (level, number) for level, count in LEVELS.items() for number in range(1, count + 1)
    ]


def test_a_hub_out_of_reach_is_the_machines_fault_and_says_the_way_out(tmp_path: Path) -> None:
    code = f"from harness.catalog import fetch; fetch({KERNELBENCH!r})"
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert "MachineError: ScalingIntelligence/KernelBench cannot be fetched" in ended.stderr
    assert "bring its parquet files here" in ended.stderr


@pytest.mark.network
def test_the_hub_has_all_270_problems() -> None:
    try:
        socket.getaddrinfo("huggingface.co", 443)
    except OSError:
        pytest.skip("the hub is out of reach")
    catalog = open_catalog(fetch(KERNELBENCH))
    assert len(catalog.files) == 270
    assert catalog.find("level_1_problem_19").title == "level1/19_ReLU"


def test_problems_are_laid_out_where_one_wants_them(downloaded: Path, tmp_path: Path) -> None:
    folder = fetch(str(downloaded), tmp_path / "mine/problems")
    assert folder == tmp_path / "mine/problems"
    assert (folder / "level4/20_Name-x_.py").read_text() == f"# 4.20\n{PROBLEM}"
    with pytest.raises(InputError, match="is not empty"):
        fetch(str(downloaded), folder)


def test_names_as_files_and_names_without_their_number_come_to_the_same(tmp_path: Path) -> None:
    found = rows({1: 2})
    found[0]["name"], found[1]["name"] = "1_ReLU.py", "Softmax"
    assert list(open_catalog(write(tmp_path / "a.parquet", found)).files) == ["level1/1_ReLU", "level1/2_Softmax"]


def test_code_is_kept_byte_for_byte(tmp_path: Path) -> None:
    found = rows({1: 1})
    found[0]["code"] = "# é\r\n" + PROBLEM
    catalog = open_catalog(write(tmp_path / "a.parquet", found))
    (path,) = catalog.files.values()
    assert path.read_bytes() == ("# é\r\n" + PROBLEM).encode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "../../../.bashrc"}, "no name for a problem's file"),
        ({"name": "1_a/b"}, "no name for a problem's file"),
        ({"name": "1_" + "x" * 300}, "no name for a problem's file"),
        ({"level": -1}, "no name for a problem's file"),
        ({"name": None}, "must be whole numbers"),
        ({"level": "one"}, "must be whole numbers"),
    ],
)
def test_a_row_that_cannot_be_a_file_is_refused_whole(tmp_path: Path, cache: Path, change: Row, words: str) -> None:
    file = write(tmp_path / "a.parquet", [rows({1: 1})[0] | change])
    with pytest.raises(InputError, match=words):
        open_catalog(file)
    assert not cache.exists() or not list(cache.iterdir())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: write(path, [{"code": PROBLEM, "level": 1}]), "has no column 'name': a data set of problems has"),
        (lambda path: write(path, rows({1: 2}) + rows({1: 1})), "two problems named level1/1_Name-x_"),
        (lambda path: parquet.write_table(pyarrow.Table.from_pylist(rows({1: 1}))[:0], path), "holds no problems"),
        (lambda path: path.write_bytes(b"PAR1 and nothing"), "is not a parquet file that can be read"),
    ],
)
def test_a_parquet_file_that_cannot_be_used_says_why(
    tmp_path: Path, make: Callable[[Path], object], words: str
) -> None:
    make(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=words) as caught:
        open_catalog(tmp_path / "a.parquet")
    assert "a.parquet" in str(caught.value)


def test_a_source_that_is_nothing_says_what_one_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no parquet file, no folder of them and no name on the Hugging Face hub"):
        fetch(str(tmp_path))
    with pytest.raises(InputError, match="does not exist"):
        open_catalog(tmp_path / "nothing.parquet")


def test_without_the_libraries_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"pip install 'kernel-harness\[datasets\]'"):
        open_catalog(write(tmp_path / "a.parquet", rows({1: 1})))
    with pytest.raises(InputError, match=r"pip install 'kernel-harness\[datasets\]'"):
        fetch(KERNELBENCH)
