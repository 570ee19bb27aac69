"""Options common to several commands, and their parsing.

Invalid values are usage errors, status 2.
"""

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.main import get_group

from gui.export.canvas import Canvas
from gui.panels.table import BUILT_IN_FIGURES
from gui.state.values import (
    LINE_WIDTHS,
    OPACITIES,
    PERIODS,
    POINT_SIZES,
    Fields,
)


class ViewName(StrEnum):
    """Named camera positions; the article's is elevation 20°, azimuth 45°."""

    side = "side"
    article = "article"
    isometric = "isometric"
    xy = "xy"
    xz = "xz"
    yz = "yz"


class ThemeName(StrEnum):
    """Colours of texts and background."""

    light = "light"
    dark = "dark"


class ColorsName(StrEnum):
    """The positions that the colours span: the shown range or the whole table."""

    range = "range"
    table = "table"


class PartsName(StrEnum):
    """What is drawn of the curve."""

    both = "both"
    points = "points"
    line = "line"


class BasisName(StrEnum):
    """Components in which a training history is shown."""

    frozen = "frozen"
    aligned = "aligned"


SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help="sample | hub id[@revision] | folder | file")
]
Positions = Annotated[
    str | None,
    typer.Option(
        metavar="A-B", help="Inclusive range of positions; default: 1 to the last that is trained."
    ),
]
Colors = Annotated[
    ColorsName,
    typer.Option("--colours", help="Span of the colours: the shown range or the whole table."),
]
LineWidth = Annotated[
    float,
    typer.Option(min=LINE_WIDTHS[0], max=LINE_WIDTHS[1], help="Line width in pixels at scale 1."),
]
PointSize = Annotated[
    float,
    typer.Option(min=POINT_SIZES[0], max=POINT_SIZES[1], help="Point size in pixels at scale 1."),
]
Parts = Annotated[
    PartsName, typer.Option("--curve", help="Parts of the curve: line and points, or one of them.")
]
Period = Annotated[
    float | None,
    typer.Option(
        min=PERIODS[0], max=PERIODS[1], metavar="P", help="Colour by the position modulo P."
    ),
]
ColumnFile = Annotated[
    Path | None,
    typer.Option("--column-of", metavar="FILE", help="Colour by a column of this table (CSV)."),
]
ColumnName = Annotated[
    str | None,
    typer.Option("--column", metavar="NAME", help="The column; default: the first numeric one."),
]
Opacity = Annotated[
    float,
    typer.Option(min=OPACITIES[0], max=OPACITIES[1], help="Opacity of the curve; 1 is opaque."),
]
Offline = Annotated[
    bool,
    typer.Option("--offline", help="Make no network requests: open only what is on this machine."),
]
Whole = Annotated[
    bool,
    typer.Option("--whole", help="Allow whole files from a server that cannot send parts of them."),
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Ask the Hub for the current commit of a branch or tag."),
]
Table = Annotated[
    str | None,
    typer.Option(
        metavar="TENSOR",
        help="The tensor of positions, or rows of it: 'pe.weight[2:]'; or a side: encoder. Of "
        "several sources, for those that have it.",
    ),
]

Family = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The family as which it is read, whatever its configuration says: gpt2, bert, "
        "roberta, vit, nanogpt, timm, …",
    ),
]
FirstRows = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="N", help="Number of first rows of the table that are no positions: 0, 1, 2."
    ),
]

_LISTED = "\n".join(f"  {name:20}  {text}" for name, text in BUILT_IN_FIGURES.items())
REPORT_HELP = f"""Write report.json and the figures.

\b
Figures, each as .png and .svg:
{_LISTED}
and one of each installed panel, by its name.

Figures that a model does not support are left out; report.json lists them with the reason under
figures.skipped.
"""


def command_first(app: typer.Typer, words: list[str]) -> list[str]:
    """Move a command after options to the front.

    Parameters
    ----------
    app
        The application with the commands, whose options are known.
    words
        The arguments; the first is an option.

    Returns
    -------
    The arguments, unchanged if there is no command after the options.
    """
    commands = get_group(app).commands
    with_value = {
        name
        for command in commands.values()
        for option in command.params
        # Only options have this attribute and start with dashes.
        if not getattr(option, "is_flag", False)
        for name in option.opts
    }
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        at += 2 if words[at] in with_value else 1
    if at < len(words) and words[at] in commands:
        return [words[at], *words[:at], *words[at + 1 :]]
    return words


