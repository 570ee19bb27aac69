"""The training panel: the curve by training step, with its measures; or by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from geometry.checkpoints.errors import SourceError
from geometry.history.last_position import NEIGHBOURS
from geometry.history.origins import find_history
from geometry.measures.overlaps import HEAVIEST
from geometry.models.layer_tables import RESOLVED, LayerStore, LayerTables
from geometry.models.model import PositionalModel
from gui.panels.choices import Choice, MenuEntry, Option, Saved, Shared
from gui.panels.intents import SaveCoordinates, SaveTimelapse
from gui.panels.kit import PanelSpec, Scope
from gui.panels.kit import View as AnyView
from gui.panels.training.question import Training, TrainingOf
from gui.plots.spec import Axis, Image, Line, Plot, Reading, Rule, level_band
from gui.services.snippets import opening
from gui.style.sentences import titled
from gui.style.theme import SERIES, format_count, format_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from geometry.emergent.record import CounterByLayer
    from geometry.evidence.null import Null
    from geometry.history.history import History
    from geometry.history.timelapse import Basis

WIDE = 1460
"""Minimum width with all plots, in pixels."""
FIGURE = (12.0, 3.6)
"""Inches."""
MARGIN = 1.2
"""Margin of the steps' axis, as a factor."""
MOST_SELECTED = 3
"""Maximum number of selected positions with a norm curve: the last ones."""
DESCRIBES = 0.5
"""Least R² of a helix whose turns describe the positions."""
SCRUB_TIP = "Click or drag to see the model at a {unit}; the wheel zooms"
NO_TURNS = "none is close to a helix"
NO_LOSS = "its loss was not recorded"
BY_LAYER = ("share", "share_noise", "halves_cosine")
"""Columns of :class:`geometry.models.layer_tables.LayerTables`."""
_LAYERS_SCRIPT = """from geometry import fit_helices
from geometry import history_here
from geometry import make_timelapse

history, measured = history_here(model), model.store.tables
lapse = make_timelapse(history, {positions})
helices = fit_helices(lapse)
for layer in history.steps:
    print(layer, measured.share[layer], measured.share_noise[layer],
          measured.halves_cosine[layer], lapse.top3[layer], helices.r2[layer],
          helices.turns[layer], helices.best[layer])
"""
NO_COUNTERS = "no other counter was measured, or positions.json is gone"
NO_SPARSITY = f"its rows have at most {HEAVIEST} entries"


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be chosen.

    Attributes
    ----------
    third
        The third plot in narrow panels.
    basis, snapshot, selection, gathered
        The session's.
    by_layer
        Whether the open model's snapshots are layers.
    page
        What is shown of layers: positions, or the counters beside them.
    """

    third: Literal["turns", "loss", "sparsity"] = "turns"
    basis: Basis = "frozen"
    snapshot: int | None = None
    selection: tuple[int, ...] = ()
    gathered: History | None = None
    by_layer: bool = False
    page: Literal["positions", "counters"] = "positions"


View = AnyView[Choices, Training]


class TrainingPanel(PanelSpec[Choices, Training]):
    """Plays the snapshots of a training in the viewport, with plots of their measures.

    Of positions inside a model, the layers are the snapshots.
    """

    name = "training"
    formula = "P(step)"
    meaning = "the curve as it forms"
    explanation = (
        "The position table at steps of its training, or positions inside a model at its layers, "
        "each centred and shown in three components, with the share of variance in them, the fit "
        "of a helix, the length of the rows and, of layers, the sampling noise. Press Space to "
        "play, drag in a plot or on the slider to go to a step, Esc to return to the open model."
    )
    empty = "Open a model to see how its curve formed, if it has a training history."
    instead = (
        "The bundled model “sample” has one. So does a folder with checkpoint-N folders, or a "
        "model on the Hub with checkpoint branches, such as stanford-crfm/alias-gpt2-small-x21."
    )
    defaults = Choices()
    controls = (
        Choice(
            field="basis",
            label="Components",
            options=(
                Option(
                    "frozen",
                    "Fixed PCs",
                    "Every step in the principal components of the open model, which is that of "
                    "the last step, so that motion on the screen is motion in the model",
                ),
                Option(
                    "aligned",
                    "Own PCs, aligned",
                    "Every step in its own principal components, rotated to match those of the "
                    "next step, so that nothing jumps",
                ),
            ),
            shared=True,
        ),
        Choice(
            field="third",
            label="Third plot",
            options=(
                Option(
                    "turns",
                    "Turns",
                    "Turns of the fitted helix, at the steps where its R² is 0.5 or more",
                ),
                Option(
                    "loss",
                    "Loss",
                    "Training loss in nats per token, where it was recorded",
                ),
                Option(
                    "sparsity",
                    "Sparsity",
                    f"Sparsity of P’s directions: the mass of the {HEAVIEST} largest entries of "
                    "the first three singular directions of all rows, uncentred, compared with "
                    "random directions",
                ),
            ),
        ),
        Choice(
            field="page",
            label="What is shown of the layers",
            options=(
                Option("positions", "Positions", "What depends on the position in the text"),
                Option(
                    "counters",
                    "Counters",
                    "What depends on the sentence, the word in it, the character in the line and "
                    "so on, each with the others held equal; and the angles between them",
                ),
            ),
            when=lambda choices: choices.by_layer,
        ),
        Shared(field="snapshot", animated=True),
        Shared(field="selection"),
        Shared(field="gathered"),
        Saved(field="by_layer", kept=False, check=lambda value: isinstance(value, bool)),
    )
    menu = (
        MenuEntry("Save time-lapse…", SaveTimelapse),
        MenuEntry("Save coordinates…", SaveCoordinates),
    )
    body = "gui.panels.training.body:TrainingBody"

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Note whether its snapshots are layers."""
        by_layer = isinstance(model.store, LayerStore)
        return replace(super().choices_for(model, choices), by_layer=by_layer)

    def headline(self, choices: Choices) -> tuple[str, str, str]:
        if choices.by_layer:
            return "pos(layer)", "the curve in each layer", self.explanation
        return self.formula, self.meaning, self.explanation

    def question(self, scope: Scope, choices: Choices) -> TrainingOf:
        return TrainingOf(scope.positions, choices.gathered)

    def helps_without_result(self, model: PositionalModel) -> bool:
        return may_have_checkpoints(model)

    def plots(self, view: View) -> Sequence[Plot | Image]:
        third, layers = view.choices.third, view.result.layers
        if layers is not None and view.choices.page == "counters":
            return _counter_plots(view)
        if layers is not None:
            lowest = min(float(layers.halves_cosine.min()), 0.0)
            y = Axis("halves’ cosine", span=(lowest, 1.0))
            agreement = _plot(view, [_agreement(view, layers)], y)
            return [
                _plot(
                    view, _variance(view, layers),
                    Axis("share of variance", printed="share of a token’s variance"),
                ),
                replace(agreement, rules=[*agreement.rules, Rule(RESOLVED, "y")]),
                _plot(view, _shares(view), Axis("share, R²", printed="share of pos, R²")),
                _plot(view, _norms(view), Axis("norm", log=True), least_width=WIDE),
                _plot(
                    view, _turns(view), Axis("turns", printed="turns of the helix"),
                    empty=NO_TURNS, least_width=WIDE,
                ),
            ]  # fmt: skip
        return [
            _plot(view, _shares(view), Axis("share, R²", printed="share of the variance, R²")),
            _plot(view, _norms(view), Axis("norm", printed="norm of the row", log=True)),
            _plot(
                view, _turns(view), Axis("turns", printed="turns of the helix"),
                empty=NO_TURNS, least_width=WIDE * (third != "turns"),
            ),
            _plot(
                view, _loss(view), Axis("loss (nats)"),
                empty=NO_LOSS, least_width=WIDE * (third != "loss"),
            ),
            _plot(
                view, _sparsity(view),
                Axis(
                    f"mass of {HEAVIEST} entries",
                    printed=f"mass of the {HEAVIEST} largest entries",
                ),
                empty=NO_SPARSITY, least_width=WIDE * (third != "sparsity"),
                null=view.result.sparse.turned,
            ),
        ]  # fmt: skip

    def heading(self, view: View) -> tuple[str, str]:
        layers = view.result.layers
        title = f"{view.model.name} · the curve as it forms"
        if layers is not None:
            title = f"{layers.name} · positions in each layer"
        return title, f"{self.caption(view)}. {verdict(view.result)}"

    def caption(self, view: View) -> str:
        history, timeline = view.result.history, view.result.timelapse
        first, last = timeline.positions
        if view.result.layers is not None:
            windows = format_count(int(view.result.layers.windows.sum()))
            return (
                f"{titled(view.model)} · layers 0–{history.n_snapshots - 1} · positions "
                f"{first}–{last} · from {windows} windows of text"
            )
        steps = f"{format_count(int(history.steps[0]))}–{format_count(int(history.steps[-1]))}"
        top3 = format_percent(float(timeline.top3[-1]))
        return (
            f"{titled(view.model)} · {history.n_snapshots} snapshots of steps {steps} · positions "
            f"{first}–{last} · at the end {top3} in three components"
        )

    def figure(self, view: View) -> Figure:
        from gui.plots.mpl_painter import paint

        return paint(self.plots(view), *self.heading(view), view.theme, size=FIGURE)

    def numbers(self, view: View) -> Mapping[str, np.ndarray]:
        training = view.result
        history, timeline, riddle = training.history, training.timelapse, training.riddle
        found: dict[str, np.ndarray] = {history.unit: history.steps}
        if training.layers is not None:
            found |= {name: getattr(training.layers, name) for name in BY_LAYER}
            if training.layers.random_share is not None:
                found["random_share"] = training.layers.random_share
        for one in training.counters:
            found[f"{one.name}_share"] = one.share
            found[f"{one.name}_halves_cosine"] = one.halves_cosine
            found[f"{one.name}_norms_cv"] = one.norms_cv
            for other, degrees in one.angles.items():
                found[f"{one.name}_to_{other}_degrees"] = degrees
        known = {"tokens": history.tokens, "loss": history.losses}
        found |= {name: values for name, values in known.items() if values is not None}
        for k in range(timeline.explained_variance_ratio.shape[1]):
            found[f"variance_{k + 1}"] = timeline.explained_variance_ratio[:, k]
        found["variance_top3"] = timeline.top3
        found["variance_in_last_components"] = timeline.frozen_variance_ratio
        found["mean_norm"] = timeline.mean_norms
        if riddle is not None:
            found["last_norm"] = riddle.norms
            found["norms_before_last"] = riddle.neighbour_norms
            found["last_norm_if_only_decayed"] = riddle.predicted_norms
            found["last_departure"] = riddle.departures
        for position in view.choices.selection:
            found[f"norm_{position}"] = timeline.norms[:, position]
        found["mass_top40"] = training.sparse.mass
        for name, value in zip(("p5", "p50", "p95"), training.sparse.turned.band, strict=True):
            found[f"turned_mass_top40_{name}"] = np.full(history.n_snapshots, value)
        if training.helices is not None:
            found["helix_r2"] = training.helices.r2
            found["helix_turns"] = training.helices.turns
            found["best_shape"] = np.array([best or "" for best in training.helices.best])
        return found

    def script(self, view: View) -> str:
        if view.result.layers is not None:
            return opening(view.model) + _LAYERS_SCRIPT.format(positions=view.question.positions)
        gathered = view.question.given is not None
        note = "  # those of its checkpoints that were fetched" if gathered else ""
        return (
            opening(view.model)
            + f"""from geometry import fit_helices
from geometry import history_here
from geometry import last_position
from geometry import make_timelapse
from geometry import sparse_directions

history = history_here(model){note}
lapse = make_timelapse(history, {view.question.positions})
helices = fit_helices(lapse)
riddle = last_position(history)
sparse = sparse_directions(history)
for i, step in enumerate(history.steps):
    print(step, lapse.top3[i], helices.r2[i], helices.turns[i], helices.best[i],
          riddle.norms[i], riddle.neighbour_norms[i], sparse.mass[i])
print(riddle.supports, riddle.why)
print("mass at random:", *sparse.turned.band)
"""
        )


