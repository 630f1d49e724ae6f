"""Audit: what is known of a problem before any candidate is judged on it."""

from harness.schema.base import Frozen
from harness.schema.flag import Flag
from harness.schema.verdict import OracleName


class OwnError(Frozen):
    """How far the reference as written is off on a kind of inputs: its largest error over its mean size, and, where
    some elements are many times as large as is usual, `share`: theirs over their own size. `usual` is what all but the
    share `rough` of the elements are off by at most, over the mean size.
    """

    kind: str
    relative: float
    oracle: OracleName
    share: float = 0.0
    usual: float = 0.0
    rough: float = 0.0


class Audit(Frozen):
    """What is known of a problem. Bytes and flops are those of one call; `call_s` is one call of the reference,
    `construct_s` making its model.

    `output_bytes` are those that a call has to write: outputs that are views of what it was given count for nothing.
    `weight_bytes` counts parameters and buffers; `flops` are those of matrix products, convolutions and attention,
    as torch.utils.flop_counter counts them. `random`: equal inputs give other outputs under another seed. `fixed`: what
    `get_inputs` draws is the same each time; `fixed_integers`: places of inputs of whole numbers that are, and are in
    no order, so that they may be put in another; `fixed_floats`: places of inputs with floating or complex values that
    are. `unstable` is the share of an output that rounding alone moves by half of its size or more. `shapes_vary`: the
    outputs of two draws have other shapes. `own_errors` are those of kinds of which no trial can afford float64.
    """

    findings: tuple[Flag, ...] = ()
    random: bool = False
    fixed: bool = False
    fixed_integers: tuple[int, ...] = ()
    fixed_floats: tuple[int, ...] = ()
    input_bytes: int = 0
    weight_bytes: int = 0
    output_bytes: int = 0
    flops: int = 0
    call_s: float = 0.0
    construct_s: float = 0.0
    unstable: float = 0.0
    shapes_vary: bool = False
    own_errors: tuple[OwnError, ...] = ()

    @property
    def warns(self) -> bool:
        """Whether anything was found that makes one doubt verdicts on this problem."""
        return any(finding.severity != "info" for finding in self.findings)
