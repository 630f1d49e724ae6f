"""Capture: `load_inline` and `load` inside a candidate become build requests; the worker only loads what comes back.

Runs in the UNTRUSTED worker, before the candidate is imported. Arguments are read exactly as torch reads them, so
that what works with stock torch works here, and what fails there fails here with the same kind of exception. Not
covered: `setup.py` builds (`CUDAExtension`), SYCL, and `is_standalone=True`.
"""

import importlib.machinery
import importlib.util
import inspect
import itertools
import os
import re
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.schema import Artifact, BuildFailure, BuildRequest
from harness.schema.build import BuildReason

RequestBuild = Callable[[BuildRequest], Artifact]
# Accepted and without meaning here: build_directory, verbose, keep_intermediates, use_pch, extra_sycl_cflags.

_LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_HEADER_SUFFIXES = (".h", ".hpp", ".hxx", ".cuh", ".inl", ".inc")
_FILE_LIMIT_BYTES = 4 << 20
_WHICH_FILES = (
    "There are the files that the candidate writes and, where `harness eval` is given a .py file, those beside it that "
    "its strings name by a relative path"
)


class BuildFailed(RuntimeError):
    """The build of an extension failed. `failure` is what the builder said.

    A RuntimeError with stock's words, because candidates catch that.
    """

    def __init__(self, name: str, failure: BuildFailure) -> None:
        super().__init__(f"Error building extension '{name}': {failure.log or failure.detail}")
        self.failure = failure


def install(request_build: RequestBuild) -> Callable[[], None]:
    """Put capturing functions in the place of torch's `load_inline` and `load`; gives a function that undoes it.

    `request_build` answers with an artifact, or raises BuildFailed with what the builder said; it is called on the
    candidate's thread. Call this before the candidate is imported, so that `from ... import load_inline` finds ours.
    """
    from torch.utils import cpp_extension

    stock_inline, stock_load = cpp_extension.load_inline, cpp_extension.load
    extensions = _Extensions(request_build)
    cpp_extension.load_inline = _capturing(stock_inline, _inline_request, extensions)
    cpp_extension.load = _capturing(stock_load, _load_request, extensions)

    def undo() -> None:
        cpp_extension.load_inline, cpp_extension.load = stock_inline, stock_load

    return undo


class _Extensions:
    """The extensions of this process: each has a name of its own, and is built and loaded once.

    Of different requests with one name the second is built as `NAME_v1`, as by torch's `ExtensionVersioner`: pybind11 3
    keeps modules by their name, and would give the first for the second (`get_cached_module`). torch counts on where
    a request comes again; here it is answered with what was loaded for it, which has the same functions. Threads are
    served one by one, since they share one channel.
    """

    def __init__(self, request_build: RequestBuild) -> None:
        self._request_build = request_build
        self._requests: dict[str, BuildRequest] = {}
        self._loaded: dict[str, types.ModuleType | str] = {}
        self._one_by_one = threading.RLock()

    def get(self, request: BuildRequest) -> types.ModuleType | str:
        """The extension that `request` describes. Raises BuildFailed, and what loading it raises."""
        with self._one_by_one:
            name = next(name for name in _versions(request.name) if self._requests.setdefault(name, request) == request)
            if name not in self._loaded:
                named = request.model_copy(update={"name": name})
                self._loaded[name] = load_artifact(named, self._request_build(named))
            return self._loaded[name]


