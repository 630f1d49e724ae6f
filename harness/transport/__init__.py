"""The only messages between judge and worker, and the memory they share."""

from harness.transport.channel import Channel, Closed, Frame, Late

__all__ = ["Channel", "Closed", "Frame", "Late"]
