"""What pyproject.toml has no word for: the wheel brings the problems, the demo's submissions and the shipped run."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = ("problems", "examples/submissions", "runs/h200-documents")
"""Folders of the repository that lie below harness/shipped in the wheel; harness/shipped.py finds them in both."""


class BuildWithShipped(build_py):
    """The usual, and the folders of SHIPPED."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for folder in SHIPPED:
            target = Path(self.build_lib, "harness", "shipped", folder)
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder, target, ignore=shutil.ignore_patterns("__pycache__", ".*"))


setup(cmdclass={"build_py": BuildWithShipped})
