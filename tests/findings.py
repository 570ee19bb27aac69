"""Tables of docs/findings.md, for tests that compare them with what their commands write."""

import re
from collections.abc import Iterable

from tests.command_line import ROOT

FINDINGS = (ROOT / "docs" / "findings.md").read_text("utf-8")
NUMBER = re.compile(r"−?\d+(?:\.\d+)?")

Row = dict[str, str]


def section(heading: str) -> str:
    """The text below the heading that begins so."""
    _, found, rest = FINDINGS.partition(f"\n## {heading}")
    assert found, heading
    return rest.partition("\n## ")[0]


def tables_in(text: str) -> list[list[Row]]:
    """Tables of a Markdown text, as rows of cells by title."""
    found = []
    for block in re.findall(r"(?:^ *\|.*\|\n)+", text, re.MULTILINE):
        titles, _, *rows = (
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in block.splitlines()
        )
        found.append([dict(zip(titles, row, strict=True)) for row in rows])
    return found


def tables(heading: str) -> list[list[Row]]:
    """Tables of a section."""
    return tables_in(section(heading))


def numbers(cell: str) -> list[str]:
    """The numbers of a cell, as printed."""
    return NUMBER.findall(cell)


def agrees(printed: str, value: float | None, scale: float = 1) -> bool:
    """Whether a printed number is a value times a scale, but for one unit in its last digit."""
    if value is None or printed == "–":
        return (value is None) == (printed == "–")
    number = printed.replace("−", "-")
    unit = 10.0 ** -len(number.partition(".")[2])
    return abs(float(number) - value * scale) <= 1.01 * unit


def spans(printed: str, values: Iterable[float], scale: float = 1) -> bool:
    """Whether a printed range, or a single number, is that of values."""
    ends, (low, high) = numbers(printed), (min(kept := list(values)), max(kept))
    return agrees(ends[0], low, scale) and agrees(ends[-1], high, scale)


def same(printed: str, made: str) -> bool:
    """Whether two texts are the same but for one unit in the last digit of their numbers."""
    if NUMBER.sub("", printed) != NUMBER.sub("", made):
        return False
    pairs = zip(numbers(printed), numbers(made), strict=True)
    return all(agrees(one, float(other.replace("−", "-"))) for one, other in pairs)