def may_have_checkpoints(model: PositionalModel) -> bool:
    """Return whether a model may have a history of checkpoints."""
    try:
        origin = find_history(model)
    except SourceError:
        return False
    return origin is not None and origin.kind in ("folder", "hub")


def verdict(training: Training) -> str:
    """Return the verdict on the last position, with its reason; of layers, which are resolved."""
    riddle = training.riddle
    if riddle is None:
        assert training.layers is not None
        return _resolved(training.layers)
    supported = {True: "supported", False: "not supported", None: "undetermined"}[riddle.supports]
    return f"The last position never learns: {supported}. {riddle.why}"


def _resolved(layers: LayerTables) -> str:
    """Say in which layers the halves of the texts agree, and how large the noise is."""
    good = np.flatnonzero(layers.halves_cosine >= RESOLVED)
    n, windows = len(layers.halves_cosine), format_count(int(layers.windows.sum()))
    where = f"{len(good)} of {n} layers" if len(good) < n else "all layers"
    noise = format_percent(float(layers.share_noise.max()), 2)
    needed = layers.windows_needed()[np.setdiff1d(np.arange(n), good)]
    known, more = needed[np.isfinite(needed)], ""
    if len(known):
        least, most = (format_count(round(end)) for end in (known.min(), known.max()))
        more = f" The others need some {least if least == most else f'{least} to {most}'}."
    return (
        f"Resolved in {where}, with {windows} windows of text (cosine of the halves at least "
        f"{RESOLVED}).{more} In a mean over these texts, up to {noise} of the variance is sampling "
        "noise."
    )


