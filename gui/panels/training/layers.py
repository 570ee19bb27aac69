"""Plots of positions in the layers of a model, and of other counters beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from geometry.inside.published import CONDITIONS, QUANTITIES, RELATIVE_NORM, SOURCE, STABLE_RANK
from geometry.models.sources.layer_tables import RESOLVED, LayerTables
from gui.panels.training.by_snapshot import (
    NO_TURNS,
    TURNS,
    WIDE,
    View,
    norm_lines,
    plot_by_snapshot,
    share_lines,
    turn_lines,
)
from gui.plots.spec import Axis, Band, Image, Line, Plot, Rule
from gui.style.theme import SERIES, format_count, format_number, format_percent

if TYPE_CHECKING:
    from geometry.inside.record import CounterByLayer, Description

NO_COUNTERS = "no other counter was measured, or positions.json is gone"
NO_AMOUNTS = "not measured by the version that made this run"
NO_SHAPE = "no layer is resolved"
NO_DESCRIPTION = "positions.json is gone or damaged"
SHARE = Axis("share of variance", printed="share of a token’s variance")
NORM = Axis("norm", log=True)
ENERGY = Axis("energy", log=True, printed="mean squared distance from the mean")
PROBE = Axis("probe’s error", printed="error of a linear probe, in positions")
ROOMY = 900
"""Minimum width with four plots, in pixels."""
AMOUNTS = ("energy", "token_variance", "probe_error", "probe_chance")
DECOMPOSED = (
    "share_context",
    "share_rest",
    "stable_rank",
    "rank",
    "relative_norm",
    "standard_error",
)
"""Attributes of :class:`geometry.inside.layers.LayerPositions` that are plotted."""
CONTROLS: Mapping[str, Literal["solid", "dashed"]] = {"random": "solid", "shuffled": "dashed"}
"""Kinds of :class:`geometry.inside.record.Control`."""


def layer_plots(view: View) -> list[Plot | Image]:
    """Return the plots of the chosen page."""
    pages = {
        "positions": _position_plots,
        "decomposition": _decomposition_plots,
        "counters": _counter_plots,
    }
    return pages[view.choices.page](view)


def layer_numbers(view: View) -> dict[str, np.ndarray]:
    """Return the numbers of the pages, by name and layer."""
    measured, described = view.result.layers, view.result.described
    if measured is None:
        return {}
    columns = {name: getattr(measured, name) for name in ("share", "share_noise", "halves_cosine")}
    if measured.random_share is not None:
        columns["random_share"] = measured.random_share
    if described is None:
        return columns
    columns |= {name: _by_layer(described, name) for name in (*DECOMPOSED, *AMOUNTS)}
    for name in ("share", "probe_error"):
        for kind in CONTROLS:
            if len(values := _controls(described, kind, name)):
                columns[f"{kind}_{name}_low"] = values.min(axis=0)
                columns[f"{kind}_{name}_high"] = values.max(axis=0)
    for quantity in QUANTITIES:
        if any(published.quantity == quantity for published in described.published):
            columns[f"published_{quantity.replace(' ', '_')}"] = _published(described, quantity)
    for counter in described.counters:
        for name in ("share", "halves_cosine", "norms_cv"):
            columns[f"{counter.name}_{name}"] = getattr(counter, name)
        for other, degrees in counter.angles.items():
            columns[f"{counter.name}_to_{other}_degrees"] = degrees
    return columns


def published_source(view: View) -> str:
    """Return the source of the published numbers on the page; "" if there are none."""
    described = view.result.described
    if view.choices.page != "decomposition" or described is None or not described.published:
        return ""
    return f"published: {SOURCE}; {CONDITIONS}"


def resolved(layers: LayerTables) -> str:
    """Return a text on the layers in which the halves of the texts agree, and on the noise."""
    good = np.flatnonzero(layers.resolved())
    n, windows = len(layers.halves_cosine), format_count(int(layers.windows.sum()))
    where = f"{len(good)} of {n} layers" if len(good) else "no layer"
    where = "all layers" if len(good) == n else where
    noise = format_percent(float(layers.share_noise.max()), 2)
    needed = layers.windows_needed()[np.setdiff1d(np.arange(n), good)]
    known, more = needed[np.isfinite(needed)], ""
    if len(known):
        low, high = (format_count(round(end)) for end in (known.min(), known.max()))
        needed_text = low if low == high else f"{low} to {high}"
        more = f" {needed_text} are needed{' for the others' if len(good) else ''}."
    return (
        f"Resolved in {where}, with {windows} windows of text (cosine of the halves at least "
        f"{RESOLVED}).{more} In a mean over these texts, up to {noise} of the variance is sampling "
        "noise."
    )


def _variance(view: View, layers: LayerTables) -> list[Line]:
    """Return shares of a token's variance: positions, sampling noise, random weights."""
    theme, described = view.theme, view.result.described
    lines = [
        Line("pos", layers.share, SERIES[theme.name][0], percent=True),
        Line("noise", layers.share_noise, theme.muted, percent=True, style="dashed"),
    ]
    if layers.random_share is not None and (described is None or not described.controls):
        random = layers.random_share
        lines.append(Line("random", random, SERIES[theme.name][1], percent=True))
    return lines


