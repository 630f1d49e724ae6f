"""What headers can declare: names of what the preprocessor printed, and the directives that decide it."""

import math
import threading
import time

import pytest
from spending import at_most

from harness.compile import ArtifactCache
from harness.compile.names import header_names, skeleton_of
from harness.compile.printed import MOST_WORDS, Names, balanced, declared_in, read_names, without_comments
from harness.compile.recipe import Machine
from harness.compile.sources import source_files
from harness.compile.stock import STOCK
from harness.compile.toolchain import Surroundings
from harness.compile.torch_layout import cxx_compiler, find_torch
from harness.compile.waiting import Patience
from harness.errors import GivenUpError
from harness.schema import BuildRequest

PATIENCE = Patience(math.inf, threading.Event())
PRINTED = r"""
# 1 "main.cpp"
int of_the_candidate;
# 1 "/usr/include/a.h" 1
#define MAKES(x) made_##x
#define USES(x) MAKES(x)
#define SAYS(x, ...) say(x, ##__VA_ARGS__)
#define OPENS extern "C" {
extern "C" {
int global_one(int parameter);
}
namespace hidden { int inner; struct S { int member; }; }
namespace { int unnamed; }
enum E { first_of_enum, second_of_enum };
inline int with_body(void) { int local = '{'; return 1'000'0 + local; }
int after_all = "}}"[0];
# 9 "main.cpp" 2
int also_of_the_candidate;
"""


def test_names_of_headers_are_known_by_whether_they_can_be_seen_unqualified() -> None:
    names = read_names(PRINTED)
    outside = {"global_one", "unnamed", "first_of_enum", "second_of_enum", "with_body", "after_all", "MAKES"}
    assert outside <= names.outside
    assert {"inner", "member", "local"} <= names.everywhere - names.outside


def test_the_candidates_own_lines_are_no_names_of_headers() -> None:
    assert read_names(PRINTED).everywhere.isdisjoint({"of_the_candidate", "also_of_the_candidate"})


def test_macros_that_paste_are_found_through_others_and_the_comma_of_variadic_ones_is_none() -> None:
    names = read_names(PRINTED)
    assert names.pasting == {"MAKES", "USES"}
    assert names.unbalanced == {"OPENS"}
    assert names.of_macros(["USES", "x"]) == {"MAKES", "x", "made_"}
    assert names.of_macros(["x"]) == set()


def test_what_a_header_brings_in_by_a_directive_could_be_any_name() -> None:
    printed = '# 1 "/a.h"\nnamespace hidden { int inner; }\nusing namespace hidden;\n'
    assert "inner" in read_names(printed).outside


def test_parameters_and_the_last_part_of_a_qualified_name_declare_nothing_around_them() -> None:
    code = """
    extern int takes(int parameter, struct of_parameter* p, void (*callback)(int inner)) __attribute__((noreturn));
    int (in_brackets)(int); typedef int (*pointer)(int deep); int (__attribute__((cdecl)) *conventional)(int);
    other::type returns(); int other::Class::method(); using other::brought; int plain[3](0);
    """
    found = declared_in(code)
    declared = {"takes", "of_parameter", "in_brackets", "pointer", "conventional", "returns", "brought", "plain"}
    assert declared <= found
    assert found.isdisjoint({"parameter", "inner", "deep", "type", "method", "callback"})


def test_a_function_with_an_enumeration_as_parameter_is_no_enumeration() -> None:
    printed = '# 1 "/a.h"\nint f(enum Mode m) { int local; }\nenum __attribute__((x(1))) Mode { first };\n'
    outside = read_names(printed).outside
    assert "first" in outside
    assert "local" not in outside


def test_names_are_known_by_namespace_and_by_class() -> None:
    printed = """
# 1 "/a.h"
namespace std { inline namespace __cxx11 { class string; } namespace literals { int of_literals; } }
namespace std __attribute__ ((__visibility__ (""))) { int other; at::Tensor f();
using namespace literals; using elsewhere::brought; }
namespace pybind11 { using namespace unknown; int one; }
namespace at { class __attribute__((x(""))) TensorBase { int of_base; };
class __attribute__((x(""))) Tensor : public TensorBase { Tensor() { if (1) {} } int own; }; }
int operator ""_a(long);
"""
    names = read_names(printed)
    assert {"string", "of_literals", "other", "brought"} <= names.within["std"]
    assert names.within["std"].isdisjoint({"Tensor", "own", "one"})
    assert "pybind11" not in names.within
    assert {"of_base", "own"} <= names.members["Tensor"]
    assert "other" not in names.members["Tensor"]
    assert "_a" in names.literals


def test_only_directives_up_to_the_last_include_decide_what_headers_say() -> None:
    text = '#define A 1 // why\n#if A\n#include "x.h"\nint f;\n#include <y>\n#endif\n#define B\n/*\n#include <z>\n*/'
    assert skeleton_of(text) == '#define A 1  \n#if A\n#include "x.h"\n#include <y>\n#endif\n'
    assert skeleton_of('const char* s = R"(\n#include <no>\n)";') == ""


