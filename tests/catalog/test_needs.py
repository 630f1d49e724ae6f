"""What a problem needs beside torch is told from its source."""

import sys

import pytest

from harness.catalog import needs, needy, numeric_settings, open_catalog, text_problem

PLAIN = "class Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
LEVEL_4 = """
import torch
from surely_not_installed import AutoModelForCausalLM, AutoConfig


class Model(torch.nn.Module):
    def __init__(self, model_name, config):
        super().__init__()
        self.model = AutoModelForCausalLM.from_pretrained(model_name, config=config)


config = AutoConfig.from_pretrained("gpt2")


def get_inputs():
    return [torch.randint(0, config.vocab_size, (1, 1023))]


def get_init_inputs():
    return ["gpt2", config]
"""


def test_a_problem_like_those_of_level_4_needs_a_package_and_a_download() -> None:
    found = needs(text_problem(LEVEL_4))
    assert found.missing == ("surely_not_installed",)
    assert set(found.downloads) == {"AutoConfig.from_pretrained", "AutoModelForCausalLM.from_pretrained"}
    assert str(found).startswith("package surely_not_installed, a download by Auto")


def test_before_judging_one_sentence_says_what_is_needed() -> None:
    plain, needing = text_problem(PLAIN, name="plain"), text_problem(LEVEL_4, name="gpt2")
    assert needy([plain, plain]) == ""
    assert needy([plain, needing]).startswith("gpt2 needs more than torch: package surely_not_installed, a download")
    others = [text_problem(LEVEL_4, name=name) for name in ("a", "b", "c")]
    assert needy(others).endswith(", and 2 more like it (harness problems list)")


@pytest.mark.parametrize(
    "line",
    [
        "import torchvision; m = torchvision.models.resnet18(pretrained=True)",
        "import torch; m = torch.hub.load('pytorch/vision', 'resnet18')",
        "from torch.hub import load_state_dict_from_url as f; import torch.hub as h; h.load_state_dict_from_url('x')",
    ],
)
def test_weights_are_a_download(line: str) -> None:
    assert needs(text_problem(PLAIN + line + "\n")).downloads


@pytest.mark.parametrize("line", ["import os, math, torch, numpy.random", "model = make(pretrained=False)", "x.load()"])
def test_an_ordinary_problem_needs_nothing(line: str) -> None:
    assert str(needs(text_problem(PLAIN + line + "\n"))) == ""


def test_our_own_problems_need_nothing() -> None:
    assert [problem.title for problem in open_catalog().problems() if str(needs(problem))] == []


def test_a_module_that_says_nothing_of_its_origin_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)  # as where a command was started by its name
    assert needs(text_problem(f"import __main__\n{PLAIN}")).missing == ()


def test_the_deepest_problem_that_is_read_is_read_by_all() -> None:
    problem = text_problem(f"x = 1{'+1' * 190}\ny = lambda: a{'.b()' * 90}.c()\n{PLAIN}")
    assert needs(problem).downloads == ()
    assert numeric_settings(problem) == {"x": 191}
