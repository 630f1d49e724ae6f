"""Do the slim headers mean the same program as torch's own? Every snippet of tests/compile/snippets, both ways.

    python benchmarks/same.py                      # C++: what either accepts, then every call, compared bit for bit
    python benchmarks/same.py --target cuda        # the snippets in CUDA, on a machine with a GPU
    python benchmarks/same.py --target cpu-emulated                  # the same, emulated, over torch's headers too
    python benchmarks/same.py --target cpu-emulated --mutations 200  # of benchmarks/kernels, drawn by --seed
    python benchmarks/same.py --target cuda --mutations 200          # the same in CUDA, built one by one
    python benchmarks/same.py --alone 200          # of those, 200 drawn ones as the builder builds them, one by one

Snippets are compiled many at once, since reading torch's headers is what takes the time: stock's over a precompiled
header, slim's by the group that they stand in. What the builder leaves to stock by a snippet's text alone is not
compiled. Exits with 1 where slim takes what stock refuses, or where a call gives something else.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support"), str(ROOT / "benchmarks")]

from declared import FOR_THE_FACADE_ALONE, declared_names  # noqa: E402
from mutations import CudaMutant, candidate, cuda_mutants, mutants  # noqa: E402
from sides import PART, Side, by_group, in_parts  # noqa: E402
from snippets import Snippet, read_snippets  # noqa: E402

from harness.compile import ArtifactCache  # noqa: E402
from harness.compile.beyond import beyond_the_facade  # noqa: E402
from harness.compile.builder import run_plan  # noqa: E402
from harness.compile.compiler import readable_folders  # noqa: E402
from harness.compile.recipe import Machine  # noqa: E402
from harness.compile.slim import SLIM  # noqa: E402
from harness.compile.slim_tool import slim_tool  # noqa: E402
from harness.compile.stock import STOCK  # noqa: E402
from harness.compile.toolchain import SteppedBack, Surroundings, Toolchain  # noqa: E402
from harness.compile.torch_layout import cxx_compiler, find_torch  # noqa: E402
from harness.emulate import NotEmulated, rewrite  # noqa: E402


@dataclass
class Comparison:
    """What was found, by the names of snippets."""

    left_by_text: dict[str, str] = field(default_factory=dict)
    slim: set[str] = field(default_factory=set)
    stock: set[str] = field(default_factory=set)
    calls: int = 0
    differing: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    undefined: list[str] = field(default_factory=list)

    def add(self, other: "Comparison") -> None:
        """What was found of further snippets."""
        self.left_by_text |= other.left_by_text
        self.slim |= other.slim
        self.stock |= other.stock
        self.calls += other.calls
        self.differing |= other.differing
        self.undefined += other.undefined

    @property
    def slim_only(self) -> list[str]:
        return sorted(self.slim - self.stock)


Start = Literal["fork", "forkserver"]
Job = tuple[Path, str, Sequence[str]]
"""A module, the label that it was built under, and the calls of it."""


def outcomes(module: Path, label: str, calls: Sequence[str], start: Start = "fork") -> list[str]:
    """What every call gives or raises, told in a process of its own."""
    return outcomes_of([(module, label, calls)], start)[0]


def outcomes_of(jobs: Sequence[Job], start: Start = "fork") -> list[list[str]]:
    """The same of several modules, one process for all of them as long as none ends it or leaves its device in error.

    Calls on a GPU need one from a `forkserver`: whoever forks must not have asked the driver anything before.
    """
    context: Any = multiprocessing.get_context(start)
    found: list[list[str]] = []
    while len(found) < len(jobs):
        left = jobs[len(found) :]
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_call_all, args=(left, sender))
        process.start()
        sender.close()
        told: list[list[str]] = [[]]
        try:
            while True:
                if not receiver.poll(CALL_S):
                    process.kill()
                word = receiver.recv()
                if word is None:
                    told.append([])
                else:
                    told[-1].append(word)
        except EOFError:
            process.join()
        if process.exitcode == 0:
            told.pop()
        else:
            told[-1].append(f"the process ended with {process.exitcode}")
        found += told
    return found


def _call_all(jobs: Sequence[Job], sender: Any) -> None:
    """Send a word for each call of each job, None behind those of a job. Whoever left a device in error is the last."""
    import numpy
    import torch

    torch.set_num_threads(1)
    sys.setdlopenflags(os.RTLD_LAZY)  # what one snippet lacks shall not keep those beside it from being loaded
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    further = {"torch": torch, "numpy": numpy, "candidate": candidate}
    for module, label, calls in jobs:
        said = []
        for said_of_it in _said(module, label, calls, further):
            said.append(said_of_it)
            sender.send(said_of_it)
        sender.send(None)
        if any("CUDA error" in one for one in said):
            break
    sender.close()
    os._exit(0)


def _said(module: Path, label: str, calls: Sequence[str], further: dict[str, Any]) -> Iterator[str]:
    import importlib.machinery
    import importlib.util
    import warnings

    torch = further["torch"]
    try:
        loader = importlib.machinery.ExtensionFileLoader(label, str(module))
        spec = importlib.util.spec_from_file_location(label, str(module), loader=loader)
        assert spec is not None
        loaded = importlib.util.module_from_spec(spec)
        loader.exec_module(loaded)
    except BaseException as error:  # noqa: BLE001 - whatever is raised is compared
        yield f"import: {told_error(error)}".replace(str(module.parent), "FOLDER")
        return
    for call in calls:
        names = {**values(torch), **further, **vars(loaded), "module": loaded}
        torch.manual_seed(0)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                found = told(eval(call, names), torch)
            except BaseException as error:  # noqa: BLE001 - whatever is raised is compared
                found = told_error(error)
        # Words of warnings, without the file and line that torch appends.
        words = [f" warns {one.category.__name__} {str(one.message).split(' (Triggered')[0]}" for one in warned]
        yield (found + "".join(words)).replace(label, "LABEL")


def values(torch: Any) -> dict[str, Any]:
    """The names that calls use, new for every call."""
    return {
        "X": torch.linspace(-2, 3, 12).reshape(3, 4),
        "Y": torch.arange(12.0).reshape(3, 4) + 0.5,
        "I": torch.arange(12).reshape(3, 4),
        "B": torch.arange(12).reshape(3, 4) % 2 == 0,
        "H": torch.linspace(-2, 3, 12).reshape(3, 4).half(),
        "D": torch.linspace(-2, 3, 12).reshape(3, 4).double(),
    }


def told(value: Any, torch: Any) -> str:
    """A value in words that are equal where the bits are."""
    if isinstance(value, torch.Tensor):
        flat = value.detach().cpu().contiguous().reshape(-1)
        bits = flat.view(torch.uint8).tolist() if value.dtype != torch.bool else flat.tolist()
        place = (value.dtype, tuple(value.shape), value.stride(), value.requires_grad, value.device)
        return f"tensor {place} {bits}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(told(one, torch) for one in value)})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{told(k, torch)}: {told(v, torch)}' for k, v in value.items())})"
    return re.sub(r" at 0x\w+", "", f"{type(value).__name__} {value!r}")


def told_error(error: BaseException) -> str:
    """The kind of an error and its words, without the C++ stack, addresses, files with their lines and times of day."""
    text = re.split(r"\n(?:Exception raised from|C\+\+ CapturedTraceback)|\(\S+ at \S+:\d+\)", str(error))[0]
    return re.sub(r'0x\w+|\[F\d+ [\d:.]+ (?:\d+ )?|\S+:\d+\]|"[^"\n]+":\d+', "", f"{type(error).__name__}: {text}")


def compare(snippets: list[Snippet], stock: Side, slim: Side, processes: int, *, share: bool) -> Comparison:
    """Build and run all of them both ways. `share`: stock is asked about those too that slim refuses."""
    found = Comparison()
    labels = {snippet.name: f"s{number}" for number, snippet in enumerate(snippets)}
    visible = slim_tool(slim.around.machine, slim.around.cache, print).visible
    for snippet in snippets:
        if (reason := beyond_the_facade(snippet.request, visible)) is not None:
            found.left_by_text[snippet.name] = reason
    tried = [snippet for snippet in snippets if snippet.name not in found.left_by_text]
    part = PART[slim.around.machine.target]
    if slim.cuda:  # whose compiler has no way of only looking
        modules = slim.modules(by_group(tried), labels)
        found.slim = set(modules)
        say(f"{len(snippets)} snippets, {len(found.left_by_text)} left by text, {len(found.slim)} taken by slim")
        theirs = stock.modules(in_parts(tried, part), labels)
        found.stock = set(theirs)
    else:
        found.slim = slim.accepted(by_group(tried), labels)
        say(f"{len(snippets)} snippets, {len(found.left_by_text)} left by text, {len(found.slim)} taken by slim")
        modules = slim.modules(by_group([s for s in tried if s.name in found.slim]), labels)
        found.slim &= modules.keys()
        say(f"{len(found.slim)} of them linked")
        tried = tried if share else [s for s in tried if s.name in found.slim]
        stock.prepare()
        found.stock = stock.accepted(in_parts(tried, part), labels)
        say(f"{len(found.stock)} of {len(tried)} taken by stock")
        theirs = stock.modules(in_parts([s for s in tried if s.name in found.slim & found.stock], part), labels)
    both = [s for s in tried if s.name in modules and s.name in theirs]
    say("all are built")
    jobs, others = ([(built[s.name], labels[s.name], s.calls) for s in both] for built in (modules, theirs))
    at_once = CALLED_TOGETHER if slim.cuda else 1
    with ThreadPoolExecutor(CALLS_AT_ONCE if slim.cuda else processes) as pool:

        def called(some: Sequence[Job]) -> Iterator[list[str]]:
            parts = [some[start : start + at_once] for start in range(0, len(some), at_once)]
            return itertools.chain.from_iterable(pool.map(outcomes_of, parts))

        for snippet, job, other, one, two in zip(both, jobs, others, called(jobs), called(others), strict=True):
            found.calls += len(snippet.calls)
            if one != two and at_once > 1:  # those beside it in a process may be why
                one, two = outcomes(*job), outcomes(*other)
            if one != two and ((crashed(one) and crashed(two)) or varies(job, one)):
                found.undefined.append(snippet.name)
            elif one != two:
                pairs = (
                    list(zip(snippet.calls, one, two, strict=False))
                    if len(one) == len(two)
                    else [("all", str(one[-1:]), str(two[-1:]))]
                )
                found.differing[snippet.name] = [(call, a, b) for call, a, b in pairs if a != b]
    return found


def crashed(outcome: list[str]) -> bool:
    return bool(outcome) and outcome[-1].startswith("the process ended")


def varies(job: Job, outcome: list[str]) -> bool:
    """Whether one side alone gives something else another time, as what reads memory that nobody wrote does."""
    return any(outcomes(*job) != outcome for _ in range(2))


def alone(snippets: list[Snippet], around: Surroundings, folder: Path, jobs: int) -> set[str]:
    """Those that the slim toolchain builds one by one, as the builder does."""
    readable = readable_folders(around.machine.layout, around.cache)

    def builds(snippet: Snippet) -> bool:
        plan = SLIM.plan(snippet.request, around)
        return run_plan(plan, folder / re.sub(r"\W", "_", snippet.name), 120, readable).module is not None

    with ThreadPoolExecutor(jobs) as pool:
        return {s.name for s, well in zip(snippets, pool.map(builds, snippets), strict=True) if well}


def compare_one_by_one(made: list[CudaMutant], around: Surroundings, folder: Path, jobs: int) -> Comparison:
    """Build each as the builder does, by the slim toolchain and, where that takes it, by stock; run both."""
    found = Comparison()
    visible = slim_tool(around.machine, around.cache, print).visible
    readable = readable_folders(around.machine.layout, around.cache)  # with the library's, which is there by now

    def module(mutant: CudaMutant, toolchain: Toolchain) -> Path | None:
        try:
            plan = toolchain.plan(mutant.request, around)
        except SteppedBack:
            return None
        where = folder / toolchain.name / re.sub(r"\W", "_", mutant.name)
        built = run_plan(plan, where, BUILD_S, readable).module
        if built is not None and plan.library is not None:
            shutil.copy(plan.library, built.parent)  # as it lies beside a module in the cache
        return built

    def tried(mutant: CudaMutant) -> None:
        if (reason := beyond_the_facade(mutant.request, visible)) is not None:
            found.left_by_text[mutant.name] = reason
        elif (ours := module(mutant, SLIM)) is not None:
            found.slim.add(mutant.name)
            if (theirs := module(mutant, STOCK)) is not None:
                found.stock.add(mutant.name)
                both[mutant.name] = (ours, theirs)

    both: dict[str, tuple[Path, Path]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(tried, made))
    say(f"{len(made)} mutants, {len(found.left_by_text)} left by text, {len(found.slim)} taken by slim")

    def called(mutant: CudaMutant) -> None:
        def outcome(module: Path) -> list[str]:
            return outcomes(module, mutant.request.name, [mutant.call], "forkserver")

        one, two = map(outcome, both[mutant.name])
        if one == two:
            return
        if (crashed(one) and crashed(two)) or any(outcome(both[mutant.name][0]) != one for _ in range(2)):
            found.undefined.append(mutant.name)
        else:
            found.differing[mutant.name] = [(mutant.call, str(one[-1:]), str(two[-1:]))]

    found.calls = len(both)
    with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
        list(pool.map(called, [mutant for mutant in made if mutant.name in both]))
    return found


BUILD_S = 280.0
"""What one build may take."""
CALL_S, CALLS_AT_ONCE = 20.0, 4
"""What one call may take; a mutated kernel may never end. On a GPU so many processes call beside each other."""
CALLED_TOGETHER = 12
"""On a GPU so many snippets are called by one process: beginning with a device takes longer than they do."""
STARTED = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - STARTED:7.1f} s  {text}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=["cpu", "cpu-emulated", "cuda"], default="cpu")
    parser.add_argument("--mutations", type=int, default=0, metavar="N", help="N mutants of benchmarks/kernels instead")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--only", default="", help="snippets whose name matches this")
    parser.add_argument(
        "--first", default="", metavar="FILES", help="files of snippets to begin with; --out grows by file"
    )
    parser.add_argument("--share", action="store_true", help="ask stock about what slim refuses too, to say its share")
    parser.add_argument("--header", type=Path, help="where the precompiled header is kept for further runs")
    parser.add_argument("--alone", type=int, default=0, metavar="N", help="build N drawn ones one by one as well")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    snippets = [snippet for snippet in asked_for(given) if re.search(given.only, snippet.name)]
    import torch  # noqa: F401  # in every process that is forked, but for CUDA's context

    asked = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    capability = (
        subprocess.run(asked, capture_output=True, text=True, check=True).stdout if given.target == "cuda" else ""
    )
    machine = Machine(
        target=given.target, layout=find_torch(), cxx=cxx_compiler(), arch=capability.split()[0] if capability else None
    )
    around = Surroundings(machine=machine, cache=ArtifactCache(), on_status=say)

    if given.target == "cuda" and given.mutations:
        return mutations_in_cuda(given, around)
    found, done, drawn, built = Comparison(), [], [], set()
    with tempfile.TemporaryDirectory() as work:
        for file in dict.fromkeys(given.first.split() + [file_of(s) for s in snippets]):
            of_file = [s for s in snippets if file_of(s) == file]
            say(f"{file}: {len(of_file)}")
            header = given.header or Path(work) / "stock.h"
            stock, slim = (Side(n, around, Path(work) / file / n, given.jobs, header) for n in ("stock", "slim"))
            compared = compare(of_file, stock, slim, given.jobs, share=given.share)
            show(compared, of_file)
            found.add(compared)
            done += of_file
            if given.out:
                given.out.write_text(json.dumps(summary(given, machine, done, found, [], set()), indent=1) + "\n")
        taken = [s for s in snippets if s.name in found.slim]
        drawn = random.Random(given.seed).sample(taken, min(given.alone, len(taken)))
        built = alone(drawn, around, Path(work) / "alone", given.jobs)
    text = json.dumps(summary(given, machine, done, found, drawn, built), indent=1)
    print(text)
    if given.out:
        given.out.write_text(f"{text}\n")
    return 1 if found.slim_only or found.differing else 0


def mutations_in_cuda(given: argparse.Namespace, around: Surroundings) -> int:
    """Compare the mutants, print and keep what was found. The exit status."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(["torch", "numpy"])
    made = [mutant for mutant in cuda_mutants(given.mutations, given.seed) if re.search(given.only, mutant.name)]
    with tempfile.TemporaryDirectory() as work:
        found = compare_one_by_one(made, around, Path(work), given.jobs)
    for mutant in made:
        if mutant.name in found.slim_only:
            print(f"slim alone takes {mutant.name} ({mutant.kind}):\n{mutant.request.model_dump_json()}", flush=True)
        for _, one, two in found.differing.get(mutant.name, ()):
            print(f"differs: {mutant.name} ({mutant.kind})\n  slim  {one[:300]}\n  stock {two[:300]}", flush=True)
    text = json.dumps(summary(given, around.machine, [], found, [], set()), indent=1)
    print(text)
    if given.out:
        given.out.write_text(f"{text}\n")
    if not found.calls:
        print("nothing was compared: slim took none", file=sys.stderr)
    return 1 if found.slim_only or found.differing or not found.calls else 0


