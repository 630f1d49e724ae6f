"""What every noun is made of: read up to its first fault."""

import pytest
from pydantic import ValidationError

from harness.schema import Record
from harness.schema.base import Frozen


class Inner(Frozen):
    number: int = 0


class Outer(Frozen):
    type: str = "list"
    several: tuple[Inner, ...] = ({"type": "list"},)  # type: ignore[assignment]  # a default is no schema
    nested: dict[str, list[tuple[int, str]]] | None = None
    either: tuple[int, ...] | dict[str, int] | None = None


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ('{"several":[{"number":"a"},{"number":"b"},3]}', 1),
        ('{"nested":{"a":[[1,2],[3,4]],"b":[[5,6]]}}', 1),
        ('{"either":["a","b","c"]}', 2),
        ('{"several":[1,2],"nested":[1,2]}', 2),
    ],
)
def test_a_container_is_left_at_the_first_thing_in_it_that_is_wrong(text, faults):
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate_json(text)
    assert caught.value.error_count() == faults


def test_a_default_is_left_as_it_is():
    assert Outer().several == ({"type": "list"},)


def test_a_line_full_of_faults_is_no_record_at_once():
    with pytest.raises(ValidationError) as caught:
        Record.model_validate_json(b'{"flags":[' + b"1," * 5_000_000 + b"1]}")
    assert caught.value.error_count() < 20
