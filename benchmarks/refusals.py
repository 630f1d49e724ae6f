"""Compile failures that are decided without stock, held against stock: on mutations of `benchmarks/kernels`.

    python benchmarks/refusals.py --target emulated --count 200
    python benchmarks/refusals.py --target cuda --arch 9.0 -o benchmarks/results/refusals-h200.json

Every mutant that the fast toolchain refuses is a row: by which rule it was decided, or that stock is asked. Of those
that were decided stock is asked as well, and a verdict that differs is printed and makes the exit status 1. Seconds are
CPU seconds of the compilers; the ratio is to the median of the good builds of the same run. `--no-stock` only counts.
`cpu` takes the kernels that need no CUDA, `emulated` what the emulation makes of all. nvcc needs no GPU for this.
"""

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support"), str(ROOT / "benchmarks")]

from build import KERNELS, environment, requests_of  # noqa: E402
from mutations import MUTATIONS  # noqa: E402

from harness.compile import ArtifactCache, Builder  # noqa: E402
from harness.compile.decided import TWICE  # noqa: E402
from harness.compile.rules import RULES  # noqa: E402
from harness.schema import Artifact, BuildFailure, BuildRequest, DeviceKind  # noqa: E402

TARGETS: dict[str, DeviceKind] = {"cpu": "cpu", "cuda": "cuda", "emulated": "cpu-emulated"}
MODULE = '\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("again", []() { return 1; }); }\n'
DEADLINE_S = 900.0


def _texts(request: BuildRequest) -> list[tuple[str, int]]:
    """The sources of a request, as the field and the index in it."""
    fields = ("cpp_sources", "cuda_sources")
    return [(name, index) for name in fields for index in range(len(getattr(request, name)))]


def _with(request: BuildRequest, place: tuple[str, int], text: str) -> BuildRequest:
    name, index = place
    sources = list(getattr(request, name))
    sources[index] = text
    return request.model_copy(update={name: tuple(sources)})


def _in_a_source(change: Any) -> Any:
    def mutate(request: BuildRequest, draw: random.Random) -> BuildRequest:
        place = draw.choice(_texts(request))
        return _with(request, place, change(getattr(request, place[0])[place[1]], draw))

    return mutate


def _second_module(request: BuildRequest, draw: random.Random) -> BuildRequest:
    place = draw.choice(_texts(request))
    return _with(request, place, getattr(request, place[0])[place[1]] + MODULE)


def _undeclared_function(request: BuildRequest, draw: random.Random) -> BuildRequest:
    """What models forget most: the declaration in `cpp_sources` of what `cuda_sources` defines."""
    return request.model_copy(update={"cpp_sources": ("",)})


def _in_two_sources(request: BuildRequest, draw: random.Random) -> BuildRequest:
    """What is defined in `cuda_sources` and in `cpp_sources` too."""
    again = "\nint own_twice(int n) { return n; }\n"
    if not request.cuda_sources or not request.cpp_sources:
        return request
    changed = _with(request, ("cpp_sources", 0), request.cpp_sources[0] + again)
    return _with(changed, ("cuda_sources", 0), changed.cuda_sources[0] + again)


def _swapped(old: str, new: str) -> Any:
    return _in_a_source(lambda text, draw: re.sub(old, new, text, count=1))


_FLAGS = ("--expt-relaxed-constexpr", "-fast-math", "-march=sm_90", "-std=cuda17", "-O5 --fmad", "-ffast-mat")


def _flag(request: BuildRequest, draw: random.Random) -> BuildRequest:
    """Flags of the other compiler, or of none."""
    name = draw.choice(("extra_cflags", "extra_cuda_cflags") if request.uses_cuda else ("extra_cflags",))
    return request.model_copy(update={name: (*getattr(request, name), draw.choice(_FLAGS))})


def _of_the_host(text: str, draw: random.Random) -> str:
    """A function of the candidate's own for the host, called by a kernel."""
    return re.sub(
        r"(?=__global__[^;]*?\{)([^;]*?\{)",
        r"static int own_of_host(int n) { return n; }\n\1 own_of_host(1);",
        text,
        count=1,
    )


KINDS: dict[str, Any] = {
    **{name: _in_a_source(change) for name, change in MUTATIONS.items()},
    "a second module": _second_module,
    "an undeclared function": _undeclared_function,
    "a stream without its include": _swapped(
        r"<<<([^,>]+),([^,>]+)>>>", r"<<<\1,\2, 0, at::cuda::getCurrentCUDAStream()>>>"
    ),
    "a kernel that is no kernel": _swapped(r"__global__", ""),
    "a device function of the host": _swapped(r"\{\n", "{\n    std::vector<float> mine(3); printf_host(mine);\n"),
    "scalar_t": _swapped(r"\bfloat\*", "scalar_t*"),
    "a signature": _swapped(r"\(torch::Tensor (\w+)", r"(torch::Tensr \1"),
    "a dash that is none": _swapped(r" - ", " \u2212 "),
    "a flag": _flag,
    "an own function of the host": _in_a_source(_of_the_host),
    "a function in two sources": _in_two_sources,
    "shared memory without end": _swapped(r"__shared__ (\w+) (\w+)\[", r"__shared__ \1 \2[1000 * "),
    "a macro nobody has": _swapped(r"\{\n", "{\n    CHECK_INPUT_ALL(x);\n"),
}