def _position_plots(view: View) -> list[Plot | Image]:
    """Return the share and the amount of positions, how well they can be read, and their curve."""
    layers = view.result.layers
    assert layers is not None
    colors = SERIES[view.theme.name]
    share = plot_by_snapshot(view, _variance(view, layers), SHARE)
    amounts = plot_by_snapshot(view, _amounts(view), ENERGY, empty=NO_AMOUNTS)
    probe = plot_by_snapshot(view, _probe(view, layers), PROBE, empty=NO_AMOUNTS)
    shape = Axis("share, R²", printed="share of pos, R²")
    turns = of_resolved(view, turn_lines(view))
    return [
        _with_controls(view, share, "share", format_percent),
        amounts,
        _with_controls(view, probe, "probe_error", format_number),
        _agreement(view, [Line("cosine", layers.halves_cosine, colors[3])], min_width=ROOMY),
        plot_by_snapshot(
            view, of_resolved(view, share_lines(view)), shape, empty=NO_SHAPE, min_width=WIDE
        ),
        plot_by_snapshot(view, turns, TURNS, empty=NO_TURNS, min_width=WIDE),
    ]


def _amounts(view: View) -> list[Line]:
    """Return the energy of pos and the variance of tokens."""
    described, colors = view.result.described, SERIES[view.theme.name]
    if described is None:
        return []
    return [
        Line("pos", _by_layer(described, "energy"), colors[0], digits=3),
        Line("tokens", _by_layer(described, "token_variance"), colors[2]),
    ]


def _probe(view: View, layers: LayerTables) -> list[Line]:
    """Return the error of the linear probe, and that of the best constant."""
    if layers.probe_error is None or layers.probe_chance is None:
        return []
    return [
        Line("probe", layers.probe_error, SERIES[view.theme.name][0], digits=1),
        Line("chance", layers.probe_chance, view.theme.muted, style="dashed", digits=1),
    ]


def of_resolved(view: View, lines: Sequence[Line]) -> list[Line]:
    """Return lines with gaps in layers whose halves do not agree: the shape there is noise's."""
    layers = view.result.layers
    if layers is None:
        return [*lines]
    return [
        replace(line, values=np.where(layers.resolved(), line.values, np.nan)) for line in lines
    ]


