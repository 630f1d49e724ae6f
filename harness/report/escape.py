"""Text that a model or a user wrote, made safe for where it is shown."""

import html
import re
import unicodedata

# Controls (a terminal would obey them), and the marks that turn the direction of writing (a reader would be misled).
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# What shows nothing, though it is a mark or a letter: two names that differ in it alone would look alike. Sources:
# Unicode 15.1, DerivedCoreProperties.txt, Default_Ignorable_Code_Point, and U+2800, a braille pattern without a dot.
_INVISIBLE = frozenset(
    code
    for first, last in (
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2800, 0x2800),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)
_MARKDOWN = re.compile(r"[\\*_\[\]|~$]")
_RUNS = re.compile(r"[^\s\\`|<>&]+|[\s\\`|<>&]")
"""Runs that code can hold as they are, and each character between them."""
_LINKED = re.compile(r"[@#]|://|www\.|\bGH-[0-9]", re.IGNORECASE)
"""In what GitHub makes links and mentions of: addresses with and without a scheme, of e-mail too, `@user`,
`owner/repo#1`, `GH-1`. Escapes and entities do not prevent it, since it looks at the text that they stand for. Not
among it: the hash of a commit, a link where there is that commit."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - spreadsheets take them alike


def plain(text: str) -> str:
    """`text` for a terminal: line ends and tabs stay, whatever else is not printed is shown as its escape."""
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(_visible(character) for character in text)


def one_cell(text: str) -> str:
    """`text` on one line: what `plain` does, with every run of white space made one space."""
    return " ".join(plain(text).split())


def markdown_cell(text: str) -> str:
    """`text` for a cell of a Markdown table: it means nothing but itself, no link, no HTML, no further column.

    What would be a link or a mention stands there as code.
    """
    return "".join(_meaning_nothing(run) for run in _RUNS.findall(one_cell(text)))


def _meaning_nothing(run: str) -> str:
    if _LINKED.search(run):
        return f"`{run}`"
    return _MARKDOWN.sub(r"\\\g<0>", html.escape(run, quote=False).replace("`", "&#96;"))


def csv_cell(text: str) -> str:
    """`text` for a cell of a CSV file: a spreadsheet does not take it for a formula.

    Source: OWASP, "CSV Injection": an apostrophe before the characters that start a formula.
    """
    text = plain(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def json_text(text: str) -> str:
    """JSON that means the same and that a terminal does not obey: what is not printed stands there as its escape."""
    if text.isascii():
        return text
    return "".join(_escaped(character) for character in text)


def _is_printed(character: str) -> bool:
    return unicodedata.category(character) not in _UNPRINTABLE and ord(character) not in _INVISIBLE


def _escaped(character: str) -> str:
    if character == "\n" or _is_printed(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _visible(character: str) -> str:
    if character in "\n\t" or _is_printed(character):
        return character
    return character.encode("unicode_escape").decode()
