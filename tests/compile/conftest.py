"""One cache for all, so that the slim library is compiled once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.compile import ArtifactCache, Builder
from harness.schema import Artifact, BuildFailure, BuildRequest, DeviceKind

Build = Callable[..., Artifact | BuildFailure]


@pytest.fixture(scope="session")
def shared_cache() -> ArtifactCache:
    """That of the user that runs the tests, which sessions of other rooms use too: the library is compiled once."""
    return ArtifactCache()


@pytest.fixture(scope="session")
def build(shared_cache: ArtifactCache) -> Build:
    """`build(request, target)` with the toolchains of that target."""

    def build(
        request: BuildRequest, target: DeviceKind = "cpu", *, deadline_s: float = 240.0
    ) -> Artifact | BuildFailure:
        return Builder(cache=shared_cache, target=target, arch="9.0").build(request, deadline_s=deadline_s)

    return build


@pytest.fixture
def cache(tmp_path: Path) -> ArtifactCache:
    """An empty cache of a test's own."""
    return ArtifactCache(tmp_path / "cache")
