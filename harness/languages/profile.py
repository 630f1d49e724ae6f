"""Which kernels of a profile are the candidate's own, by the table of languages."""

import re

from harness.languages.table import LANGUAGES

_ANONYMOUS = "(anonymous namespace)::"


def defined_kernels(source: str) -> frozenset[str]:
    """The names that a profile shows for the kernels which a source defines in plain sight."""
    return frozenset(
        form.format(name)
        for row in LANGUAGES.values()
        if row.defines is not None
        for name in row.defines.findall(source)
        for form in row.shown
    )


def is_own_kernel(name: str, defined: frozenset[str]) -> bool:
    """Whether a kernel with this name in a profile is the candidate's, whose source defines `defined`.

    It is where the source defines that name, whatever it looks like, or where it looks like no library's. What lies in
    `at::native` is PyTorch's.
    """
    plain = name.removeprefix("void ").replace(_ANONYMOUS, "")
    base = re.split(r"[<(]", plain, maxsplit=1)[0]
    if "at::native" in base:
        return False
    if base.rsplit("::", 1)[-1] in defined:
        return True
    rows = LANGUAGES.values()
    if any(row.own and row.own.search(plain) for row in rows):
        return True
    return not any(row.library and row.library.search(name) for row in rows)
