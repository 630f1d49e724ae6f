"""The facade's parts: those that cost time to read, and the words of a source that call for them."""

import re
from collections.abc import Iterable

from harness.compile.standard import standard_headers

# Words of sources that use torch's headers for numbers of every kind.
_NUMERIC = r"complex|gpuAtomic|\.cuh>|NumericUtils|CUDABlas|cpu/vec"
_PARTS = {
    "SLIM_HALF": re.compile(rf"half|bfloat16|TYPES_AND|{_NUMERIC}", re.IGNORECASE),
    "SLIM_COMPLEX": re.compile(_NUMERIC, re.IGNORECASE),
    "SLIM_INDEX": re.compile(r"\bindexing\b|\bindex(?:_put_)?\s*\(|\bList\s*<"),
    "SLIM_MAYBE_OWNED": re.compile(r"MaybeOwned|expect_contiguous|borrow_from_optional_tensor"),
    "SLIM_ACCUMULATE": re.compile(r"\b(?:multiply|sum)_integers\b"),
    "SLIM_VECTORIZED": re.compile(r"cpu/vec"),
    "SLIM_MAP": re.compile(r"\bstd::map\b"),
    "SLIM_UNORDERED_MAP": re.compile(r"\bunordered_map\b"),
    "SLIM_SET": re.compile(r"\bstd::set\b"),
    "SLIM_OBJECTS": re.compile(
        r"\b(?:py|pybind11)::(?:object|dict|list|tuple|str|int_|float_|bool_|none\s*>|handle|sequence|iterable|function|cast|"
        r"print|len|isinstance|make_tuple|import|module_?::import|repr|hasattr|getattr|reinterpret_\w+|\w+_error)\b"
    ),
    "SLIM_ACCESSORS": re.compile(r"accessor", re.IGNORECASE),
    "SLIM_DISPATCH": re.compile(r"AT_DISPATCH"),
    "SLIM_CUBLAS": re.compile(r"cublas", re.IGNORECASE),
    "SLIM_CUBLASLT": re.compile(r"cublasLt"),
    "SLIM_PRINT": re.compile(r"\b(?:cout|cerr|clog|\w*stream)\b"),
    "SLIM_PARALLEL": re.compile(r"\bparallel_for\b|\bget_num_threads\b"),
}
_HEADERS = {
    "SLIM_HALF": ("c10/util/Half.h", "c10/util/BFloat16.h"),
    "SLIM_COMPLEX": ("c10/util/complex.h",),
    "SLIM_VECTORIZED": tuple(f"c10/util/{name}.h" for name in ("qint8", "quint8", "qint32", "quint4x2", "quint2x4")),
}
ALL_PARTS = tuple(part for part in _PARTS if not part.startswith("SLIM_CUBLAS"))
"""Those that can be read without CUDA."""


def parts_of(text: str) -> list[str]:
    """The parts that a source mentions."""
    return [part for part, words in _PARTS.items() if words.search(text)]


def prelude(parts: Iterable[str], standard: Iterable[str]) -> str:
    """`slim_prelude.h`: the switches of parts, then the headers for them and those of the standard library."""
    parts = list(parts)
    lines = [
        "#pragma once",
        *(f"#define {part}" for part in parts),
        *(f"#include <{header}>" for header in standard),
        *(f"#include <{header}>" for part in parts for header in _HEADERS.get(part, ())),
    ]
    return "\n".join(lines) + "\n"


def prelude_of(text: str, identifiers: Iterable[str]) -> str:
    """The prelude of a source that mentions `identifiers`."""
    return prelude(parts_of(text), standard_headers(identifiers, text))
