import hashlib
import os
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from questions import SHA, problem

from harness.errors import InputError, StoreError
from harness.generate.asking import prompt_sha256
from harness.generate.folder import GenerationFolder, encoded, open_generations
from harness.intake import read_folder
from harness.schema import Problem
from harness.schema.generation import Generation, GenerationSettings, Message, Usage

SETTINGS = GenerationSettings(model="m", templates_sha256=SHA)


def generation(text: str = "answer", *, sample: int = 0, turn: int = 0, name: str = "level1/19_ReLU") -> Generation:
    messages = [{"role": "user", "content": "q"}]
    return Generation(
        problem=name,
        problem_sha256=SHA,
        sample=sample,
        turn=turn,
        parent=SHA if turn else None,
        model="m",
        answered_by="m-2",
        api="chat",
        base_url="http://localhost/v1",
        prompt_sha256=prompt_sha256((Message(role="user", content="q"),)),
        request={"model": "m", "messages": messages},
        response={},
        outcome="complete",
        finish_reason="stop",
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        usage=Usage(prompt_tokens=3, completion_tokens=4),
        asked_at="2026-01-01T00:00:00+00:00",
        seconds=1.0,
    )


@pytest.fixture
def folder(tmp_path):
    with open_generations(tmp_path, SETTINGS) as opened:
        yield opened


def test_what_is_kept_is_read_back_by_the_folder_and_by_a_batch_alike(folder, tmp_path):
    answers = [generation("a"), generation("b", turn=1), generation("c", sample=12), generation("d", name="mine/x y")]
    for answer in answers:
        folder.keep(answer)
    assert {one.key: one for one in folder.generations()} == {one.key: one for one in answers}
    assert sorted(read_folder(tmp_path), key=lambda one: one.text) == [folder.submission(one) for one in answers]
    second = folder.submission(answers[1])
    assert (second.path, second.turn, second.parent) == ("m/level1/19_ReLU/sample_0_turn_1.txt", 1, SHA)


def test_a_submission_that_was_edited_is_what_stands_there_now(folder, tmp_path):
    folder.keep(generation("a"))
    text = tmp_path / "m/level1/19_ReLU/sample_0.txt"
    text.write_text("mended by hand")
    (read,) = read_folder(tmp_path)
    assert read.text == "mended by hand"
    assert read.sha256 == hashlib.sha256(b"mended by hand").hexdigest()
    folder.mend()
    assert text.read_text() == "mended by hand"


def test_somebody_elses_json_beside_a_submission_is_left_alone(tmp_path):
    for name, content in {"a.json": "{}", "b.json": '{"kind": "other"}', "c.json": "[1]", "d.json": "not json"}.items():
        (tmp_path / "19_ReLU").mkdir(exist_ok=True)
        (tmp_path / "19_ReLU" / name).write_text(content)
        (tmp_path / "19_ReLU" / name).with_suffix(".txt").write_text("x")
    assert {one.problem for one in read_folder(tmp_path)} == {"19_ReLU"}


def test_a_file_of_ours_that_was_damaged_is_named(folder, tmp_path):
    folder.keep(generation("a"))
    beside = tmp_path / "m/level1/19_ReLU/sample_0.json"
    beside.write_text('{"kind": "generation"}')
    with pytest.raises(StoreError, match=r"sample_0.json is not what this harness wrote there"):
        folder.mend()
    with pytest.raises(InputError, match=r"sample_0.json is not what this harness wrote there"):
        read_folder(tmp_path)


@pytest.mark.parametrize("kind", ["link", "pipe", "device", "endless"])
@pytest.mark.parametrize("name", ["level1/19_ReLU/sample_0.json", "settings.json"])
def test_what_is_no_file_of_the_folder_s_own_is_refused_at_once(tmp_path, kind, name):
    with open_generations(tmp_path / "g", SETTINGS) as folder:
        folder.keep(generation("a"))
    path = tmp_path / "g" / "m" / name
    kept = path.rename(tmp_path / "elsewhere")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "endless":
        with path.open("wb") as file:
            file.truncate(8 << 40)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else kept)
    words = "more than 256 MiB" if kind == "endless" else "is a link, a pipe or a device"
    with pytest.raises(StoreError, match=words), open_generations(tmp_path / "g", SETTINGS) as folder:
        folder.mend()


@pytest.mark.parametrize("linked", ["m", "m/level1", "m/level1/19_ReLU"])
def test_no_answer_is_written_or_read_behind_a_link_to_a_folder(tmp_path, linked):
    with open_generations(tmp_path / "g", SETTINGS) as folder:
        folder.keep(generation("a"))
    mine = (tmp_path / "g" / linked).rename(tmp_path / "mine")
    (tmp_path / "g" / linked).symlink_to(mine)
    before = sorted(mine.rglob("*"))

    def resume():
        with open_generations(tmp_path / "g", SETTINGS) as folder:
            assert folder.mend() == {}
            folder.keep(generation("b", sample=1))

    with pytest.raises(StoreError, match="is a link"):
        resume()
    assert sorted(mine.rglob("*")) == before


def test_two_processes_do_not_ask_the_same_model_for_one_run(folder, tmp_path):
    body = f"""
from pathlib import Path
from harness.errors import StoreError
from harness.generate.folder import open_generations
from harness.schema.generation import GenerationSettings
try:
    settings = GenerationSettings.model_validate_json({SETTINGS.model_dump_json()!r})
    with open_generations(Path({str(tmp_path)!r}), settings):
        print("opened")
except StoreError as error:
    print("refused", error)
"""
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("refused another process")


def test_settings_of_a_stranger_are_not_overwritten(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m/settings.json").write_text("{}")
    with pytest.raises(StoreError, match="not what this harness wrote there"), open_generations(tmp_path, SETTINGS):
        pass
    assert (tmp_path / "m/settings.json").read_text() == "{}"


def test_an_answer_belongs_to_the_problem_as_it_was(folder):
    folder.check(problem(), generation())
    with pytest.raises(StoreError, match="before it was changed"):
        folder.check(Problem(set="level1", name="19_ReLU", sha256="1" * 64, source=""), generation())


@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
@example("..", "%2E.")
@example("__init__", "%5F_init__")
def test_a_name_is_one_folder_and_no_two_names_are_the_same_one(first, second):
    first, second = (name.encode("utf-8", "replace").decode() for name in (first, second))
    made = encoded(first)
    assert "/" not in made
    assert "\0" not in made
    assert not made.startswith((".", "__"))
    assert (encoded(second) == made) == (first == second)


def test_a_name_that_people_use_stays_readable():
    assert encoded("gpt-4.1 (mini)") == "gpt-4.1 (mini)"
    assert GenerationFolder(None, SETTINGS).path(generation(turn=2)).name == "sample_0_turn_2.txt"
