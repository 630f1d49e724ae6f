"""`harness cache`: what lies in the build cache, and how to throw it away."""

import click

from harness.compile.cache import ArtifactCache
from harness.report.units import bytes_text


@click.group()
def cache() -> None:
    """Show or clear the cache of built kernels."""


@cache.command()
def show() -> None:
    """Say where the cache lies, what is in it and how large it is."""
    summary = ArtifactCache().summary()
    click.echo(f"{summary.root}")
    click.echo(f"  {summary.artifacts} artifacts, {summary.failures} failures, {summary.tools} prepared toolchains")
    click.echo(f"  {bytes_text(summary.size_bytes)} of at most {bytes_text(summary.limit_bytes)}")


@cache.command()
def clear() -> None:
    """Throw away everything that was built; it is built again when it is needed."""
    freed = ArtifactCache().clear()
    click.echo(f"freed {bytes_text(freed)}")
