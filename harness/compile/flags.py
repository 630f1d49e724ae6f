"""Flags of candidates: an allow-list, by what model-written kernels use and what cannot run or write anything.

A compiler's flags load plugins, run programs, read files of arguments, write where they like, and each has several
spellings. So a word is refused unless a row here knows it. The words are those that the compiler will see, after the
shell's quoting is undone; an option's value is checked by a row of its own. `-Xcompiler`, `-Xptxas`, `-Xlinker` and
`-Wl,` hand their values on, and these are checked as what they are handed to.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.compile.recipe import BadFlags, split_flags
from harness.schema import BuildRequest

MOST_BYTES = 32_768
"""Of all flags and include paths together: the kernel takes two million, 131,072 in one word. No honest kernel needs a
thousand.
"""
MOST_WORDS = 1_000
"""The same in words: what compilers are confined by takes 9,000 arguments, which were the machine's fault."""

_NAME = r"[A-Za-z_]\w*"
_DEFINITION = rf"{_NAME}(\([\w, .]*\))?(=[\w .,:+\-*/()=\"']*)?"
_PATH = r"[\w./+][\w./+\- ]*"
_ARCHITECTURE = r"(compute|sm|lto)_\d+[af]?"
_ARCHITECTURES = rf"(\[?{_ARCHITECTURE}\]?|native|all|all-major)(,\[?{_ARCHITECTURE}\]?)*"
_GENCODE = rf"(arch={_ARCHITECTURES})(,code=\[?{_ARCHITECTURES}\]?)?"
_LIBRARIES = (
    r"cublas|cublasLt|cuda|cudart|cudart_static|cudadevrt|cudnn|cufft|curand|cusolver|cusparse|nvrtc|nvToolsExt|nvidia-ml|"
    r"nvJitLink|cutensor|torch|torch_cpu|torch_cuda|torch_python|c10|c10_cuda|m|pthread|rt|dl|gomp|stdc\+\+|gcc_s|gcc|mvec"
)


@dataclass(frozen=True)
class _Rows:
    """What one program may be told: whole words, options whose value is the next word, values that are handed on."""

    words: re.Pattern[str]
    with_value: dict[str, str]
    handed_on: dict[str, Callable[[Sequence[str]], str | None]]


_SHARED = (
    rf"-D{_DEFINITION}|-U{_NAME}|-I{_PATH}|-isystem{_PATH}|-std=(c|gnu)\+\+\w{{2}}|-w|-g[0-3]?|-O([0-3sg]|fast)?|"
    r"-pthread"
)
_SHARED_VALUES = {
    "-D": _DEFINITION,
    "-U": _NAME,
    "-I": _PATH,
    "-isystem": _PATH,
    "-include": _PATH,
}
_CXX_WORDS = (
    rf"{_SHARED}|-ggdb[0-3]?|-W(no-)?(error=)?[\w+\-]+(=\d+)?|-pedantic|-ansi|"
    r"-m(no-)?(arch|tune|cpu|fpu|avx\w*|sse[\w.]*|ssse3|fma4?|f16c|bmi2?|popcnt|lzcnt|abm|aes|adx|sha|64|amx-\w+|xop|"
    r"prefer-vector-width|vzeroupper|fpmath|mmx|sve\w*|recip|veclibabi)(=[\w.+,\-]+)?|"
    r"-f(no-)?lto|-flto=auto|-f(no-)?(PIC|pic|PIE|pie|openmp(-simd)?|fast-math|unsafe-math-optimizations|math-errno|trapping-math|"
    r"signed-zeros|finite-math-only|associative-math|reciprocal-math|rounding-math|signaling-nans|"
    r"single-precision-constant|unroll-(all-)?loops|inline(-functions|-small-functions|-limit)?|omit-frame-pointer|strict-aliasing|"
    r"tree-[\w\-]+|vect-cost-model|vectorize|peel-loops|prefetch-loop-arrays|ivopts|gcse[\w\-]*|split-loops|"
    r"loop-[\w\-]+|graphite[\w\-]*|ipa-[\w\-]+|devirtualize[\w\-]*|modulo-sched[\w\-]*|sched-[\w\-]+|schedule-insns2?|"
    r"exceptions|rtti|permissive|visibility(-inlines-hidden)?|stack-protector[\w\-]*|function-sections|data-sections|"
    r"common|plt|semantic-interposition|merge-all-constants|wrapv|trapv|delete-null-pointer-checks|builtin|"
    r"concepts|coroutines|diagnostics-(color|show-[\w\-]+)|max-errors|template-depth|constexpr-[\w\-]+|fp-contract|"
    r"excess-precision|cx-limited-range|cx-fortran-rules|align-[\w\-]+|rename-registers|web|abi-version|"
    r"asynchronous-unwind-tables|unwind-tables|threadsafe-statics|char8_t|signed-char|unsigned-char)(=[\w.\-]+)?"
)
_LINKER_WORDS = (
    r"--(no-)?as-needed|--(no-)?gc-sections|-O[0-3]|-s|-S|--strip-(all|debug)|-Bsymbolic(-functions)?|--no-undefined|"
    r"--(enable|disable)-new-dtags|--export-dynamic|-E|--start-group|--end-group|--(no-)?whole-archive|"
    r"--allow-multiple-definition|--exclude-libs[,=]ALL|--hash-style=\w+|--build-id(=(none|sha1|md5))?|"
    r"--?rpath=[$\w./+][$\w./+:\-{}]*|--demangle|--(no-)?allow-shlib-undefined|-lm|-lpthread"
)
_LINKER_KEYWORDS = r"now|relro|norelro|defs|lazy|noexecstack|origin|nodelete|muldefs"
_RUN_PATH = r"[$\w./+][$\w./+:\-{}]*"
_PTXAS_WORDS = (
    r"-v|--verbose|-w|-O[0-4]|-d[ls]cm=\w{2}|--(def|force)-(load|store)-cache=\w{2}|-warn-\w[\w\-]*|--warn-[\w\-]+|"
    r"--opt-level=?[0-4]|-?-(fmad|ftz|prec-div|prec-sqrt)=(true|false)|-?-maxrregcount=\d+|"
    r"-?-allow-expensive-optimizations(=(true|false))?|-?-register-usage-level=\d+|-?-optimize-float-atomics|--disable-[\w\-]+|"
    r"-?-def-(load|store)-cache=\w{2}|--suppress-[\w\-]+|--generate-line-info|-lineinfo|--extensible-whole-program|-ewp"
)
_FRONT_END_WORDS = r"--?diag_(suppress|remark|warning|error|default)=\w+|--display_error_number|--promote_warnings|-w"


