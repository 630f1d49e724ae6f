"""What every noun is made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Whole = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
"""A whole number that columns of 64 bits hold: JSON has larger ones."""


class Frozen(BaseModel):
    """Immutable, and strict about its keys: what it does not know it refuses.

    A float that is not finite is written as the string "NaN" or "Infinity" and read back as the float: pydantic's own
    `null` could not be read again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")
