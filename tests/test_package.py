"""The wheel, built and used as somebody would who has no checkout."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytest.importorskip("build", reason="the package `build` is not installed")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build leaves folders behind, and what lies in a checkout besides must not count."""
    folder = tmp_path_factory.mktemp("sources")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=False
    )
    if listed.returncode:
        pytest.skip("this is no clone: git does not say which files are ours")
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = (folder / "dist").glob("*.whl")
    assert list((folder / "dist").glob("*.tar.gz"))
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the wheel comes before anything else of that name."""
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return os.environ | {"PYTHONPATH": str(site)}


def harness(*arguments: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments], cwd=cwd, env=env, capture_output=True, text=True
    )


@pytest.mark.slow
def test_the_wheel_knows_its_problems_and_its_run_from_any_folder(installed, tmp_path):
    listed = harness("problems", "list", cwd=tmp_path, env=installed)
    assert "level1/19_ReLU" in listed.stdout, listed.stderr
    assert "5 problems in " in listed.stdout
    ranked = harness("leaderboard", "h200-documents", cwd=tmp_path, env=installed)
    assert "NVIDIA H200" in ranked.stdout, ranked.stderr
    unknown = harness("problems", "show", "1_Nothing", cwd=tmp_path, env=installed)
    assert unknown.returncode == 2
    assert "harness problems fetch" in unknown.stderr
    page = harness("leaderboard", "h200-documents", "--format", "html", "-o", "page.html", cwd=tmp_path, env=installed)
    assert page.returncode == 0, page.stderr
    assert (tmp_path / "page.html").stat().st_size > 100_000


UNDRAWN = """
import harness.controller.evaluate as judging
from harness.cli import main

judging.ONE_IN = 1 << 62
main(prog_name="harness")
"""
"""`harness`, of whose verdicts none is drawn by lot to be built by stock as well."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_demo_of_an_installed_wheel_judges_and_ranks(installed, tmp_path):
    """At small sizes: an emulated product of the size as written takes a quarter of a minute, and shows no more."""
    problems = list(Path(installed["PYTHONPATH"], "harness/shipped/problems").rglob("*.py"))
    assert len(problems) == 5
    for file in problems:
        file.write_text(re.sub(r"^(dim|in_features|out_features) = \d+$", r"\1 = 256", file.read_text(), flags=re.M))
    command = [sys.executable, "-c", UNDRAWN, "demo"]
    done = subprocess.run(command, cwd=tmp_path, env=installed, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "8 submissions, judged now: 5 correct, 2 wrong, 1 failed" in done.stderr + done.stdout
    assert "fast_0" in done.stdout
    assert (tmp_path / "runs/demo/records.jsonl").is_file()
