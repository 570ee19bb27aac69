"""What `helixscope report` writes: report.json and the figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from geometry.errors import HelixscopeError, RangeError
from geometry.model import PositionalModel
from geometry.report import report

FIGURES = ("norms", "spectrum")
FORMATS = ("png", "svg")


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """What to write and where.

    Attributes
    ----------
    folder
        Where to; made if need be.
    positions
        Inclusive range, or None for 1 to the last.
    layer, fold_ln
        Layer of overlaps and kernels, and whether LayerNorm's gain is folded into weights.
    rank, after
        As in :func:`geometry.report.report`.
    figures
        Draw the figures too.
    """

    folder: Path
    positions: tuple[int, int] | None = None
    layer: int = 0
    rank: int | None = None
    after: int = 100
    fold_ln: bool = False
    figures: bool = True

    @property
    def n_steps(self) -> int:
        """How many steps :func:`report_steps` yields."""
        return 1 + (1 + len(FIGURES)) * self.figures


def report_steps(
    model: PositionalModel, request: ReportRequest
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield what is to be done, one by one: a message and the work.

    Raises
    ------
    RangeError
        When the model has no such layer, range or rank.
    HelixscopeError
        When a file cannot be written.
    """
    if model.n_layers is not None and request.layer >= model.n_layers:
        raise RangeError(f"{model.name} has layers 0–{model.n_layers - 1}, got {request.layer}")
    yield "Measuring", lambda: _write_json(model, request)
    if not request.figures:
        return
    # Matplotlib and VTK are loaded only for the figures.
    yield "Drawing the helix", lambda: _draw_helix(model, request)
    for name in FIGURES:
        yield f"Drawing {name}", partial(_draw, model, request, name)


def _write_json(model: PositionalModel, request: ReportRequest) -> None:
    measured = report(
        model,
        positions=request.positions,
        layer=request.layer,
        rank=request.rank,
        after=request.after,
        fold_ln=request.fold_ln,
    )
    text = json.dumps(measured, allow_nan=False, ensure_ascii=False, indent=1)
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
        (request.folder / "report.json").write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise _not_written(request.folder, error) from error


def _draw_helix(model: PositionalModel, request: ReportRequest) -> None:
    from gui.export import render_picture

    if min(model.W_pos.shape) < 3:
        # A table of one or two rows or columns has no three components to draw.
        return
    render_picture(model, request.folder / "helix.png", positions=request.positions)


def _draw(model: PositionalModel, request: ReportRequest, name: str) -> None:
    from gui.figures import norms_figure, save_figure, spectrum_figure

    draw = {
        "norms": lambda: norms_figure(model, after=request.after),
        "spectrum": lambda: spectrum_figure(model),
    }
    figure = draw[name]()
    for ending in FORMATS:
        path = request.folder / f"{name}.{ending}"
        try:
            save_figure(figure, path)
        except OSError as error:
            raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> HelixscopeError:
    return HelixscopeError(
        f"{path} cannot be written: {error.strerror or error}", "Choose another folder."
    )
