"""CUDA source to C++ source for the headers in `include/`: line n of the result is line n of what came in.

Rewritten is what is not C++ (launches, `__shared__` declarations) and what a candidate asks about the device its
tensors are on: it believes that they are on 'cuda', they are on the CPU, and it is answered as on a GPU. Each kind of
substitution is listed. What the headers cannot do is refused by name, never compiled into something else.
"""

import re
from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.emulate.constructs import header_not_emulated, name_not_emulated
from harness.emulate.scopes import places
from harness.emulate.tokens import match_brackets, next_code, tokenize


class NotEmulated(Exception):
    """The source uses something that has no emulation: `construct`, on the 1-based `line`."""

    def __init__(self, construct: str, line: int) -> None:
        super().__init__(f"{construct} (line {line}) is not emulated on the CPU")
        self.construct = construct
        self.line = line


@dataclass(frozen=True)
class Rewritten:
    """`source` has as many lines as what it was made from. `substitutions` are sentences for the record."""

    source: str
    substitutions: tuple[str, ...]


def rewrite(source: str) -> Rewritten:
    """Makes CUDA C++ (or the C++ beside it) compilable against the emulation's headers.

    Any text is accepted, what is not CUDA comes back as it was. Raises NotEmulated, and nothing else.
    """
    work = _Work(source)
    _refuse_what_is_not_emulated(work)
    _rewrite_launches(work)
    _rewrite_shared_memory(work)
    _answer_as_on_a_gpu(work)
    return Rewritten("".join(work.out), work.substitutions())


@dataclass
class _Work:
    """The tokens of a source, and beside each the text that takes its place."""

    source: str
    notes: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tokens = list(tokenize(self.source))
        self.places = places(self.tokens)
        self.partners = match_brackets(self.tokens)
        self.nulls = [index for index, token in enumerate(self.tokens) if token.text == "NULL"]
        self.out = [token.text for token in self.tokens]

    def text(self, index: int | None) -> str:
        """The source's text at `index`; "" where there is none."""
        return self.tokens[index].text if index is not None and 0 <= index < len(self.tokens) else ""

    def after(self, index: int) -> int | None:
        return next_code(self.tokens, index + 1)

    def before(self, index: int) -> int | None:
        return next_code(self.tokens, index - 1, -1)

    def blank(self, first: int, last: int) -> None:
        """Removes the code from `first` to `last`, both included. What separates it stays, newlines among it."""
        for index in range(first, last + 1):
            if self.tokens[index].is_code:
                self.out[index] = ""

    def note(self, what: str, index: int) -> None:
        self.notes.setdefault(what, []).append(self.tokens[index].line)

    def substitutions(self) -> tuple[str, ...]:
        return tuple(
            f"{what} ({f'{len(lines)} times, lines' if len(lines) > 1 else 'line'} {', '.join(map(str, lines))})"
            for what, lines in self.notes.items()
        )


# ---- what is refused ----

_INCLUDE = re.compile(r'include\s*(?:<([^>\n]*)>|"([^"\n]*)")')


def _refuse_what_is_not_emulated(work: _Work) -> None:
    for index, token in enumerate(work.tokens):
        if token.text == "#" and work.places[index].directive is not None:
            construct = _header_of(work, index)
        elif token.kind == "name":
            construct = name_not_emulated(work.tokens, index)
        else:
            continue
        if construct is not None:
            raise NotEmulated(construct, token.line)
    _refuse_implicit_warp_synchrony(work)


def _header_of(work: _Work, index: int) -> str | None:
    directive = work.places[index].directive
    last = index
    while last < len(work.tokens) and work.places[last].directive == directive:
        last += 1
    text = "".join(token.text for token in work.tokens[index + 1 : last] if token.kind != "comment")
    match = _INCLUDE.match(text.strip())
    return header_not_emulated((match[1] or match[2] or "").strip()) if match else None


