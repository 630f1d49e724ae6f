"""Fenced blocks: CommonMark's rules, and where they are bent."""

import pytest

from harness.intake.markdown import fenced_blocks, has_more_fences


def codes(text: str) -> list[tuple[str, str]]:
    return [(text[block.start : block.end], block.fate) for block in fenced_blocks(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\na\n```\n", [("a\n", "closed")]),
        ("```\na\n```", [("a\n", "closed")]),
        ("```\n```", [("", "closed")]),
        ("```\na", [("a", "open")]),
        ("~~~\n```\n~~~\n", [("```\n", "closed")]),
        ("````\n```\n````\n", [("```\n", "closed")]),
        ("```\na\n`````\n", [("a\n", "closed")]),
        ("```\na\n  ```  \n", [("a\n", "closed")]),
        ("a `` b\n`x`\n``\n", []),
        ("``` not`a fence\n", []),
        ("```py\na\n```py\nb\n```\n", [("a\n", "interrupted"), ("b\n", "closed")]),
        ("````md\n```py\na\n```\n````\n", [("```py\na\n```\n", "closed"), ("a\n", "closed")]),
        ("````md\n```py\na\n````\n", [("```py\na\n", "closed"), ("a\n", "interrupted")]),
        ("x ```python\na\n```\n", [("a\n", "closed")]),
        ("```\nx ```python\n```\n", [("x ```python\n", "closed")]),
        ("```\na\n```</s>\n", [("a\n", "closed")]),
        ("```<|im_end|>\n", []),
        ("```\n", []),
        ("```\na\n```\n```\n \n", [("a\n", "closed")]),
        ("```py\n", [("", "open")]),
    ],
)  # fmt: skip
def test_blocks_start_and_end_where_a_reader_sees_them(text: str, expected: list[tuple[str, str]]) -> None:
    assert codes(text) == expected


@pytest.mark.parametrize("quotes", ['"""', "'''", 'r"""', "x = f'''"])
def test_a_fence_inside_a_string_is_text_where_the_longer_block_is_python(quotes: str) -> None:
    code = f"{quotes}\n```\ninside\n```\n{quotes[-3:]}\n"
    assert codes(f"```python\n{code}```\n") == [(code, "closed")]


def test_quotes_that_open_no_string_do_not_swallow_the_fence() -> None:
    for line in ('# it\'s """', 's = \'"""\'', "s = \"'''\"", "t = 'a' 'b' '''c'''"):
        assert codes(f"```python\n{line}\n```\nMore.\n```python\nb\n```\n")[0] == (f"{line}\n", "closed")


def test_a_string_that_never_ends_is_the_blocks_own_fault() -> None:
    assert codes("```python\n'''\n```\nMore.\n```python\nb\n```\n") == [("'''\n", "closed"), ("b\n", "closed")]


def test_lines_languages_and_indents_are_those_of_the_text() -> None:
    first, second = fenced_blocks("a\n```Python title=x\nb\n```\n\n   ~~~\n   c\n   ~~~\n")
    assert (first.language, first.first_line, first.indent) == ("python", 3, 0)
    assert (second.language, second.first_line, second.indent) == ("", 7, 3)


def test_fences_are_counted_up_to_a_limit() -> None:
    assert has_more_fences("```\n" * 3, 2)
    assert not has_more_fences("```\n" * 3, 3)
