"""Submissions on disk: names, tables, and what cannot be used."""

import hashlib
import os
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.intake import read_folder, read_submission
from harness.schema import Submission

WHOLE = "class ModelNew:\n    pass\n"


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(WHOLE)


def table(folder: Path, text: str) -> None:
    (folder / "generations.csv").write_text(text)


def told(submissions: list[Submission]) -> list[tuple[str, str | None, int, str]]:
    return [(one.path, one.problem, one.sample, one.model) for one in submissions]


@pytest.mark.parametrize(
    ("path", "problem", "sample", "model"),
    [
        ("level_1_problem_19_sample_0_kernel.py", "level_1_problem_19", 0, ""),
        ("level_2_problem_7_sample_12.txt", "level_2_problem_7", 12, ""),
        ("gpt-x/level_1_problem_19_sample_3_kernel.md", "level_1_problem_19", 3, "gpt-x"),
        ("lab/gpt-x/level_1_problem_19_sample_3_kernel.md", "level_1_problem_19", 3, "lab/gpt-x"),
        ("19_ReLU.txt", "19_ReLU", 0, ""),
        ("27_SELU_.py", "27_SELU_", 0, ""),
        ("19_ReLU_sample_4.py", "19_ReLU", 4, ""),
        ("level1/19_ReLU.md", "level1/19_ReLU", 0, ""),
        ("gpt-x/level1/19_ReLU.md", "level1/19_ReLU", 0, "gpt-x"),
        ("19_ReLU/sample_2.txt", "19_ReLU", 2, ""),
        ("19_ReLU/attempt.txt", "19_ReLU", 0, ""),
        ("level1/19_ReLU/0.py", "level1/19_ReLU", 0, ""),
        ("gpt-x/level1/19_ReLU/response-7.py", "level1/19_ReLU", 7, "gpt-x"),
        ("level_1_problem_19/1.py", "level_1_problem_19", 1, ""),
        ("softmax.py", "softmax", 0, ""),
        ("gpt-x/softmax.py", "softmax", 0, "gpt-x"),
        ("softmax/sample_1.py", "softmax", 1, ""),
        ("softmax/kernel.py", "softmax", 0, ""),
    ],
)
def test_the_name_of_a_file_says_problem_sample_and_model(
    tmp_path: Path, path: str, problem: str, sample: int, model: str
) -> None:
    write(tmp_path, path)
    assert told(read_folder(tmp_path)) == [(path, problem, sample, model)]


def test_order_is_natural_and_other_files_are_left_alone(tmp_path: Path) -> None:
    write(
        tmp_path, "level_1_problem_10_sample_0_kernel.py", "level_1_problem_9_sample_0_kernel.py",
        "level_1_problem_9_sample_10_kernel.py", "level_1_problem_9_sample_2_kernel.py", "README.md", ".hidden.py",
        "notes.json", "__pycache__/19_ReLU.py", ".git/19_ReLU.py", "__init__.py",
    )  # fmt: skip
    found = [(one.problem, one.sample) for one in read_folder(tmp_path)]
    assert found == [
        ("level_1_problem_9", 0), ("level_1_problem_9", 2), ("level_1_problem_9", 10), ("level_1_problem_10", 0),
    ]  # fmt: skip


def test_every_submission_of_a_folder_has_an_identity_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, "19_ReLU/a.txt", "19_ReLU/b.txt", "m/19_ReLU.txt", "n/19_ReLU.txt")
    found = read_folder(tmp_path)
    assert len({(one.path, one.sample) for one in found}) == 4


def test_a_table_names_its_files_itself(tmp_path: Path) -> None:
    write(tmp_path, "b.txt", "sub/a.txt", "19_ReLU.py")
    table(tmp_path, "file,problem,sample,model,note\nsub/a.txt,19_ReLU,1,gpt-x,fine\n\nb.txt,27_SELU_,,,\n")
    assert told(read_folder(tmp_path)) == [("b.txt", "27_SELU_", 0, ""), ("sub/a.txt", "19_ReLU", 1, "gpt-x")]


def test_a_table_may_come_from_a_spreadsheet(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    (tmp_path / "generations.csv").write_bytes('\ufeffproblem,file\r\n"19_ReLU","a.txt"\r\n'.encode())
    assert told(read_folder(tmp_path)) == [("a.txt", "19_ReLU", 0, "")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("file,sample\na.txt,0\n", "no column 'problem'"),
        ("", "no column 'file'"),
        ("file,problem\n", "no rows"),
        ("file,problem\na.txt,19_ReLU\nmissing.txt,19_ReLU\n", "row 2: there is no file"),
        ("file,problem\na.txt\n", "row 1: the column 'problem' is empty"),
        ("file,problem\n,19_ReLU\n", "row 1: the column 'file' is empty"),
        ("file,problem,sample\na.txt,19_ReLU,x\n", "row 1: the sample 'x'"),
        ("file,problem,sample\na.txt,19_ReLU,-1\n", "row 1: the sample '-1'"),
        ("file,problem\na.txt,19_ReLU\na.txt,19_ReLU\n", "row 2 repeats row 1"),
        ('file,problem\n"a.txt,19_ReLU\n', "not a valid CSV"),
        ("file,problem\n" + "a" * 200_000 + ",19_ReLU\n", "not a valid CSV"),
    ],
)
def test_a_table_that_cannot_be_used_says_where(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path, "a.txt")
    table(tmp_path, text)
    with pytest.raises(InputError, match=words) as caught:
        read_folder(tmp_path)
    assert caught.value.exit_status == 2
    assert "generations.csv" in str(caught.value)


