"""Rules about text that does not say what it does."""

import ast
import re
from bisect import bisect_left

from harness.intake.rules.finding import Finding, Findings, literal, mentions
from harness.intake.view import View, is_below

_LOADERS = ("torch.utils.cpp_extension.load_inline", "torch.utils.cpp_extension.load")
_MOST_NAMED = 8
_DECODERS = ("base64", "binascii", "zlib", "bz2", "lzma", "gzip", "codecs.decode", "marshal", "bytes.fromhex", "chr")


def dynamic_code(view: View) -> Findings:
    """Runs code that is not in the text, or not yet."""
    for call in view.calls_of("exec", "eval", "compile", "builtins.exec", "builtins.eval", "builtins.compile"):
        yield Finding(f"calls {call.name}", call.line)
    names = ("types.FunctionType", "types.CodeType", "runpy", "code.InteractiveInterpreter", "marshal", "dill")
    yield from mentions(view.uses_of(*names), "uses")
    for call in view.calls_of("__import__", "importlib.import_module"):
        if not literal(call, 0):
            yield Finding("imports a module by a computed name", call.line)


def hidden_code(view: View) -> Findings:
    """Decodes text and runs it."""
    decodes = any(view.uses_of(*_DECODERS))
    for call in view.calls_of("exec", "eval", "builtins.exec", "builtins.eval"):
        if decodes and not literal(call, 0):
            yield Finding(f"decodes text and calls {call.name}", call.line)
    decoders = [call for call in view.calls if is_below(call.name, *_DECODERS)]
    places = [view.within[call.node][0] for call in decoders]
    for call in view.calls_of(*_LOADERS):  # of loaders in loaders each is asked about all that lies in it
        first, end = (bisect_left(places, place) for place in view.within[call.node])
        for inner in decoders[first:end][:_MOST_NAMED]:
            yield Finding(f"compiles what {inner.name} decodes", call.line)


def obfuscation(view: View) -> Findings:
    """Text that is made hard to read: decoders, and names put together from pieces."""
    yield from mentions(view.uses_of(*_DECODERS), "decodes by")
    for call in view.calls_of("getattr", "setattr", "hasattr"):
        if len(call.node.args) < 2 or literal(call, 1):
            continue
        owner = view.name_of(call.node.args[0])
        if owner and owner[0] not in "~?":
            yield Finding(f"{call.name} with a computed name on {owner}", call.line)
    for node in view.nodes:
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            name = view.name_of(node.value.func) if isinstance(node.value, ast.Call) else view.name_of(node.value)
            if name in ("globals", "vars", "locals", "__builtins__") or name.endswith(".__dict__"):
                yield Finding(f"looks up a computed name in {name}", node.lineno)
    yield from mentions(view.uses_of("__builtins__", "builtins.__dict__"), "uses")


def token_paste(view: View) -> Findings:
    """Names in C++ put together by the preprocessor. Dispatch macros do it honestly."""
    macro = re.compile(r"#[ \t]*+define(?:\\\n|[^\n])*+")
    for source in view.native:
        yield from (Finding("pastes tokens in C++", line) for text, line in source.matches(macro) if "##" in text)