def shape_where_resolved(
    layers: LayerTables, columns: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return columns by layer without the shape of layers whose halves do not agree."""
    for name, values in columns.items():
        if name.startswith(("variance_", "helix_", "best_shape")):
            missing: Any = "" if values.dtype.kind == "U" else np.nan
            columns[name] = np.where(layers.resolved(), values, missing)
    return columns


def _controls(described: Description, kind: str, name: str) -> np.ndarray:
    """Return (n_controls, n_layers) float64: a measurement of the controls of a kind."""
    return np.array(
        [
            [getattr(layer, name) for layer in control.layers]
            for control in described.controls
            if control.kind == kind
        ]
    )


def _with_controls(view: View, plot: Plot, name: str, shown: Callable[[float], str]) -> Plot:
    """Return a plot with bands from the lowest to the highest of the controls of each kind."""
    described, history, at = view.result.described, view.result.history, view.choices.snapshot
    if described is None or not plot.curves:
        return plot
    layer = history.shown if at is None else min(at, history.n_snapshots - 1)
    bands, readings = [], []
    for (kind, style), color in zip(CONTROLS.items(), SERIES[view.theme.name][1:3], strict=True):
        values = _controls(described, kind, name)
        if len(values) and np.isfinite(values).all():
            low, high = values.min(axis=0), values.max(axis=0)
            band = Band(history.steps.astype(np.float64), low, high, color, kind, style=style)
            bands.append(band)
            ends = [shown(float(end[layer])) for end in (low, high)]
            readings.append(band.reading("–".join(dict.fromkeys(ends))))
    return replace(plot, bands=[*plot.bands, *bands], readings=[*plot.readings, *readings])


def _agreement(view: View, lines: Sequence[Line], empty: str = "", *, min_width: int = 0) -> Plot:
    """Return the cosine of the halves, with the minimum that counts as resolved."""
    lowest = min((float(line.values.min()) for line in lines), default=0.0)
    y = Axis("halves’ cosine", span=(min(lowest, 0.0), 1.0))
    plot = plot_by_snapshot(view, lines, y, empty=empty, min_width=min_width)
    return replace(plot, rules=[*plot.rules, Rule(RESOLVED, label="resolved above")])


def _decomposition_plots(view: View) -> list[Plot | Image]:
    """Return shares of variance, ranks, relative norms and errors, as Song and Zhong have them."""
    described = view.result.described
    if described is None:
        return [plot_by_snapshot(view, [], SHARE, empty=NO_DESCRIPTION)]
    colors = SERIES[view.theme.name]
    named = {"pos": "share", "context": "share_context", "rest": "share_rest"}
    shares = [
        Line(name, _by_layer(described, key), color, percent=True)
        for (name, key), color in zip(named.items(), colors, strict=False)
    ]
    noise = _by_layer(described, "share_noise")
    shares.append(Line("noise", noise, view.theme.muted, percent=True, style="dashed"))
    ranks = [
        Line("rank", _by_layer(described, "rank"), colors[1], digits=0),
        Line(STABLE_RANK, _by_layer(described, "stable_rank"), colors[0]),
        _published_line(view, described, STABLE_RANK),
    ]
    relative = [
        Line(RELATIVE_NORM, _by_layer(described, "relative_norm"), colors[0]),
        _published_line(view, described, RELATIVE_NORM),
    ]
    norms = [*norm_lines(view), *_errors(view)]
    return [
        plot_by_snapshot(view, shares, SHARE),
        plot_by_snapshot(view, ranks, Axis("rank", log=True)),
        plot_by_snapshot(view, relative, Axis("relative norm")),
        plot_by_snapshot(view, norms, NORM, min_width=ROOMY),
    ]


def _errors(view: View) -> list[Line]:
    """Return the norm of a row's sampling error."""
    described = view.result.described
    if described is None:
        return []
    errors = _by_layer(described, "standard_error")
    return [Line("std. error", errors, view.theme.muted, style="dashed")]


def _by_layer(described: Description, name: str) -> np.ndarray:
    """Return (n_layers,) float64: a measurement; NaN where there is none.

    Earlier versions measured the stable rank of noise too, and a rank that depended on a model of
    the noise.
    """
    layers = described.layers
    known = [True] * len(layers)
    if name == "stable_rank":
        known = [layer.resolved for layer in layers]
    elif name == "rank":
        known = [not np.isnan(layer.energy) for layer in layers]
    values = np.array([getattr(layer, name) for layer in layers], np.float64)
    return np.where(known, values, np.nan)


def _published_line(view: View, described: Description, quantity: str) -> Line:
    values = _published(described, quantity)
    return Line("published", values, SERIES[view.theme.name][2], style="dashed")


def _published(described: Description, quantity: str) -> np.ndarray:
    """(n_layers,) float64: the published numbers; NaN where there is none."""
    values = np.full(len(described.layers), np.nan)
    for number in described.published:
        if number.quantity == quantity:
            values[number.layer] = number.published
    return values


def _counter_plots(view: View) -> list[Plot | Image]:
    """Return shares and agreement of counters by layer, and their angles in the shown layer."""
    described, history = view.result.described, view.result.history
    counters = () if described is None else described.counters
    colors = SERIES[view.theme.name]
    shares, cosines = [], []
    for counter, color in zip(counters, colors, strict=False):
        shares.append(Line(counter.name, counter.share, color, percent=True))
        cosines.append(Line(counter.name, counter.halves_cosine, color))
    plots: list[Plot | Image] = [
        plot_by_snapshot(view, shares, SHARE, empty=NO_COUNTERS),
        _agreement(view, cosines, NO_COUNTERS),
    ]
    if len(counters) > 1:
        at = view.choices.snapshot
        layer = history.shown if at is None or at >= history.n_snapshots else at
        plots.append(_angles(counters, layer))
    return plots


def _angles(counters: Sequence[CounterByLayer], layer: int) -> Image:
    """Return the matrix of smallest principal angles between counters in a layer."""
    names = [counter.name for counter in counters]
    values = np.array(
        [
            [counter.angles[name][layer] if name in counter.angles else 0.0 for name in names]
            for counter in counters
        ]
    )

    def hover(row: int, column: int) -> str:
        if row == column:
            return names[row]
        low, high = counters[row].chance[names[column]]
        return (
            f"{names[row]} and {names[column]}: {values[row, column]:.0f}° in layer {layer}; "
            f"random directions {low:.0f}–{high:.0f}°"
        )

    numbered = ", ".join(f"{number} {name}" for number, name in enumerate(names))
    title, x, y = (
        "Smallest angles between counters",
        Axis(numbered, whole=True),
        Axis("counter", whole=True),
    )
    return Image(title, x, y, values, "viridis", (0.0, 90.0), hover=hover, unit="degrees")
