"""What a problem needs beside torch: packages, and downloads. It is told from the source; nothing is run."""

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.catalog.source import parse
from harness.schema import Problem

# Calls that fetch weights, configurations or data: transformers and diffusers, huggingface_hub, torch.hub, datasets.
_FETCHING = {
    "from_pretrained", "hf_hub_download", "snapshot_download", "load_dataset", "load_state_dict_from_url",
    "download_url_to_file", "urlopen", "urlretrieve",
}  # fmt: skip
_FETCHING_BELOW = {"torch.hub.load", "hub.load", "requests.get"}


@dataclass(frozen=True)
class Needs:
    """`downloads` are the calls that fetch something, `missing` the packages that are not installed here."""

    downloads: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One phrase for a column or a sentence; empty where nothing is needed."""
        phrases = [f"package {name}" for name in self.missing]
        if self.downloads:
            phrases.append(f"a download by {', '.join(self.downloads)}")
        return ", ".join(phrases)


def needs(problem: Problem) -> Needs:
    """What this problem's reference needs that a plain installation may lack.

    KernelBench's level 4 needs both: its models come from the hub by `AutoModelForCausalLM.from_pretrained`. Raises
    ProblemError for a source that is not Python.
    """
    tree = parse(problem)
    downloads = dict.fromkeys(call for node in ast.walk(tree) if (call := _fetching(node)))
    imported = dict.fromkeys(name for node in ast.walk(tree) for name in _imports(node))
    return Needs(tuple(downloads), tuple(name for name in imported if not _installed(name)))


def needy(problems: Iterable[Problem]) -> str:
    """One sentence where any of `problems` needs something, that goes before judging them; else empty."""
    wants = {problem.title: phrase for problem in problems if (phrase := str(needs(problem)))}
    if not wants:
        return ""
    title, phrase = next(iter(wants.items()))
    more = f", and {len(wants) - 1} more like it (harness problems list)" if len(wants) > 1 else ""
    return f"{title} needs more than torch: {phrase}{more}"


def _fetching(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    name = ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""
    if name.rpartition(".")[2] in _FETCHING or name in _FETCHING_BELOW:
        return name
    if any(_asks_for_weights(keyword) for keyword in node.keywords):  # torchvision's and timm's ways
        return name
    return None


def _asks_for_weights(keyword: ast.keyword) -> bool:
    return keyword.arg == "pretrained" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True


def _imports(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name.partition(".")[0] for alias in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield module.partition(".")[0]


def _installed(name: str) -> bool:
    if name in sys.stdlib_module_names or sys.modules.get(name) is not None:  # which may say nothing of its origin
        return True
    return importlib.util.find_spec(name) is not None
