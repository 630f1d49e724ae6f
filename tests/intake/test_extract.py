"""Text to candidate: what is taken, what is skipped and why, and that nothing in a text is a crash."""

import ast
import hashlib
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.intake import extract, read_submission
from harness.intake.extract import MAX_FENCES, MAX_LISTED, MAX_SUBMISSION
from harness.schema import Candidate, Failed, Submission

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "submissions"
RESPONSES = ROOT / "tests" / "data" / "responses"

WHOLE = "class ModelNew:\n    pass\n"
DOCUMENTS = {
    # file: sha256 of the text as the model wrote it, reference solution, line of its code, blocks, truncated
    "level_1_problem_19_sample_0_kernel.txt": ("be78f8ed", "level1/19_ReLU", 97, 1, False),
    "level_1_problem_27_sample_0_kernel.txt": ("720aec41", "level1/27_SELU_", 651, 3, False),
    "level_1_problem_88_sample_0_kernel.txt": ("58692683", "level1/88_MinGPTNewGelu", 275, 1, False),
    "level_2_problem_76_sample_0_kernel.txt": ("ba814a48", "level2/76_Gemm_Add_ReLU", 384, 1, False),
    "level_2_problem_81_sample_0_kernel.txt": (
        "f7a60fd0", "level2/81_Gemm_Swish_Divide_Clamp_Tanh_Clamp", 574, 2, True,
    ),
}  # fmt: skip


def fenced(*sources: str) -> str:
    return "\n".join(f"Some prose.\n\n```python\n{source}```\n" for source in sources)


def made(text: str, path: str = "response.txt") -> Submission:
    return Submission(path=path, sha256=hashlib.sha256(text.encode()).hexdigest(), text=text)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_document_yields_its_last_complete_block(name: str) -> None:
    sha256, solution, first_line, blocks, truncated = DOCUMENTS[name]
    document = read_submission(EXAMPLES / name)
    assert document.sha256.startswith(sha256)
    extraction, candidate = extract(document)
    assert isinstance(candidate, Candidate)
    assert candidate.source == (ROOT / "reference_solutions" / f"{solution}.py").read_text()
    assert candidate.first_line == extraction.first_line == first_line
    assert candidate.languages == ("cuda",)
    assert len(extraction.blocks) == blocks
    assert extraction.truncated is truncated
    assert document.text.splitlines()[first_line - 1] == candidate.source.splitlines()[0]


def test_the_document_that_breaks_off_says_so() -> None:
    extraction, _ = extract(read_submission(EXAMPLES / "level_2_problem_81_sample_0_kernel.txt"))
    taken, torn = extraction.blocks
    assert taken.outcome == "taken"
    assert torn.outcome == "skipped"
    assert torn.reason == "breaks off before its closing fence"


@pytest.mark.parametrize("path", sorted(RESPONSES.glob("[a-z]*")), ids=lambda path: path.name)
def test_the_answer_is_found_in_every_shape_of_response(path: Path) -> None:
    response = read_submission(path)
    extraction, candidate = extract(response)
    assert isinstance(candidate, Candidate)
    assert "x + 'answer'" in candidate.source
    ast.parse(candidate.source)
    assert extraction.truncated is (path.name == "broken_off_after_a_whole_one.txt")
    lines = response.text.removeprefix("\ufeff").splitlines()
    assert lines[candidate.first_line - 1].strip() == candidate.source.splitlines()[0].strip()


def test_a_python_file_is_its_own_candidate() -> None:
    extraction, candidate = extract(made(WHOLE, "kernel.py"))
    assert isinstance(candidate, Candidate)
    assert (candidate.source, candidate.first_line) == (WHOLE, 1)
    assert (extraction.kind, extraction.blocks) == ("python", ())


def test_line_ends_and_the_byte_order_mark_do_not_reach_the_candidate() -> None:
    _, candidate = extract(made("\ufeffimport a\r\nclass ModelNew:\r    pass", "kernel.py"))
    assert isinstance(candidate, Candidate)
    assert candidate.source == "import a\nclass ModelNew:\n    pass\n"
    assert candidate.sha256 == hashlib.sha256(candidate.source.encode()).hexdigest()


