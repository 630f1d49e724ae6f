"""What torch's headers can declare to one source: every identifier in what stock's preprocessor makes of its includes.

A set of names, kept in the cache for each list of includes, flags, torch and compiler. Read to refuse a source without
stock's compile (`decided.py`), so it may hold too many names and never too few: macros count with their bodies, both
passes of nvcc count, and so do parameters, comments of macros and whatever else looks like an identifier.
Not covered: names that a macro makes by pasting tokens (`pasting` says which may), and what compilers know themselves.
What is said of namespaces and of classes, `within` and `members`, is missing where it could not be told.
"""

import functools
import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.compile import printed
from harness.compile.cache import disk_faults
from harness.compile.compiler import compiler_version, readable_folders, run_compiler
from harness.compile.output import BadOutput, take_output
from harness.compile.printed import Names, lines_of, without_comments
from harness.compile.toolchain import Surroundings
from harness.compile.waiting import Patience

PREPROCESS_S = 120.0
READ_S = 60.0
"""What reading what was printed may take: torch's headers take 4 s."""
MOST_BYTES = 16 << 20
"""Of the names of one list of includes as they are kept: torch's are 3 MB."""
_PROGRAM = Path(printed.__file__)
_THIS_CODE = Path(__file__).read_bytes() + _PROGRAM.read_bytes()
_DIRECTIVE = re.compile(r"\s*#\s*(\w*)")


@functools.lru_cache(maxsize=4)  # 20 MB for torch's headers, 150 MB at most
def _read(file: Path) -> Names:
    return Names.of_json(json.loads(file.read_bytes()))


def header_names(
    call: Sequence[str], text: str, files: Mapping[str, str], around: Surroundings, patience: Patience
) -> Names | None:
    """The names that headers hold for the source `text`, which `call`, stock's, compiles beside the other `files`.

    None where stock's preprocessor does not take the includes, not in time, or makes too much of them: then nothing can
    be said. Raises MachineError where the cache cannot be used, GivenUpError where nobody waits for it any more,
    TimeoutError where another process was asking for the same until time was up.
    """
    skeleton = skeleton_of(text)
    files = files if _may_include(skeleton, files) else {}
    flags = ["-DTORCH_EXTENSION_NAME=any" if f.startswith("-DTORCH_EXTENSION_NAME=") else f for f in call[:-4]]
    parts = (
        flags,
        call[-3],
        skeleton,
        sorted(files.items()),
        around.machine.layout.describe(),
        compiler_version(call[0]),
    )
    digest = hashlib.sha256(repr((parts, _THIS_CODE)).encode(errors="surrogateescape"))
    fingerprint = f"names-{digest.hexdigest()[:32]}"
    cache = around.cache
    with cache.lock(f"{fingerprint}.lock", patience.go_on):
        folder = cache.tool(fingerprint, hold=False)
        if folder is None:
            with disk_faults(cache.root), cache.work_folder() as work:
                if not _write_names(work / "names.json", flags, call[-3], skeleton, files, around, patience):
                    return None
                folder = cache.publish_tool(work, fingerprint, hold=False)
        return _read(folder / "names.json")


def _may_include(skeleton: str, files: Mapping[str, str]) -> bool:
    """Whether any of these files can matter to the directives of a source: one is named, or a macro names what, or
    they ask what there is.
    """
    included = re.findall(r"^[^\S\n]*#\s*include\w*\s*(\S[^\n]*)", skeleton, re.MULTILINE)
    of_macros = any(not what.startswith(("<", '"')) for what in included)
    named = any(Path(name).name in what for name in files for what in included)
    return of_macros or named or "__has_include" in skeleton


def _write_names(
    target: Path,
    flags: Sequence[str],
    name: str,
    skeleton: str,
    files: Mapping[str, str],
    around: Surroundings,
    patience: Patience,
) -> bool:
    """Writes the names in what stock's preprocessor makes of a skeleton, nvcc's of its passes for the host and for the
    device; False where it makes nothing of it, or too much.
    """
    cuda = Path(flags[0]).name == "nvcc"
    passes = (("-Xcompiler", "-dD"), ("-Xcompiler", "-dD", "-U__CUDA_ARCH__")) if cuda else (("-dD",),)
    outputs = [f"printed-{number}.i" for number in range(len(passes))]
    calls = [(*flags, *own, "-E", name, "-o", output) for own, output in zip(passes, outputs, strict=True)]
    reading = (sys.executable, "-I", "-S", str(_PROGRAM), target.name, *outputs)
    readable = (*readable_folders(around.machine.layout, around.cache), _PROGRAM.parent)
    with disk_faults(around.cache.root), around.cache.work_folder() as work:
        for other, text in {**files, name: skeleton}.items():  # local headers may include each other
            (work / other).parent.mkdir(parents=True, exist_ok=True)
            (work / other).write_text(text, errors="surrogateescape")
        for call, most_s in (*((call, PREPROCESS_S) for call in calls), (reading, READ_S)):
            left = min(most_s, patience.left_s())
            run = run_compiler(call, cwd=work, deadline_s=left, readable=readable, stop=patience.unwanted)
            if not run.ok:
                return False
        try:
            take_output(work / target.name, target)
        except BadOutput:
            return False
        return target.stat().st_size <= MOST_BYTES


def skeleton_of(text: str) -> str:
    """The directives of a source up to its last include: they alone decide what headers say to it."""
    lines = [line for line in lines_of(without_comments(text)) if _DIRECTIVE.match(line)]
    words = [found[1] if (found := _DIRECTIVE.match(line)) else "" for line in lines]
    last = max((index for index, word in enumerate(words) if word.startswith("include")), default=-1)
    depth = 0
    for word in words[: last + 1]:
        depth += (word in ("if", "ifdef", "ifndef")) - (word == "endif")
    return "\n".join((*lines[: last + 1], *["#endif"] * max(0, depth), ""))