def places_of(steps: np.ndarray) -> np.ndarray:
    """(n,) float64: places of steps on a logarithmic axis; step 0 left of the first one."""
    places = steps.astype(np.float64)
    if len(steps) > 1 and steps[0] == 0:
        places[0] = steps[1] / 2
    return np.maximum(places, 0.5)


def _plot(
    view: View,
    lines: Sequence[Line],
    y: Axis,
    *,
    empty: str = "",
    least_width: int = 0,
    null: Null | None = None,
) -> Plot:
    """Return a plot of lines over the steps; ``empty`` explains why there are none.

    The values that lines would have by chance are a band behind them.
    """
    history, at = view.result.history, view.choices.snapshot
    unit, layers = history.unit, history.unit == "layer"
    places = history.steps.astype(np.float64) if layers else places_of(history.steps)
    last = len(places) - 1
    known = [line for line in lines if np.isfinite(line.values).any()]
    shown = history.shown if at is None else min(at, last)
    marked = at is not None and at <= last
    span = (float(places[0]) / MARGIN, float(places[-1]) * MARGIN)
    x = Axis("step", printed="training step", log=True, span=span)
    if layers:
        x = Axis("layer", whole=True, span=(-0.5, last + 0.5))
    bands = []
    if null is not None and known:
        low, _, high = null.band
        bands.append(level_band(low, high, span, view.theme.muted, "90 % of random"))
    return Plot(
        f"{y.title} by {unit}",
        x,
        y,
        [one for line in known for one in line.curves(places, dots=True, named=len(known) > 1)],
        [Rule(float(places[shown]), "x", style="solid")] if marked else [],
        least_width=least_width,
        readings=[
            *([line.reading(shown) for line in known] or [Reading(empty)]),
            *(band.reading() for band in bands),
        ],
        bands=bands,
        scrubs="snapshot",
        scrub_stops=places,
        scrub_tip=SCRUB_TIP.format(unit=unit),
    )  # fmt: skip


