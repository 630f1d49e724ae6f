"""torch::nn::functional: which of torch's own headers declare the functions that a source names, and what they mention.

The functions are thin and inline, in terms of operators, so torch's own text serves over the slim facade as well.
"""

import re
from collections.abc import Collection
from pathlib import Path

FOLDER = "torch/nn/functional"
WANTED = re.compile(r"\bnn::functional\b|<torch/nn/functional")

_INCLUDED = re.compile(rf"#include <{FOLDER}/(\w+)\.h>")
_DECLARED = re.compile(r"^inline [\w:<>, ]*?\b(\w+)\(", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*")


def functional_headers(names: Collection[str], include: Path) -> dict[str, str]:
    """Header name to text, for the headers under torch's `include` that declare one of `names` and those they include.

    The texts come without comments, for their words to be looked for.
    """
    folder = include / "torch" / "csrc" / "api" / "include" / FOLDER
    texts = {file.stem: _COMMENT.sub("", file.read_text()) for file in sorted(folder.glob("*.h"))}
    wanted = [stem for stem, text in texts.items() if not set(_DECLARED.findall(text)).isdisjoint(names)]
    found: dict[str, str] = {}
    while wanted:
        stem = wanted.pop()
        if stem in texts and stem not in found:
            found[stem] = texts[stem]
            wanted += _INCLUDED.findall(texts[stem])
    return {f"{FOLDER}/{stem}.h": found[stem] for stem in sorted(found)}
