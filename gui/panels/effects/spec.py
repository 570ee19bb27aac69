"""The panel of effects: changes of the positions, and their cost for the network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geometry.inside.effects import Control, Effect
from geometry.inside.interventions import MIN_POSITIONS, find_change, usual_length
from geometry.inside.settings import SAMPLE_TEXTS, InsideError
from geometry.models.notes import sentences
from geometry.models.sources.layer_tables import LayerStore
from gui.panels.kit.choices import Number, Saved, Toggle
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Scope
from gui.panels.kit.views import View as AnyView
from gui.plots.spec import Axis, Band, Curve, Image, Part, Plot, Reading, Rule
from gui.services.effects import EffectsOf, EffectsResult, EffectsRun, kept, named, over
from gui.services.snippets import python_script, table_argument
from gui.state.fields import Name, integer
from gui.state.guides import Guide, ShownChange
from gui.style.sentences import ranged, titled
from gui.style.theme import SERIES, format_count, format_number, format_percent

if TYPE_CHECKING:
    from geometry.inside.effects import Effects
    from geometry.models.model import PositionalModel
    from geometry.pca.components import Array

USUALLY_KEPT = 3
"""Number of components on the slider while another change is chosen."""
AUTOMATIC = None
"""A length that depends on the model."""
WINDOWS = 64
"""Initial number of windows of text."""
MIN_WINDOWS, MAX_WINDOWS = 4, 4096
MIN_LENGTH, MAX_LENGTH = 20, 65_536
WIDE = 440
"""Minimum width with the plot of the rows, in pixels."""
MIN_MOVE = 1e-3
"""Minimum move of rows, as a share of their mean norm: less is rounding."""
SCRUB_TIP = "Click or drag to keep another number of components; the wheel zooms"
NOT_MEASURED = "not measured yet: press Measure"
LOSS, STATES = "added loss (nats per token)", "change of the last states"


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the panel of effects."""

    # Name of the shown change, see :func:`geometry.inside.interventions.find_change`
    change: str = "top 3"
    in_view: bool = True  # Whether the changed curve is in the viewport
    # Settings of the next measurement, as in :class:`EffectsRun`
    texts: str = SAMPLE_TEXTS
    windows: int = WINDOWS
    length: int | None = AUTOMATIC
    heads: bool = False
    run: EffectsRun | None = None  # The last requested measurement; None if there is none


View = AnyView[Choices, EffectsResult]


def _is_change(value: str) -> bool:
    """Return whether a text is the name of a change."""
    try:
        find_change(value)
    except InsideError:
        return False
    return True