def asked_for(given: argparse.Namespace) -> list[Snippet]:
    """The snippets of the language that the target's compiler reads, or the mutants."""
    if given.target == "cuda" and given.mutations:
        return []
    if given.mutations:
        return [mutant.snippet for mutant in mutants(given.mutations, given.seed)]
    if given.target == "cpu-emulated":
        return list(emulated(read_snippets("cuda")))
    return read_snippets("cuda" if given.target == "cuda" else "c++")


def emulated(snippets: Iterable[Snippet]) -> Iterator[Snippet]:
    """Snippets in CUDA as the C++ that the emulation makes of them; those that it cannot take are left out."""
    for snippet in snippets:
        try:
            text = rewrite(snippet.text).source
        except NotEmulated:
            continue
        calls = tuple(call.replace(".cuda()", "") for call in snippet.calls)
        yield replace(snippet, text=text, calls=calls, language="c++")


def file_of(snippet: Snippet) -> str:
    return snippet.group.split("/")[0]


def show(found: Comparison, snippets: list[Snippet]) -> None:
    """Print what slim alone takes, and up to three calls of each that differ."""
    for name in found.slim_only:
        print(f"slim alone takes {name}: {next(s.text for s in snippets if s.name == name)[:300]!r}", flush=True)
    for name, calls in found.differing.items():
        for call, one, two in calls[:3]:
            print(f"differs: {name} {call}\n  slim  {one[:300]}\n  stock {two[:300]}", flush=True)


