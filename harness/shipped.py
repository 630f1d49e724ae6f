"""What comes along with the package: five problems, submissions to them, and a run of those on an H200."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def shipped(name: str) -> Path | None:
    """The folder `name` ("problems", "examples/submissions", "runs/h200-documents"), from the checkout that this
    package lies in or from the wheel that it was installed from; None where neither has it.
    """
    for place in (_PACKAGE.parent, _PACKAGE / "shipped"):
        if (place / name).is_dir() and _is_ours(place):
            return place / name
    return None


def _is_ours(place: Path) -> bool:
    """Whether a folder is a checkout of this project, or the wheel's own: site-packages is neither."""
    return place.name == "shipped" or (place / "pyproject.toml").is_file()
