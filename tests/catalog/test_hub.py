"""A hub's models on this machine: those that a problem names, and nothing else of its cache."""

import pytest

from harness.catalog import text_problem
from harness.catalog.hub import hub_cache, hub_environment, models_of

SOURCE = """
class Model:
    pass
name = "{name}"
def get_inputs():
    return ["elsewhere/other"]
def get_init_inputs():
    return [name]
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    for folder in ("models--gpt2", "models--facebook--opt-1.3b", "models--secret--model", "datasets--gpt2"):
        (tmp_path / "hub" / folder).mkdir(parents=True)
    return tmp_path / "hub"


@pytest.mark.parametrize(
    ("name", "folder"), [("gpt2", "models--gpt2"), ("facebook/opt-1.3b", "models--facebook--opt-1.3b")]
)
def test_a_model_that_the_problem_names_is_found(cache, name, folder):
    assert models_of(text_problem(SOURCE.format(name=name))) == (cache / folder,)


@pytest.mark.parametrize("name", ["", "secret", "../hub/models--gpt2", "gpt2/../secret/model", "no/such"])
def test_what_it_does_not_name_is_not(cache, name):
    assert models_of(text_problem(SOURCE.format(name=name))) == ()


def test_the_cache_is_where_its_own_variables_say(cache, monkeypatch):
    assert hub_cache() == cache
    monkeypatch.setenv("HF_HUB_CACHE", "/elsewhere")
    assert str(hub_cache()) == "/elsewhere"


def test_a_process_that_sees_models_is_told_that_there_is_no_network_and_others_nothing(cache):
    assert hub_environment((cache / "models--gpt2",))["HF_HUB_OFFLINE"] == "1"
    assert hub_environment(()) == {}
