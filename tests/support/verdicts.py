"""Candidates of the corpus on a CPU, and whether each gets the verdict that its first line names."""

import re

from corpus import Entry, read_corpus

from harness.catalog import read_problem
from harness.controller.evaluate import evaluate
from harness.controller.session import Session
from harness.intake import read_submission

SMALLER = {
    "relu": {"batch_size": 4},
    "inplace": {"batch_size": 2},
    "counts": {"n": 64},
    "largest": {"n": 1 << 12},
    "histogram": {"n": 1 << 12},
    "running_mean": {"n": 2},
    "one_hot": {"rows": 64},
    "million_relu": {"n": 1 << 12},
    "half_mean": {"n": 1 << 12},
    "cumprod": {"rows": 4},
    "nested_maps": {"images": 1, "channels": 4},
    "argmax": {"batch_size": 4},
    "coarse_steps": {"n": 1 << 12},
    "repeated_heads": {"tokens": 8},
    "drawn_power": {"rows": 4},
    "nuclear_corner": {"rows": 384},
    "rough_column": {"rows": 256},
    "graph_convolution": {"nodes": 256},
}
"""By the problem, at what size a CPU is asked, unless the candidate names a number that is written there: rounds have
up to 256 calls, and drawing as many inputs of the size as written takes ten to forty seconds a candidate."""
NAMES_A_SIZE = re.compile(r"\b(64|65536|256|1 << 18|1 << 20|1048576)\b")
NAMES_OTHER_NUMBERS = {
    "brings_the_reference_and_a_main",
    "hops_from_process_to_process",
    "keeps_a_rough_column",
    "knows_the_edges_of_a_graph_again",
    "lays_its_output_out_as_it_likes",
    "leaves_out_what_a_rough_column_hides",
    "reads_the_inputs_while_the_cache_is_emptied",
    "remembers_launch_configurations",
    "wakes_itself_by_a_timer",
}
"""Candidates in which such a number is another one, of threads or bytes, or in functions that nothing calls."""
TWINS = {entry.twin for entry in read_corpus()}
"""Controls that a cheat is compared with, which are timed fully as it is; the others as `--timing quick` does."""


def entries(*threats: str) -> list[Entry]:
    """Those that a CPU can show, of threats that begin so; "" stands for those that are broken."""
    chosen = [entry for entry in read_corpus() if "cpu" in entry.devices]
    return [entry for entry in chosen if entry.threat in threats or entry.threat[:1] in set(threats) - {""}]


def names_its_verdict(entry: Entry, session: Session) -> None:
    submission, problem = read_submission(entry.path), read_problem(entry.problem)
    as_written = NAMES_A_SIZE.search(submission.text) and entry.name not in NAMES_OTHER_NUMBERS
    smaller = {} if as_written else SMALLER.get(problem.name, {})
    expected = {str(expectation) for expectation in entry.expectations("cpu")}
    is_quick = entry.threat == "control" and entry.name not in TWINS
    limits: dict[str, object] = {"timing": "quick"} if is_quick else {}
    if "failed/out-of-memory" in expected:
        limits["memory_bytes"] = 1 << 30  # which fills within a second
    if expected == {"failed/timeout"}:
        limits["timeout_s"] = 2.0
    settings = session.settings.model_copy(update={"workload": smaller, **limits})
    record = evaluate(submission, problem, session=session, settings=settings).record
    verdict = record.verdict
    assert any(expected.meets(verdict) for expected in entry.expectations("cpu")), verdict
    untimed = record.device.kind != "cpu" or any(flag.rule == "not-timed" for flag in record.flags)
    assert verdict.kind != "correct" or (record.timing is None) == untimed