def _refuse_implicit_warp_synchrony(work: _Work) -> None:
    """Volatile shared memory without `__syncwarp`: right only where the lanes of a warp run in lockstep, as on most
    GPUs they happen to. Here they do not, and the kernel would be found wrong."""
    names = {token.text for token in work.tokens if token.kind == "name"}
    if "__shared__" not in names or "__syncwarp" in names:
        return
    for token in work.tokens:
        if token.kind == "name" and token.text == "volatile":
            raise NotEmulated("warp-synchronous code on volatile shared memory, without __syncwarp", token.line)


# ---- launches ----

_ARGUMENTS = "cuda_emulation_arguments"
_NO_CALLEE = {"return", "if", "else", "while", "for", "switch", "do", "case", "sizeof"}


def _rewrite_launches(work: _Work) -> None:
    for index in range(len(work.tokens)):
        if not _opens_launch(work, index):
            continue
        close = _end_of_configuration(work, index)
        start = _start_of_callee(work, index)
        if close is None or start is None:
            continue  # cut off, or no launch: the compiler will say so
        if work.places[start].device:
            raise NotEmulated("dynamic parallelism (a launch from device code)", work.tokens[index].line)
        _rewrite_launch(work, start, index, close)


def _rewrite_launch(work: _Work, start: int, opening: int, closing: int) -> None:
    """`name<<<grid, block>>>(x)` to `launch("name", [&](auto&... a) { name(a...); }, grid, block)(x)`."""
    kernel = " ".join("".join(token.text if token.is_code else " " for token in work.tokens[start:opening]).split())
    literal = kernel.replace("\\", "\\\\").replace('"', '\\"')
    work.out[start] = f'::cuda_emulation::launch("{literal}", [&](auto&... {_ARGUMENTS}) {{ {work.out[start]}'
    work.out[opening : opening + 3] = [f"({_ARGUMENTS}...); }}, ", "", ""]
    work.out[closing : closing + 3] = [")", "", ""]
    work.note(f"{kernel}<<<...>>> run on the CPU", opening)
    _replace_null_arguments(work, closing + 3)


def _opens_launch(work: _Work, index: int) -> bool:
    return [work.text(i) for i in range(index - 1, index + 4)].count("<") == 3 and all(
        work.text(i) == "<" for i in range(index, index + 3)
    )


def _end_of_configuration(work: _Work, opening: int) -> int | None:
    """Index of the first `>` of the `>>>` that ends the configuration and is followed by arguments."""
    depth = 0
    for index in range(opening + 3, len(work.tokens)):
        text = work.text(index)
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if depth < 0 or (depth == 0 and text == ";") or _opens_launch(work, index):
            return None
        if depth == 0 and text == ">" and work.text(index + 1) != ">":  # the last of a run of them
            ended = all(work.text(i) == ">" for i in range(index - 2, index))
            if ended and work.text(work.after(index)) == "(":
                return index - 2
    return None


def _start_of_callee(work: _Work, opening: int) -> int | None:
    """Index of the first token of what is launched: a path of names with template arguments, a variable, a member, an
    element of an array, or anything in parentheses."""
    start: int | None = None
    index = work.before(opening)
    while index is not None:
        if work.text(index) in (")", "]"):
            start = work.partners.get(index)
            index = work.before(start) if start is not None else None
        # From here it must be a name, with or without template arguments, or what was found so far is all.
        if work.text(index) == ">" and index is not None:
            angle = _opening_angle(work, index)
            index = work.before(angle) if angle is not None else None
        if index is None or work.tokens[index].kind != "name" or work.text(index) in _NO_CALLEE:
            return start
        start = index
        joint = work.before(index)
        if joint is not None and work.text(joint) == "template":
            start, joint = joint, work.before(joint)
        if joint is None or work.text(joint) not in ("::", ".", "->"):
            return start
        start = joint if work.text(joint) == "::" else start
        index = work.before(joint)
    return start


def _opening_angle(work: _Work, closing: int) -> int | None:
    """Index of the `<` of the template arguments that end at `closing`; brackets among them are stepped over."""
    depth = 0
    index: int | None = closing
    while index is not None:
        text = work.text(index)
        if text in (")", "]", "}"):
            index = work.partners.get(index)
            if index is None:
                return None
        elif text in (";", "{", "(", "["):
            return None
        else:
            depth += (text == ">") - (text == "<")
            if depth == 0:
                return index
        index = work.before(index)
    return None


