"""Where problems come from. Problem code is read, never run, and torch is never imported."""

from harness.catalog.catalog import Catalog, open_catalog, read_problem
from harness.catalog.settings import apply_settings, numeric_settings

__all__ = ["Catalog", "apply_settings", "numeric_settings", "open_catalog", "read_problem"]
