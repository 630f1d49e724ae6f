"""Rules about the process, the system and the evaluator: a kernel needs none of them."""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from harness.intake.rules.finding import Finding, Findings, last, mentions, native
from harness.intake.view import Call, View

_BUILD_VARIABLES = frozenset(
    {
        "CC", "CXX", "CUDA_HOME", "CUDA_PATH", "CFLAGS", "CXXFLAGS", "MAX_JOBS", "NVCC_PREPEND_FLAGS",
        "NVCC_APPEND_FLAGS", "TORCH_CUDA_ARCH_LIST", "TORCH_EXTENSIONS_DIR", "TORCH_USE_CUDA_DSA",
        "CUDA_LAUNCH_BLOCKING", "TRITON_CACHE_DIR", "PYTORCH_CUDA_ALLOC_CONF", "USE_NINJA", "NVCC_THREADS",
    }
)  # fmt: skip
_ENVIRONMENT_CALLS = (
    "os.getenv",
    "os.putenv",
    "os.unsetenv",
    "os.environ.get",
    "os.environ.setdefault",
    "os.environ.pop",
)


def harness_access(view: View) -> Findings:
    """Reaches for the evaluator: imports it, or edits the table of loaded modules."""
    yield from mentions(view.uses_of("harness", "kernelbench", "__main__"), "imports")
    yield from mentions(view.uses_of("importlib.reload", "sys.meta_path", "sys.path_hooks"), "uses")
    for store in view.stores:
        if store.name in ("sys.modules", "sys.modules[]"):
            yield Finding("changes sys.modules", store.line)
    for call in view.calls_of("sys.modules.pop", "sys.modules.update", "sys.modules.setdefault", "sys.modules.clear"):
        yield Finding("changes sys.modules", call.line)


def frames(view: View) -> Findings:
    """Walks frames, tracebacks or the garbage collector's lists: objects that were not handed to it."""
    names = (
        "sys._getframe", "sys._current_frames", "sys.settrace", "sys.setprofile", "threading.settrace",
        "inspect.currentframe", "inspect.stack", "inspect.trace", "inspect.getouterframes", "inspect.getinnerframes",
        "gc.get_objects", "gc.get_referrers", "gc.get_referents",
    )  # fmt: skip
    yield from mentions(view.uses_of(*names), "looks at")
    attributes = {"f_back", "f_locals", "f_globals", "f_builtins", "tb_frame", "gi_frame", "__subclasses__"}
    for use in view.uses:
        owner, _, attribute = use.name.rpartition(".")
        if owner and attribute in attributes:
            yield Finding(f"reads .{attribute}", use.line)


def process_exit(view: View) -> Findings:
    """Ends or signals processes."""
    yield from mentions(view.uses_of("os._exit", "os.abort", "os.kill", "os.killpg", "signal.raise_signal"), "calls")
    yield from native(view, r"\b(?:_exit|_Exit|quick_exit|kill|killpg|raise)\s*\(", "calls")


def exit_hooks(view: View) -> Findings:
    """Leaves something behind for the end of the process, or leaves it."""
    yield from mentions(view.uses_of("atexit", "signal", "faulthandler", "weakref.finalize"), "uses")
    yield from mentions(view.uses_of("sys.exit", "SystemExit", "exit", "quit", "sys.excepthook"), "uses")
    yield from native(view, r"\batexit\s*\(|__attribute__\s*\(\(\s*(?:con|de)structor", "uses")


def native_memory(view: View) -> Findings:
    """Reads or changes memory that is not its own: other processes, code pages, the linker's tables."""
    pattern = r"\b(?:ptrace|process_vm_(?:read|write)v|mprotect|pidfd_getfd|dl_iterate_phdr)\b|/proc/[^\"\s]{0,40}mem\b"
    yield from native(view, pattern, "uses")
    for node in view.strings:
        if re.search(r"/proc/[^/]+/(?:mem|environ|fd|maps)\b", str(node.value)):
            yield Finding(f"names {str(node.value)[:60]!r}", node.lineno)


def native_system(view: View) -> Findings:
    """C++ that talks to the system: processes, files, sockets, the environment, the dynamic linker."""
    names = (
        r"system|popen|fork|vfork|clone|exec[lv]p?e?|posix_spawn|dlopen|dlsym|socket|connect|getenv|setenv|unlink|fopen"
    )
    yield from native(view, rf"(?<![\w.>:])(?:std::|::)?(?:{names})\s*\(", "calls")
    yield from native(view, r"\bstd::(?:o|i)?fstream\b|\bsyscall\s*\(|<sys/(?:socket|ptrace|mman)\.h>", "uses")


def ctypes_access(view: View) -> Findings:
    """Foreign functions and raw memory from Python."""
    yield from mentions(view.uses_of("ctypes", "_ctypes", "cffi", "mmap", "cuda.bindings", "pycuda"), "uses")


def network(view: View) -> Findings:
    """Opens the network."""
    names = (
        "socket", "_socket", "socketserver", "ssl", "urllib.request", "urllib3", "http.client", "http.server",
        "requests", "httpx", "aiohttp", "ftplib", "smtplib", "xmlrpc", "torch.hub", "huggingface_hub", "pip",
    )  # fmt: skip
    yield from mentions(view.uses_of(*names), "uses")


def subprocesses(view: View) -> Findings:
    """Starts processes."""
    names = (
        "subprocess", "_posixsubprocess", "pty", "multiprocessing", "torch.multiprocessing", "os.system", "os.popen",
        "os.fork", "os.forkpty", "os.posix_spawn", "os.posix_spawnp", "os.startfile",
    )  # fmt: skip
    yield from mentions(view.uses_of(*names), "uses")
    starting = (use for use in view.uses if re.fullmatch(r"os\.(?:exec|spawn)[lv]p?e?", use.name))
    yield from mentions(starting, "calls")


