"""Amounts of data in words, the same everywhere."""

from __future__ import annotations


def size_text(nbytes: float) -> str:
    """Say a number of bytes: "14 kB", "3.1 MB", "548 MB", "6.4 GB"."""
    return f"{amount_text(nbytes, nbytes)} {unit_of(nbytes)}"


def amount_text(nbytes: float, like: float) -> str:
    """Say the number alone, in the unit and with the decimals that another amount has."""
    unit, size = _unit(like)
    decimals = 1 if unit in ("MB", "GB") and like < 99.95 * size else 0
    return f"{nbytes / size:.{decimals}f}"


def unit_of(nbytes: float) -> str:
    """Return the unit that an amount is said in."""
    return _unit(nbytes)[0]


def _unit(nbytes: float) -> tuple[str, float]:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        # 999 600 bytes would be written as 1000 kB.
        if nbytes >= 0.9995 * size:
            return unit, size
    return "bytes" if nbytes != 1 else "byte", 1.0
