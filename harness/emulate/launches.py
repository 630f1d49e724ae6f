"""Launches: `kernel<<<grid, block>>>(arguments)` becomes a call of the headers' `cuda_emulation::launch`."""

from bisect import bisect

from harness.emulate.draft import Draft, NotEmulated

_ARGUMENTS = "cuda_emulation_arguments"
_LONGEST_CALLEE = 100  # tokens; a bound for texts that only look like one
_NO_CALLEE = {"return", "if", "else", "while", "for", "switch", "do", "case", "sizeof"}


def rewrite_launches(draft: Draft) -> None:
    for index in range(len(draft.tokens)):
        if not _opens_launch(draft, index):
            continue
        close = _end_of_configuration(draft, index)
        start = _start_of_callee(draft, index)
        if close is None or start is None or index - start > _LONGEST_CALLEE:
            continue  # cut off, or no launch: the compiler will say so
        if draft.places[start].device:
            raise NotEmulated("dynamic parallelism (a launch from device code)", draft.tokens[index].line)
        _rewrite_launch(draft, start, index, close)


def _rewrite_launch(draft: Draft, start: int, opening: int, closing: int) -> None:
    """`name<<<grid, block>>>(x)` to `launch("name", [&](auto&... a) { name(a...); }, grid, block)(x)`."""
    kernel = " ".join("".join(token.text if token.is_code else " " for token in draft.tokens[start:opening]).split())
    literal = kernel.replace("\\", "\\\\").replace('"', '\\"')
    draft.out[start] = f'::cuda_emulation::launch("{literal}", [&](auto&... {_ARGUMENTS}) {{ {draft.out[start]}'
    draft.out[opening : opening + 3] = [f"({_ARGUMENTS}...); }}, ", "", ""]
    draft.out[closing : closing + 3] = [")", "", ""]
    draft.note(f"{kernel}<<<...>>> run on the CPU", opening)
    _replace_null_arguments(draft, closing + 3)


def _opens_launch(draft: Draft, index: int) -> bool:
    return [draft.text(i) for i in range(index - 1, index + 4)].count("<") == 3 and all(
        draft.text(i) == "<" for i in range(index, index + 3)
    )


def _end_of_configuration(draft: Draft, opening: int) -> int | None:
    """Index of the first `>` of the `>>>` that ends the configuration and is followed by arguments."""
    depth = 0
    for index in range(opening + 3, len(draft.tokens)):
        text = draft.text(index)
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if depth < 0 or (depth == 0 and text == ";") or _opens_launch(draft, index):
            return None
        if depth == 0 and text == ">" and draft.text(index + 1) != ">":  # the last of a run of them
            ended = all(draft.text(i) == ">" for i in range(index - 2, index))
            if ended and draft.text(draft.after(index)) == "(":
                return index - 2
    return None


def _start_of_callee(draft: Draft, opening: int) -> int | None:
    """Index of the first token of what is launched: a path of names with template arguments, a variable, a member, an
    element of an array, or anything in parentheses."""
    start: int | None = None
    index = draft.before(opening)
    while index is not None and index >= opening - _LONGEST_CALLEE:
        if draft.text(index) in (")", "]"):
            start = draft.partners.get(index)
            index = draft.before(start) if start is not None else None
        # From here it must be a name, with or without template arguments, or what was found so far is all.
        if draft.text(index) == ">" and index is not None:
            angle = _opening_angle(draft, index)
            index = draft.before(angle) if angle is not None else None
        if index is None or draft.tokens[index].kind != "name" or draft.text(index) in _NO_CALLEE:
            return start
        start = index
        joint = draft.before(index)
        if joint is not None and draft.text(joint) == "template":
            start, joint = joint, draft.before(joint)
        if joint is None or draft.text(joint) not in ("::", ".", "->"):
            return start
        start = joint if draft.text(joint) == "::" else start
        index = draft.before(joint)
    return start


def _opening_angle(draft: Draft, closing: int) -> int | None:
    """Index of the `<` of the template arguments that end at `closing`; brackets among them are stepped over."""
    depth = 0
    index: int | None = closing
    while index is not None and index >= closing - _LONGEST_CALLEE:
        text = draft.text(index)
        if text in (")", "]", "}"):
            index = draft.partners.get(index)
            if index is None:
                return None
        elif text in (";", "{", "(", "["):
            return None
        else:
            depth += (text == ">") - (text == "<")
            if depth == 0:
                return index
        index = draft.before(index)
    return None


def _replace_null_arguments(draft: Draft, after: int) -> None:
    """NULL is an integer where its type is deduced; nullptr converts to the kernel's pointer."""
    opening = draft.after(after - 1)
    closing = None if opening is None else draft.partners.get(opening)
    if opening is None or closing is None:
        return
    draft.launched.append(opening)
    inside = slice(bisect(draft.nulls, opening), bisect(draft.nulls, closing))
    nulls = draft.nulls[inside]
    if nulls:  # once, however many launches are around them
        del draft.nulls[inside]
    for index in nulls:
        if draft.text(draft.before(index)) in ("(", ",") and draft.text(draft.after(index)) in (")", ","):
            draft.out[index] = "nullptr"
