"""What the overlaps panel says about what it shows; and no Qt."""

from __future__ import annotations

from geometry.measures.overlaps import Contrast
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Subject
from gui.panels.overlaps_question import (
    TABLES,
    WITH_HEADS,
    Gain,
    Overlap,
    OverlapFigure,
    in_one_space,
    side_of,
)
from gui.services.snippets import opening, written
from gui.style.theme import format_count, format_number

TIMES = "\N{MULTIPLICATION SIGN}"


def title_of(overlap_rows: Subject, columns: Subject) -> str:
    """Return a short title: W_Q × P."""
    return f"{overlap_rows.name} {TIMES} {columns.name}"


def describe(subject: Subject, gain: Gain = "") -> str:
    """Return how a matrix is looked at: W_Q layer 0 input, gain not folded."""
    if subject.name in TABLES:
        return f"{subject.name} {'centred' if subject.centred else 'uncentred'}"
    head = "" if subject.head is None else f" head {subject.head}"
    return ", ".join(filter(None, (f"{subject.name} layer {subject.layer}{head} {side_of(subject)}",
                                   gain)))  # fmt: skip


def corners(contrast: Contrast) -> str:
    """Return the four corners over chance."""
    named = (("TL", contrast.TL), ("TR", contrast.TR), ("BL", contrast.BL), ("BR", contrast.BR))
    return " ".join(f"{name} {format_number(value, 1)}" for name, value in named)


def blur_text(blur: float) -> str:
    """Say that a picture is blurred, and that nothing else is; "" if it is not."""
    digits = 0 if blur == round(blur) else 1
    return f"blur {format_number(blur, digits)} px, display only" if blur else ""


def caption_of(model: PositionalModel, overlap: Overlap, blur: float) -> str:
    """Name what is compared and sum it up, on one line."""
    one, other = overlap.rows, overlap.columns
    compared = f"{describe(one, overlap.gains[0])} {TIMES} {describe(other, overlap.gains[1])}"
    if {one.name, other.name} & set(TABLES):
        compared += ", all rows"
    return " · ".join(filter(None, (
        model.name,
        compared,
        f"{corners(overlap.contrast)} {TIMES} chance",
        f"3{TIMES}3 sum {sum_text(overlap.top3)}",
        "" if in_one_space(one, other) else "two different spaces, of equal size",
        blur_text(blur),
    )))  # fmt: skip


def sum_text(top3: float) -> str:
    """Write the sum of the 3 × 3 corner: 0.0004 is not 0.00."""
    return format_number(top3, 2 if top3 >= 0.1 else 4)


def figure_caption(model: PositionalModel, figure: OverlapFigure, blur: float) -> str:
    """Name what all cells of a figure share, on one line."""
    rows = [cell.rows for cell in figure.cells]
    first = figure.found[0]
    gains = sorted({cell.gains[0] for cell in figure.found} - {""})
    heads = "" if rows[0].name not in WITH_HEADS else (
        "all heads" if rows[0].head is None else f"head {rows[0].head}"
    )  # fmt: skip
    centred = "centred" if first.columns.centred else "uncentred"
    writes = any(row.name == "W_O" for row in rows)
    sides = "input sides, of W_O the output side" if writes else "input side"
    return " · ".join(filter(None, (
        model.name,
        ", ".join(filter(None, (f"layer {rows[0].layer}", heads))),
        sides,
        ", ".join(gains),
        f"P and E {centred}, all stored rows",
        f"chance 1/{format_count(round(1 / first.contrast.chance))}",
        blur_text(blur),
    )))  # fmt: skip


def python_of(model: PositionalModel, pairs: list[tuple[Subject, Subject]]) -> str:
    """Return a script that compares the same matrices and prints the corners."""
    listed = "".join(f"    ({written(one)}, {written(other)}),\n" for one, other in pairs)
    return (
        opening(model)
        + "from geometry import TensorUnavailable\n"
        + "from geometry import corner_contrast, squared_overlaps, top3\n"
        + "from geometry import ResidualStream, Subject\n\n"
        + "stream = ResidualStream(model)\n"
        + f"pairs = [\n{listed}]\n"
        + "for rows, columns in pairs:\n"
        + "    try:\n"
        + "        one, other = stream.pair(rows, columns)\n"
        + "    except TensorUnavailable as error:\n"
        + "        print(rows.name, columns.name, error)\n"
        + "        continue\n"
        + "    overlaps = squared_overlaps(one, other)\n"
        + "    contrast = corner_contrast(overlaps, 1 / one.vectors.shape[1])\n"
        + "    print(rows.name, columns.name, contrast, top3(overlaps))\n"
    )
