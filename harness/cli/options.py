"""Options that more than one command takes, and the settings that they come to."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.errors import InputError

if TYPE_CHECKING:
    from harness.sandbox import Least
    from harness.settings import Settings

GIB = 1 << 30
TIMING_S = 2.0
"""What the timed rounds may take unless the user says otherwise; that of `Settings`, without importing it."""


class Assignment(click.ParamType[tuple[str, int | float]]):
    """NAME=VALUE with a number for a value."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int | float]:
        if isinstance(value, tuple):
            return value
        name, _, text = str(value).partition("=")
        for kind in (int, float):
            try:
                return name.strip(), kind(text)
            except ValueError:
                continue
        raise click.BadParameter(f"{value!r} is not NAME=NUMBER, such as batch_size=16", ctx, param)


class Timing(click.ParamType[tuple[str, float]]):
    """full, quick, none, or seconds for the rounds: the mode, and the seconds."""

    name = "TIMING"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        if isinstance(value, tuple):
            return value
        if value in ("full", "quick", "none"):
            return value, TIMING_S
        try:
            seconds = float(value)
        except ValueError:
            seconds = -1.0
        if not 0.0 <= seconds < float("inf"):
            raise click.BadParameter(f"{value!r} is neither full, quick, none nor a number of seconds", param=param)
        return "full", seconds


class Rejectable(click.ParamType[str]):
    """The name of a flag that may reject."""

    name = "FLAG"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from harness.settings import require_rejectable

        try:
            return require_rejectable(str(value))
        except InputError as error:
            raise click.BadParameter(str(error), ctx, param) from None


ONLY = click.option(
    "--only",
    multiple=True,
    metavar="NAME|SET|1-50",
    help="Ask only this problem, this set or these numbers (19_ReLU, level1, level1/1-50); repeatable.",
)


RAY = click.option(
    "--ray",
    metavar="HOST:PORT",
    help="Judge on the nodes of this Ray cluster, which this machine has joined: docs/cluster.md.",
)


def judging(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that judges."""
    for option in reversed(_JUDGING):
        command = option(command)
    return command


_JUDGING: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
    click.option("--problems", type=click.Path(path_type=Path), metavar="DIR", help="Problems: a folder or a file."),
    click.option("--device", default="auto", show_default=True, metavar="auto|cuda[:N]|cpu", help="Where to judge."),
    click.option(
        "--set",
        "workload",
        multiple=True,
        type=Assignment(),
        help="Set a module-level number of the problem; of a batch, of those problems that have it.",
    ),
    click.option(
        "--extract",
        type=click.Choice(["last", "first", "strict"]),
        default="last",
        show_default=True,
        help="Which block of a response is the candidate.",
    ),
    click.option(
        "--toolchain",
        type=click.Choice(["auto", "stock"]),
        default="auto",
        show_default=True,
        help="auto is fast and steps back to stock; stock builds as torch's load_inline does.",
    ),
    click.option(
        "--audit",
        type=click.Choice(["sample", "all", "none"]),
        default="sample",
        show_default=True,
        help="Whose fast builds are made by stock and judged again: a random one in twenty, all, none.",
    ),
    click.option(
        "--require-isolation",
        "least",
        type=click.Choice(["full", "basic", "none"]),
        default="none",
        show_default=True,
        help="Refuse to run with less than this; workers get the best there is.",
    ),
    click.option(
        "--precision",
        type=click.Choice(["fp32", "fp16", "bf16"]),
        default="fp32",
        show_default=True,
        help="Of the inputs, the weights and the outputs.",
    ),
    click.option(
        "--tolerance",
        type=click.Choice(["scaled", "kernelbench"]),
        default="scaled",
        show_default=True,
        help="scaled grows with the output; kernelbench is its allclose.",
    ),
    click.option(
        "--baseline",
        "baselines",
        multiple=True,
        type=click.Choice(["eager", "compile", "compile-max-autotune"]),
        help="Compare with this form of the reference too; eager is always one.",
    ),
    click.option(
        "--trace",
        type=click.Choice(["never", "faster", "always"]),
        default="never",
        show_default=True,
        help="Of which candidates the profiler says whose kernels ran, which takes 0.6 to 1.3 s on a GPU; for all with "
        "--reject no-custom-kernel.",
    ),
    click.option(
        "--reject",
        multiple=True,
        type=Rejectable(),
        help="Reject candidates that earn this flag: reduced-precision, no-custom-kernel, ...",
    ),
    click.option(
        "--races",
        is_flag=True,
        help="Emulate CUDA that a GPU found correct as well, and flag it where threads race (on with --turns).",
    ),
    click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(min=0.1),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="What one step of a candidate may take: import, constructor, one round of calls.",
    ),
    click.option(
        "--timing",
        "timing",
        type=Timing(),
        default="full",
        show_default=True,
        metavar="full|quick|none|SECONDS",
        help="How much to time: SECONDS bounds the rounds (full: 2; ten rounds are taken always); quick ends once the "
        "band of the speed-up is known, but for wins above 1.5; none is correctness only.",
    ),
    click.option(
        "--memory",
        "memory_gib",
        type=click.FloatRange(min=0.5),
        default=16.0,
        show_default=True,
        metavar="GIB",
        help="Host memory of one candidate.",
    ),
]


def settings_of(
    *,
    workload: tuple[tuple[str, int | float], ...],
    extract: str,
    toolchain: str,
    audit: str,
    least: "Least",
    precision: str,
    tolerance: str,
    baselines: tuple[str, ...],
    trace: str,
    reject: tuple[str, ...],
    races: bool,
    timeout_s: float,
    timing: tuple[str, float],
    memory_gib: float,
) -> "Settings":
    """What the options of `judging` come to."""
    from harness.sandbox import AT_LEAST
    from harness.settings import Settings

    return Settings.model_validate(
        {
            "workload": dict(workload),
            "extract": extract,
            "toolchain": toolchain,
            "audit": audit,
            "isolation": AT_LEAST[least],
            "precision": precision,
            "tolerance": tolerance,
            "baselines": baselines or ("eager",),
            "trace": trace,
            "reject": reject,
            "races": races,
            "timeout_s": timeout_s,
            "timing": timing[0],
            "timing_s": timing[1],
            "memory_bytes": int(memory_gib * GIB),
        }
    )