def test_comments_and_strings_go_and_lines_stay() -> None:
    text = 'a /* {\n */ b // }\n"{" \'{\' R"x(\n{)x" 1\'000\nc \\\nd\ne'
    kept = without_comments(text, keep_strings=False)
    assert kept.count("\n") == text.count("\n")
    assert "{" not in kept
    assert "}" not in kept
    assert kept.splitlines()[-3:] == ["c d", "", "e"]


def test_brackets_pair_or_do_not() -> None:
    assert balanced("f(a[1]) { ')' ; \"(\" }")
    assert not balanced("f(a[1)]")
    assert not balanced("{")
    assert not balanced("}")


def test_the_names_of_torchs_headers_are_kept_for_the_next_source_with_these_includes(cache: ArtifactCache) -> None:
    around = Surroundings(Machine("cpu", find_torch(), cxx_compiler()), cache, lambda _: None)

    def names_of(text: str, files: dict[str, str] = {}) -> object:  # noqa: B006
        request = BuildRequest(name="any", cpp_sources=(text,), no_implicit_headers=True)
        call = STOCK.plan(request, around).compile[0]
        file = source_files(request)[0]
        return header_names(call, file.text, files, around, PATIENCE)

    found = names_of("#include <c10/util/irange.h>\nint own;")
    assert found is not None
    assert names_of("#include <c10/util/irange.h>\nint other_one;") is found
    assert names_of("#include <vector>\nint other_one;") is not found
    assert names_of("#include <c10/util/irange.h>\n", {"main.cpp": "int another_source;"}) is found
    assert names_of('#include <c10/util/irange.h>\n#include "own.h"', {"own.h": "int x;"}) is not found
    assert names_of("#include <there_is_no_such.h>") is None


def test_a_chain_of_macros_that_paste_is_followed_in_one_walk():
    length = 20_000
    chain = [f"#define A{number} A{number - 1}" for number in range(length, 0, -1)]
    names = read_names("\n".join([*chain, "#define A0(a, b) a##b", "#define PLAIN A_other"]))
    assert names.pasting == {f"A{number}" for number in range(length + 1)}


HOSTILE = (
    "namespace std { ", "namespace std { using namespace std; ", "class Tensor { ", "class Tensor : at { ", "{", "(",
    "((a)", "int f(", "(*", "a::", "using a ", "namespace a {} using namespace a; ", "enum ", "struct ", "#define a(\n",
    "[[ ]]", "namespace [[]] ", '"', 'R"(', "/*", "\\\n", "\n",
)  # fmt: skip


def test_what_is_printed_over_and_over_is_read_in_time_that_grows_with_it() -> None:
    for unit in HOSTILE:
        with at_most(10):
            read_names(unit * (300_000 // len(unit)))


def test_brackets_that_could_be_read_in_many_ways_are_read_in_one() -> None:
    for head in ("namespace a", "class", "class alignas(8)"):
        for brackets in ("[[]]", "[[a]] ", "__attribute__(()) ", "alignas(()) "):
            with at_most(10):
                read_names(f"{head} {brackets * 40} ( {{ }}")


def test_of_includes_that_print_more_names_than_headers_have_nothing_is_said(cache: ArtifactCache) -> None:
    around = Surroundings(Machine("cpu", find_torch(), cxx_compiler()), cache, lambda _: None)
    request = BuildRequest(name="any", cpp_sources=('#include "own.h"\n',), no_implicit_headers=True)
    call, file = STOCK.plan(request, around).compile[0], source_files(request)[0]

    def names_of(count: int) -> Names | None:
        own = '#line 1 "/usr/include/own.h"\n' + " ".join(f"x{number}" for number in range(count))
        return header_names(call, file.text, {"own.h": own}, around, PATIENCE)

    few = names_of(100)
    assert few is not None
    assert {"x0", "x99"} <= few.everywhere
    assert names_of(MOST_WORDS) is None
    assert not list((cache.root / "work").iterdir())


def test_nothing_is_said_past_the_deadline_of_a_build_or_once_nobody_waits(cache: ArtifactCache) -> None:
    around = Surroundings(Machine("cpu", find_torch(), cxx_compiler()), cache, lambda _: None)
    request = BuildRequest(name="any", cpp_sources=("#include <vector>\n",), no_implicit_headers=True)
    call, file = STOCK.plan(request, around).compile[0], source_files(request)[0]
    unwanted = threading.Event()
    unwanted.set()
    for patience in (Patience(time.monotonic(), threading.Event()), Patience(math.inf, unwanted)):
        assert header_names(call, file.text, {}, around, patience) is None
    with pytest.raises(GivenUpError):
        Patience(math.inf, unwanted).go_on()
    with pytest.raises(TimeoutError):
        Patience(time.monotonic(), threading.Event()).go_on()
    assert header_names(call, file.text, {}, around, PATIENCE) is not None
