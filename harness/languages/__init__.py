"""Languages that kernels may be written in: one row each, read by screening, judge, prompts and command line."""

from harness.languages.code import Code, code_of, foreign_imports, mentioned_in
from harness.languages.profile import defined_kernels, is_own_kernel
from harness.languages.row import Language
from harness.languages.table import LANGUAGES, PYTORCH, languages_in, prompted

__all__ = [
    "LANGUAGES",
    "PYTORCH",
    "Code",
    "Language",
    "code_of",
    "defined_kernels",
    "foreign_imports",
    "is_own_kernel",
    "languages_in",
    "mentioned_in",
    "prompted",
]
