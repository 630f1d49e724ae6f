import io

import pytest
from rich.console import Console

from harness.report.text import one_line, report
from harness.schema import (
    Block,
    Device,
    Extraction,
    Failed,
    Flag,
    Infrastructure,
    Mismatch,
    Rejected,
    SandboxReport,
    SubmissionRef,
    Workload,
    Wrong,
)
from harness.schema.record import ToolReport

COMPILER = 'relu.py(14): error: identifier "blockIdxx" is undefined'
WRONG = Wrong(
    reason="values",
    detail="the output differs",
    trial="signed",
    mismatch=Mismatch(
        output="output[1]",
        elements=1 << 20,
        mismatched=12345,
        worst_index=(3, 17),
        actual="nan",
        expected=-1.25123,
        tolerance=0.00123,
    ),
)
VERDICTS = {
    "wrong": WRONG,
    "failed": Failed(stage="build", reason="compile", detail=COMPILER, log=f"{COMPILER}\n  blockIdxx.x"),
    "rejected": Rejected(rule="no-custom-kernel", detail="cuBLAS did it all"),
    "not judged": Infrastructure(detail="the device was lost"),
}


def response(**changes):
    blocks = (
        Block(index=0, language="cpp", first_line=3, lines=1, outcome="skipped", reason="defines no ModelNew"),
        Block(index=1, language="python", first_line=57, lines=40, outcome="taken"),
    )
    fields = {"policy": "last", "kind": "response", "truncated": True, "first_line": 57, "blocks": blocks}
    return SubmissionRef(
        path="a.txt", sha256="1" * 64, sample=2, model="gpt", extraction=Extraction(**(fields | changes))
    )


def shown(record, *, width=100, source=None) -> str:
    """The report as text, its white space made single, so that where a line wraps does not matter."""
    return " ".join(raw(record, width=width, source=source).split())


def raw(record, *, width=100, source=None, color=False) -> str:
    console = Console(
        file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False,
        force_terminal=color, color_system="standard" if color else None,
    )  # fmt: skip
    console.print(report(record, source=source))
    return console.file.getvalue()


def test_a_correct_record_shows_its_stages_speed_up_and_medians(make_record):
    text = shown(make_record(speedup=5.37))
    assert "level1/19_ReLU relu.txt by gpt on NVIDIA H200 (cuda)" in text
    assert "✓ build 1.72 s relu: slim, 1.7 s" in text
    assert "✓ run 0.35 s 12 calls compared" in text
    assert "✓ time 2.10 s 31 rounds of 12 calls" in text
    assert "CORRECT 5.37x [5.26, 5.48] faster than the reference" in text
    assert "0.1862 ms a call, the reference 1.000 ms (medians)" in text
    assert "error 3.1e-07, the reference's own 2.2e-07; 4% of the tolerance used" in text
    assert "isolated by" not in text, "what all have goes without saying"
    assert "by name" not in text
    assert "nothing told" not in text


def test_what_makes_a_correct_verdict_less_plain_is_said(make_record):
    record = make_record(speedup=5.37)
    error = record.verdict.error.model_copy(update={"oracle": "float64-rows"})
    changed = {"weights": "by-name", "left_out": ("signed", "wide"), "error": error}
    text = shown(record.model_copy(update={"verdict": record.verdict.model_copy(update=changed)}))
    assert "weights by name" in text
    assert "nothing told by signed, wide inputs" in text
    assert "the reference's own 2.2e-07 (float64-rows)" in text


@pytest.mark.parametrize(
    ("speedup", "words", "color"),
    [(2.0, "faster than", "32"), (0.5, "slower than", "31"), (1.0, "too close to call", None)],
)
def test_green_is_surely_faster_and_red_surely_slower(make_record, speedup, words, color):
    text = raw(make_record(speedup=speedup), color=True)
    line = next(line for line in text.splitlines() if "CORRECT" in line)
    figure = line.partition("CORRECT")[2]
    assert words in text
    assert [code for code in ("32", "31") if f";{code}m{speedup:.2f}x" in figure] == ([color] if color else [])


def test_a_mismatch_shows_how_many_where_both_values_and_the_tolerance(make_record):
    text = shown(make_record(verdict=WRONG))
    assert "✗ run" in text
    assert "WRONG values: the output differs on signed inputs" in text
    assert "12,345 of 1,048,576 elements of output[1] are out of tolerance (1.18%)" in text
    assert "worst at [3, 17]: got nan, expected -1.25123, allowed a difference of 0.00123" in text


