"""Which engine a command judges with, and what is said of its nodes."""

import subprocess
import sys
import tomllib
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from harness.cli import main
from harness.cli.engines import engine_of, place_of
from harness.cli.progress import BatchDisplay
from harness.errors import InputError
from harness.settings import Settings


def test_a_cluster_is_named_without_asking_what_this_machine_has(monkeypatch):
    monkeypatch.setattr("harness.controller.session.choose_devices", lambda device: pytest.fail("it was asked"))
    assert place_of("10.0.0.1:6379", "cuda") == "Ray at 10.0.0.1:6379"


def test_without_a_cluster_the_devices_of_this_machine_are_named():
    assert place_of(None, "cpu") == "cpu"
    with pytest.raises(InputError, match="there is no device 'tpu'"):
        place_of(None, "tpu")


def test_what_becomes_of_nodes_is_printed_and_the_display_names_those_that_judge(monkeypatch):
    given = {}

    @contextmanager
    def opened(address, device, settings, *, builders, on_news):
        given.update(address=address, device=device, builders=builders)
        on_news("lost b: it left the cluster", "1 node, 4 x H100, without b")
        on_news("this cluster has no token", "")
        yield "an engine"

    monkeypatch.setattr("harness.cluster.engine.open_cluster_engine", opened)
    console = Console(file=StringIO(), width=200)
    display = BatchDisplay(console, device="Ray at 10.0.0.1:6379", total=1)
    with engine_of("10.0.0.1:6379", "auto", Settings(), builders=3, console=console, display=display) as engine:
        assert engine == "an engine"
    assert given == {"address": "10.0.0.1:6379", "device": "auto", "builders": 3}
    assert console.file.getvalue().splitlines() == ["lost b: it left the cluster", "this cluster has no token"]
    assert display._progress.tasks[0].description == "1 node, 4 x H100, without b"


def test_without_ray_installed_what_brings_it_is_said(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "harness.cluster.ray_cluster", raising=False)
    result = CliRunner().invoke(main, ["doctor", "--ray", "10.0.0.1:6379"])
    assert result.exit_code == 3
    assert "pip install 'kernel-harness[ray]'" in result.stderr


def test_the_package_alone_brings_no_ray():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert not [each for each in project["dependencies"] if each.startswith("ray")]
    assert [name for name, brings in project["optional-dependencies"].items() if "ray>=2.52" in brings] == ["ray"]


@pytest.mark.parametrize("command", ["batch", "run", "serve", "doctor"])
def test_the_commands_that_take_a_cluster_do_not_load_ray_to_say_so(command):
    code = (
        "import sys; from click.testing import CliRunner; from harness.cli import main\n"
        f"told = CliRunner().invoke(main, [{command!r}, '--help']).output\n"
        "import harness.cluster.engine\n"
        "assert '--ray HOST:PORT' in told, told\nassert 'ray' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
