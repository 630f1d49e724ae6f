"""The deny-list of system calls, as a classic BPF program built by hand.

A deny-list, because CUDA, Triton and compilers use hundreds of calls that are listed nowhere; what is denied is what
reaches other processes, the kernel's less trodden corners, or out of the namespaces. Every denied call answers EPERM,
except clone3, whose ENOSYS makes the C library use clone, whose flags can be looked at. Numbers that are in no table
that was gone through, those of later kernels, answer ENOSYS, as they do on Linux 6.1; x86's uretprobe and uprobe (335,
336) pass every filter and end a process that the kernel did not send there. Numbers from the kernel's tables
(arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h), as (x86-64, aarch64).
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
    "remap_file_pages": (216, 234),
    "vmsplice": (278, 75),
    "io_setup": (206, 0),
    "seccomp": (317, 277),
    "uselib": (134, _ABSENT),
    "ustat": (136, _ABSENT),
    "sysfs": (139, _ABSENT),
    "_sysctl": (156, _ABSENT),
    "nfsservctl": (180, 42),
    # what outlives a process, and what others can see or be seen by
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "inotify_init": (253, _ABSENT),
    "inotify_init1": (294, 26),
    "fanotify_mark": (301, 263),
    # timers that go on while their owner is stopped, and interrupt whatever its core does then
    "timer_create": (222, 107),
    "timerfd_create": (283, 85),
    # the whole machine
    "sync": (162, 81),
    "syncfs": (306, 267),
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
# Rights, owners, times and attributes of files: Landlock keeps no process from those of the same user.
PRETENDED: Final = {
    "chmod": (90, _ABSENT),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, _ABSENT),
    "lchown": (94, _ABSENT),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, _ABSENT),
    "utimes": (235, _ABSENT),
    "futimesat": (261, _ABSENT),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
}
_MODE_ARGUMENT = {"chmod": 1, "fchmod": 1, "fchmodat": 2}
_CLONE, _CLONE3 = (56, 220), (435, 435)
_PRCTL, _PRLIMIT64 = (157, 167), (302, 261)
_SOCKET, _SOCKETPAIR, _CONNECT = (41, 198), (53, 199), (42, 203)
_KILL, _TKILL, _TGKILL = (62, 129), (200, 130), (234, 131)
_QUEUED_SIGNALS = ((129, 138), (297, 240), (424, 424))  # rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal
_FCNTL = (72, 25)
# sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr: the process stands first
_SCHEDULING = ((142, 118), (144, 119), (203, 122), (314, 274))
_PAGES = ((256, 238), (279, 239))  # migrate_pages, move_pages: of any process of the same user
_PRIORITIES = ((141, 140), (251, 30))  # setpriority, ioprio_set: they can name all processes of a user at once

_NEW_NAMESPACES = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000
_CLONE_FILES, _CLONE_THREAD = 0x400, 0x1_0000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER = 1, 4, 22, 36
_PR_SET_PTRACER = 0x59616D61
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_TYPE = 1, 5, 0xF
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY = 8, 10, 15, 1024, 1026
_IOCTL = (16, 29)
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902  # of a socket what F_SETOWN is
_IOCTL_TYPE = 0xFF00
# Flags, projects, versions and verity of a file, snapshots of a folder, what Ceph, bcachefs, SMB and F2FS keep of one
# (layouts, integrity, pins): to its owner, however it is opened
_OF_FILE_SYSTEMS = tuple(letter << 8 for letter in (ord("X"), ord("f"), ord("v"), 0x94, 0x97, 0xBC, 0xCF, 0xF5))

# struct seccomp_data: nr, arch, instruction_pointer, args[6]
_NR, _ARCH, _ARGS = 0, 4, 16
_AUDIT_ARCH: Final = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_FIRST_UNKNOWN = 451
"""The first number that Linux 6.1 does not have. Those of x32 and of no call at all are above it, too."""
_GAP: Final = ((335, 295), 424)
"""Numbers from one of the first, by machine, up to the second are kept for later, or are of 32-bit machines."""
_LOAD, _JEQ, _JGE, _JSET, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
_PRETEND = _ERRNO  # the call is not made, and answers 0
_OWNER_MAY_ALL, _SET_IDS = 0o700, 0o6000
_EPERM, _ENOSYS, _ENOTTY = (_ERRNO | number for number in (errno.EPERM, errno.ENOSYS, errno.ENOTTY))


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
            _op(_JGE, _FIRST_UNKNOWN, 2, 0),
            _op(_JGE, _GAP[1], 2, 0),
            _op(_JGE, _GAP[0][self._column], 0, 1),
            _op(_RETURN, _ENOSYS),
        ]

    def _block(self, numbers: tuple[int, int], body: list[bytes]) -> None:
        number = numbers[self._column]
        if number != _ABSENT:
            self._code += [_op(_JEQ, number, 0, len(body)), *body]

    def deny(self, numbers: tuple[int, int], answer: int = _EPERM) -> None:
        """Whatever its arguments."""
        self._block(numbers, [_op(_RETURN, answer)])

    def deny_namespaces(self) -> None:
        """Whichever call could make a new one, but unshare; and threads whose open files are not their process's.

        Such a thread would hold what does not show when its process is looked at.
        """
        self.deny(_CLONE3, _ENOSYS)
        self._block(
            _CLONE,
            [
                _op(_LOAD, _ARGS),
                _op(_JSET, _NEW_NAMESPACES, 3, 0),
                _op(_JSET, _CLONE_THREAD, 0, 1),
                _op(_JSET, _CLONE_FILES, 0, 1),
                _op(_RETURN, _ALLOW),
                _op(_RETURN, _EPERM),
            ],
        )

    def answer_ioctls(self, *, owners: bool, files: bool) -> None:
        """Refuse those that say which process a socket's signals go to, as `owners`; as `files` those of file systems.

        The latter answer as where a file system knows none of them.
        """
        body = []
        if owners:
            tests = [_op(_JEQ, _FIOSETOWN, 1, 0), _op(_JEQ, _SIOCSPGRP, 0, 1)]
            body += [_op(_LOAD, _ARGS + 8), *tests, _op(_RETURN, _EPERM)]
        if files:
            kinds = [_op(_JEQ, kind, len(_OF_FILE_SYSTEMS) - index, 0) for index, kind in enumerate(_OF_FILE_SYSTEMS)]
            body += [_op(_LOAD, _ARGS + 8), _op(_AND, _IOCTL_TYPE), *kinds, _op(_RETURN, _ALLOW), _op(_RETURN, _ENOTTY)]
        self._block(_IOCTL, [*body, _op(_RETURN, _ALLOW)])

    def deny_values(self, numbers: tuple[int, int], argument: int, values: tuple[int, ...]) -> None:
        """If the low half of the argument is one of the values."""
        tests = [_op(_JEQ, value, len(values) - index, 0) for index, value in enumerate(values)]
        self._block(numbers, [_op(_LOAD, _ARGS + 8 * argument), *tests, _op(_RETURN, _ALLOW), _op(_RETURN, _EPERM)])

    def allow_values_only(
        self, numbers: tuple[int, int], argument: int, values: tuple[int, ...], *, of_bits: int = 0xFFFF_FFFF
    ) -> None:
        """Unless the low half of the argument, as far as these bits of it go, is one of the values."""
        tests = [_op(_JEQ, value, len(values) - index, 0) for index, value in enumerate(values)]
        load = [_op(_LOAD, _ARGS + 8 * argument), _op(_AND, of_bits)]
        self._block(numbers, [*load, *tests, _op(_RETURN, _EPERM), _op(_RETURN, _ALLOW)])

    def allow_streams_of_unix_only(self) -> None:
        """Of sockets, those by which nothing is sent without being connected.

        libcuda gives up (error 304) where it gets none to ask for a server of MPS, or cannot listen at an abstract name
        of its own; that it cannot connect it does not mind. Seen by strace with driver 580 (2026-11-23).
        """
        body = [
            _op(_LOAD, _ARGS),
            _op(_JEQ, _AF_UNIX, 0, 4),
            _op(_LOAD, _ARGS + 8),
            _op(_AND, _SOCK_TYPE),
            _op(_JEQ, _SOCK_STREAM, 2, 0),
            _op(_JEQ, _SOCK_SEQPACKET, 1, 0),
            _op(_RETURN, _EPERM),
            _op(_RETURN, _ALLOW),
        ]
        self._block(_SOCKET, body)

    def pretend_unless_open(self, numbers: tuple[int, int], argument: int) -> None:
        """Answer 0 and do nothing, unless the argument is a mode that leaves the owner everything and sets no id."""
        load = [_op(_LOAD, _ARGS + 8 * argument), _op(_AND, _OWNER_MAY_ALL | _SET_IDS)]
        self._block(numbers, [*load, _op(_JEQ, _OWNER_MAY_ALL, 1, 0), _op(_RETURN, _PRETEND), _op(_RETURN, _ALLOW)])

    def bytes(self) -> bytes:
        """The whole program."""
        return b"".join([*self._code, _op(_RETURN, _ALLOW)])


def program(
    *,
    network: bool,
    other_processes: bool,
    signals: bool,
    links: bool = False,
    pid: int = 0,
    machine: str = os.uname().machine,
) -> bytes:
    """The filter for one worker.

    `network`: whether it has a network namespace of its own, so that sockets need no filter. `other_processes` and
    `signals`: whether something else keeps its hands off the processes of the same user (a pid namespace, a uid of
    its own; for signals Landlock too); where not, calls that name a process may only name `pid` or the caller by 0,
    and calls of PRETENDED change nothing, except that what `links` may make a file executable. prlimit64 may name no
    other anywhere.
    Raises OSError on machines whose numbers we do not have.
    """
    if machine not in _AUDIT_ARCH:
        raise OSError(errno.ENOSYS, f"no table of system calls for {machine}")
    code = Program(machine)
    for numbers in DENIED.values():
        code.deny(numbers)
    code.deny_namespaces()
    code.deny_values(
        _PRCTL,
        0,
        (_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER, _PR_SET_PTRACER),
    )
    if network:  # a namespace holds those of the internet and those with a path, but not AF_VSOCK, AF_ALG and the like
        code.allow_values_only(_SOCKET, 0, (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK))
    else:  # a datagram needs no connection: it can be sent to the path of any socket
        code.allow_streams_of_unix_only()
        code.deny(_CONNECT)
        code.allow_values_only(_SOCKETPAIR, 1, (_SOCK_STREAM, _SOCK_SEQPACKET), of_bits=_SOCK_TYPE)
    # Not even the init of its own namespace, which may be its user's.
    code.allow_values_only(_PRLIMIT64, 0, (0, pid))
    if not other_processes:
        for numbers in _SCHEDULING:
            code.allow_values_only(numbers, 0, (0, pid))
        for numbers in (*_PRIORITIES, *_PAGES):
            code.deny(numbers)
        for name, numbers in PRETENDED.items():
            if links and name in _MODE_ARGUMENT:
                code.pretend_unless_open(numbers, _MODE_ARGUMENT[name])
            else:
                code.deny(numbers, _PRETEND)
    if not signals:
        for numbers in (_KILL, _TGKILL):
            code.allow_values_only(numbers, 0, (0, pid))
        for numbers in (_TKILL, *_QUEUED_SIGNALS):
            code.deny(numbers)
    owners = () if signals else (_F_SETOWN, _F_SETSIG, _F_SETOWN_EX)
    code.deny_values(_FCNTL, 1, (_F_SETLEASE, _F_NOTIFY, *owners))
    code.answer_ioctls(owners=not signals, files=not other_processes)
    return code.bytes()
