import datasets
import pyarrow.parquet
import pytest
import yaml

from harness.errors import MachineError, StoreError
from harness.schema import Failed, Flag, Interval, Record, Rejected, Timing, Wrong
from harness.store import dataset as store_dataset
from harness.store.dataset import write_dataset


@pytest.fixture
def records(make_record):
    speedup = Interval(value=2.0, low=1.9, high=2.1)
    timing = Timing(
        candidate_ms=0.5, reference_ms=1.0, speedup=speedup, conclusion="faster", rounds=1, calls_per_round=1
    )
    return [
        make_record("a.py", timing=timing, flags=(Flag(rule="no-kernel", severity="warn", detail="d"),)),
        make_record("b.py", verdict=Wrong(reason="values", detail="off by one", trial="normal")),
        make_record("c.py", verdict=Failed(stage="build", reason="compile", detail="no")),
        make_record("d.py", verdict=Rejected(rule="clock", detail="no")),
        make_record("e.py", kind="infrastructure"),
    ]


@pytest.fixture
def folder(tmp_path, records):
    table = pyarrow.table({"rank": [1], "model": ["gpt"]})
    pyarrow.parquet.write_table(table, tmp_path / "board")
    written = write_dataset(
        records,
        lambda record: {"candidate.py": "import torch", "submission.txt": "```", "build.log": "ok"},
        tmp_path / "out",
        title='a "run"',
        text="Five records.",
        further={"leaderboard": (tmp_path / "board").read_bytes()},
    )
    assert written == 5
    return tmp_path / "out"


def test_the_folder_is_a_data_set_that_datasets_reads(folder, records, tmp_path):
    read = datasets.load_dataset(str(folder), "records", split="train", cache_dir=str(tmp_path / "cache"))
    assert read["submission"] == ["a.py", "b.py", "c.py", "d.py", "e.py"]
    assert read["verdict"] == ["correct", "wrong", "failed", "rejected", "infrastructure"]
    assert read["reason"] == [None, "values", "compile", None, None]
    assert (read["stage"][2], read["rule"][3], read["detail"][1]) == ("build", "clock", "off by one")
    assert (read["speedup"], read["conclusion"][0]) == ([2.0, None, None, None, None], "faster")
    assert read["flags"][0] == [{"rule": "no-kernel", "severity": "warn", "detail": "d"}]
    assert (read["candidate"][0], read["submission_text"][0]) == ("import torch", "```")
    assert read["logs"][0] == [{"name": "build.log", "text": "ok"}]
    assert [Record.model_validate_json(text) for text in read["record"]] == records


def test_without_a_name_the_records_are_loaded_and_each_further_file_by_its_own(folder, tmp_path):
    names = datasets.get_dataset_config_names(str(folder))
    assert names == ["records", "leaderboard"]
    default = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(default) == 5
    board = datasets.load_dataset(str(folder), "leaderboard", split="train", cache_dir=str(tmp_path / "cache"))
    assert board["model"] == ["gpt"]


def test_the_card_names_every_column_and_is_yaml_at_its_head(folder):
    text = (folder / "README.md").read_text()
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["pretty_name"] == 'a "run"'
    assert [config["config_name"] for config in head["configs"]] == ["records", "leaderboard"]
    assert "Five records." in text
    for name in pyarrow.parquet.read_schema(folder / "data" / "records-00000.parquet").names:
        assert f"| `{name}` |" in text


def test_many_records_are_written_in_several_files(tmp_path, make_record, monkeypatch):
    monkeypatch.setattr(store_dataset, "_RECORDS_A_FILE", 4)
    monkeypatch.setattr(store_dataset, "_RECORDS_A_GROUP", 2)
    records = (make_record(f"{number}.py") for number in range(9))
    assert write_dataset(records, lambda record: {}, tmp_path / "out", title="t", text="", further={}) == 9
    files = sorted((tmp_path / "out" / "data").iterdir())
    assert [len(pyarrow.parquet.read_table(path)) for path in files] == [4, 4, 1]


def test_a_run_of_nothing_is_a_data_set_of_nothing(tmp_path):
    assert write_dataset([], lambda record: {}, tmp_path / "out", title="t", text="", further={}) == 0
    assert len(pyarrow.parquet.read_table(tmp_path / "out" / "data" / "records-00000.parquet")) == 0


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="may not be written"):
        write_dataset([], lambda record: {}, tmp_path / "file" / "out", title="t", text="", further={})


def test_without_pyarrow_it_is_said_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MachineError, match="a data set needs pyarrow"):
        write_dataset([], lambda record: {}, tmp_path / "out", title="t", text="", further={})
    assert not (tmp_path / "out").exists()
