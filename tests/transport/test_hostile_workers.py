"""A thousand conversations with workers that break the protocol, read by the judge's own code.

Each ends with outputs, which the judge then compares like any, or as a failure with the reason `protocol` (`timeout`
where the worker falls silent): never with another exception, a descriptor that stays open or memory that does.
"""

import gc
import json
import os
import random
import resource
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.transport.worker_messages import DONE, Done

SEEDS = 700
EXAMPLES = 300
ANSWERS = 12
"""Ready, constructed, attached, prepared, done, described, attached, attending, done, described, released twice."""
MESSAGES = tuple(
    text.encode()
    for text in (
        '{"say": "ready"}', '{"say": "loaded"}', '{"say": "prepared"}', '{"say": "released"}', '{"say": "attending"}',
        '{"say": "attached", "base": 0}', '{"say": "constructed", "parameters": []}',
        '{"say": "done", "addresses": [[64], [64]]}', '{"say": "done", "addresses": []}',
        '{"say": "described", "outputs": []}', '{"say": "build", "request": {"name": "x"}}',
        '{"say": "verdict", "kind": "correct"}', '{"say": "go", "slots": [0]}', '{"say": "load"}', "{}", "[]", "null",
    )
)  # fmt: skip
STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1, 7, 2**31, 2**62, 2**63, 2**200, 0.5, -0.0, 1e308, "", "x", "nan", "0x1p99999",
    "float64", "float8_e4m3fn", "quint8", "complex64", "bool", "int4", "bits8", "uint16",
    "tensor", "opaque", "dtype", "device", "cuda", "other", [], [[]], {}, [2**62, 2**62], [2**40],
    {"kind": "float", "value": "0x1p99999"}, {"kind": "float", "value": "x"}, {"kind": "float", "value": "nan"},
    {"kind": "dtype", "name": "load"}, {"kind": "dtype", "name": "__dict__"}, {"kind": "device", "name": "nowhere"},
    {"kind": "opaque", "type": "x"}, {"kind": "scalar", "value": 10**400}, {"kind": "list", "items": []},
    {"kind": "dict", "items": {"a": {"kind": "scalar", "value": None}}},
)  # fmt: skip


def mutated(text: bytes, chance: random.Random) -> bytes:
    """One leaf or branch of a JSON text replaced by something strange, left out, doubled or put elsewhere.

    Of the binary form of `Done` a word.
    """
    if text.startswith(DONE):
        place = chance.randrange(len(text) - 3)
        word = chance.choice((0, 1, 2**31, 2**32 - 1, chance.getrandbits(32)))
        return text[:place] + struct.pack("<I", word) + text[place + 4 :]
    tree = json.loads(text)
    places = list(_places(tree))
    if not places:
        return text
    for _ in range(chance.choice((1, 1, 2))):
        owner, key = chance.choice(places)
        if not (isinstance(owner, dict) and key in owner) and not (isinstance(owner, list) and key < len(owner)):
            continue
        match chance.randrange(4):
            case 0 if isinstance(owner, dict):
                del owner[key]
            case 1 if isinstance(owner, list):
                owner.append(owner[key])
            case 2 if isinstance(owner, dict):
                owner["extra"] = chance.choice(STRANGE)
            case _:
                owner[key] = chance.choice(STRANGE)
    return json.dumps(tree).encode()


def _places(tree: Any) -> Any:
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield tree, key
        yield from _places(value)


def attack(chance: random.Random, at: int, descriptor: int) -> Any:  # noqa: C901  # a table, one row an attack
    """What a hostile worker sends in the place of its `at`-th answer."""
    kind = chance.choice(
        ("leaf", "leaf", "leaf", "leaf", "cut", "long", "short", "count", "byte", "other", "early", "twice", "stranger",
         "nothing", "hang up", "noise", "deep", "large", "binary", "surrogate", "zero", "digits")
    )  # fmt: skip

    def change(number: int, honest: Any) -> Sequence[Any]:  # noqa: C901  # the same
        if number != at:
            return [honest]
        text, sent = honest.text, type(honest)
        match kind:
            case "leaf":
                return [sent(mutated(text, chance))]
            case "cut":
                return [(honest.header() + text)[: chance.randrange(len(text) + 8)], None]
            case "long":
                return [sent(text, length=chance.choice((len(text) + 1, 1 << 24, (1 << 24) + 1, 2**32 - 1))), None]
            case "short":
                return [sent(text, length=chance.randrange(len(text)))]
            case "count":
                return [sent(text, count=chance.choice((1, 2, 4, 5, 2**32 - 1)))]
            case "byte":
                place = chance.randrange(len(text))
                return [sent(text[:place] + bytes([chance.randrange(256)]) + text[place + 1 :])]
            case "other":
                return [sent(chance.choice(MESSAGES))]
            case "early":
                return [honest, sent(chance.choice(MESSAGES)), sent(chance.choice(MESSAGES))]
            case "twice":
                return [honest, honest]
            case "stranger":
                return [sent(text, descriptors=(descriptor,) * chance.choice((1, 4)))]
            case "nothing":
                return []
            case "hang up":
                return [None]
            case "noise":
                return [chance.randbytes(chance.choice((1, 7, 8, 9, 5000))), None]
            case "binary":
                return [sent(chance.randbytes(chance.choice((0, 1, len(text), 100_000))))]
            case "surrogate":
                return [
                    sent(
                        text.replace(b'"say": "', b'"\\ud800": "\\udfff", "say": "', 1).replace(
                            b'"say":"', b'"say":"\\ud800'
                        )
                    )
                ]
            case "zero":
                place = chance.randrange(len(text))
                return [sent(text[:place] + b"\0" * chance.choice((1, 4096)) + text[place:])]
            case "digits":
                return [
                    sent(text.replace(b":", b":" + b"9" * 5000, 1)),
                    sent(b'{"say": "attached", "base": ' + b"9" * 5000),
                ]
            case "deep":
                return [sent(b'{"say": "described", "outputs": ' + b"[" * 50_000)]
            case _:
                return [sent(b'{"say": "done", "addresses": [' + b"[64]," * 20_000 + b"[64]]}")]

    return change