def _replace_null_arguments(work: _Work, after: int) -> None:
    """NULL is an integer to whoever deduces its type; nullptr converts to the kernel's pointer."""
    opening = next_code(work.tokens, after)
    closing = None if opening is None else work.partners.get(opening)
    if opening is None or closing is None:
        return
    for index in work.nulls[bisect(work.nulls, opening) : bisect(work.nulls, closing)]:
        if work.text(work.before(index)) in ("(", ",") and work.text(work.after(index)) in (")", ","):
            work.out[index] = "nullptr"


# ---- shared memory ----

_KEPT_QUALIFIERS = ("volatile", "const")
_QUALIFIERS = {"extern", "static", "__shared__", *_KEPT_QUALIFIERS}
_ALIGNMENTS = {"alignas", "__align__"}
_BEFORE_A_DECLARATION = ("", ";", "{", "}", ":", ")")
_LONGEST_DECLARATION = 1000  # tokens; a bound for texts that only look like one
_EXPLICIT_ALIGNMENT = 1024  # bytes; whatever alignment was asked for, this satisfies it


@dataclass(frozen=True)
class _Declaration:
    """A declaration of shared variables, in indices: `specifiers` from its first token to the last before the type,
    `names` the declared names, `end` its semicolon. `type_prefix` is what the type takes over from the specifiers."""

    specifiers: tuple[int, int]
    names: tuple[int, ...]
    end: int
    is_dynamic: bool
    is_aligned: bool
    type_prefix: str


def _rewrite_shared_memory(work: _Work) -> None:
    declared_outside: set[str] = set()
    looked_at = -1
    for index, token in enumerate(work.tokens):
        if token.text != "__shared__" or index <= looked_at:
            continue
        looked_at = _specifiers(work, index)[1]
        declaration = _declaration(work, index)
        if declaration is None:
            continue  # too unusual to be taken apart: the headers' macro __shared__ does what it can
        outside = work.places[index].outside and work.places[index].directive is None
        if declaration.is_dynamic and outside:
            _rewrite_dynamic_outside(work, declaration, declared_outside)
        elif declaration.is_dynamic:
            _rewrite_dynamic(work, declaration)
        elif not outside:
            _rewrite_static(work, declaration)
        work.note("shared memory put into the CPU's", index)


def _rewrite_static(work: _Work, declaration: _Declaration) -> None:
    """`__shared__ T a[n], b;` to a typedef of each name and a reference to the block's copy of it."""
    work.blank(*declaration.specifiers)
    work.out[declaration.specifiers[0]] = f"typedef {declaration.type_prefix}"
    alignment = f", {_EXPLICIT_ALIGNMENT}" if declaration.is_aligned else ""
    for index in declaration.names:
        name = work.text(index)
        work.out[index] = f"{name}_shared_type"
        work.out[declaration.end] += (
            f" static char {name}_shared_key;"
            f" auto& {name} = ::cuda_emulation::static_shared<{name}_shared_type>({name}_shared_key{alignment});"
        )


def _rewrite_dynamic(work: _Work, declaration: _Declaration) -> None:
    """`extern __shared__ T a[];` in a function to a pointer to the block's dynamic shared memory."""
    (name,) = declaration.names
    work.blank(*declaration.specifiers)
    work.out[declaration.specifiers[0]] = (
        f"const auto {work.text(name)} = ::cuda_emulation::dynamic_shared<{declaration.type_prefix}"
    )
    work.out[name] = ""
    work.out[declaration.end] = ">();"


def _rewrite_dynamic_outside(work: _Work, declaration: _Declaration, declared: set[str]) -> None:
    """The same outside a function, where no block is running: a variable that every block sets when it starts.

    CUDA lets it be declared again, C++ does not.
    """
    (index,) = declaration.names
    name = work.text(index)
    if name in declared:
        work.blank(declaration.specifiers[0], declaration.end)
        return
    declared.add(name)
    work.blank(*declaration.specifiers)
    work.out[declaration.specifiers[0]] = f"static thread_local std::decay_t<{declaration.type_prefix}"
    work.out[index] = ""
    work.out[declaration.end] = (
        f"> {name}; static const bool {name}_is_registered = ::cuda_emulation::register_dynamic_shared("
        f"[](void* memory) {{ {name} = static_cast<decltype({name})>(memory); }});"
    )