class EffectsPanel(PanelSpec[Choices, EffectsResult]):
    """Changes of the table, as curves in the viewport, with their cost for the network."""

    name = "effects"
    formula = "L(P′) − L(P)"
    meaning = "what positions do for the network"
    explanation = (
        "The table P is changed (only its first components kept, the fitted helix in its place, "
        "turned, averaged, shifted) and the same texts run through the network again, to see by "
        "how many nats per token the loss grows, or how far an encoder’s last states move. Any "
        "displacement of rows costs something, so the same is measured of one as large that leaves "
        "alone what the change is about: the difference is what remains."
    )
    empty = "Open a model to see what its network loses when its positions are changed."
    instead = "Use a model with learned positions, such as GPT-2."
    defaults = Choices()
    controls = (
        Number(
            field="change",
            text="Components",
            tip="Number of the table’s principal directions to keep: drag, type, or press ← and →",
            minimum=0,
            maximum=lambda result: result.most,
            keys=True,
            shown=lambda change, _: USUALLY_KEPT if kept(change) is None else kept(change) or 0,
            chosen=lambda number: f"top {number}",
            kind=Name,
            check=_is_change,
        ),
        Toggle(
            field="in_view",
            text="Show in 3D",
            tip="Draw the changed curve in the viewport; the real one is pale meanwhile",
        ),
        Saved(
            field="texts",
            kind=Name,
            check=lambda texts: texts == SAMPLE_TEXTS or Path(texts).is_absolute(),
        ),
        Saved(field="windows", kind=integer(MIN_WINDOWS, MAX_WINDOWS)),
        Saved(
            field="length",
            kind=integer(MIN_LENGTH, MAX_LENGTH) | None,
            suits=lambda n, model: n is AUTOMATIC or n <= model.n_positions,
        ),
        Saved(field="heads", kind=bool),
        # A measurement takes long, so opening saved work does not start one.
        Saved(field="run", kept=False, kind=type(None)),
    )
    claims = {
        "effects.three": {"change": "top 3"},
        "effects.helix": {"change": "fitted helix"},
        "effects.norms": {"change": "scrambled norms"},
        "effects.orthogonal": {"change": "into E"},
        "effects.first": {"change": "without position 0"},
    }
    body = "gui.panels.effects.body:EffectsBody"

    def concerns(self, model: PositionalModel) -> bool:
        return not model.no_table and model.n_positions >= MIN_POSITIONS

    def choices_for(self, model: PositionalModel, choices: Choices) -> Choices:
        """Forget the measurement of another model, and the length of its windows."""
        return replace(self.choices_for_later_step(model, choices), length=AUTOMATIC)

    def choices_for_later_step(self, model: PositionalModel, choices: Choices) -> Choices:
        return replace(super().choices_for_later_step(model, choices), run=None)

    def choices_for_lesson(self, model: PositionalModel, choices: Choices) -> Choices:
        """Keep a measurement with the initial settings."""
        first, run = super().choices_for_lesson(model, choices), choices.run
        settings = (first.texts, usual_length(model.n_positions), first.windows)
        same = run is not None and (run.texts, run.length, run.windows) == settings
        return replace(first, run=run if same else None)

    def question(self, scope: Scope, choices: Choices) -> EffectsOf:
        run = choices.run
        length = choices.length if run is None else run.length
        return EffectsOf(length or usual_length(scope.model.n_positions), run)

    def plots(self, view: View) -> Sequence[Part]:
        return [_moves(view), _losses(view), *_heads(view)]

    def heading(self, view: View) -> tuple[str, str]:
        return "What positions do for the network", self.caption(view)

    def caption(self, view: View) -> str:
        effects, change = view.result.effects, view.choices.change
        rows = ranged(view.model, (0, view.result.table.length - 1))
        text = f"{titled(view.model)} · {rows} · {named(change)}"
        effect = effects.of(change)
        if effect is not None:
            text += f": {cost(effects, effect)}"
        if effect is not None and (control := effect.nearest) is not None:
            text += f" · {named(control.name)}: {cost(effects, control)}"
            text += f" · remains {_with_interval(effects, *control.difference)}"
        judged = [claim for claim, options in self.claims.items() if change in options.values()]
        if judged and (made := sentences(view.model.notes, *judged)):
            text += f" · by construction: {' '.join(made)}"
        if effects.windows:
            text += f" · from {format_count(effects.windows)} windows of text"
            text += f", intervals over {over(effects)}" if effects.files else ""
        return text

    def tables(self, view: View) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return how far each row moves, and the known effects."""
        moved = moves(view)
        tables: dict[str, Mapping[str, np.ndarray]] = {
            "": {"position": np.arange(len(moved)), "moved": moved}
        }
        known = view.result.effects.effects
        if known:
            tables["effects"] = {
                "change": np.array([effect.name for effect in known]),
                **_columns(known),
                **_nearest(known),
            }
        return tables

    def script(self, view: View) -> str:
        length, change, run = view.result.table.length, view.choices.change, view.result.run
        lines = f"""\
changed = changed_table(model, {change!r}, length={length})
print(((changed - model.W_pos) ** 2).sum(axis=1) ** 0.5)
"""
        if run is not None:
            lines += f"""
{intervening(view.model, run, [effect.name for effect in view.result.effects.effects])}
print(effects.baseline)
for one in effects.effects:
    print(one.name, one.delta, one.low, one.high)
