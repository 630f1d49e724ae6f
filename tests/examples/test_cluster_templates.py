"""The templates for clusters: shells read them, the shards are all there, and the commands know their options."""

import re
import subprocess
from pathlib import Path

import click
import pytest

from harness.cli import main
from harness.cli.batch import Shard

FOLDER = Path(__file__).parents[2] / "examples/cluster"
TEMPLATES = sorted(FOLDER.iterdir())
COMMAND = re.compile(r"^[^#\n]*?\bharness (batch|runs merge)\b((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)


@pytest.mark.parametrize("path", [path for path in TEMPLATES if path.suffix == ".sh"], ids=lambda path: path.stem)
def test_a_shell_reads_it(path):
    assert subprocess.run(["bash", "-n", path], check=False).returncode == 0


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_its_commands_know_their_options(path):
    text = path.read_text()
    if path.suffix == ".yaml":  # folded lines are one
        text = re.sub(r"\n +--", " --", text)
    asked = COMMAND.findall(text)
    assert asked
    for names, rest in asked:
        command = main
        for name in names.split():
            command = command.get_command(click.Context(command), name)
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest)) <= known


def test_an_array_has_as_many_tasks_as_there_are_shards():
    text = (FOLDER / "slurm-array.sh").read_text()
    assert re.findall(r"--array=1-(\d+)", text) == re.findall(r"^SHARDS=(\d+)", text, re.MULTILINE) == ["16"]
    assert '--shard "$SLURM_ARRAY_TASK_ID/$SHARDS"' in text


def test_an_indexed_job_has_as_many_indices_as_there_are_shards():
    text = (FOLDER / "kubernetes-indexed-job.yaml").read_text()
    (count,) = re.findall(r"^  completions: (\d+)", text, re.MULTILINE)
    assert f"--shard $((JOB_COMPLETION_INDEX + 1))/{count}" in text
    assert Shard().convert(f"{count}/{count}", None, None) == (int(count), int(count))


def test_nothing_stops_a_cluster_that_is_somebody_elses():
    for path in TEMPLATES:
        assert not re.search(r"^[^#]*ray stop", path.read_text(), re.MULTILINE)
