"""Landlock: the kernel's own allow-list of files, and since version 6 of signals and abstract sockets.

Constants from linux/landlock.h; the meaning of each version from Documentation/userspace-api/landlock.rst.
"""

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from harness.sandbox import linux

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_ALL_V1 = (1 << 13) - 1
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_ADDED: Final = {2: _REFER, 3: _TRUNCATE, 5: _IOCTL_DEV}
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_BIND_AND_CONNECT_TCP = 0b11  # version 4
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11  # version 6
SCOPES_SIGNALS: Final = 6
_RULE_PATH_BENEATH = 1
_CREATE_RULESET_VERSION = 1


def abi() -> int:
    """The version that this kernel speaks, 0 where it has none."""
    if not linux.SUPPORTED:
        return 0
    try:
        return linux.syscall("landlock_create_ruleset", None, 0, _CREATE_RULESET_VERSION)
    except OSError:
        return 0


def restrict(
    *,
    readable: Iterable[str],
    writable: Iterable[str],
    devices: Iterable[str],
    writable_files: Iterable[str],
    hidden: Collection[str] = (),
) -> int:
    """Confine this thread and what it forks: read and execute below `readable`, everything below `writable`.

    Nothing below `hidden`, real paths, can be read by way of a readable folder around it. A rule allows all that lies
    below, so that its neighbours on the way there are named one by one, as they are now; the names of files in it can
    be listed. `devices` may be read, written and controlled; existing files below `writable_files` may be written.
    Paths that do not exist are passed over. TCP, signals and abstract sockets to the outside are refused where the
    version knows them. Returns the version. Needs no_new_privs. Raises OSError where the kernel has no Landlock.
    """
    version = linux.syscall("landlock_create_ruleset", None, 0, _CREATE_RULESET_VERSION)
    handled = _ALL_V1 | sum(bits for since, bits in _ADDED.items() if since <= version)
    attributes = struct.pack("=Q", handled)
    if version >= 4:
        attributes += struct.pack("=Q", _BIND_AND_CONNECT_TCP)
    if version >= SCOPES_SIGNALS:
        attributes += struct.pack("=Q", _ABSTRACT_SOCKETS_AND_SIGNALS)
    ruleset = linux.syscall(
        "landlock_create_ruleset", ctypes.create_string_buffer(attributes, len(attributes)), len(attributes), 0
    )
    try:
        seen: set[str] = set()
        for folder in map(os.path.realpath, readable):
            for path, rights in _around(folder, hidden, seen):
                _allow(ruleset, path, rights & handled)
        for paths, rights in (
            (writable, handled),
            (devices, _READ_FILE | _WRITE_FILE | _IOCTL_DEV),
            (writable_files, _READ | _WRITE_FILE | _TRUNCATE),
        ):
            for path in paths:
                _allow(ruleset, path, rights & handled)
        linux.syscall("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def _around(path: str, hidden: Collection[str], seen: set[str]) -> Iterator[tuple[str, int]]:
    """The paths to allow, and for what, so that all below `path` can be read but `hidden`; none that was `seen`."""
    ways = {one.removeprefix(path + "/").partition("/")[0] for one in hidden if one.startswith(path + "/")}
    if path in hidden or path in seen:
        return
    seen.add(path)
    if not ways:
        yield path, _READ
        return
    yield path, _READ_DIR
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            if entry.name in ways:
                yield from _around(entry.path, hidden, seen)
            elif not entry.is_symlink():  # or what it leads to would be allowed
                yield entry.path, _READ


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _OF_A_FILE
        linux.syscall("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)
