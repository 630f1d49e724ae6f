import ast
import hashlib
from pathlib import Path

import pytest
from questions import SHA

from harness.errors import InputError
from harness.generate.asking import prompt_sha256
from harness.generate.hardware import HARDWARE, find_hardware
from harness.generate.prompts import PRECISIONS, VARIANTS, load_templates
from harness.languages import prompted
from harness.schema import Problem
from harness.schema.generation import GenerationSettings

WITH_EXAMPLES = ("cuda", "c++", "triton")
SOURCE = "class Model: ...  # costs $5 {braces} ${problem}\n\n\ndef get_inputs(): ...\n"
PROBLEM = Problem(set="level1", name="19_ReLU", sha256=SHA, source=SOURCE)


def settings(**changes) -> GenerationSettings:
    return GenerationSettings.model_validate({"model": "m", "templates_sha256": SHA} | changes)


def lay(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def asked(templates=None, **changes) -> str:
    return (templates or load_templates()).opening(PROBLEM, settings(**changes))[-1].content


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("language", WITH_EXAMPLES)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_variant_language_and_precision_makes_a_prompt(variant, language, precision):
    system, user = load_templates().opening(PROBLEM, settings(variant=variant, language=language, precision=precision))
    assert (system.role, user.role) == ("system", "user")
    assert SOURCE.strip() in user.content, "the problem stands there to the letter"
    examples = {"zero-shot": 0, "one-shot": 1, "few-shot": 3}[variant]
    assert user.content.count("class ModelNew(") == examples
    assert user.content.count("```python") == 2 * examples + 1
    assert "\n\n\n\n" not in user.content


@pytest.mark.parametrize("language", sorted(set(prompted()) - set(WITH_EXAMPLES)))
def test_a_language_without_examples_is_asked_for_without_any(language):
    assert prompted()[language].prompt.strip() in asked(variant="zero-shot", language=language)
    with pytest.raises(InputError, match="zero-shot"):
        asked(variant="one-shot", language=language)


def test_the_prompt_says_what_was_chosen():
    assert "load_inline" in asked(variant="zero-shot", language="cuda")
    assert "@triton.jit" in asked(variant="zero-shot", language="triton")
    assert "cuda_sources" not in asked(language="c++")
    assert "bfloat16" in asked(precision="bf16")
    assert "level1/19_ReLU" in asked()


def test_the_one_example_is_an_elementwise_sum():
    assert "return a + b" in asked(variant="one-shot")
    assert "linear_relu" not in asked(variant="one-shot")


def test_the_device_is_stated_only_where_one_is_named():
    assert "multiprocessors" not in asked()
    stated = asked(hardware="NVIDIA H200")
    assert "NVIDIA H200" in stated
    assert "4,800 GB/s" in stated


@pytest.mark.parametrize(("name", "found"), [("H200", "NVIDIA H200"), ("rtx 4090", "NVIDIA GeForce RTX 4090")])
def test_a_device_is_found_by_what_people_call_it(name, found):
    assert find_hardware(name).name == found


@pytest.mark.parametrize("name", ["H2000", "", "NVIDIA"])
def test_a_device_without_figures_is_refused_with_those_that_have_some(name):
    with pytest.raises(InputError, match="H200, H100, A100"):
        find_hardware(name)


def test_the_figures_are_in_the_order_that_devices_are():
    bandwidths = [HARDWARE[name].bandwidth_gb_s for name in ("t4", "v100", "a100", "h100", "h200", "b200")]
    assert bandwidths == sorted(bandwidths)


def test_the_hash_of_a_prompt_is_that_of_its_messages():
    messages = load_templates().opening(PROBLEM, settings())
    assert prompt_sha256(messages) == prompt_sha256(tuple(messages))
    assert prompt_sha256(messages) != prompt_sha256(messages[1:])
    empty = hashlib.sha256(b"[]").hexdigest()
    assert prompt_sha256(()) == empty


# The user's own


def test_a_users_file_stands_in_the_place_of_ours(tmp_path):
    own = lay(tmp_path, {"user.md": "Please speed up $title for $$5:\n${problem}", "system.md": ""})
    (message,) = load_templates(own).opening(PROBLEM, settings())
    assert message.role == "user"
    assert message.content == f"Please speed up level1/19_ReLU for $5:\n{SOURCE.strip()}\n"


def test_a_users_examples_stand_in_the_place_of_all_of_ours(tmp_path):
    own = lay(tmp_path, {"examples/mine.py": "MINE", "examples/mine.cuda.py": "ANSWER", "README.md": "notes"})
    prompt = asked(load_templates(own), variant="few-shot")
    assert "MINE" in prompt
    assert "ANSWER" in prompt
    assert "row_norm" not in prompt


def test_the_hash_of_templates_is_of_all_of_them(tmp_path):
    ours = load_templates().sha256
    assert ours == load_templates().sha256
    assert load_templates(lay(tmp_path / "a", {"refine.md": "x ${verdict} ${next_step}"})).sha256 != ours


@pytest.mark.parametrize(
    ("files", "changes", "sentence"),
    [
        ({"usr.md": "x"}, {}, "usr.md is no template that a prompt uses"),
        ({"user.md": "${porblem}"}, {}, r"user.md asks for \$\{porblem\}; it may ask for \$\{problem\}"),
        ({"user.md": "costs $5"}, {}, r"user.md is malformed .*: write \$\$"),
        ({"examples/a.py": "x", "examples/a.cuda.py": "y"}, {"language": "triton"}, "no example in triton"),
        ({"examples/a.cuda.py": "y"}, {}, "hold no examples/a.py"),
    ],
)
def test_a_template_that_does_not_fit_is_named(tmp_path, files, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        asked(load_templates(lay(tmp_path, files)), **changes)


def test_a_template_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "user.md").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        load_templates(tmp_path)


# Our examples


def test_every_example_is_answered_in_each_of_these_languages():
    names = {Path(name).name for name in load_templates().texts if name.startswith("examples/")}
    problems = {name.removesuffix(".py") for name in names if name.count(".") == 1}
    assert len(problems) == 3
    assert names == {f"{name}.py" for name in problems} | {
        f"{name}.{language}.py" for name in problems for language in WITH_EXAMPLES
    }


def test_every_example_is_python():
    for name, text in load_templates().texts.items():
        if name.startswith("examples/"):
            ast.parse(text)
