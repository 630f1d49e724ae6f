"""Milliseconds of a call by device events around a plain loop, in a process where nothing of the judge runs.

    python loop.py CALLS < {"problem": SOURCE, "candidate": SOURCE}

A round is CALLS calls on as many inputs, laid out once, after the last cache was written over; outputs are held until
the round is over, as a list of results would. Rounds go on for two seconds. Prints {"ms": median, "rounds": count}.
"""

import json
import statistics
import sys
import time
from typing import Any

import torch

from harness.compile import ArtifactCache, Builder
from harness.schema import Artifact
from harness.worker import capture

SECONDS = 2.0


def execute(source: str) -> dict[str, Any]:
    module: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(source, "candidate.py", "exec"), module)
    return module


def built(request: Any) -> Artifact:
    """What the judge's session built is in the cache already."""
    arch = ".".join(map(str, torch.cuda.get_device_capability(0)))
    outcome = Builder(cache=ArtifactCache(), target="cuda", arch=arch).build(request, deadline_s=600.0)
    assert isinstance(outcome, Artifact), outcome.detail
    return outcome


def main() -> None:
    given, calls = json.load(sys.stdin), int(sys.argv[1])
    capture.install(built)
    problem, candidate = execute(given["problem"]), execute(given["candidate"])
    with torch.device("cuda"), torch.no_grad():
        model = candidate["ModelNew"](*problem["get_init_inputs"]())
        sets = [problem["get_inputs"]() for _ in range(calls)]
    cache = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")
    taken: list[float] = []
    until = time.monotonic() + SECONDS
    while time.monotonic() < until or len(taken) < 10:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        cache.fill_(1)
        torch.cuda.synchronize()
        with torch.no_grad():
            start.record()
            held = [model(*inputs) for inputs in sets]
            end.record()
        torch.cuda.synchronize()
        del held
        taken.append(start.elapsed_time(end) / calls)
    print(json.dumps({"ms": statistics.median(taken[2:]), "rounds": len(taken) - 2}))


if __name__ == "__main__":
    main()
