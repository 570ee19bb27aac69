"""Fourier: frequencies of P over position, and phase shifts of each head's queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from geometry.checkpoints.errors import RangeError, TensorUnavailable
from geometry.checkpoints.stores import RegionStore
from geometry.hub.faults import Offline
from geometry.measures.fourier import TOP, ColumnSpectra, Fourier, PhaseShifts, fourier
from geometry.models.head_projections import project_heads
from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Subject
from gui.panels.kit.choices import Layer, Saved, Toggle
from gui.panels.kit.cycles import format_cycles, is_bound
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Reported, Scope, View
from gui.plots.spec import Axis, Curve, Part, Plot, Reading, Rule, Table, legend_of
from gui.services.questions import QuestionContext, Tensor
from gui.services.snippets import python_script
from gui.state.fields import Numbers
from gui.style.sentences import ranged
from gui.style.theme import format_number
from gui.widgets.table_text import Column, Row

COLUMNS = (
    Column("j", "The direction of P, strongest first", 30),
    Column(
        "cycles",
        "Periods of its best-fitting sinusoid over the shown range; ½ is the lowest frequency "
        "searched",
        56,
    ),
    Column("period", "The period in tokens", 56),
    Column("R²", "Share of the direction's variance explained by the sinusoid", 48),
)


@dataclass(frozen=True, slots=True)
class FourierOf:
    """Frequencies over a range, and phase shifts of a layer's heads; none if it is None."""

    positions: tuple[int, int]
    layer: int | None

    def tensors(self) -> tuple[Tensor, ...]:
        return () if self.layer is None else (("W_Q", self.layer), ("W_K", self.layer))

    def answer(self, context: QuestionContext) -> Fourier:
        W_pos, P = context.model.W_pos, context.stream.directions(Subject("P"))
        missing = ""
        if self.layer is not None:
            try:
                heads = project_heads(context.model, self.layer)
                return fourier(W_pos, P, self.positions, heads)
            except (TensorUnavailable, Offline, RangeError) as error:
                missing = str(error).rstrip(".")
        return replace(fourier(W_pos, P, self.positions), missing=missing)


@dataclass(frozen=True, slots=True)
class Choices:
    """The drawn directions, from 1; whether heads are measured, and their layer."""

    directions: tuple[int, ...] = (1,)
    heads: bool = True
    layer: int = 0


FourierView = View[Choices, Fourier]


