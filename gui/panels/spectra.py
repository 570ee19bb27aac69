"""The spectra panel: singular values of P, E and the layers' weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QSpinBox, QWidget

from geometry.checkpoints.stores import RegionStore
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Subject
from gui.panels.figure_text import spectra_scope, spectra_title
from gui.panels.matrix_chips import MatrixChips
from gui.panels.options import subject_of
from gui.panels.overlay_panel import XY, OverlayPanel
from gui.panels.spectra_legend import LegendRow, SpectraLegend
from gui.panels.spectra_question import NamedSpectrum, Spectra, SpectraOf
from gui.panels.subject_text import WORDS, subject_colors, subject_name
from gui.services.snippets import opening, written
from gui.state.session import Session
from gui.style.theme import GRID, Theme, format_count, format_number, format_percent
from gui.widgets.label import label
from gui.widgets.tooltips import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gui.plots.curve_plot import CurvePlot

TOP = 30
CHANCE = "Draw, dashed, the singular values of a random Gaussian matrix of the same shape and norm"
TOP_TIP = "How many of the first singular values the share of Σσ² is summed over"
MARKER = "Drag to change k, how many of the first singular values are summed"


class SpectraPanel(OverlayPanel):
    """Singular values against their index, both logarithmic, as in the article."""

    slot = "spectra"
    formula = "σᵢ(A)"
    meaning = "singular values"
    explanation = (
        "A matrix stretches some directions of the residual stream more than others: singular "
        "value σᵢ says how far, the strongest first. A few large ones mean that the matrix lives "
        "in few dimensions; a Gaussian matrix of the same shape and norm shows what is chance."
    )
    empty = "Open a model to see the singular values of its position table and weights."
    instead = "Choose P above: the position table is always there."

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.plot: CurvePlot
        self._subjects: tuple[Subject, ...] = (Subject("P"),)
        self._model: PositionalModel | None = None
        self.chips = MatrixChips()
        self.chips.changed.connect(self._on_subjects_changed)
        self.top = QSpinBox()
        self.top.setRange(1, TOP)
        self.top.setValue(TOP)
        self.top.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.top.setToolTip(wrapped(TOP_TIP))
        self.top.setAccessibleName("k")
        self._k = TOP
        self.top.valueChanged.connect(self.set_k)
        self.chance = QCheckBox("Chance")
        self.chance.setChecked(True)
        self.chance.setToolTip(wrapped(CHANCE))
        self.chance.toggled.connect(self._draw)
        for control in (self.chips, label("k", "muted"), self.top, self.chance):
            self.header.add(control)
        self._follow_model()

    # What it asks.

    def question(self) -> SpectraOf | None:
        """Ask for the chosen matrices."""
        self._follow_model()
        return SpectraOf(self._subjects) if self._subjects else None

    def question_of(self, session: Session) -> SpectraOf:
        """Ask other models for the first matrix alone: all of all could not be told apart."""
        return SpectraOf(self._subjects[:1])

    def configure(self, **options: Any) -> None:
        """Show ``subjects``, several, and ``k``; whether ``chance``."""
        self._follow_model()
        subjects = options.pop("subjects", self._subjects)
        self._on_subjects_changed(tuple(map(subject_of, subjects)))
        self.set_k(options.pop("k", self._k))
        self.chance.setChecked(options.pop("chance", self.chance.isChecked()))
        super().configure(**options)

    def options(self) -> dict[str, Any]:
        """Return what :meth:`configure` takes."""
        subjects = [asdict(subject) for subject in self._subjects]
        return {"subjects": subjects, "k": self._k, "chance": self.chance.isChecked()}

    def _follow_model(self) -> None:
        """Offer what another model has; P and E to begin with, if E need not be fetched."""
        model = self.session.model
        if model is None or model is self._model:
            return
        self._model = model
        here = isinstance(model.store, RegionStore) and "W_E" not in model.missing
        self._subjects = (Subject("P"), Subject("E")) if here else (Subject("P"),)
        self.chips.set_model(model.n_layers, model.missing)
        self.chips.show_subjects(self._subjects)

    def _on_subjects_changed(self, subjects: tuple[Subject, ...]) -> None:
        # Something has to be left to look at.
        self._subjects = subjects or (Subject("P"),)
        self.chips.show_subjects(self._subjects)
        self.ask()

    def set_k(self, k: int) -> None:
        """Sum the first k; kept within what the longest spectrum has."""
        self._k = min(max(k, 1), self.top.maximum())
        blocked = self.top.blockSignals(True)
        self.top.setValue(self._k)
        self.top.blockSignals(blocked)
        if self.result is not None:
            self._show_sums()

    # What it shows.

    def build(self) -> QWidget:
        """Make the plot and the legend beside it."""
        from gui.plots.curve_plot import CurvePlot

        self.plot = CurvePlot(self.theme, "index i", "singular value σᵢ", log_x=True, log_y=True)
        self.plot.setAccessibleName("Singular values")
        self.plot.pointHovered.connect(self._on_hovered)
        self.plot.markerDragged.connect(lambda x: self.set_k(round(x)))
        self.legend = SpectraLegend()
        self.legend.removed.connect(self._on_removed)
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self.plot, 1)
        row.addWidget(self.legend)
        return content

    def show_result(self, result: Spectra) -> None:
        """Draw the curves."""
        self.top.setMaximum(max(len(found.singular_values) for found in result.found))
        self._k = min(self._k, self.top.maximum())
        self.top.setValue(self._k)
        self._draw()

    def _draw(self) -> None:
        if self.result is None:
            return
        from gui.plots.spec import Curve

        curves = []
        for found, color in zip(self.result.found, self._colors(self.theme), strict=True):
            index = np.arange(1.0, len(found.singular_values) + 1)
            curves.append(Curve(index, found.singular_values, color, width=1.5))
            if self.chance.isChecked():
                curves.append(Curve(index, found.chance, color, "dashed", silent=True))
        curves += [
            Curve(other.x, other.y, other.color, name=other.name) for other in self.overlay_lines()
        ]
        self.plot.set_curves(curves)
        self._show_sums()

    def redraw(self) -> None:
        """Draw the curves anew."""
        self._draw()

    def _show_sums(self) -> None:
        self.plot.set_marker(self._k, MARKER)
        rows = [
            LegendRow(
                color,
                subject_name(found.subject),
                (format_percent(self._energy(found)), format_number(found.stable_rank, 2)),
                _described(found),
            )
            for found, color in zip(self.result.found, self._colors(self.theme), strict=True)
        ]
        rows += [
            LegendRow("", subject_name(subject), ("not in this checkpoint",), why)
            for subject, why in self.result.missing
        ]
        self.legend.show_rows((f"first {self._k}", "stable rank"), rows)
        self.show_caption()
        self.show_overlay_legend()

    def _colors(self, theme: Theme) -> list[str]:
        subjects = [found.subject for found in self.result.found]
        return subject_colors(subjects, theme, others=self.overlaid)

    def _energy(self, found: NamedSpectrum) -> float:
        return float(found.energy[min(self._k, len(found.energy)) - 1])

    def _on_removed(self, row: int) -> None:
        shown = (*(f.subject for f in self.result.found), *(s for s, _ in self.result.missing))
        self._on_subjects_changed(tuple(s for s in self._subjects if s != shown[row]))

    def _on_hovered(self, point: tuple[int, int] | None) -> None:
        if point is None:
            self.plot.set_hover(None)
            return
        curve, i = point
        drawn = self.plot.curves[curve]
        if drawn.name:
            self.plot.set_hover(point, f"{drawn.name} · i = {i + 1} · σ {_sigma(drawn.y[i])}")
            return
        found = self.result.found[curve // 2 if self.chance.isChecked() else curve]
        share = format_percent(found.energy[i])
        self.plot.set_hover(
            point,
            f"{subject_name(found.subject)} · i = {i + 1} · σ {_sigma(found.singular_values[i])}"
            f" · chance {_sigma(found.chance[i])} · first {i + 1}: {share}",
        )

    def set_theme(self, theme: Theme) -> None:
        """Take new colours."""
        super().set_theme(theme)
        if self.content is not None:
            self.plot.set_theme(theme)
            self._draw()

    # What it says, and what can be taken away.

    def caption(self, result: Spectra) -> str:
        """Name the model and the scope."""
        assert self.session.model is not None
        return f"{self.session.model.name} · {self._scope()}"

    def _scope(self) -> str:
        assert self.session.model is not None
        return spectra_scope(self.session.model)

    def figure(self, result: Spectra) -> Callable[[], Figure]:
        """Return what draws the same curves for print."""
        assert self.session.model is not None
        title = spectra_title(self.session.model)
        k, chance, scope = self._k, self.chance.isChecked(), self._scope()
        others, of = self.printed_lines(), subject_name(self._subjects[0])
        others = tuple(replace(other, name=f"{other.name} · {of}") for other in others)

        def draw() -> Figure:
            from gui.panels.spectra_figure import spectra_figure

            return spectra_figure(
                result.found, k, chance=chance, title=title, scope=scope, others=others
            )

        return draw

    def numbers(self, result: Spectra) -> Mapping[str, np.ndarray]:
        """Return, for each matrix, its singular values, those by chance and the energy."""
        return self.with_others(self.overlay_numbers(result))

    def python(self) -> str:
        """Return a script that prints the first singular values and the energy."""
        return self.with_other_scripts(self.overlay_python(self.session, self.result))

    # The same of other models.

    def overlay_words(self) -> str:
        """Say which matrix it is."""
        return f"σᵢ of {subject_name(self._subjects[0])}"

    def overlay_xy(self, result: Spectra) -> Mapping[str, XY]:
        """Return singular values by index."""
        values = result.found[0].singular_values
        return {"": (np.arange(1.0, len(values) + 1), values)}

    def overlay_said(self, result: Spectra) -> str:
        """Say what the legend says of the open model's."""
        found = result.found[0]
        energy, rank = format_percent(self._energy(found)), format_number(found.stable_rank, 2)
        return f"{_described(found)} First {self._k}: {energy}, stable rank {rank}"

    def overlay_numbers(self, result: Spectra) -> dict[str, np.ndarray]:
        """Return, for each matrix, its singular values, those by chance and the energy."""
        longest = max(len(found.singular_values) for found in result.found)
        columns: dict[str, np.ndarray] = {"index": np.arange(1, longest + 1)}
        for found in result.found:
            name = subject_name(found.subject).replace(" ", "_")
            columns[f"{name}_singular_value"] = found.singular_values
            columns[f"{name}_by_chance"] = found.chance
            columns[f"{name}_energy_of_first"] = found.energy
        return columns

    def overlay_python(self, session: Session, result: Spectra) -> str:
        """Return a script that prints the first singular values and the energy."""
        assert session.model is not None
        subjects = ", ".join(written(found.subject) for found in result.found)
        return (
            opening(session.model)
            + f"""from geometry import ResidualStream, Subject

stream = ResidualStream(model)
for subject in ({subjects},):
    sigma = stream.directions(subject).singular_values
    energy = (sigma[:{self._k}] ** 2).sum() / (sigma**2).sum()
    stable_rank = (sigma**2).sum() / sigma[0] ** 2
    print(subject.name, subject.layer, sigma[:5], energy, stable_rank)
"""
        )


def _described(found: NamedSpectrum) -> str:
    rows, columns = (format_count(size) for size in found.shape)
    return f"{WORDS[found.subject.name]} ({rows} × {columns})."


def _sigma(value: float) -> str:
    return format_number(value, 3 if value < 100 else 1)
