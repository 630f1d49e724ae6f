"""Logs: what each process does, one line an event, for people who operate the harness. Silent unless asked for.

    HARNESS_LOG=info                to standard error
    HARNESS_LOG=debug:/tmp/h.log    appended to a file

Only the controller writes. What the prepared process, the supervisors, the workers and the compilers do is logged by
the process that started them; a judge hands its lines to the controller over its own channel, which no worker has. The
variable, the file's name and its descriptor are in no worker and in no compiler. Sources, inputs, seeds, tokens and
environments are never logged. Programs that use the library may configure the logger "harness" themselves instead.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from harness.errors import InputError

VARIABLE = "HARNESS_LOG"
Level = Literal["", "info", "debug"]
_LEVELS: dict[str, int] = {"info": logging.INFO, "debug": logging.DEBUG}
_ROOT = logging.getLogger("harness")
_ROOT.addHandler(logging.NullHandler())
_SUBMISSION: ContextVar[str] = ContextVar("submission", default="-")
_FORMAT = "%(asctime)s.%(msecs)03d %(word)-5s %(room)-10s %(origin)s [%(submission)s] %(message)s"


def logger(room: str) -> logging.Logger:
    """The logger of a room of the house."""
    return logging.getLogger(f"harness.{room}")


@contextmanager
def about(submission: str) -> Iterator[None]:
    """Within the block, and on this thread, events are of the submission with this id."""
    token = _SUBMISSION.set(_in_one_line(submission))
    try:
        yield
    finally:
        _SUBMISSION.reset(token)


def configure(environment: Mapping[str, str] = os.environ) -> None:
    """Have the controller write what `HARNESS_LOG` asks for; nothing where it is unset, and once where called twice.

    Raises InputError where its value means nothing or its file cannot be written.
    """
    asked = environment.get(VARIABLE, "")
    if not asked or any(isinstance(handler, _Asked) for handler in _ROOT.handlers):
        return
    level, _, path = asked.partition(":")
    if level not in _LEVELS:
        raise InputError(f"{VARIABLE} is {asked!r}: give info, debug, info:FILE or debug:FILE")
    try:
        handler = _Asked(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if path else None)
    except OSError as error:
        raise InputError(f"{VARIABLE} names {path}, which cannot be written: {error.strerror}") from error
    _ROOT.addHandler(handler)
    _ROOT.setLevel(_LEVELS[level])


def wanted() -> Level:
    """What the controller would write, to be told to a judge; "" where it would write nothing."""
    for name in ("debug", "info"):
        if _ROOT.isEnabledFor(_LEVELS[name]):
            return "debug" if name == "debug" else "info"
    return ""


def relay(level: Level, send: Callable[[str, Level, str], None]) -> None:
    """In a judge: hand each event's room, level and text to `send`."""
    if level:
        _ROOT.addHandler(_Relayed(send))
        _ROOT.setLevel(_LEVELS[level])


def relayed(room: str, level: Level, text: str, *, origin: str) -> None:
    """In the controller: log an event of another process of ours, which `origin` names."""
    logging.getLogger(room).log(_LEVELS[level or "info"], "%s", text, extra={"origin": origin})


class _Asked(logging.Handler):
    """Writes lines to a descriptor, each with one call; standard error where there is none. A full disk is ignored."""

    def __init__(self, descriptor: int | None) -> None:
        super().__init__()
        self._descriptor = descriptor
        self.setFormatter(logging.Formatter(_FORMAT, datefmt="%Y-%m-%dT%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        record.room = record.name.removeprefix("harness.")
        record.origin = getattr(record, "origin", f"controller:{os.getpid()}")
        record.submission = _SUBMISSION.get()
        record.word = record.levelname.lower()
        line = _in_one_line(self.format(record))
        try:
            if self._descriptor is None:
                print(line, file=sys.stderr, flush=True)
            else:
                os.write(self._descriptor, f"{line}\n".encode("utf-8", "replace"))
        except (OSError, ValueError):  # of a log that cannot be written nothing depends
            return


class _Relayed(logging.Handler):
    """Hands events on."""

    def __init__(self, send: Callable[[str, Level, str], None]) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        level: Level = "debug" if record.levelno <= logging.DEBUG else "info"
        self._send(record.name, level, _in_one_line(record.getMessage()))


def _in_one_line(text: str) -> str:
    """`text` without what would begin another line or steer a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)
