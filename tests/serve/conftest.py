"""What the tests of this room share lies in tests/support/serving.py."""

from serving import bench, engines, problems, serve

__all__ = ["bench", "engines", "problems", "serve"]