def held(outcome: Any) -> None:
    """Whatever was sent: a failure of the protocol, or outputs that can be compared."""
    if outcome.outputs is None:
        assert outcome.reason in ("protocol", "timeout"), outcome
        assert outcome.killed or outcome.detail.startswith(("answered", "described", "named")), outcome
    else:
        assert len(outcome.outputs) == 2


def test_an_honest_conversation_comes_to_its_outputs(conversation):
    outcome = conversation(lambda number, honest: [honest], seconds=20)
    assert (outcome.reason, outcome.killed) == ("", False)
    assert all(torch.equal(one, other) for one, other in zip(outcome.outputs, outcome.honest, strict=True))
    assert torch.equal(outcome.outputs[0], torch.tensor([[0.0, 2.0], [3.0, 0.0]]))


@pytest.mark.slow  # seven hundred conversations; some wait a fifth of a second for nothing
def test_a_mutated_conversation_is_a_failure_of_the_protocol_or_still_a_conversation(conversation):
    reader, writer = os.pipe()
    reasons: dict[str, int] = {}
    gc.collect()
    descriptors = len(os.listdir("/proc/self/fd"))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(SEEDS):
        chance = random.Random(seed)
        outcome = conversation(attack(chance, chance.randrange(ANSWERS), writer))
        held(outcome)
        reasons[outcome.reason] = reasons.get(outcome.reason, 0) + 1
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < memory + (256 << 10)  # kilobytes
    assert reasons["protocol"] > SEEDS / 2
    os.close(reader)
    os.close(writer)


NAMES = ("float32", "load", "cpu", "cuda:0", "cuda:999", "nowhere", "nn", "", "meta")
NUMBERS = ("0x1p0", "nan", "-inf", "0x1p99999", "", "x", "1e400")
values = st.recursive(
    st.one_of(
        st.fixed_dictionaries(
            {
                "kind": st.just("tensor"),
                "dtype": st.sampled_from(
                    ["float32", "float64", "bool", "complex64", "quint8", "int4", "bits8", "load"]
                ),
                "shape": st.lists(st.integers(0, 2**62), max_size=3),
                "strides": st.lists(st.integers(0, 2**62), max_size=3),
                "offset": st.integers(0, 2**62),
            },
            optional={"device": st.sampled_from(["cpu", "cuda", "other"])},
        ),
        st.fixed_dictionaries({"kind": st.just("float"), "value": st.sampled_from(NUMBERS)}),
        st.fixed_dictionaries({"kind": st.sampled_from(["dtype", "device"]), "name": st.sampled_from(NAMES)}),
        st.fixed_dictionaries({"kind": st.just("scalar"), "value": st.one_of(st.integers(), st.text(), st.none())}),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"kind": st.sampled_from(["list", "tuple"]), "items": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"kind": st.just("dict"), "items": st.dictionaries(st.text(max_size=3), inner)}),
    ),
    max_leaves=6,
)


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), derandomize=True)
@given(outputs=st.lists(values, min_size=2, max_size=2), same_address=st.booleans())
def test_outputs_that_cannot_be_are_a_failure_of_the_protocol(conversation, outputs, same_address):
    addresses = [[leaf["offset"] for leaf in _tensors(output)] if same_address else [64] for output in outputs]

    def change(number: int, honest: Any) -> Sequence[Any]:  # the same
        if number == 4:
            return [type(honest)(Done(tuple(tuple(call) for call in addresses)).packed())]
        if number == 5:
            return [type(honest)(json.dumps({"say": "described", "outputs": outputs}).encode())]
        return [honest]

    held(conversation(change))


def _tensors(value: Any) -> list[Any]:
    if value["kind"] == "tensor":
        return [value]
    items = value.get("items", [])
    return [leaf for item in (items.values() if isinstance(items, dict) else items) for leaf in _tensors(item)]


def test_memory_of_the_judge_that_an_address_names_is_not_what_is_read(conversation):
    """An address is looked up in the worker's memory; here both are one process, and a wild one finds nothing."""
    wild = struct.pack("<Q", 0xDEAD0000)

    def change(number: int, honest: Any) -> Sequence[Any]:  # the same
        if number in (4, 5):
            where = int.from_bytes(wild, "little")
            if number == 4:
                extents = Done.unpacked(honest.text, 2).extents
                return [type(honest)(Done(((where,), (where,)), extents=extents).packed())]
            text = json.loads(honest.text)
            for output in text["outputs"]:
                output["offset"] = where
            return [type(honest)(json.dumps(text).encode())]
        return [honest]

    outcome = conversation(change)
    assert (outcome.reason, outcome.outputs) == ("protocol", None)
    assert "not mapped" in outcome.detail


def test_the_fuzzer_of_the_benchmarks_holds_such_conversations():
    fuzzer = Path(__file__).resolve().parents[2] / "benchmarks" / "fuzz.py"
    command = [sys.executable, str(fuzzer), "--builds", "1", "--conversations", "2"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert run.returncode == 0, run.stderr
    assert "conversations {'count': 2" in run.stdout