def _all_match(words: str) -> Callable[[Sequence[str]], str | None]:
    known = re.compile(words)
    return lambda values: next((value for value in values if not known.fullmatch(value)), None)


def _host_compiler(values: Sequence[str]) -> str | None:
    return _first_unknown(values, _CXX)


def _linker(values: Sequence[str]) -> str | None:
    """What is handed to the linker, where `-rpath X` and `-z X` may stand as two values."""
    waiting = iter(values)
    for value in waiting:
        if value in ("-rpath", "--rpath", "-z"):
            following = next(waiting, "")
            if not re.fullmatch(_LINKER_KEYWORDS if value == "-z" else _RUN_PATH, following):
                return f"{value},{following}"
        elif not re.fullmatch(_LINKER_WORDS, value):
            return value
    return None


_CXX = _Rows(
    words=re.compile(_CXX_WORDS),
    with_value=_SHARED_VALUES,
    handed_on={},
)
_NVCC = _Rows(
    words=re.compile(
        rf"{_SHARED}|--std=c\+\+\w{{2}}|--optimize=?[0-3]|--debug|-G|--device-debug|-lineinfo|--generate-line-info|-src-in-ptx|"
        r"-?-use_fast_math|-?-use-fast-math|-?-(expt-)?extended-lambda|-?-expt-relaxed-constexpr|-?-ptxas-warn|"
        r"-?-(fmad|ftz|prec-div|prec-sqrt|extra-device-vectorization|relocatable-device-code|rdc)(=(true|false))?|"
        rf"-?-(gpu-architecture|arch|gpu-code|code)={_ARCHITECTURES}|-?-(gencode|generate-code)={_GENCODE}|"
        r"-?-maxrregcount=?\d+|-?-(threads|t|split-compile)=?\d+|-?-default-stream=(per-thread|legacy|null)|-?-m64|-m64|"
        r"-?-diag-(suppress|error|warn)=[\w,]+|-?-(no-)?display-error-number|-?-restrict|-?-resource-usage|-res-usage|"
        r"-?-disable-warnings|-?-source-in-ptx|-?-allow-unsupported-compiler|-?-Werror=?[\w,\-]*|-Wno-deprecated-gpu-targets|"
        r"-Wno-deprecated-declarations|-W(reorder|default-stream-launch|missing-launch-bounds|ext-lambda-captures-this)|-Wall|"
        r"-?-dlink-time-opt|-dlto|-?-lto|-?-no-host-device-initializer-list|-?-no-host-device-move-forward|"
        r"-?-cudart=?(shared|static|none)|-?-compress-mode=\w+|-?-Ofast-compile=\w+|-dc|-fPIC"
    ),
    with_value={
        **_SHARED_VALUES,
        **dict.fromkeys(("-arch", "--gpu-architecture", "-gpu-architecture", "-code", "--gpu-code"), _ARCHITECTURES),
        **dict.fromkeys(("-gencode", "--generate-code", "-generate-code"), _GENCODE),
        **dict.fromkeys(("-maxrregcount", "--maxrregcount", "-t", "--threads", "-threads", "--split-compile"), r"\d+"),
        **dict.fromkeys(("-std", "--std"), r"c\+\+\w{2}"),
        **dict.fromkeys(("-default-stream", "--default-stream"), r"per-thread|legacy|null"),
        **dict.fromkeys(("-diag-suppress", "--diag-suppress", "-diag-warn", "--diag-warn"), r"[\w,]+"),
        **dict.fromkeys(("-O", "--optimize", "-optimize"), r"[0-3]"),
        **dict.fromkeys(("-rdc", "--relocatable-device-code", "-fmad", "--fmad", "-ftz", "--ftz"), "true|false"),
        **dict.fromkeys(("-prec-div", "--prec-div", "-prec-sqrt", "--prec-sqrt"), "true|false"),
    },
    handed_on={
        **dict.fromkeys(("-Xcompiler", "--compiler-options", "-compiler-options"), _host_compiler),
        **dict.fromkeys(("-Xptxas", "--ptxas-options", "-ptxas-options"), _all_match(_PTXAS_WORDS)),
        **dict.fromkeys(("-Xcudafe", "--cudafe-options"), _all_match(_FRONT_END_WORDS)),
        **dict.fromkeys(("-Xfatbin", "--fatbin-options"), _all_match(r"-?-compress-all|-?-compress=(true|false)")),
        **dict.fromkeys(("-Xlinker", "--linker-options", "-linker-options"), _linker),
    },
)
_LINK = _Rows(
    words=re.compile(
        rf"-l({_LIBRARIES})|-L{_PATH}|-fopenmp|-pthread|-flto|-shared|-fPIC|-s|-rdynamic|-O([0-3s]|fast)?|-g|-march=native"
    ),
    with_value={"-l": _LIBRARIES, "-L": _PATH},
    handed_on={},
)


