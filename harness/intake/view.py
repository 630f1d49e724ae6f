"""View: what the screening rules look at. Names resolved through imports, and C++ with its comments removed."""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.languages.c_source import is_c, without_comments

_LONGEST_CHAIN = 16  # attributes in one dotted name; longer chains are no API and would cost quadratic time
_LONGEST_NAME = 400  # characters of a dotted name; one that stands for a megabyte may be mentioned 60,000 times
_BUILTINS = frozenset((*dir(builtins), "__builtins__", "__loader__"))
_IMPORTERS = {"__import__", "importlib.import_module"}

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Use:
    """One mention of a dotted name: `torch.cuda.Event` for `from torch.cuda import Event as E; E`."""

    name: str
    line: int


@dataclass(frozen=True)
class Call:
    """One call of something with a name."""

    name: str
    node: ast.Call

    @property
    def line(self) -> int:
        return self.node.lineno


@dataclass(frozen=True)
class Native:
    """One string of C++ or CUDA, comments blanked. It spans the lines `first` to `last` of the candidate."""

    code: str
    first: int
    last: int

    def matches(self, pattern: re.Pattern[str]) -> Iterator[tuple[str, int]]:
        """What `pattern` finds, each with its line of the candidate."""
        line, counted = self.first, 0
        for match in pattern.finditer(self.code):
            line += self.code.count("\n", counted, match.start())
            counted = match.start()
            yield " ".join(match.group().split()), min(line, self.last)


