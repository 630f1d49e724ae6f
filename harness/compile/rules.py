"""What a fast compiler says of one source that stock would say too: RULES, each with why it is sound.

Each looks at the first error of a source, because whatever follows may come of it, and gives the error's text where it
decides. Types in an error are those that the compiler found over the slim headers: where a rule reads them, they are
C++'s own, a class of the standard library, or `at::Tensor`, and the statement has no macro of a header.
"""

import re
from collections.abc import Callable, Sequence

from harness.compile.printed import IDENTIFIER, balanced, lines_of
from harness.compile.refused import LONGEST_LINE, Unit

_FLAG = re.compile(
    r"nvcc fatal\s*: (?:Unknown option|Unsupported|Value '.*' is not defined for option|redefinition of argument|"
    r"'.*': expected)|(?:\S*/)?(?:g\+\+|c\+\+|cc1plus|gcc)(?:-\d+)?: (?:fatal )?error: "
    r"(?:unrecognized|bad value|unknown|invalid|argument to)"
)


def _flag(unit: Unit) -> str | None:
    """A flag that the compiler does not take: it is refused before a source is read, and stock gets the same ones."""
    return next((line for line in lines_of(unit.output)[:1] if _FLAG.match(line)), None)


def _include(unit: Unit) -> str | None:
    """An include that is nowhere: the fast toolchain looks in every folder that stock looks in, and some more."""
    error = unit.error
    missing = r"\S+: No such file or directory|(?:could not|cannot) open source file \S+.*"
    return error.log if error and re.fullmatch(missing, error.text) else None


_LEXICAL = re.compile(
    r"missing terminating|missing closing quote|unterminated (?!argument)|comment unclosed|stray '|"
    r"#(?:endif|else|elif) without|#error|invalid preprocessing directive|invalid suffix|"
    r"extended character .* is not valid in an identifier|unrecognized token|expected parameter name|"
    r"no macro name given|macro names must be identifiers|missing '\)' in macro parameter list|"
    r"missing binary operator before token|#include expects"
)
_LITERAL = re.compile(r"unable to find numeric literal operator|user-defined literal operator not found")
_NUMBER = re.compile(r"(?<![\w.])(?:0[xX][\da-fA-F.]+|(?=\.*\d)[\d.]++(?:[eE][+-]?\d+)?)([A-Za-z_]\w*)")
_SUFFIX = re.compile(r"[fFlL]|[uU]?(?:ll?|LL?)?|(?:ll?|LL?)[uU]|[fF]\d+x?")


def _lexical(unit: Unit) -> str | None:
    """An open string, comment or `#if`, a character that is none of C++'s: read before any name means something."""
    error = unit.error
    return error.log if error and unit.is_plain and _LEXICAL.match(error.text) else None


def _literal(unit: Unit) -> str | None:
    """A number with a suffix that is none of C++'s, and that no header declares a literal for."""
    error = unit.error
    if error is None or unit.names is None or not unit.is_plain or not _LITERAL.match(error.text):
        return None
    unknown = [suffix for suffix in _NUMBER.findall(unit.line()) if not _SUFFIX.fullmatch(suffix)]
    declared = 'operator""' in unit.own.replace(" ", "")
    return error.log if unknown and not declared and unit.names.literals.isdisjoint(unknown) else None


def _brackets(unit: Unit) -> str | None:
    """Brackets that do not pair. They pair in every program, and in headers; so they must in the candidate's text,
    where no macro of it or that it uses has a bracket too many and nothing is left out by a condition.
    """
    error, words = next((e for e in unit.errors if e and "expected" in e.text), unit.error), set(unit.words)
    if (
        error is None
        or not unit.is_plain
        or unit.local
        or re.search(r"^[ \t]*#[ \t]*(?:if|el)|<%|<:", unit.own, re.MULTILINE)
    ):
        return None
    if balanced(unit.own) or any(not balanced(line) for line in lines_of(unit.own) if re.match(r"\s*#", line)):
        return None
    return error.log if unit.names is not None and unit.names.unbalanced.isdisjoint(words) else None