def chosen(table: str | None, family: str | None, first_rows: int | None) -> str | None:
    """Return the three options as the ``table`` argument of ``open_model``; None for none."""
    if family is None and first_rows is None:
        return table
    from geometry.checkpoints.errors import SourceError
    from geometry.models.recognition.choice import choice_of, family_named

    try:
        return choice_of(table, None if family is None else family_named(family), first_rows)
    except SourceError as error:
        option = "--table" if family is None else "--family"
        raise typer.BadParameter(f"{error} {error.advice}".rstrip("."), param_hint=option) from None


def apart(source: str, table: str | None) -> tuple[str, str | None]:
    """Return a source without its choice of a table, and that choice, or else ``table``."""
    from geometry.models.sources.source import Source

    model, table = Source.parse(source).apart(table)
    return model.text, table


def colored_by(period: float | None, file: Path | None, name: str | None) -> dict[str, object]:
    """Return the session's fields for colours by a period, or by a column of a table.

    Raises SourceError: The table cannot be read, or has no such column.
    """
    if period is not None and file is not None:
        raise typer.BadParameter("choose one of them", param_hint="--period, --column-of")
    if name is not None and file is None:
        raise typer.BadParameter("it needs --column-of FILE", param_hint="--column")
    if period is not None:
        return {"color_by": "period", "color_period": period}
    if file is None:
        return {}
    from geometry.checkpoints.column_files import column_named, read_columns

    return {"color_by": "column", "color_column": column_named(read_columns(file), name)}


def look_of(
    colors: ColorsName,
    line_width: float,
    point_size: float,
    curve: PartsName,
    opacity: float,
    colored: tuple[float | None, Path | None, str | None],
) -> Fields:
    """Return the session's fields for the look of a curve.

    ``colored`` are the arguments of :func:`colored_by`, which may raise SourceError.
    """
    return {
        "color_span": colors.value,
        "line_width": line_width,
        "point_size": point_size,
        "curve_parts": curve.value,
        "opacity": opacity,
        **colored_by(*colored),
    }


def parse_positions(text: str | None) -> tuple[int, int] | None:
    """Parse "A-B" (or one position) as an inclusive range."""
    if text is None:
        return None
    first, dash, last = text.replace("–", "-").partition("-")
    try:
        shown = int(first), int(last if dash else first)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a range such as 1-1023", param_hint="--positions"
        ) from None
    if shown[0] > shown[1]:
        raise typer.BadParameter(f"{text!r} ends before it starts", param_hint="--positions")
    return shown


def parse_components(text: str, option: str = "--components") -> tuple[int, int, int]:
    """Parse "1,2,3", the value of an option, as three different components, counted from 1."""
    numbers = [int(part) if part.strip().isdecimal() else 0 for part in text.split(",")]
    if len(numbers) != 3 or min(numbers) < 1 or len(set(numbers)) != 3:
        raise typer.BadParameter(
            f"{text!r} is not three different components such as 1,2,3",
            param_hint=option,
        )
    return numbers[0], numbers[1], numbers[2]


def parse_size(text: str) -> tuple[int, int]:
    """Parse "1600x1200" as width and height."""
    numbers = [int(part) if part.isdecimal() else 0 for part in text.lower().split("x")]
    if len(numbers) != 2 or min(numbers) < 1:
        raise typer.BadParameter(f"{text!r} is not a size such as 1600x1200", param_hint="--size")
    return numbers[0], numbers[1]


def parse_canvas(text: str, dpi: float, scale: float, *, vectors: bool = False) -> Canvas:
    """Parse "1600x1200", in pixels at scale 1, or "84x63mm", on paper at pixels per inch."""
    if not text.lower().endswith("mm"):
        return Canvas.times(parse_size(text), scale)
    try:
        width, height = (float(side) for side in text.lower().removesuffix("mm").split("x"))
    except ValueError:
        width = height = 0.0
    if not (0 < width < math.inf and 0 < height < math.inf):
        raise typer.BadParameter(f"{text!r} is not a size such as 84x63mm", param_hint="--size")
    return Canvas.printed((width, height), dpi, scale, vectors=vectors)


def check_ending(out: Path, endings: tuple[str, ...], option: str) -> None:
    """Check that a file has one of the supported suffixes."""
    if out.suffix.lower() not in endings:
        raise typer.BadParameter(
            f"{out.name} does not end in {' or '.join(endings)}", param_hint=option
        )
