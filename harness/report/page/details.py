"""The details of one submission, packed so that many fit into one page."""

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass

from harness.report.escape import plain
from harness.schema import Record

# What a page stays mailable and quick to open with; a submission takes about 3 kB of it.
MAX_RECORDS = 1000
MAX_BYTES = 12 << 20
MAX_CHARACTERS = 64_000


@dataclass
class Packer:
    """Packs details until the page is full; from then on `full` is true and nothing more is packed."""

    records: int = 0
    size: int = 0

    @property
    def full(self) -> bool:
        return self.records >= MAX_RECORDS or self.size >= MAX_BYTES

    def pack(self, record: Record, files: Mapping[str, str]) -> str:
        """The record and its attachments as base64 of gzip of JSON: {"record": ..., "files": {name: text}}.

        Every text is as `escape.plain` leaves it: what would not be seen, or would turn the direction of writing, is
        shown as its escape. One longer than MAX_CHARACTERS is without its middle, and says so.
        """
        content = {
            "record": _plain_tree(record.model_dump(mode="json")),
            "files": {plain(name): _shortened(plain(text)) for name, text in sorted(files.items())},
        }
        # ensure_ascii, because a lone surrogate (a file name of stray bytes) can be said in JSON but not in UTF-8.
        text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
        packed = base64.b64encode(gzip.compress(text.encode("ascii"), compresslevel=9, mtime=0)).decode("ascii")
        self.records += 1
        self.size += len(packed)
        return packed


def _plain_tree(value: object) -> object:
    match value:
        case str():
            return plain(value)
        case dict():
            return {plain(key): _plain_tree(item) for key, item in value.items()}
        case list():
            return [_plain_tree(item) for item in value]
        case _:
            return value


def _shortened(text: str) -> str:
    left_out = len(text) - MAX_CHARACTERS
    if left_out <= 0:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}\n[... {left_out} characters are left out of this page here ...]\n{text[-half:]}"