class FourierPanel(PanelSpec[Choices, Fourier]):
    """Spectra over position, waves of the strongest directions, phase shifts of heads."""

    name = "fourier"
    formula = "Σₙ Pₙ e^(−iωn)"
    meaning = "· frequencies over position"
    explanation = (
        "The amplitude of each frequency in the columns of P over the shown range, and the "
        "best-fitting sinusoid of each of its strongest directions. On the right, by which part "
        "of a period each head's queries lag behind its keys, 360° being a whole one, at the "
        "frequency that the two share most strongly; the tooltip has the lag in tokens."
    )
    empty = "Open a model to see the frequencies in its positions."
    defaults = Choices()
    controls = (
        Saved(field="directions", kind=Numbers),
        Toggle(field="heads", text="Heads", tip="Read the weights of queries and keys"),
        Layer(field="layer", tip="The layer of the heads", enabled=lambda choices: choices.heads),
    )

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Measure heads by default only if their weights need no download."""
        choices = super().choices_for(model, choices)
        return replace(choices, heads=isinstance(model.store, RegionStore))

    def choices_for_report(self, reported: Reported, figure: str) -> Choices:
        return replace(self.defaults, layer=reported.layer)

    def section(self, reported: Reported) -> Mapping[str, object]:
        choices = self.choices_for_report(reported, self.name)
        return self.result_for_report(reported, choices)[1].as_numbers()

    def question(self, scope: Scope, choices: Choices) -> FourierOf:
        return FourierOf(scope.positions, choices.layer if choices.heads else None)

    def question_about_other(self, scope: Scope, choices: Choices) -> FourierOf:
        return FourierOf(scope.positions, None)

    def plots(self, view: FourierView) -> Sequence[Part]:
        table = Table(
            "Directions",
            COLUMNS,
            _rows(view),
            _colors(view),
            chooses="directions",
            max_chosen=TOP,
            tip="Click to plot only this direction; Shift-click to add or remove it",
        )
        shifts = view.result.shifts
        heads = [] if shifts is None else [_heads(view, shifts)]
        return [_spectra(view), _waves(view), table, *heads]

    def heading(self, view: FourierView) -> tuple[str, str]:
        return f"{view.model.name} · frequencies over position", _scope(view)

    def caption(self, view: FourierView) -> str:
        return f"{view.model.name} · {_scope(view)}"

    def tables(self, view: FourierView) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return a table by frequency, one by direction, and one by head."""
        result = view.result
        spectra: dict[str, np.ndarray] = {
            "frequency": result.spectra.frequency,
            "amplitude_mean": result.spectra.mean,
            "amplitude_q25": result.spectra.quantile(0.25),
            "amplitude_q75": result.spectra.quantile(0.75),
        }
        directions: dict[str, np.ndarray] = {
            "direction": np.arange(1, len(result.waves.cycles) + 1),
            "direction_cycles": result.waves.cycles,
            "direction_r2": result.waves.r2,
        }
        tables = {"": spectra, "directions": directions}
        if result.shifts is not None:
            tables["heads"] = {
                "head": np.arange(len(result.shifts.tokens)),
                "head_cycles": result.shifts.cycles,
                "phase_shift": result.shifts.tokens,
            }
        return tables

    def script(self, view: FourierView) -> str:
        found = view.result
        heads = "" if found.shifts is None else f", project_heads(model, {found.shifts.layer})"
        lines = f"""
P = ResidualStream(model).directions(Subject("P"))
found = fourier(model.W_pos, P, {found.positions}{heads})
print("mean amplitudes", *found.spectra.mean)
print("cycles", *found.waves.cycles)
print("r2", *found.waves.r2)
print("tokens back", *([] if found.shifts is None else found.shifts.tokens))
"""
        return python_script(lines, view.model)

    def compares(self, choices: Choices) -> str:
        return "Mean amplitudes"

    def summary(self, view: FourierView) -> str:
        return f"Strongest direction: {_wave(view)}"


# ---- plots -----------------------------------------------------------------------------------


def _spectra(view: FourierView) -> Plot:
    spectra, theme = view.result.spectra, view.theme
    low, high = (spectra.quantile(share) for share in (0.25, 0.75))
    m = _length(spectra)
    x, mean = _below_nyquist(spectra, spectra.mean)
    curves = [
        Curve(x, mean, view.ink, width=1.5, label="mean of columns"),
        Curve(*_below_nyquist(spectra, low), theme.muted, "dotted", silent=True, label="quartiles"),
        Curve(*_below_nyquist(spectra, high), theme.muted, "dotted", silent=True),
    ]
    for other in view.others:
        theirs = other.result.spectra
        curves.append(other.curve(*_below_nyquist(theirs, theirs.mean), silent=False))

    def hover(curve: int, index: int) -> str:
        shown = curves[curve]
        of = shown.name or f"every {format_number(m / (index + 1), 1)} tokens"
        return f"{index + 1} cycles · {of} · amplitude {format_number(float(shown.y[index]), 4)}"

    x_axis, y_axis = Axis("cycles over the range", log=True), Axis("amplitude", log=True)
    name = "Amplitude of each frequency"
    return Plot(name, x_axis, y_axis, curves, hover=hover, readings=legend_of(curves))


def _length(spectra: ColumnSpectra) -> int:
    """Return the number of positions."""
    return spectra.positions[1] - spectra.positions[0] + 1


