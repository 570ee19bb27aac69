"""The command `table`: measurements of several models, side by side."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from weakref import ref

import typer

from gui.commands.arguments import (
    Family,
    FirstRows,
    Fresh,
    Offline,
    Positions,
    Table,
    Whole,
    check_ending,
    chosen,
    parse_components,
    parse_positions,
)
from gui.commands.steps import open_each, progress_bar
from gui.commands.terminal import print_table, say

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.panels.compare.question import MeasuredRow

ENDINGS = (".csv", ".md", ".tex", ".json")


def table(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE", help="sample | hub id[@revision] | folder | file"),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: .csv, .md, .tex or .json; default: print."),
    ] = None,
    positions: Positions = None,
    components: Annotated[
        str, typer.Option(help="Three principal components in which the curve is measured.")
    ] = "1,2,3",
    sort: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Sort by a quantity, named as in the .csv, largest first."
        ),
    ] = None,
    table: Table = None,
    family: Family = None,
    first_rows: FirstRows = None,
    offline: Offline = False,
    whole: Whole = False,
    fresh: Fresh = False,
) -> None:
    """Compare models in numbers: variance, ranks, the fitted helix, norms, roughness.

    Each model is measured in the same range and components. In .csv and .json,
    shares are from 0 to 1 and numbers have full precision; .json describes each quantity.
    """
    from gui.panels.compare import words as text
    from gui.panels.compare.question import KEPT, with_distance

    span, axes = parse_positions(positions), parse_components(components)
    table = chosen(table, family, first_rows)
    keys = [quantity.key for quantity in text.QUANTITIES]
    if sort is not None and sort not in keys:
        raise typer.BadParameter(f"{sort!r} is not one of {', '.join(keys)}", param_hint="--sort")
    if out is not None:
        check_ending(out, ENDINGS, "--out")
    rows: list[MeasuredRow] = []
    first: PositionalModel | None = None
    with progress_bar(2 * len(sources)) as step:
        for key, model in enumerate(open_each(step, sources, table, offline, whole, fresh)):
            message = f"Measuring {model.name}"
            first = first or model  # the others' distances are from its shape
            row = step(message, partial(_measured_row, model, key, span, axes))
            rows.append(with_distance(row, rows[0] if rows else row, KEPT))
    if sort is not None:
        rows = list(text.in_order(rows, keys.index(sort) + text.FIXED + 1, falling=True))
    if out is None:
        print_table(*text.transposed(rows))
        return
    _write(out, rows)
    say(f"Wrote {out}: {len(rows)} model{'s' * (len(rows) != 1)}.")


def _measured_row(
    model: PositionalModel,
    key: int,
    span: tuple[int, int] | None,
    components: tuple[int, int, int],
) -> MeasuredRow:
    from geometry.checkpoints.errors import RangeError
    from geometry.claims.scalar_results import scalar_results
    from gui.panels.compare.question import MeasuredRow, of_one
    from gui.panels.kit.views import Shown

    shown = span or model.usual_positions
    try:
        results = scalar_results(model, shown, components)
    except RangeError as error:
        raise RangeError(f"{model.name}: {error}", error.advice) from error
    return MeasuredRow(Shown(key, model.name, ref(model), shown, components), of_one(results))


def _write(out: Path, rows: list[MeasuredRow]) -> None:
    from geometry.checkpoints.whole_files import write_text, writing
    from gui.panels.compare import words as text

    write = {
        ".csv": text.comma_separated,
        ".md": text.markdown,
        ".tex": text.latex,
        ".json": text.as_json,
    }[out.suffix.lower()]
    with writing(out):
        write_text(write(rows), out)
