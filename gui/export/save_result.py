"""Saving and copying a panel's figure, numbers and Python script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QMimeData, QStandardPaths
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QLayout,
    QMessageBox,
    QWidget,
)

from geometry.checkpoints.number_files import table_files, write_numbers, write_tables
from geometry.checkpoints.whole_files import write_text, writing
from gui.services.jobs.jobs import T
from gui.services.save_folders import folder_for, remember_folder
from gui.state.values import Notice
from gui.style.theme import GRID
from gui.widgets.boxes import form, vbox
from gui.widgets.label import message_box

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.services.controller import Controller
    from gui.state.session import Session

FIGURES = {"png": "PNG picture (*.png)", "svg": "SVG drawing (*.svg)", "pdf": "PDF (*.pdf)"}
NUMBERS = {"csv": "CSV table (*.csv)", "npz": "NumPy arrays (*.npz)"}
BACKGROUNDS = (
    ("theme", "As on screen", "The colours of the theme"),
    ("white", "White", "The colours of the light theme, for papers"),
)
"""Backgrounds of pictures and films, for a choice."""

_DOCUMENTS = QStandardPaths.StandardLocation.DocumentsLocation


class ResultSaver:
    """Writes figures and numbers on a thread, because Matplotlib is slow."""

    def __init__(self, controller: Controller) -> None:
        self._controller, self._session = controller, controller.session

    def save_figure(
        self,
        parent: QWidget,
        name: str,
        draw: Callable[[], Figure],
        width: float | None = None,
    ) -> None:
        """Ask for a file and draw the figure into it, in the format of its suffix.

        ``width`` is in inches; None for the figure's own.
        """

        def write(figure: Figure, path: Path) -> None:
            from gui.plots.figure_base import save_figure, with_width

            save_figure(figure if width is None else with_width(figure, width), path)

        path = ask_where(parent, "Save figure", name, FIGURES, session=self._session)
        self._save(path, draw, write, "The figure could not be saved")

    def save_numbers(
        self,
        parent: QWidget,
        name: str,
        numbers: Mapping[str, np.ndarray],
        tables: Mapping[str, Mapping[str, np.ndarray]],
    ) -> None:
        """Ask for a file and write the numbers: as one NPZ, or as a CSV for each table."""
        path = ask_where(
            parent, "Save numbers", name, NUMBERS, session=self._session, beside=tables
        )
        if path is None:
            return
        csv = path.suffix.lower() == ".csv"
        write = (
            partial(write_tables, tables, path) if csv else partial(write_numbers, numbers, path)
        )
        beside = table_files(path, [name for name in tables if name and csv]).values()
        self._controller.save(path, write, "The numbers could not be saved", beside)

    def save_text(
        self,
        parent: QWidget,
        title: str,
        name: str,
        kinds: Mapping[str, str],
        texts: Mapping[str, Callable[[], str]],
    ) -> None:
        """Ask for a file of one of some kinds, and write the text of that kind."""
        path = ask_where(parent, title, name, kinds, session=self._session)
        if path is not None:
            text = texts[path.suffix.lower().lstrip(".")]
            self._save(path, text, write_text, "The text could not be saved")

    def _save(
        self, path: Path | None, make: Callable[[], T], write: Callable[[T, Path], None], what: str
    ) -> None:
        if path is None:
            return

        def work() -> None:
            made = make()
            with writing(path):
                write(made, path)

        self._controller.save(path, work, what)

    def copy_figure(self, draw: Callable[[], Figure]) -> None:
        """Copy the figure to the clipboard as a picture."""

        def picture() -> QImage:
            from gui.plots.figure_base import drawn

            return QImage.fromData(drawn(draw(), "png"))

        self._controller.in_background(
            "copy figure",
            picture,
            partial(copy_picture, self._session, "figure"),
            "The figure could not be copied",
        )

    def copy_text(self, text: str) -> None:
        """Copy text to the clipboard."""
        QGuiApplication.clipboard().setText(text)
        self._session.status = "Copied as Python"


def copy_picture(session: Session, what: str, image: QImage) -> None:
    """Copy a picture of something to the clipboard; a notice tells if there is none."""
    clipboard, data = QGuiApplication.clipboard(), QMimeData()
    data.setImageData(image)
    clipboard.setMimeData(data)
    if clipboard.mimeData().hasImage():
        session.status = f"Copied the {what}"
        return
    data.clear()  # Qt keeps what a clipboard has not taken
    session.status = "Ready"
    session.notice = Notice(
        f"The {what} could not be copied, since this session has no clipboard.",
        "Save it to a file instead.",
    )


def lay_out_options(
    dialog: QDialog, rows: Iterable[tuple[str, QWidget | QLayout]]
) -> QDialogButtonBox:
    """Lay out a dialog for saving: named rows, and below them the returned buttons."""
    buttons = QDialogButtonBox()
    buttons.addButton("Save…", QDialogButtonBox.ButtonRole.AcceptRole).setDefault(True)
    buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
    buttons.accepted.connect(dialog.accept)
    buttons.rejected.connect(dialog.reject)
    layout = vbox(form(None, rows), buttons, parent=dialog, spacing=2 * GRID, margins=2 * GRID)
    layout.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)
    return buttons


def ask_where(
    parent: QWidget,
    title: str,
    name: str,
    kinds: Mapping[str, str],
    location: QStandardPaths.StandardLocation = _DOCUMENTS,
    *,
    session: Session | None = None,
    kind: str = "",
    beside: Iterable[str] = (),
) -> Path | None:
    """Ask for a file of one of some kinds; None if cancelled.

    Parameters
    ----------
    name
        Suggested name, without suffix.
    kinds
        Suffixes and their descriptions; the first is the default.
    location
        Initial folder the first time, and where the remembered ones are gone.
    session
        Remembers the folder.
    kind
        What else is saved in the same folder; what has the same title if "".
    beside
        Names of the tables that a CSV is written as; see
        :func:`geometry.checkpoints.number_files.table_files`.

    Returns
    -------
    pathlib.Path or None
        With the typed suffix if it is one of the kinds, otherwise with that of the chosen kind. If
        the file exists, the user agreed to replace it.
    """
    kind = kind or title
    folder = "" if session is None else folder_for(session, kind)
    if not folder:
        place = QStandardPaths.writableLocation(location)
        folder = place if Path(place).is_dir() else ""
    dialog = QFileDialog(parent, title, folder, ";;".join(kinds.values()))
    # Added to a name without a dot before the dialog asks whether to replace a file.
    dialog.setDefaultSuffix(next(iter(kinds)))
    dialog.filterSelected.connect(lambda chosen: dialog.setDefaultSuffix(_ending(kinds, chosen)))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.selectFile(f"{name}.{next(iter(kinds))}")
    found = None
    while found is None and dialog.exec() == QFileDialog.DialogCode.Accepted:
        chosen = Path(dialog.selectedFiles()[0])
        path = _with_ending(chosen, kinds, dialog.selectedNameFilter())
        # For a name with a dot, such as opt-1.3b, the dialog could not know the final suffix.
        there = [] if path == chosen or not path.exists() else [path]
        if path.suffix.lower() == ".csv":
            others = table_files(path, beside).values()
            there += [other for other in others if other != path and other.exists()]
        if not there or _may_replace(there, parent, title):
            found = path
    dialog.deleteLater()
    if found is not None and session is not None:
        remember_folder(session, kind, found)
    return found


def _ending(kinds: Mapping[str, str], chosen: str) -> str:
    """Return the suffix of the kind with this description."""
    return next((ending for ending, kind in kinds.items() if kind == chosen), next(iter(kinds)))


def _with_ending(path: Path, kinds: Mapping[str, str], chosen: str) -> Path:
    if path.suffix.lower().lstrip(".") in kinds:
        return path
    return path.with_name(f"{path.name}.{_ending(kinds, chosen)}")


def _may_replace(there: list[Path], parent: QWidget, title: str) -> bool:
    names = ", ".join(path.name for path in there)
    question = f"{names} already exists. Replace it?"
    if len(there) > 1:
        question = f"{names} already exist. Replace them?"
    box = message_box(parent, title, question)
    yes = box.addButton("Replace", QMessageBox.ButtonRole.AcceptRole)
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    box.exec()
    box.deleteLater()
    return box.clickedButton() is yes
