"""The run folder: append, resume, read back.

    runs/<run>/
      manifest.json            what the run is: written once
      records.jsonl            one record a line, append-only; with `--shard i/N` records-<i>-of-<N>.jsonl
      artifacts/<slug>/        what a person needs to doubt one record: candidate.py, build.log, worker.log, ...
      generations/             what models answered, where `harness generate` asked them
      .records.jsonl.index     what a leaderboard needs of a long file, as columns; made anew where it does not fit

`open_run` is the way in, `Run` what it gives, `Key` what a record is resumed by. `index` reads records as columns
(`scan` a file of them), `merge` makes one run of several, `dataset` a Hugging Face data set of one.
"""

from harness.store.files import write_atomically
from harness.store.key import Key
from harness.store.manifest import Manifest
from harness.store.run import ARTIFACT_CAP_BYTES, GENERATIONS_NAME, MANIFEST_NAME, Run, open_run, run_folder, run_names

__all__ = [
    "ARTIFACT_CAP_BYTES",
    "GENERATIONS_NAME",
    "MANIFEST_NAME",
    "Key",
    "Manifest",
    "Run",
    "open_run",
    "run_folder",
    "run_names",
    "write_atomically",
]
