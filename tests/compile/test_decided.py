"""Refusals that need no stock compile: what each rule decides, and what is left to stock."""

import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spending import at_most

import harness.compile.builder as builder_module
from harness.compile import ArtifactCache, Builder
from harness.compile.decided import MOST_CHARACTERS, TWICE, decide
from harness.compile.printed import Names
from harness.compile.recipe import Machine, Plan
from harness.compile.refused import Unit
from harness.compile.rules import RULES
from harness.compile.stock import STOCK
from harness.compile.toolchain import Surroundings, Toolchain
from harness.compile.torch_layout import cxx_compiler, find_torch
from harness.compile.waiting import Patience
from harness.schema import Artifact, BuildFailure, BuildRequest

NAMES = Names(
    everywhere=frozenset(
        {"at", "cuda", "Tensor", "forward", "size", "helper", "vector", "PASTES", "OPENS", "scalar_t", "TORCH_CHECK"}
    ),
    outside=frozenset({"at", "helper", "PASTES", "OPENS", "TORCH_CHECK"}),
    pasting=frozenset({"PASTES", "PYBIND11_MODULE"}),
    unbalanced=frozenset({"OPENS"}),
    bodies={
        "TORCH_CHECK": ["if"],
        "AT_DISPATCH_FLOATING_TYPES": ["AT_DISPATCH_CASE"],
        "AT_DISPATCH_CASE": ["scalar_t"],
    },
    literals=frozenset({"_a"}),
    within={"std": frozenset({"vector"})},
    members={"Tensor": frozenset({"size"})},
)
LAUNCH = "cpp_sources[0](1): error: a __global__ function call must be configured\n  {}\n             ^"
OVERLOADS = (
    'cpp_sources[0](1): error: no instance of overloaded function "at::Tensor::size" matches the argument list\n  ^\n'
    '{}(3): note #3322-D: number of parameters of function "at::Tensor::size(int)" does not match the call'
)
PATIENCE = Patience(math.inf, threading.Event())
MARK = '#include <torch/extension.h>\n#line 1 "cpp_sources[0]"\n'


def rule_of(text: str, output: str, *, names: Names | None = NAMES, local: dict[str, str] | None = None) -> str | None:
    unit = Unit("main.cpp", MARK + text, output, local or {}, lambda: names)
    return next((name for name, rule in RULES.items() if rule(unit)), None)


def at(line: int, words: str, note: str = "") -> str:
    where = "In file included from /x/slim.h:1:\ncpp_sources[0]: In function 'f':\n"
    return f"{where}cpp_sources[0]:{line}:5: error: {words}\n{note}"


UNDECLARED = at(1, "'typo' was not declared in this scope")


