"""The file system of a worker in the full tier: an allow-list of read-only binds on a tmpfs, and nothing else."""

import contextlib
import os
from dataclasses import dataclass

from harness.sandbox import host, linux
from harness.sandbox.confine import INSIDE_ID

SCRATCH = "/tmp"
SHARED_MEMORY = "/dev/shm"
_OLD = "/.old-root"
_ETC = {
    "passwd": f"candidate:x:{INSIDE_ID}:{INSIDE_ID}:candidate:{SCRATCH}:/bin/sh\n",
    "group": f"candidate:x:{INSIDE_ID}:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "hosts": "127.0.0.1 localhost\n",
}
_READ_ONLY = linux.MOUNT_ATTR_RDONLY | linux.MOUNT_ATTR_NOSUID
_PLAIN = linux.MS_NOSUID | linux.MS_NODEV


@dataclass(frozen=True)
class Root:
    """What is in it. `readable` must not contain "/", and empty folders take the place of what is `hidden` in it.

    `scratch_bytes` bounds /tmp and /dev/shm, each.
    """

    readable: tuple[str, ...]
    hidden: tuple[str, ...]
    devices: bool
    scratch_bytes: int


def enter(root: Root) -> None:
    """Build it and make it this process's root. Needs new user, mount and pid namespaces, and to be pid 1 there.

    Raises OSError where the kernel or a container's profile forbids a step.
    """
    layout = host.layout(root.readable, hidden=root.hidden)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("tmpfs", "/tmp", "tmpfs", _PLAIN, "mode=0755,size=1m")
    os.mkdir("/tmp" + _OLD)
    linux.pivot_root("/tmp", "/tmp" + _OLD)
    os.chdir("/")
    for place in (SCRATCH, SHARED_MEMORY):  # before the binds, some of which may lie below them
        os.makedirs(place)
        files = max(1000, root.scratch_bytes // 4096)  # an empty one takes memory too
        linux.mount("tmpfs", place, "tmpfs", _PLAIN, f"mode=1777,size={root.scratch_bytes},nr_inodes={files}")
    system = "/sys" if root.devices else "/sys/devices/system"
    for path in sorted((*layout.binds, *layout.covered, *([system] if os.path.exists(_OLD + system) else ()))):
        if path in layout.covered:
            linux.mount("tmpfs", path, "tmpfs", _PLAIN, "mode=0755,size=1m")
        else:
            _bind(path)
            _make_read_only(path)
    for path, target in layout.links:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)
    for path in layout.covered:
        _make_read_only(path)
    _make_etc()
    _make_dev(root)
    os.mkdir("/proc")
    linux.mount("proc", "/proc", "proc", _PLAIN | linux.MS_NOEXEC)
    linux.unmount(_OLD)
    os.rmdir(_OLD)
    linux.mount("none", "/", flags=linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | _PLAIN)
    os.chdir(SCRATCH)


def _bind(path: str) -> None:
    if os.path.isdir(_OLD + path):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    linux.mount(_OLD + path, path, flags=linux.MS_BIND | linux.MS_REC)


def _make_read_only(path: str) -> None:
    try:
        linux.set_mount_attributes(path, _READ_ONLY)
    except OSError:  # before Linux 5.12: one by one, keeping the flags that a user namespace may not take away
        for point in _mount_points_below(path):
            kept = os.statvfs(point).f_flag & (linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
            flags = linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID | kept
            linux.mount("none", point, flags=flags)


def _mount_points_below(path: str) -> list[str]:
    # The /proc at hand is still the old one, in the old root; "self" there is this process in the old pid namespace.
    with open(f"{_OLD}/proc/thread-self/mountinfo") as table:
        points = [line.split()[4].encode().decode("unicode_escape") for line in table]
    return [point for point in points if point == path or point.startswith(path + "/")]


def _make_etc() -> None:
    os.makedirs("/etc", exist_ok=True)
    for name, text in _ETC.items():
        with open(f"/etc/{name}", "w") as file:
            file.write(text)


def _make_dev(root: Root) -> None:
    devices = [*host.SAFE_DEVICES, *(_gpu_devices() if root.devices else ())]
    for path in devices:
        if os.path.exists(_OLD + path):
            _bind(path)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"/dev/{name}")
    os.symlink("/proc/self/fd", "/dev/fd")


def _gpu_devices() -> list[str]:
    return [path.removeprefix(_OLD) for path in host.gpu_devices(_OLD)]
