"""Calls of load_inline and load become requests; what torch refuses is refused with the same kind of exception."""

import importlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from torch.utils import cpp_extension

from harness.schema import Artifact, BuildFailure, BuildRequest
from harness.worker import capture


class Asked(Exception):
    """Carries the request out of the call, in place of building it."""

    def __init__(self, request: BuildRequest) -> None:
        self.request = request


def _ask(request: BuildRequest) -> Artifact:
    raise Asked(request)


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    undo = capture.install(_ask)
    yield
    undo()


def asked(call: Callable[..., Any], *args: Any, **kwargs: Any) -> BuildRequest:
    with pytest.raises(Asked) as caught:
        call(*args, **kwargs)
    return caught.value.request


def inline(*args: Any, **kwargs: Any) -> BuildRequest:
    return asked(cpp_extension.load_inline, *args, **kwargs)


def test_every_way_of_reaching_load_inline_is_captured() -> None:
    import torch.utils.cpp_extension as by_alias
    from torch.utils.cpp_extension import load, load_inline

    assert asked(load_inline, "m", "int f();").name == "m"
    assert asked(by_alias.load_inline, name="n", cpp_sources="").name == "n"
    assert load is cpp_extension.load


def artifact_of(request: BuildRequest) -> Artifact:
    return Artifact(
        key="k",
        path="/k.so",
        sha256="0" * 64,
        module=request.name,
        toolchain="slim",
        cached=True,
        seconds=0,
        cpu_seconds=0,
    )


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was built and loaded, each as a new object."""
    names: list[str] = []

    def load(request: BuildRequest, artifact: Artifact) -> object:
        assert artifact.module == request.name
        names.append(request.name)
        return object()

    monkeypatch.setattr(capture, "load_artifact", load)
    capture.install(artifact_of)
    return names


def test_what_differs_from_another_of_its_name_has_a_name_of_its_own_as_by_torch(loaded: list[str]) -> None:
    for source in ("a", "b", "c"):
        cpp_extension.load_inline("m", source)
    cpp_extension.load_inline("other", "a")
    cpp_extension.load_inline("m", "a", functions=["f"])
    cpp_extension.load_inline("m", "a", extra_cflags=["-O3"])
    assert loaded == ["m", "m_v1", "m_v2", "other", "m_v3", "m_v4"]


def test_a_name_that_the_candidate_gave_itself_is_not_given_again(loaded: list[str]) -> None:
    cpp_extension.load_inline("m_v1", "a")
    cpp_extension.load_inline("m", "b")
    cpp_extension.load_inline("m", "c")
    assert loaded == ["m_v1", "m", "m_v2"]


def test_what_was_loaded_is_given_again_where_it_is_asked_for_again(loaded: list[str]) -> None:
    first = cpp_extension.load_inline("m", "a")
    second = cpp_extension.load_inline("m", "b")
    assert cpp_extension.load_inline(name="m", cpp_sources=["a"]) is first
    assert cpp_extension.load_inline("m", "b") is second
    assert loaded == ["m", "m_v1"]


def test_what_failed_to_build_is_asked_for_again_and_another_has_another_name() -> None:
    asked_for = [inline("m", source).name for source in ("a", "a", "b", "a")]
    assert asked_for == ["m", "m", "m_v1", "m"]


def test_threads_that_build_are_served_one_by_one(loaded: list[str]) -> None:
    inside: list[int] = []
    at_most: list[int] = []

    def build(request: BuildRequest) -> Artifact:
        inside.append(1)
        time.sleep(0.01)
        at_most.append(len(inside))
        inside.pop()
        return artifact_of(request)

    capture.install(build)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda source: cpp_extension.load_inline("m", source), "abcdabcd"))
    assert at_most == [1, 1, 1, 1]
    assert sorted(loaded) == ["m", "m_v1", "m_v2", "m_v3"]


def test_undoing_gives_stock_back() -> None:
    undo = capture.install(_ask)
    undo()
    undo_again = capture.install(_ask)
    undo_again()
    assert cpp_extension.load_inline.__doc__ is not None


def test_sources_may_be_strings_or_lists() -> None:
    request = inline("m", ["a", "b"], cuda_sources="c")
    assert request.cpp_sources == ("a", "b")
    assert request.cuda_sources == ("c",)


def test_the_candidates_own_list_is_left_as_it_was() -> None:
    sources = ["a"]
    inline("m", sources)
    assert sources == ["a"]


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        (None, None),
        ("f", {"f": "f"}),
        (["f", "g"], {"f": "f", "g": "g"}),
        ({"f": "doc"}, {"f": "doc"}),
        ([], {}),
    ],
)
def test_functions_are_read_as_torch_reads_them(functions: Any, expected: dict[str, str] | None) -> None:
    assert inline("m", "", functions=functions).functions == expected


def test_a_tuple_of_functions_is_refused_as_by_torch() -> None:
    with pytest.raises(ValueError, match="Expected 'functions' to be a list or dict"):
        cpp_extension.load_inline("m", "", functions=("f",))


@pytest.mark.parametrize("sources", [None, ("a",), 3])
def test_sources_that_torch_cannot_insert_into_fail_as_there(sources: Any) -> None:
    with pytest.raises(AttributeError, match="insert"):
        cpp_extension.load_inline("m", sources)


def test_a_list_of_things_that_are_no_strings_fails_as_there() -> None:
    with pytest.raises(TypeError):
        cpp_extension.load_inline("m", [1])


def test_empty_flags_stay_and_are_stripped() -> None:
    request = inline("m", "", extra_cflags=[""], extra_ldflags=[" -lm "], extra_cuda_cflags=None)
    assert request.extra_cflags == ("",)
    assert request.extra_ldflags == ("-lm",)
    assert request.extra_cuda_cflags == ()


def test_a_flag_that_is_a_bare_string_is_taken_apart_letter_by_letter_as_by_torch() -> None:
    assert inline("m", "", extra_cflags="-O3").extra_cflags == ("-", "O", "3")


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, False), ({"with_cuda": True}, True), ({"cuda_sources": "x"}, True), ({"cuda_sources": ""}, False)],
)
def test_whether_cuda_is_needed_follows_torchs_rule(given: dict[str, Any], expected: bool) -> None:
    assert inline("m", "", **given).uses_cuda is expected


def test_arguments_without_meaning_here_are_accepted(tmp_path: Path) -> None:
    request = inline(
        "m", "x", verbose=True, build_directory=str(tmp_path), keep_intermediates=False, is_python_module=False
    )
    assert not request.is_python_module


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        (("m", ""), {"extra_flags": []}, "load_inline.*unexpected keyword argument 'extra_flags'"),
        ((), {"cpp_sources": ""}, "load_inline.*missing a required argument: 'name'"),
        (("m", ""), {"name": "n"}, "load_inline.*multiple values for argument 'name'"),
        ((7, ""), {}, "not int"),
    ],
)
def test_calls_that_torch_refuses_raise_a_type_error(args: Any, kwargs: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        cpp_extension.load_inline(*args, **kwargs)


def test_load_carries_its_files_and_the_headers_that_they_include(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "k.cu").write_text('#include "../inc/k.cuh"\n#include "absent.h"\n#include <vector>\n')
    (tmp_path / "bind.cpp").write_text("int f();")
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "k.cuh").write_text("// header")
    request = asked(cpp_extension.load, name="m", sources=[str(tmp_path / "bind.cpp"), str(tmp_path / "src" / "k.cu")])
    assert set(request.files) == {"bind.cpp", "src/k.cu", "inc/k.cuh"}
    assert request.files["inc/k.cuh"] == "// header"
    assert request.uses_cuda
    assert request.functions is None


def test_load_takes_one_path_and_one_relative_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.cpp").write_text("int f();")
    monkeypatch.chdir(tmp_path)
    assert asked(cpp_extension.load, "m", "a.cpp").files == {"a.cpp": "int f();"}


def test_a_missing_source_file_is_a_failed_build(tmp_path: Path) -> None:
    with pytest.raises(capture.BuildFailed, match="No such file") as caught:
        cpp_extension.load("m", [str(tmp_path / "absent.cu")])
    assert caught.value.failure.reason == "compile"


def test_headers_of_the_candidates_own_folder_travel_with_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.cuh").write_text("// mine")
    (tmp_path / "notes.txt").write_text("no header")
    request = inline("m", "", extra_include_paths=["."])
    assert request.files == {"my.cuh": "// mine"}
    assert request.extra_include_paths == (".",)
    assert not request.uses_cuda


def test_headers_lie_where_they_lay_and_their_folders_are_named_by_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two folders may have a header of one name, and each may have folders."""
    monkeypatch.chdir(tmp_path)
    for name in ("one/mine.h", "two/mine.h", "two/below/deep.h", "two/.hidden/not.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"// {name}")
    request = inline("m", "", extra_include_paths=["two", "/usr/include", str(tmp_path / "one")])
    assert request.files == {name: f"// {name}" for name in ("one/mine.h", "two/mine.h", "two/below/deep.h")}
    assert request.extra_include_paths == ("two", "/usr/include", "one")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.cpp").write_text("#include <mine.h>")
    loaded = asked(cpp_extension.load, "m", "src/a.cpp", extra_include_paths=["one"])
    assert set(loaded.files) == {"src/a.cpp", "one/mine.h"}
    assert loaded.extra_include_paths == ("one",)


def test_sycl_is_refused_by_name() -> None:
    if "sycl_sources" not in importlib.import_module("inspect").signature(cpp_extension.load_inline).parameters:
        pytest.skip("this torch knows no SYCL")
    with pytest.raises(capture.BuildFailed, match="SYCL") as caught:
        cpp_extension.load_inline("m", "", sycl_sources="x")
    assert caught.value.failure.reason == "unsupported"


def test_a_failed_build_is_the_runtime_error_that_stock_raises() -> None:
    failure = BuildFailure(reason="compile", detail="d", log="cuda_sources[0]:1: error: d", toolchain="stock")
    error = capture.BuildFailed("m", failure)
    assert isinstance(error, RuntimeError)
    assert str(error) == "Error building extension 'm': cuda_sources[0]:1: error: d"
    assert error.failure is failure
