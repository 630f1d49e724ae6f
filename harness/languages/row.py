"""Language: one row of the table, with everything that the house knows of a language."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.languages.code import Code


def _never(code: Code) -> bool:
    return False


@dataclass(frozen=True)
class Language:
    """One language that kernels are written in.

    `name` is what records say, `title` what people read. A candidate is written in it where it imports one of
    `modules`, calls one of `makers` (the last part of a call's name), or `detects` says so; not where it is also
    written in one of `part_of`.

    `defines` finds in a source the names of its kernels, in group 1; a profile shows each as one of `shown`. `own`
    matches names that in a profile only kernels of this language have, `library` those of its own ready-made operators,
    which are no candidate's.

    `needs_gpu`: nothing of it runs on a CPU. `emulated`: there it runs under emulation of CUDA. `interpreter`: there
    this package's own interpreter runs it, which an extra of ours by the same name installs. `late_builds`: the
    compilers of this house build it (`load_inline`, `load`), and it may ask for that once it runs, in a constructor,
    say; every other language compiles in the candidate's own process. `prompt` says how a model is to hand it in, ""
    where none is asked for it.
    """

    name: str
    title: str
    modules: tuple[str, ...] = ()
    makers: frozenset[str] = frozenset()
    detects: Callable[[Code], bool] = _never
    part_of: frozenset[str] = frozenset()
    defines: re.Pattern[str] | None = None
    shown: tuple[str, ...] = ("{}",)
    own: re.Pattern[str] | None = None
    library: re.Pattern[str] | None = None
    needs_gpu: bool = False
    emulated: bool = False
    interpreter: str = ""
    late_builds: bool = False
    prompt: str = field(default="", repr=False)

    def is_in(self, code: Code) -> bool:
        """Whether a candidate has kernels in this language, whatever `part_of` says."""
        return code.imports_below(*self.modules) or not self.makers.isdisjoint(code.called) or self.detects(code)
