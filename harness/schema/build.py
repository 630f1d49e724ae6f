"""BuildRequest: what a candidate asked the compiler for. Artifact: what the build made of it."""

from typing import Annotated, Literal

from pydantic import Field

from harness.schema.base import Frozen, Notes, Said, Sha256

DEVICE_KIND = "^[a-z0-9-]{1,32}$"
DeviceKind = Annotated[str, Field(pattern=DEVICE_KIND)]
EMULATED: DeviceKind = "cpu-emulated"
"""The kind of CUDA that is emulated on a CPU, which tells what is right and never what is fast."""
"""The name of a row of `harness.backends`, of this version or of another."""
ToolchainChoice = Literal["auto", "stock"]
AuditChoice = Literal["sample", "all", "none"]
"""Of which verdicts from fast builds stock is asked as well: of a random one in twenty, of all, of none."""


class BuildRequest(Frozen):
    """The arguments of one `load_inline` or `load` call, as plain data.

    For `load_inline` the sources stand in `cpp_sources` and `cuda_sources`; for `load`, `files` maps each file's
    base name to its text. `functions` maps an exported name to its docstring; None where none were asked for.
    """

    name: str
    cpp_sources: tuple[str, ...] = ()
    cuda_sources: tuple[str, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)
    functions: dict[str, str] | None = None
    extra_cflags: tuple[str, ...] = ()
    extra_cuda_cflags: tuple[str, ...] = ()
    extra_ldflags: tuple[str, ...] = ()
    extra_include_paths: tuple[str, ...] = ()
    with_cuda: bool | None = None
    is_python_module: bool = True
    no_implicit_headers: bool = False
    with_pytorch_error_handling: bool = True

    @property
    def uses_cuda(self) -> bool:
        """Whether a CUDA compiler is needed, by the same rule as torch's `load_inline` and `load`."""
        if self.with_cuda is not None:
            return self.with_cuda
        return bool(self.cuda_sources) or any(name.endswith((".cu", ".cuh")) for name in self.files)


class Artifact(Frozen):
    """A shared object in the cache.

    `path` is absolute; `library` is the path of the shared object of ours that must lie beside it when it is loaded,
    None where it needs none; `module` the name of its `PyInit_` function; `toolchain` which one built it ("stock",
    "slim", "emulated", ...); `notes` what was substituted or stepped back from on the way; `seconds` and
    `cpu_seconds` what building cost, both 0 where `cached`.
    """

    key: str
    path: str
    library: str | None = None
    sha256: Sha256
    module: str
    toolchain: str
    cached: bool
    seconds: float
    cpu_seconds: float
    log: str = ""
    notes: Notes = ()


FAST_TOOLCHAINS = frozenset({"slim", "emulated"})
"""Those that have another one's word behind theirs."""

BuildReason = Literal["compile", "not-emulated", "timeout", "out-of-memory", "unsupported"]


class BuildFailure(Frozen):
    """A build that did not succeed through a fault of the candidate.

    `detail` is the first error in one sentence; `log` what the compiler printed, paths and lines rewritten to the
    candidate's own where they could be traced back to it. `decided` names the rule by which a fast toolchain's refusal
    is stock's as well (`harness/compile/decided.py`), "" where the last toolchain was asked. `cpu_seconds` are those of
    all toolchains that were tried.
    """

    reason: BuildReason
    detail: Said
    log: str
    toolchain: str
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    decided: str = ""
