"""What every noun is made of."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def encodable(text: str) -> str:
    """`text` with what UTF-8 cannot say (a file name of stray bytes holds such characters) written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


Name = Annotated[str, BeforeValidator(lambda value: encodable(value) if isinstance(value, str) else value)]
"""What a person, a file or a folder is called, made `encodable`: a record holds it, and so does JSON."""
MOST_SAID = 4_000
"""Characters of one sentence that a record keeps. What a candidate has said may quote megabytes of its text."""


def _cut(value: object) -> object:
    if not isinstance(value, str):
        return value
    return encodable(value if len(value) <= MOST_SAID + 2 else f"{value[:MOST_SAID]} …")


Said = Annotated[str, BeforeValidator(_cut)]
"""A sentence about a candidate, `encodable` and cut after `MOST_SAID` characters: records and frames are bounded."""
MOST_NOTES = 40
"""Sentences of a list of them that a record keeps. A source has as many as it likes put down."""


def _fewer(value: object) -> object:
    if not isinstance(value, tuple | list) or len(value) <= MOST_NOTES:
        return value
    return (*value[: MOST_NOTES - 1], f"… and {len(value) - MOST_NOTES + 1} more")


Notes = Annotated[tuple[Said, ...], BeforeValidator(_fewer)]
"""Sentences about a candidate, the first of `MOST_NOTES`: the last one says how many more there were."""
Whole = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
"""A whole number that columns of 64 bits hold: JSON has larger ones."""


_CONTAINERS = ("tuple", "list", "dict", "set", "frozenset")


def _leave_at_the_first_fault(schema: Any) -> None:
    """Have every container in a schema end with its first fault.

    Pydantic describes each of them, in a kilobyte. What a stranger says may have one in every third byte.
    """
    if isinstance(schema, dict):
        if schema.get("type") in _CONTAINERS:
            schema["fail_fast"] = True
        schema = [part for key, part in schema.items() if key not in ("default", "metadata")]
    for part in schema if isinstance(schema, list | tuple) else ():
        _leave_at_the_first_fault(part)


class Frozen(BaseModel):
    """Immutable, and strict about its keys: what it does not know it refuses.

    A float that is not finite is written as the string "NaN" or "Infinity" and read back as the float: pydantic's own
    `null` could not be read again. A list or dict is read up to the first thing in it that is wrong.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _leave_at_the_first_fault(schema)
        return schema
