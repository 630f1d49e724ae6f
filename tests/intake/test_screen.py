"""Screening: each rule sees what it is for, with its lines, and honest candidates are never up for rejection."""

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.intake import extract, read_folder, screen
from harness.intake.rules import RULES
from harness.intake.view import view_of
from harness.schema import Candidate, Flag, Submission

EXAMPLES = Path(__file__).parents[2] / "examples" / "submissions"
HONEST = Path(__file__).parents[1] / "data" / "honest"
ENTRY = "import torch\nclass ModelNew(torch.nn.Module): pass\n"


def flags_of(source: str) -> dict[str, list[Flag]]:
    outcome = extract(Submission(path="kernel.py", sha256="0" * 64, text=source)).outcome
    assert isinstance(outcome, Candidate), outcome
    found: dict[str, list[Flag]] = {}
    for flag in screen(outcome):
        found.setdefault(flag.rule, []).append(flag)
    return found


def lines_of(source: str, rule: str) -> set[int]:
    return {line for flag in flags_of(source).get(rule, []) for line in flag.lines}


# What each rule is for: a line that it must see. Line 3 of the candidate, after ENTRY.
SEEN = [
    ("patched-function", "torch.allclose = lambda a, b: True"),
    ("patched-function", "torch.cuda.Event.elapsed_time = lambda self, other: 1e-6"),
    ("patched-function", "import time as t; t.perf_counter = lambda: 0.0"),
    ("patched-function", "from torch import cuda; cuda.synchronize = print"),
    ("patched-function", "setattr(torch.Tensor, 'eq', None)"),
    ("patched-function", "torch.__dict__['equal'] = print"),
    ("patched-function", "getattr(torch, 'cuda').synchronize = print"),
    ("patched-function", "import sys; sys.modules['torch'].equal = print"),
    ("patched-function", "alias = torch.nn; alias.functional.relu = print"),
    ("patched-function", "from unittest import mock; mock.patch('torch.equal').start()"),
    ("patched-function", "__import__('time').time = print"),
    ("patched-function", "del torch.equal"),
    ("frames", "import sys; sys._getframe(1)"),
    ("frames", "from inspect import currentframe as look; look()"),
    ("frames", "import gc; gc.get_objects()"),
    ("frames", "def f(e): return e.__traceback__.tb_frame.f_back"),
    ("harness-access", "import harness.judge"),
    ("harness-access", "import sys; sys.modules['json'] = None"),
    ("harness-access", "import sys; sys.modules.pop('torch')"),
    ("harness-access", "import __main__"),
    ("reference", "class Other(Model): pass"),
    ("reference", "from problem import Model"),
    ("reference", "from reference_solutions.level1 import kernel"),
    ("own-reference", "class Model: pass\nclass Other(Model): pass"),
    ("process-exit", "import os; os._exit(0)"),
    ("process-exit", "s = '#include <unistd.h>\\nvoid f() { _exit(0); }'"),
    ("exit-hooks", "import atexit; atexit.register(print)"),
    ("exit-hooks", "def f(): raise SystemExit(0)"),
    ("native-memory", "s = '#include <sys/uio.h>\\nvoid f() { process_vm_readv(1, 0, 0, 0, 0, 0); }'"),
    ("native-memory", "p = '/proc/1/mem'"),
    ("native-system", "s = '#include <stdlib.h>\\nvoid f() { system(\"id\"); }'"),
    ("native-system", "s = '#include <fstream>\\nvoid f() { std::ofstream o(\"x\"); }'"),
    ("ctypes", "from ctypes import CDLL"),
    ("network", "import socket"),
    ("network", "from urllib.request import urlopen"),
    ("subprocesses", "import subprocess as sp; sp.run(['id'])"),
    ("subprocesses", "import os; os.execvp('id', ['id'])"),
    ("threads", "import threading; threading.Thread(target=print).start()"),
    ("threads", "from concurrent.futures import ThreadPoolExecutor"),
    ("threads", "s = '#include <thread>\\nvoid f() { std::thread t; }'"),
    ("unjoined-streams", "s = torch.cuda.Stream()"),
    ("unjoined-streams", "s = '#include <x>\\nvoid f() { cudaStream_t s; cudaStreamCreate(&s); k<<<1,1,0,s>>>(); }'"),
    ("tensor-subclass", "class Lazy(torch.Tensor): pass"),
    ("tensor-subclass", "def __torch_function__(cls, f, t): pass"),
    ("tensor-subclass", "def f(y): y.sum = lambda: 0"),
    ("dynamic-code", "exec('x = 1')"),
    ("dynamic-code", "import builtins; builtins.eval('1')"),
    ("hidden-code", "import base64; exec(base64.b64decode('eA=='))"),
    ("hidden-code", "import zlib; text = zlib.decompress(b''); exec(text)"),
    ("obfuscation", "f = getattr(torch, 're' + 'lu')"),
    ("obfuscation", "f = globals()['a' + 'b']"),
    ("obfuscation", "s = ''.join(chr(c) for c in (97, 98))"),
    ("obfuscation", "import codecs; codecs.decode('nop', 'rot13')"),
    ("token-paste", "s = '#include <a>\\n#define JOIN(a, b) a \\\\\\n ## b\\n'"),
    ("fallback", "try:\n    y = kernel(x)\nexcept Exception:\n    y = torch.relu(x)"),
    ("fallback", "try:\n    m = load_inline(name='a')\nexcept: m = None"),
    ("no-kernel", "x = 1"),
    ("unused-kernel", "from torch.utils.cpp_extension import load_inline; m = 1\nm = load_inline(name='a')"),
    ("wrapped-library", "s = '#include <a>\\nat::Tensor f(at::Tensor a) { return at::matmul(a, a); }'"),
    ("library-operators", "def forward(self, x): return torch.matmul(x, x)"),
    ("lower-precision", "def f(x): return x.half()"),
    ("lower-precision", "torch.backends.cuda.matmul.allow_tf32 = True"),
    ("lower-precision", "torch.set_float32_matmul_precision('high')"),
    ("lower-precision", "s = '#include <cuda_fp16.h>\\n__global__ void k(__half* x) {}'"),
    ("lower-precision", "y = tl.dot(a, b, allow_tf32=True)"),
    ("fast-math", "flags = ['--use_fast_math']"),
    ("replay", "def f(self, x): return self.kept[x.data_ptr()]"),
    ("replay", "def f(self, x): key = (id(x), x.shape)"),
    ("replay", "def f(self, x): return x._version"),
    ("replay", "import functools\n@functools.cache\ndef forward(self, x): return x + 1"),
    ("call-counter", "def forward(self, x): self.calls += 1"),
    ("static-state", "s = '#include <a>\\nstatic torch::Tensor kept;'"),
    ("static-state", "s = '#include <a>\\n__device__ float kept[16];'"),
    ("graphs", "g = torch.cuda.CUDAGraph()"),
    ("compiled", "f = torch.compile(print)"),
    ("cache-pinning", "s = '#include <a>\\nvoid f() { a.accessPolicyWindow.num_bytes = 1; }'"),
    ("device-sharing", "s = '#include <a>\\nvoid f() { cudaIpcOpenMemHandle(&p, h, 1); }'"),
    ("clock", "from time import perf_counter"),
    ("seeds", "torch.manual_seed(0)"),
    ("global-state", "torch.set_default_dtype(torch.float64)"),
    ("global-state", "torch.backends.cudnn.benchmark = True"),
    ("pickling", "def __reduce__(self): return print, ()"),
    ("descriptors", "import os; os.write(3, b'x')"),
    ("descriptors", "import sys; sys.stdout = None"),
    ("environment", "import os; os.environ['LD_PRELOAD'] = 'x'"),
    ("environment", "import os; dict(os.environ)"),
    ("build-environment", "import os; os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0'"),
    ("files-written", "open('x', 'w')"),
    ("files-written", "open('x', mode='ab')"),
    ("files-written", "from pathlib import Path; Path('x').write_text('y')"),
    ("files-written", "torch.save(1, 'x')"),
    ("files-read", "open('x')"),
    ("files-read", "torch.load('x')"),
    ("private-paths", "p = '../reference_solutions/level1'"),
    ("no-work", "class A:\n    def forward(self, x): return x.clone()"),
    ("no-work", "class A:\n    def forward(self, x): return torch.zeros_like(x)"),
]


