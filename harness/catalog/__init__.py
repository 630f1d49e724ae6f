"""Where problems come from. Problem code is read, never run, and torch is never imported."""

from harness.catalog.catalog import Catalog, open_catalog, read_problem, text_problem
from harness.catalog.dataset import KERNELBENCH, fetch
from harness.catalog.needs import Needs, needs, needy
from harness.catalog.settings import apply_settings, numeric_settings

__all__ = [
    "KERNELBENCH",
    "Catalog",
    "Needs",
    "apply_settings",
    "fetch",
    "needs",
    "needy",
    "numeric_settings",
    "open_catalog",
    "read_problem",
    "text_problem",
]
