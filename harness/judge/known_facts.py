"""Known: what was found out once about problems on this machine, kept in the cache as one file each."""

import hashlib
import json
import os
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from harness.cache_folder import cache_folder
from harness.schema.base import Frozen
from harness.schema.record import Environment

F = TypeVar("F", bound=Frozen)
MOST_HERE = 4096
"""Facts that a process keeps in its memory: problems and settings may be a caller's own, and a file has each."""


def key_of(environment: Environment, device: str, *parts: str) -> str:
    """Equal for equal parts on an equal device, driver, torch and harness."""
    machine = (environment.harness, environment.torch, environment.cuda, environment.driver, device)
    return hashlib.sha256(json.dumps([*machine, *parts]).encode()).hexdigest()


class Known(Generic[F]):
    """Facts of one kind by key. A file that cannot be read or written is none: it is found out again."""

    def __init__(self, folder: str, kind: type[F], *, root: Path | None = None) -> None:
        self._root = (root or cache_folder()) / folder
        self._kind = kind
        self._here: dict[str, F] = {}

    def find(self, key: str) -> F | None:
        if key in self._here:
            return self._here[key]
        try:
            fact = self._kind.model_validate_json((self._root / f"{key}.json").read_bytes())
        except (OSError, ValidationError):
            return None
        self._remember(key, fact)
        return fact

    def _remember(self, key: str, fact: F) -> None:
        self._here[key] = fact
        if len(self._here) > MOST_HERE:
            del self._here[next(iter(self._here))]

    def keep(self, key: str, fact: F) -> None:
        self._remember(key, fact)
        partial = self._root / f".{key}.{os.getpid()}"
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            partial.write_text(fact.model_dump_json())
            partial.replace(self._root / f"{key}.json")
        except OSError:
            return  # a full or read-only disk: known to this process alone