_UNDECLARED = tuple(
    re.compile(pattern)
    for pattern in (
        r"'(?:[^']*::)?(\w+)' (?:was not declared in this scope|does not name a type|has not been declared|is not a "
        r"member of '|does not name a template type|is not a class|is not a type|is not a template|"
        r"in namespace '[^']*' does not)",
        r"there are no arguments to '(\w+)' that depend on a template parameter",
        r'identifier "(\w+)" is undefined',
        r'namespace "[^"]*" has no member "(\w+)"',
    )
)
_MEMBER = tuple(
    re.compile(pattern)
    for pattern in (
        r"'[^']*' has no member named '(\w+)'",
        r'(?:class|struct|union) "[^"]*" has no (?:actual )?member "(\w+)"',
    )
)
_PASTES_ELSEWHERE = re.compile(
    r"PYBIND11_MODULE|TORCH_EXTENSION_NAME|U?INT\w*_(?:MIN|MAX|C)|M_\w+|TORCH_WARN_ONCE|__\w+|_\w+"
)
"""Macros that paste, and what they make begins or ends with something of their own, as no name does that is decided."""
_PASTED = re.compile(r"(?:pybind11|PyInit)_\w*|_\w*|\w*_\d+|U?L*|\w*f\d+x?")


def _undeclared(unit: Unit) -> str | None:
    """A name that nothing declares: it stands nowhere in stock's headers, so no declaration of theirs can be of it, and
    where the candidate's own text declares it, it does so over both kinds of headers, and not where it is used.
    """
    found = _first_match(unit, _UNDECLARED)
    return unit.error.log if unit.error and found and _is_unknown(unit, found) else None


_UNQUALIFIED = re.compile(
    r"'(?P<gcc>\w+)' (?:was not declared in this scope|does not name a type|has not been declared)|"
    r'identifier "(?P<nvcc>\w+)" is undefined'
)
_BASE_CLASS = re.compile(r"\b(?:struct|class)\s+\w+(?:\s*<[^;{}]{0,200}>)?(?:\s+final)?\s*:(?!:)")


def _out_of_scope(unit: Unit) -> str | None:
    """An unqualified name that is not called: stock's headers have it, if at all, inside of namespaces, classes and
    functions, where it is not looked for, and no macro of theirs can have declared it around its use.
    """
    error = unit.error
    found = _UNQUALIFIED.match(error.text) if error else None
    if error is None or found is None or not error.line or unit.names is None or _BASE_CLASS.search(unit.own):
        return None
    name = found["gcc"] or found["nvcc"]
    line = unit.line()
    called = re.search(rf"\b{name}\s*+(?:<[^;()]{{0,200}}>\s*+)?\(", line) or not re.search(rf"\b{name}\b", line)
    if called or line.lstrip().startswith("#") or re.search(rf"\busing\b[^;]{{0,200}}\b{name}\b", unit.own):
        return None
    hidden = name not in unit.names.outside and name not in unit.names.of_macros(unit.words_before())
    return error.log if hidden and _no_paste_makes(unit, name) else None


def _no_member(unit: Unit) -> str | None:
    """A member of that name has no class: it stands nowhere in stock's headers, and in the candidate's text only where
    it is used.
    """
    found = _first_match(unit, _MEMBER)
    if not unit.error or not found or not (_is_unknown(unit, found) or _is_of_another_class(unit, found)):
        return None
    uses = len(re.findall(rf"(?:\.|->)\s*(?:template\s+)?{found}\b", unit.own))
    return unit.error.log if uses == unit.words.count(found) else None


_CLASS = re.compile(
    r"(?:'.*' \{aka )?(?:class |struct )?(['\"])(?:const )?(?:class |struct )?"
    r"(?P<space>at|c10|torch|std)::(?:\w+::)*(?P<name>\w+)(?:<.*>)?\1\}? has no"
)


def _is_of_another_class(unit: Unit, member: str) -> bool:
    """Whether the class in an error is one of the standard library's, or one of torch's whose bodies and bases' lack
    this member. `std::optional` may be torch's own class over stock's headers.
    """
    found = _CLASS.match(unit.error.text) if unit.error else None
    if found is None or unit.names is None or not _no_paste_makes(unit, member):
        return False
    if found["space"] == "std":
        return found["name"] not in ("optional", "string_view")
    return member not in unit.names.members.get(found["name"], (member,))


def _first_match(unit: Unit, patterns: Sequence[re.Pattern[str]]) -> str | None:
    text = unit.error.text if unit.error else ""
    return next((found[1] for pattern in patterns if (found := pattern.match(text))), None)


def _is_unknown(unit: Unit, name: str) -> bool:
    """Whether no header of stock's holds this name, nor makes it by a macro that the source uses."""
    return unit.names is not None and name not in unit.names.everywhere and _no_paste_makes(unit, name)