def _shares(view: View) -> list[Line]:
    """Return shares between 0 and 1: variance in three components, R² of the helix."""
    colors, timeline = SERIES[view.theme.name], view.result.timelapse
    lines = [
        Line("top 3 PCs", timeline.top3, colors[0], percent=True),
        Line(f"PCs of {_shown(view)}", timeline.frozen_variance_ratio, colors[1], percent=True),
    ]
    if view.result.helices is not None:
        lines.append(Line("helix R²", view.result.helices.r2, colors[2]))
    return lines


def _shown(view: View) -> str:
    """Name the snapshot of the open model."""
    history = view.result.history
    return "last" if history.unit == "step" else f"layer {history.steps[history.shown]}"


def _variance(view: View, layers: LayerTables) -> list[Line]:
    """Return shares of a token's variance: positions, sampling noise, random weights."""
    theme = view.theme
    lines = [
        Line("pos", layers.share, SERIES[theme.name][0], percent=True),
        Line("noise", layers.share_noise, theme.muted, percent=True, dashed=True),
    ]
    if layers.random_share is not None:
        random = layers.random_share
        lines.append(Line("random weights", random, SERIES[theme.name][1], percent=True))
    return lines


def _counter_plots(view: View) -> list[Plot | Image]:
    """Return shares and agreement of counters by layer, and their angles in the shown layer."""
    counters, history = view.result.counters, view.result.history
    colors = SERIES[view.theme.name]
    shares, cosines = [], []
    for one, color in zip(counters, colors, strict=False):
        shares.append(Line(one.name, one.share, color, percent=True))
        cosines.append(Line(one.name, one.halves_cosine, color))
    lowest = min((float(one.halves_cosine.min()) for one in counters), default=0.0)
    agreement = _plot(
        view, cosines, Axis("halves’ cosine", span=(min(lowest, 0.0), 1.0)), empty=NO_COUNTERS
    )
    plots: list[Plot | Image] = [
        _plot(
            view, shares, Axis("share of variance", printed="share of a token’s variance"),
            empty=NO_COUNTERS,
        ),
        replace(agreement, rules=[*agreement.rules, Rule(RESOLVED, "y")]),
    ]  # fmt: skip
    if len(counters) > 1:
        at = view.choices.snapshot
        layer = history.shown if at is None or at >= history.n_snapshots else at
        plots.append(_angles(counters, layer))
    return plots


