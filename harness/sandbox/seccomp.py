"""The deny-list of system calls, as a classic BPF program built by hand.

A deny-list, because CUDA, Triton and compilers use hundreds of calls that nobody has listed; what is denied is what
reaches other processes, the kernel's less trodden corners, or out of the namespaces. Every denied call answers EPERM,
except clone3, whose ENOSYS makes the C library use clone, whose flags can be looked at. Numbers from the kernel's
tables (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h), as (x86-64, aarch64).
"""

import errno
import os
import struct
from typing import Final

_ABSENT: Final = -1
DENIED: Final = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # the kernel's corners
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18),
    "memfd_secret": (447, 447),
    "iopl": (172, _ABSENT),
    "ioperm": (173, _ABSENT),
    "modify_ldt": (154, _ABSENT),
    # the whole machine
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "syslog": (103, 116),
    "vhangup": (153, 58),
}
_CLONE, _CLONE3 = (56, 220), (435, 435)
_PRCTL, _PRLIMIT64 = (157, 167), (302, 261)
_SOCKET, _CONNECT = (41, 198), (42, 203)
_KILL, _TKILL, _TGKILL = (62, 129), (200, 130), (234, 131)
_QUEUED_SIGNALS = ((129, 138), (297, 240), (424, 424))  # rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal
_FCNTL = (72, 25)
# sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr: the process stands first
_SCHEDULING = ((142, 118), (144, 119), (203, 122), (314, 274))
_PRIORITIES = ((141, 140), (251, 30))  # setpriority, ioprio_set: they can name all processes of a user at once

_NEW_NAMESPACES = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_PTRACER = 1, 36, 0x59616D61
_AF_UNIX = 1
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15

# struct seccomp_data: nr, arch, instruction_pointer, args[6]
_NR, _ARCH, _ARGS = 0, 4, 16
_AUDIT_ARCH: Final = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_X32_BIT = 0x4000_0000
_LOAD, _JEQ, _JGE, _JSET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_EPERM, _ENOSYS = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


class Program:
    """Blocks that each look at one call; what no block answers is allowed."""

    def __init__(self, machine: str) -> None:
        self._column = 0 if machine == "x86_64" else 1
        self._code = [
            _op(_LOAD, _ARCH),
            _op(_JEQ, _AUDIT_ARCH[machine], 1, 0),
            _op(_RETURN, _KILL_PROCESS),
            _op(_LOAD, _NR),
        ]
        if machine == "x86_64":  # the x32 numbers would pass every comparison below
            self._code += [_op(_JGE, _X32_BIT, 0, 1), _op(_RETURN, _ENOSYS)]

    def _block(self, numbers: tuple[int, int], body: list[bytes]) -> None:
        number = numbers[self._column]
        if number != _ABSENT:
            self._code += [_op(_JEQ, number, 0, len(body)), *body]

    def deny(self, numbers: tuple[int, int], answer: int = _EPERM) -> None:
        """Whatever its arguments."""
        self._block(numbers, [_op(_RETURN, answer)])

    def deny_if_any_bit(self, numbers: tuple[int, int], argument: int, bits: int) -> None:
        """If the low half of the argument has any of the bits."""
        self._block(
            numbers,
            [_op(_LOAD, _ARGS + 8 * argument), _op(_JSET, bits, 0, 1), _op(_RETURN, _EPERM), _op(_RETURN, _ALLOW)],
        )

    def deny_namespaces(self) -> None:
        """Whichever call could make a new one, but unshare."""
        self.deny(_CLONE3, _ENOSYS)
        self.deny_if_any_bit(_CLONE, 0, _NEW_NAMESPACES)

    def deny_values(self, numbers: tuple[int, int], argument: int, values: tuple[int, ...]) -> None:
        """If the low half of the argument is one of the values."""
        tests = [_op(_JEQ, value, len(values) - index, 0) for index, value in enumerate(values)]
        self._block(numbers, [_op(_LOAD, _ARGS + 8 * argument), *tests, _op(_RETURN, _ALLOW), _op(_RETURN, _EPERM)])

    def allow_values_only(self, numbers: tuple[int, int], argument: int, values: tuple[int, ...]) -> None:
        """Unless the low half of the argument is one of the values."""
        tests = [_op(_JEQ, value, len(values) - index, 0) for index, value in enumerate(values)]
        self._block(numbers, [_op(_LOAD, _ARGS + 8 * argument), *tests, _op(_RETURN, _EPERM), _op(_RETURN, _ALLOW)])

    def bytes(self) -> bytes:
        """The whole program."""
        return b"".join([*self._code, _op(_RETURN, _ALLOW)])


def program(
    *, network: bool, other_processes: bool, signals: bool, pid: int = 0, machine: str = os.uname().machine
) -> bytes:
    """The filter for one worker.

    `network`: whether it has a network namespace of its own, so that sockets need no filter. `other_processes` and
    `signals`: whether something else keeps its hands off the processes of the same user (a pid namespace, a uid of
    its own; for signals Landlock too); where not, calls that name a process may only name `pid` or the caller by 0.
    Raises OSError on machines whose numbers we do not have.
    """
    if machine not in _AUDIT_ARCH:
        raise OSError(errno.ENOSYS, f"no table of system calls for {machine}")
    code = Program(machine)
    for numbers in DENIED.values():
        code.deny(numbers)
    code.deny_namespaces()
    code.deny_values(_PRCTL, 0, (_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_PTRACER))
    if not network:
        code.allow_values_only(_SOCKET, 0, (_AF_UNIX,))
        code.deny(_CONNECT)
    if not other_processes:
        code.allow_values_only(_PRLIMIT64, 0, (0, pid))
        for numbers in _SCHEDULING:
            code.allow_values_only(numbers, 0, (0, pid))
        for numbers in _PRIORITIES:
            code.deny(numbers)
    if not signals:
        for numbers in (_KILL, _TGKILL):
            code.allow_values_only(numbers, 0, (0, pid))
        for numbers in (_TKILL, *_QUEUED_SIGNALS):
            code.deny(numbers)
        code.deny_values(_FCNTL, 1, (_F_SETOWN, _F_SETSIG, _F_SETOWN_EX))
    return code.bytes()