def refused_flag(request: BuildRequest, library_roots: Iterable[Path]) -> str | None:
    """Why one of a request's flags is refused, with the word; None where all are known.

    `-L` may name folders below `library_roots` and of the system alone: the build's own folder holds what the candidate
    wrote, and the linker reads a text of the right name as a script.
    """
    texts = (*request.extra_cflags, *request.extra_cuda_cflags, *request.extra_ldflags, *request.extra_include_paths)
    if sum(len(text.encode("utf-8", "replace")) for text in texts) > MOST_BYTES:
        return f"the compiler flags are longer than {MOST_BYTES} bytes"
    if sum(max(1, len(text.split())) for text in texts) > MOST_WORDS:
        return f"the compiler flags are more than {MOST_WORDS} words"
    if any(not path.isprintable() for path in request.extra_include_paths):
        return "an include path holds characters that cannot be printed"
    roots = ["/usr", "/lib", "/lib64", "/opt", *map(str, library_roots)]
    kinds = ((request.extra_cflags, _CXX), (request.extra_cuda_cflags, _NVCC), (request.extra_ldflags, _LINK))
    for flags, rows in kinds:
        try:
            words = split_flags(flags)
        except BadFlags as why:
            return str(why)
        unknown = _first_unknown(words, rows) or (_misplaced(words, roots) if rows is _LINK else None)
        if unknown is not None:
            return f"the compiler flag {unknown[:200]!r} is not among those that candidates may use"
    return None


def _first_unknown(words: Sequence[str], rows: _Rows) -> str | None:
    """The first word that no row knows, or None."""
    waiting = iter(words)
    for word in waiting:
        if rows is _LINK and word.startswith("-Wl,"):
            if (unknown := _linker(word.split(",")[1:])) is not None:
                return f"-Wl,{unknown}"
            continue
        option, joined, value = word.partition("=")
        if option in rows.handed_on:
            value = value if joined else next(waiting, "")
            if (unknown := rows.handed_on[option](_handed(value))) is not None:
                return f"{option} {unknown}"
        elif word in rows.with_value:
            if not re.fullmatch(rows.with_value[word], value := next(waiting, "")):
                return f"{word} {value}"
        elif not rows.words.fullmatch(word):
            return word
    return None


def _handed(value: str) -> list[str]:
    """What nvcc makes of a value that it hands on: it splits at commas, and the quotes of a shell in between go."""
    return [part for quoted in value.split(",") for part in quoted.strip("\"'").split()] or [value]


def _misplaced(words: Sequence[str], roots: Sequence[str]) -> str | None:
    """The first -L outside of the folders that a candidate cannot have written to."""
    for folder in _folders(words):
        real = os.path.normpath(folder)
        if not any(real == root or real.startswith(f"{root}/") for root in roots):
            return f"-L{folder}"
    return None


def _folders(words: Sequence[str]) -> Iterator[str]:
    for number, word in enumerate(words):
        if word == "-L":
            yield words[number + 1] if number + 1 < len(words) else ""
        elif word.startswith("-L"):
            yield word[2:]
