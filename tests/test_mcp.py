"""Tools for coding agents, asked by the SDK's own client: here, over a server, and as a command on stdio."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from relu import PROBLEM, RIGHT
from serving import Serve, bench, engines, problems, serve

from harness.errors import InputError
from harness.settings import Settings

pytest.importorskip("mcp.server.mcpserver")

from mcp import Client, StdioServerParameters

from harness.mcp import Here, There, make_server, page

__all__ = ["bench", "engines", "problems", "serve"]
QUICK = Settings(timing_s=0, audit="none")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def asked(server: Any, ask: Callable[[Client], Awaitable[Any]]) -> Any:
    """What came of asking a server, in an event loop of its own."""

    async def connected() -> Any:
        async with Client(server) as client:
            return await ask(client)

    return asyncio.run(connected())


def told(server: Any, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Whether the tool failed, and what it said."""

    async def call(client: Client) -> tuple[bool, Any]:
        found = await client.call_tool(tool, arguments)
        if found.is_error:
            return True, found.content[0].text
        said = found.structured_content
        return False, said["result"] if set(said) == {"result"} else said

    return asked(server, call)


@pytest.fixture
def here(problems: Path) -> Any:
    with Here("cpu", QUICK, problems, sources=False) as judges:
        yield make_server(judges)


def test_the_tools_say_what_they_take(here: Any) -> None:
    async def listed(client: Client) -> Any:
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = asked(here, listed)
    assert sorted(tools) == ["explain_record", "judge_kernel", "list_problems", "show_problem"]
    assert sorted(tools["judge_kernel"].input_schema["required"]) == ["problem", "submission"]
    assert all(tool.description for tool in tools.values())


def test_problems_are_listed_and_shown(here: Any) -> None:
    assert told(here, "list_problems") == (False, ["level1/19_ReLU"])
    assert told(here, "list_problems", containing="relu") == (False, ["level1/19_ReLU"])
    assert told(here, "list_problems", containing="gemm") == (False, [])
    assert told(here, "show_problem", name="19_ReLU") == (False, PROBLEM)


def test_a_kernel_is_judged_here_and_explained_once_more(here: Any) -> None:
    failed, found = told(here, "judge_kernel", submission=RIGHT, problem="19_ReLU")
    assert not failed, found
    assert (found["summary"]["kind"], found["summary"]["correct"]) == ("correct", True)
    assert found["summary"]["speedup"]["value"] > 0
    assert "level1/19_ReLU" in found["report"]
    assert told(here, "explain_record", id=found["id"]) == (False, found["report"])
    _, wrong = told(here, "judge_kernel", submission=RIGHT.replace("min", "max"), problem="19_ReLU")
    assert (wrong["summary"]["kind"], wrong["summary"]["speedup"]) == ("wrong", None)


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("show_problem", {"name": "/etc/passwd"}, "There is no problem"),
        ("show_problem", {"name": str(Path(__file__))}, "There is no"),
        ("judge_kernel", {"submission": RIGHT, "problem": "../level1/19_ReLU.py"}, "no verdict: There is no"),
        ("judge_kernel", {"submission": RIGHT, "problem": PROBLEM}, "runs unconfined"),
        ("judge_kernel", {"submission": "x" * ((1 << 20) + 1), "problem": "19_ReLU"}, "may have 1048576 characters"),
        ("explain_record", {"id": "none"}, "there is no record 'none'"),
    ],
)
def test_what_a_model_may_not_ask_is_an_error_of_the_tool(
    here: Any, tool: str, arguments: dict[str, str], why: str
) -> None:
    failed, said = told(here, tool, **arguments)
    assert failed
    assert why in said


def test_a_problems_source_is_taken_where_that_is_allowed(problems: Path) -> None:
    with Here("cpu", QUICK, problems, sources=True) as judges:
        assert judges._problem(PROBLEM).source == PROBLEM


def test_a_server_is_asked_by_the_same_tools(serve: Serve) -> None:
    with serve() as served:
        server = make_server(There(served.url))
        assert told(server, "list_problems") == (False, ["level1/19_ReLU"])
        assert told(server, "show_problem", name="19_ReLU") == (False, PROBLEM)
        failed, found = told(server, "judge_kernel", submission="correct", problem="19_ReLU", precision="fp16")
        assert (failed, found["summary"]["speedup"]) == (False, {"value": 2.0, "low": 1.9, "high": 2.1})
        assert told(server, "explain_record", id=found["id"]) == (False, found["report"])
        for tool, arguments, why in (
            ("show_problem", {"name": "none"}, "there is no problem 'none'"),
            ("explain_record", {"id": "j0"}, "404"),
            ("judge_kernel", {"submission": "problem", "problem": "19_ReLU"}, "no verdict: fault"),
        ):
            failed, said = told(server, tool, **arguments)
            assert failed
            assert why in said
    failed, said = told(server, "list_problems")
    assert (failed, "no connection" in said) == (True, True)


@pytest.mark.slow
def test_the_command_speaks_on_its_standard_streams(problems: Path) -> None:
    arguments = ["-m", "harness", "mcp", "--problems", str(problems), "--device", "cpu", "--timing", "none"]
    root = str(Path(__file__).parents[1])
    server = StdioServerParameters(command=sys.executable, args=arguments, env={"PYTHONPATH": root})

    async def judge(client: Client) -> Any:
        found = await client.call_tool("judge_kernel", {"submission": RIGHT, "problem": "19_ReLU"})
        again = await client.call_tool("explain_record", {"id": found.structured_content["id"]})
        return found.structured_content, json.loads(json.dumps(again.structured_content))["result"]

    found, again = asked(server, judge)
    assert found["summary"]["kind"] == "correct"
    assert again == found["report"]


def test_without_the_package_the_command_says_what_brings_it() -> None:
    script = "import sys; sys.modules['mcp'] = None; from harness.cli import main; main(['mcp'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'kernel-harness[mcp]'" in done.stderr


def test_an_address_that_is_none_is_bad_input() -> None:
    with pytest.raises(InputError, match="is no address"):
        There("localhost")


def test_a_page_has_no_colours(served_record: Any) -> None:
    assert "\x1b" not in page(served_record)


@pytest.fixture
def served_record() -> Any:
    from serving import ENVIRONMENT, TIMING

    from harness.schema import Correct, Device, ProblemRef, Record, SubmissionRef

    return Record(
        problem=ProblemRef(set="level1", name="19_ReLU", sha256="0" * 64),
        submission=SubmissionRef(path="a", sha256="1" * 64),
        device=Device(kind="cpu", name="a CPU"),
        verdict=Correct(trials=3),
        timing=TIMING,
        environment=ENVIRONMENT,
        judged_at="2026-01-01T00:00:00+00:00",
    )
