"""What is read of preprocessed headers."""

import re
from pathlib import Path

from harness.compile.visible import Visible, c_headers, compared, definitions, read_macros

PRINTED = """# 1 "main.cpp"
#define BOTH 1
#define CHECK(a,b) a + b
#define GONE
#undef GONE
#define EMPTY
# 1 "/usr/include/x86_64-linux-gnu/sys/time.h" 1 3 4
# 1 "/usr/include/x86_64-linux-gnu/bits/time.h" 1 3 4
# 1 "/usr/include/c++/12/cmath" 1 3
# 1 "/usr/include/math.h" 1 3 4
# 2 "/usr/include/math.h" 1 3 4
# 1 "/usr/include/features-time64.h" 1 3 4
"""


def test_macros_are_those_that_are_left_at_the_end() -> None:
    assert read_macros(PRINTED) == {"BOTH": (False, "1"), "CHECK": (True, "(a,b) a + b"), "EMPTY": (False, "")}


def test_headers_of_the_c_library_are_those_that_may_be_included() -> None:
    assert c_headers(PRINTED) == ["sys/time.h", "math.h"]


def test_definitions_can_be_written_again() -> None:
    written = definitions(read_macros(PRINTED), re.compile("CHECK|BOTH"))
    assert read_macros(written) == {"BOTH": (False, "1"), "CHECK": (True, "(a,b) a + b")}


def test_what_one_side_alone_defines_and_what_a_condition_may_find_otherwise_are_told_apart(tmp_path: Path) -> None:
    stock = {"ALIKE": (False, "1"), "THEIRS": (True, "(a) a"), "VALUE": (False, "2"), "PART": (False, "3")}
    least = {"ALIKE": (False, "1"), "OURS": (False, ""), "VALUE": (False, "1"), "SLIM_HALF": (False, "")}
    visible = compared(stock, least, {**least, "PART": (False, "3")})
    assert visible.macros == {"THEIRS": True, "OURS": False}
    assert visible.uncertain == {"THEIRS", "OURS", "VALUE", "PART", "SLIM_HALF"}
    visible.write(tmp_path / "visible.json")
    assert Visible.read(tmp_path / "visible.json") == visible
