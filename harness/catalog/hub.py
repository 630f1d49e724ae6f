"""The hub: where models that a problem loads by name lie on this machine. KernelBench's level 4 does."""

import ast
import os
from pathlib import Path

from harness.catalog.source import parse
from harness.schema import Problem

OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


def hub_cache() -> Path:
    """The folder of huggingface_hub's cache, by the variables that it reads itself."""
    if folder := os.environ.get("HF_HUB_CACHE"):
        return Path(folder)
    home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    return Path(os.path.expanduser(home), "hub")  # not Path's, which raises where there is no home


def models_of(problem: Problem) -> tuple[Path, ...]:
    """The folders of models in the cache that texts in the problem's source name, as "gpt2" or "facebook/opt-1.3b".

    Of other models, data sets and tokens there is nothing among them. Raises ProblemError for a source that is not
    Python.
    """
    texts = {node.value for node in ast.walk(parse(problem)) if isinstance(node, ast.Constant)}
    names = sorted(text for text in texts if isinstance(text, str) and 0 < len(text) < 200 and text.isprintable())
    folders = (hub_cache() / f"models--{name.replace('/', '--')}" for name in names if ".." not in name)
    return tuple(folder for folder in folders if folder.is_dir())


def hub_environment(models: tuple[Path, ...]) -> dict[str, str]:
    """Variables for a process that may read these models and has no network; none where there are none."""
    return {**OFFLINE, "HF_HUB_CACHE": str(hub_cache())} if models else {}
