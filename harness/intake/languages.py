"""Which languages a candidate is written in, and whether its source tells that it has kernels of its own."""

from harness.intake.python_source import Unparsable, parse
from harness.languages import PYTORCH, code_of, foreign_imports, languages_in, mentioned_in


def languages_of(source: str) -> tuple[str, ...]:
    """The languages of a candidate's own kernels, by the table of `harness.languages`; () for what is no Python."""
    tree = parse(source)
    return () if isinstance(tree, Unparsable) else languages_in(code_of(tree))


def writes_kernels(source: str) -> bool | None:
    """Whether a candidate's source has kernels in a language of the table.

    None where it has none and imports a module through which some may come in a language that has no row: then only
    a profile can tell.
    """
    tree = parse(source)
    if isinstance(tree, Unparsable):
        return False
    code = code_of(tree)
    if languages_in(code) != (PYTORCH.name,):
        return True
    return None if foreign_imports(code) else False


def mentions(source: str, word: str) -> bool:
    """Whether a candidate's code has `word` in a name or a string; anywhere in the text where that is no Python."""
    tree = parse(source)
    return word in source and (isinstance(tree, Unparsable) or mentioned_in(tree, word))