def threads(view: View) -> Findings:
    """Work that may go on after the call has returned."""
    names = (
        "threading.Thread", "threading.Timer", "_thread", "concurrent.futures", "asyncio", "torch.jit.fork",
        "torch.futures",
    )  # fmt: skip
    yield from mentions(view.uses_of(*names), "uses")
    pattern = r"\bstd::(?:thread|jthread|async)\b|\bpthread_create\b|\bcudaLaunchHostFunc\b|\bcudaStreamAddCallback\b"
    yield from native(view, pattern, "uses")


def descriptors(view: View) -> Findings:
    """Writes to file descriptors, or takes the standard streams away."""
    names = (
        "os.write", "os.dup", "os.dup2", "os.fdopen", "os.close", "os.closerange", "os.pipe", "os.sendfile",
        "sys.__stdout__", "sys.__stderr__",
    )  # fmt: skip
    yield from mentions(view.uses_of(*names), "uses")
    for store in view.stores:
        if store.name in ("sys.stdout", "sys.stderr", "sys.stdin"):
            yield Finding(f"replaces {store.name}", store.line)
    for call in view.calls_of("sys.stdout.close", "sys.stderr.close", "sys.stdin.read"):
        yield Finding(f"calls {call.name}", call.line)


def environment(view: View) -> Findings:
    """Reads or sets variables of the environment that builds do not need."""
    yield from (Finding(detail, line) for detail, line, builds in _environment(view) if not builds)


def build_environment(view: View) -> Findings:
    """Sets variables of the environment that only steer a build."""
    yield from (Finding(detail, line) for detail, line, builds in _environment(view) if builds)


def files_written(view: View) -> Findings:
    """Writes, renames or removes files."""
    for call in view.calls:
        name = last(call)
        if name == "open" and _open_mode(call) & set("wax+"):
            yield Finding("opens a file for writing", call.line)
        elif name in ("write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "unlink", "rmdir"):
            if name == "write_text" and _is_own_source(call):
                continue
            yield Finding(f"calls {name}", call.line)
    names = (
        "torch.save", "numpy.save", "numpy.savez", "pickle.dump", "json.dump", "shelve", "sqlite3", "dbm",
        "os.remove", "os.unlink", "os.rename", "os.replace", "os.symlink", "os.link", "os.mkdir", "os.makedirs",
        "os.mkfifo", "os.truncate", "os.chmod", "shutil", "multiprocessing.shared_memory", "torch.UntypedStorage",
    )  # fmt: skip
    yield from mentions(view.uses_of(*names), "uses")


def _is_own_source(call: Call) -> bool:
    """Whether it writes a source to be built: `Path("relu.cu").write_text(...)`, a plain relative name."""
    match call.node.func:
        case ast.Attribute(value=ast.Call(func=ast.Attribute(attr="Path"), args=[ast.Constant(value=str() as name)])):
            path = PurePosixPath(name)
            return path.suffix in _C_SUFFIXES and not path.is_absolute() and ".." not in path.parts
    return False


_C_SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hxx", ".inl", ".inc")


def files_read(view: View) -> Findings:
    """Reads files."""
    for call in view.calls:
        if last(call) == "open" and not _open_mode(call) & set("wax+"):
            yield Finding("opens a file", call.line)
        elif last(call) in ("read_text", "read_bytes", "iterdir", "rglob"):
            yield Finding(f"calls {last(call)}", call.line)
    names = ("torch.load", "numpy.load", "pickle.load", "os.listdir", "os.walk", "os.scandir", "glob")
    yield from mentions(view.uses_of(*names), "uses")


def private_paths(view: View) -> Findings:
    """Names places where a candidate has no business."""
    pattern = re.compile(
        r"reference_solutions|generations\.csv|problems/level|/etc/(?:passwd|shadow)|\.ssh/|\.aws/|\.pth$"
    )
    for node in view.strings:
        if match := pattern.search(str(node.value)):
            yield Finding(f"names {match.group()!r}", node.lineno)


def pickling(view: View) -> Findings:
    """Pickles, or says how it wants to be pickled: a pickle runs code where it is read."""
    for function in view.functions("__reduce__", "__reduce_ex__", "__setstate__"):
        yield Finding(f"defines {function.name}", function.lineno)
    yield from mentions(view.uses_of("pickle", "_pickle", "cloudpickle", "copyreg"), "uses")


def _open_mode(call: Call) -> set[str]:
    """The letters of the mode of an `open` call; for `Path.open` the mode is the first argument."""
    position = 1 if call.name in ("open", "io.open", "builtins.open") else 0
    given = [argument.value for argument in call.node.keywords if argument.arg == "mode"]
    given += call.node.args[position : position + 1]
    return {letter for mode in given if isinstance(mode, ast.Constant) for letter in str(mode.value)}


def _environment(view: View) -> Iterator[tuple[str, int, bool]]:
    """Every look at the environment: what, the line, and whether only a build cares."""
    known: set[int] = set()
    for node in view.nodes:
        match node:
            case ast.Subscript(value=value, slice=key) if view.name_of(value) == "os.environ":
                pass
            case ast.Call(func=func, args=[key, *_]) if view.name_of(func) in _ENVIRONMENT_CALLS:
                pass
            case _:
                continue
        known.add(node.lineno)
        name = str(key.value) if isinstance(key, ast.Constant) else "a computed name"
        yield f"uses the variable {name}", node.lineno, name in _BUILD_VARIABLES
    for use in view.uses_of("os.environ", "os.getenv", "os.putenv", "os.environb"):
        if use.line not in known:
            yield f"uses {use.name}", use.line, False
