"""The command `timelapse`: how a curve formed in training, as a film or as numbers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gui.commands.arguments import (
    BasisName,
    Colors,
    ColorsName,
    Family,
    FirstRows,
    Fresh,
    Offline,
    Positions,
    SourceArgument,
    Table,
    ThemeName,
    Whole,
    check_ending,
    chosen,
    parse_positions,
    parse_size,
)
from gui.commands.steps import open_in_step, progress_bar
from gui.commands.terminal import say_written


def timelapse(
    source: SourceArgument,
    out: Annotated[Path, typer.Option(help="File to write: .mp4, .gif or .npz.")],
    basis: Annotated[
        BasisName, typer.Option(help="The last step's components, or each step's own, aligned.")
    ] = BasisName.frozen,
    positions: Positions = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of log-spaced steps; default: 40 checkpoints, or all of a file."
        ),
    ] = None,
    size: Annotated[
        str, typer.Option(metavar="WxH", help="Width and height of a film in pixels.")
    ] = "960x720",
    fps: Annotated[float, typer.Option(min=0.5, max=50, help="Steps per second of a film.")] = 6.0,
    theme: Annotated[ThemeName, typer.Option(help="Colour theme of a film.")] = ThemeName.light,
    colors: Colors = ColorsName.range,
    table: Table = None,
    family: Family = None,
    first_rows: FirstRows = None,
    offline: Offline = False,
    whole: Whole = False,
    fresh: Fresh = False,
) -> None:
    """Write how the curve formed in training: as a film, or as numbers.

    The model needs a training history: the bundled model, one trained with `train`, a folder of
    steps such as checkpoint-1000 or ckpt_1000.pt, a file with several state dicts, or a model on
    the Hub with such branches, whose positions are cached.

    .npz: arrays steps, tokens and losses where known, coordinates, variance, frozen_variance,
    norms, positions, basis, mean, components.
    """
    from geometry.history.here import of_one_version
    from gui.commands.training_history import history_for_command
    from gui.export.timelapse_film import FORMATS, timeline_session, write_timelapse
    from gui.state.session import Session
    from gui.style.theme import THEMES

    shown, pixels = parse_positions(positions), parse_size(size)
    table = chosen(table, family, first_rows)
    check_ending(out, FORMATS, "--out")
    with progress_bar(4) as step:
        model = open_in_step(step, source, table, offline, whole, fresh)
        read = partial(
            history_for_command,
            model,
            steps,
            offline=offline,
            whole=whole,
            on_progress=step.report,
        )
        history = step("Reading the history", read)

        def compute() -> Session:
            return of_one_version(
                read,
                lambda current: timeline_session(
                    model, current, basis.value, shown, look={"color_span": colors.value}
                ),
                history,
            )

        session = step("Computing", compute)
        write_timelapse(session, out, size=pixels, fps=fps, theme=THEMES[theme.value], step=step)
    say_written(str(out), model)
