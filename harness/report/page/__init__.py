"""The page: records -> one self-contained HTML file that needs no network. Pure: nothing is written here.

    harness leaderboard RUN... --format html -o page.html

`content` makes plain data of the records, `details` packs what a reader sees of one submission, `document` puts data,
scripts and styles (`assets/`) and the vendored libraries (`vendor/`) into one file.
"""

from collections.abc import Iterable, Mapping

from harness.report.page.content import Attachments, content
from harness.report.page.document import document
from harness.schema import Record

__all__ = ["Attachments", "render"]


def render(runs: Mapping[str, Iterable[Record]], attachments: Attachments, *, title: str) -> str:
    """The records of `runs` (name -> records, as `rows.leaderboard` takes them) as one HTML file.

    Each record is looked at once and not kept, so they may be read as they go.

    Args:
        attachments: run's name and record -> file name -> text ("candidate.py", "build.log", ...); asked only for
            the records whose details have a place on the page, which are the first ones (see `details`).
        title: the page's heading.
    """
    return document(content(runs, attachments, title=title), title=title)