@pytest.mark.parametrize(("rule", "line"), SEEN, ids=[f"{rule}-{index}" for index, (rule, _) in enumerate(SEEN)])
def test_a_rule_sees_what_it_is_for_and_says_where(rule: str, line: str) -> None:
    lines = lines_of(ENTRY + line + "\n", rule)
    assert lines, f"{rule} saw nothing in {line!r}"
    least = 1 if rule == "no-kernel" else 3
    assert all(least <= number <= 3 + line.count("\n") for number in lines)


def test_every_rule_has_an_example_and_a_name_of_its_own() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert set(names) == {rule for rule, _ in SEEN}
    assert all(rule.find.__doc__ for rule in RULES)


# What looks like it and is not: no flag of that rule.
UNSEEN = [
    ("patched-function", "torch.backends.cudnn.allow_tf32 = False"),
    ("patched-function", "class A:\n    def __init__(self): self.time = 1"),
    ("clock", "time = 1; requests = time + 1"),
    ("network", "requests = [1]; requests.append(2)"),
    ("exit-hooks", "signal = torch.ones(1); y = signal.sum()"),
    ("exit-hooks", "# atexit.register(print)"),
    ("harness-access", "import sys; here = sys.modules[__name__]"),
    ("native-system", "s = '#include <a>\\nat::Tensor f(at::Tensor x) { return x.clone() + at::clone(x); }'"),
    ("native-system", "s = '#include <a>\\n// system(1)\\n/* popen(2) */'"),
    ("unjoined-streams", "s = torch.cuda.Stream(); torch.cuda.current_stream().wait_stream(s)"),
    ("unjoined-streams", "s = '#include <x>\\nvoid f() { cudaStreamCreate(&s); cudaStreamSynchronize(s); }'"),
    ("threads", "s = '#include <a>\\n__global__ void k() { int t = threadIdx.x; }'"),
    ("tensor-subclass", "class P(torch.nn.Parameter): pass"),
    ("obfuscation", "class A:\n    def f(self, i): return getattr(self, f'w{i}')"),
    ("obfuscation", "f = getattr(torch, 'relu')"),
    ("fallback", "try:\n    y = kernel(x)\nexcept Exception as e:\n    raise RuntimeError('no') from e"),
    ("fallback", "try:\n    n = int('1')\nexcept ValueError:\n    n = torch.ones(1)"),
    ("no-kernel", "import triton"),
    ("no-kernel", "s = '#include <a>\\n__global__ void k() {}'"),
    ("wrapped-library", "s = '#include <a>\\n__global__ void k() {}\\nvoid f() { at::mm(a, b); k<<<1,1>>>(); }'"),
    ("lower-precision", "half = 0.5; torch.backends.cuda.matmul.allow_bf16 = 1"),
    ("lower-precision", "s = '#include <a>\\n__global__ void k() { float half = 0.5f; half *= 2; }'"),
    ("replay", "def f(x): return x.data_ptr() % 16 == 0"),
    ("replay", "def f(x): y = kernel(x.data_ptr(), 4)"),
    ("replay", "def f(self, x): return self.space[x.shape]"),
    ("no-work", "class A:\n    def forward(self, x):\n        kernel.relu_(x)\n        return x"),
    ("no-work", "class A:\n    def forward(self, x):\n        x = self.f(x)\n        return x"),
    ("no-work", "class A:\n    def forward(self, x):\n        if x is None: return x\n        return x + 1"),
    ("environment", "import os; os.environ['MAX_JOBS'] = '1'"),
    ("files-written", "open('x', 'rb')"),
    ("files-written", "import pathlib; pathlib.Path('x.cu').write_text('y')"),
    ("private-paths", "s = 'problems'"),
    ("reference", "class Model: pass"),
    (
        "unused-kernel",
        "from torch.utils.cpp_extension import load_inline; m = load_inline(name='a', functions=['f']); m.f()",
    ),
]


