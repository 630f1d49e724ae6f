"""Where everything lies that can be made again: built kernels, prepared toolchains, what is known of problems."""

import os
from pathlib import Path

from harness.errors import InputError


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/kernel-harness`, by the XDG base directory specification.

    Raises InputError where neither that nor a home is known.
    """
    if home := os.environ.get("XDG_CACHE_HOME"):
        return Path(home) / "kernel-harness"
    try:
        return Path.home() / ".cache" / "kernel-harness"
    except RuntimeError:  # no HOME, and no entry in passwd
        raise InputError("this user has no home folder: set XDG_CACHE_HOME to a folder that it may write") from None