@dataclass(frozen=True)
class View:
    """A candidate taken apart. `stores` are the attributes and items that it assigns to or deletes.

    `nodes` come as the text has them, each before what lies in it; `within` says from which of them to which that is.
    """

    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    within: dict[ast.AST, tuple[int, int]]
    parents: dict[ast.AST, ast.AST]
    aliases: dict[str, str]
    uses: tuple[Use, ...]
    uses_by_root: dict[str, tuple[Use, ...]]
    calls: tuple[Call, ...]
    called: dict[ast.AST, Call]
    stores: tuple[Use, ...]
    native: tuple[Native, ...]
    strings: tuple[ast.Constant, ...]

    def below(self, *nodes: ast.AST) -> Iterator[ast.AST]:
        """These nodes and all that lies in them: much is asked for again by all that lies around it, and not walked."""
        return (one for node in nodes for one in self.nodes[slice(*self.within[node])])

    def uses_of(self, *names: str) -> Iterator[Use]:
        """Mentions of any of `names`, and of what lies below them."""
        roots = dict.fromkeys(_root(name) for name in names)
        near = (use for root in roots for use in self.uses_by_root.get(root, ()))
        return (use for use in near if is_below(use.name, *names))

    def calls_of(self, *names: str) -> Iterator[Call]:
        return (call for call in self.calls if call.name in names)

    def methods_called(self, *names: str) -> Iterator[Call]:
        """Calls of an attribute with one of `names`, whatever it belongs to."""
        return (call for call in self.calls if call.name.rpartition(".")[2] in names and "." in call.name)

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in self.nodes if isinstance(node, ast.ClassDef))

    def functions(self, *names: str) -> Iterator[FunctionNode]:
        functions = (node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        return (function for function in functions if function.name in names)

    def name_of(self, node: ast.AST) -> str:
        return dotted(node, self.aliases)

    def meaning(self, name: str) -> str:
        return _meaning(name, self.aliases)


def is_below(name: str, *prefixes: str) -> bool:
    """Whether a dotted name is one of `prefixes` or lies below it."""
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def view_of(tree: ast.Module) -> View:
    """Take a syntax tree apart once, so that rules need not walk it."""
    within: dict[ast.AST, tuple[int, int]] = {}
    nodes = tuple(_in_order(tree, within))
    aliases = _aliases(nodes)
    uses: dict[Use, None] = {}  # in order, each once
    calls: list[Call] = []
    stores: list[Use] = []
    for node in nodes:
        match node:
            case ast.Import(names=imported):
                uses.update(dict.fromkeys(Use(alias.name, node.lineno) for alias in imported))
            case ast.ImportFrom(names=imported):
                uses.update(dict.fromkeys(Use(_below(_origin(node), alias.name), node.lineno) for alias in imported))
            case ast.Call(func=func):
                calls.append(Call(dotted(func, aliases) or "?", node))
                if name := dotted(node, aliases):
                    uses[Use(name, node.lineno)] = None
            case ast.Attribute(ctx=ast.Load()) | ast.Name(ctx=ast.Load()):
                if name := dotted(node, aliases):
                    uses[Use(name, node.lineno)] = None
            case ast.Attribute(value=value, attr=attr):
                stores.append(Use(f"{dotted(value, aliases) or '?'}.{attr}", node.lineno))
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                stores.append(Use(f"{dotted(value, aliases) or '?'}[]", node.lineno))
    strings = _strings(nodes)
    return View(
        tree=tree,
        nodes=nodes,
        within=within,
        parents={child: node for node in nodes for child in ast.iter_child_nodes(node)},
        aliases=aliases,
        uses=tuple(uses),
        uses_by_root=_by_root(uses),
        calls=tuple(calls),
        called={call.node: call for call in calls},
        stores=tuple(stores),
        native=tuple(_native(strings)),
        strings=strings,
    )


def _in_order(tree: ast.Module, within: dict[ast.AST, tuple[int, int]]) -> list[ast.AST]:
    """Every node before those in it. `within` is told where in the list each one and what lies in it stand."""
    found: list[ast.AST] = []
    ahead: list[ast.AST | tuple[ast.AST, int]] = [tree]
    while ahead:
        node = ahead.pop()
        if isinstance(node, tuple):
            within[node[0]] = node[1], len(found)
            continue
        ahead.append((node, len(found)))
        found.append(node)
        ahead.extend([*ast.iter_child_nodes(node)][::-1])
    return found


def _root(name: str) -> str:
    return name.partition(".")[0]


def _by_root(uses: Iterable[Use]) -> dict[str, tuple[Use, ...]]:
    grouped: dict[str, list[Use]] = {}
    for use in uses:
        grouped.setdefault(_root(use.name), []).append(use)
    return {root: tuple(group) for root, group in grouped.items()}


def dotted(node: ast.AST, aliases: dict[str, str]) -> str:
    """The dotted name that an expression means, "" where it means none that can be told.

    Seen through: import aliases, `getattr(x, "name")`, `__import__("os")`, `sys.modules["os"]`, names bound to modules.
    The candidate's own variables carry a "~", so that one named `time` is not the module: `x.half` is "~x.half".
    What hangs on the result of an expression starts with "?": `f().half` is "?.half".
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < _LONGEST_CHAIN:
        parts.append(node.attr)
        node = node.value
    match node:
        case ast.Name(id=name):
            parts.append(_meaning(name, aliases))
        case ast.Call(func=ast.Name(id="getattr"), args=[inner, ast.Constant(value=str(name)), *_]):
            parts.append(f"{_shallow(inner, aliases)}.{name}")
        case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if _shallow(func, aliases) in _IMPORTERS:
            parts.append(name)
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(name))) if (
            _shallow(inner, aliases) == "sys.modules"
        ):
            parts.append(name)
        case _:
            if not parts:
                return ""
            parts.append("?")
    return _short(".".join(reversed(parts)))


def _shallow(node: ast.AST, aliases: dict[str, str]) -> str:
    """A plain chain of attributes as a dotted name; "?" for anything else. Does not recurse into calls."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < _LONGEST_CHAIN:
        parts.append(node.attr)
        node = node.value
    parts.append(_meaning(node.id, aliases) if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(parts))


def _meaning(name: str, aliases: dict[str, str]) -> str:
    return aliases.get(name) or (name if name in _BUILTINS else f"~{name}")


def _aliases(nodes: tuple[ast.AST, ...]) -> dict[str, str]:
    """What imported names stand for, and names that are bound to one of those or to a builtin."""
    aliases: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Import(names=imported):
                for alias in imported:
                    root = alias.name.partition(".")[0]
                    aliases.update({alias.asname: _short(alias.name)} if alias.asname else {root: root})
            case ast.ImportFrom(names=imported):
                origin = _origin(node)
                aliases.update({alias.asname or alias.name: _below(origin, alias.name) for alias in imported})
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                meaning = dotted(value, aliases)
                if meaning and not meaning.startswith(("~", "?")):
                    aliases.setdefault(name, meaning)
    return aliases


def _origin(node: ast.ImportFrom) -> str:
    return _short("." * node.level + (node.module or ""))


def _below(origin: str, name: str) -> str:
    return _short(f"{origin}.{name}")


def _short(name: str) -> str:
    """The name; of one that is longer than any API's the attribute at its end, as of the result of an expression."""
    return name if len(name) <= _LONGEST_NAME else f"?.{name.rpartition('.')[2][:_LONGEST_NAME]}"


def _strings(nodes: tuple[ast.AST, ...]) -> tuple[ast.Constant, ...]:
    """String constants that are used for something: no docstrings, no strings that stand alone as comments do."""
    idle = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    constants = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in idle)
    return tuple(node for node in constants if isinstance(node.value, str))


def _native(strings: tuple[ast.Constant, ...]) -> Iterator[Native]:
    for node in strings:
        text = str(node.value)
        if len(text) < 16:  # shorter than any definition or include
            continue
        code = without_comments(text)
        if is_c(code):
            yield Native(code, node.lineno, node.end_lineno or node.lineno)
