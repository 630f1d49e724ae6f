"""What every node of a cluster says of itself, and how they differ."""

import json

import pytest
from click.testing import CliRunner

from harness.cli import doctor
from harness.cli.cluster_doctor import differences
from harness.cli.diagnosis import Diagnosis, Finding
from harness.errors import MachineError


def diagnosis(*, torch="2.13", disk="ok", more=()):
    found = (
        Finding(name="torch", state="ok", found=torch),
        Finding(name="disk", state=disk, found=f"{hash(torch) % 7} GB free", mend="make room"),
        *more,
    )
    return Diagnosis(findings=found, layers=("seccomp",), missing_layers=())


@pytest.fixture
def asked(monkeypatch):
    """`harness doctor --ray` where the nodes say this."""

    def ask(*answers, arguments=()):
        monkeypatch.setattr("harness.cluster.doctor.ask_nodes", lambda address: list(answers))
        return CliRunner().invoke(doctor.doctor, ["--ray", "10.0.0.1:6379", *arguments])

    return ask


def test_nodes_that_are_alike_do_not_differ():
    assert list(differences({"a": diagnosis(), "b": diagnosis()})) == []


def test_what_differs_is_said_with_the_nodes_that_have_it():
    nodes = {"a": diagnosis(), "b": diagnosis(torch="2.11"), "c": diagnosis()}
    assert list(differences(nodes)) == ["torch differs: a, c: 2.13; b: 2.11"]


def test_of_a_disk_only_whether_it_is_in_order_matters():
    assert list(differences({"a": diagnosis(), "b": diagnosis(disk="limited")})) == ["disk differs: a: ok; b: limited"]


def test_what_only_one_node_has_is_said():
    more = (Finding(name="limits by", state="ok", found="the kernel"),)
    nodes = {"a": diagnosis(more=more), "b": diagnosis()}
    assert list(differences(nodes)) == ["limits by differs: a: the kernel; b: not looked at"]


def test_every_node_is_shown_under_a_name_of_its_own(asked):
    result = asked(("vm", diagnosis().model_dump_json()), ("vm", diagnosis(torch="2.11").model_dump_json()))
    assert result.exit_code == 0, result.output
    assert "vm:\n" in result.stdout
    assert "vm-2:\n" in result.stdout
    assert "torch differs: vm: 2.13; vm-2: 2.11" in result.stdout


@pytest.mark.parametrize("bad", [MachineError("it did not answer"), diagnosis(disk="missing").model_dump_json()])
def test_a_node_on_which_nothing_can_be_judged_is_the_exit_status(asked, bad):
    result = asked(("a", diagnosis().model_dump_json()), ("b", bad))
    assert result.exit_code == 3
    assert "no report: it did not answer" in result.stdout or isinstance(bad, str)


def test_as_json_each_node_has_its_report(asked):
    result = asked(("a", diagnosis().model_dump_json()), ("b", MachineError("it did not answer")), arguments=["--json"])
    told = json.loads(result.stdout)
    assert told["nodes"]["a"]["findings"][0]["name"] == "torch"
    assert told["nodes"]["b"] == {"error": "it did not answer"}
    assert told["differences"] == []
