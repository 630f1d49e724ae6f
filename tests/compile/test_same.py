"""The slim headers refuse what stock does: snippets that they took once. All of them: benchmarks/same.py."""

import re
from pathlib import Path

import pytest
from declared import FOR_THE_FACADE_ALONE, declared_names
from sides import Side
from snippets import read_snippets

from harness.compile import ArtifactCache
from harness.compile.recipe import Machine
from harness.compile.toolchain import Surroundings
from harness.compile.torch_layout import cxx_compiler, find_torch

# What each is of the snippets of its group, by a part of its text.
REFUSED = {
    "operators/operator-scalar": ("* 3ull;", "* 2.0L;"),
    "operators/tensor-of": ("tensor(5u)", "tensor(5ull)", "tensor(5LL)", "tensor(2.0L)"),
    "binding/words-of-def": (
        *('&f, py::arg("a"));', 'py::arg("a"), py::arg("b"), py::arg("c"))'),
        *("&f, py::kw_only());", "&f, py::pos_only());"),
    ),
    "conversions/a-list-of-sizes": ("s = (int64_t)12",),
    "conversions/pointers": ("(x + 1).generic_packed_accessor",),
    "conversions/a-dtype-made": ("TypeMeta(torch::kFloat)",),
    "objects/an-object-made": ("py::float_(1);",),
    "math/a-function-named-like-one-of-c": tuple(f"Tensor {name}(" for name in ("lgamma", "fma", "remainder", "acos")),
}


@pytest.fixture
def slim(shared_cache: ArtifactCache, tmp_path: Path) -> Side:
    machine = Machine(target="cpu", layout=find_torch(), cxx=cxx_compiler())
    around = Surroundings(machine=machine, cache=shared_cache, on_status=lambda text: None)
    return Side("slim", around, tmp_path / "slim", jobs=2)


def test_there_are_more_than_four_hundred_snippets_and_their_names_tell_them_apart() -> None:
    names = [snippet.name for snippet in (*read_snippets(), *read_snippets("cuda"))]
    assert len(names) == len(set(names)) > 400


@pytest.mark.slow
def test_what_stock_refuses_is_refused(slim: Side) -> None:
    refused = [s for s in read_snippets() if any(text in s.text for text in REFUSED.get(s.group, ()))]
    assert len(refused) == sum(map(len, REFUSED.values()))
    labels = {snippet.name: f"s{number}" for number, snippet in enumerate(refused)}
    assert slim.accepted([refused], labels) == set()


def test_every_declaration_of_the_facade_is_reached_by_a_snippet() -> None:
    words = {word for both in ("c++", "cuda") for each in read_snippets(both) for word in re.findall(r"\w+", each.text)}
    declared = declared_names()
    assert len(declared) > 300
    assert sorted(declared - words - FOR_THE_FACADE_ALONE) == []
    assert sorted(FOR_THE_FACADE_ALONE - declared) == []