DECIDED = {
    "a name that no header holds": ("f(x, typo);", at(1, "'typo' was not declared in this scope"), "undeclared"),
    "a function in a template": (
        "typo();",
        at(
            1,
            "there are no arguments to 'typo' that depend on a template parameter, so a declaration must be available",
        ),
        "undeclared",
    ),
    "as nvcc says it": ("y[typo];", 'cpp_sources[0](1): error: identifier "typo" is undefined', "undeclared"),
    "in a namespace": ("at::typo();", at(1, "'typo' is not a member of 'at'; did you mean 'x'?"), "undeclared"),
    "a type": ("int f(torch::Tensr x);", at(1, "'torch::Tensr' has not been declared"), "undeclared"),
    "a name of some namespace": ("g = size;", at(1, "'size' was not declared in this scope"), "out-of-scope"),
    "a name that only macros declare which are not used": (
        "scalar_t* p;",
        at(1, "'scalar_t' was not declared in this scope"),
        "out-of-scope",
    ),
    "a namespace of a header not included": (
        "\n  auto s = at::cuda::current();",
        at(2, "'at::cuda' has not been declared"),
        "qualified",
    ),
    "a member": ("x.typo();", at(1, "'class at::Tensor' has no member named 'typo'"), "member"),
    "an include": ("#include <no.h>", "cpp_sources[0]:1:10: fatal error: no.h: No such file or directory", "include"),
    "a character": ("a \u2212 b", at(1, "stray '\\342' in program"), "lexical"),
    "an open string": ('"abc', at(1, 'missing terminating " character'), "lexical"),
    "an open brace": ("void f() {", at(1, "expected '}' at end of input"), "brackets"),
    "a function of functions": (
        'int x;\n#line 1 "binding"\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\nm.def("forward", forward, "");\n}',
        "binding:2:4: error: 'forward' was not declared in this scope",
        "function",
    ),
    "a second definition": (
        "int a; int a;",
        at(1, "redefinition of 'int a'", "cpp_sources[0]:1:5: note: 'int a' previously declared here"),
        "defined-again",
    ),
    "arguments of an own function": ("mine(1);", at(1, "too few arguments to function 'void mine(int, int)'"), "count"),
    "arguments of own functions": (
        "mine(1);",
        at(
            1,
            "no matching function for call to 'mine(int)'",
            "cpp_sources[0]:1:1: note: candidate: 'void mine(int, int)'\n"
            "cpp_sources[0]:1:1: note:   candidate expects 2 arguments, 1 provided",
        ),
        "count",
    ),
    "a missing semicolon": (
        "float s = 0.0f\nfor (;;) {}",
        at(2, "expected ',' or ';' before 'for'"),
        "syntax",
    ),
    "a suffix": ("float s = 1.0fp;", at(1, "unable to find numeric literal operator 'operator\"\"fp'"), "literal"),
    "a suffix as nvcc says it": (
        "float s = 1.0fp;",
        "cpp_sources[0](1): error: user-defined literal operator not found",
        "literal",
    ),
    "a name of another namespace": (
        "std::Tensor f();",
        at(1, "'Tensor' in namespace 'std' does not name a type"),
        "namespace",
    ),
    "a name of macros that stand behind it": (
        "scalar_t* p;\nAT_DISPATCH_FLOATING_TYPES(t);",
        at(1, "'scalar_t' was not declared in this scope"),
        "out-of-scope",
    ),
    "a member of another class": ("x.cuda();", at(1, "'class at::Tensor' has no member named 'cuda'"), "member"),
    "a member of a class of the standard library": (
        "v.size_of();",
        'cpp_sources[0](1): error: class "std::vector<int, std::allocator<int>>" has no member "size_of"',
        "member",
    ),
    "a kernel that is not launched": (
        "void f() { typo(x); }",
        LAUNCH.format("void f() { typo(x); }"),
        "host-device",
    ),
    "a function of the host": (
        "typo(x);",
        'cpp_sources[0](1): error: calling a __host__ function("typo(int)") from a __global__ function("k()") is not',
        "host-device",
    ),
    "arguments as nvcc counts them": (
        "typo<<<1, 2>>>(x, g(y));",
        "cpp_sources[0](1): error: too few arguments in function call\n"
        "  typo<<<1, 2>>>(x, g(y));\n                        ^",
        "count",
    ),
    "arguments of a function whose overloads are torch's own text": (
        "x.size();",
        OVERLOADS.format("./slim_methods.inc"),
        "count",
    ),
    "a macro nobody defines": (
        "TYPO(x);",
        at(1, "expected constructor, destructor, or type conversion before '(' token"),
        "no-declaration",
    ),
    "a missing semicolon behind a pragma": (
        "void f() {\n#pragma unroll\nfor (int i - 1; i; i--) std::vector<int> v; }",
        'cpp_sources[0](3): error: expected a ";"',
        "syntax",
    ),
    "a function without a type": (
        "mine(int x) {}",
        at(1, "ISO C++ forbids declaration of 'mine' with no type"),
        "syntax",
    ),
    "a pointer for a number": (
        "k(1, x.data_ptr<float>());",
        at(1, "invalid conversion from 'float*' to 'int64_t' {aka 'long int'} [-fpermissive]"),
        "types",
    ),
    "arguments of an own template": (
        "mine(x.data_ptr<double>());",
        'cpp_sources[0](1): error: no instance of function template "mine" matches the argument list\n'
        "            argument types are: (double *, float *, float, int)\n  ^",
        "types",
    ),
    "a tensor for a number": (
        "k(x);",
        'cpp_sources[0](1): error: no suitable conversion function from "at::Tensor" to "int" exists',
        "types",
    ),
    "a name declared twice in a function": (
        "void f() {\nint a = 1;\nint a = 2; }",
        'cpp_sources[0](3): error: "a" has already been declared in the current scope',
        "defined-again",
    ),
    "too much shared memory": (
        "__global__ void tile_kernel(float* x) { __shared__ float s[1000000]; }",
        "ptxas error   : Entry function '_Z11tile_kernelPf' uses too much shared data (0x3d0900 bytes, 0xc000 max)",
        "resources",
    ),
    "a flag": ("", "cc1plus: error: bad value 'foo' for '-march=' switch", "flag"),
    "a flag of nvcc": ("", "nvcc fatal   : Unknown option '-foo'", "flag"),
}
LEFT_TO_STOCK = {
    "a name that some header holds, and is called": ("size(x);", at(1, "'size' was not declared in this scope")),
    "a name that a macro may have declared": (
        "AT_DISPATCH_FLOATING_TYPES(t); a = scalar_t;",
        at(1, "'scalar_t' was not declared in this scope"),
    ),
    "a name that a macro behind a form feed may have declared": (
        "a = scalar_t;\f AT_DISPATCH_FLOATING_TYPES(t);",
        at(1, "'scalar_t' was not declared in this scope"),
    ),
    "a name that is known outside": ("a = helper;", at(1, "'helper' was not declared in this scope")),
    "a name where the text pastes": ("#define P(a) a##b\nf(typo);", at(2, "'typo' was not declared in this scope")),
    "a name where a header's macro pastes": ("PASTES(x) f(typo);", at(1, "'typo' was not declared in this scope")),
    "a name where lines are renamed": ('#line 7 "x"\nf(typo);', at(1, "'typo' was not declared in this scope")),
    "a name in a class that inherits": (
        "struct A : at::Tensor { int f() { return size; } };",
        at(1, "'size' was not declared in this scope"),
    ),
    "a member that the text declares": (
        "struct A { int typo; }; x.typo;",
        at(1, "'class at::Tensor' has no member named 'typo'"),
    ),
    "an error after one in a header": ("f(typo);", "/x/slim.h:1:1: error: odd\n" + UNDECLARED),
    "an error after another": ("f(typo);", at(1, "invalid conversion") + UNDECLARED),
    "a suffix that a header declares": (
        'auto s = 1_a;',
        at(1, "unable to find numeric literal operator 'operator\"\"_a'"),
    ),
    "a name that its namespace has": ("std::vector f();", at(1, "'vector' in namespace 'std' does not name a type")),
    "a name of a namespace that is opened again": (
        "namespace std { }\nstd::Tensor f();",
        at(2, "'Tensor' in namespace 'std' does not name a type"),
    ),
    "a name of macros where a class knows what is behind it": (
        "struct A { int f() { return scalar_t; } };\nAT_DISPATCH_FLOATING_TYPES(t);",
        at(1, "'scalar_t' was not declared in this scope"),
    ),
    "a member that the class has": ("x.size();", at(1, "'class at::Tensor' has no member named 'size'")),
    "a member of an optional": ("x.cuda();", at(1, "'class std::optional<at::Tensor>' has no member named 'cuda'")),
    "a function of a header's that is not launched": (
        "void f() { helper(x); }",
        LAUNCH.format("void f() { helper(x); }"),
    ),
    "arguments of a function that the facade writes": (
        "x.size();",
        OVERLOADS.format("/x/slim/tensor.h"),
    ),
    "a type of torch's that is none of a few": (
        "k(x);",
        at(1, "cannot convert 'c10::ArrayRef<long int>' to 'int'"),
    ),
    "arguments of an own template that are torch's": (
        "mine(x.sizes());",
        "cpp_sources[0](1): error: no instance of function template \"mine\" matches the argument list\n"
        "            argument types are: (c10::IntArrayRef)\n  ^",
    ),
    "a conversion in a macro of a header's": (
        "TORCH_CHECK(k(x));",
        at(1, "cannot convert 'at::Tensor' to 'int'"),
    ),
    "a conversion in an own macro that has one of a header's": (
        "#define MINE(x) TORCH_CHECK(k(x))\nMINE(x);",
        at(2, "cannot convert 'at::Tensor' to 'int'"),
    ),
    "a name declared twice outside": (
        "int helper = 1;\nint helper = 2;",
        'cpp_sources[0](2): error: "helper" has already been declared in the current scope',
    ),
    "a missing semicolon behind a macro": (
        'void f() {\nTORCH_CHECK(x, "y")\nint z; }',
        at(3, "expected ';' before 'int'"),
    ),
    "what a template could mend": ("void f() {\nx.sum<float>()\nint z; }", at(3, "expected primary-expression")),
    "brackets under a condition": ("#if X\n{\n#endif", at(1, "expected '}' at end of input")),
    "brackets with a macro that has one": ("OPENS void f() {", at(1, "expected '}' at end of input")),
    "brackets that pair": ("void f() { TORCH_CHECK(g()); }", at(1, "expected primary-expression before ';' token")),
    "a definition of a header's": (
        "int a;",
        at(1, "redefinition of 'int a'", "/x/slim.h:1:5: note: 'int a' previously declared here"),
    ),
    "arguments that do not convert": (
        "void mine(at::Tensor s);\nmine(1);",
        at(2, "no matching function for call to 'mine(int)'", "x:1: note:   no known conversion for argument 1"),
    ),
    "a missing include of a header's": ("", "/x/a.h:1:10: fatal error: no.h: No such file or directory"),
}  # fmt: skip


