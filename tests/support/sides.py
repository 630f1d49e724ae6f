"""The two ways of building snippets, stock's and slim's, many of them in one source."""

import re
import subprocess
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from snippets import Snippet, many_bindings, many_in_one

from harness.compile.recipe import Extras, Plan, plan_build
from harness.compile.slim import mentioned_headers, slim_extras, unkept_promises
from harness.compile.slim_tool import slim_tool
from harness.compile.sources import CPP_HEADER, CUDA_HEADERS, SourceFile, candidate_texts
from harness.compile.toolchain import Surroundings
from harness.emulate import COMPILE_FLAGS, INCLUDE_DIR, OVER_TORCH
from harness.emulate import HEADER as EMULATION
from harness.schema import BuildRequest

_LABEL = re.compile(r"\b(s\d+)(?::\d|\(\d|: In |_::|\"| *$)")
_NVCC_ERROR = re.compile(r"\(\d+\): (?:catastrophic )?error")
EMPTY = {
    "cpu": BuildRequest(name="snippet", cpp_sources=("",)),
    "cpu-emulated": BuildRequest(name="snippet", cpp_sources=("",)),
    "cuda": BuildRequest(name="snippet", cpp_sources=("",), cuda_sources=("",)),
}

PART = {"cpu": 150, "cpu-emulated": 100, "cuda": 20}
"""So many snippets are compiled in one by stock, whose headers cost more than they."""


