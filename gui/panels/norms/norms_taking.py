"""What can be taken away from the norms panel: its figure, its numbers, the Python behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gui.panels.norms.norms_reading import Beside, Reading, beside
from gui.panels.norms.norms_text import TITLES, axis_title, summary
from gui.services.overlay_curves import told_apart
from gui.services.snippets import opening
from gui.state.session import Session

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drawing(
    name: str, reading: Reading, others: Sequence[tuple[Beside, str]]
) -> Callable[[], Figure]:
    """Return what draws a reading for print, without the panel.

    Parameters
    ----------
    name
        Of the open model.
    reading, others
        What is shown of it, and other models' curves with their colours.
    """
    formula, meaning = TITLES[reading.quantity, reading.centred]
    title, detail = f"{name} · {formula} {meaning}", summary(reading)

    def draw() -> Figure:
        from gui.panels.norms.norms_figure import lengths_figure

        return lengths_figure(
            reading, others, title=title, detail=detail, y_title=axis_title(reading), name=name
        )

    return draw


def numbers(
    name: str, reading: Reading, others: Sequence[tuple[Beside, str]]
) -> Mapping[str, np.ndarray]:
    """Return the values by position as they were measured, a column for each model.

    Models of one name are told apart by numbers. Where a model has no such position they are not
    numbers.
    """
    names = told_apart((name, *(other.overlay.name for other, _ in others)))
    values_of = (reading.source, *(other.source for other, _ in others))
    curves = {f"{reading.quantity} {n}": v for n, v in zip(names, values_of, strict=True)}
    rows = max(map(len, curves.values()))
    columns = {"position": np.arange(rows)}
    for column, values in curves.items():
        columns[column] = np.pad(values, (0, rows - len(values)), constant_values=np.nan)
    return columns


def python(session: Session, reading: Reading) -> str:
    """Return a script that measures the open model's values, and those of others that are drawn."""
    assert session.model is not None
    parts = [_script(session, reading, opening(session.model))]
    compared = {c.key: c.session.model for c in session.compared}
    for other in beside(session):
        overlay = other.overlay
        model = compared.get(overlay.key)
        opened = (
            opening(model)
            if model is not None
            else "from geometry import open_model\n\n"
            f"model = open_model({overlay.source!r})  # {overlay.name}\n"
        )
        parts.append(f"# Beside it, {overlay.name}:\n{_script(session, reading, opened)}")
    return "\n".join(parts)


def _script(session: Session, reading: Reading, opened: str) -> str:
    first, last = session.positions
    made = {
        "norm": "from geometry import norm_profile\n\n"
        f"values = norm_profile(model.W_pos, centred={reading.centred}).values\n",
        "step": "from geometry import row_lengths\n\n"
        f'values = row_lengths(model.W_pos).of("step", centred={reading.centred})\n',
        "residual": "from geometry import place_curve\n"
        "from geometry import fit_pca\n\n"
        f"pca = fit_pca(model.W_pos, ({first}, {last}), {max(session.components)})\n"
        f"values = place_curve(model.W_pos, pca, {tuple(session.components)}).residual\n",
    }[reading.quantity]
    return (
        opened
        + made
        + "from geometry import measure_stretch\n\n"
        + "for position, value in enumerate(values):\n"
        + "    print(position, value)\n"
        + f"print(measure_stretch(values, {reading.after}))\n"
    )
