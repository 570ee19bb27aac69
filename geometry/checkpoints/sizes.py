"""Formatting of data sizes."""

from __future__ import annotations


def size_text(nbytes: float) -> str:
    """Format a number of bytes: "14 kB", "3.1 MB", "548 MB", "6.4 GB"."""
    return f"{amount_text(nbytes, nbytes)} {unit_of(nbytes)}"


def amount_text(nbytes: float, like: float) -> str:
    """Format a number of bytes without the unit, scaled and rounded as for ``like``."""
    unit, size = _unit(like)
    decimals = 1 if unit in ("MB", "GB") and like < 99.95 * size else 0
    return f"{nbytes / size:.{decimals}f}"


def unit_of(nbytes: float) -> str:
    """Return the unit that :func:`size_text` uses for a number of bytes."""
    return _unit(nbytes)[0]


def _unit(nbytes: float) -> tuple[str, float]:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        # 999 600 bytes would be formatted as 1000 kB.
        if nbytes >= 0.9995 * size:
            return unit, size
    return "bytes" if nbytes != 1 else "byte", 1.0