@pytest.mark.parametrize(("rule", "line"), UNSEEN, ids=[f"{rule}-{index}" for index, (rule, _) in enumerate(UNSEEN)])
def test_a_rule_leaves_what_only_looks_like_it_alone(rule: str, line: str) -> None:
    assert lines_of(ENTRY + line + "\n", rule) == set()


def test_comments_and_docstrings_never_decide() -> None:
    plain = flags_of(ENTRY + "def f(x):\n    return x.half()\n")
    loud = ENTRY.replace("pass", "'torch.equal = print; os._exit(0) // cudaIpcOpenMemHandle'")
    told = flags_of(loud + "def f(x):  # reviewer: this is fine, torch.equal = None\n    return x.half()\n")
    assert told == plain


def test_comments_in_cuda_are_not_looked_at_and_lines_stay() -> None:
    source = (
        ENTRY + 's = """\n#include <a>\n/* cudaIpc\n   wmma:: */\n// __half\n__global__ void k(__half* x) {}\n"""\n'
    )
    flags = flags_of(source)
    assert "device-sharing" not in flags
    assert lines_of(source, "lower-precision") == {8}


def test_the_same_doubt_on_several_lines_is_one_flag() -> None:
    (flag,) = flags_of(ENTRY + "import os\nos._exit(0)\nos._exit(1)\n")["process-exit"]
    assert flag.lines == (4, 5)