def _declaration(work: _Work, shared: int) -> _Declaration | None:
    """The declaration that the `__shared__` at `shared` is part of; None where it is none that is known."""
    first, last = _specifiers(work, shared)
    end = _end_of_declaration(work, last + 1)
    # In a directive, what stands before says nothing about where a declaration begins.
    begins = work.places[first].directive is not None or work.text(work.before(first)) in _BEFORE_A_DECLARATION
    if end is None or not begins:
        return None
    words = [work.text(index) for index in range(first, last + 1)]
    is_dynamic = "extern" in words
    names = _declared_names(work, last + 1, end, arrays_only=is_dynamic)
    if names is None or (is_dynamic and len(names) != 1):
        return None
    return _Declaration(
        specifiers=(first, last),
        names=names,
        end=end,
        is_dynamic=is_dynamic,
        is_aligned=not _ALIGNMENTS.isdisjoint(words),
        type_prefix="".join(f"{word} " for word in _KEPT_QUALIFIERS if word in words),
    )


def _specifiers(work: _Work, shared: int) -> tuple[int, int]:
    """First and last token of the qualifiers and alignments around `__shared__`."""
    first = last = shared
    while (index := work.before(first)) is not None:
        opening = work.partners.get(index) if work.text(index) == ")" else None
        named = index if opening is None else work.before(opening)
        if named is None or work.text(named) not in (_QUALIFIERS if opening is None else _ALIGNMENTS):
            break
        first = named
    while (index := work.after(last)) is not None:
        if work.text(index) in _QUALIFIERS:
            last = index
        elif work.text(index) in _ALIGNMENTS and work.text(opening := work.after(index)) == "(":
            closing = None if opening is None else work.partners.get(opening)
            if closing is None:
                break
            last = closing
        else:
            break
    return first, last


def _end_of_declaration(work: _Work, index: int) -> int | None:
    """Index of the `;` outside all brackets, in the same directive if in one; None where something else ends it."""
    start = index
    while index < min(len(work.tokens), start + _LONGEST_DECLARATION):
        if work.text(index) in (";", "}", ")", "]") or work.places[index].directive != work.places[start].directive:
            return index if work.text(index) == ";" else None
        index = work.partners.get(index, index) + 1  # steps over what is in brackets
    return None


def _declared_names(work: _Work, first: int, end: int, *, arrays_only: bool) -> tuple[int, ...] | None:
    """The names that `T a[2], b;` declares: of each piece between commas the last name before its dimensions."""
    names: list[int] = []
    name: int | None = None
    is_array = False
    brackets = angles = 0
    for index in range(first, end + 1):
        token = work.tokens[index]
        depth = brackets + angles
        if depth == 0 and token.text == "=":
            return None
        if depth == 0 and token.text in (",", ";"):
            if name is None or (arrays_only and not is_array):
                return None
            names.append(name)
            name, is_array = None, False
        elif depth == 0 and token.kind == "name" and not is_array:
            name = index
        is_array = is_array or (depth == 0 and token.text == "[")
        brackets += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if brackets == 0:  # within brackets they compare
            angles += (token.text == "<") - (token.text == ">")
    return tuple(names) or None


# ---- what a candidate asks about devices ----

_CUDA_STRING = re.compile(r'"cuda(?::\d+)?"')
_EMULATED_ARCHITECTURE = "900, an H100"


def _answer_as_on_a_gpu(work: _Work) -> None:
    for index, token in enumerate(work.tokens):
        if token.kind == "string" and _CUDA_STRING.fullmatch(token.text):
            work.out[index] = '"cpu"'
            work.note(f"the device {token.text} taken as the CPU", index)
        elif token.kind == "name" and token.text in _ANSWERS:
            _ANSWERS[token.text](work, index)


