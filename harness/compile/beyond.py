"""What the slim headers do not have, and what they could not tell from torch's own: read from a source's text.

A source that uses any of it is left to stock. That is always sound and costs half a minute; what is named here because
the facade lacks it only saves an attempt, what is named because it would be taken otherwise saves a wrong verdict.
"""

import re
from collections.abc import Iterable, Iterator

from harness.compile.recipe import split_flags
from harness.compile.sources import SOURCE_SUFFIXES, candidate_texts
from harness.compile.visible import Visible
from harness.schema import BuildRequest

WRITTEN = "slim.written"
"""The folder of what is written for each source. Nothing else lies in it: what `<header>` finds, stock finds too."""
# What the facade does not have.
_LACKING = re.compile(
    r"TORCH_LIBRARY\w*|torch::(?:nn|jit|autograd::\w*Function|optim|data)\b|"
    r"py::(?:class_|array\w*|kwargs|args|bytes|buffer|enum_|error_already_set|capsule)\b|"
    r"<pybind11/(?:numpy|functional|complex)\.h>|<torch/(?:library|script|nn)(?:\.h>|/)|<ATen/native/[^<>\n]*>|TensorIterator\w*|"
    r"torch::stable|cudaEventExternal"
)
# Namespaces of which the facade has every name.
_WHOLE = (
    r"(?:at|torch)::indexing|(?:py|pybind11)::literals|cooperative_groups|nvcuda(?:::wmma)?|std::(?:chrono|\w*literals)"
)
_KEYWORDS = (
    "private|protected|public|class|struct|inline|static|const|constexpr|namespace|using|template|typename|noexcept|"
    "explicit|virtual|operator|float|double|int|long|bool|auto|if|for|while|return|true|false|nullptr"
)
_UNKNOWABLE = (
    # A name of the source's own may be torch's as well, and the facade has not all of them.
    re.compile(rf"\busing\s+namespace\s+(?!(?:{_WHOLE})\s*;)[\w:]+"),
    re.compile(r"\b(?:using|namespace)\s*[,)]|^[ \t]*#\s*define\s[^\n]*\b(?:using|namespace)\s*$", re.MULTILINE),
    re.compile(r"\bnamespace\s+(?:at|torch|c10|caffe2|pybind11|std)\b[\w:]*\s*\{"),
    # Questions of what a class has, how large it is, or what it converts to.
    re.compile(
        r"\b(?:declval|void_t|is_detected\w*|requires|concept|typeid|type_index|offsetof|__PRETTY_FUNCTION__)\b"
    ),
    re.compile(r"->\s*decltype\b|\b__(?:is|has)_\w+"),
    re.compile(
        r"\bstd::is_(?!(?:same|floating_point|integral|arithmetic|signed|unsigned|const|pointer|void)(?:_v)?\b)\w+"
    ),
    re.compile(r"\b(?:sizeof|alignof)\s*\(\s*(?:at|torch|c10|caffe2|py|pybind11)::(?!Half\b|BFloat16\b|complex\b)\w+"),
    # Names that are put together, headers that a macro names, and the next one of a name.
    re.compile(r"##|%:|#\s*(?:include_next\b|include[ \t\v\f]+[A-Za-z_]\w*)"),
    # What counts what was read before.
    re.compile(r"\b__(?:COUNTER|INCLUDE_LEVEL)__\b"),
    # Names of the facade's own, and of torch's Python half, which declares them in the global namespace.
    re.compile(r"\b(?:SLIM_\w+|slim\s*::|THP\w+)"),
    # Macros that torch's headers read, and pragmas that make them warn or fail.
    re.compile(
        r"#\s*(?:define|undef)\s+(?:(?:TORCH|AT|C10|CAFFE2|PYBIND11|SLIM|PY|Py)_\w+|_(?!USE_MATH_DEFINES\b)\w+|NDEBUG|"
        rf"(?:{_KEYWORDS})\b)"
    ),
    re.compile(r"#\s*pragma\s+(?:GCC\s+(?:poison|system_header|diagnostic\s+error)|push_macro|pop_macro)"),
)
# The facade's own files by name, and a word over two lines, which no pattern here would see.
_OF_THE_FACADE = re.compile(rf"\bslim(?:{re.escape(WRITTEN.removeprefix('slim'))})?/")
_SPLIT_WORD = re.compile(r"[\w#](?:\\[ \t\r\f\v]*\n)+[\w#\"]")
# A template's head and the declaration up to its body, in which an expression of its own makes it one of several.
_TEMPLATE = re.compile(r"\btemplate\b[^{;]{0,2000}+(?P<end>[{;])?")
_ASKING = re.compile(
    r"\b(?:decltype\b|noexcept\s*\(|(?:sizeof|alignof)\b(?!\s*\(\s*\w+\s*\)))|\btypename\s+\w+\s*::|&\s*\w+\s*::\s*\w+|\boperator\s+\w+\s*\(\s*\)"
)
_FLAG = re.compile(
    r"-[DU](?!__CUDA_NO_)(?:TORCH|AT|C10|CAFFE2|PYBIND11|SLIM|USE|PY|Py|_)\w*|-U(?!__CUDA_NO_).*|-include.*|-imacros.*|-Werror.*|-pedantic-errors|"
    r"-fpermissive|-fno-(?:access-control|exceptions|rtti)|-f(?:short-\w+|pack-struct.*|(?:un)?signed-char)|"
    r"-std=(?!(?:c|gnu)\+\+(?:17|20)$).*"
)