def _versions(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_v{version}" for version in itertools.count(1))


def _capturing(
    stock: Callable[..., Any], to_request: Callable[[dict[str, Any]], BuildRequest], extensions: _Extensions
) -> Callable[..., Any]:
    """A function with stock's name, signature and TypeErrors that gives one of `extensions`."""
    signature = inspect.signature(stock)

    def captured(*args: Any, **kwargs: Any) -> types.ModuleType | str:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{stock.__name__}() {error}") from None
        bound.apply_defaults()
        return extensions.get(to_request(bound.arguments))

    captured.__name__ = captured.__qualname__ = stock.__name__
    captured.__doc__ = stock.__doc__
    captured.__signature__ = signature  # type: ignore[attr-defined]
    return captured


def load_artifact(request: BuildRequest, artifact: Artifact) -> types.ModuleType | str:
    """Load a shared object as torch would: as a Python module, or as a library of operators by its path."""
    if not request.is_python_module:
        import torch

        torch.ops.load_library(artifact.path)
        return artifact.path
    loader = importlib.machinery.ExtensionFileLoader(artifact.module, artifact.path)
    spec = importlib.util.spec_from_file_location(artifact.module, artifact.path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _inline_request(given: dict[str, Any]) -> BuildRequest:
    """A `load_inline` call as a request. `given` is its bound arguments, defaults included."""
    name = _name(given)
    _refuse_sycl(name, given)
    cuda_sources = _source_list(given["cuda_sources"] or [])
    with_cuda = given["with_cuda"]
    return BuildRequest(
        name=name,
        cpp_sources=tuple(_source_list(given["cpp_sources"])),
        cuda_sources=tuple(cuda_sources),
        functions=_functions(given["functions"]),
        with_cuda=bool(cuda_sources) if with_cuda is None else bool(with_cuda),
        is_python_module=bool(given["is_python_module"]),
        no_implicit_headers=bool(given.get("no_implicit_headers", False)),
        with_pytorch_error_handling=bool(given.get("with_pytorch_error_handling", True)),
        **_flags(given),
        **_files({}, given),
    )


def _load_request(given: dict[str, Any]) -> BuildRequest:
    """A `load` call as a request that carries the text of its source files and of the headers beside them."""
    name = _name(given)
    _refuse_sycl(name, given)
    if given.get("is_standalone"):
        raise _failed(name, "unsupported", "is_standalone=True builds a program, which is not supported")
    sources = given["sources"]
    paths = [Path(path).absolute() for path in ([sources] if isinstance(sources, str) else sources)]
    files = _files(_read_files(name, paths), given)
    with_cuda = given["with_cuda"]
    return BuildRequest(
        name=name,
        with_cuda=any(path.suffix in (".cu", ".cuh") for path in paths) if with_cuda is None else bool(with_cuda),
        is_python_module=bool(given["is_python_module"]),
        **_flags(given),
        **files,
    )


def _name(given: dict[str, Any]) -> str:
    name = given["name"]
    if not isinstance(name, str):
        raise TypeError(f"expected str, bytes or os.PathLike object, not {type(name).__name__}")
    return name


def _source_list(sources: Any) -> list[str]:
    """A string, or a list of them. torch inserts its header into the list, so what has no `insert` fails as there."""
    if isinstance(sources, str):
        return [sources]
    _ = sources.insert
    return ["\n".join([source]) for source in sources]  # a source that is no string fails in join, as there


def _functions(functions: Any) -> dict[str, str] | None:
    """The functions to export and their docstrings, by torch's rule."""
    if functions is None:
        return None
    if isinstance(functions, str):
        functions = [functions]
    if isinstance(functions, list):
        return {str(function): str(function) for function in functions}
    if not isinstance(functions, dict):
        raise ValueError(f"Expected 'functions' to be a list or dict, but was {type(functions)}")  # noqa: TRY004 - torch's
    return {str(function): str(doc) for function, doc in functions.items()}


def _flags(given: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """The flags, stripped as torch strips them."""
    kinds = ("extra_cflags", "extra_cuda_cflags", "extra_ldflags")
    return {kind: tuple(flag.strip() for flag in given[kind] or ()) for kind in kinds}


def _files(texts: Mapping[Path, str], given: dict[str, Any]) -> dict[str, Any]:
    """These texts, and the headers in include folders of the candidate's own, all by their place below one folder.

    Such a folder is named by its place there, since only the worker has it; others, of the system, by absolute path.
    """
    paths = [Path(os.path.abspath(path.strip())) for path in given["extra_include_paths"] or ()]
    scratch = [Path.cwd(), Path(os.environ.get("TMPDIR", "/tmp"))]
    own = {path for path in paths if any(path.is_relative_to(root) for root in scratch) and path.is_dir()}
    texts = {**dict(_headers_in(own)), **texts}
    folders = [*own, *(path.parent for path in texts)]
    root = os.path.commonpath(folders) if folders else "."
    return {
        "files": {os.path.relpath(path, root): text for path, text in texts.items()},
        "extra_include_paths": tuple(os.path.relpath(path, root) if path in own else str(path) for path in paths),
    }


def _read_files(name: str, paths: list[Path]) -> dict[Path, str]:
    """The text of source files, and of the local headers they include."""
    texts: dict[Path, str] = {}
    waiting = list(paths)
    while waiting:
        path = waiting.pop(0)
        if path in texts:
            continue
        texts[path] = _read(name, path)
        included = (path.parent / include for include in _LOCAL_INCLUDE.findall(texts[path]))
        waiting += [Path(os.path.normpath(header)) for header in included if header.is_file()]
    return texts


def _read(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_FILE_LIMIT_BYTES).decode("utf-8", errors="replace")
    except FileNotFoundError as error:
        detail = f"{os.path.relpath(path)}: {error.strerror}. {_WHICH_FILES}"
        raise _failed(name, "compile", detail) from error
    except OSError as error:
        raise _failed(name, "compile", f"{path}: {error.strerror}") from error


def _headers_in(folders: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Headers that the candidate wrote itself into folders of its own, and below, but for hidden ones."""
    for folder in folders:
        for below, names, files in os.walk(folder):
            names[:] = [name for name in names if not name.startswith(".")]
            for header in (Path(below, name) for name in files):
                if header.suffix in _HEADER_SUFFIXES and header.is_file():
                    yield header, header.read_bytes()[:_FILE_LIMIT_BYTES].decode("utf-8", errors="replace")


def _refuse_sycl(name: str, given: dict[str, Any]) -> None:
    if given.get("sycl_sources") or given.get("with_sycl"):
        raise _failed(name, "unsupported", "SYCL sources are not supported")


def _failed(name: str, reason: BuildReason, detail: str) -> BuildFailed:
    return BuildFailed(name, BuildFailure(reason=reason, detail=detail, log=detail, toolchain="none"))
