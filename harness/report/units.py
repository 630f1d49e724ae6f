"""Sizes as a person reads them."""


def bytes_text(count: int) -> str:
    """Three significant digits in the largest unit of ten to the three that is not above it: 4.29 GB, 512 B."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size * 0.9995:
            return f"{f'{count / size:.3g}'.rstrip('.')} {unit}"
    return f"{count} B"