def mutants(target: str, count: int, seed: int) -> Iterator[tuple[str, str, BuildRequest]]:
    """Kind, kernel and request, without end; the same for the same seed. `count` bounds tries, not refusals."""
    draw = random.Random(seed)
    requests = {path.stem: found[0] for path in KERNELS if len(found := requests_of(path)) == 1 and not found[0].files}
    if target == "cpu":
        requests = {name: request for name, request in requests.items() if not request.uses_cuda}
    seen: set[str] = set()
    for number in range(count * 20):
        kernel, kind = draw.choice(list(requests)), draw.choice(list(KINDS))
        changed = KINDS[kind](requests[kernel], draw)
        text = changed.model_dump_json()
        if changed != requests[kernel] and text not in seen:
            seen.add(text)
            yield kind, kernel, changed.model_copy(update={"name": f"mutant_{number}"})


class Comparison:
    """Both ways of building on this machine, each with a cache of its own."""

    def __init__(self, folder: Path, target: str, arch: str | None) -> None:
        kind = TARGETS[target]
        self.fast = Builder(cache=ArtifactCache(), target=kind, arch=arch)
        self.stock = Builder(cache=ArtifactCache(folder / "stock"), target=kind, arch=arch, choice="stock")

    def row(self, kind: str, kernel: str, request: BuildRequest, *, ask: bool) -> dict[str, Any] | None:
        """What became of one mutant; None where the emulation does not take it, or no toolchain may."""
        started = time.process_time()
        tried = self.fast.first_try(request, deadline_s=DEADLINE_S)
        if isinstance(tried, BuildFailure) or tried.reason == "not-emulated":
            return None
        seconds = tried.cpu_seconds + time.process_time() - started
        decision = tried.decision
        row = {"kind": kind, "kernel": kernel, "built": tried.built, "cpu_s": seconds}
        row |= {"rule": decision.rule if decision else None, "said": (decision or tried).detail}
        if decision and ask:
            stock = self.stock.build(request, deadline_s=DEADLINE_S)
            row["stock_cpu_s"] = stock.cpu_seconds
            row["agrees"] = not isinstance(stock, Artifact) and stock.reason == "compile"
            row["stock"] = "built" if isinstance(stock, Artifact) else stock.detail
        return row


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    refused = [row for row in rows if not row["built"]]
    decided = [row for row in refused if row["rule"]]
    good = median([row["cpu_s"] for row in rows if row["built"]] or [float("nan")])
    yield f"{'rule':16} {'decided':>7} {'asked':>6} {'differ':>6} {'CPU s':>6} {'of a good build':>15}"
    for rule in (*RULES, TWICE):
        mine = [row for row in decided if row["rule"] == rule]
        asked = [row for row in mine if "agrees" in row]
        cpu = median([row["cpu_s"] for row in mine] or [0.0])
        differ = sum(not row["agrees"] for row in asked)
        yield f"{rule:16} {len(mine):7} {len(asked):6} {differ:6} {cpu:6.1f} {cpu / good:15.1f}"
    yield f"{len(decided)} of {len(refused)} refusals were decided; a good build takes {good:.1f} CPU s (median)"
    cheap = sum(row["cpu_s"] <= 3 * good for row in decided)
    yield f"{cheap} of {len(refused)} refusals cost at most 3 times a good build"
    yield f"left to stock: {dict(Counter(row['kind'] for row in refused if not row['rule']))}"
    for row in decided:
        if row.get("agrees") is False:
            yield f"DIFFERS {row['rule']}: {row['kind']} of {row['kernel']}: {row['said']} / stock: {row['stock']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=list(TARGETS), required=True)
    parser.add_argument("--count", type=int, default=200, help="mutants to build (200)")
    parser.add_argument("--arch", default="9.0", help="for cuda (9.0)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-stock", action="store_true", help="count what is decided; ask stock about none")
    parser.add_argument("--limit-s", type=float, default=float("inf"), help="begin no mutant after so many seconds")
    parser.add_argument("-o", "--output", type=Path, help="write the rows here as JSON")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        both = Comparison(Path(folder), options.target, options.arch if options.target == "cuda" else None)
        both.fast.prepare()
        for kind, kernel, request in mutants(options.target, options.count, options.seed):
            if len(rows) == options.count or time.monotonic() - started > options.limit_s:
                break
            row = both.row(kind, kernel, request, ask=not options.no_stock)
            if row is not None:
                rows.append(row)
                print(json.dumps(row), file=sys.stderr, flush=True)
    if options.output:
        found = {"environment": environment(TARGETS[options.target]), "seed": options.seed, "rows": rows}
        options.output.write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join(summary(rows)))
    return 1 if any(row.get("agrees") is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