def test_a_failed_build_shows_the_compilers_words(make_record):
    text = raw(make_record(verdict=VERDICTS["failed"], phases_s={"extract": 0.0, "build": 2.3}, builds=()))
    assert "✗  build    2.30 s" in text
    assert f" FAILED   at build, compile: {COMPILER}" in text
    assert "\n    blockIdxx.x " in text


def test_a_log_that_repeats_the_verdict_is_not_shown_twice(make_record):
    verdict = Failed(stage="load", reason="exception", detail="NameError: x", log="NameError: x\n")
    assert shown(make_record(verdict=verdict)).count("NameError") == 1


def test_a_long_log_keeps_its_head_and_its_tail(make_record):
    log = "\n".join(f"line {n} of the log" for n in range(1000))
    text = raw(make_record(verdict=Failed(stage="load", reason="exception", detail="d", log=log)))
    assert "line 0 of the log" in text
    assert "line 999 of the log" in text
    assert "... 960 lines left out ..." in text
    assert "line 500 of the log" not in text


def test_a_verdict_that_stock_was_asked_about_says_so(make_record):
    record = make_record()
    record = record.model_copy(update={"confirmed": "stock", "phases_s": {**record.phases_s, "confirm": 31.25}})
    assert "✓ confirm 31.25 s built by stock and judged again" in shown(record)


def test_a_stage_that_failed_before_its_time_was_taken_is_still_marked(make_record):
    text = shown(make_record(verdict=Failed(stage="screen", reason="syntax", detail="d"), phases_s={"extract": 0.1}))
    assert "✗ screen" in text


def test_where_nothing_was_found_every_block_says_why(make_record):
    verdict = Failed(stage="extract", reason="empty", detail="no block defines ModelNew")
    text = shown(make_record(verdict=verdict, submission=response(first_line=None), candidate=None))
    assert "line 3, 1 line of cpp: defines no ModelNew" in text


def test_an_extraction_says_which_block_and_that_the_response_breaks_off(make_record):
    assert "extract 0.00 s block 2 of 2, from line 57; the response breaks off" in shown(
        make_record(submission=response())
    )


def test_emulation_is_said_in_capitals_with_the_reduced_size(make_record):
    workload = Workload(settings={"batch_size": 4}, original={"batch_size": 4096}, reduced=True)
    device = Device(kind="cpu-emulated", name="AMD EPYC")
    text = shown(make_record(device=device, workload=workload, substitutions=("x.cuda() stays on the CPU",)))
    assert "EMULATED on the CPU: correctness only, reduced batch_size 4096 -> 4" in text
    assert "CORRECT not timed" in text
    assert "substituted x.cuda() stays on the CPU" in text


def test_a_size_that_the_user_set_is_said(make_record):
    workload = Workload(settings={"dim": 8, "n": 2}, original={"dim": 16, "n": 2})
    assert "Set dim 16 -> 8 ✓" in shown(make_record(workload=workload))


def test_flags_name_the_lines_of_the_submission(make_record):
    flags = (Flag(rule="timer", severity="warn", detail="touches the clock", lines=(1, 3)),)
    assert "warn timer touches the clock lines 57, 59" in shown(make_record(submission=response(), flags=flags))


def test_lines_of_the_source_are_those_of_python(make_record):
    flags = (Flag(rule="timer", severity="warn", detail="touches the clock", lines=(2,)),)
    text = raw(make_record(submission=response(), flags=flags), source="a = '\x1c'\r\nb = 2\r\n")
    assert "   58 b = 2\n" in text


def test_flags_show_the_lines_where_the_source_is_at_hand(make_record):
    flags = (Flag(rule="timer", severity="reject", detail="touches the clock", lines=(3, 99)),)
    text = raw(make_record(submission=response(), flags=flags), source="a = 1\nb = 2\n\tc = Event()\n")
    assert "    59     c = Event()\n" in text
    assert "155" not in text


def test_tools_say_what_they_found_with_the_lines_of_the_submission(make_record):
    tools = (
        ToolReport(tool="memcheck", clean=False, summary="write of 4 bytes", lines=(3,)),
        ToolReport(tool="racecheck", clean=True, summary="no findings"),
        ToolReport(tool="ncu", clean=False, ran=False, summary="not profiled"),
    )
    page = shown(make_record(submission=response(), tools=tools))
    assert "found memcheck write of 4 bytes line 59" in page
    assert "clean racecheck no findings" in page
    assert "no result ncu not profiled" in page


