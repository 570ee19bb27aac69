"""Saving and copying what a panel shows: its figure, its numbers, the Python that makes them."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QStandardPaths
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QWidget

from geometry.errors import HelixscopeError
from geometry.number_files import write_numbers
from gui.session import Session

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = {"png": "PNG picture (*.png)", "svg": "SVG drawing (*.svg)", "pdf": "PDF (*.pdf)"}
NUMBERS = {"csv": "CSV table (*.csv)", "npz": "NumPy arrays (*.npz)"}
RESOLUTION = 200
"""Dots per inch of a figure on the clipboard."""

Background = Callable[[str, Callable[[], Any], Callable[[Any], None], str], None]


class ResultSaver:
    """Writes figures and numbers on a thread: Matplotlib takes its time.

    Parameters
    ----------
    session
        Is told in its status what was saved.
    in_background
        :meth:`gui.controller.Controller.in_background`.
    """

    def __init__(self, session: Session, in_background: Background) -> None:
        self._session, self._run = session, in_background

    def save_figure(self, parent: QWidget, name: str, draw: Callable[[], Figure]) -> None:
        """Ask for a file and draw the figure into it; its ending says how."""
        path = ask_where(parent, "Save figure", name, FIGURES)
        if path is not None:
            self._save(path, "The figure could not be saved", lambda: _write_figure(draw(), path))

    def save_numbers(
        self, parent: QWidget, name: str, numbers: Callable[[], Mapping[str, np.ndarray]]
    ) -> None:
        """Ask for a file and write the numbers into it; its ending says how."""
        path = ask_where(parent, "Save numbers", name, NUMBERS)
        if path is not None:
            self._save(
                path, "The numbers could not be saved", lambda: write_numbers(numbers(), path)
            )

    def save_text(
        self,
        parent: QWidget,
        title: str,
        name: str,
        kinds: Mapping[str, str],
        texts: Mapping[str, Callable[[], str]],
    ) -> None:
        """Ask for a file of one of some kinds, and write the text of that kind into it."""
        path = ask_where(parent, title, name, kinds)
        if path is not None:
            text = texts[path.suffix.lower().lstrip(".")]
            self._save(path, "The text could not be saved", lambda: _write_text(text(), path))

    def copy_figure(self, draw: Callable[[], Figure]) -> None:
        """Put the figure on the clipboard as a picture."""

        def picture() -> QImage:
            buffer = io.BytesIO()
            draw().savefig(buffer, format="png", dpi=RESOLUTION)
            return QImage.fromData(buffer.getvalue())

        def copy(image: QImage) -> None:
            QGuiApplication.clipboard().setImage(image)
            self._session.status = "Copied the figure"

        self._run("copy figure", picture, copy, "The figure could not be copied")

    def copy_text(self, text: str) -> None:
        """Put text on the clipboard."""
        QGuiApplication.clipboard().setText(text)
        self._session.status = "Copied as Python"

    def _save(self, path: Path, what: str, write: Callable[[], None]) -> None:
        def done(_: None) -> None:
            self._session.status = f"Saved {path}"

        self._run(f"save {path}", write, done, what)


def _write_figure(figure: Figure, path: Path) -> None:
    from gui.figures import save_figure

    try:
        save_figure(figure, path)
    except OSError as error:
        raise _not_written(path, error) from error


def _write_text(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> HelixscopeError:
    return HelixscopeError(
        f"{path} cannot be written: {error.strerror or error}",
        "Choose another folder or file name.",
    )


def ask_where(parent: QWidget, title: str, name: str, kinds: Mapping[str, str]) -> Path | None:
    """Let the user choose a file of one of some kinds; None if none."""
    pictures = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    folder = pictures if Path(pictures).is_dir() else ""
    dialog = QFileDialog(parent, title, folder, ";;".join(kinds.values()))
    # With the ending added before it asks whether to replace a file of that name.
    dialog.setDefaultSuffix(next(iter(kinds)))
    dialog.filterSelected.connect(
        lambda chosen: dialog.setDefaultSuffix(
            next(ending for ending, kind in kinds.items() if kind == chosen)
        )
    )
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.selectFile(f"{name}.{next(iter(kinds))}")
    accepted = dialog.exec() == QFileDialog.DialogCode.Accepted
    dialog.deleteLater()
    if not accepted:
        return None
    path = Path(dialog.selectedFiles()[0])
    return (
        path
        if path.suffix.lower().lstrip(".") in kinds
        else path.with_name(f"{path.name}.{next(iter(kinds))}")
    )
