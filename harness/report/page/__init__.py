"""The page: records -> one self-contained HTML file that needs no network. Pure: nothing is read or written here.

from harness.report.page import render
html = render({run.name: run.records()}, lambda name, record: ..., title="h200-documents")
"""

import html
from collections.abc import Callable, Iterable, Mapping

from harness.schema import Record

Attachments = Callable[[str, Record], Mapping[str, str]]


def render(runs: Mapping[str, Iterable[Record]], attachments: Attachments, *, title: str) -> str:
    """The records of `runs` (name -> records, as `rows.leaderboard` takes them) as one HTML file.

    Each record is looked at once, so they may be read as they go.

    Args:
        attachments: run's name and record -> file name -> text ("candidate.py", "build.log", ...); asked only for
            those records whose details have a place on the page.
        title: the page's heading.
    """
    count = sum(1 for records in runs.values() for _ in records)
    return f"<!doctype html><title>{html.escape(title)}</title><p>{count} records"
