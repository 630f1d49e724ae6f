"""Arguments of launches that are certain to point to memory of the host, which a kernel must not touch.

Under emulation all memory is the host's, and only the source tells what would lie where. Wrapped are three kinds of
arguments, for the headers to judge what the kernel does with them (`cuda_emulation/host_memory.h`):

- `t.data_ptr<T>()` of a local `auto t = torch::empty(sizes)`, which names no device, where nothing is done with `t` in
  its block that could move it to one;
- `v.data()` and `&v[i]`: the headers know whether `v` is a std::vector;
- `t.sizes().data()` and `t.strides().data()`.

Whatever else an argument may be is taken as the device's. Pointers to the host's stack the headers know by themselves.
"""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.emulate.draft import Draft

_LONGEST_ARGUMENT = 80  # tokens
_LONGEST_RETURN = 60

_TYPE = r"[\w:<>* ]+"
_TENSOR = r"(?P<tensor>[^\W\d]\w*) \. (?:template )?(?:mutable_|const_)?data_ptr (?:< [\w:<>* ]+ > )?\( \)"
_SIZES = r"[^\W\d]\w* \. (?:sizes|strides) \( \) \. data \( \)"
_VECTOR = r"(?P<vector>[^\W\d]\w*) \. data \( \)|& (?P<indexed>[^\W\d]\w*) \[ [^\[\]]* \]"
_ARGUMENT = re.compile(
    rf"(?:(?P<cast>(?:reinterpret|static|const)_cast < {_TYPE}\* > \( )|\( {_TYPE}\* \) )?"
    rf"(?:{_TENSOR}|(?P<sizes>{_SIZES})|{_VECTOR})(?(cast) \))"
)
"""An argument of a launch that is looked at, a space between two tokens; a cast around it or none."""

_BEFORE_OPTIONS = {"empty": 1, "zeros": 1, "ones": 1, "rand": 1, "randn": 1, "full": 2, "arange": 1}
"""torch's functions that make tensors, and how many arguments they take before the options."""
_TYPE_OF_ELEMENTS = r"(?:(?:torch|at|c10) :: k(?!CUDA)[A-Z]\w*|\w+ \. (?:scalar_type|dtype) \( \))"
_OPTIONS_WITHOUT_DEVICE = re.compile(
    rf"{_TYPE_OF_ELEMENTS}"
    rf"|(?:torch|at) :: dtype \( {_TYPE_OF_ELEMENTS} \)"
    rf"|(?:torch|at|c10) :: TensorOptions \( \)(?: \. dtype \( {_TYPE_OF_ELEMENTS} \))?"
)
_BEFORE_A_BLOCK = {")", "]", "{", "}", ";", "else", "do", "try", "const", "noexcept"}
"""What stands before the brace of statements, and not before that of a class or a namespace."""
_KEEPS_ITS_PLACE = {
    *("data_ptr", "mutable_data_ptr", "const_data_ptr", "template"),
    *("size", "sizes", "stride", "strides", "numel", "nbytes", "element_size", "dim", "ndimension"),
    *("dtype", "scalar_type", "is_contiguous", "defined", "options", "zero_", "fill_"),
}
"""What may be asked of a tensor that stays where it is."""


@dataclass(frozen=True)
class _Declaration:
    """A local tensor: the indices of its name, of the bracket behind its sizes, of the braces around its block."""

    at: int
    made: int
    begin: int
    end: int


def mark_host_memory(draft: Draft) -> None:
    if not draft.launched:
        return
    made = _Made(draft)
    for opening in draft.launched:
        for first, last in _arguments(draft, opening):
            before, after = _marked(draft, made, first, last)
            draft.out[first] = before + draft.out[first]
            draft.out[last] += after


def _marked(draft: Draft, made: "_Made", first: int, last: int) -> tuple[str, str]:
    """What goes before and behind the argument from `first` to `last`: nothing where its memory may be the device's."""
    found = _ARGUMENT.fullmatch(_text(draft, first, last))
    if found is None:
        return "", ""
    if owner := found["vector"] or found["indexed"]:
        return "::cuda_emulation::of_owner(", f", {owner})"
    if found["sizes"] or made.lies_on_the_host(found["tensor"], first):
        return "::cuda_emulation::of_the_host(", ")"
    return "", ""