@pytest.mark.parametrize("case", DECIDED)
def test_a_refusal_that_no_header_could_mend_is_decided(case: str) -> None:
    text, output, rule = DECIDED[case]
    assert rule_of(text, output) == rule


@pytest.mark.parametrize("case", LEFT_TO_STOCK)
def test_what_a_header_could_mend_is_left_to_stock(case: str) -> None:
    assert rule_of(*LEFT_TO_STOCK[case]) is None


@pytest.mark.parametrize(
    "case", [case for case, (_, _, rule) in DECIDED.items() if rule in ("undeclared", "member", "brackets")]
)
def test_nothing_is_decided_where_stocks_headers_cannot_be_read(case: str) -> None:
    text, output, _ = DECIDED[case]
    assert rule_of(text, output, names=None) is None


# ---- with real compilers ----

GOOD = """
torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    for (int i = 0; i < n; i++) y.data_ptr<float>()[i] = x.data_ptr<float>()[i];
    return y;
}
"""
MODULE = "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}"
INCLUDE = "#include <torch/extension.h>\n"


@pytest.fixture
def fast(shared_cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Artifact | BuildFailure]:
    """A build whose stock compile cannot be had: asking it would be an exception."""

    def asked(plan: Plan, work: Path, *arguments: Any, **named: Any) -> Any:
        assert work.name != "stock", "stock was asked"
        return run_plan(plan, work, *arguments, **named)

    run_plan = builder_module.run_plan
    monkeypatch.setattr(builder_module, "run_plan", asked)

    def build(name: str, source: str, **fields: Any) -> Artifact | BuildFailure:
        request = BuildRequest(name=name, cpp_sources=(source,), **{"functions": {"forward": "f"}, **fields})
        return Builder(cache=shared_cache, target="cpu").build(request, deadline_s=240)

    return build