def _angles(counters: Sequence[CounterByLayer], layer: int) -> Image:
    """Return the matrix of smallest principal angles between counters in a layer."""
    names = [one.name for one in counters]
    values = np.array(
        [[one.angles[name][layer] if name in one.angles else 0.0 for name in names]
         for one in counters]
    )  # fmt: skip

    def hover(row: int, column: int) -> str:
        if row == column:
            return names[row]
        low, high = counters[row].chance[names[column]]
        return (
            f"{names[row]} and {names[column]}: {values[row, column]:.0f}° in layer {layer}; "
            f"random directions {low:.0f}–{high:.0f}°"
        )

    axis = Axis("counter", whole=True)
    return Image(
        "Smallest angles between counters", axis, axis, values, "viridis", (0.0, 90.0),
        hover=hover, unit="degrees",
    )  # fmt: skip


def _agreement(view: View, layers: LayerTables) -> Line:
    return Line("cosine", layers.halves_cosine, SERIES[view.theme.name][3])


def _norms(view: View) -> list[Line]:
    theme, riddle, timelapse = view.theme, view.result.riddle, view.result.timelapse
    colors, norms = SERIES[theme.name], timelapse.norms
    last = norms.shape[1] - 1
    if riddle is None:
        lines = [Line("mean", timelapse.mean_norms, colors[1])]
    else:
        before = max(last - NEIGHBOURS, 0)
        lines = [
            Line(str(last), riddle.norms, colors[2]),
            Line(f"{before}–{last - 1}", riddle.neighbour_norms, colors[1]),
        ]
    selection = view.choices.selection
    chosen = [p for p in selection if p != last and p < norms.shape[1]][-MOST_SELECTED:]
    tints = (theme.accent, theme.hover, theme.muted)
    for position, color in zip(reversed(chosen), tints, strict=False):
        lines.append(Line(str(position), norms[:, position], color))
    if riddle is not None:
        lines.append(Line("decay only", riddle.predicted_norms, colors[2], dashed=True))
    return lines


def _turns(view: View) -> list[Line]:
    """Return the turns of the helix, where it fits well."""
    helices = view.result.helices
    if helices is None:
        return []
    turns = np.where(helices.r2 >= DESCRIBES, helices.turns, np.nan)
    return [Line("turns", turns, SERIES[view.theme.name][3])]


def _loss(view: View) -> list[Line]:
    losses = view.result.history.losses
    if losses is None:
        return []
    return [Line("loss", losses.astype(np.float64), SERIES[view.theme.name][4])]


def _sparsity(view: View) -> list[Line]:
    """Return the mass of the largest entries, where there are more entries than these."""
    if view.result.history.d_model <= HEAVIEST:
        return []
    color = SERIES[view.theme.name][0]
    return [Line("first 3 directions", view.result.sparse.mass, color, percent=True)]
