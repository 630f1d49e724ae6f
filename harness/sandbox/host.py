"""What this machine offers a worker: the base system it may read, the devices, the identities."""

import functools
import glob
import os
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.sandbox.cgroup import Groups

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
SITE_NAMES = ("site-packages", "dist-packages")
_IN_A_CHECKOUT = PACKAGE_ROOT.name not in SITE_NAMES and (PACKAGE_ROOT / "pyproject.toml").is_file()
CHECKOUT = PACKAGE_ROOT if _IN_A_CHECKOUT else None
"""The checkout of this project that this package lies in, unless it was installed from a wheel."""

# What a process needs to load libraries, run compilers and start Python; no secrets live there. /nix/store and
# /run/opengl-driver are the same on NixOS.
BASE_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/nix/store",
    "/run/opengl-driver",
)
# What of the starter's environment processes of ours keep: where programs, libraries, devices and files of a hub
# are, and the locale.
KEPT_VARIABLES = (
    "PATH",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HF_HUB_OFFLINE",
    "LANG",
    "LC_ALL",
    "TZ",
)
SAFE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_GPU_DEVICES = ("/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/dxg")  # dxg: the GPU of Windows under WSL
_SITES = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages")
_OF_USERS = ("/usr/src", "/usr/local/src")  # where images keep what users work on; no compiler looks there
_SHIPPED = "harness/shipped"  # problems, submissions and a run, where a wheel lays them; see shipped.py
_OF_AN_ENVIRONMENT = ("bin", "etc", "include", "lib", "lib64", "share", "pyvenv.cfg")


def gpu_devices(root: str = "") -> list[str]:
    """The device nodes of the GPUs, below another root if one is given."""
    paths = sorted(path for pattern in _GPU_DEVICES for path in glob.glob(root + pattern))
    return [path for path in paths if not os.path.isdir(path)]


def _site_of(module: str) -> Path | None:
    """The folder that a loaded package was imported from, unless that is this project's checkout."""
    source = getattr(sys.modules.get(module), "__file__", None)
    if source is None:
        return None
    site = Path(source).resolve().parent.parent
    return None if site == CHECKOUT else site


def readable_base(packages: Iterable[str] = ("torch", "numpy", "triton")) -> tuple[str, ...]:
    """Everything that workers may read whatever their policy: system, interpreter, torch, libraries of the GPU."""
    libraries = (Path(entry) for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry.startswith("/"))
    candidates = [
        *map(Path, BASE_SYSTEM),
        *_environment(Path(sys.prefix)),
        *_environment(Path(sys.base_prefix)),
        *(site for package in packages if (site := _site_of(package)) is not None),
        *(path for path in libraries if not PACKAGE_ROOT.is_relative_to(path)),
    ]
    return tuple(dict.fromkeys(str(path) for path in candidates if path.exists() and path != Path("/")))


def _environment(prefix: Path) -> list[Path]:
    """What of an interpreter's prefix is the interpreter: all of it, unless the checkout itself is the prefix."""
    return [prefix / name for name in _OF_AN_ENVIRONMENT] if prefix.resolve() == CHECKOUT else [prefix]


@functools.cache
def hidden() -> tuple[str, ...]:
    """Real paths of the folders that stay hidden from every process that sees what lies around them.

    A checkout of this project, wherever it lies, the answers that a wheel brings, of this installation and of any other
    that an interpreter here would find, and folders of users below /usr. What lies within them and is readable by a
    name of its own stays so.
    """
    prefixes = dict.fromkeys((sys.prefix, sys.base_prefix, "/usr", "/usr/local"))
    sites = [site for prefix in prefixes for pattern in _SITES for site in glob.glob(f"{prefix}/{pattern}")]
    shipped = (f"{site}/{_SHIPPED}" for site in (PACKAGE_ROOT, *sys.path, *sites))
    folders = (*shipped, *_OF_USERS, *([str(CHECKOUT)] if CHECKOUT else ()))
    return tuple(sorted({os.path.realpath(folder) for folder in folders if os.path.isdir(folder)}))