"""
        return python_script(lines, view.model)

    def guide(self, view: View, current: int | None) -> Guide | None:
        pca, components = view.scope.pca, view.scope.components
        if not view.choices.in_view or pca is None or max(components) > len(pca.components):
            return None
        if view.result.table.P.shape[1] != view.model.d_model:  # still another model's
            return None
        changed = changed_rows(view)
        first, last = pca.positions
        last = min(last, view.result.table.length - 1)
        if changed is None or last <= first:
            return None
        basis = pca.components[[number - 1 for number in components]]
        points = (changed[first : last + 1] - pca.mean) @ basis.T
        # The network's texts may be shorter than the shown range.
        part = "" if last == pca.positions[1] else f", positions {first}–{last}"
        return Guide(
            pca,
            components,
            lines=(points,),
            points=points,
            matched=np.arange(first, last + 1),
            ghost=True,
            caption=f"{named(view.choices.change)}{part}; pale: unchanged",
            change=ShownChange(view.choices.change, view.result.table.length),
        )


def intervening(model: PositionalModel, run: EffectsRun, changes: Sequence[str]) -> str:
    """Return the lines of a script that measure the effects of changes again."""
    store, source, more = model.store, model.source.text, ""
    if isinstance(store, LayerStore):
        source, more = store.tables.source, f"layer={source!r}, "
    if run.heads:
        more += "attention=True, "
    return f"""effects = intervene(
    {source!r}, {run.texts!r}, {list(changes)!r},
    {more}length={run.length}, texts_at_most={run.windows}{table_argument(model)},
)"""


# ---- the changed table -----------------------------------------------------------------------


def changed_rows(view: View) -> Array | None:
    """Return the changed table; None if the change is impossible, or lacks data."""
    try:
        return find_change(view.choices.change)(view.result.table)
    except InsideError:
        return None


def moves(view: View) -> np.ndarray:
    """Return how far each row moves, (n_positions,); zeros if the changed table is unknown."""
    P, changed = view.result.table.P, changed_rows(view)
    return np.zeros(len(P)) if changed is None else np.linalg.norm(changed - P, axis=1)


def _moves(view: View) -> Plot:
    moved = moves(view)
    mean = float(np.linalg.norm(view.result.table.P, axis=1)[1:].mean())

    def hover(_: int, at: int) -> str:
        share = format_percent(float(moved[at]) / mean) if mean else "–"
        return f"{view.at(at)}: moved by {format_number(moved[at])}, {share} of the mean norm"

    # A change that moves no row is drawn on the scale of the rows.
    top = 1.05 * float(moved.max()) if float(moved.max()) > MIN_MOVE * mean else mean
    return Plot(
        "How far rows move",
        Axis("position", whole=True),
        Axis("‖p′ − p‖ (units of P)", span=(0.0, top)),
        [Curve(np.arange(len(moved)), moved, SERIES[view.theme.name][0], width=1.5)],
        hover=hover,
        over="position",
        veiled=True,
        min_width=WIDE,
    )


# ---- the cost of a change --------------------------------------------------------------------


def _losses(view: View) -> Plot:
    """Return the plot of the loss against the number of components."""
    result, effects, theme = view.result, view.result.effects, view.theme
    measured = sorted(
        (number, effect)
        for effect in effects.effects
        if (number := kept(effect.name)) is not None and not effect.why
    )
    chosen = kept(view.choices.change)
    stops: np.ndarray = np.arange(result.most + 1)
    plot = Plot(
        "Effect by components",
        Axis("components kept", whole=True, span=(0.0, float(result.most))),
        Axis(LOSS if of_loss(effects) else STATES),
        [],
        [Rule(float(chosen), "x", style="solid")] if chosen is not None else [],
        scrubs="change",
        scrub_stops=stops,
        scrub_tip=SCRUB_TIP,
    )
    if not measured:
        shares = result.shares[: result.most + 1]
        pending = result.run is not None and not result.failure
        return replace(
            plot,
            y=Axis("share of P’s variance", span=(0.0, 1.05)),
            curves=[Curve(stops.astype(float), shares, theme.muted, width=1.5, dots=True)],
            hover=lambda _, at: f"{at} components hold {format_percent(float(shares[at]))}",
            readings=[Reading("…" if pending else NOT_MEASURED)],
        )
    numbers = np.array([number for number, _ in measured], float)
    delta, low, high = _columns([effect for _, effect in measured]).values()
    color, other = SERIES[theme.name][:2]
    effect = None if chosen is None else effects.of(f"top {chosen}")
    reading = "" if effect is None else cost(effects, effect)
    curves, bands = [Curve(numbers, delta, color, width=1.5, dots=True)], []
    readings = [Reading("components", reading, color)]
    paired = [(number, one.nearest) for number, one in measured if one.nearest is not None]
    if paired:
        x = np.array([number for number, _ in paired], float)
        y, low_y, high_y = _columns([control for _, control in paired]).values()
        control = None if effect is None else effect.nearest
        curves.append(Curve(x, y, other, "dashed", silent=True))
        bands.append(Band(x, low_y, high_y, other, style="dashed"))
        text = "" if control is None else cost(effects, control)
        readings.append(Reading("as far, elsewhere", text, other, "dashed"))
    return replace(
        plot,
        curves=curves,
        rules=[*plot.rules, Rule(0.0, "y", style="dotted")],
        hover=lambda _, at: f"{int(numbers[at])} components: {cost(effects, measured[at][1])}",
        bands=[*bands, Band(numbers, low, high, color)],
        readings=readings,
    )


def _columns(effects: Sequence[Effect | Control]) -> dict[str, np.ndarray]:
    """Return the effects, and the ends of their intervals."""
    names = ("delta", "low", "high")
    return {name: np.array([getattr(effect, name) for effect in effects]) for name in names}


def _nearest(effects: Sequence[Effect]) -> dict[str, np.ndarray]:
    """Return the nearest control of each effect, and what remains."""
    nothing = (math.nan,) * 3
    found = [effect.nearest for effect in effects]
    remains = np.array([nothing if one is None else one.difference for one in found])
    return {
        "control": np.array(["" if one is None else one.name for one in found]),
        "control_delta": np.array([math.nan if one is None else one.delta for one in found]),
        "difference": remains[:, 0],
        "difference_low": remains[:, 1],
        "difference_high": remains[:, 2],
    }


def _heads(view: View) -> Sequence[Image]:
    """Return the image of how each head's attention changes; none if that is not measured."""
    effect = view.result.effects.of(view.choices.change)
    if effect is None or not effect.attention:
        return []
    values = np.array(effect.attention)

    def hover(layer: int, head: int) -> str:
        moved = format_percent(float(values[layer, head]))
        return f"layer {layer}, head {head}: {moved} of its attention moves"

    return [
        Image(
            "Attention that moves",
            Axis("head", whole=True),
            Axis("layer", whole=True),
            values,
            "viridis",
            (0.0, max(float(values.max()), 1e-3)),
            hover=hover,
            unit="share moved",
        )
    ]