def _no_paste_makes(unit: Unit, name: str) -> bool:
    """Whether no macro, of the source or of stock's headers and used there, can make this name out of others."""
    if unit.names is None or not unit.is_plain or _PASTED.fullmatch(name):
        return False
    return all(_PASTES_ELSEWHERE.fullmatch(macro) for macro in unit.names.pasting.intersection(unit.words))


_QUALIFIED = re.compile(r"(?<![\w:])(?:::\s*)?(at|torch|c10|std|pybind11|py)((?:\s*::\s*\w+)+)")


def _qualified(unit: Unit) -> str | None:
    """`at::cuda::x` of which a part stands nowhere in stock's headers, on the line of the error: the namespace is
    torch's or the library's, so the candidate declares nothing in it (`beyond.py`).
    """
    error = unit.error
    if error is None or not error.line or re.search(r"\bnamespace\s+(?:at|torch|c10|std|pybind11)\b", unit.own):
        return None
    line = unit.line()
    own_macros = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", unit.own, re.MULTILINE))
    if line.lstrip().startswith("#") or not own_macros.isdisjoint(IDENTIFIER.findall(line)):
        return None
    parts = [part for found in _QUALIFIED.finditer(line) for part in IDENTIFIER.findall(found[2])]
    return error.log if any(_is_unknown(unit, part) for part in parts) else None


_INSIDE = tuple(
    re.compile(pattern)
    for pattern in (
        r"'(?P<name>\w+)' (?:is not a member of '|in namespace ')(?P<space>\w+)'",
        r"'(?P<space>\w+)::(?P<name>\w+)' has not been declared",
        r'namespace "(?P<space>\w+)" has no member "(?P<name>\w+)"',
    )
)


def _namespace(unit: Unit) -> str | None:
    """A name that stock's headers declare somewhere, and not in this namespace, in which the candidate has none."""
    error = unit.error
    found = next((f for pattern in _INSIDE if error and (f := pattern.match(error.text))), None)
    if error is None or found is None or unit.names is None:
        return None
    inside, opened = unit.names.within.get(found["space"]), rf"\bnamespace\s+(?:\w+\s*=\s*)?{found['space']}\b"
    if inside is None or found["name"] in inside or re.search(opened, unit.own):
        return None
    hidden = found["name"] not in unit.names.of_macros(unit.words)
    return error.log if hidden and _no_paste_makes(unit, found["name"]) else None


def _function(unit: Unit) -> str | None:
    """A function of `functions=` that nobody declares: the module that is generated names it at global scope."""
    return _out_of_scope(unit) if unit.error and unit.error.file == "binding" else None


_MODULE_TWICE = re.compile(r" error: (redefinition of 'PyObject\* PyInit_\w+\(\)')")


def _defined_again(unit: Unit) -> str | None:
    """A definition of which another stands before it in the candidate's own text: both are there over any headers."""
    first = next((line[:LONGEST_LINE] for line in lines_of(unit.output) if " error: " in line), "")
    if (twice := _MODULE_TWICE.search(first)) and unit.words.count("PYBIND11_MODULE") > 1:
        place = re.search(r"^(.*): note: in expansion of macro 'PYBIND11_MODULE'", unit.output, re.MULTILINE)
        return f"{place[1]}: error: {twice[1]}" if place and not unit.errors[0] else None
    error = unit.error
    if error is None:
        return None
    if again := re.match(
        r'(?:function |variable |class )?"(\w+)(?:\(.*\))?" has already been de(?:fin|clar)ed', error.text
    ):
        known = unit.names is None or again[1] in unit.names.of_macros(unit.words)
        own = _in_function(unit) or _is_unknown(unit, again[1])
        return error.log if own and not known and unit.words.count(again[1]) > 1 else None
    if not re.match(r"redefinition of '|conflicting declaration '|redeclaration of '", error.text):
        return None
    places = re.findall(r"^([^:\n]+):\d+:(?:\d+:)? note: .*(?:previous|here)", error.log, re.MULTILINE)
    return error.log if places and all(unit.is_own(place) for place in places) else None