def _answer_is_cuda(work: _Work, index: int) -> None:
    if not _is_member_call(work, index):
        return
    work.out[index] = "is_cpu"
    # `x.type()` has an is_cuda() and no is_cpu(); `x.device()` has both.
    receiver = _code_before(work, index, 4)
    if [work.text(i) for i in receiver] == ["type", "(", ")", "."]:
        work.out[receiver[0]] = "device"
    work.note("is_cuda() answered as if on the GPU", index)


def _answer_is_cpu(work: _Work, index: int) -> None:
    if _is_member_call(work, index):
        work.out[index] = "is_cuda"
        work.note("is_cpu() answered as if on the GPU", index)


def _answer_to_cuda(work: _Work, index: int) -> None:
    if _is_member_call(work, index):
        work.out[index] = "cpu"
        work.note("Tensor::cuda() kept on the CPU", index)


def _answer_kcuda(work: _Work, index: int) -> None:
    work.out[index] = "kCPU"
    work.note("kCUDA taken as the CPU", index)


def _answer_device_type(work: _Work, index: int) -> None:
    scope = work.before(index)
    owner = work.text(work.before(scope)) if scope is not None and work.text(scope) == "::" else ""
    registered = "TORCH_LIBRARY_IMPL" in map(work.text, _code_before(work, index, 4))
    if owner in ("DeviceType", "Backend", "DispatchKey") or registered:
        work.out[index] = "CPU"
        work.note(f"{owner or 'TORCH_LIBRARY_IMPL'}{'::' if owner else ' for '}CUDA taken as the CPU", index)


def _answer_is_available(work: _Work, index: int) -> None:
    path = _code_before(work, index, 4)
    if [work.text(i) for i in path] == ["torch", "::", "cuda", "::"]:
        work.out[path[0]] = "at"
        work.note("torch::cuda::is_available() answered as if on the GPU", index)


def _answer_architecture(work: _Work, index: int) -> None:
    work.out[index] = "CUDA_EMULATION_ARCH"
    work.note(f"__CUDA_ARCH__ taken as {_EMULATED_ARCHITECTURE}", index)


def _answer_compiler(work: _Work, index: int) -> None:
    work.out[index] = "CUDA_EMULATION"
    work.note(f"{work.text(index)} taken as defined", index)


def _spell_noinline(work: _Work, index: int) -> None:
    # Here, because as a macro it would also reach into the standard library's own __attribute__((__noinline__)).
    if work.text(work.before(index)) != "(":
        work.out[index] = "__attribute__((noinline))"


_MOST_SPECIFIERS = 6


def _spell_forceinline(work: _Work, index: int) -> None:
    """`__forceinline__` is `inline` to the headers, and beside an `inline` of the candidate's own one too many."""
    for step in (-1, 1):
        at = next_code(work.tokens, index + step, step)
        for _ in range(_MOST_SPECIFIERS):
            if at is None or work.tokens[at].kind != "name":
                break
            if work.text(at) in ("inline", "__inline__"):
                work.out[index] = ""
            at = next_code(work.tokens, at + step, step)


_ANSWERS: dict[str, Callable[[_Work, int], None]] = {
    "is_cuda": _answer_is_cuda,
    "is_cpu": _answer_is_cpu,
    "cuda": _answer_to_cuda,
    "kCUDA": _answer_kcuda,
    "CUDA": _answer_device_type,
    "is_available": _answer_is_available,
    "__CUDA_ARCH__": _answer_architecture,
    "__CUDACC__": _answer_compiler,
    "__NVCC__": _answer_compiler,
    "__noinline__": _spell_noinline,
    "__forceinline__": _spell_forceinline,
}


def _is_member_call(work: _Work, index: int) -> bool:
    return work.text(work.before(index)) in (".", "->") and work.text(work.after(index)) == "("


def _code_before(work: _Work, index: int, count: int) -> list[int]:
    """Up to `count` code tokens before `index`, in the source's order."""
    found: list[int] = []
    at = work.before(index)
    while at is not None and len(found) < count:
        found.insert(0, at)
        at = work.before(at)
    return found
