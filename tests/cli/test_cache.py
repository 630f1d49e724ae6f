"""`harness cache`: what lies in the cache, and how to throw it away."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.cache import cache
from harness.compile.cache import ArtifactCache
from harness.schema import BuildFailure


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ArtifactCache:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    filled = ArtifactCache()
    filled.put("ab", BuildFailure(reason="compile", detail="no", log="no", toolchain="stock"))
    return filled


def test_show_says_where_the_cache_lies_and_what_is_in_it(filled: ArtifactCache) -> None:
    result = CliRunner().invoke(cache, ["show"])
    assert result.exit_code == 0
    assert str(filled.root) in result.output.replace("\n", "")
    assert "0 artifacts, 1 failures" in result.output


def test_clear_empties_it(filled: ArtifactCache) -> None:
    result = CliRunner().invoke(cache, ["clear"])
    assert result.exit_code == 0
    assert result.output.startswith("freed")
    assert filled.summary().failures == 0


def test_an_empty_cache_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    assert CliRunner().invoke(cache, ["show"]).exit_code == 0
    assert CliRunner().invoke(cache, ["clear"]).exit_code == 0
