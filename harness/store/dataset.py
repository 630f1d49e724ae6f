"""A run as a Hugging Face data set: a folder with Parquet files and the card that says what is in them.

    README.md                     the card; its `configs:` are what the viewer and `datasets.load_dataset` go by
    data/records-00000.parquet    one line a record: figures, the source, the logs, and the whole record as JSON
    data/<name>.parquet           whatever else belongs to it

Needs pyarrow, and nothing of a network.
"""

import importlib.util
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import MachineError
from harness.languages import LANGUAGES
from harness.schema import Failed, Record, Rejected, Wrong
from harness.store.files import disk_faults, make_folder

if TYPE_CHECKING:
    import pyarrow

_RECORDS_A_FILE = 50_000
_RECORDS_A_GROUP = 500
_OWN_COLUMNS = {"submission.txt": "submission_text", "candidate.py": "candidate"}


def write_dataset(
    records: Iterable[Record],
    attachments: Callable[[Record], Mapping[str, str]],
    folder: Path,
    *,
    title: str,
    text: str,
    further: Mapping[str, bytes],
) -> int:
    """Writes the folder. Returns how many records are in it.

    Args:
        attachments: record -> file name -> text.
        folder: missing or empty.
        title: one line.
        text: Markdown of the card, its heading among it.
        further: name -> content of further Parquet files, each a configuration of that name.

    Raises:
        MachineError: pyarrow is not installed, or the disk is full or broken.
        StoreError: the place may not be written.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise MachineError("a data set needs pyarrow: pip install 'kernel-harness[datasets]'")
    data = folder / "data"
    with disk_faults(folder):
        make_folder(data)
        written = _write_records(iter(records), attachments, data)
        for name, content in further.items():
            (data / f"{name}.parquet").write_bytes(content)
        (folder / "README.md").write_text(_card(title, text, further), encoding="utf-8")
    return written


def _write_records(records: Iterator[Record], attachments: Callable[[Record], Mapping[str, str]], data: Path) -> int:
    import pyarrow
    import pyarrow.parquet

    schema = _schema()
    for number in count():
        path = data / f"records-{number:05}.parquet"
        written = 0
        with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            while written < _RECORDS_A_FILE and (some := list(islice(records, _RECORDS_A_GROUP))):
                lines = [_line(record, attachments(record)) for record in some]
                writer.write_table(pyarrow.Table.from_pylist(lines, schema=schema))
                written += len(lines)
        if written < _RECORDS_A_FILE:
            return number * _RECORDS_A_FILE + written
    raise AssertionError("unreachable")


def _line(record: Record, attachments: Mapping[str, str]) -> dict[str, Any]:
    verdict, timing, submission = record.verdict, record.timing, record.submission
    return {
        "problem": record.problem.title,
        "level": record.problem.set,
        "problem_sha256": record.problem.sha256,
        "precision": record.problem.workload.precision,
        "reduced": record.problem.workload.reduced,
        "model": submission.model,
        "submission": submission.path,
        "submission_sha256": submission.sha256,
        "sample": submission.sample,
        "turn": submission.turn,
        "prompt_tokens": submission.prompt_tokens,
        "completion_tokens": submission.completion_tokens,
        "languages": list(record.candidate.languages) if record.candidate else [],
        "device": record.device.kind,
        "device_name": record.device.name,
        "verdict": verdict.kind,
        "stage": verdict.stage if isinstance(verdict, Failed) else None,
        "reason": verdict.reason if isinstance(verdict, Failed | Wrong) else None,
        "rule": verdict.rule if isinstance(verdict, Rejected) else None,
        "detail": getattr(verdict, "detail", None),
        "baseline": timing.baseline if timing else None,
        "speedup": timing.speedup.value if timing else None,
        "speedup_low": timing.speedup.low if timing else None,
        "speedup_high": timing.speedup.high if timing else None,
        "conclusion": timing.conclusion if timing else None,
        "candidate_ms": timing.candidate_ms if timing else None,
        "reference_ms": timing.reference_ms if timing else None,
        "roofline_fraction": record.roofline.fraction if record.roofline else None,
        "flags": [flag.model_dump(include={"rule", "severity", "detail"}) for flag in record.flags],
        "isolation": list(record.sandbox.layers),
        "judged_at": record.judged_at,
        "harness": record.environment.harness,
        "torch": record.environment.torch,
        "cuda": record.environment.cuda,
        "submission_text": attachments.get("submission.txt"),
        "candidate": attachments.get("candidate.py"),
        "logs": [{"name": name, "text": text} for name, text in attachments.items() if name not in _OWN_COLUMNS],
        "record": record.model_dump_json(),
    }


def _schema() -> "pyarrow.Schema":
    from pyarrow import bool_, float64, int64, list_, schema, string, struct

    wholes = ("sample", "turn", "prompt_tokens", "completion_tokens")
    floats = ("speedup", "speedup_low", "speedup_high", "candidate_ms", "reference_ms", "roofline_fraction")
    named = struct([("rule", string()), ("severity", string()), ("detail", string())])
    types = dict.fromkeys(_COLUMNS, string()) | dict.fromkeys(wholes, int64()) | dict.fromkeys(floats, float64())
    types |= {"reduced": bool_(), "languages": list_(string()), "isolation": list_(string()), "flags": list_(named)}
    types |= {"logs": list_(struct([("name", string()), ("text", string())]))}
    return schema(list(types.items()))


# Name -> what the card says of it, in the order of the columns.
_COLUMNS = {
    "problem": "title, and the set of problems that it is in (`level`)",
    "level": "",
    "problem_sha256": "of the problem's file",
    "precision": "fp32, fp16 or bf16",
    "reduced": "a size was made smaller because CUDA was emulated on a CPU",
    "model": "who wrote the submission; empty where that is not known",
    "submission": "the path that it was handed in by",
    "submission_sha256": "of its text",
    "sample": "which answer to the same question",
    "turn": "which answer of one conversation, from 0",
    "prompt_tokens": "the server's count for this answer",
    "completion_tokens": "the same",
    "languages": ", ".join(LANGUAGES),
    "device": "cuda, cpu, or cpu-emulated: correctness only, its times mean nothing",
    "device_name": "",
    "verdict": "correct, wrong, failed, rejected; infrastructure is a fault of the harness and no score",
    "stage": "where it failed",
    "reason": "why it failed, or how it differs",
    "rule": "what rejected it",
    "detail": "one sentence",
    "baseline": "the form of the reference that was timed",
    "speedup": "reference over candidate, with its 95% bootstrap interval",
    "speedup_low": "",
    "speedup_high": "",
    "conclusion": "what the interval allows to say",
    "candidate_ms": "median of one call",
    "reference_ms": "the same of the reference",
    "roofline_fraction": "of what the device could do",
    "flags": "doubts that screening had; they do not decide",
    "isolation": "layers of the sandbox that held",
    "judged_at": "ISO 8601, UTC",
    "harness": "its version",
    "torch": "",
    "cuda": "",
    "submission_text": "what was handed in",
    "candidate": "the source that was taken out of it",
    "logs": "what the compiler and the candidate printed",
    "record": "the whole record as JSON, raw samples among it",
}


def _card(title: str, text: str, further: Iterable[str]) -> str:
    configs = "".join(f"- config_name: {name}\n  data_files: data/{name}.parquet\n" for name in further)
    columns = "\n".join(f"| `{name}` | {said} |" for name, said in _COLUMNS.items())
    return f"""\
---
pretty_name: {json.dumps(title, ensure_ascii=False)}
tags:
- code
- cuda
- gpu-kernels
configs:
- config_name: records
  data_files: data/records-*.parquet
  default: true
{configs}---

{text}

## Columns of `records`

| column | what it says |
| --- | --- |
{columns}
"""
