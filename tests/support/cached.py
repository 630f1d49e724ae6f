"""Artifacts as a build would leave them in a cache, in a module that a process which is spawned can import."""

from pathlib import Path

from harness.compile.cache import ArtifactCache, sha256_of
from harness.schema import Artifact


def artifact_of(module: Path, key: str = "k") -> Artifact:
    return Artifact(
        key=key,
        path=str(module),
        sha256=sha256_of(module),
        module="m",
        toolchain="slim",
        cached=False,
        seconds=2.0,
        cpu_seconds=3.0,
    )


def put(cache: ArtifactCache, key: str, content: bytes) -> Artifact:
    with cache.work_folder() as work:
        module = work / "built.so"
        module.write_bytes(content)
        kept = cache.put(key, artifact_of(module, key), module)
    assert isinstance(kept, Artifact)
    return kept


def put_many(root: str, worker: int) -> None:
    cache = ArtifactCache(Path(root))
    for number in range(10):
        with cache.lock(f"{number}.lock"):
            if cache.get(f"{number:02d}") is None:
                put(cache, f"{number:02d}", f"{number}".encode() * 1000)
                (Path(root) / f"built-{number}-{worker}").touch()
