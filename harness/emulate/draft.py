"""A source while it is being rewritten: its tokens, and beside each the text that takes its place."""

from dataclasses import dataclass, field

from harness.emulate.scopes import places
from harness.emulate.tokens import match_brackets, next_code, tokenize


class NotEmulated(Exception):
    """The source uses something that has no emulation: `construct`, on the 1-based `line`."""

    def __init__(self, construct: str, line: int) -> None:
        super().__init__(f"{construct} (line {line}) is not emulated on the CPU")
        self.construct = construct
        self.line = line


@dataclass
class Draft:
    """The tokens of a source; `out` holds what is written for each, at first the token itself.

    No token that holds a newline is ever replaced, so lines stay where they are. `partners` pairs the brackets, `nulls`
    are those that no launch has looked at, `launched` the brackets around the arguments of launches.
    """

    source: str
    notes: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tokens = list(tokenize(self.source))
        self.places = places(self.tokens)
        self.partners = match_brackets(self.tokens)
        self.nulls = [index for index, token in enumerate(self.tokens) if token.text == "NULL"]
        self.launched: list[int] = []
        self.out = [token.text for token in self.tokens]

    def text(self, index: int | None) -> str:
        """The source's text at `index`; "" where there is none."""
        return self.tokens[index].text if index is not None and 0 <= index < len(self.tokens) else ""

    def after(self, index: int) -> int | None:
        return next_code(self.tokens, index + 1)

    def before(self, index: int) -> int | None:
        return next_code(self.tokens, index - 1, -1)

    def blank(self, first: int, last: int) -> None:
        """Removes the code from `first` to `last`, both included. What separates it stays, newlines among it."""
        for index in range(first, last + 1):
            if self.tokens[index].is_code:
                self.out[index] = ""

    def note(self, what: str, index: int) -> None:
        self.notes.setdefault(what, []).append(self.tokens[index].line)

    def substitutions(self) -> tuple[str, ...]:
        return tuple(
            f"{what} ({f'{len(lines)} times, lines' if len(lines) > 1 else 'line'} {', '.join(map(str, lines))})"
            for what, lines in self.notes.items()
        )

    def code_before(self, index: int, count: int) -> list[int]:
        """Up to `count` code tokens before `index`, in the source's order."""
        found: list[int] = []
        at = self.before(index)
        while at is not None and len(found) < count:
            found.insert(0, at)
            at = self.before(at)
        return found
