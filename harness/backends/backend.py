"""Backend: one kind of device that candidates run on, as the controller knows it. Does without torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from harness.backends.hardware import Hardware


class TorchBuild(Protocol):
    """The torch that is installed. `cuda` is the version that it was built for, None for a CPU build."""

    @property
    def cuda(self) -> str | None: ...


@dataclass(frozen=True)
class Backend:
    """A row of the table.

    `name` is the kind of device that records state, and what `--device` names it by where it is `selectable`; with
    `numbered`, "name:0" is the first of its devices. `title` is for people ("a GPU").

    `find` gives the handles of its devices here, in order; a handle is what `visibility` puts into the environment of
    a process so that this device is the only one that it sees, None for the one device that needs no handle. `absent`
    says that there is none, `why_not` why the torch that is installed cannot use it, "" where it can, and is None where
    any can. `open` takes a
    handle and the core of its timed workers, and holds the device for a judge; it needs torch.

    `is_gpu`: workers need its device nodes, a candidate's import may fail without it, and kernels are built for an
    architecture. `toolchains` are names of `compile/toolchains.py`, tried in order; the last one's word is final.
    `builds_cuda`: its toolchains take CUDA sources, with `nvcc` where `nvcc` is set. `emulates`: CUDA is emulated, so
    that no time is taken and sizes are reduced. `emulation` is the backend that takes candidates in CUDA, "" for this
    one itself.
    """

    name: str
    title: str
    find: Callable[[], list[str | None]]
    visibility: Callable[[str | None], Mapping[str, str]]
    open: "Callable[[str | None, int | None], Hardware]"
    toolchains: tuple[str, ...]
    absent: str
    why_not: Callable[[TorchBuild], str] | None = None
    selectable: bool = True
    numbered: bool = True
    is_gpu: bool = False
    builds_cuda: bool = True
    nvcc: bool = False
    emulates: bool = False
    emulation: str = ""
