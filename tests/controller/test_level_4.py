"""KernelBench's level 4 offline: a model of a hub with random weights, made on the spot, the whole way.

It runs where the package is installed (`pip install transformers`), and needs no network.
"""

from pathlib import Path
from types import ModuleType

import pytest

from harness.catalog import text_problem
from harness.controller.evaluate import evaluate
from harness.controller.session import open_session
from harness.schema import Submission
from harness.settings import Settings

PROBLEM = """
import torch
from transformers import AutoModelForCausalLM, AutoConfig

class Model(torch.nn.Module):
    def __init__(self, model_name, config):
        super().__init__()
        self.model_name = model_name
        self.config = config
        self.model = AutoModelForCausalLM.from_pretrained(self.model_name, config=self.config)

    def forward(self, x):
        return self.model(x).logits

model_name = "somebody/tiny"
config = AutoConfig.from_pretrained(model_name)
vocab_size = config.vocab_size
sequence_length = 16
batch_size = 4

def get_inputs():
    inputs = torch.randint(0, vocab_size, (batch_size, sequence_length))
    return [inputs]

def get_init_inputs():
    return [model_name, config]
"""
ITSELF = PROBLEM.replace("class Model(", "class ModelNew(")
WRONG = ITSELF.replace("self.model(x).logits", "self.model(x.flip(0)).logits")


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    transformers = pytest.importorskip("transformers", reason="pip install transformers")
    home = tmp_path_factory.mktemp("hub")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HF_HUB_CACHE", raising=False)
        patch.setenv("HF_HOME", str(home))
        patch.setenv("HF_HUB_OFFLINE", "1")
        save(transformers, home / "hub" / "models--somebody--tiny")
        with open_session("cpu", Settings(timing="none")) as opened:
            yield opened


def save(transformers: ModuleType, folder: Path) -> None:
    """A model as the hub's cache lays it out."""
    sizes = {"n_layer": 1, "n_head": 2, "n_embd": 16, "vocab_size": 50, "n_positions": 32}
    config = transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder / "snapshots" / ("0" * 40))
    for file in folder.rglob("*.safetensors"):
        file.chmod(0o644)  # as a download leaves it, and saving does not: workers are another user
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("0" * 40)


def verdict(source, session):
    submission = Submission(path="candidate.py", sha256="0" * 64, text=source)
    return evaluate(submission, text_problem(PROBLEM, name="tiny"), session=session).record.verdict


def test_the_reference_is_correct_as_its_own_candidate(session):
    found = verdict(ITSELF, session)
    assert found.kind == "correct", found


def test_other_tokens_are_wrong(session):
    assert verdict(WRONG, session).kind == "wrong"
