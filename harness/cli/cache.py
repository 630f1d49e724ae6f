"""`harness cache`: what lies in the build cache, and how to throw it away."""

import click

from harness.build.cache import ArtifactCache


@click.group()
def cache() -> None:
    """Show or clear the cache of built kernels."""


@cache.command()
def show() -> None:
    """Say where the cache lies, what is in it and how large it is."""
    summary = ArtifactCache().summary()
    click.echo(f"{summary.root}")
    click.echo(f"  {summary.artifacts} artifacts, {summary.failures} failures, {summary.tools} prepared toolchains")
    click.echo(f"  {_megabytes(summary.size_bytes)} of at most {_megabytes(summary.limit_bytes)}")


@cache.command()
def clear() -> None:
    """Throw away everything that was built; it is built again when it is needed."""
    freed = ArtifactCache().clear()
    click.echo(f"freed {_megabytes(freed)}")


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f} MB"