@dataclass(frozen=True)
class Layout:
    """How an allow-list becomes a file system: real paths to bind, folders in them to cover, links that lead there.

    Each bind and each covered folder lies in none of its own kind, unless one of the other is between: laid in the
    order of their names, one over the other, they show what may be seen.
    """

    binds: tuple[str, ...]
    covered: tuple[str, ...]
    links: tuple[tuple[str, str], ...]


def layout(paths: Iterable[str], *, hidden: Iterable[str] = (), linked: Iterable[str] = ()) -> Layout:
    """Sort an allow-list out. Where a path is or runs over a link (/lib to /usr/lib), a link stands in for it.

    A path that runs over such a link needs none of its own: torch in a virtual environment that is itself a link lies
    behind that. `linked` are paths that are bound elsewhere, at their real place, and that get links like the others.
    Of two paths around a third the inner one tells whether it is seen: one of `paths`, or one of `hidden`, real ones.
    """
    real = {path: os.path.realpath(path) for path in paths}
    hiding = {path for path in hidden if os.path.isdir(path)}
    binds: list[str] = []
    covered: list[str] = []

    def seen(path: str) -> bool:
        around = [(len(one), one in binds) for one in (*binds, *covered) if _is_within(path, one)]
        return bool(around) and max(around)[1]

    for path in sorted({*real.values(), *hiding}):
        if path in hiding and seen(path):
            covered.append(path)
        elif path not in hiding and not seen(path):
            binds.append(path)
    real |= {path: os.path.realpath(path) for path in linked}
    links: list[tuple[str, str]] = []
    for path, target in sorted(real.items()):
        if path != target and not seen(path) and not any(_is_within(path, link) for link, _ in links):
            links.append((path, target))
    return Layout(tuple(binds), tuple(covered), tuple(links))


def _is_within(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder


def _open_to_others(path: str) -> bool:
    """Whether any user can get at `path`."""
    real = Path(path).resolve()
    wanted = stat.S_IROTH | (stat.S_IXOTH if real.is_dir() else 0)
    ways = all(parent.stat().st_mode & stat.S_IXOTH for parent in real.parents)
    return ways and real.stat().st_mode & wanted == wanted


def closed_to_others(paths: Iterable[str]) -> str | None:
    """The first of `paths` that another user could not read, or None."""
    return next((path for path in paths if not _open_to_others(path)), None)


def closed_within(folder: Path) -> Path | None:
    """The first file or folder below `folder` that its mode keeps from other users, whatever lies above it; or None."""
    for found in (folder, *folder.rglob("*")):
        if found.exists():  # of links what they lead to
            mode = found.stat().st_mode
            wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
            if mode & wanted != wanted:
                return found
    return None


def can_trace_other_users() -> bool:
    """Whether we hold CAP_SYS_PTRACE, without which the judge cannot read a worker that has a uid of its own."""
    return _has_capability(19)


def can_use_files_of_others() -> bool:
    """Whether we hold CAP_DAC_OVERRIDE, without which the folder of a worker with a uid of its own is closed to us."""
    return _has_capability(1)


def _has_capability(number: int) -> bool:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> number & 1)
    return False


def kernel() -> tuple[int, int]:
    """Major and minor version of the kernel."""
    major, minor = os.uname().release.split(".")[:2]
    return int(major), int("".join(c for c in minor if c.isdigit()) or 0)


@dataclass(frozen=True)
class Host:
    """What the zygote found out once, for all workers.

    `full_refused` is why the full tier cannot be had, if so; `groups` where workers get groups of their own, or why
    they get none; `missing` the layers that the probe lacked, or None before there was one. `hidden` are folders
    within what is readable that are not.
    """

    readable: tuple[str, ...]
    groups: Groups | str
    hidden: tuple[str, ...] = ()
    full_refused: str | None = None
    missing: frozenset[str] | None = None
