"""Stock `load_inline` against ours: seconds, CPU seconds, toolchain taken and equality of outputs, kernel by kernel.

    python benchmarks/build.py --target cuda          # stock: torch's own load_inline
    python benchmarks/build.py --target cpu-emulated  # stock: ours with torch's real headers

Both sides run in one call on one machine, each from an empty cache. The slim library, compiled once for a torch, is
reported apart. Ours are built one after the other, and so is the first stock one; the other stock builds run `--beside`
each other, as a batch would run them, so that of those the CPU seconds compare. Outputs are compared on a GPU only.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted((ROOT / "reference_solutions").glob("*/*.py"))
KERNELS = sorted((ROOT / "benchmarks" / "kernels").glob("[0-9]*.py"))


class Captured(Exception):
    """The build request was seen; nothing more is wanted of the import."""


def requests_of(path: Path) -> list[Any]:
    """The build requests of a candidate's import, without building. The kernels are ours and trusted."""
    from harness.worker import capture

    found: list[Any] = []

    def see(request: Any) -> Any:
        found.append(request)
        raise Captured

    undo = capture.install(see)
    try:
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "candidate", "__file__": str(path)})
    except Captured:
        pass
    finally:
        undo()
    return found


def child(path: Path, mode: str, out: Path, artifacts: dict[str, Any] | None, device: str) -> None:
    """In a process of its own: import the candidate, run it, save what it says and how long a call takes."""
    import torch

    build = {"seconds": 0.0}
    if mode == "ours":
        from harness.schema import Artifact
        from harness.worker import capture

        capture.install(lambda request: Artifact.model_validate((artifacts or {})[request.name]))
    else:
        from torch.utils import cpp_extension

        stock: Callable[..., Any] = cpp_extension.load_inline

        def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.monotonic()
            try:
                return stock(*args, **{**kwargs, "verbose": False})
            finally:
                build["seconds"] += time.monotonic() - started

        cpp_extension.load_inline = timed
    module: dict[str, Any] = {"__name__": "candidate", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), module)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    result: dict[str, Any] = {**build, "cpu_seconds": usage.ru_utime + usage.ru_stime}
    problem = module if "Model" in module else _problem_of(path)
    torch.manual_seed(1)
    model = module["ModelNew"](*problem["get_init_inputs"]()).to(device)
    torch.manual_seed(2)
    inputs = [x.to(device) if isinstance(x, torch.Tensor) else x for x in problem["get_inputs"]()]
    with torch.no_grad():
        torch.save(model(*inputs), out.with_suffix(".pt"))
        if device == "cuda":
            result |= _call_times(model, inputs)
    out.write_text(json.dumps(result))


def _problem_of(path: Path) -> dict[str, Any]:
    """The problem of a reference solution, a hundredth of its size: outputs are compared here, not timed."""
    from harness.catalog import apply_settings, read_problem

    problem = read_problem(ROOT / "problems" / path.parent.name / path.name)
    source, _ = apply_settings(problem, {"batch_size": 16})
    module: dict[str, Any] = {}
    exec(compile(source, problem.name, "exec"), module)
    return module


def _call_times(model: Any, inputs: list[Any]) -> dict[str, float]:
    """Median device and host microseconds of a call, warm, back to back."""
    import torch

    for _ in range(20):
        model(*inputs)
    device_us, host_us = [], []
    for _ in range(30):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        began = time.perf_counter()
        start.record()
        for _ in range(20):
            model(*inputs)
        end.record()
        host_us.append((time.perf_counter() - began) / 20 * 1e6)
        torch.cuda.synchronize()
        device_us.append(start.elapsed_time(end) / 20 * 1e3)
    return {"device_us": median(device_us), "host_us": median(host_us)}


def run_child(path: Path, mode: str, work: Path, artifacts: dict[str, Any] | None, device: str) -> dict[str, Any]:
    """A child's result, or its error."""
    folder = work / f"{mode}-{path.stem}"
    folder.mkdir(parents=True)
    (folder / "artifacts.json").write_text(json.dumps(artifacts))
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": str(folder / "extensions"), "PYTHONPATH": _python_path()}
    command = [sys.executable, __file__, "--child", str(path), mode, str(folder / "out"), device]
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, timeout=1200)
    result: dict[str, Any] = {"process_seconds": time.monotonic() - started}
    shutil.rmtree(folder / "extensions", ignore_errors=True)
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "rror:" in line]
        return {**result, "error": said[0] if said else "failed without a message"}
    return {**result, **json.loads((folder / "out").read_text()), "outputs": str(folder / "out.pt")}


def _python_path() -> str:
    return os.pathsep.join([str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])


