"""CUDA source to C++ source for the headers in `include/`: line n of the result is line n of what came in.

Rewritten is what is not C++ (launches, `__shared__` declarations) and what a candidate asks about the device its
tensors are on: it believes that they are on 'cuda', they are on the CPU, and it is answered as on a GPU. Each kind of
substitution is listed. What the headers cannot do is refused by name, never compiled into something else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from harness.emulate.constructs import header_not_emulated, name_not_emulated
from harness.emulate.devices import answer_as_on_a_gpu
from harness.emulate.draft import Draft, NotEmulated
from harness.emulate.host_memory import mark_host_memory
from harness.emulate.launches import rewrite_launches
from harness.emulate.shared_memory import rewrite_shared_memory

MOST_CHARACTERS = 1 << 20
"""Of one source. Time and memory grow with it and no faster: ten seconds and half a gigabyte for as many tokens."""


@dataclass(frozen=True)
class Rewritten:
    """`source` has as many lines as what it was made from. `substitutions` are sentences for the record."""

    source: str
    substitutions: tuple[str, ...]


def rewrite(source: str) -> Rewritten:
    """Makes CUDA C++ (or the C++ beside it) compilable against the emulation's headers.

    Any text is accepted, what is not CUDA comes back as it was. Raises NotEmulated, and nothing else.
    """
    if len(source) > MOST_CHARACTERS:
        raise NotEmulated(f"a source of more than {MOST_CHARACTERS:,} characters", 1)
    draft = Draft(source)
    _refuse_what_is_not_emulated(draft)
    rewrite_launches(draft)
    rewrite_shared_memory(draft)
    answer_as_on_a_gpu(draft)
    mark_host_memory(draft)
    return Rewritten("".join(draft.out), draft.substitutions())


_INCLUDE = re.compile(r'include\s*(?:<([^>\n]*)>|"([^"\n]*)")')


def _refuse_what_is_not_emulated(draft: Draft) -> None:
    for index, token in enumerate(draft.tokens):
        if _begins_directive(draft, index):
            construct = _header_of(draft, index)
        elif token.kind == "name":
            construct = name_not_emulated(draft.tokens, index)
        else:
            continue
        if construct is not None:
            raise NotEmulated(construct, token.line)
    _refuse_implicit_warp_synchrony(draft)


def _begins_directive(draft: Draft, index: int) -> bool:
    directive = draft.places[index].directive
    return directive is not None and (index == 0 or draft.places[index - 1].directive != directive)


def _header_of(draft: Draft, index: int) -> str | None:
    directive = draft.places[index].directive
    last = index
    while last < len(draft.tokens) and draft.places[last].directive == directive:
        last += 1
    text = "".join(token.text for token in draft.tokens[index + 1 : last] if token.kind != "comment")
    match = _INCLUDE.match(text.strip())
    return header_not_emulated((match[1] or match[2] or "").strip()) if match else None


def _refuse_implicit_warp_synchrony(draft: Draft) -> None:
    """Volatile shared memory without `__syncwarp`: right only where the lanes of a warp run in lockstep, as on most
    GPUs they happen to. Here they do not, and the kernel would be found wrong. A kernel's own parameters never lead to
    shared memory."""
    names = {token.text for token in draft.tokens if token.kind == "name"}
    if "__shared__" not in names or "__syncwarp" in names:
        return
    parameters = {index for around in _parameters_of_kernels(draft) for index in range(*around)}
    for index, token in enumerate(draft.tokens):
        if token.kind == "name" and token.text == "volatile" and index not in parameters:
            raise NotEmulated("warp-synchronous code on volatile shared memory, without __syncwarp", token.line)


def _parameters_of_kernels(draft: Draft) -> Iterator[tuple[int, int]]:
    """The brackets around the parameters of each `__global__` function: those that its body or a semicolon follows.

    In one pass: a source may have `__global__` a hundred thousand times.
    """
    declares = False
    at: int | None = 0 if draft.tokens else None
    while at is not None:
        closing = draft.partners.get(at) if declares and draft.text(at) == "(" else None
        if closing is not None and draft.text(draft.after(closing)) in ("{", ";"):
            yield at, closing
        declares = draft.text(at) == "__global__" or (declares and draft.text(at) not in ("{", ";"))
        at = draft.after(closing or at)
