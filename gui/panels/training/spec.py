"""The training panel: the curve by training step, with its measures; or by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.errors import SourceError
from geometry.measures.overlaps import HEAVIEST
from geometry.models.model import PositionalModel
from geometry.models.sources.layer_tables import LayerStore
from gui.panels.kit.choices import Choice, MenuEntry, Option, Saved, Shared
from gui.panels.kit.intents import SaveCoordinates, SaveTimelapse
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Scope
from gui.panels.training.by_snapshot import (
    NO_TURNS,
    TURNS,
    WIDE,
    Choices,
    View,
    norm_lines,
    plot_by_snapshot,
    share_lines,
    turn_lines,
)
from gui.panels.training.layers import (
    layer_numbers,
    layer_plots,
    published_source,
    resolved,
    shape_where_resolved,
)
from gui.panels.training.question import Training, TrainingOf
from gui.plots.spec import Axis, Image, Line, Plot
from gui.services.origins import origin_of
from gui.services.snippets import python_script
from gui.style.sentences import titled
from gui.style.theme import SERIES, format_count, format_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE = (12.0, 3.6)
"""Inches."""
NO_LOSS = "its loss was not recorded"
_LAYERS_SCRIPT = """\
history, measured = history_here(model), model.store.tables
lapse = make_timelapse(history, {positions})
helices = fit_helices(lapse)
for layer in history.steps:
    print(layer, measured.share[layer], measured.share_noise[layer], measured.halves_cosine[layer])
    if measured.energy is not None:
        print("  energy, probe:", measured.energy[layer], measured.probe_error[layer])
    if measured.resolved()[layer]:
        print("  shape:", lapse.top3[layer], helices.r2[layer], helices.turns[layer],
              helices.best[layer])