class Side:
    """One of the two: writes sources of many snippets and compiles them in `folder`."""

    def __init__(self, name: str, around: Surroundings, folder: Path, jobs: int, header: Path | None = None) -> None:
        self.name, self.around, self.folder = name, around, folder
        self.pool = ThreadPoolExecutor(jobs)
        self.header = header or folder / "stock.h"
        folder.mkdir(parents=True)

    @property
    def cuda(self) -> bool:
        return self.around.machine.target == "cuda"

    def plan(self, snippets: list[Snippet], labels: dict[str, str]) -> Plan:
        """The compiler calls for the snippets' source, and for CUDA a second one for its bindings."""
        machine, many = self.around.machine, many_in_one(snippets, labels)
        emulation = f'#include "{EMULATION}"\n' if machine.target == "cpu-emulated" else ""
        header = f'#include "{self.header}"' if self.name == "stock" and not self.cuda else f"{emulation}{CPP_HEADER}"
        files = [SourceFile("main.cpp", f"{header}\n{many}", "c++")]
        if self.cuda:
            bindings = many_bindings(snippets, labels)
            files = [
                SourceFile("cuda.cu", f"{CUDA_HEADERS}\n{many}", "cuda"),
                SourceFile("main.cpp", f"{header}\n{bindings}", "c++"),
            ]
        if self.name == "stock":
            return plan_build(EMPTY[machine.target], files, machine, self._emulating(Extras()))
        tool = slim_tool(machine, self.around.cache, self.around.on_status)
        plan = plan_build(EMPTY[machine.target], files, machine, self._emulating(slim_extras(tool, self.around)))
        mentioned = "\n".join(text for snippet in snippets for text in candidate_texts(snippet.request))
        mentioned += "c10::Half" if emulation else ""  # in terms of which the emulation's headers are written
        headers = mentioned_headers(mentioned, tool)
        return replace(plan, files={**plan.files, **headers}, refused_link=unkept_promises(self.around))

    def _emulating(self, extras: Extras) -> Extras:
        """What the emulated toolchains add to a call."""
        if self.around.machine.target != "cpu-emulated":
            return extras
        flags = (*COMPILE_FLAGS, *((OVER_TORCH,) if self.name == "stock" else ()))
        return replace(extras, first=(str(INCLUDE_DIR), *extras.first), cxx_flags=flags)

    def prepare(self) -> None:
        """Precompile torch's headers for stock's C++, half a minute, where that is not done."""
        header = self.header
        if self.name == "stock" and not self.cuda and not Path(f"{header}.gch").exists():
            emulated = self.around.machine.target == "cpu-emulated"
            header.write_text(f'#include "{EMULATION}"\n{CPP_HEADER}\n' if emulated else f"{CPP_HEADER}\n")
            command = [*self.plan([], {}).compile[0]]
            command[command.index("-c") :] = ["-x", "c++-header", str(header), "-o", f"{header}.gch"]
            subprocess.run(command, check=True, cwd=self.folder)

    def accepted(self, groups: list[list[Snippet]], labels: dict[str, str]) -> set[str]:
        """Those that compile; a group is compiled again without those that did not, until all do."""
        done = self.pool.map(lambda numbered: self._accepted(f"a{numbered[0]}", numbered[1], labels), enumerate(groups))
        return {snippet.name for group in done for snippet in group}

    def _accepted(self, name: str, snippets: list[Snippet], labels: dict[str, str]) -> list[Snippet]:
        while snippets and (run := self._compile(name, snippets, labels, whole=False)).returncode:
            left = _without_refused(run, snippets, labels)
            if left == snippets:  # nobody can be blamed: either half is tried
                return [snippet for half in _halves(snippets) for snippet in self._accepted(name, half, labels)]
            snippets = left
        return snippets

    def _compile(
        self, name: str, snippets: list[Snippet], labels: dict[str, str], *, whole: bool
    ) -> "subprocess.CompletedProcess[str]":
        """Compile them; the `whole` of it, or as much as tells whether the compiler takes them."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        plan = self.plan(snippets, labels)
        for file, text in plan.files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
        first, *others = plan.compile
        command = [*first]
        if not self.cuda:
            last = command[command.index("-c") :]
            command[command.index("-c") :] = [
                "-w",
                "-fmax-errors=0",
                *(last if whole else ["-fsyntax-only", "main.cpp"]),
            ]
        run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        for other in others if whole and run.returncode == 0 else []:
            subprocess.run(other, check=True, cwd=folder)
        return run

    def modules(self, groups: list[list[Snippet]], labels: dict[str, str]) -> dict[str, Path]:
        """The shared object that holds each snippet; what cannot be compiled or linked is missing."""
        made = self.pool.map(lambda numbered: self._module(f"m{numbered[0]}", numbered[1], labels), enumerate(groups))
        return {name: file for group in made for name, file in group.items()}

    def _module(self, name: str, snippets: list[Snippet], labels: dict[str, str]) -> dict[str, Path]:
        while snippets:
            compiled = self._compile(name, snippets, labels, whole=True)
            if compiled.returncode:
                left = _without_refused(compiled, snippets, labels)
                if left == snippets:
                    made = [self._module(f"{name}_{labels[h[0].name]}", h, labels) for h in _halves(snippets)]
                    return {key: file for group in made for key, file in group.items()}
                snippets = left
                continue
            folder = self.folder / name
            plan = self.plan([], {})
            linked = subprocess.run(plan.link, capture_output=True, text=True, cwd=folder)
            promised = plan.refused_link and re.findall(rf"^.*{plan.refused_link}.*$", linked.stderr, re.MULTILINE)
            if linked.returncode == 0 and not promised:
                if plan.library is not None:
                    (folder / plan.library.name).symlink_to(plan.library)
                return {snippet.name: folder / "module.so" for snippet in snippets}
            refused = set(re.findall(r"\b(s\d+)_", "\n".join(promised or [linked.stderr])))
            refused |= set(_LABEL.findall(linked.stderr)) if not refused else set()
            left = [snippet for snippet in snippets if labels[snippet.name] not in refused]
            if len(left) == len(snippets):
                raise SystemExit(f"{self.name}: {name} does not link:\n{linked.stderr[:3000]}")
            snippets = left
        return {}


def _without_refused(
    run: "subprocess.CompletedProcess[str]", snippets: list[Snippet], labels: dict[str, str]
) -> list[Snippet]:
    refused = refused_labels(run.stdout + run.stderr)
    return [snippet for snippet in snippets if labels[snippet.name] not in refused]


def refused_labels(log: str) -> set[str]:
    """The snippets that errors of a compiler's log are about.

    Where an error stands in a header, g++ has said before it which snippet needs that, nvcc says so after it.
    """
    found: set[str] = set()
    last, to_come = None, False
    for line in log.splitlines():
        named = _LABEL.search(line)
        last = named.group(1) if named else last
        if named and to_come:
            found.add(named.group(1))
            to_come = False
        if _NVCC_ERROR.search(line) and not named:
            to_come = True
        elif " error: " in line and last is not None:
            found.add(last)
    return found


def by_group(snippets: list[Snippet]) -> list[list[Snippet]]:
    """The groups; a snippet with an open bracket, which those behind it would suffer from, is one of its own."""
    groups: dict[str, list[Snippet]] = defaultdict(list)
    for snippet in snippets:
        groups[snippet.group if _balanced(snippet.text) else snippet.name].append(snippet)
    return list(groups.values())


def in_parts(snippets: list[Snippet], size: int) -> list[list[Snippet]]:
    """Parts of a size, each of snippets with the same includes; those with open brackets alone."""
    whole: dict[tuple[str, ...], list[Snippet]] = defaultdict(list)
    for snippet in snippets:
        if _balanced(snippet.text):
            whole[tuple(re.findall(r"^\s*#\s*include.*", snippet.text, re.MULTILINE))].append(snippet)
    alone = [[snippet] for snippet in snippets if not _balanced(snippet.text)]
    parts = [some[start : start + size] for some in whole.values() for start in range(0, len(some), size)]
    return [*parts, *alone]


def _halves(snippets: list[Snippet]) -> list[list[Snippet]]:
    """Nothing of one snippet, which cannot be divided."""
    middle = len(snippets) // 2
    return [snippets[:middle], snippets[middle:]] if middle else []


def _balanced(text: str) -> bool:
    return all(text.count(left) == text.count(right) for left, right in ("{}", "()", "[]"))