def _count(unit: Unit) -> str | None:
    """Too many or too few arguments, to a function that only the candidate can declare, as no header has its name, or
    to one whose overloads are all known: the standard library's, and those that the facade has of torch's own text.
    """
    error = unit.error
    if error is None:
        return None
    one = re.match(r"too (?:many|few) arguments to function '(?:[^'(]*\W)?(\w+)\(", error.text)
    if re.match(r"too (?:many|few) arguments in function call", error.text):
        one = _called_at(error.log)
    if one:
        return error.log if _is_unknown(unit, one[1]) else None
    several = re.match(
        r"no matching function for call to '(?:[^'(]*\W)?(\w+)(?:<[^(]*>)?\(|"
        r'no instance of (?:overloaded function|function template) "(?:[^"(]*\W)?(\w+)(?:<[^"(]*>)?" matches the arg',
        error.text,
    )
    places = _counted(error.log)
    if not several or not places:
        return None
    complete = all(_COMPLETE.match(place) for place in places)
    return error.log if complete or _is_unknown(unit, several[1] or several[2]) else None


_COMPLETE = re.compile(r"(?:\./)?slim_(?:methods|operators)\.inc\b|/usr/include/c\+\+/|.*/include/ATen/ops/\w+\.h\b")
"""Where a function is declared whose name has no other overloads over stock's headers (`operators.py`)."""


def _counted(log: str) -> list[str]:
    """Where the candidates of a call are declared, if of each the number of arguments is what is wrong."""
    of_gcc = re.findall(r"^([^\n:]+):\d+:\d+: note: candidate: ", log, re.MULTILINE)
    reasons = [note for note in re.findall(r": note: +(.*)", log) if not note.startswith("candidate: ")]
    if of_gcc:
        counts = sum(bool(re.match(r"candidate expects \d+ arguments?, \d+ provided", note)) for note in reasons)
        return of_gcc if counts == len(reasons) == len(of_gcc) else []
    of_nvcc = re.findall(r"^([^\n(]+)\(\d+\): note #\d+-D: (.*)", log, re.MULTILINE)
    counted = all(note.startswith("number of parameters of function ") for _, note in of_nvcc)
    return [place for place, _ in of_nvcc] if counted else []


def _called_at(log: str) -> re.Match[str] | None:
    """The name of the call whose arguments nvcc's caret is on, where the line that it quotes has the whole call."""
    lines = lines_of(log)
    caret = next((index for index, line in enumerate(lines) if line.strip() == "^"), 0)
    if not caret:
        return None
    depth, before = 0, lines[caret - 1][: lines[caret].index("^")]
    for at in reversed(range(len(before))):
        depth += (before[at] == ")") - (before[at] == "(")
        if depth < 0:
            return re.search(r"\b(\w++)\s*+(?:<<<.*>>>\s*)?\Z", before[:at])
    return None


_SAFE_MACROS = re.compile(
    r"__(?:global|device|host|shared|constant|restrict|forceinline|launch_bounds)__|NULL|INFINITY|NAN|M_\w+|"
    r"(?:FLT|DBL|INT)_(?:MAX|MIN)"
)
"""Macros that end no statement and begin none, over any headers."""


_PLAIN_MEMBERS = re.compile(
    r"(?:::|\.|->)\s*(?:data_ptr|const_data_ptr|mutable_data_ptr|item|accessor|packed_accessor(?:32|64)?|launch)\s*<|"
    r"\bstd\s*::\s*\w+\s*<"
)
"""What is a template over both kinds of headers."""
_SYNTAX = re.compile(
    r"expected |ISO C\+\+ forbids declaration of '\w+' with no type|explicit type is missing|"
    r"'(?:else|case)' (?:label )?without|.*-statement not within|two or more data types in declaration|"
    r"(?:break|continue) statement not within|duplicate '\w+'|a function-definition is not allowed here|"
    r"too many initializers for '|jump to (?:case )?label"
)


def _syntax(unit: Unit) -> str | None:
    """A token is expected and missing, or a type is, in a statement without macros of headers. What a name is, a type,
    a function or a value, it is over both kinds of headers; only what is a template could be parsed otherwise, and none
    is there.
    """
    error = unit.error
    if error is None or not _SYNTAX.match(error.text):
        return None
    statement = _statement(unit)
    if statement is None:
        return None
    parsed = re.search(r"(?:::|\.|->)\s*\w+\s*<", _PLAIN_MEMBERS.sub("", statement))
    if parsed and not re.search(r"with no type|explicit type is missing", error.text):
        return None
    return error.log


