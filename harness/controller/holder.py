"""Holder: what belongs to the process that made it, and to none of its forks."""

import os

from harness.errors import SandboxError


class Holder:
    """The process that made something. A fork of it shares its sockets, where an answer could go to either, and has
    none of its threads.
    """

    def __init__(self, what: str) -> None:
        """`what` it is that a fork may not use, with its article ("an Evaluator")."""
        self._what, self._pid = what, os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether this is the process that made it."""
        return os.getpid() == self._pid

    def require(self) -> None:
        """Raises SandboxError in a fork."""
        if not self.is_here:
            what = self._what[0].upper() + self._what[1:]
            raise SandboxError(f"{what} cannot be used in a fork of the process that made it: make one there.")
