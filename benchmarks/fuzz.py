"""What hostile compilers leave and hostile workers say, by the hundreds: whatever it is, honest ones among them stand.

    python benchmarks/fuzz.py --builds 500 --conversations 2000 --as nobody -o results.json

A build's linker is a shell in the sandbox that runs a random script where a real one would run; every fifth build is
honest. A conversation is one of `tests/transport/test_hostile_workers.py` with seeds of its own. Counted is how each
ended; anything but an artifact, a failure of the compiler, outputs, `protocol` or `timeout` is printed and fails
the run. `--as` starts the same command where less is allowed, as `benchmarks/cheats.py` does.
"""

import argparse
import importlib.util
import json
import os
import platform
import random
import shlex
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from cheats import elsewhere  # noqa: E402

from harness.sandbox.elsewhere import SETTINGS  # noqa: E402

SEEDS_FROM = 10_000  # those below are the tests'
_GOOD = {"artifact", "compile", "out-of-memory", "timeout", "outputs", "protocol"}
_PLACES = ("module.so", "a.o", "other.so", ".", "..", "/tmp/x", "sub/module.so")
_TARGETS = (
    "/etc/shadow",
    "{secret}",
    "/dev/zero",
    "/dev/full",
    "/proc/self/fd/0",
    "/proc/1/environ",
    "module.so",
    "..",
)
_STEPS = (
    "ln -s {target} {place}", "ln {target} {place}", "mkfifo {place}", "mkdir -p {place}/x", "rm -rf {place}",
    "truncate -s 8T {place}",
    "truncate -s 300M {place}", "head -c 1000000 /dev/urandom > {place}", ": > {place}",
    "chmod 000 {place}", "chmod 000 .", "mv {place} module.so", "mknod {place} p", "touch -- -o", "kill -9 $$",
    "kill -9 -1", "exit {status}", "echo 'terminated with signal 9 [Killed]'", "echo 'No space left on device'; exit 1",
    "yes | head -c 400000",
    "(sleep 30 &)", "printf '\\377\\376\\000'", "echo 'cpp_sources[0]:'$(seq -s '' 3000)'; exit 1",
    "mkdir d && cd d && mkdir d && cd d && ln -s ../.. up", "cp /bin/true {place}", "exec 1>&- 2>&-",
)  # fmt: skip


def script(chance: random.Random, secret: Path) -> str:
    """A few commands of those, on places of those."""
    steps = []
    for _ in range(chance.randint(1, 5)):
        target = chance.choice(_TARGETS).format(secret=secret)
        status = chance.choice((0, 1, 2, 77, 126, 128, 137, 139, 255))  # 127: a shell's for no such program
        steps.append(chance.choice(_STEPS).format(target=target, place=chance.choice(_PLACES), status=status))
    return "\n".join(steps)


def build_all(count: int) -> Counter[str]:
    """How `count` builds ended, each by its own random linker; every fifth is honest and must become an artifact."""
    import harness.compile.builder as builder_module
    from harness.compile import ArtifactCache, Builder
    from harness.compile.recipe import Plan
    from harness.compile.toolchain import Toolchain
    from harness.schema import Artifact, BuildRequest

    ended: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "secret"
        secret.write_text("what no candidate may see")
        secret.chmod(0o600)
        cache = ArtifactCache(Path(folder) / "cache")
        for number in range(count):
            honest = number % 5 == 0
            text = "echo honest > module.so" if honest else script(random.Random(number), secret)
            plan = Plan(files={"a.cpp": ""}, compile=(), link=("/bin/sh", "-c", text), output="module.so")
            row = (Toolchain("shell", partial(_always, plan), 4 << 30),)
            request = BuildRequest(name=f"m{number}", cpp_sources=(text,))
            try:
                with mock.patch.object(builder_module, "toolchains_for", partial(_always, row)):
                    outcome = Builder(cache=cache, target="cpu").build(request, deadline_s=10)
            except Exception as error:  # noqa: BLE001  # what is looked for
                ended[_seen(f"build {number}: {type(error).__name__}: {error}", text)] += 1
                continue
            how: str = "artifact" if isinstance(outcome, Artifact) else outcome.reason
            made = Path(outcome.path).read_bytes() if isinstance(outcome, Artifact) else b""
            if honest and made != b"honest\n":
                how = _seen(f"build {number}: an honest one ended in {how}", text)
            if b"no candidate" in made:
                how = _seen(f"build {number}: read the secret", text)
            ended[how] += 1
        if left := [path.name for path in (cache.root / "work").iterdir()]:
            ended[_seen("left in the cache's work folder", " ".join(left))] += 1
    return ended


def converse_all(count: int) -> Counter[str]:
    """How `count` conversations ended."""
    attacks = _module(ROOT / "tests" / "transport" / "test_hostile_workers.py")
    converse = _module(ROOT / "tests" / "transport" / "conftest.py").converse
    ended: Counter[str] = Counter()
    reader, writer = os.pipe()
    for seed in range(SEEDS_FROM, SEEDS_FROM + count):
        chance = random.Random(seed)
        try:
            outcome = converse(attacks.attack(chance, chance.randrange(attacks.ANSWERS), writer))
            attacks.held(outcome)
            ended[outcome.reason or "outputs"] += 1
        except Exception as error:  # noqa: BLE001  # what is looked for
            ended[_seen(f"conversation {seed}: {type(error).__name__}: {error}", "")] += 1
    os.close(reader)
    os.close(writer)
    return ended


def _asked(options: argparse.Namespace) -> list[str]:
    """The options that decide what is tried."""
    asked = ["--builds", str(options.builds), "--conversations", str(options.conversations)]
    return [*asked, "--as", options.setting] if options.setting else asked


def _always(answer: Any, *asked: Any) -> Any:
    """`answer`, whatever is asked."""
    return answer


def _seen(what: str, text: str) -> str:
    print(f"{what[:500]}\n{text}\n", file=sys.stderr)
    return what[:100]


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builds", type=int, default=500)
    parser.add_argument("--conversations", type=int, default=2000)
    parser.add_argument("--as", dest="setting", choices=sorted(SETTINGS), help="start anew where less is allowed")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    if options.setting and os.environ.get("HARNESS_CHEATS_SETTING") != options.setting:
        return elsewhere(options.setting, Path(__file__), options.output)
    import torch

    from harness.sandbox import tool_confinement

    results: dict[str, Any] = {
        "command": shlex.join(("benchmarks/fuzz.py", *_asked(options))),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}",
        "as": options.setting or ("root" if os.geteuid() == 0 else "another user"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "compilers": tool_confinement().tier,
    }
    for name, run, count in (
        ("builds", build_all, options.builds),
        ("conversations", converse_all, options.conversations),
    ):
        started = time.monotonic()
        ended = run(count)
        results[name] = {
            "count": count,
            "ended": dict(ended.most_common()),
            "seconds": round(time.monotonic() - started),
        }
        print(name, results[name])
    if options.output:
        options.output.write_text(json.dumps(results, indent=2) + "\n")
    return 0 if set(results["builds"]["ended"]) | set(results["conversations"]["ended"]) <= _GOOD else 1


if __name__ == "__main__":
    sys.exit(main())