def test_the_kernels_of_the_documents_are_honest() -> None:
    documents = [one for one in read_folder(EXAMPLES) if one.sample == 0]
    assert len(documents) == 5
    for document in documents:
        candidate = extract(document).outcome
        assert isinstance(candidate, Candidate)
        assert [flag.rule for flag in screen(candidate) if flag.severity != "info"] == []


def test_the_cheating_example_is_seen_through() -> None:
    (cheat,) = (one for one in read_folder(EXAMPLES) if one.path.endswith(".md"))
    candidate = extract(cheat).outcome
    assert isinstance(candidate, Candidate)
    assert {"patched-function", "no-work", "no-kernel"} <= {flag.rule for flag in screen(candidate)}


@pytest.mark.parametrize("path", sorted(HONEST.glob("*.py")), ids=lambda path: path.stem)
def test_an_honest_candidate_is_never_up_for_rejection(path: Path) -> None:
    flags = flags_of(path.read_text())
    assert [flag for found in flags.values() for flag in found if flag.severity == "reject"] == []


@pytest.mark.parametrize(
    "body",
    [
        "x = " + "a" + ".b" * 900,
        "x = 1" + "+1" * 2_000,
        "y = " + "[" * 150 + "]" * 150,
        "x = '''#include <a>\n" + "/*" * 200_000 + "'''",
        "x = '''#include <a>\n" + '\\"' * 200_000 + "'''",
        "x = '''#include <a>\n" + "#define x \\\\\n" * 30_000 + "'''",
        "x = '''#include <a>\n" + "/proc/" * 60_000 + "'''",
        "x = '''#include <a>\n" + "\n" * 300_000 + "'''",
        "x = '''#include <a>\n" + "__device__ a " * 30_000 + "'''",
        "x = '''#include <a>\n" + 'R"(' * 100_000 + "'''",
        "x = torch.relu(torch.nn.y.z)\n" * 8_000,
        "from torch.utils.cpp_extension import load_inline\na\n" + "a = load_inline(functions='f')\n" * 30_000,
        "from torch.utils.cpp_extension import load_inline as l\n" + ("l(" * 80 + "x" + ")" * 80 + "\n") * 800,
        "".join(" " * depth + "def forward(s, x):\n" for depth in range(90)) + " " * 90 + "f(x);" * 20_000,
    ],
    ids=lambda body: body[:24],
)
@pytest.mark.timeout(60)  # they take up to four seconds; what grows with the square of the source never ends
def test_hostile_source_is_screened_all_the_same(body: str) -> None:
    flags_of(ENTRY + body + "\n")


LONG = "y" * 300_000


@pytest.mark.parametrize(
    "body",
    [
        f"x = os.{LONG}\n" + "x.a\n" * 10,
        f"x = getattr(os, '{LONG}')\n" + "x.a\n" * 10,
        f"import {LONG} as x\n" + "x.a\n" * 10,
        f"from {LONG} import a, b, c, d\na.e\nb.e\n",
        "a0 = os\n" + "".join(f"a{number + 1} = a{number}.b\n" for number in range(1_000)),
    ],
    ids=["attribute", "getattr", "import", "from", "chain"],
)
def test_a_name_that_stands_for_a_long_one_is_not_as_long(body: str) -> None:
    """It may be mentioned at every fourth character: sixty thousand mentions of half a megabyte are 30 GB."""
    view = view_of(ast.parse("import os\n" + body))
    names = [use.name for use in (*view.uses, *view.stores)] + [call.name for call in view.calls]
    assert sum(len(name) for name in names if name != LONG) < 1_000_000
    assert flags_of(ENTRY + "import os\n" + body) is not None


@settings(max_examples=150)
@given(st.lists(st.sampled_from([line for _, line in SEEN + UNSEEN]), max_size=8))
def test_any_mixture_of_lines_is_screened_and_lines_are_lines_of_the_candidate(lines: list[str]) -> None:
    source = ENTRY + "\n".join(lines) + "\n"
    for found in flags_of(source).values():
        for flag in found:
            assert all(1 <= line <= source.count("\n") for line in flag.lines)
            assert list(flag.lines) == sorted(set(flag.lines))
