"""Where everything lies that can be made again: built kernels, prepared toolchains, what is known of problems."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/kernel-harness`, by the XDG base directory specification."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "kernel-harness"