@pytest.mark.parametrize(
    ("name", "source", "fields", "rule", "words"),
    [
        ("typo", GOOD.replace("return y", "return y_typo"), {}, "undeclared", "cpp_sources[0]:6:12: error: 'y_typo'"),
        ("nobody", "int x;", {}, "function", "binding:2:"),
        ("module", GOOD + MODULE, {}, "defined-again", "redefinition of 'PyObject* PyInit_"),
        ("brace", GOOD.rstrip()[:-1], {}, "brackets", "binding:"),
        ("link", GOOD, {"files": {"other.cpp": f"{INCLUDE}{GOOD}"}}, TWICE, "multiple definition of"),
        ("march", GOOD, {"extra_cflags": ("-march=foo",)}, "flag", "-march="),
    ],
)  # fmt: skip
def test_what_models_get_wrong_is_decided_without_stock(
    fast: Callable[..., Artifact | BuildFailure], name: str, source: str, fields: dict[str, Any], rule: str, words: str
) -> None:
    failure = fast(f"decided_{name}", source, **fields)
    assert isinstance(failure, BuildFailure), failure
    assert (failure.reason, failure.decided, failure.toolchain) == ("compile", rule, "slim")
    assert words in failure.detail
    assert failure.cpu_seconds > 0


def test_the_stock_toolchain_is_asked_where_the_user_forces_it(
    cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(request: BuildRequest, around: Surroundings) -> Plan:
        return Plan(files={}, compile=(("sh", "-c", "echo 'x.cpp:1:1: error: typo'; exit 1"),), link=(), output="m.so")

    row = (Toolchain("stock", plan, 1 << 20),)
    monkeypatch.setattr(builder_module, "toolchains_for", lambda target, choice: row)
    failure = Builder(cache=cache, target="cpu", choice="stock").build(BuildRequest(name="m"), deadline_s=60)
    assert isinstance(failure, BuildFailure)
    assert failure.decided == ""


@pytest.mark.parametrize("last", [True, False])
def test_a_source_that_is_refused_ends_the_compiles_beside_it(
    cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch, last: bool
) -> None:
    def plan(request: BuildRequest, around: Surroundings) -> Plan:
        slow, bad = ("sleep", "100", "100"), ("sh", "-c", "echo 'x.cpp:1:1: error: typo'; exit 1")
        return Plan(files={}, compile=(slow, bad), link=(), output="m.so")

    def at_once(request: BuildRequest, around: Surroundings) -> Plan:
        return Plan(files={}, compile=(("sh", "-c", "echo 'x.cpp:1:1: error: typo'; exit 1"),), link=(), output="m.so")

    slow, quick = Toolchain("slow", plan, 1 << 20), Toolchain("quick", at_once, 1 << 20)
    row = (slow,) if last else (slow, quick)
    monkeypatch.setattr(builder_module, "toolchains_for", lambda target, choice: row)
    monkeypatch.setattr(builder_module.os, "sched_getaffinity", lambda pid: {0, 1})
    failure = Builder(cache=cache, target="cpu").build(BuildRequest(name="m"), deadline_s=300)
    assert isinstance(failure, BuildFailure)
    assert (failure.reason, failure.detail) == ("compile", "x.cpp:1:1: error: typo")
    assert failure.seconds < 100


def test_of_sources_that_are_longer_than_any_honest_one_nothing_is_decided(cache: ArtifactCache) -> None:
    around = Surroundings(Machine("cpu", find_torch(), cxx_compiler()), cache, lambda _: None)
    outputs = ["cpp_sources[0]:1:10: fatal error: no.h: No such file or directory"]
    found = []
    for filling in ("", "//" + "x" * MOST_CHARACTERS):
        request = BuildRequest(name="m", cpp_sources=(f"#include <no.h>\n{filling}",))
        plan = STOCK.plan(request, around)
        found.append(decide(outputs, None, plan, plan, around, PATIENCE))
    assert found[0] is not None
    assert found[0].rule == "include"
    assert found[1] is None


def test_what_another_tool_than_the_compiler_says_is_left_to_stock() -> None:
    output = "/tmp/cc1.s: Assembler messages:\n/tmp/cc1.s:3: Fatal error: can't open /etc/passwd for reading"
    assert rule_of("asm();", output.replace("Fatal error", "Fehler")) is None
    assert rule_of("asm();", output) is None


# ---- hostile text ----

HOSTILE = (
    "[", "(", "{", "<", "1", "a", ":", "\n", " ", "\\\n", '"', "class ", "namespace ", "using a ", "typo(", "/*", 'R"(',
    "#define a(\n",
)  # fmt: skip
ONE_OF_EACH = {rule: (text, output) for text, output, rule in reversed(DECIDED.values())}
TELLING = [*ONE_OF_EACH.values(), *((text, log) for text, log, _ in DECIDED.values() if "no matching function" in log)]


@pytest.mark.parametrize(("text", "output"), TELLING)
def test_what_a_source_repeats_is_read_in_time_that_grows_with_it(text: str, output: str) -> None:
    """A quarter of a megabyte takes a tenth of a second, and minutes where it is searched anew from each word."""
    for unit in HOSTILE:
        with at_most(5):
            rule_of(f"{text} {unit * ((MOST_CHARACTERS - 1000) // len(unit))}", output)


@pytest.mark.parametrize(("text", "output"), TELLING)
def test_so_is_what_a_compiler_repeats(text: str, output: str) -> None:
    for unit in (*HOSTILE, "' ", "error: ", "multiple definition of `'; a.o:", " note: ", "a<<<>>>"):
        with at_most(5):
            rule_of(text, f"{output}{unit * ((256 << 10) // len(unit))}")
