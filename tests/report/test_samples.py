import csv
import io

from harness.report.samples import samples_csv
from harness.schema import Device, Failed


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_every_submission_is_a_line_with_its_verdict_and_its_times(make_record):
    failed = Failed(stage="build", reason="compile", detail="=1+1, on\ntwo lines")
    lines = read(samples_csv({"r": [make_record(path="a", speedup=2.0), make_record(path="b", verdict=failed)]}))
    assert [(each["submission"], each["verdict"], each["speedup"]) for each in lines] == [
        ("a", "correct", "2.0"),
        ("b", "failed", ""),
    ]
    assert (lines[0]["candidate_ms"], lines[0]["reference_ms"]) == ("0.5", "1.0")
    assert (lines[1]["stage"], lines[1]["reason"]) == ("build", "compile")
    assert not lines[1]["detail"].startswith("=")


def test_nothing_is_said_about_the_speed_of_what_ran_emulated(make_record):
    emulated = Device(kind="cpu-emulated", name="a CPU")
    [line] = read(samples_csv({"r": [make_record(speedup=2.0, device=emulated)]}))
    assert line["speedup"] == ""
