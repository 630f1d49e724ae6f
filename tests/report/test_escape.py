import json

import pytest

from harness.report.escape import csv_cell, json_text, markdown_cell, one_cell, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines\tand é 中 ✓", "two\nlines\tand é 中 ✓"),
        ("dos\r\nline", "dos\nline"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("overwritten\rover", "overwritten\\rover"),
        ("\x9b2J", "\\x9b2J"),
        ("user\u202etxt.exe", "user\\u202etxt.exe"),
        ("lone \ud800", "lone \\ud800"),
    ],
)
def test_a_terminal_is_shown_what_it_would_otherwise_obey(text, shown):
    assert plain(text) == shown


INVISIBLE = [
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
    *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
]


def test_names_that_differ_in_what_shows_nothing_do_not_look_alike():
    """Marks and letters that no font draws: a row could take the name of another's model."""
    for code in INVISIBLE:
        name = f"gpt{chr(code)}-5"
        escape = chr(code).encode("unicode_escape").decode()
        for shown in (plain(name), one_cell(name), csv_cell(name)):
            assert shown == f"gpt{escape}-5"
        assert "\\" in markdown_cell(name)
        assert json_text(json.dumps(name, ensure_ascii=False)) == json.dumps(name)


def test_marks_and_letters_that_show_stay():
    for text in ("é", "e\u0301", "中", "한글", "\u0e01\u0e33", "\u0b95\u0bcd", "✓", "☀"):
        assert plain(text) == text


def test_a_cell_is_one_line():
    assert one_cell("  a\n\n b\tc  ") == "a b c"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a|b", "a\\|b"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("[click](https://x.y)", "`[click](https://x.y)`"),
        ("`code` *b* _i_ ~s~ $m$", "&#96;code&#96; \\*b\\* \\_i\\_ \\~s\\~ \\$m\\$"),
        ("a\\|b", "a\\\\\\|b"),
        ("line\nbreak", "line break"),
        ("at www.evil.example/login", "at `www.evil.example/login`"),
        ("me@evil.example", "`me@evil.example`"),
        ("Qwen/Qwen3-8B @torvalds", "Qwen/Qwen3-8B `@torvalds`"),
        ("torvalds/linux#1 GH-1", "`torvalds/linux#1` `GH-1`"),
        ("a@b`c@d|#1\\#2<#3", "`a@b`&#96;`c@d`\\|`#1`\\\\`#2`&lt;`#3`"),
        ("https://x.y/?a=1&b=_2_", "`https://x.y/?a=1`&amp;b=\\_2\\_"),
        ("&#64;user", "&amp;`#64;user`"),
    ],
)
def test_a_markdown_cell_means_nothing_but_itself(text, cell):
    assert markdown_cell(text) == cell


@pytest.mark.parametrize("text", ["=HYPERLINK()", "+1", "-1", "@SUM(A1)", "\tx", "\n=1", "\uff1d1+1", "\uff20SUM(A1)"])
def test_a_csv_cell_is_no_formula(text):
    assert csv_cell(text) == f"'{text}"


def test_a_harmless_csv_cell_stays_as_it_is():
    assert csv_cell("gpt-4, o=1") == "gpt-4, o=1"


@pytest.mark.parametrize("text", ["\x9b2J", "user\u202etxt.exe", "\x1b[31m é 中", "tag \U000e0041", "two\nlines"])
def test_json_means_the_same_and_holds_nothing_that_a_terminal_obeys(text):
    shown = json_text(json.dumps({"a": text}, ensure_ascii=False, indent=2))
    assert json.loads(shown) == {"a": text}
    assert plain(shown) == shown
