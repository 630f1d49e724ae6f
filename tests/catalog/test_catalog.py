"""Problems are found by every name that people use, in every folder that keeps them."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.catalog import open_catalog, read_problem
from harness.errors import InputError, ProblemError

ROOT = Path(__file__).parents[2]
PROBLEM = "class Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"


def write(root: Path, *names: str, text: str = PROBLEM) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path / "set", "level1/19_ReLU.py", "level1/2_Standard.py", "level1/100_Hinge.py", "level2/19_Conv.py",
        "level10/1_Last.py", "level2/3_Twice.py", "level1/3_Twice.py", "level1/__init__.py", "level1/notes.txt",
    )  # fmt: skip


def test_problems_come_by_level_and_then_by_number(folder: Path) -> None:
    assert [problem.title for problem in open_catalog(folder).problems()] == [
        "level1/2_Standard", "level1/3_Twice", "level1/19_ReLU", "level1/100_Hinge", "level2/3_Twice",
        "level2/19_Conv", "level10/1_Last",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "19_ReLU", "19_ReLU.py", "level1/19_ReLU", "level1/19_ReLU.py", "level_1_problem_19", "level1/19", (1, 19),
        " 19_ReLU ",
    ],
)  # fmt: skip
def test_one_problem_has_many_names(folder: Path, name: str | tuple[int, int]) -> None:
    problem = open_catalog(folder).find(name)
    assert (problem.set, problem.name) == ("level1", "19_ReLU")
    assert problem.sha256 == hashlib.sha256(PROBLEM.encode()).hexdigest()


def test_the_path_of_a_problem_is_a_name_for_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = open_catalog(folder)
    assert catalog.find(str(folder / "level1" / "19_ReLU.py")).title == "level1/19_ReLU"
    monkeypatch.chdir(folder / "level2")
    assert catalog.find("19_Conv.py").title == "level2/19_Conv"
    assert catalog.find("../level1/19_ReLU.py").title == "level1/19_ReLU"


def test_a_file_of_no_catalogue_is_a_problem_without_a_set(folder: Path, tmp_path: Path) -> None:
    write(tmp_path, "mine.py")
    problem = open_catalog(folder).find(str(tmp_path / "mine.py"))
    assert (problem.set, problem.name, problem.title) == ("", "mine", "mine")
    assert read_problem(tmp_path / "mine.py") == problem


def test_a_problem_in_files_of_stray_bytes_is_found_by_these_and_by_a_records_name(folder: Path) -> None:
    write(folder, "level3/1_Text.py", os.fsdecode(b"s\xff/1_\xfe.py"), text=f"import torch\n{PROBLEM}")
    catalog = open_catalog(folder)
    for name in (os.fsdecode(b"s\xff/1_\xfe"), "s\\udcff/1_\\udcfe", os.fsdecode(b"1_\xfe")):
        assert catalog.named(name).title == "s\\udcff/1_\\udcfe"
    assert [one.name for one in catalog.only([os.fsdecode(b"s\xff")])] == ["1_\\udcfe"]


@pytest.mark.parametrize("name", ["19", "3_Twice"])
def test_a_name_that_means_several_problems_names_them(folder: Path, name: str) -> None:
    with pytest.raises(ProblemError, match=r"could be level1/.+ or level2/.+; name one"):
        open_catalog(folder).find(name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("19_Relu", "did you mean level1/19_ReLU"),
        ("level1/19_relu.py", "did you mean level1/19_ReLU"),
        ("level_1_problem_77", "no problem 'level_1_problem_77'"),
        ("qqq", "it holds 7, from level1/2_Standard to level10/1_Last"),
        ("", "no problem ''"),
        (f"level_{'1' * 5000}_problem_1", "no problem 'level_1111"),
        (f"level_1_problem_{'1' * 5000}", "no problem 'level_1_problem_1111"),
        ("./level1/nothing.py", "no problem file"),
    ],
)
def test_an_unknown_name_offers_what_is_close(folder: Path, name: str, words: str) -> None:
    with pytest.raises(ProblemError, match=words) as caught:
        open_catalog(folder).find(name)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("place", ["", "KernelBench", "KernelBench/KernelBench", "problems"])
def test_a_checkout_is_opened_at_its_top(tmp_path: Path, place: str) -> None:
    write(tmp_path / place, "level1/19_ReLU.py", "level2/76_Gemm_Add_ReLU.py")
    write(tmp_path, "setup.py", "src/eval.py", "scripts/run.py", text="import os\n")
    assert list(open_catalog(tmp_path).files) == ["level1/19_ReLU", "level2/76_Gemm_Add_ReLU"]


def test_sets_of_ones_own_stand_beside_the_levels(folder: Path) -> None:
    write(folder, "mine/softmax.py", "flat.py")
    titles = list(open_catalog(folder).files)
    assert {"mine/softmax", "flat", "level1/19_ReLU"} <= set(titles)


def test_a_flat_folder_and_a_single_file_are_catalogues(tmp_path: Path) -> None:
    write(tmp_path, "softmax.py", "mine/gelu.py", "_helper.py", ".hidden.py", ".git/hook.py", "deep/er/x.py")
    assert list(open_catalog(tmp_path).files) == ["mine/gelu", "softmax"]
    assert open_catalog(tmp_path).find("gelu").set == "mine"
    single = open_catalog(tmp_path / "softmax.py")
    assert (single.find("softmax").set, len(single.problems())) == ("", 1)


def test_one_unusable_file_does_not_hide_the_others(folder: Path) -> None:
    write(folder, "level1/20_Broken.py", text="class Model(:\n")
    catalog = open_catalog(folder)
    assert len(catalog.problems()) == 8
    assert catalog.find("19_ReLU").name == "19_ReLU"
    with pytest.raises(ProblemError, match="level1/20_Broken is not valid Python on line 1"):
        catalog.find("20_Broken")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def get_inputs(): pass\ndef get_init_inputs(): pass\n", "defines no Model:"),
        ("class Model: pass\n", "defines no get_inputs and no get_init_inputs:"),
        ("# class Model: pass\n", "defines no Model and no get_inputs and no get_init_inputs"),
        ("class Model: pass\n\0", "is not valid Python"),
        ("x = " + "-" * 100_000 + "1", "nested too deeply"),
        (f"x = 1{'+1' * 1400}\n", "nested too deeply"),
        (f"x = lambda: a{'.b' * 990}()\n", "nested too deeply"),
    ],
)
def test_a_file_that_is_no_problem_says_what_it_lacks(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path, "mine.py", text=text)
    with pytest.raises(ProblemError, match=words):
        read_problem(tmp_path / "mine.py")


def test_required_names_may_be_imported_or_assigned(tmp_path: Path) -> None:
    write(tmp_path, "mine.py", text="from a import Model\nget_inputs = list\nimport b as get_init_inputs\n")
    assert read_problem(tmp_path / "mine.py").name == "mine"


def test_line_ends_and_byte_order_marks_are_taken_off_but_hashed(tmp_path: Path) -> None:
    data = ("\ufeff" + PROBLEM.replace("\n", "\r\n")).encode()
    (tmp_path / "mine.py").write_bytes(data)
    problem = read_problem(tmp_path / "mine.py")
    assert problem.source == PROBLEM
    assert problem.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("kind", ["pipe", "device", "endless"])
def test_what_does_not_end_is_no_problem(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, "level1/19_ReLU.py") / "level1" / "20_Endless.py"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(8 << 40)
    with pytest.raises(ProblemError, match=r"20_Endless.py is (no regular file|larger than the 16 MiB)"):
        read_problem(path)
    catalog = open_catalog(tmp_path)
    assert catalog.find("19_ReLU").name == "19_ReLU"
    with pytest.raises(ProblemError):
        catalog.find(str(path))


def test_a_set_of_ones_own_may_hold_files_without_an_end(tmp_path: Path) -> None:
    write(tmp_path, "level1/19_ReLU.py", "mine/softmax.py")
    with (tmp_path / "mine" / "endless.py").open("wb") as file:
        file.truncate(8 << 40)
    os.mkfifo(tmp_path / "mine" / "pipe.py")
    os.mkfifo(tmp_path / "pipe.parquet")
    assert list(open_catalog(tmp_path).files) == ["level1/19_ReLU", "mine/softmax"]


def test_a_problem_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_bytes(b"# \xff\n" + PROBLEM.encode())
    with pytest.raises(ProblemError, match="not UTF-8"):
        read_problem(tmp_path / "mine.py")


def test_a_place_without_problems_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_catalog(tmp_path / "nothing")
    with pytest.raises(InputError, match="holds no problems"):
        open_catalog(tmp_path)


def test_our_own_problems_are_found_from_inside_and_from_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (ROOT / "tests" / "catalog", tmp_path):
        monkeypatch.chdir(place)
        assert open_catalog().find("19_ReLU").title == "level1/19_ReLU"


def test_problems_of_the_working_directory_come_before_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "problems", "level7/1_Mine.py")
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    assert list(open_catalog().files) == ["level7/1_Mine"]


def test_reading_problems_and_submissions_never_imports_torch() -> None:
    code = (
        "import sys, harness.catalog, harness.intake; harness.catalog.open_catalog().problems(); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


@pytest.mark.parametrize("form", ["{path}", "./19_ReLU.py", "level1/../level1/19_ReLU.py", "~/19_ReLU.py"])
def test_what_is_only_looked_up_by_name_is_never_opened_as_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    path = tmp_path / "level1/19_ReLU.py"
    path.parent.mkdir()
    source = "class Model: ...\n\n\ndef get_inputs(): ...\n\n\ndef get_init_inputs(): ...\n"
    path.write_text(source)
    monkeypatch.chdir(path.parent)
    catalog = open_catalog(tmp_path)
    assert catalog.named("19_ReLU").title == "level1/19_ReLU"
    with pytest.raises(ProblemError, match="There is no"):
        catalog.named(form.format(path=path))