"""
NO_SPARSITY = f"its rows have at most {HEAVIEST} entries"


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
        "The bundled model “sample” has one. So does a folder of steps, such as checkpoint-1000 or "
        "ckpt_1000.pt, a file with several state dicts, or a model on the Hub with such branches, "
        "such as stanford-crfm/alias-gpt2-small-x21."
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
                Option("loss", "Loss", "Training loss in nats per token, where it was recorded"),
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
                Option(
                    "positions",
                    "Positions",
                    "What depends on the position in the text: as a share of a token’s variance, "
                    "as an amount, and as what a linear map reads from single tokens, beside "
                    "networks with random and with shuffled weights",
                ),
                Option(
                    "decomposition",
                    "Decomposition",
                    "Position, context and the rest as shares of the variance; stable rank, rank "
                    "and relative norm of pos; as in Song and Zhong, whose numbers stand beside "
                    "these where they measured the same model",
                ),
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
        Saved(field="by_layer", kept=False, kind=bool),
    )
    menu = (
        MenuEntry("Save time-lapse…", SaveTimelapse),
        MenuEntry("Save coordinates…", SaveCoordinates),
    )
    body = "gui.panels.training.body:TrainingBody"

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Set whether its snapshots are layers."""
        by_layer = isinstance(model.store, LayerStore)
        return replace(super().choices_for(model, choices), by_layer=by_layer)

    def headline(self, choices: Choices) -> tuple[str, str, str]:
        if choices.by_layer:
            return "pos(layer)", "the curve in each layer", self.explanation
        return self.formula, self.meaning, self.explanation

    def question(self, scope: Scope, choices: Choices) -> TrainingOf:
        return TrainingOf(scope.positions, choices.gathered)

    def concerns(self, model: PositionalModel) -> bool:
        try:
            return origin_of(model) is not None
        except SourceError:
            return True

    def helps_without_result(self, model: PositionalModel) -> bool:
        return may_have_checkpoints(model)

    def plots(self, view: View) -> Sequence[Plot | Image]:
        if view.result.layers is not None:
            return layer_plots(view)
        share = Axis("share, R²", printed="share of the variance, R²")
        norm = Axis("norm", printed="norm of the row", log=True)
        mass = Axis(
            f"mass of {HEAVIEST} entries", printed=f"mass of the {HEAVIEST} largest entries"
        )
        thirds = {
            "turns": (turn_lines(view), TURNS, NO_TURNS, None),
            "loss": (_loss(view), Axis("loss (nats)"), NO_LOSS, None),
            "sparsity": (_sparsity(view), mass, NO_SPARSITY, view.result.sparse.turned),
        }
        return [
            plot_by_snapshot(view, share_lines(view), share),
            plot_by_snapshot(view, norm_lines(view), norm),
            *(
                plot_by_snapshot(
                    view,
                    lines,
                    y,
                    empty=empty,
                    min_width=WIDE * (view.choices.third != name),
                    null=null,
                )
                for name, (lines, y, empty, null) in thirds.items()
            ),
        ]

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
            text = (
                f"{titled(view.model)} · layers 0–{history.n_snapshots - 1} · positions "
                f"{first}–{last} · from {windows} windows of text"
            )
            return " · ".join(filter(None, (text, published_source(view))))
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
        columns: dict[str, np.ndarray] = {history.unit: history.steps}
        columns |= layer_numbers(view)
        known = {"tokens": history.tokens, "loss": history.losses}
        columns |= {name: values for name, values in known.items() if values is not None}
        for k in range(timeline.explained_variance_ratio.shape[1]):
            columns[f"variance_{k + 1}"] = timeline.explained_variance_ratio[:, k]
        columns["variance_top3"] = timeline.top3
        columns["variance_in_last_components"] = timeline.frozen_variance_ratio
        columns["mean_norm"] = timeline.mean_norms
        if riddle is not None:
            columns |= {
                "last_norm": riddle.norms,
                "norms_before_last": riddle.neighbour_norms,
                "last_norm_if_only_decayed": riddle.predicted_norms,
                "last_departure": riddle.departures,
            }
        for position in view.choices.selection:
            columns[f"norm_{position}"] = timeline.norms[:, position]
        columns["mass_top40"] = training.sparse.mass
        for name, value in zip(("p5", "p50", "p95"), training.sparse.turned.band, strict=True):
            columns[f"turned_mass_top40_{name}"] = np.full(history.n_snapshots, value)
        if training.helices is not None:
            columns["helix_r2"] = training.helices.r2
            columns["helix_turns"] = training.helices.turns
            columns["best_shape"] = np.array([best or "" for best in training.helices.best])
        if training.layers is not None:
            columns = shape_where_resolved(training.layers, columns)
        return columns

    def script(self, view: View) -> str:
        if view.result.layers is not None:
            lines = _LAYERS_SCRIPT.format(positions=view.question.positions)
            return python_script(lines, view.model)
        gathered = view.question.given is not None
        note = "  # those of its checkpoints that were fetched" if gathered else ""
        origin = origin_of(view.model)
        if origin is not None and origin.kind == "rewritten":
            note = "  # has none here: its file has only the last step"
        lines = f"""
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
        return python_script(lines, view.model)


def may_have_checkpoints(model: PositionalModel) -> bool:
    """Return whether a model may have a history of checkpoints."""
    try:
        origin = origin_of(model)
    except SourceError:
        return False
    return origin is not None and origin.kind in ("folder", "hub")


def verdict(training: Training) -> str:
    """Return the verdict on the last position, with its reason; for layers, which are resolved."""
    riddle = training.riddle
    if riddle is None:
        assert training.layers is not None
        return resolved(training.layers)
    supported = {True: "supported", False: "not supported", None: "undetermined"}[riddle.supports]
    return f"The last position never learns: {supported}. {riddle.why}"


def _loss(view: View) -> list[Line]:
    losses = view.result.history.losses
    if losses is None:
        return []
    return [Line("loss", losses.astype(np.float64), SERIES[view.theme.name][4])]


def _sparsity(view: View) -> list[Line]:
    """Return the mass of the largest entries; empty if there are no more entries than these."""
    if view.result.history.d_model <= HEAVIEST:
        return []
    color = SERIES[view.theme.name][0]
    return [Line("first 3 directions", view.result.sparse.mass, color, percent=True)]
