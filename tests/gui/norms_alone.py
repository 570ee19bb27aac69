"""The norms panel of a session without a controller, and a table for it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QApplication

from geometry.measures.norms import norm_profile
from gui.panels.norms.norms import NormsPanel
from gui.style.theme import LIGHT
from tests.gui.on_screen import put_on_screen

LEFT = Qt.MouseButton.LeftButton
N = 300


def table(n=N, d_model=16):
    """Return rows of nearly equal norm on a winding curve; the first and last stand out."""
    angle = np.arange(n)[:, None] / 40 * np.arange(1, d_model + 1)
    rows = np.cos(angle) + 0.3
    rows *= (3 + 0.05 * np.sin(np.arange(n) / 9))[:, None] / np.linalg.norm(
        rows, axis=1, keepdims=True
    )
    rows[0] *= 3
    rows[-1] /= 30
    return rows


def open_table(session, W_pos, **kwargs):
    session.model = SimpleNamespace(n_positions=len(W_pos))
    session.positions = (min(1, len(W_pos) - 1), len(W_pos) - 1)
    session.norms = norm_profile(W_pos, **kwargs)
    QApplication.processEvents()


def show_alone(qtbot, session):
    """Show a panel of which nobody hears."""
    return put_on_screen(qtbot, NormsPanel(session, LIGHT), 1100, 208)


def at(panel, position, value=None):
    plot = panel.plot
    value = plot.values[position] if value is None else value
    return plot.view.mapViewToScene(QPointF(position, value)).toPoint()