def test_missing_isolation_is_said(make_record):
    partial = SandboxReport(layers=("seccomp",), missing=("namespaces",))
    assert "isolated by seccomp missing namespaces" in shown(make_record(sandbox=partial))
    assert "isolation none" in shown(make_record(sandbox=SandboxReport()))


def test_a_rejected_and_an_unjudged_record_say_why(make_record):
    assert "REJECTED no-custom-kernel: cuBLAS did it all" in shown(make_record(verdict=VERDICTS["rejected"]))
    text = shown(make_record(verdict=VERDICTS["not judged"], phases_s={"extract": 0.0, "build": 1.0}))
    assert "✗ build" in text
    assert (
        "NOT JUDGED the device was lost (a fault of ours or of the machine: no score, a batch tries it again)" in text
    )


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("kind", VERDICTS)
def test_every_kind_of_report_fits_its_terminal(make_record, kind, width):
    text = raw(make_record(verdict=VERDICTS[kind], submission=response()), width=width)
    assert max(map(len, text.splitlines())) <= width


def test_a_candidate_cannot_steer_the_terminal(make_record):
    evil = "\x1b]0;owned\x07\r"
    records = [
        make_record(
            path=evil, model=evil, verdict=Failed(stage="load", reason="exception", detail=evil, log=f"x{evil}\n")
        ),
        make_record(path=evil, verdict=Wrong(reason="shape", detail=evil, trial=evil)),
        make_record(flags=(Flag(rule=evil, severity="warn", detail=evil, lines=(1,)),), substitutions=(evil,)),
    ]
    for record in records:
        text = raw(record, source=evil) + one_line(record)
        assert not {"\x1b", "\x07", "\r"} & set(text)
        assert "\\x1b]0;owned" in text


def test_one_line_is_one_line_with_the_verdict_first(make_record):
    assert one_line(make_record(speedup=5.37)) == "correct     level1/19_ReLU  relu.txt  5.37x [5.26, 5.48]"
    assert one_line(make_record(sample=3)) == "correct     level1/19_ReLU  relu.txt (sample 3)  not timed"
    for kind, verdict in VERDICTS.items():
        line = one_line(make_record(verdict=verdict))
        assert line.startswith(f"{kind:<10}  level1/19_ReLU")
        assert "\n" not in line


def test_one_line_shortens_what_is_long(make_record):
    line = one_line(make_record(verdict=Failed(stage="run", reason="exception", detail="word " * 100)))
    assert line.endswith("...")
    assert len(line) < 170


@pytest.mark.parametrize("width", [80, 60])
def test_a_line_that_is_too_long_loses_its_path_before_its_reason(make_record, width):
    verdict = Wrong(reason="values", detail="output: 5 of 9 differ", trial="normal")
    record = make_record("level2/81_Gemm_Swish", path="gpt/level_2_problem_81_sample_0_kernel.py", verdict=verdict)
    line = one_line(record, width=width)
    assert len(line) <= width
    assert line.startswith("wrong ")
    assert "values: output" in line
    assert "0_kernel.py" in line


def test_marks_are_words_where_the_encoding_has_no_signs(make_record):
    class Ascii(io.StringIO):
        encoding = "ascii"

    out = Ascii()
    Console(file=out, width=100).print(report(make_record(speedup=2.0)))
    assert "ok  build" in out.getvalue()


def test_a_traceback_ends_at_the_candidates_own_frames(make_record):
    log = """Traceback (most recent call last):
  File "/x/harness/worker/serve.py", line 435, in _blame
  File "/x/torch/nn/modules/module.py", line 1778, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
  File "/tmp/candidate.py", line 6, in forward
    return helper(x)
           ^^^^^^^^^
  File "/x/torch/functional.py", line 9, in linear
    boom
RuntimeError: no"""
    verdict = Failed(stage="run", reason="exception", detail="RuntimeError: no", log=log)
    text = shown(make_record(verdict=verdict))
    assert 'File "candidate.py", line 6, in forward return helper(x)' in text
    assert "serve.py" not in text
    assert "functional.py" not in text
    assert "RuntimeError: no" in text
