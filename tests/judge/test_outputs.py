"""Outputs of every kind, from a worker to the judge: what is read is what the candidate returned."""

from collections.abc import Callable, Iterator

import pytest
from relu import submitted

from harness.catalog import text_problem
from harness.controller.evaluate import evaluate
from harness.controller.session import open_session
from harness.schema import Verdict
from harness.settings import Settings

BODY = """
        rows = x.abs()
        return {
            "expanded": rows.sum(0).expand(4, 6),
            "windows": rows[0].as_strided((3, 4), (1, 1)),
            "named": torch.max(rows, dim=1),
            "shared": [rows, rows[1:]],
            "eighth": rows.to(torch.float8_e4m3fn),
            "brain": rows.to(torch.bfloat16),
            "words": (rows * 10).to(torch.uint16),
            "long words": (rows * 10).to(torch.uint64),
            "far": (rows * 10).long() + 2**60,
            "bits": x > 0.5,
            "complex": torch.complex(rows, -rows).conj(),
            "strided": rows[:, ::2],
            "transposed": rows.t(),
            "number": rows.mean(),
            "nothing": rows[:0],
            "scalars": (None, True, 1, rows.sum().item(), "text", float("inf"), float("nan")),
        }
"""
MODEL = """import torch


class {name}(torch.nn.Module):
    def forward(self, x):{body}

def get_inputs():
    return [torch.rand(5, 6)]


def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def judged() -> Iterator[Callable[[str], Verdict]]:
    with open_session("cpu", Settings(timing_s=0, audit="none")) as session:
        problem = text_problem(MODEL.format(name="Model", body=BODY), name="outputs")

        def judge(body: str) -> Verdict:
            text = MODEL.format(name="ModelNew", body=body)
            return evaluate(submitted(text), problem, session=session).record.verdict

        yield judge


def changed(found: str, put: str) -> str:
    assert BODY.count(found) == 1
    return BODY.replace(found, put)


def test_outputs_of_every_kind_are_the_reference_s(judged):
    verdict = judged(BODY)
    assert verdict.kind == "correct", verdict
    assert verdict.repeatable == "bitwise"


def test_the_layout_of_an_output_and_the_order_of_keys_are_free(judged):
    body = BODY
    for found, put in {
        "rows.sum(0).expand(4, 6)": "rows.sum(0).repeat(4, 1)",
        "rows[0].as_strided((3, 4), (1, 1))": "torch.stack([rows[0, at : at + 4] for at in range(3)])",
        "torch.max(rows, dim=1)": "tuple(torch.max(rows, dim=1))",
        "[rows, rows[1:]]": "[rows.clone(), rows.clone()[1:]]",
        "torch.complex(rows, -rows).conj()": "torch.complex(rows, rows)",
        "rows.t()": "rows.t().contiguous()",
        '"nothing": rows[:0],': "",
        '"expanded"': '"nothing": torch.empty(0, 6), "expanded"',
    }.items():
        assert body.count(found) == 1
        body = body.replace(found, put)
    assert judged(body).kind == "correct"


@pytest.mark.parametrize(
    ("found", "put", "reason", "named"),
    [
        ("rows.sum(0).expand(4, 6)", "rows.sum(0).expand(5, 6)", "shape", "output['expanded']"),
        ("rows.to(torch.float8_e4m3fn)", "rows.to(torch.float8_e5m2)", "dtype", "output['eighth']"),
        ("rows.to(torch.bfloat16)", "(rows * 1.1).to(torch.bfloat16)", "values", "output['brain']"),
        ("+ 2**60", "+ 2**60 + (x > 0.9)", "values", "output['far']"),
        ("torch.complex(rows, -rows).conj()", "torch.complex(rows, -rows)", "values", "output['complex'].imag"),
        ("rows.mean()", "rows.mean().view(1)", "shape", "output['number']"),
        ("rows[:0]", "rows[:, :0]", "shape", "output['nothing']"),
        ("(None, True,", "(None, 1,", "structure", "output['scalars'][1]"),
        ("True, 1,", "True, 1.0,", "structure", "output['scalars'][2]"),
        ("(None, True", "(0, True", "structure", "output['scalars'][0]"),
        ('float("inf")', '-float("inf")', "values", "output['scalars'][5]"),
        ('float("nan")', "0.0", "values", "output['scalars'][6]"),
        ("[rows, rows[1:]]", "[rows]", "structure", "output['shared']"),
        ('"nothing": rows[:0],', "", "structure", "output should be a dict"),
    ],
)
def test_whatever_differs_is_named(judged, found, put, reason, named):
    verdict = judged(changed(found, put))
    assert (verdict.kind, verdict.reason) == ("wrong", reason), verdict
    assert named in verdict.detail


def test_an_output_that_spans_more_than_a_worker_may_have_is_not_copied(judged):
    body = """
        import mmap

        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self.reserved = mmap.mmap(-1, 17 << 30, flags=private, prot=mmap.PROT_READ)  # addresses without memory
        values = torch.frombuffer(self.reserved, dtype=torch.float32)
        return values[:: values.numel() - 1]
"""
    verdict = judged(body)
    assert (verdict.kind, verdict.reason) == ("failed", "protocol")
    assert "more than a worker may have" in verdict.detail
