"""Asking for the position table of a model that could not be opened, or of the open one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QRectF, QSize, QTimer
from PySide6.QtGui import QImage, QPainter

from geometry.models.recognition.candidates import candidates
from geometry.models.recognition.choice import Choice
from geometry.models.sources.previews import curve_of, open_tensors
from gui.plots.curve_picture import paint_curve, paint_ground, places_in, position_colors
from gui.state.camera import side_on
from gui.state.values import Notice
from gui.style.theme import Theme
from gui.window.table_dialog import TableDialog

if TYPE_CHECKING:
    from geometry.checkpoints.stores import TensorInfo, TensorStore
    from gui.window.host import HostWindow

PREVIEW, CANDIDATES = "table preview", "table candidates"
"""Slots of the jobs."""
DOT = 2.0


def ask_table(window: HostWindow, choose: Callable[[Notice, str], None], notice: Notice) -> None:
    """Ask for the table of the source of a notice; ``choose`` opens it with what was chosen."""
    source = notice.source
    opened: list[TensorStore | None] = []

    def store() -> TensorStore | None:
        if not opened:
            opened.append(None if source is None else open_tensors(source))
        return opened[0]

    before = _parsed(window.controller.chosen_before(notice), notice.candidates)
    if choice := _ask(window, notice.candidates, notice.first_rows, before, store):
        choose(notice, choice)


def ask_for_open_model(window: HostWindow) -> None:
    """Ask for the table of the open model, and open it with what was chosen."""
    model = window.session.model
    if model is None:
        return
    source, store, before = model.source, model.store, model.table_choice or ""
    opening, wanted = window.controller.opening, window.controller.opening.wanted

    def use(tensors: tuple[TensorInfo, ...]) -> None:
        if window.session.model is not model or opening.wanted is not wanted:
            return  # another one was opened meanwhile
        if not tensors:
            text = f"{model.name} has no tensor that could be its table of positions."
            window.session.notice = Notice(text)
            return
        current = next((one for one in tensors if one.name == model.table), None)
        shown = tensors if current is None else (current, *(t for t in tensors if t != current))
        if chosen := _ask(window, shown, (), _parsed(before, shown), lambda: store):
            window.controller.open(source, table=chosen)

    window.controller.in_background(
        CANDIDATES,
        lambda: candidates(store.tensors),
        # A dialog has an event loop of its own, which does not run within the end of a job.
        lambda tensors: QTimer.singleShot(0, lambda: use(tensors)),
        "The tensors of the model could not be read",
        stop=lambda: None,
    )


def _parsed(choice: str, tensors: Sequence[TensorInfo]) -> Choice:
    """Return the parts of a choice, which may be the name of a tensor alone."""
    names = {tensor.name for tensor in tensors}
    return Choice(choice) if choice in names else Choice.parse(choice)


def _ask(
    window: HostWindow,
    tensors: tuple[TensorInfo, ...],
    first_rows: tuple[int, ...],
    before: Choice,
    store: Callable[[], TensorStore | None],
) -> str:
    """Return what was chosen, "" for nothing; ``store`` is called on a thread."""
    colormap, theme = window.session.colormap, window.theme

    def preview(name: str, size: QSize, use: Callable[[QImage | None], None]) -> None:
        ratio = window.devicePixelRatioF()

        def draw() -> QImage | None:
            tensors = store()
            curve = None if tensors is None else curve_of(tensors, name)
            return None if curve is None else picture_of(curve, size, ratio, colormap, theme)

        window.controller.in_background(
            PREVIEW, draw, use, "A tensor could not be drawn", stop=lambda: None
        )

    dialog = TableDialog(window, tensors, first_rows, before, preview)
    accepted = dialog.exec() == TableDialog.DialogCode.Accepted
    window.controller.jobs.cancel(PREVIEW)
    choice = dialog.table if accepted else ""
    dialog.deleteLater()
    return choice


def picture_of(curve: np.ndarray, size: QSize, ratio: float, colormap: str, theme: Theme) -> QImage:
    """Draw (m, 3) components from the side, coloured by row; on any thread."""
    direction, up = side_on(curve)
    flat = (curve - curve.mean(axis=0)) @ np.column_stack([np.cross(up, direction), up])
    picture = QImage(size * ratio, QImage.Format.Format_ARGB32_Premultiplied)
    picture.setDevicePixelRatio(ratio)
    rect = QRectF(0, 0, size.width(), size.height())
    painter = QPainter(picture)
    paint_ground(painter, rect, theme)
    places = places_in(rect, flat, np.abs(flat).max(axis=0))
    paint_curve(painter, places, position_colors(colormap, theme), theme, DOT)
    painter.end()
    return picture
