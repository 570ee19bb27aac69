"""Frequencies of fitted sinusoids as text."""

from geometry.measures.single_dimensions import MIN_CYCLES
from gui.style.theme import format_number

EDGE = 0.01
"""Sinusoids with fewer cycles above the lowest frequency are at the edge of the search."""


def is_bound(cycles: float) -> bool:
    """Return whether cycles are at the edge of the search: a bound, and no frequency."""
    return cycles < MIN_CYCLES + EDGE


def format_cycles(cycles: float) -> str:
    """Format cycles over a range: ``1.04``, or ``≤ ½`` at the edge of the search."""
    return "≤ ½" if is_bound(cycles) else format_number(cycles, 2)