@pytest.mark.parametrize(
    "source",
    [
        "class ModelNew(Base):\n    pass\n",
        "ModelNew = make()\n",
        "ModelNew: type = make()\n",
        "A, ModelNew = make()\n",
        "A = ModelNew = make()\n",
        "from kernels import Fast as ModelNew\n",
        "from kernels import ModelNew\n",
        "import fast as ModelNew\n",
        "if True:\n    class ModelNew: pass\n",
        "try:\n    import a\nexcept ImportError:\n    class ModelNew: pass\n",
        "with a:\n    for b in c:\n        ModelNew = b\n",
        "def ModelNew(*args): ...\n",
    ],
)
def test_every_way_to_define_the_entry_at_module_level_counts(source: str) -> None:
    assert isinstance(extract(made(source, "kernel.py")).outcome, Candidate)


@pytest.mark.parametrize(
    "source",
    [
        "class Model: pass\n",
        "class ModelNewer: pass\n",
        "def make():\n    class ModelNew: pass\n",
        "class Outer:\n    ModelNew = 1\n",
        "print(ModelNew)\n",
        "ModelNew: type\n",
        "# class ModelNew: pass\nx = 'class ModelNew: pass'\n",
        "other.ModelNew = 1\n",
    ],
)
def test_what_only_mentions_the_entry_does_not_define_it(source: str) -> None:
    outcome = extract(made(source, "kernel.py")).outcome
    assert isinstance(outcome, Failed)
    assert (outcome.stage, outcome.reason) == ("extract", "missing")


def test_policies_choose_among_usable_blocks() -> None:
    text = fenced("ModelNew = 1\n", "x = 0\n", "ModelNew = 2\n", "ModelNew = (\n")
    last, first = extract(made(text)), extract(made(text), policy="first")
    assert isinstance(last.outcome, Candidate)
    assert isinstance(first.outcome, Candidate)
    assert (last.outcome.source, first.outcome.source) == ("ModelNew = 2\n", "ModelNew = 1\n")
    assert [block.outcome for block in last.extraction.blocks] == ["skipped", "skipped", "taken", "skipped"]
    assert [block.reason for block in last.extraction.blocks] == [
        "the block at line 16 was taken",
        "defines no ModelNew",
        "",
        "does not parse: '(' was never closed on line 22",
    ]


def test_strict_takes_the_only_usable_block_and_refuses_to_choose() -> None:
    one = extract(made(fenced("ModelNew = 1\n", "x = 0\n")), policy="strict")
    assert isinstance(one.outcome, Candidate)
    two = extract(made(fenced("ModelNew = 1\n", "ModelNew = 2\n")), policy="strict")
    assert isinstance(two.outcome, Failed)
    assert two.outcome.reason == "ambiguous"
    assert "lines 4 and" in two.outcome.detail or "lines 4, 10" in two.outcome.detail
    assert two.extraction.first_line is None


@pytest.mark.parametrize("policy", ["last", "first", "strict"])
def test_drafts_in_the_reasoning_do_not_compete_with_the_answer(policy: str) -> None:
    text = "<think>\n" + fenced("ModelNew = 1\n") + "</think>\n" + fenced("ModelNew = 2\n")
    outcome = extract(made(text), policy=policy).outcome  # type: ignore[arg-type]
    assert isinstance(outcome, Candidate)
    assert outcome.source == "ModelNew = 2\n"


def test_a_draft_is_taken_where_the_answer_has_no_code() -> None:
    outcome = extract(made("<think>\n" + fenced(WHOLE) + "</think>\nSorry, I give up.\n")).outcome
    assert isinstance(outcome, Candidate)
    assert outcome.source == WHOLE


def test_the_end_of_reasoning_inside_a_candidate_is_text() -> None:
    text = fenced("ModelNew = 1\n") + fenced("s = '''\n</think>\n'''\nModelNew = 2\n")
    first = extract(made(text), policy="first").outcome
    assert isinstance(first, Candidate)
    assert first.source == "ModelNew = 1\n"


