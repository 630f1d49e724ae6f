"""C++ and CUDA text inside a candidate's strings, looked at with its comments removed."""

import re

# One alternative a token; possessive, so that hostile text costs linear time. An unclosed comment runs to the end.
_TOKEN = re.compile(
    r"(?P<comment>//(?:\\\n|[^\n])*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)"
    r'|R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)'
    r'|"(?:\\.|[^"\\\n])*+"?'
    r"|'(?:\\.|[^'\\\n])*+'?",
    re.DOTALL,
)
_KERNEL = re.compile(r"__global__|<<<")
_LOOKS_LIKE_C = re.compile(
    r"#\s*include\b|\b(?:torch|at|c10)::\w|__global__|__device__|PYBIND11_MODULE|TORCH_LIBRARY|extern\s+\"C\""
)


def without_comments(source: str) -> str:
    """`source` with each comment replaced by blanks; line breaks stay, so that lines keep their numbers."""
    return _TOKEN.sub(_blank_comment, source)


def _blank_comment(match: re.Match[str]) -> str:
    text = match.group()
    return re.sub(r"[^\n]", " ", text) if match["comment"] is not None else text


def is_c(text: str) -> bool:
    """Whether `text`, comments removed, reads like C++ or CUDA."""
    return _LOOKS_LIKE_C.search(text) is not None


def has_kernel(text: str) -> bool:
    """Whether `text`, comments removed, defines or launches a CUDA kernel."""
    return _KERNEL.search(text) is not None


def has_body(text: str) -> bool:
    """Whether `text`, comments removed, defines anything: a declaration alone has no braces."""
    return "{" in text
