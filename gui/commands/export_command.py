"""The command `export`: the numbers behind the curve, the scene, or a film of it, in a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from gui.commands.arguments import (
    Colors,
    ColorsName,
    ColumnFile,
    ColumnName,
    Family,
    FirstRows,
    Fresh,
    LineWidth,
    Offline,
    Opacity,
    Parts,
    PartsName,
    Period,
    PointSize,
    Positions,
    SourceArgument,
    Table,
    ThemeName,
    ViewName,
    Whole,
    check_ending,
    chosen,
    look_of,
    parse_components,
    parse_positions,
    parse_size,
)
from gui.commands.steps import open_in_step, progress_bar
from gui.commands.terminal import say_written
from gui.state.values import LINE_WIDTH, POINT_SIZE

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.state.values import Fields


class AboutName(StrEnum):
    """The axis about which a film's scene turns."""

    up = "up"
    x = "x"
    y = "y"
    z = "z"


class Look(TypedDict):
    """Options of a scene and of a film."""

    view: str
    theme: str
    look: Fields


def export(
    source: SourceArgument,
    out: Annotated[
        Path, typer.Option(help="File to write: .csv, .npz, .glb, .html, .mp4 or .gif.")
    ],
    positions: Positions = None,
    components: Annotated[
        int, typer.Option(min=1, help="Number of principal components in a table.")
    ] = 10,
    axes: Annotated[
        str, typer.Option(help="Principal components on the three axes of a scene or film.")
    ] = "1,2,3",
    view: Annotated[
        ViewName, typer.Option(help="Camera position in .html, or at the start of a film.")
    ] = ViewName.article,
    theme: Annotated[
        ThemeName, typer.Option(help="Colour theme of a scene or film.")
    ] = ThemeName.light,
    colors: Colors = ColorsName.range,
    line_width: LineWidth = LINE_WIDTH,
    point_size: PointSize = POINT_SIZE,
    curve: Parts = PartsName.both,
    opacity: Opacity = 1.0,
    period: Period = None,
    column_of: ColumnFile = None,
    column: ColumnName = None,
    size: Annotated[
        str, typer.Option(metavar="WxH", help="Width and height of a film in pixels.")
    ] = "960x720",
    seconds: Annotated[
        float, typer.Option(min=1, max=60, help="Seconds per turn of a film.")
    ] = 8.0,
    fps: Annotated[float, typer.Option(min=5, max=50, help="Frames per second of a film.")] = 25.0,
    small: Annotated[
        bool,
        typer.Option(
            "--small", help="In .html: a page of at most 300 kB, for a frame of 600 × 400."
        ),
    ] = False,
    about: Annotated[
        AboutName,
        typer.Option(help="Axis of rotation of a film: up on the screen, or one of the axes."),
    ] = AboutName.up,
    table: Table = None,
    family: Family = None,
    first_rows: FirstRows = None,
    offline: Offline = False,
    whole: Whole = False,
    fresh: Fresh = False,
) -> None:
    """Write coordinates, positions and norms as a table, or the 3D view as a scene or a film.

    .csv: columns position, norm, residual, pc_1, pc_2, …
    .npz: arrays positions, norms, residuals, coordinates, mean, components, singular_values,
    explained_variance_ratio.

    Coordinates are in the exact principal components of the range; residuals are relative to the
    first three.

    .html: an interactive page for any browser, without a network; with --small a light one.
    .glb: glTF, for presentations and 3D programs.
    .mp4, .gif: a turntable, one full turn of the scene in a loop.
    """
    from geometry.checkpoints.number_files import FORMATS
    from geometry.measures.table import tabulate, write_table
    from gui.export.film import FILMS
    from gui.export.scene_files import SCENES, export_scene

    shown, drawn, pixels = (
        parse_positions(positions),
        parse_components(axes, "--axes"),
        parse_size(size),
    )
    table = chosen(table, family, first_rows)
    check_ending(out, (*FORMATS, *SCENES, *FILMS), "--out")
    ending = out.suffix.lower()
    # First, so that a wrong column is reported before a model is downloaded.
    look: Look = {
        "view": view.value,
        "theme": theme.value,
        "look": look_of(
            colors, line_width, point_size, curve, opacity, (period, column_of, column)
        ),
    }
    with progress_bar(2) as step:
        model = open_in_step(step, source, table, offline, whole, fresh)
        span = shown or model.usual_positions
        if small and ending == ".html":
            step("Writing", lambda: _write_small(model, out, span))
        elif ending in SCENES:
            step("Writing", lambda: export_scene(model, out, span, drawn, **look))
        elif ending in FILMS:
            from gui.export.turntable import Turn, export_turntable

            turn = Turn(about.value, seconds)
            export_turntable(
                model,
                out,
                span,
                drawn,
                turn=turn,
                size=pixels,
                fps=fps,
                step=step,
                **look,
            )
        else:
            step("Writing", lambda: write_table(tabulate(model.W_pos, span, components), out))
    say_written(str(out), model)


def _write_small(model: PositionalModel, out: Path, positions: tuple[int, int]) -> None:
    from geometry.checkpoints.whole_files import write_text, writing
    from geometry.claims.measurements import Measurements, Scope
    from gui.export.viewer import ShownCurve

    page = ShownCurve.of(Measurements(model, Scope(positions))).page(model.source)
    with writing(out):
        write_text(page, out)
