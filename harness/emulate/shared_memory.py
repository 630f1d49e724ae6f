"""`__shared__` declarations: each variable becomes the running block's own copy, handed out by the headers."""

from dataclasses import dataclass

from harness.emulate.draft import Draft

_KEPT_QUALIFIERS = ("volatile", "const")
_QUALIFIERS = {"extern", "static", "__shared__", *_KEPT_QUALIFIERS}
_ALIGNMENTS = {"alignas", "__align__"}
_BEFORE_A_DECLARATION = (";", "{", "}", ":", ")")
_ENDS = (";", "}", ")", "]", "__shared__")
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


def rewrite_shared_memory(draft: Draft) -> None:
    declared_outside: set[str] = set()
    looked_at = -1
    for index, token in enumerate(draft.tokens):
        if token.text != "__shared__" or index <= looked_at:
            continue
        looked_at = _specifiers(draft, index)[1]
        declaration = _declaration(draft, index)
        if declaration is None:
            continue  # too unusual to be taken apart: the headers' macro __shared__ does what it can
        outside = draft.places[index].outside and draft.places[index].directive is None
        if declaration.is_dynamic and outside:
            _rewrite_dynamic_outside(draft, declaration, declared_outside)
        elif declaration.is_dynamic:
            _rewrite_dynamic(draft, declaration)
        elif not outside:
            _rewrite_static(draft, declaration)
        draft.note("shared memory put into the CPU's", index)


def _rewrite_static(draft: Draft, declaration: _Declaration) -> None:
    """`__shared__ T a[n], b;` to a typedef of each name and a reference to the block's copy of it."""
    draft.blank(*declaration.specifiers)
    draft.out[declaration.specifiers[0]] = f"typedef {declaration.type_prefix}"
    alignment = f", {_EXPLICIT_ALIGNMENT}" if declaration.is_aligned else ""
    for index in declaration.names:
        name = draft.text(index)
        draft.out[index] = f"{name}_shared_type"
        draft.out[declaration.end] += (
            f" static char {name}_shared_key;"
            f" auto& {name} = ::cuda_emulation::static_shared<{name}_shared_type>({name}_shared_key{alignment});"
        )


def _rewrite_dynamic(draft: Draft, declaration: _Declaration) -> None:
    """`extern __shared__ T a[];` in a function to a pointer to the block's dynamic shared memory."""
    (name,) = declaration.names
    draft.blank(*declaration.specifiers)
    draft.out[declaration.specifiers[0]] = (
        f"const auto {draft.text(name)} = ::cuda_emulation::dynamic_shared<{declaration.type_prefix}"
    )
    draft.out[name] = ""
    draft.out[declaration.end] = ">();"


def _rewrite_dynamic_outside(draft: Draft, declaration: _Declaration, declared: set[str]) -> None:
    """The same outside a function, where no block is running: a variable that every block sets when it starts.

    CUDA lets it be declared again, C++ does not.
    """
    (index,) = declaration.names
    name = draft.text(index)
    if name in declared:
        draft.blank(declaration.specifiers[0], declaration.end)
        return
    declared.add(name)
    draft.blank(*declaration.specifiers)
    draft.out[declaration.specifiers[0]] = f"static thread_local std::decay_t<{declaration.type_prefix}"
    draft.out[index] = ""
    draft.out[declaration.end] = (
        f"> {name}; static const bool {name}_is_registered = ::cuda_emulation::register_dynamic_shared("
        f"[](void* memory) {{ {name} = static_cast<decltype({name})>(memory); }});"
    )


def _declaration(draft: Draft, shared: int) -> _Declaration | None:
    """The declaration that the `__shared__` at `shared` is part of; None where it is none that is known."""
    first, last = _specifiers(draft, shared)
    end = _end_of_declaration(draft, last + 1)
    if end is None or not _begins_declaration(draft, first):
        return None
    words = [draft.text(index) for index in range(first, last + 1)]
    is_dynamic = "extern" in words
    names = _declared_names(draft, last + 1, end, arrays_only=is_dynamic)
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


def _begins_declaration(draft: Draft, index: int) -> bool:
    before = draft.before(index)
    if before is None or draft.text(before) in _BEFORE_A_DECLARATION:
        return True
    # A directive says nothing about where a declaration begins: neither one around it nor one that ended before it.
    return draft.places[index].directive is not None or draft.places[before].directive is not None


def _specifiers(draft: Draft, shared: int) -> tuple[int, int]:
    """First and last token of the qualifiers and alignments around `__shared__`."""
    first = last = shared
    while (index := draft.before(first)) is not None:
        opening = draft.partners.get(index) if draft.text(index) == ")" else None
        named = index if opening is None else draft.before(opening)
        if named is None or draft.text(named) not in (_QUALIFIERS if opening is None else _ALIGNMENTS):
            break
        first = named
    while (index := draft.after(last)) is not None:
        if draft.text(index) in _QUALIFIERS:
            last = index
        elif draft.text(index) in _ALIGNMENTS and draft.text(opening := draft.after(index)) == "(":
            closing = None if opening is None else draft.partners.get(opening)
            if closing is None:
                break
            last = closing
        else:
            break
    return first, last


def _end_of_declaration(draft: Draft, index: int) -> int | None:
    """Index of the `;` outside all brackets, in the same directive if in one; None where something else ends it.

    Another `__shared__` does, too, so that no text is gone through for each of many.
    """
    start = index
    while index < min(len(draft.tokens), start + _LONGEST_DECLARATION):
        if draft.text(index) in _ENDS or draft.places[index].directive != draft.places[start].directive:
            return index if draft.text(index) == ";" else None
        index = draft.partners.get(index, index) + 1  # steps over what is in brackets
    return None


def _declared_names(draft: Draft, first: int, end: int, *, arrays_only: bool) -> tuple[int, ...] | None:
    """The names that `T a[2], b;` declares: of each piece between commas the last name before its dimensions."""
    names: list[int] = []
    name: int | None = None
    is_array = False
    brackets = angles = 0
    for index in range(first, end + 1):
        token = draft.tokens[index]
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
