"""Judge GPU kernels that language models wrote: do they compile, are they right, are they faster."""

__version__ = "0.1.0"
