"""Verdicts for coding agents: tools over the Model Context Protocol, judged here or by a `harness serve`.

    judge_kernel      text and a problem to a verdict, its time, and what speaks against it
    list_problems     names
    show_problem      a problem's source
    explain_record    a judgement once more, as a person reads it

A model chooses what is asked. So a submission is text and never a path, a problem is a name of the catalogue, and a
source only where whoever started this allows it: a problem is run by the judge itself, and is not confined.
"""

import asyncio
import io
import secrets
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import harness
from harness import client
from harness.catalog import open_catalog, text_problem
from harness.errors import HarnessError, InputError
from harness.library import Evaluator
from harness.report.text import report
from harness.schema import Frozen, Problem, Record, Summary
from harness.schema.problem import Precision
from harness.settings import Settings

REMEMBERED = 256
"""So many of the last records are kept for `explain_record` where no server keeps them."""
LONGEST_TEXT = 1 << 20
LONGEST_LIST = 500
_WIDTH = 100

T = TypeVar("T")

INSTRUCTIONS = """Judges GPU kernels: does a candidate compile, is it right, is it faster than the reference.
A problem is a PyTorch module `Model` with get_inputs() and get_init_inputs(); a candidate defines `ModelNew` of the
same constructor, forward and weights. Look at the problem first, then judge, read what the report says, and try again.
"""


class Told(Frozen):
    """A judgement, as an agent gets it. `report` is what `harness eval` prints."""

    id: str
    summary: Summary
    report: str


class Judges(Protocol):
    """Where verdicts and problems come from."""

    async def judge(self, submission: str, problem: str, precision: Precision | None) -> tuple[str, Record]:
        """The judgement's id and record. Raises HarnessError or NoVerdict where there is no verdict."""

    def names(self) -> list[str]: ...

    def source(self, name: str) -> str: ...

    def record(self, id: str) -> Record:
        """Raises LookupError where there is none."""


class Here:
    """Judges with processes of this machine, which start with the first judgement. A context manager."""

    def __init__(self, device: str, settings: Settings, problems: Path | None, *, sources: bool) -> None:
        """`sources`: take a problem's own source, which runs unconfined, from whoever asks."""
        self._catalog = open_catalog(problems)
        self._sources, self._settings = sources, settings
        self._records: OrderedDict[str, Record] = OrderedDict()
        self._evaluator = Evaluator(device=device, settings=settings, problems=problems)

    async def judge(self, submission: str, problem: str, precision: Precision | None) -> tuple[str, Record]:
        asked = self._problem(problem)
        chosen = self._settings.model_copy(update={"precision": precision or self._settings.precision})
        record = await self._evaluator.aevaluate(submission, asked, settings=chosen)
        id = secrets.token_hex(6)
        self._records[id] = record
        while len(self._records) > REMEMBERED:
            self._records.popitem(last=False)
        return id, record

    def _problem(self, text: str) -> Problem:
        if "\n" not in text:
            return self._catalog.named(text)
        if not self._sources:
            raise InputError("a problem's own source runs unconfined: name one of list_problems, or start harness mcp "
                             "with --problem-sources")  # fmt: skip
        return text_problem(text)

    def names(self) -> list[str]:
        return list(self._catalog.files)

    def source(self, name: str) -> str:
        return self._catalog.named(name).source

    def record(self, id: str) -> Record:
        if id not in self._records:
            raise LookupError(f"there is no record {id!r}: the last {REMEMBERED} of this session are kept")
        return self._records[id]

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *error: object) -> None:
        self._evaluator.close()


class There:
    """Asks a `harness serve`, whose queue and store it shares with its other clients. HARNESS_TOKEN is shown to it."""

    def __init__(self, url: str) -> None:
        """Raises InputError for what is no address; whether a server is there is seen when it is asked."""
        if not url.startswith(("http://", "https://")):
            raise InputError(f"{url!r} is no address of a server: give one like {client.DEFAULT_URL}")
        self._url = url

    async def judge(self, submission: str, problem: str, precision: Precision | None) -> tuple[str, Record]:
        settings = None if precision is None else {"precision": precision}
        answer = await client.judge_async(submission, problem, settings=settings, url=self._url)
        return answer["id"], Record.model_validate(answer["record"])

    def names(self) -> list[str]:
        return client.problems(url=self._url)

    def source(self, name: str) -> str:
        return str(client.problem(name, url=self._url)["source"])

    def record(self, id: str) -> Record:
        answer = client.judgement(id, url=self._url)
        if answer["record"] is None:
            raise LookupError(f"there is no verdict of {id} yet: it is {answer['state']} ({answer['reason']})")
        return Record.model_validate(answer["record"])


def make_server(judges: Judges) -> MCPServer[Any]:
    """The tools over `judges`. What they raise for what a model asked reaches it as the text of a tool's error."""
    server: MCPServer[Any] = MCPServer(
        "kernel-harness", instructions=INSTRUCTIONS, version=harness.__version__, log_level="WARNING"
    )

    @server.tool()
    async def judge_kernel(
        submission: str, problem: str, precision: Literal["fp32", "fp16", "bf16"] | None = None
    ) -> Told:
        """Judge a candidate: build it, compare it with the reference on secret inputs, time it. Takes 3 s to minutes.

        Args:
            submission: Python source that defines ModelNew, or an answer that holds it in a code block. Never a path.
            problem: a name of list_problems.
            precision: of inputs, weights and outputs; the server's own where it is left out.
        """
        if len(submission) > LONGEST_TEXT or len(problem) > LONGEST_TEXT:
            raise ToolError(f"a text may have {LONGEST_TEXT} characters")
        id, record = await _answered(judges.judge(submission, problem, precision))
        return Told(id=id, summary=record.summary(), report=page(record))

    @server.tool()
    async def list_problems(containing: str = "") -> list[str]:
        """Names of problems, such as "level1/19_ReLU"; only those with `containing` in them, 500 at most."""
        names = await _looked_up(judges.names)
        return [name for name in names if containing.lower() in name.lower()][:LONGEST_LIST]

    @server.tool()
    async def show_problem(name: str) -> str:
        """The source of a problem: the reference `Model`, its inputs and the arguments of its constructor."""
        return await _looked_up(partial(judges.source, name))

    @server.tool()
    async def explain_record(id: str) -> str:
        """A judgement once more, by the id that judge_kernel gave: how far it came, why, and what speaks against it."""
        return page(await _looked_up(partial(judges.record, id)))

    return server


async def _answered(asked: Coroutine[Any, Any, tuple[str, Record]]) -> tuple[str, Record]:
    """A verdict. What is no verdict is an error of the tool, so that no agent takes it for one."""
    try:
        id, record = await asked
    except (HarnessError, client.NoVerdict) as error:
        raise ToolError(f"no verdict: {error}") from error
    return id, record


async def _looked_up(look: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(look)
    except (HarnessError, LookupError, OSError) as error:
        raise ToolError(str(error)) from error


def page(record: Record) -> str:
    """What `harness eval` prints of a record, without colours."""
    from rich.console import Console

    text = io.StringIO()
    Console(file=text, width=_WIDTH, color_system=None, highlight=False).print(report(record))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