@pytest.mark.parametrize(
    ("text", "path", "reason", "words"),
    [
        ("", "a.txt", "empty", "empty"),
        (" \n\t\n", "a.py", "empty", "empty"),
        ("I am sorry, I cannot do that.", "a.txt", "empty", "no code block"),
        ("Sorry", "a.txt", "empty", "no code block"),
        ("class ModelNew(:\n    pass\n", "a.py", "syntax", "line 1"),
        ("import torch\n\n\nclass ModelNew\n", "a.txt", "syntax", "line 4"),
        ("import torch\n\nclass Model:\n    pass\n", "a.txt", "missing", "no ModelNew"),
        ("class ModelNew: pass\n\0", "a.py", "syntax", "null byte"),
        ("Prose.\n\n```python\nx = 1\n```\n", "a.txt", "missing", "No block"),
        ("Prose.\n\n```cpp\nint main() {}\n```\n", "a.txt", "missing", "No block"),
        ("Prose.\n\n```python\nclass ModelNew:\n    x = (\n```\n", "a.txt", "syntax", "on line 5"),
        ("Prose.\n\n```python\nclass ModelNew:\n    pass\n    x = f(a,", "a.txt", "empty", "breaks off"),
        ("Prose.\n\n```python\nclass ModelNew:\n    pass\n", "a.txt", "empty", "breaks off"),
    ],
)  # fmt: skip
def test_nothing_usable_is_a_failure_that_says_why(text: str, path: str, reason: str, words: str) -> None:
    extraction, outcome = extract(made(text, path))
    assert isinstance(outcome, Failed)
    assert (outcome.stage, outcome.reason) == ("extract", reason)
    assert words in outcome.detail
    assert outcome.detail.endswith(".")
    assert extraction.first_line is None


def test_a_torn_block_is_never_taken_even_if_what_is_left_parses() -> None:
    text = "```python\nclass ModelNew:\n    def forward(self, x):\n        return self.scale * x"
    extraction, outcome = extract(made(text))
    assert isinstance(outcome, Failed)
    assert extraction.truncated


def test_lines_of_pythons_own_messages_are_lines_of_the_submission() -> None:
    outcome = extract(made("Prose.\n\n\n```python\nModelNew = [\n  1)\n```\n")).outcome
    assert isinstance(outcome, Failed)
    assert outcome.detail.count("line 5") == 2  # where the block starts, and where the bracket was opened
    assert "on line 6." in outcome.detail


@pytest.mark.parametrize(
    "source",
    [
        "(" * 100_000,
        "ModelNew = " + "(" * 150 + ")" * 150,
        "ModelNew = " + "-" * 100_000 + "1\n",
        "ModelNew = a" + ".b" * 100_000 + "\n",
        "ModelNew = 1" + "+1" * 100_000 + "\n",
        "ModelNew = 1\nif a: pass\n" + "elif a: pass\n" * 20_000,
        "ModelNew = " + "lambda: " * 20_000 + "1\n",
        "ModelNew = " + "9" * 10_000 + "\n",
        "ModelNew = '\\N{nothing}'\n",
        "# -*- coding: nonsense -*-\nModelNew = 1\n",
    ],
    ids=lambda source: source[:24],
)
def test_source_that_strains_the_parser_is_data(source: str) -> None:
    in_file = extract(made(source, "kernel.py")).outcome
    in_block = extract(made(fenced("ModelNew = 0\n" + source.rstrip("\n") + "\n"))).outcome
    for outcome in (in_file, in_block):
        assert isinstance(outcome, Candidate) or outcome.reason in ("syntax", "missing")


def test_warnings_of_the_compiler_do_not_leak() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = extract(made('ModelNew = "\\d" is 1\n', "kernel.py")).outcome
    assert isinstance(outcome, Candidate)
    assert caught == []


def test_too_much_is_refused_by_name() -> None:
    long_text = extract(made("a" * (MAX_SUBMISSION + 1))).outcome
    long_source = extract(made(fenced("ModelNew = 1\n" + "x = 1\n" * 200_000))).outcome
    many_fences = extract(made("```\n" * (MAX_FENCES + 1))).outcome
    for outcome in (long_text, long_source, many_fences):
        assert isinstance(outcome, Failed)
        assert outcome.reason == "unsupported"