def test_a_table_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "generations.csv").write_bytes("file,problem\nä.txt,19_ReLU\n".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_folder(tmp_path)


def test_a_folder_without_submissions_says_what_belongs_there(tmp_path: Path) -> None:
    write(tmp_path, "README.md")
    with pytest.raises(InputError, match=r"holds no submissions.*level_1_problem_19_sample_0_kernel\.py"):
        read_folder(tmp_path)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_folder(tmp_path / "nothing")
    write(tmp_path, "a.txt")
    with pytest.raises(InputError, match="is not a folder"):
        read_folder(tmp_path / "a.txt")


def test_one_file_is_read_as_it_is_named(tmp_path: Path) -> None:
    write(tmp_path, "19_ReLU.py", "kernel.py")
    one = read_submission(tmp_path / "19_ReLU.py")
    assert (one.path, one.problem, one.sample) == (str(tmp_path / "19_ReLU.py"), "19_ReLU", 0)
    assert read_submission(tmp_path / "kernel.py").problem is None


def test_bytes_that_are_not_text_are_data(tmp_path: Path) -> None:
    data = b"class ModelNew:\n    x = '\xff\xfe'\n"
    (tmp_path / "a.py").write_bytes(data)
    one = read_submission(tmp_path / "a.py")
    assert one.text == "class ModelNew:\n    x = '\ufffd\ufffd'\n"
    assert one.sha256 == hashlib.sha256(data).hexdigest()


def test_a_missing_file_and_a_folder_are_one_sentence_each(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        read_submission(tmp_path / "missing.py")
    with pytest.raises(InputError, match=r"is a folder; .*harness batch"):
        read_submission(tmp_path)


KERNELBENCH_RUN = ("level_1_problem_1_sample_0_kernel.py", "level_1_problem_2_sample_0_kernel.py")


@pytest.mark.parametrize(
    ("config", "model"),
    [
        ("level: 1\nmax_tokens: 4096\nmodel_name: deepseek-coder\nrun_name: x\n", "deepseek-coder"),
        ("model_name: 'anthropic/claude: new'\n", "anthropic/claude: new"),
        ("model_name: null\n", ""),
        ("server:\n  model_name: nested\n", ""),
        ("- not: [yaml\n", ""),
    ],
)
def test_a_run_of_kernelbench_is_taken_as_it_is(tmp_path: Path, config: str, model: str) -> None:
    write(tmp_path, *KERNELBENCH_RUN, "level_1_problem_1_sample_0_prompt.txt", "eval_results.json")
    (tmp_path / "generation_config.yaml").write_text(config)
    assert told(read_folder(tmp_path)) == [
        (KERNELBENCH_RUN[0], "level_1_problem_1", 0, model),
        (KERNELBENCH_RUN[1], "level_1_problem_2", 0, model),
    ]


def test_a_folder_that_names_the_model_goes_before_the_configuration(tmp_path: Path) -> None:
    write(tmp_path, f"gpt-x/{KERNELBENCH_RUN[0]}", KERNELBENCH_RUN[1])
    (tmp_path / "generation_config.yaml").write_text("model_name: gpt-y\n")
    assert [one.model for one in read_folder(tmp_path)] == ["gpt-x", "gpt-y"]


def test_names_of_level_4_have_hyphens(tmp_path: Path) -> None:
    name = "1_EleutherAI-gpt-neo-2p7B_bs32_seq256"
    write(tmp_path, f"{name}/attempt.txt", f"level4/{name}_sample_2.py")
    assert told(read_folder(tmp_path)) == [
        (f"level4/{name}_sample_2.py", f"level4/{name}", 2, ""),
        (f"{name}/attempt.txt", name, 0, ""),
    ]


# What is no file


def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "zeros.py").symlink_to("/dev/zero")
    (tmp_path / "terminal.py").symlink_to("/dev/tty")
    with (tmp_path / "giant.py").open("wb") as file:
        file.truncate(1 << 40)
    for name, words in (
        ("pipe", "no regular"),
        ("zeros", "no regular"),
        ("giant", "larger than"),
        ("terminal", "terminal"),
    ):
        with pytest.raises(InputError, match=words):
            read_submission(tmp_path / f"{name}.py")
    with pytest.raises(InputError, match="is a folder"):
        read_submission(tmp_path)


def test_a_pipe_beside_a_submission_says_nothing_of_it(tmp_path):
    (tmp_path / "19_ReLU.py").write_text("x = 1\n")
    os.mkfifo(tmp_path / "19_ReLU.json")
    os.mkfifo(tmp_path / "20_Other.py")
    assert [one.path for one in read_folder(tmp_path)] == ["19_ReLU.py"]


@pytest.mark.parametrize("how", ["a link", "a row", "an absolute row"])
def test_what_leads_out_of_a_folder_is_not_read(tmp_path, how):
    (tmp_path / "answers").mkdir()
    (private := tmp_path / "key.py").write_text("KEY = 1\n")
    if how == "a link":
        (tmp_path / "answers/19_ReLU.py").symlink_to(private)
    else:
        named = "../key.py" if how == "a row" else str(private)
        (tmp_path / "answers/generations.csv").write_text(f"file,problem\n{named},19_ReLU\n")
    with pytest.raises(InputError, match="leads out of"):
        read_folder(tmp_path / "answers")


def test_a_link_within_a_folder_is_followed(tmp_path):
    (tmp_path / "kept.text").write_text("x = 1\n")
    (tmp_path / "19_ReLU.py").symlink_to("kept.text")
    assert [one.text for one in read_folder(tmp_path)] == ["x = 1\n"]
