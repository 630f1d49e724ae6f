"""The page: records -> one self-contained HTML file that needs no network. Pure: nothing is written here.

    harness leaderboard RUN... --format html -o page.html

`content` makes plain data of the records, `details` packs what a reader sees of one submission, `document` puts data,
scripts and styles (`assets/`) and the vendored libraries (`vendor/`) into one file.
"""

from collections.abc import Iterable, Mapping

from harness.report.judged import Judged
from harness.report.page.content import Attachments, Reference, content
from harness.report.page.document import document
from harness.schema import Record

__all__ = ["Attachments", "Reference", "render"]


def render(
    runs: Mapping[str, Iterable[Record]],
    attachments: Attachments,
    *,
    title: str,
    judged: Mapping[str, Judged] | None = None,
    reference: Reference = lambda record: "",
) -> str:
    """The records of `runs` (name -> records) as one HTML file.

    Each record is looked at once and not kept, so they may be read as they go.

    Args:
        attachments: run's name and record -> file name -> text ("candidate.py", "build.log", ...); asked only for
            the records whose details have a place on the page, which are the first ones (see `details`).
        title: the page's heading.
        judged: by run, what the leaderboard is made of, where that is more than these records say by themselves:
            problems without an answer, filtered verdicts.
        reference: the source of the problem that a record answers, to stand beside the answer; may be empty.
    """
    made = content(runs, attachments, title=title, judged=judged, reference=reference)
    return document(made, title=title)
