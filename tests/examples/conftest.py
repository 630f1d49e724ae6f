"""A server over a bench that needs no device; it lies in tests/support/serving.py."""

from serving import bench, engines, problems, serve

__all__ = ["bench", "engines", "problems", "serve"]