def _statement(unit: Unit) -> str | None:
    """The statement that the first error is in, with the line before it; None where a macro of a header is in it, by
    itself or by one of the candidate's, or a directive, or what declares a template or an operator.
    """
    error = unit.error
    if error is None or not error.line or not unit.is_plain or unit.names is None:
        return None
    lines = unit.lines()
    first = max(0, error.line - 2)
    before = "\n".join(lines[:first])
    begun = max(found.end() for found in re.finditer(r"\A|[;{}]|^[ \t]*#.*$", before, re.MULTILINE))
    statement = before[begun:] + "\n" + "\n".join(lines[first : error.line])
    if re.search(r"^[ \t]*#(?![ \t]*pragma\b)|\boperator\b|\btemplate\b(?!\s*<)", statement, re.MULTILINE):
        return None
    own = {name: IDENTIFIER.findall(body) for name, body in _DEFINE.findall(unit.own)}
    words, waiting = set[str](), IDENTIFIER.findall(statement)
    while waiting:
        new = {word for word in waiting if word not in words and not _SAFE_MACROS.fullmatch(word)}
        words |= new
        waiting = [word for name in new for word in own.get(name, ())]
    macros = unit.names.bodies.keys() | unit.names.unbalanced
    return None if words & (macros - own.keys()) else statement


_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(.*)", re.MULTILINE)
_NO_DECLARATION = re.compile(
    r"expected (?:constructor, destructor, or type conversion|unqualified-id) before|"
    r"this declaration has no storage class or type specifier"
)


def _no_declaration(unit: Unit) -> str | None:
    """`NAME(...)` where a declaration should be, of a name that no header has and the candidate uses in no other way: a
    macro that nobody defines.
    """
    error = unit.error
    if error is None or not error.line or not _NO_DECLARATION.match(error.text):
        return None
    found = re.match(r"\s*(\w+)\s*\(", unit.line())
    if not found or not _is_unknown(unit, found[1]):
        return None
    uses = re.findall(rf"(?:^|[;{{}}])[^\S\n]*{found[1]}\s*\(", unit.own, re.MULTILINE)
    return error.log if len(uses) == unit.words.count(found[1]) else None


_BASIC = (
    r"(?:(?:const|volatile|unsigned|signed|long|short|struct|class|std::)\s*)*\b(?:void|bool|char|int|float|double|long|short|unsigned|"
    r"u?int(?:8|16|32|64)_t|size_t|at::Tensor|torch::Tensor|c10::ScalarType|c10::DeviceType|at::BFloat16|at::Half|c10::Half|c10::BFloat16|__half2?|float[234]|int[234]|dim3|uint3)"
    r"(?:\s+(?:const|int|__restrict__))*(?:\s*[*&](?:\s*(?:const|__restrict__))?)*(?:\s*\[\d*\])*"
)
_QUOTED = rf"['\"]{_BASIC}['\"](?: \{{aka ['\"]{_BASIC}['\"]\}})?"
_TYPES = re.compile(
    rf"(?:cannot convert|invalid conversion from|cannot initialize .*) {_QUOTED} to {_QUOTED}|"
    rf"invalid (?:operands of types {_QUOTED} and|cast from type) {_QUOTED}|"
    rf"invalid type argument of unary .* \(have {_QUOTED}\)|"
    rf"invalid types '{_BASIC}\[{_BASIC}\]' for array subscript|"
    rf"request for member '\w+' in '.*', which is of (?:pointer|non-class) type {_QUOTED}|"
    rf"argument of type {_QUOTED} is incompatible with parameter of type {_QUOTED}|"
    rf"a value of type {_QUOTED} cannot be (?:used to initialize an entity of|assigned to an entity of) type {_QUOTED}|"
    r"no suitable (?:user-defined conversion|conversion function|constructor exists to convert) from "
    rf"{_QUOTED} to {_QUOTED}|"
    rf"expression must have class type but it has type {_QUOTED}|"
    r"return-statement with (?:no|a) value, in function returning '|"
    r"assignment of (?:read-only (?:variable|location|parameter|reference)|member '.*' in read-only object)|"
    r"lvalue required as (?:left operand of assignment|increment operand|decrement operand|unary '&' operand)|"
    r"(?:increment|decrement) of read-only|expression must be a modifiable lvalue|"
    r"return value type does not match the function type|declaration of '.*' shadows a parameter"
)


def _types(unit: Unit) -> str | None:
    """A conversion, an operator or an assignment that C++ does not have for types of its own, or for a tensor: what
    has another type over stock's headers is none of these, and no header's macro is in the statement.
    """
    error = unit.error
    if error is None or not (_TYPES.match(error.text) or _is_own_call(unit)):
        return None
    return error.log if _statement(unit) is not None else None