def test_of_many_blocks_the_last_and_the_one_taken_are_listed() -> None:
    text = fenced(*["ModelNew = 1\n"], *["x = 1\n"] * (MAX_LISTED + 50))
    extraction, outcome = extract(made(text))
    assert isinstance(outcome, Candidate)
    assert len(extraction.blocks) == MAX_LISTED + 1
    assert extraction.blocks[0].outcome == "taken"
    assert extraction.blocks[-1].index == MAX_LISTED + 50


@pytest.mark.parametrize(
    "text",
    [
        "word " * 2_000_000,
        "\n" * 10_000_000,
        " " * 10_000_000,
        "`" * 10_000_000,
        "```python\nx = '''\n```\n" * 4_900 + "a" * 10_000_000,
        "```\n\\'''\n```\n" * 4_900 + "a" * 10_000_000,
        "````python\n" + "```\n" * 9_900 + "a\n" * 5_000_000,
    ],
    ids=["prose", "line feeds", "spaces", "one fence", "open strings", "escaped quotes", "short fences"],
)
def test_ten_megabytes_take_seconds(text: str) -> None:
    started = time.monotonic()
    outcome = extract(made(text)).outcome
    assert isinstance(outcome, Failed)
    assert time.monotonic() - started < 20  # 0.2 to 3 s here; quadratic time would be hours


PARTS = st.sampled_from(
    [
        "```", "```python", "````", "~~~", "~~~py", "\n", "\r\n", "\r", "    ", "class ModelNew: pass", "ModelNew = 1",
        '"""', "'''", '"', "\\", "#", "(", ")", "</think>", "<think>", "<|im_end|>", "x = 1", "prose", "\0", "\ufeff",
        "def f():", "```python extra", "import torch", "`", "~",
    ]
)  # fmt: skip


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(
    text=st.one_of(st.text(), st.lists(PARTS, max_size=40).map("".join), st.lists(PARTS, max_size=30).map("\n".join)),
    path=st.sampled_from(["a.py", "a.txt", "a", ""]),
    policy=st.sampled_from(["last", "first", "strict"]),
)
def test_arbitrary_text_is_never_a_crash_and_never_a_contradiction(text: str, path: str, policy: str) -> None:
    extraction, outcome = extract(made(text, path), policy=policy)  # type: ignore[arg-type]
    taken = [block for block in extraction.blocks if block.outcome == "taken"]
    if isinstance(outcome, Failed):
        assert outcome.stage == "extract"
        assert taken == []
        assert extraction.first_line is None
        return
    ast.parse(outcome.source)
    assert outcome.first_line == extraction.first_line
    assert len(taken) == (1 if extraction.blocks else 0)
    assert all(block.reason for block in extraction.blocks if block.outcome == "skipped")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kept = [line.strip() for line in outcome.source.split("\n")]
    assert [line.strip() for line in lines[outcome.first_line - 1 :]][: len(kept) - 1] == kept[:-1]


@settings(max_examples=200)
@given(data=st.binary(max_size=200))
def test_arbitrary_bytes_are_read_and_extracted(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.py"
    path.write_bytes(data)
    submission = read_submission(path)
    assert submission.sha256 == hashlib.sha256(data).hexdigest()
    assert extract(submission).extraction.policy == "last"


@settings(max_examples=100)
@given(cut=st.integers(min_value=0, max_value=31741))
def test_a_document_cut_anywhere_yields_a_whole_block_or_none(cut: int) -> None:
    document = read_submission(EXAMPLES / "level_2_problem_81_sample_0_kernel.txt")
    whole = extract(document).outcome
    assert isinstance(whole, Candidate)
    outcome = extract(made(document.text[:cut])).outcome
    assert isinstance(outcome, Failed) or outcome.source == whole.source


def test_a_kernel_without_python_is_told_what_is_wanted():
    text = "#include <torch/extension.h>\n__global__ void k(float* x) { x[0] = 1; }\n"
    failed = extract(Submission(path="relu.cu", sha256="0" * 64, text=text)).outcome
    assert (failed.stage, failed.reason) == ("extract", "missing")
    assert "defines ModelNew and builds its kernel, by load_inline" in failed.detail