def of_loss(effects: Effects) -> bool:
    """Return whether effects are of the loss, or, of an encoder, of its last states."""
    return effects.baseline is not None or not effects.windows


def cost(effects: Effects, effect: Effect | Control) -> str:
    """Return what a change or a control costs, with its interval."""
    if isinstance(effect, Effect) and effect.why:
        return effect.why
    return _with_interval(effects, effect.delta, effect.low, effect.high)


def details(effects: Effects, effect: Effect) -> Sequence[str]:
    """Return lines on a change: its cost, how far it moves rows, and the same of its controls."""
    lines = [f"{cost(effects, effect)}, with 95 % intervals over {over(effects)}"]
    if effect.displacement is not None:
        lines[0] += f"; rows move by {format_percent(effect.displacement)} of their norm"
    if effect.length is not None:
        lines.append(f"In windows of {effect.length} tokens, as no more rows are left")
    for control in effect.controls:
        remains = _with_interval(effects, *control.difference)
        lines.append(f"{named(control.name)}: {cost(effects, control)}; remains {remains}")
    return lines


def _with_interval(effects: Effects, value: float, low: float, high: float) -> str:
    unit = " nats" if of_loss(effects) else ""
    ends = f"{amount(effects, low)} to {amount(effects, high)}"
    return f"{amount(effects, value, signed=True)}{unit} ({ends})"


def amount(effects: Effects, value: float, *, signed: bool = False) -> str:
    """Write an effect: nats per token, or an encoder's share."""
    if math.isnan(value):
        return "–"
    if not of_loss(effects):
        return format_percent(value)
    return ("+" if signed and value > 0 else "") + format_number(value, 3)
