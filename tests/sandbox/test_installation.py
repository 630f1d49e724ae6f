"""What lies within a folder that candidates may read, and is none of their business, is out of their sight.

That is what a wheel brings beside the code, runs with correct answers among it, and a checkout below an interpreter's
prefix: `pip install -e git+...` lays it there, and so do images whose working folder is /usr/src/app.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.sandbox import bubblewrap, tool_confinement
from harness.sandbox.host import layout

REPOSITORY = Path(__file__).resolve().parents[2]
SECRET = "an-answer-of-ours"
# Runs in the interpreter of the installation, as the controller would; argument 1 is a folder, 2 what to do there.
CONTROLLER = """
import json, sys
from pathlib import Path
from harness.sandbox import Isolation, Policy, Zygote, run_tool
from harness.sandbox.selftest import run
import harness
folder, methods, tiers, source = Path(sys.argv[1]), *map(json.loads, sys.argv[2:])
assert harness.__file__.startswith(sys.prefix), harness.__file__
said = {}
with Zygote.start(preload=("torch", "harness.sandbox.selftest")) as zygote:
    for tier in tiers if zygote.ready().tier == "full" else ("basic",):
        ran = run(zygote, source, Policy(isolation=tier))
        said["worker " + tier] = ran.reports or ran.exit.log
for method in methods:
    run_tool(["g++", "-E", "a.cpp", "-o", "out"], cwd=folder, deadline_s=30, isolation=method)
    said["compiler " + method] = run_tool(["g++", "-c", "a.cpp"], cwd=folder, deadline_s=30, isolation=method).output
print(json.dumps(said))
"""
CANDIDATE = """
import os, sys
folder = {folder!r}
def read(path):
    try:
        return open(path).read()
    except OSError:
        return ""
report([read(os.path.join(above, name)) for above, _, names in os.walk(folder) for name in names])
report([read(path) for path in {named!r}])
report(os.listdir(folder))
import beside, pydantic, torch  # the neighbours are still there, listed and read
report(beside.VALUE)
{more}
"""


@dataclass(frozen=True)
class Installation:
    """An interpreter's prefix with the package in it; `secret` is a folder that candidates may not see."""

    python: Path
    secret: Path
    is_a_wheel: bool

    @property
    def answer(self) -> Path:
        return self.secret / "runs" / "one" / "candidate.py"

    def run(self, *arguments: str) -> str:
        """What Python says there."""
        sites = [entry for entry in sys.path if entry.endswith("site-packages")]
        environment = {name: os.environ[name] for name in ("PATH", "TMPDIR", "HOME") if name in os.environ}
        environment |= {"PYTHONPATH": ":".join(sites), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [str(self.python), "-c", *arguments]
        done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout


def install(prefix: Path, *, as_a_wheel: bool) -> Installation:
    python, site = prefix / "bin" / "python", prefix / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    package = site / "harness" if as_a_wheel else prefix / "src" / "checkout" / "harness"
    for folder in (python.parent, site, package.parent):
        folder.mkdir(parents=True, exist_ok=True)
    real = Path(sys.executable).resolve()
    (prefix / "pyvenv.cfg").write_text(f"home = {real.parent}\ninclude-system-site-packages = false\n")
    python.symlink_to(real)
    shutil.copytree(REPOSITORY / "harness", package, ignore=shutil.ignore_patterns("__pycache__"))
    (site / "beside.py").write_text("VALUE = 'beside'\n")
    if not as_a_wheel:
        shutil.copy(REPOSITORY / "pyproject.toml", package.parent)
        (site / "checkout.pth").write_text(f"{package.parent}\n")
    made = Installation(python, package / "shipped" if as_a_wheel else package.parent, as_a_wheel)
    made.answer.parent.mkdir(parents=True)
    made.answer.write_text(f'#error "{SECRET}"\n')
    (prefix / "link").symlink_to(made.secret)  # all of it once more, by a link that may be read
    return made


@pytest.fixture(scope="module", params=["wheel", "checkout"])
def installation(request: pytest.FixtureRequest) -> Iterator[Installation]:
    folder = Path(tempfile.mkdtemp(prefix="harness-test-", dir="/var/tmp"))
    folder.chmod(0o755)  # so that only the sandbox can refuse
    yield install(folder / "prefix", as_a_wheel=request.param == "wheel")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def said(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("compile")
    (folder / "a.cpp").write_text(f'#include "{installation.answer}"\n')
    methods = (["full"] if bubblewrap() else []) + (["basic"] if tool_confinement().tier != "none" else [])
    named = [str(installation.answer), str(installation.python.parents[1] / "link/runs/one/candidate.py")]
    more = "import harness.client  # of the package, but not of what was imported before" * installation.is_a_wheel
    candidate = json.dumps(CANDIDATE.format(folder=str(installation.secret), named=named, more=more))
    return json.loads(installation.run(CONTROLLER, str(folder), json.dumps(methods), '["full", "basic"]', candidate))


@pytest.mark.parametrize("tier", ["full", "basic"])
def test_a_candidate_reads_nothing_of_it_and_its_neighbours(said: dict[str, Any], tier: str) -> None:
    if f"worker {tier}" not in said:
        pytest.skip("no full tier on this machine: namespaces are refused")
    contents, named, names, neighbour = said[f"worker {tier}"]
    assert not any(contents)
    assert named == ["", ""]
    assert tier == "basic" or names == []  # Landlock: names can be listed
    assert neighbour == "beside"


@pytest.mark.parametrize("method", ["full", "basic"])
def test_an_include_of_it_finds_nothing(said: dict[str, Any], method: str) -> None:
    if f"compiler {method}" not in said:
        pytest.skip("compilers cannot be confined so here")
    output = said[f"compiler {method}"]
    assert SECRET not in output
    assert "a.cpp:1:" in output


def test_of_two_paths_around_a_third_the_inner_one_tells_whether_it_is_seen(tmp_path: Path) -> None:
    checkout = tmp_path / "prefix" / "src" / "checkout"
    headers, shipped = checkout / "harness" / "include", checkout / "harness" / "include" / "shipped"
    shipped.mkdir(parents=True)
    readable = [str(tmp_path / "prefix"), str(headers), str(tmp_path / "prefix" / "src"), str(headers / "slim")]
    laid = layout(readable, hidden=[str(checkout), str(shipped), str(tmp_path / "gone")])
    assert laid.binds == (str(tmp_path / "prefix"), str(headers))
    assert laid.covered == (str(checkout), str(shipped))
    assert layout([str(headers)], hidden=[str(checkout)]).covered == ()
    assert layout([str(checkout)], hidden=[str(checkout)]).binds == ()
