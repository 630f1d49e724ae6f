"""The system calls that Python's `os` does not offer, by ctypes. x86-64 and aarch64.

Every function raises OSError with the kernel's errno.
"""

import ctypes
import os
import signal
import struct
from typing import Final

MACHINE: Final = os.uname().machine
SUPPORTED: Final = MACHINE in ("x86_64", "aarch64")

CLONE_NEWNS: Final = 0x0002_0000
CLONE_NEWCGROUP: Final = 0x0200_0000
CLONE_NEWUTS: Final = 0x0400_0000
CLONE_NEWIPC: Final = 0x0800_0000
CLONE_NEWUSER: Final = 0x1000_0000
CLONE_NEWPID: Final = 0x2000_0000
CLONE_NEWNET: Final = 0x4000_0000
_CLONE_INTO_CGROUP: Final = 0x2_0000_0000

MS_RDONLY: Final = 1
MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_REMOUNT: Final = 32
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
MNT_DETACH: Final = 2

MOUNT_ATTR_RDONLY: Final = 1
MOUNT_ATTR_NOSUID: Final = 2
MOUNT_ATTR_NODEV: Final = 4

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_DROP: Final = 24
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
PR_CAP_AMBIENT: Final = 47
PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
PR_SET_PTRACER: Final = 0x59616D61

# The numbers of calls newer than Linux 5.1 are the same on both machines.
_NUMBERS: Final = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "pivot_root": (155, 41),
    "capset": (126, 91),
    "mount_setattr": (442, 442),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}
_AT_FDCWD: Final = -100
_AT_RECURSIVE: Final = 0x8000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _number(name: str) -> int:
    return _NUMBERS[name][0 if MACHINE == "x86_64" else 1]


def _checked(result: int, what: str) -> int:
    if result < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{what}: {os.strerror(errno)}")
    return result


def _argument(value: "int | bytes | ctypes.Array[ctypes.c_char] | None") -> object:
    return ctypes.c_long(value) if isinstance(value, int) else value


def syscall(name: str, *arguments: "int | bytes | ctypes.Array[ctypes.c_char] | None") -> int:
    """One of the calls of the table above."""
    return _checked(_libc.syscall(ctypes.c_long(_number(name)), *map(_argument, arguments)), name)


def prctl(option: int, *arguments: int) -> int:
    """prctl(2); arguments left out are zero."""
    padded = (*arguments, *([0] * (4 - len(arguments))))
    return _checked(_libc.prctl(ctypes.c_int(option), *map(ctypes.c_ulong, padded)), f"prctl {option}")


def fork_with(flags: int, group: int | None = None) -> int:
    """fork(2) into the new namespaces named by `flags` and the cgroup v2 (Linux 5.7) whose folder is open as `group`.

    Like os.fork otherwise. For single-threaded processes. `unshare` and then fork would move the caller as well, which
    has to stay outside: to see host pids and to kill.
    """
    if not flags and group is None:
        return os.fork()
    # PyDLL keeps the interpreter's lock, as os.fork does; the three calls around it are those that os.fork makes.
    python = ctypes.pythonapi
    libc = ctypes.PyDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    if group is None:
        call = "clone"
        arguments: list[object] = [ctypes.c_long(flags | signal.SIGCHLD), *[ctypes.c_long(0)] * 4]
    else:  # struct clone_args: flags, three pointers, the signal, stack and its size, tls, two of pids, the group
        call = "clone3"
        packed = struct.pack("=11Q", flags | _CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, group)
        arguments = [ctypes.c_char_p(packed), ctypes.c_long(len(packed))]
    python.PyOS_BeforeFork()
    pid: int = libc.syscall(ctypes.c_long(_number(call)), *arguments)
    errno = ctypes.get_errno()
    if pid == 0:
        python.PyOS_AfterFork_Child()
        return 0
    python.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(errno, f"{call}: {os.strerror(errno)}")
    return pid


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str | None = None) -> None:
    """mount(2)."""
    _checked(
        _libc.mount(
            os.fsencode(source),
            os.fsencode(target),
            kind.encode() if kind else None,
            ctypes.c_ulong(flags),
            options.encode() if options else None,
        ),
        f"mount {target}",
    )


def unmount(target: str) -> None:
    """Detach a mount, lazily."""
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    """pivot_root(2)."""
    syscall("pivot_root", os.fsencode(new), os.fsencode(old))


def set_mount_attributes(target: str, attributes: int) -> None:
    """Set `attributes` on the mount at `target` and all below it (Linux 5.12)."""
    packed = ctypes.create_string_buffer(
        attributes.to_bytes(8, "little") + bytes(24), 32
    )  # struct mount_attr: attr_set, attr_clr, propagation, userns_fd
    syscall("mount_setattr", _AT_FDCWD, os.fsencode(target), _AT_RECURSIVE, packed, 32)


def drop_capabilities() -> None:
    """Give up every capability, and the chance to get one back by exec."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one that this kernel knows, or not ours to drop (then no_new_privs holds instead)


def clear_capabilities() -> None:
    """Empty the effective, permitted and inheritable sets of this thread."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = ctypes.create_string_buffer((0x20080522).to_bytes(4, "little") + bytes(4), 8)  # version 3, this thread
    syscall("capset", header, ctypes.create_string_buffer(24))


def install_seccomp(program: bytes) -> None:
    """Install a classic BPF program (8 bytes an instruction) as this thread's seccomp filter."""
    code = ctypes.create_string_buffer(program, len(program))

    class SockFprog(ctypes.Structure):
        _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    filter_ = SockFprog(len(program) // 8, ctypes.cast(code, ctypes.c_void_p))
    seccomp_mode_filter = 2
    _checked(
        _libc.prctl(
            ctypes.c_int(PR_SET_SECCOMP),
            ctypes.c_ulong(seccomp_mode_filter),
            ctypes.byref(filter_),
            ctypes.c_ulong(0),
            ctypes.c_ulong(0),
        ),
        "seccomp",
    )