# Possessive, and each alternative goes on where its end is missing, so that every character is read once.
_COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|R"(\w{0,16})\(.*?(?:\)\1"|\Z)|"(?:\\.|[^"\\\n])*+(?:"|(?P<cut_off>))|'
    r"(?:\b(?:u8|[uUL])|(?<!\w))'(?:\\.|[^'\\\n])*+(?:'|(?P<half>))",  # and not what separates digits
    re.DOTALL,
)
_INCLUDE = re.compile(r'^[ \t]*#\s*include\s*[<"]([^>"\n]*)[>"]', re.MULTILINE)
_CONDITION = re.compile(r"^[ \t]*#\s*(?:if|ifdef|ifndef|elif|elifdef|elifndef)\b(.*)$", re.MULTILINE)
_DEFINED = re.compile(r"^[ \t]*#\s*define\s+(\w+)", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#\s*define\s+\w+(.*)", re.MULTILINE)
_IDENTIFIER = re.compile(r"\b([A-Za-z_]\w*)\b(\s*\()?")
_OF_TORCH = re.compile(r"(?:torch|ATen|c10|pybind11)/")
_WHOLE_HEADERS = frozenset(f"torch/{name}.h" for name in ("extension", "torch", "all", "types", "python"))


def beyond_the_facade(request: BuildRequest, visible: Visible) -> str | None:
    """The first thing that a request uses and that only stock can be asked about; None where there is none."""
    return next(_reasons(request, visible), None)


def _reasons(request: BuildRequest, visible: Visible) -> Iterator[str]:
    texts = candidate_texts(request)
    if found := _LACKING.search("\n".join(texts)):
        yield found.group(0)
    if request.no_implicit_headers:
        yield "no_implicit_headers"
    yield from _hidden_from_patterns(texts, request.files)
    for flag in split_flags((*request.extra_cflags, *request.extra_cuda_cflags)):
        if _FLAG.fullmatch(flag):
            yield flag
    for name, text in request.files.items():
        if name.endswith(SOURCE_SUFFIXES) and _in_part(text):
            yield f"parts of torch's headers alone, in {name}"
    code = "\n".join(_code(text) for text in texts)
    for pattern in _UNKNOWABLE:
        if found := pattern.search(code):
            yield " ".join(found.group(0).split())
    yield from _asking(code)
    for condition in _CONDITION.findall(code):
        yield from (f"a condition on {name}" for name, _ in _IDENTIFIER.findall(condition) if name in visible.uncertain)
    own = set(_DEFINED.findall(code))
    for name, called in _IDENTIFIER.findall(code):
        takes_arguments = visible.macros.get(name)
        if takes_arguments is not None and name not in own and (called or not takes_arguments):
            yield f"{name}, a macro of torch's headers"


def _asking(code: str) -> Iterator[str]:
    """What makes a template one of several by an expression, in its declaration or in a macro that may stand there."""
    for template in _TEMPLATE.finditer(code):
        if found := _ASKING.search(template[0]):
            yield f"{' '.join(found[0].split())} in a template's declaration"
        elif template["end"] is None:
            yield "a template's declaration of more than 2,000 characters"
    for body in _MACRO.findall(code):
        if found := _ASKING.search(body):
            yield f"{' '.join(found[0].split())} in a macro"


def _hidden_from_patterns(texts: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    """What is looked for in texts as they are, comments and strings included, and in names of files."""
    if found := next(filter(None, map(_OF_THE_FACADE.search, (*texts, *names))), None):
        yield f"{found[0]}, where the facade's own headers lie"
    if any(map(_SPLIT_WORD.search, texts)):
        yield "a word over two lines"


def _in_part(text: str) -> bool:
    """Whether a source includes headers of torch's, and none that brings the whole that the facade stands for."""
    included = set(_INCLUDE.findall(text))
    return any(_OF_TORCH.match(name) for name in included) and included.isdisjoint(_WHOLE_HEADERS)


def _code(text: str) -> str:
    """A source without its comments and strings, every directive on one line. What looks like half a string stays."""
    joined = text.replace("\\\n", " ")
    return _COMMENT_OR_TEXT.sub(
        lambda match: match[0] if match["cut_off"] is not None or match["half"] is not None else " ", joined
    )