def _is_own_call(unit: Unit) -> bool:
    """Whether no function is found for a call by a name that only the candidate can declare, with types of C++'s own
    as arguments, and no class of a library's named behind that name.
    """
    text, log = (unit.error.text, unit.error.log) if unit.error else ("", "")
    of_gcc = re.match(r"no matching function for call to '(\w+)(?:<[\w ]*>)?\(([^()<>]*)\)'", text)
    of_nvcc = re.match(r'no instance of (?:overloaded function|function template) "(\w+)" matches', text)
    types = re.search(r"^ *argument types are: \(([^()<>]*)\)$", log, re.MULTILINE)
    name, given = (of_gcc[1], of_gcc[2]) if of_gcc else (of_nvcc[1], types[1]) if of_nvcc and types else ("", "")
    if not name or not all(re.fullmatch(_BASIC, each.strip()) for each in given.split(",")):
        return False
    call, space = rf"\b{name}\s*+\(", r"\b(?:at|torch|c10|pybind11|py)\s*+::"
    classes = re.search(rf"{call}(?:(?!{call})[^;{{}}])*?{space}|\b(?:using|typedef)\b", unit.own)
    return classes is None and _is_unknown(unit, name)


_LAUNCH = re.compile(r"a __global__ function call must be configured|a host function call cannot be configured")
_DEVICE = re.compile(
    r"calling a __(?:host|device)__ function\(\"(?:[^\"(]*\W)?(\w+)\([^\"]*\"\) from a __(?:global|device)__ function|"
    r'identifier "(\w+)" is undefined in device code'
)


def _host_and_device(unit: Unit) -> str | None:
    """A kernel that is called without a launch, a function that is launched and is no kernel, one for the host that a
    kernel calls, where only the candidate can have declared it; shared memory in a function for the host.
    """
    error = unit.error
    if error is None:
        return None
    if _LAUNCH.match(error.text):
        lines = lines_of(error.log)
        at = lines[2].find("^") if len(lines) > 2 and lines[2].strip() == "^" else -1
        name = re.match(r"\w+", lines[1][at:]) if at >= 0 else None
        return error.log if name and _is_unknown(unit, name[0]) else None
    if called := _DEVICE.match(error.text):
        return error.log if _is_unknown(unit, called[1] or called[2]) else None
    shared = error.text.startswith('a static "__shared__" variable declaration is not allowed inside a host function')
    return error.log if shared and _statement(unit) is not None else None


_RESOURCES = re.compile(
    r"ptxas (?:error|fatal)\s*: Entry function '(\w+)' uses too much (?:shared data|parameter space|local data)"
)


def _resources(unit: Unit) -> str | None:
    """Shared memory of a kernel that no device of this kind has, which only the candidate's own text asks for."""
    first = next((line for line in lines_of(unit.output) if re.search(r"\berror\b|fatal", line)), "")[:LONGEST_LINE]
    found = _RESOURCES.match(first)
    names = [word for word in dict.fromkeys(unit.words) if found and f"{len(word)}{word}" in found[1]]
    return first if names and not re.search(r"\[[^\[\]]*\b(?:sizeof|at|c10|torch)\b", unit.own) else None


def _in_function(unit: Unit) -> bool:
    """Whether the first error is inside of a block that is no namespace's."""
    error = unit.error
    if error is None or not error.line:
        return False
    text = "\n".join(unit.lines()[: error.line - 1])
    if re.search(r"^[ \t]*#[ \t]*(?:if|el)", text, re.MULTILINE):
        return False
    text = re.sub(r"^[ \t]*#.*", "", text, flags=re.MULTILINE)
    opened = [m.start() for m in re.finditer(r"\{", text)]
    spaces = len(re.findall(r'(?:\bnamespace\b(?:(?!\bnamespace\b)[^;{}])*+|extern\s*""\s*)\{', text))
    return len(opened) - text.count("}") > spaces


RULES: dict[str, Callable[[Unit], str | None]] = {
    "flag": _flag,
    "include": _include,
    "lexical": _lexical,
    "literal": _literal,
    "resources": _resources,
    "function": _function,
    "undeclared": _undeclared,
    "out-of-scope": _out_of_scope,
    "member": _no_member,
    "qualified": _qualified,
    "namespace": _namespace,
    "defined-again": _defined_again,
    "count": _count,
    "brackets": _brackets,
    "host-device": _host_and_device,
    "no-declaration": _no_declaration,
    "types": _types,
    "syntax": _syntax,
}
"""What decides a source's refusal; each gives the error's text where it does. In this order, the cheap ones first."""
