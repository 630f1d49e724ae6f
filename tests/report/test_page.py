"""The page as a file: what stands in it, and that nothing of it can be markup. test_page_in_browser.py opens it."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.report.escape import one_cell
from harness.report.judged import Judged
from harness.report.page import details, render
from harness.report.page.content import GRID, content
from harness.report.page.document import script_json
from harness.report.rows import leaderboard
from harness.schema import (
    Baseline,
    Conditions,
    Device,
    Failed,
    Flag,
    Infrastructure,
    Interval,
    Record,
    Roofline,
    SandboxReport,
    Workload,
)

MakeRecord = Callable[..., Record]

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<!-- <script>",
    "<img src=x onerror='window.hacked = 1'>",
    "line\u2028separator\u2029",
    "]]>&lt;&amp;",
    "\ud800 alone",
    "right\u202eto left\x00\x1b[31m",
)


def nothing(_run: str, _record: Record) -> dict[str, str]:
    return {}


class _Elements(HTMLParser):
    """The page as a browser's parser would cut it: elements with their attributes, and the text of some."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    loaded: dict[str, Any] = json.loads(found[1])
    return loaded


def unpacked(packed: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return loaded


def test_a_page_has_a_place_for_every_submission_in_each_of_its_columns(make_record: MakeRecord) -> None:
    records = [make_record(speedup=1.5), make_record("level2/76_Gemm", path="b"), make_record(path="c", model="other")]
    data = data_of(render({"a run": records}, nothing, title="T"))
    assert {len(column) for column in data["columns"].values()} == {3}
    assert {len(column) for column in data["speedups"]["eager"].values()} == {3}
    assert [data["groups"][group]["model"] for group in data["columns"]["group"]] == ["gpt", "gpt", "other"]
    assert [data["problems"][problem]["level"] for problem in data["columns"]["problem"]] == [
        "level1",
        "level2",
        "level1",
    ]
    assert len(data["details"]) == 3


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_ends_no_element_wherever_it_stands(make_record: MakeRecord, hostile: str) -> None:
    record = make_record(
        f"level1/{hostile}",
        path=hostile,
        model=hostile,
        verdict=Failed(stage="build", reason="compile", detail=hostile, log=hostile),
        flags=(Flag(rule=hostile, severity="warn", detail=hostile, lines=(1,)),),
        device=Device(kind="cuda", name=hostile),
    )
    page = render({hostile: [record]}, lambda _run, _record: {"candidate.py": hostile, hostile: hostile}, title=hostile)
    parsed = _Elements(page)
    tags = [tag for tag, _ in parsed.elements]
    assert tags.count("script") == 3
    assert "img" not in tags
    assert not any(name.startswith("on") for _, attributes in parsed.elements for name in attributes)
    data = data_of(page)
    assert data["groups"][0]["model"] == one_cell(hostile)
    kept = unpacked(data["details"][0])
    assert kept["record"]["verdict"]["log"] == kept["files"]["candidate.py"]
    assert page.encode()  # nothing in it that UTF-8 cannot say


@given(text=st.text(alphabet=st.characters(), max_size=60))
@settings(max_examples=200)
def test_json_in_a_script_element_reads_back_and_has_no_character_that_html_minds(text: str) -> None:
    written = script_json({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert written.isascii()
    assert not set(written) & set("<>&")


def test_the_policy_names_the_digest_of_each_script_and_style_and_allows_nothing_else(make_record: MakeRecord) -> None:
    page = render({"run": [make_record()]}, nothing, title="T")
    parsed = _Elements(page)
    policy = next(a["content"] for tag, a in parsed.elements if tag == "meta" and "http-equiv" in a) or ""
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    executed = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in executed]
    assert directives["default-src"] == "'none'"
    assert directives["script-src"].split() == digests
    assert directives["require-trusted-types-for"] == "'script'"
    assert not {"connect-src", "font-src", "frame-src"} & directives.keys()
    assert "unsafe" not in policy


def test_a_page_asks_for_nothing_from_anywhere(make_record: MakeRecord) -> None:
    parsed = _Elements(render({"run": [make_record()]}, nothing, title="T"))
    targets = [a.get(name) for _, a in parsed.elements for name in ("src", "href", "action") if name in a]
    assert set(targets) == {"data:,", "#leaderboard"}
    assert "sourceMappingURL" not in "".join(parsed.texts["script"])


def test_no_script_of_ours_or_of_a_library_could_end_its_element_or_open_a_comment() -> None:
    scripts = [each for folder in ("assets", "vendor") for each in (files("harness.report.page") / folder).iterdir()]
    assert len(scripts) > 10
    for script in (each for each in scripts if each.name.endswith(".js")):
        text = script.read_text(encoding="utf-8").lower()
        assert "</script" not in text, script.name
        assert "<!--" not in text, script.name


def test_our_scripts_make_no_markup_from_strings() -> None:
    for script in (files("harness.report.page") / "assets").iterdir():
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script.read_text()), (
            script
        )


def test_the_licences_of_the_libraries_stand_in_the_page(make_record: MakeRecord) -> None:
    text = "".join(_Elements(render({"run": [make_record()]}, nothing, title="T")).texts["pre"])
    assert "The MIT License" in text
    assert "Chart.js Contributors" in text
    assert "BSD 3-Clause License" in text


def test_what_is_vendored_is_in_the_package() -> None:
    patterns = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert "report/page/assets/*" in patterns
    assert "report/page/vendor/*" in patterns


def test_the_same_records_make_the_same_page(make_record: MakeRecord) -> None:
    def page() -> str:
        return render({"run": [make_record(speedup=2.0)]}, lambda _run, _record: {"candidate.py": "x = 1"}, title="T")

    assert page() == page()


def test_records_are_looked_at_once_as_they_come(make_record: MakeRecord) -> None:
    seen = []

    def records() -> Iterator[Record]:
        for sample in range(3):
            seen.append(sample)
            yield make_record(sample=sample)

    assert len(data_of(render({"run": records()}, nothing, title="T"))["details"]) == 3
    assert seen == [0, 1, 2]


def test_details_hold_the_whole_record_and_its_attachments(make_record: MakeRecord) -> None:
    record = make_record(speedup=2.0)
    packed = details.Packer().pack(record, {"candidate.py": "import torch\n", "build.log": "warning"})
    kept = unpacked(packed)
    assert Record.model_validate(kept["record"]) == record
    assert kept["files"] == {"build.log": "warning", "candidate.py": "import torch\n"}


def test_details_show_what_would_not_be_seen(make_record: MakeRecord) -> None:
    kept = unpacked(details.Packer().pack(make_record(model="a\u202eb"), {"candidate.py": "x\u200b = 1\r\n"}))
    assert kept["record"]["submission"]["model"] == r"a\u202eb"
    assert kept["files"]["candidate.py"] == "x\\u200b = 1\n"


def test_a_long_attachment_is_without_its_middle_and_says_so(make_record: MakeRecord) -> None:
    text = "a" * 40_000 + "b" * 40_000
    kept = unpacked(details.Packer().pack(make_record(), {"build.log": text}))["files"]["build.log"]
    assert "[... 16000 characters are left out of this page here ...]" in kept
    assert kept.startswith("aaa")
    assert kept.endswith("bbb")


@pytest.mark.parametrize(("limit", "value"), [("MAX_RECORDS", 2), ("MAX_BYTES", 1500)])
def test_a_full_page_keeps_every_row_and_asks_for_no_further_attachments(
    make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(details, limit, value)
    asked = []

    def attachments(_run: str, record: Record) -> Mapping[str, str]:
        asked.append(record.submission.sample)
        return {}

    data = data_of(render({"run": [make_record(sample=each) for each in range(6)]}, attachments, title="T"))
    assert len(data["columns"]["path"]) == 6
    assert len(data["details"]) == len(asked) < 6
    assert asked == list(range(len(asked)))


def test_the_leaderboard_is_that_of_rows(make_record: MakeRecord) -> None:
    records = [make_record(f"level1/{n}_x", path=str(n), speedup=speedup) for n, speedup in enumerate((0.5, 1.5, 3.0))]
    row = content({"run": records}, nothing, title="T")["rows"][0]  # type: ignore[index]
    expected = leaderboard({"run": records}, ps=GRID).rows[0]
    assert row["correct_rate"] == expected.correct_rate
    assert row["curve"] == pytest.approx([expected.fast(p) for p in GRID], abs=1e-5)
    assert row["geomean"]["value"] == pytest.approx(expected.geomean.value, rel=1e-5)  # type: ignore[union-attr]
    assert [each["p"] for each in row["fast"]] == [0, 1, 2]


def test_what_else_a_run_asked_counts_on_the_page_too(make_record: MakeRecord) -> None:
    records = [make_record("level1/1_a", speedup=2.0)]
    judged = Judged.of(records, problems=["level1/1_a", "level1/2_b"])
    row = content({"run": records}, nothing, title="T", judged={"run": judged})["rows"][0]  # type: ignore[index]
    assert (row["problems"], row["unanswered"], row["correct_rate"]) == (2, 1, 0.5)


def test_each_level_has_figures_of_its_own(make_record: MakeRecord) -> None:
    records = [make_record("level1/1_a", speedup=2.0), make_record("level2/1_b", path="b", speedup=0.5)]
    row = content({"run": records}, nothing, title="T")["rows"][0]  # type: ignore[index]
    fast_1 = {level["level"]: level["fast"][1]["value"] for level in row["levels"]}
    assert fast_1 == {"level1": 1.0, "level2": 0.0}


def test_speedups_over_each_reference_stand_apart(make_record: MakeRecord) -> None:
    record = make_record(speedup=2.0)
    assert record.timing
    compiled = Baseline(
        name="compile", reference_ms=0.7, speedup=Interval(value=1.4, low=1.3, high=1.5), conclusion="faster"
    )
    both = record.model_copy(update={"timing": record.timing.model_copy(update={"baselines": (compiled,)})})
    speedups = data_of(render({"run": [record, both]}, nothing, title="T"))["speedups"]
    assert speedups["eager"]["value"] == [2.0, 2.0]
    assert speedups["compile"]["value"] == [None, 1.4]
    assert speedups["compile"]["conclusion"] == [None, "faster"]


def test_emulation_says_nothing_about_time(make_record: MakeRecord) -> None:
    device = Device(kind="cpu-emulated", name="a CPU")
    data = data_of(render({"run": [make_record(speedup=2.0, device=device)]}, nothing, title="T"))
    assert data["speedups"] == {}
    assert data["rows"][0]["curve"] is None
    assert data["columns"]["marks"] == ["emulated"]


def test_a_number_that_is_none_is_left_out(make_record: MakeRecord) -> None:
    data = data_of(render({"run": [make_record(speedup=float("inf"))]}, nothing, title="T"))
    assert data["speedups"] == {}
    assert data["columns"]["verdict"] == ["correct"]


def test_what_qualifies_a_submission_is_marked(make_record: MakeRecord) -> None:
    record = make_record(
        speedup=2.0,
        workload=Workload(settings={"n": 2}, original={"n": 4}, reduced=True),
        sandbox=SandboxReport(),
        audit=(Flag(rule="zeros-pass", severity="warn", detail="zeros pass"),),
    )
    assert record.timing
    conditions = Conditions(
        samples=3, sm_mhz=1, sm_mhz_lowest=1, sm_mhz_highest=1, memory_mhz=1, temperature_c=1, power_w=1, disturbed=True
    )
    record = record.model_copy(update={"timing": record.timing.model_copy(update={"conditions": conditions})})
    data = data_of(render({"run": [record]}, nothing, title="T"))
    assert data["columns"]["marks"] == ["reduced, unisolated, audited, disturbed"]


@pytest.mark.parametrize(("flops", "bound"), [(1_000, "memory"), (10**13, "compute")])
def test_the_roofline_says_what_binds(make_record: MakeRecord, flops: int, bound: str) -> None:
    moving_ms, computing_ms = 2e9 / 4e12 * 1e3, flops / 500e12 * 1e3
    roofline = Roofline(
        bytes_read=10**9, bytes_written=10**9, flops=flops, bandwidth_gb_s=4000, matrix_tflops=500,
        floor_ms=max(moving_ms, computing_ms), write_floor_ms=0.25, fraction=0.5,
    )  # fmt: skip
    data = data_of(render({"run": [make_record(speedup=1.0, roofline=roofline)]}, nothing, title="T"))
    assert data["columns"]["bound"] == [bound]


def test_a_fault_of_ours_is_told_and_scores_nobody(make_record: MakeRecord) -> None:
    records = [make_record(verdict=Infrastructure(detail="the disk is full")), make_record(path="b", speedup=2.0)]
    data = data_of(render({"run": records}, nothing, title="T"))
    assert data["columns"]["verdict"] == ["infrastructure", "correct"]
    assert (data["rows"][0]["submissions"], data["rows"][0]["unjudged"]) == (1, 1)


def test_a_page_of_nothing_can_be_made() -> None:
    data = data_of(render({"run": []}, nothing, title="T"))
    assert data["rows"] == []
    assert data["details"] == []


def test_what_was_never_built_stands_in_the_row_that_counts_it(make_record: MakeRecord) -> None:
    emulated, cpu = Device(kind="cpu-emulated", name="a CPU"), Device(kind="cpu", name="a CPU")
    empty = Failed(stage="extract", reason="empty", detail="nothing")
    records = [make_record(path="a", device=emulated), make_record("level1/2_B", path="b", device=cpu, verdict=empty)]
    found = content({"r": records}, nothing, title="t")
    assert len(found["rows"]) == 1
    assert set(found["columns"]["group"]) == {found["rows"][0]["group"]}
