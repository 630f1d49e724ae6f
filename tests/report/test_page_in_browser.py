"""The page in a real Chromium: it loads without a complaint, sorts, filters, opens a cell, and hostile text is text."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.report.page import details, render
from harness.schema import Baseline, Device, Failed, Flag, Interval, Kernel, Mismatch, Profile, Record, Roofline, Wrong

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.chrome.service import Service  # noqa: E402 (after the skip)
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

MakeRecord = Callable[..., Record]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
CHROMEDRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and CHROMEDRIVER),
    reason="no Chromium with its chromedriver: apt-get install chromium chromium-driver",
)

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><!--"
SOURCE = f'''\
import torch
kernels = """
#include <torch/extension.h>
__global__ void relu(const float* in, float* out) {{ out[threadIdx.x] = fmaxf(in[threadIdx.x], 0.0f); }}
"""
# {HOSTILE}
class ModelNew(torch.nn.Module):
    pass
'''


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    # No sandbox, because it cannot be had as root in a container; what is opened is our own page.
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,900",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
    yield driver
    driver.quit()


class Page:
    """What a reader does with a page."""

    def __init__(self, driver: Any, path: Path) -> None:
        self.driver = driver
        self.path = path
        self.go("")

    def go(self, fragment: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(f"file://{self.path}{fragment}")

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return found

    def one(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return [each.text for each in self.all(selector)]

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def wait(self, script: str) -> None:
        WebDriverWait(self.driver, 20, poll_frequency=0.05).until(
            lambda driver: driver.execute_script(f"return {script}")
        )

    def open(self, submission: int) -> str:
        """Opens the details of a submission; their text."""
        self.run("location.hash = arguments[0]", f"#submission-{submission}")
        self.wait("document.querySelector('#detail-body section') !== null")
        text: str = self.one("#detail").text
        return text

    def choose(self, label: str, value: str) -> None:
        field = next(each for each in self.all("label.field") if each.text.startswith(label))
        select = field.find_element(By.TAG_NAME, "select")
        self.run("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))", select, value)


OpenPage = Callable[..., Page]


@pytest.fixture(name="open_page")
def open_page_fixture(browser: Any, tmp_path: Path) -> OpenPage:
    def open_page(records: list[Record], attachments: dict[str, str] | None = None) -> Page:
        browser.get_log("browser")  # what an earlier page said
        path = tmp_path / "page.html"
        page = render({"a run": records}, lambda _run, _record: attachments or {"candidate.py": SOURCE}, title="A run")
        path.write_text(page, encoding="utf-8")
        return Page(browser, path)

    return open_page


@pytest.fixture(name="records")
def records_fixture(make_record: MakeRecord) -> list[Record]:
    """Two models, three problems; the second model is faster."""
    roofline = Roofline(
        bytes_read=10**9, bytes_written=10**9, flops=10**6, bandwidth_gb_s=4000, matrix_tflops=700, floor_ms=0.5,
        write_floor_ms=0.25, fraction=0.6,
    )  # fmt: skip
    mismatch = Mismatch(
        output="output", elements=1000, mismatched=10, worst_index=(3, 4), actual=1.5, expected=0.25, tolerance=1e-4
    )
    wrong = Wrong(reason="values", detail="many differ", trial="signed", mismatch=mismatch)
    failed = Failed(stage="build", reason="compile", detail="an error", log="candidate.py:4: error: no such name")
    flag = Flag(rule="side-stream", severity="warn", detail="makes a stream", lines=(4,))
    kernels = (Kernel(name="relu(float const*)", origin="candidate", ms=0.2, launches=1),)
    profile = Profile(device_ms=0.25, custom_kernel_share=0.8, kernels=kernels)
    compiled = Baseline(
        name="compile", reference_ms=0.9, speedup=Interval(value=2.7, low=2.6, high=2.8), conclusion="faster"
    )
    fast = make_record("level1/9_b", path="fast/9.txt", model="fast", speedup=3.0, roofline=roofline, profile=profile)
    assert fast.timing
    fast = fast.model_copy(update={"timing": fast.timing.model_copy(update={"baselines": (compiled,)})})
    return [
        make_record("level1/19_a", path="slow/19.txt", model="slow", speedup=0.5, roofline=roofline),
        make_record("level1/9_b", path="slow/9.txt", model="slow", verdict=wrong, flags=(flag,)),
        make_record("level2/1_c", path="slow/1.txt", model="slow", verdict=failed),
        make_record("level1/19_a", path="fast/19.txt", model="fast", speedup=2.0),
        fast,
        make_record("level2/1_c", path="fast/1.txt", model="fast", verdict=failed),
    ]


def test_it_loads_without_a_complaint_and_asks_for_nothing(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    assert page.complaints() == []
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    assert page.texts("#leaderboard-body tbody .open") == ["fast", "slow"]
    assert page.one("#summary").text.startswith("6 submissions to 3 problems by 2 models on cuda: NVIDIA H200.")


def test_a_heading_sorts_one_way_then_the_other_then_not_at_all(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    heading = page.one("#submissions-body thead th:nth-child(1)")
    seen = []
    for _ in range(4):
        seen.append((heading.get_attribute("aria-sort"), page.texts("#submissions-body tbody .open")[0]))
        heading.find_element(By.TAG_NAME, "button").click()
    assert [way for way, _ in seen] == ["none", "ascending", "descending", "none"]
    # By the numbers in the names: 9 before 19.
    assert [first.split()[0].rstrip(",") for _, first in seen[:3]] == ["level1/9_b", "level1/9_b", "level2/1_c"]


def test_numbers_sort_from_the_largest_and_those_without_one_come_last(
    open_page: OpenPage, records: list[Record]
) -> None:
    page = open_page(records)
    page.one("#submissions-body thead th:nth-child(5) button").click()
    shown = [text.split("\n")[0] for text in page.texts("#submissions-body tbody td:nth-child(5)")]
    assert shown == ["3.00x", "2.00x", "0.50x", "-", "-", "-"]
    page.one("#submissions-body thead th:nth-child(5) button").click()
    assert page.one("#submissions-body tbody td:nth-child(5)").text.startswith("0.50x")


def test_a_level_changes_the_leaderboard_the_matrix_and_the_submissions(
    open_page: OpenPage, records: list[Record]
) -> None:
    page = open_page(records)
    assert [row.split()[-1] for row in page.texts("#leaderboard-body .status")] == ["rows"]
    page.choose("level", "level1")
    correct = [cell.text for cell in page.all("#leaderboard-body tbody td:nth-child(6)")]
    assert [each.split("\n")[0] for each in correct] == ["1.00", "0.50"]
    assert page.texts("#matrix-body tbody th") == ["level1/9_b", "level1/19_a"]
    assert page.one("#submissions-body .status").text == "4 submissions"


def test_a_model_can_be_looked_at_alone(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    page.choose("model", "slow")
    assert page.texts("#leaderboard-body tbody .open") == ["slow"]
    assert page.texts("#leaderboard-body tbody td:nth-child(1)") == ["2"]
    assert page.one("#submissions-body .status").text == "3 submissions"


def test_another_reference_changes_every_speedup(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    page.choose("reference", "compile")
    assert page.texts("#leaderboard-body tbody .open") == ["fast"]
    assert [each for each in page.texts(".matrix button") if "x" in each] == ["2.70x"]


@pytest.mark.parametrize(
    ("words", "verdict", "expected"),
    [("", "wrong", 1), ("fast 19", "", 1), ("an error", "failed", 2), ("nowhere", "", 0)],
)
def test_submissions_are_found_by_words_and_verdict(
    open_page: OpenPage, records: list[Record], words: str, verdict: str, expected: int
) -> None:
    page = open_page(records)
    page.one("input[type=search]").send_keys(words)
    page.choose("verdict", verdict)
    assert page.one("#submissions-body .status").text == (
        "1 submission" if expected == 1 else f"{expected} submissions"
    )


def test_a_cell_opens_by_keyboard_and_escape_leads_back_to_it(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    first = page.one('.matrix button[tabindex="0"]')
    assert page.all('.matrix button[tabindex="0"]') == [first]
    page.run("arguments[0].focus()", first)
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    focused = page.driver.switch_to.active_element
    assert focused.get_attribute("aria-label") == "level1/19_a, slow, correct, 0.50x as fast as the reference"
    focused.send_keys(Keys.ENTER)
    page.wait("document.querySelector('#detail-body .code') !== null")
    assert page.run("return document.getElementById('detail').contains(document.activeElement)")
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    page.wait("!document.getElementById('detail').open")
    assert page.driver.switch_to.active_element == focused
    assert page.complaints() == []


def test_details_say_how_a_wrong_answer_is_wrong_and_which_lines_are_meant(
    open_page: OpenPage, records: list[Record]
) -> None:
    page = open_page(records)
    text = page.open(1)
    for fact in ("10 of 1,000 elements of output (1%)", "[3, 4]", "1.5", "0.25", "signed inputs", "makes a stream"):
        assert fact in text
    assert page.texts("#detail .line.marked") == [page.texts("#detail .line")[3]]
    page.one("#detail .to-line").click()
    assert page.driver.switch_to.active_element.get_attribute("id") == "candidate-4"


def test_details_show_times_with_their_intervals_samples_roofline_and_profile(
    open_page: OpenPage, records: list[Record]
) -> None:
    page = open_page(records)
    text = page.open(4)
    for fact in (
        "3.00x [2.94, 3.06]",
        "torch.compile",
        "2.70x",
        "[2.60, 2.80]",
        "60%",
        "4,000 GB/s",
        "relu(float const*)",
    ):
        assert fact in text
    assert "candidate 0.3333 ms" in page.one("#detail canvas").get_attribute("aria-label")
    assert page.complaints() == []


def test_a_failed_build_shows_its_log(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records, {"candidate.py": SOURCE, "build.log": "candidate.py:4: error: no such name\n"})
    text = page.open(2)
    assert "build.log (1 line)" in text
    assert page.one("#log-build-log-1").text == "candidate.py:4: error: no such name"


def test_cuda_in_a_python_string_is_coloured_as_cuda(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    page.open(0)
    keywords = page.texts("#candidate-4 .hl-keyword")
    assert "__global__" in keywords
    source = page.run("return [...document.querySelectorAll('#detail .code')][0].textContent")
    assert source.replace("flagged, side-stream: ", "") == SOURCE


def test_hostile_text_is_text(open_page: OpenPage, make_record: MakeRecord) -> None:
    failed = Failed(stage="build", reason="compile", detail=HOSTILE, log=HOSTILE)
    flag = Flag(rule=HOSTILE, severity="warn", detail=HOSTILE, lines=(1,))
    record = make_record(f"level1/{HOSTILE}", path=HOSTILE, model=HOSTILE, verdict=failed, flags=(flag,))
    page = open_page([record], {"candidate.py": SOURCE, "submission.txt": HOSTILE, HOSTILE: HOSTILE})
    assert HOSTILE in page.one("#leaderboard-body tbody th").text
    assert HOSTILE in page.one("#submissions-body tbody").text
    assert HOSTILE in page.one("#matrix-body thead").get_attribute("textContent")
    page.run("document.querySelector('#leaderboard-body .open').click()")
    assert page.one("#detail-title").text == HOSTILE
    page.one("#detail-close").click()
    assert page.open(0).count(HOSTILE) >= 5
    assert f"# {HOSTILE}" in page.one("#candidate-6").text
    assert page.run("return window.hacked") is None
    assert page.all("img") == []
    assert page.complaints() == []


def test_details_that_are_opened_before_the_last_are_seen_to_close_stay(
    open_page: OpenPage, records: list[Record]
) -> None:
    page = open_page(records)
    page.open(0)
    page.run(
        "document.querySelector('#detail').close(); document.querySelector('#submissions-body tbody .open').click()"
    )
    page.driver.execute_async_script("setTimeout(arguments[0], 200)")  # the event comes meanwhile
    page.wait("document.querySelector('#detail-body section') !== null")
    assert page.run("return document.querySelector('#detail').open")
    assert "submission=" in page.run("return location.hash")


def test_previous_and_next_go_through_the_rows_as_they_are_sorted(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    page.one("#submissions-body thead th:nth-child(5) button").click()
    page.one("#submissions-body tbody .open").click()
    assert not page.one("#detail-previous").is_enabled()
    page.one("#detail-next").click()
    page.wait("document.querySelector('#detail-body section') !== null")
    assert "fast/19.txt" in page.one("#detail .what").text


def test_an_address_names_a_submission(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    page.go("#submission-3")
    page.wait("document.querySelector('#detail-body section') !== null")
    assert "fast/19.txt" in page.one("#detail .what").text
    page.one("#detail-close").click()
    page.wait("location.hash === ''")
    page.go("#submission-99")
    assert not page.run("return document.getElementById('detail').open")


def test_every_chart_says_in_words_what_it_shows(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    labels = [canvas.get_attribute("aria-label") for canvas in page.all("#charts-body canvas")]
    assert [label.partition(".")[0] for label in labels] == [
        "fast_p: correct and p times as fast", "Speed-ups of the correct", "Distance to the roofline",
    ]  # fmt: skip
    assert "3 correct and timed submissions on cuda: NVIDIA H200: 2 faster" in labels[1]
    assert len(page.all("#charts-body figure table caption")) == 3
    assert page.run("return [...document.querySelectorAll('#charts-body canvas')].every((each) => each.width > 200)")


def test_a_point_of_the_roofline_opens_its_submission(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    x, y, width, height = page.run("""
        const canvas = document.querySelectorAll("#charts-body canvas")[2];
        canvas.scrollIntoView({ block: "center" });
        const { x, y } = Chart.getChart(canvas).getDatasetMeta(0).data[0];
        return [x, y, canvas.clientWidth, canvas.clientHeight];
    """)
    canvas = page.all("#charts-body canvas")[2]
    offset = (round(x - width / 2), round(y - height / 2))
    webdriver.ActionChains(page.driver).move_to_element_with_offset(canvas, *offset).click().perform()
    assert page.one("#detail-title").text in ("level1/19_a", "level1/9_b")


def test_what_was_not_timed_stays_under_every_reference(
    open_page: OpenPage, records: list[Record], make_record: MakeRecord
) -> None:
    emulated = make_record(path="e", model="emulated", device=Device(kind="cpu-emulated", name="a CPU"))
    page = open_page([*records, emulated])
    page.choose("reference", "compile")
    assert page.texts("#leaderboard-body tbody .open") == ["fast", "emulated"]
    assert "Nothing" not in page.one("#charts-body").text


def test_a_row_with_nothing_correct_is_behind_one_that_is_correct_without_times_at_every_level(
    open_page: OpenPage, make_record: MakeRecord
) -> None:
    wrong = Wrong(reason="values", detail="off", trial="signed")
    emulated = Device(kind="cpu-emulated", name="a CPU")
    titles = ("level1/1_A", "level2/1_B")
    records = [make_record(title, path=f"w{title}", model="wrong", verdict=wrong) for title in titles]
    records += [make_record(title, path=f"e{title}", model="correct", device=emulated) for title in titles]
    page = open_page(records)
    assert page.texts("#leaderboard-body tbody .open") == ["correct", "wrong"]
    page.choose("level", "level2")
    assert page.texts("#leaderboard-body tbody .open") == ["correct", "wrong"]


def test_everything_has_a_name(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    page.open(1)
    unnamed = page.run("""
        const named = (each) => each.textContent.trim() || each.getAttribute("aria-label") || each.labels?.length;
        return [...document.querySelectorAll("button, select, input, table, canvas, [role=region]")]
            .filter((each) => each.tagName === "TABLE" ? !each.caption : !named(each)).map((each) => each.outerHTML);
    """)
    assert unnamed == []
    ids = page.run("return [...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))


def test_the_theme_follows_the_system_until_one_is_chosen(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    background = "return getComputedStyle(document.documentElement).backgroundColor"
    prefer = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    light = page.run(background)
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", prefer)
    try:
        dark = page.run(background)
        page.one("#theme").click()
        assert page.one("#theme").text == "Theme: light"
        chosen = page.run(background)
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        page.run("localStorage.clear()")
    assert dark != light
    assert chosen == light


LONG_NAME = "some-laboratory/Coder-480B-A35B-Instruct-kernel-rl-step-12000-best-of-64-temperature-0.7"


def test_a_long_name_keeps_its_colour_in_a_legend(
    open_page: OpenPage, records: list[Record], make_record: MakeRecord
) -> None:
    page = open_page([*records, make_record("level1/19_a", path="long.txt", model=LONG_NAME, speedup=1.5)])
    legends = page.run(
        "return [...document.querySelectorAll('.charts canvas')].map(canvas => Chart.getChart(canvas))"
        ".map(chart => ({items: chart.legend.legendItems.map(item => item.text),"
        " inside: chart.legend.legendHitBoxes.every(box => box.left >= 0 && box.left + box.width <= chart.width)}))"
    )
    assert "some-laboratory/Co…mperature-0.7" in legends[0]["items"]
    assert {"slow", "fast"} < set(legends[0]["items"])
    assert all(legend["inside"] for legend in legends)


def test_a_phone_scrolls_in_one_direction(open_page: OpenPage, records: list[Record], make_record: MakeRecord) -> None:
    page = open_page([*records, make_record("level1/19_a", path="long.txt", model=LONG_NAME, speedup=1.5)])
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        page.go("")
        assert page.run("return document.documentElement.scrollWidth") <= 390
        page.open(4)
        assert page.run("return document.documentElement.scrollWidth") <= 390
        assert page.run(
            "const body = document.getElementById('detail-body'); return body.scrollWidth <= body.clientWidth"
        )
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_what_has_no_room_for_details_says_so(
    open_page: OpenPage, records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(details, "MAX_RECORDS", 2)
    page = open_page(records)
    assert "of the first 2 submissions" in page.one("#summary").text
    page.run("location.hash = '#submission-5'")
    page.wait("document.getElementById('detail').open")
    assert "details of its first 2 submissions" in page.one("#detail").text
    assert "at build, compile: an error" in page.one("#detail").text


def test_many_submissions_are_shown_a_page_at_a_time(open_page: OpenPage, make_record: MakeRecord) -> None:
    records = [make_record(f"level1/{n}_x", path=f"{n}.txt", speedup=1 + n / 100) for n in range(120)]
    page = open_page(records)
    status = page.one("#submissions-body .status")
    assert status.text == "1 to 50 of 120 submissions"
    following = page.all("#submissions-body .pager button")[1]
    following.click()
    following.click()
    assert status.text == "101 to 120 of 120 submissions"
    assert len(page.all("#submissions-body tbody tr")) == 20
    assert not following.is_enabled()
    assert len(page.all("#matrix-body tbody tr")) == 60


def test_a_page_of_nothing_loads(open_page: OpenPage) -> None:
    page = open_page([])
    assert page.complaints() == []
    assert "No row is in this selection." in page.one("#leaderboard-body").text


def test_filters_stand_in_the_address_and_are_found_again(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    page.choose("model", "fast")
    page.choose("verdict", "failed")
    fragment = page.run("return location.hash")
    assert "model=fast" in fragment
    assert "verdict=failed" in fragment
    page.go(fragment)
    assert page.texts("#submissions-body tbody .open") == ["level2/1_c\n, fast/1.txt"]


def test_a_submission_keeps_its_address_in_another_page(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    page.open(3)
    page.wait("location.hash.startsWith('#submission=')")
    fragment = page.run("return location.hash")
    other = open_page(records[2:])
    other.go(fragment)
    other.wait("document.querySelector('#detail-body section') !== null")
    assert "fast/19.txt" in other.one("#detail .what").text


def test_two_answers_to_a_problem_are_laid_side_by_side_with_what_differs(
    open_page: OpenPage, records: list[Record]
) -> None:
    page = open_page(records)
    text = page.open(0)
    assert "All answers to this problem" in text
    next(each for each in page.all("#detail-body button") if each.text == "Compare").click()
    page.wait("document.querySelector('#detail-body').textContent.includes('What differs in their sources')")
    assert "Both have the same source." in page.one("#detail-body").text


def test_a_submission_has_one_thing_that_scrolls(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    page.open(0)
    scrolling = page.run("""
        return [...document.querySelectorAll('*')].filter((each) => {
            const { overflowY } = getComputedStyle(each);
            return each.scrollHeight > each.clientHeight + 1 && ['auto', 'scroll'].includes(overflowY);
        }).map((each) => each.id || each.className);
    """)
    assert scrolling in (["detail-body"], [])
    assert page.run("return getComputedStyle(document.documentElement).overflow") == "hidden"


def test_code_is_searched_where_that_is_asked_for(open_page: OpenPage, records: list[Record]) -> None:
    page = open_page(records)
    page.one("#submissions-body input[type=search]").send_keys("fmaxf")
    assert page.all("#submissions-body tbody .open") == []
    page.one("#submissions-body input[type=checkbox]").click()
    page.wait("document.querySelectorAll('#submissions-body tbody .open').length === 6")
