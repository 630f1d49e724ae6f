"""Configurations: what a constructor of KernelBench's level 4 is given besides a model's name, as plain data.

A configuration of the package transformers is an object. Its own JSON text crosses, from the judge to a worker only.
"""

import importlib
import json
from typing import Any

_KEY = "transformers.configuration"


def described(argument: Any) -> Any:
    """A configuration of transformers as a dict with one text; anything else as it is."""
    package = type(argument).__module__.partition(".")[0]
    if package != "transformers" or not hasattr(argument, "to_json_string"):
        return argument
    return {_KEY: argument.to_json_string(use_diff=False)}


def restored(argument: Any) -> Any:
    """The configuration that was described so; anything else as it is. Raises ImportError without transformers."""
    if type(argument) is not dict or argument.keys() != {_KEY}:
        return argument
    values = json.loads(argument[_KEY])
    known = importlib.import_module("transformers").AutoConfig.for_model(values["model_type"])
    return type(known).from_dict(values)