def _below_nyquist(spectra: ColumnSpectra, amplitude: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies and amplitudes below the Nyquist limit, if there are any.

    At the limit, a wave has the same values at every other position, and so only a part of its
    amplitude can be seen: a drop that is not in the table.
    """
    count = max((_length(spectra) - 1) // 2, 1)
    return spectra.frequency[:count], amplitude[:count]


def _waves(view: FourierView) -> Plot:
    result, (first, last) = view.result, view.result.positions
    x, colors = np.arange(first, last + 1), _colors(view)
    drawn = tuple(colors)
    curves = [Curve(x, result.directions[:, j - 1], colors[j]) for j in drawn]
    fitted = [Curve(x, result.waves.values(j - 1), colors[j], "dashed", silent=True) for j in drawn]

    def hover(curve: int, index: int) -> str:
        value = format_number(float(curves[curve].y[index]), 4)
        return f"{view.at(first + index)} · direction {drawn[curve]} · {value}"

    x_axis = Axis(view.along, whole=True)
    y_axis = Axis("uⱼ", printed="uⱼ; dashed: best sinusoid")
    readings = [Reading(f"j = {j}", color=colors[j]) for j in drawn]
    return Plot(
        "Directions and their best sinusoids",
        x_axis,
        y_axis,
        [*curves, *fitted],
        hover=hover,
        over="position",
        readings=[*readings, Reading("best sinusoid", color=view.theme.muted, style="dashed")],
    )


def _heads(view: FourierView, shifts: PhaseShifts) -> Plot:
    known = np.flatnonzero(np.isfinite(shifts.tokens))
    # In tokens, a head with a slow wave would set the scale of all.
    degrees = 360 * shifts.tokens * shifts.cycles / _length(view.result.spectra)
    curve = Curve(known, degrees[known], view.ink, dots=True, joined=False)

    def hover(_: int, index: int) -> str:
        head = int(known[index])
        direction = "back" if shifts.tokens[head] >= 0 else "ahead"
        tokens = format_number(abs(float(shifts.tokens[head])), 1)
        cycles, r2 = format_cycles(shifts.cycles[head]), format_number(shifts.r2[head], 2)
        shift = f"{format_number(degrees[head], 0)}°, {tokens} tokens {direction}"
        return f"head {head} · {shift} · {cycles} cycles · R² {r2}"

    x_axis = Axis(f"head of layer {shifts.layer}", whole=True)
    y_axis = Axis("query behind key (°)")
    name = "Phase shift of each head"
    return Plot(name, x_axis, y_axis, [curve], [Rule(0.0)], hover, over="number", min_width=640)


def _colors(view: FourierView) -> dict[int, str]:
    """Return the drawn directions with their colours."""
    count, colors = view.result.directions.shape[1], view.spare_colors
    inside = [number for number in view.choices.directions if number <= count] or [1]
    return {number: colors[(number - 1) % len(colors)] for number in inside}


def _rows(view: FourierView) -> list[Row]:
    waves, (first, last) = view.result.waves, view.result.positions
    rows = []
    for j, (cycles, r2) in enumerate(zip(waves.cycles, waves.r2, strict=True), start=1):
        period = ("≥ " if is_bound(cycles) else "") + format_number((last - first + 1) / cycles, 0)
        rows.append(Row(j, (str(j), format_cycles(cycles), period, format_number(r2, 2))))
    return rows


def _wave(view: FourierView) -> str:
    waves = view.result.waves
    return f"{format_cycles(waves.cycles[0])} cycles, R² {format_number(waves.r2[0], 2)}"


def _scope(view: FourierView) -> str:
    shifts = view.result.shifts
    scope = f"{ranged(view.model, view.result.positions)} · strongest direction: {_wave(view)}"
    if shifts is None or not np.isfinite(shifts.tokens).any():
        return f"{scope} · no phase shifts: {view.result.missing}" if view.result.missing else scope
    # A bound is no frequency, so it has no phase either.
    bound = np.array([is_bound(cycles) for cycles in shifts.cycles])
    found = np.where(bound, np.nan, shifts.r2)
    if np.isnan(found).all():
        return scope
    head = int(np.nanargmax(found))
    tokens, r2 = (format_number(float(v[head]), n) for v, n in ((shifts.tokens, 1), (shifts.r2, 2)))
    best = f"most wavelike head of layer {shifts.layer}: {head}, {tokens} tokens (R² {r2})"
    return f"{scope} · {best}"