class _Made:
    """The local tensors of a source that are made without a device.

    What is asked of each is looked up: a source may have ten thousands of a name.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._named: defaultdict[str, list[int]] = defaultdict(list)
        self._declared: defaultdict[str, list[_Declaration]] = defaultdict(list)
        self._moved: dict[str, list[int]] = {}
        self._conditions: list[int] = []  # of the preprocessor
        self._defined: set[str] = set()
        self._in_directives: set[str] = set()
        blocks: list[int] = []
        for index, token in enumerate(draft.tokens):
            if draft.places[index].directive is not None:
                self._read_directive(index)
            elif token.text == "{":
                blocks.append(index)
            elif token.text == "}" and blocks:
                blocks.pop()
            elif token.kind == "name":
                self._named[token.text].append(index)
                if blocks and (made := _made_on_the_host(draft, index)) is not None:
                    self._declare(index, made, blocks[-1])
        self._macros = sorted(index for name in self._defined for index in self._named.get(name, ()))

    def _declare(self, index: int, made: int, begin: int) -> None:
        end = self._draft.partners.get(begin)
        if end is not None and self._draft.text(self._draft.before(begin)) in _BEFORE_A_BLOCK:
            self._declared[self._draft.text(index)].append(_Declaration(index, made, begin, end))

    def _read_directive(self, index: int) -> None:
        before = self._draft.before(index)
        if self._draft.tokens[index].kind != "name":
            return
        if self._draft.text(before) == "define":
            self._defined.add(self._draft.text(index))
        elif self._draft.text(before) == "#":
            self._conditions.append(index)
        self._in_directives.add(self._draft.text(index))

    def lies_on_the_host(self, name: str, at: int) -> bool:
        """Whether the tensor `name` that is meant at `at` is on the host there, whatever has happened before."""
        declared = self._declared[name]
        number = bisect(declared, at, key=lambda one: one.at) - 1
        if number < 0 or declared[number].end < at:
            return False
        return self._stays(name, declared[number])

    def _stays(self, name: str, declared: _Declaration) -> bool:
        """Nothing in the block moves it, no directive chooses what is in the block, no macro has a hand in it."""
        if name in self._in_directives or _any_between(self._macros, declared.at, declared.made):
            return False
        if _any_between(self._conditions, declared.begin, declared.end):
            return False
        if name not in self._moved:
            self._moved[name] = [at for at in self._named[name] if not _keeps_its_place(self._draft, at)]
        return not _any_between(self._moved[name], declared.at, declared.end)


def _any_between(places: Sequence[int], first: int, last: int) -> bool:
    """Whether any of these ascending places is behind the first and not behind the last."""
    return bisect(places, first) != bisect(places, last)


def _keeps_its_place(draft: Draft, at: int) -> bool:
    """Whether the tensor that is named there is where it was before."""
    joint = draft.after(at)
    if joint is None or draft.text(joint) != "." or draft.text(draft.before(at)) in (".", "->", "::"):
        return _is_returned(draft, at)
    return draft.text(draft.after(joint)) in _KEEPS_ITS_PLACE


def _is_returned(draft: Draft, at: int) -> bool:
    """Whether it stands in a `return`, so that nothing is launched any more once it has been read."""
    before = draft.before(at)
    for _ in range(_LONGEST_RETURN):
        text = draft.text(before)
        if before is None or text in ("return", ";", "}"):
            return text == "return"
        before = draft.before(before)
        if text == "{" and draft.text(before) != "return":
            return False
    return False


def _made_on_the_host(draft: Draft, at: int) -> int | None:
    """The closing bracket where it is the name in `auto name = torch::empty(sizes);`, for which no device is named."""
    if draft.text(draft.before(at)) not in ("auto", "Tensor"):
        return None
    said, opening = [], draft.after(at)
    for _ in range(4):
        said.append(draft.text(opening))
        opening = draft.after(opening) if opening is not None else None
    if said[0] != "=" or said[1] not in ("torch", "at") or said[2] != "::" or said[3] not in _BEFORE_OPTIONS:
        return None
    closing = draft.partners.get(opening) if opening is not None else None
    if opening is None or closing is None or draft.text(draft.after(closing)) != ";":
        return None
    options = [*_arguments(draft, opening)][_BEFORE_OPTIONS[said[3]] :]
    if options and (len(options) > 1 or _OPTIONS_WITHOUT_DEVICE.fullmatch(_text(draft, *options[0])) is None):
        return None
    return closing


def _arguments(draft: Draft, opening: int) -> Iterator[tuple[int, int]]:
    """First and last token of each argument in these brackets. Template arguments with a comma come in pieces.

    Brackets that cross end the last: no token is gone through for each of many launches.
    """
    closing = draft.partners.get(opening, opening)
    at = draft.after(opening)
    while at is not None and at < closing:
        first = at
        while at is not None and at < closing and draft.text(at) not in (",", ")", "]", "}"):
            last = draft.partners.get(at, at) if draft.text(at) in ("(", "[", "{") else at
            at = draft.after(last)
        if at != first:
            yield first, last
        at = draft.after(at) if at is not None and at < closing and draft.text(at) == "," else None


def _text(draft: Draft, first: int, last: int) -> str:
    """The code from `first` to `last`, a space between two tokens; "" where it is long."""
    if last - first > _LONGEST_ARGUMENT:
        return ""
    return " ".join(token.text for token in draft.tokens[first : last + 1] if token.is_code)
