"""A server that others wrote: `transformers serve` with a tiny model of random weights, made on the spot.

It runs where the package is installed, `pip install 'transformers[serving]'`, and needs no network.
"""

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from questions import question

MAKE = """
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

bytes_of_text = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer, tokenizer.decoder = bytes_of_text, decoders.ByteLevel()
alphabet = pre_tokenizers.ByteLevel.alphabet()
special = ["<s>", "</s>"]
tokenizer.train_from_iterator(
    ["hello"], trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet)
)
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>")
fast.chat_template = "{% for each in messages %}{{ each['role'] }}: {{ each['content'] }}\\n{% endfor %}assistant: "
fast.save_pretrained(sys.argv[1])
config = LlamaConfig(
    vocab_size=len(fast), hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
    max_position_embeddings=4096, bos_token_id=0, eos_token_id=1, pad_token_id=1,
)
LlamaForCausalLM(config).save_pretrained(sys.argv[1])
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    for package in ("transformers", "fastapi", "uvicorn"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install 'transformers[serving]'")
    folder = tmp_path_factory.mktemp("model")
    subprocess.run([sys.executable, "-c", MAKE, folder], check=True, capture_output=True)
    return str(folder)


@pytest.fixture(scope="module")
def url(model, tmp_path_factory):
    port = free_port()
    program = Path(sys.executable).with_name("transformers")
    command = [program, "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu", model]
    log = tmp_path_factory.mktemp("log") / "serve.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, env=os.environ | {"HF_HUB_OFFLINE": "1"}, stdout=output, stderr=output)
    try:
        while not answers(f"http://127.0.0.1:{port}/health"):
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_real_server_answers(url, model, ask_all, api):
    listener = ask_all(None, *(question(sample) for sample in range(3)), url=url, model=model, api=api, max_tokens=8)
    assert [kept.sample for kept in sorted(listener.kept, key=lambda one: one.sample)] == [0, 1, 2]
    for kept in listener.kept:
        assert kept.usage.prompt_tokens > 0
        assert 0 < kept.usage.completion_tokens <= 8
        assert kept.answered_by.startswith(model)
        assert kept.outcome in ("complete", "truncated", "empty")
