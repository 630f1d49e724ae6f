"""Options of the commands that ask a model, and what they come to."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from harness.cli.options import ONLY
from harness.errors import InputError
from harness.languages import prompted

if TYPE_CHECKING:
    from harness.catalog import Catalog
    from harness.generate.asking import Server
    from harness.generate.conversation import Plan
    from harness.schema.generation import GenerationSettings, Usage

OPENAI = "https://api.openai.com/v1"
_OURS = ("model", "messages", "input", "stream")


class Parameter(click.ParamType[tuple[str, Any]]):
    """NAME=VALUE, the value as JSON or, where it is none, as text."""

    name = "NAME=JSON"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not equals or not name.strip():
            raise click.BadParameter(f"{value!r} is not NAME=VALUE, such as reasoning_effort=high", ctx, param)
        if name.strip() in _OURS:
            raise click.BadParameter(f"{name.strip()!r} is set by the harness itself", ctx, param)
        try:
            return name.strip(), json.loads(text)
        except ValueError:
            return name.strip(), text


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens that are read and that are written."""

    read: float
    written: float

    def of(self, usage: "Usage") -> float:
        return ((usage.prompt_tokens or 0) * self.read + (usage.completion_tokens or 0) * self.written) / 1e6


class PriceType(click.ParamType[Price]):
    """IN/OUT in dollars."""

    name = "IN/OUT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Price:
        if isinstance(value, Price):
            return value
        read, _, written = str(value).partition("/")
        try:
            return Price(float(read), float(written))
        except ValueError:
            raise click.BadParameter(
                f"{value!r} is not IN/OUT in dollars for a million tokens, such as 0.27/1.10", ctx, param
            ) from None


def generating(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that asks a model."""
    for option in reversed(_GENERATING):
        command = option(command)
    return command


_GENERATING: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
    click.option("--model", required=True, help="The model, as the server calls it."),
    click.option(
        "--base-url",
        envvar="OPENAI_BASE_URL",
        default=OPENAI,
        show_default=True,
        metavar="URL",
        help="Any server that speaks OpenAI's API: vLLM, SGLang, Ollama, DeepSeek, OpenRouter, ...",
    ),
    click.option(
        "--key-env",
        default="OPENAI_API_KEY",
        show_default=True,
        metavar="NAME",
        help="The environment variable that holds the key. Keys are never written down.",
    ),
    click.option(
        "--api", type=click.Choice(["chat", "responses"]), default="chat", show_default=True, help="Which API."
    ),
    ONLY,
    click.option(
        "--samples", type=click.IntRange(min=1), default=1, show_default=True, help="Answers to each problem."
    ),
    click.option(
        "--turns",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Answers in a conversation: after each but the last, its verdict is sent back.",
    ),
    click.option(
        "--variant",
        type=click.Choice(["zero-shot", "one-shot", "few-shot"]),
        default="one-shot",
        show_default=True,
        help="How many examples the prompt shows.",
    ),
    click.option(
        "--language",
        type=click.Choice(list(prompted())),
        default="cuda",
        show_default=True,
        help="What kernels are asked for.",
    ),
    click.option("--hardware", metavar="GPU", help="State this device's figures in the prompt, such as H200."),
    click.option(
        "--templates", type=click.Path(path_type=Path), metavar="DIR", help="Templates of your own, laid over ours."
    ),
    click.option("--temperature", type=click.FloatRange(min=0.0), help="[default: the server's]"),
    click.option("--max-tokens", type=click.IntRange(min=1), help="Longest answer.  [default: the server's]"),
    click.option(
        "--param", "parameters", multiple=True, type=Parameter(), help="Anything else for the request; repeatable."
    ),
    click.option(
        "--concurrency", type=click.IntRange(min=1), default=16, show_default=True, help="Requests in flight at once."
    ),
    click.option(
        "--answer-timeout",
        "deadline_s",
        type=click.FloatRange(min=1.0),
        default=900.0,
        show_default=True,
        metavar="SECONDS",
        help="What one answer may take; what has come by then is kept as truncated.",
    ),
    click.option("--price", type=PriceType(), help="Dollars for a million tokens, to show what it costs."),
    click.option("--dry-run", is_flag=True, help="Print the prompts and ask nobody."),
]

ASKING = (
    "model", "api", "only", "samples", "turns", "variant", "language", "hardware", "templates", "temperature",
    "max_tokens", "parameters",
)  # fmt: skip
"""Which of them, with the precision, `wanted_of` takes."""


@dataclass(frozen=True)
class Wanted:
    """What the options of `generating` come to, apart from which server to ask."""

    plan: "Plan"
    settings: "GenerationSettings"


def wanted_of(
    catalog: "Catalog",
    *,
    model: str,
    api: str,
    only: Sequence[str],
    samples: int,
    turns: int,
    variant: str,
    language: str,
    precision: str,
    hardware: str | None,
    templates: Path | None,
    temperature: float | None,
    max_tokens: int | None,
    parameters: Sequence[tuple[str, Any]],
) -> Wanted:
    """Raises InputError for problems, templates or a device that there are not."""
    from harness.generate.conversation import Plan
    from harness.generate.hardware import find_hardware
    from harness.generate.prompts import load_templates
    from harness.schema.generation import GenerationSettings

    loaded = load_templates(templates)
    settings = GenerationSettings.model_validate(
        {
            "model": model,
            "api": api,
            "variant": variant,
            "language": language,
            "precision": precision,
            "hardware": find_hardware(hardware).name if hardware else "",
            "templates_sha256": loaded.sha256,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "parameters": dict(parameters),
        }
    )
    return Wanted(Plan(catalog.only(only), samples, turns, loaded), settings)


def server_of(*, base_url: str, key_env: str, deadline_s: float) -> "Server":
    """The server to ask. Raises InputError for a URL that is none or holds a secret, and where a key is missing."""
    from harness.generate.asking import Server

    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{base_url!r} is no base URL of a server: give one such as http://localhost:8000/v1")
    if parts.username or parts.password or parts.query:
        raise InputError(f"the base URL of {parts.hostname} holds what may be a secret: put the key into {key_env}")
    key = os.environ.get(key_env, "").strip()
    if not key and base_url.rstrip("/") == OPENAI:
        raise InputError(f"there is no key in the environment variable {key_env}: set it, or name another server")
    return Server(base_url.rstrip("/"), key or "none", deadline_s)
