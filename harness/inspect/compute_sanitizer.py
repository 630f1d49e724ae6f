"""compute-sanitizer: NVIDIA's checks of memory, races and initialisation for kernels on a GPU.

It prints blocks: a first line after `========= `, further ones after `=========     `, and a summary at the end.
Options and format: https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer.
"""

import re
from collections.abc import Iterator

from harness.inspect.report import NOTHING, Findings

OPTIONS = (
    "--target-processes", "application-only",
    "--show-backtrace", "device",  # host frames are the interpreter's, forty to a finding
    "--print-limit", "100",
    "--check-exit-code", "no",  # how the candidate fared is told by other means
    "--require-cuda-init", "no",
    "--launch-timeout", "0",  # it may be minutes until the device is touched: extensions are built before
)  # fmt: skip
_MARK = "========="
_FINDING = re.compile(
    r"Invalid |Uninitialized |Host API .* access error|Program hit |(?:Error|Warning): (?:Race reported|Potential )"
    r"|(?:Warp|Device|Stack|Barrier|Cluster|Malloc|Misaligned|Illegal|Hardware) .*(?:error|exception|overflow|access)",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"^========= (ERROR|RACECHECK) SUMMARY: (\d{1,18}) (?:error|hazard)s?\b(?! were not)", re.MULTILINE
)
_ACCESS = re.compile(r"(?:Access|Address|Uninitialized access) .*")
_AT = re.compile(r"(?:^|\b)(?:at|access at) \S")


def read(log: str) -> Findings | None:
    """What it found, None where it did not come to its summary."""
    counts = {kind: int(number) for kind, number in _SUMMARY.findall(log)}  # the last of each: the tool's own
    if not counts:
        return None
    found = [block for block in _blocks(log) if _FINDING.match(block[0])]
    count = sum(counts.values())
    if not count:
        return Findings(summary=NOTHING)
    places = tuple(line for block in found for line in block if _AT.search(line))
    return Findings(summary=_in_a_sentence(found, count), count=count, places=places)


def why_not(log: str) -> str:
    """The last thing it said of itself, where there is no summary; empty where it said nothing."""
    said = [line.removeprefix(_MARK).strip() for line in log.splitlines() if line.startswith(_MARK)]
    return next((line.removeprefix("Error: ") for line in said if line.lower().startswith("error")), "")


def _blocks(log: str) -> Iterator[list[str]]:
    """The blocks of output, each as its lines without their marks."""
    block: list[str] = []
    for line in log.splitlines():
        if not line.startswith(_MARK):
            continue
        text = line.removeprefix(_MARK)
        if text.startswith("  "):
            block.append(text.strip())
            continue
        if block:
            yield block
        block = [text.strip()] if text.strip() else []
    if block:
        yield block


def _in_a_sentence(found: list[list[str]], count: int) -> str:
    counted = f"{count} finding{'s' if count > 1 else ''}"
    if not found:
        return counted
    head, *more = found[0]
    place = next((line for line in more if _AT.match(line)), "")
    access = next((line for line in more if _ACCESS.match(line)), "")
    first = " ".join(part for part in (head, place) if part)
    return f"{counted}, the first: {first}{f'; {access}' if access else ''}"
