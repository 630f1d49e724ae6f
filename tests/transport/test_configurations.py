"""A configuration of transformers as plain data, with a package of that name that stands in for it."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest

from harness.transport.configurations import described, restored


class Configuration:
    def __init__(self, **values):
        self.values = values

    def to_json_string(self, *, use_diff):
        assert not use_diff
        return json.dumps(self.values)

    @classmethod
    def from_dict(cls, values):
        return cls(**values)


Configuration.__module__ = "transformers.models.tiny"


@pytest.fixture
def transformers(monkeypatch):
    module = ModuleType("transformers")
    module.AutoConfig = SimpleNamespace(for_model={"tiny": Configuration()}.__getitem__)
    monkeypatch.setitem(sys.modules, "transformers", module)


def test_a_configuration_crosses_as_text_and_is_one_again(transformers):
    text = described(Configuration(model_type="tiny", layers=2))
    assert type(text) is dict
    assert all(type(value) is str for value in text.values())
    assert restored(text).values == {"model_type": "tiny", "layers": 2}


@pytest.mark.parametrize("value", [3, "gpt2", {"a": 1}, {"transformers.configuration": "{}", "b": 2}, [1], None])
def test_anything_else_stays_as_it_is(value):
    assert restored(described(value)) is value