def build_ours(path: Path, builder: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Build a candidate's extensions: figures for the table, artifacts by name for the child."""
    from harness.schema import Artifact

    row: dict[str, Any] = {"seconds": 0.0, "cpu_seconds": 0.0, "toolchain": [], "notes": []}
    artifacts = {}
    for request in requests_of(path):
        started = time.monotonic()
        outcome = builder.build(request, deadline_s=900)
        row["seconds"] += time.monotonic() - started
        row["toolchain"].append(outcome.toolchain)
        if isinstance(outcome, Artifact):
            row["cpu_seconds"] += outcome.cpu_seconds
            row["notes"] += [note for note in outcome.notes if "stepped back" in note]
            artifacts[request.name] = outcome.model_dump(mode="json")
        else:
            row["error"] = outcome.detail
    return row, artifacts


def equal(ours: dict[str, Any], stock: dict[str, Any]) -> bool | None:
    """Whether both sides' outputs are equal bit for bit; None where a side has none."""
    import torch

    if "outputs" not in ours or "outputs" not in stock:
        return None
    return _same(torch.load(ours.pop("outputs")), torch.load(stock.pop("outputs")))


def _same(one: Any, other: Any) -> bool:
    import torch

    if isinstance(one, torch.Tensor):
        return torch.equal(one.nan_to_num(0.0), other.nan_to_num(0.0)) if one.shape == other.shape else False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def environment(target: str) -> dict[str, Any]:
    import torch

    nvcc = shutil.which("nvcc")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "target": target,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "gpu": torch.cuda.get_device_name(0) if torch.cuda.is_available() else None,
        "nvcc": subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout.split("\n")[-3]
        if nvcc
        else None,
        "gcc": subprocess.run(["g++", "--version"], capture_output=True, text=True).stdout.split("\n")[0],
        "cpu": next(
            (line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), ""
        ),
        "cores": len(os.sched_getaffinity(0)),
    }


def measure(target: str, paths: list[Path], work: Path, beside: int) -> dict[str, Any]:
    """The library's seconds and a row a kernel: `ours`, `stock`, and on a GPU whether their outputs are equal."""
    import torch

    from harness.compile import ArtifactCache, Builder

    device = "cuda" if target == "cuda" else "cpu"
    arch = ".".join(map(str, torch.cuda.get_device_capability(0))) if target == "cuda" else None
    cache = ArtifactCache(work / "cache")
    builder = Builder(cache=cache, target=target, arch=arch)
    started = time.monotonic()
    first = requests_of(paths[0])[0]
    builder.build(first.model_copy(update={"name": "first"}), deadline_s=900)
    library_s = time.monotonic() - started
    rows: dict[str, dict[str, Any]] = {}
    artifacts: dict[Path, Any] = {}
    for path in paths:
        rows[path.stem], artifacts[path] = {}, {}
        rows[path.stem]["ours"], artifacts[path] = build_ours(path, builder)
        _say(f"ours  {path.stem}: {rows[path.stem]['ours']['seconds']:.1f} s {rows[path.stem]['ours']['toolchain']}")
    if target != "cuda":
        stock_builder = Builder(cache=ArtifactCache(work / "stock"), target=target, choice="stock")
        for path in paths:
            rows[path.stem]["stock"], _ = build_ours(path, stock_builder)
            _say(f"stock {path.stem}: {rows[path.stem]['stock']['seconds']:.1f} s")
        return {"library_seconds": library_s, "rows": rows}

    def both(path: Path) -> None:
        stock = run_child(path, "stock", work, None, device)
        ours = run_child(path, "ours", work, artifacts[path], device)
        rows[path.stem]["equal"] = equal(ours, stock)
        rows[path.stem]["stock"] = stock
        rows[path.stem]["ours"] |= {key: ours[key] for key in ("error", "device_us", "host_us") if key in ours}
        _say(f"stock {path.stem}: {stock.get('seconds', 0):.1f} s, equal {rows[path.stem]['equal']}")

    documents = [path for path in paths if path in DOCUMENTS]
    for path in documents[:1]:
        both(path)  # alone: its seconds compare
    with ThreadPoolExecutor(beside) as pool:
        list(pool.map(both, [path for path in paths if path not in documents[:1]]))
    return {"library_seconds": library_s, "rows": rows}


def summary(result: dict[str, Any]) -> Iterator[str]:
    rows = result["rows"]
    yield f"{'kernel':48} {'ours s':>7} {'CPU s':>6} {'stock s':>8} {'CPU s':>7} {'toolchain':12} equal"
    for name, row in rows.items():
        ours, stock = row["ours"], row.get("stock", {})
        yield (
            f"{name:48} {ours['seconds']:7.2f} {ours['cpu_seconds']:6.1f} {stock.get('seconds', 0):8.1f} "
            f"{stock.get('cpu_seconds', 0):7.1f} {','.join(ours['toolchain']):12} {row.get('equal')}"
        )
    slim = sum(not any("stock" in name for name in row["ours"]["toolchain"]) for row in rows.values())
    once = f"the slim library took {result['library_seconds']:.1f} s, once"
    yield f"{slim} of {len(rows)} without torch's headers; {once}"
    paired = [row for row in rows.values() if row["ours"]["cpu_seconds"] and row.get("stock", {}).get("cpu_seconds")]
    if paired:
        ratio = median(row["stock"]["cpu_seconds"] / row["ours"]["cpu_seconds"] for row in paired)
        yield f"CPU seconds, stock over ours: median {ratio:.1f}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        path, mode, out, device = sys.argv[2:]
        artifacts = json.loads((Path(out).parent / "artifacts.json").read_text())
        child(Path(path), mode, Path(out), artifacts, device)
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=["cuda", "cpu-emulated"], required=True)
    parser.add_argument("--only", help="measure the kernels whose name contains this")
    parser.add_argument("--documents", action="store_true", help="measure the five documents' kernels alone")
    parser.add_argument("--beside", type=int, default=max(1, (os.cpu_count() or 1) - 2), help="stock builds at once")
    parser.add_argument("-o", "--output", type=Path, help="write the figures here as JSON")
    options = parser.parse_args()
    paths = [
        path for path in [*DOCUMENTS, *([] if options.documents else KERNELS)] if (options.only or "") in path.stem
    ]
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        result = {
            "environment": environment(options.target),
            **measure(options.target, paths, Path(folder), options.beside),
        }
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")
    print("\n".join(summary(result)))


if __name__ == "__main__":
    main()
