"""Whom an error of a compiler's log is about."""

import pytest
from sides import refused_labels


@pytest.mark.parametrize(
    ("log", "labels"),
    [
        ("s3:1:5: error: no\n  1 | x\ns3:1:5: note: here\ns4:2:1: warning: unused", {"s3"}),
        ("s5: In function 'int s5_::f()':\n/include/check.h:67:20: error: no match", {"s5"}),
        ("/pybind11.h: In instantiation:\ns6:9:1:   required from here\n/pybind11.h:601:5: error: no", {"s6"}),
        ('s7(3): error: identifier "x" is undefined\n\ns8(1): warning #177-D: unused', {"s7"}),
        ('/a.h(12): error: no operator\n  detected during instantiation of "f" at line 3 of "s9"\n', {"s9"}),
        ("s1:1:1: error: a\ns2:1:1: error: b", {"s1", "s2"}),
        ("cc1plus: all warnings being treated as errors", set()),
    ],
    ids=["in it", "in a macro", "in a template", "nvcc", "nvcc, in a header", "two", "nobody"],
)  # fmt: skip
def test_it_is_found(log: str, labels: set[str]) -> None:
    assert refused_labels(log) == labels