def summary(
    given: argparse.Namespace,
    machine: Machine,
    snippets: list[Snippet],
    found: Comparison,
    drawn: list[Snippet],
    built: set[str],
) -> dict[str, Any]:
    """What `--out` keeps of the snippets that were compared."""
    import torch

    words = set(re.findall(r"\w+", " ".join(s.text for both in ("c++", "cuda") for s in read_snippets(both))))
    declared = declared_names()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "target": given.target,
        "mutations": {"asked": given.mutations, "seed": given.seed} if given.mutations else None,
        "device": torch.cuda.get_device_name() if given.target == "cuda" else "",
        "torch": torch.__version__,
        "compiler": subprocess.run([machine.cxx, "--version"], capture_output=True, text=True).stdout.splitlines()[0],
        "python": platform.python_version(),
        "snippets": len(snippets),
        "by_file": dict(Counter(map(file_of, snippets))),
        "left_to_stock_by_text": len(found.left_by_text),
        "taken_by_stock": len(found.stock) if given.share else None,
        "taken_by_slim": len(found.slim),
        "taken_by_slim_and_refused_by_stock": found.slim_only,
        "calls": found.calls,
        "differing": sorted(found.differing),
        "differing_from_itself_or_crashed": sorted(found.undefined),
        "built_one_by_one": {"drawn": len(drawn), "seed": given.seed, "taken": len(built)},
        "declared_by_the_facade": len(declared),
        "declared_and_in_no_snippet": sorted(declared - words - FOR_THE_FACADE_ALONE),
        "seconds": round(time.monotonic() - STARTED),
    }


if __name__ == "__main__":
    raise SystemExit(main())
