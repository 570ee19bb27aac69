"""Looking back N tokens: one rotation and one shift for all positions, and their fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Literal

import numpy as np

from geometry.evidence.null import strictest
from geometry.measures.lookback import GOOD_R2, KINDS, Kind, Scoring
from gui.panels.kit.choices import Choice, Number, Option, Play, Saved, Toggle
from gui.panels.kit.nulls import (
    MIN_RANDOM,
    RANDOM_NAMES,
    Finding,
    band_columns,
    null_band,
    random_name,
)
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Reported, Scope
from gui.panels.kit.views import View as AnyView
from gui.panels.lookback.guide import Carried
from gui.panels.lookback.question import (
    COUNTS,
    HeadsLookBackOf,
    LookBackNullsOf,
    LookBackOf,
    LookedBack,
    Motions,
    OfHeads,
    OfPositions,
    Space,
    of_measured,
)
from gui.plots.spec import Axis, Curve, Line, Part, Plot, Reading, Rule, Table, spanned
from gui.services.snippets import python_script
from gui.state.fields import Whole
from gui.state.guides import Guide
from gui.style.sentences import ranged, titled
from gui.style.theme import SERIES, format_number, format_percent
from gui.widgets.table_text import Column, Row

FIRST_LAG = 50
"""Initial N, by which a curve of one or two turns rotates visibly."""
LOWEST = -0.5
"""Minimum of the R² axis."""
NAMES: dict[Kind, str] = {
    "screw": "rotation + shift",
    "translation": "shift alone",
    "rotation": "rotation alone",
}
BANDS = {"process": "smooth", "walk": "walks"}
"""Labels of the bands of random curves."""
SCORED: dict[Scoring, str] = {
    "even_odd": "fitted on even, scored on odd positions",
    "halves": "fitted on the first half, scored on the second",
}
COLUMNS = (
    Column("head", "Head of the first layer, from 0", 44),
    Column("strongest lag", "The lag with the highest mean score of its queries and keys", 84),
    Column("R² Q", "R² of looking back N tokens by a rotation and a shift in its queries", 64),
    Column("R² K", "The same in its keys", 64),
)
SIDES = ("queries", "keys")
SCRUB_TIP = "Click or drag to look back by another number of tokens; the wheel zooms"
JUMP = 10.0
"""Difference of the angles of adjacent lags, in degrees, from which it is called a jump."""
TOO_POOR = "not shown in 3D: R² is below 0.5"
UNTRACKED = "not tracked at this N: R² is below 0.5"
NOT_SHOWN = "not shown in 3D: the shown components are not among the fitted ones"


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of the look-back panel.

    ``lag`` is the wanted one: :func:`lag_of` returns the nearest one of a result.
    """

    lag: int = FIRST_LAG
    space: Space = "3"
    scoring: Scoring = "even_odd"
    head: int = 0
    in_view: bool = True
    play: bool = False


View = AnyView[Choices, LookedBack]


def _movable(view: View) -> bool:
    """Return whether the motions move all shown components."""
    result, last = view.result, max(view.scope.components)
    return isinstance(result, OfPositions) and last <= len(result.back.pca.components)


def _drawable(view: View) -> bool:
    carried = _carried(view)
    return carried is not None and carried.clear


class LookBackPanel(PanelSpec[Choices, LookedBack]):
    """The fit of motions at every N, and the positions moved by one of them."""

    name = "lookback"
    formula = "pᵢ₋ₙ ≈ R pᵢ + t"
    meaning = "looking back N tokens"
    explanation = (
        "One rotation R and one shift t are fitted that map every position onto the position N "
        "tokens before it, and, for comparison, the shift alone and the rotation alone. On a "
        "helix all positions move in the same way, so that one motion looks back from everywhere, "
        "and the angle grows by a constant amount per token; it is tracked while R² ≥ 0.5, and "
        "Space plays the motion."
    )
    empty = "Open a model to see whether looking back N tokens is one rotation and one shift."
    instead = "Try another choice of components."
    defaults = Choices()
    controls = (
        Number(
            field="lag",
            text="N",
            tip="Number of tokens to look back: drag, type, or press ← and →",
            maximum=lambda result: int(result.lags[-1]),
            # In many dimensions not every lag is fitted.
            stops=lambda result: result.lags.tolist(),
            keys=True,
        ),
        Play(
            field="play",
            tip="Animate the motion of every position (Space)",
            stop_tip="Skip to the end of the motion (Space)",
            works=_movable,
        ),
        Choice(
            field="space",
            label="Space",
            options=(
                Option("3", "3 PCs", "The first three principal components of the shown positions"),
                Option(
                    "6",
                    "6 PCs",
                    "Their first six principal components, where a rotation turns three planes, "
                    "each by its own angle",
                ),
                Option(
                    "all",
                    "All PCs",
                    "As many components as explain 99.9 % of the variance, at most 64",
                ),
                Option(
                    "heads",
                    "Heads",
                    "The first three components of each head's queries and of its keys",
                ),
            ),
        ),
        Choice(
            field="scoring",
            label="Scoring",
            options=(
                Option(
                    "even_odd",
                    "Even/odd",
                    "Fit the motion on pairs of even positions, score it on pairs of odd ones, "
                    "which are nearly the same points",
                ),
                Option(
                    "halves",
                    "Halves",
                    "Fit the motion on the first half of the pairs, score it on the second: a "
                    "test of whether it is the same everywhere",
                ),
            ),
        ),
        Saved(
            field="head",
            kind=Whole,
            suits=lambda head, model: head < (model.n_heads or 1),
        ),
        Toggle(
            field="in_view",
            text="Show in 3D",
            tip="Draw where the motion maps each position as a small point, with lines to some "
            "targets; only where R² is at least 0.5",
            works=_drawable,
        ),
    )
    claims = {
        "lookback.everywhere": {"lag": 50, "space": "3", "scoring": "halves"},
        "lookback.rotation": {"lag": 50, "space": "3", "scoring": "even_odd"},
        "lookback.angle": {"space": "3", "scoring": "even_odd"},
        "lookback.heads": {"lag": 10, "space": "heads", "scoring": "halves"},
    }

    def agreeing(self, choices: Choices, changes: Set[str]) -> Choices:
        """Show the guide when playing, and stop playing when it is hidden."""
        if "play" in changes and choices.play:
            return replace(choices, in_view=True)
        return choices if choices.in_view else replace(choices, play=False)

    def question(self, scope: Scope, choices: Choices) -> LookBackOf | HeadsLookBackOf:
        if choices.space == "heads":
            return HeadsLookBackOf(scope.positions, choices.scoring)
        return LookBackOf(scope.positions, choices.space, choices.scoring)

    def nulls_question(self, scope: Scope, choices: Choices) -> LookBackNullsOf | None:
        first, last = scope.positions
        enough = last - first + 1 >= MIN_RANDOM and scope.model.W_pos.shape[1] >= 3
        if choices.space != "3" or not enough:
            return None
        return LookBackNullsOf(scope.positions, choices.scoring)

    def finding(self, view: View) -> Finding:
        assert isinstance(view.result, OfPositions)
        lag, motions = lag_of(view), view.result.motions
        r2 = _r2(motions, lag)
        null = strictest(each.at(lag - 1) for each in view.nulls.values())
        words = (
            f"R² {format_number(r2)} at N = {lag} (expected ≥ {GOOD_R2:g}); 95 % of "
            f"{null.draws} {random_name(null)} stay below {format_number(null.band[2])}"
        )
        alone = _alone(view)
        words += f"; {alone}" if alone else ""
        return Finding.of(words, r2 >= GOOD_R2, r2, "above", null)

    def result_for_report(
        self, reported: Reported, choices: Choices
    ) -> tuple[LookBackOf, OfPositions]:
        positions = reported.measured.positions
        return LookBackOf(positions, "3", "even_odd"), of_measured(reported.measured)

    def plots(self, view: View) -> Sequence[Part]:
        result = view.result
        r2, angles = _beside(view, "r2"), _beside(view, "angle")
        fits = _plot(view, "R²", Axis("R²"), _fits(view), r2, stretch=2)
        lowest = min((float(curve.y.min()) for curve in fits.curves), default=0.0)
        span = max(LOWEST, min(0.0, lowest)) - 0.02, 1.03
        axis = Axis("angle (°)", printed="angle (degrees)")
        lines = _angles(view)
        if view.nulls is not None:
            fits = _beside_random(view, fits)
        parts: list[Part] = [replace(fits, y=replace(fits.y, span=span))]
        if lines or angles:  # no axes without a curve
            angle = _plot(view, "Angle", axis, lines, angles, stretch=1)
            parts.append(replace(angle, x=fits.x))  # the same lags, also where no angle is known
        return [_heads(view, result), *parts] if isinstance(result, OfHeads) else parts

    def heading(self, view: View) -> tuple[str, str]:
        title = f"{view.model.name} · looking back N tokens"
        if isinstance(view.result, OfHeads):
            title += f" in head {_head(view)}"
        elif view.result.by_halves is not None:
            both = f"{SCORED['even_odd']}; dashed: {SCORED['halves']}"
            return title, f"{_scope(view)} · {both}"
        return title, self.caption(view)

    def caption(self, view: View) -> str:
        result = view.result
        parts = [_scope(view), _reading(view), SCORED[view.question.scoring]]
        if isinstance(result, OfPositions):
            # With random curves it is in the finding.
            if self.nulls_question(view.scope, view.choices) is None and _alone(view):
                parts.insert(2, _alone(view))
            carried = _carried(view)
            if carried is None:
                parts.append(NOT_SHOWN)
            elif view.choices.in_view and not carried.clear:
                parts.insert(2, TOO_POOR)
            parts += _closing(result.motions)
        if not _angles(view):
            parts.append(_no_angles(result))
        return " · ".join(parts)

    def tables(self, view: View) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return a table by lag, and of heads one by head."""
        result, lag = view.result, lag_of(view)
        if isinstance(result, OfHeads):
            sides = {"query": result.queries, "key": result.keys}
            lags: dict[str, np.ndarray] = {"lag": result.lags}
            heads = {
                "head": np.arange(result.back.n_heads),
                "preferred_lag": result.back.preferred,
            }
            for name, side in sides.items():
                heads[f"{name}_r2_at_{lag}"] = np.array([_r2(motions, lag) for motions in side])
                lags[f"{name}_r2"] = np.stack(
                    [motions.look_back.r2["screw"] for motions in side], axis=1
                )
                lags[f"{name}_angle_deg"] = np.stack([motions.followed for motions in side], axis=1)
            return {"": lags, "heads": heads}
        motions = result.motions
        by_lag = {
            "lag": result.lags,
            **{f"r2_{kind}": motions.look_back.r2[kind] for kind in KINDS},
        }
        for null in (view.nulls or {}).values():
            by_lag |= {f"r2_screw_{name}": band for name, band in band_columns(null.band).items()}
        for plane, angles in enumerate(motions.degrees.T, start=1):
            by_lag[f"angle_{plane}_deg"] = angles
        if motions.turning is not None:
            by_lag["angle_followed_deg"] = motions.followed
            by_lag["step"] = np.full(len(result.lags), np.nan)
            by_lag["step"][: len(motions.turning.steps)] = motions.turning.steps
        return {"": by_lag}

    def script(self, view: View) -> str:
        result, lag, scoring = view.result, lag_of(view), view.question.scoring
        if isinstance(result, OfHeads):
            lines = f"""
found = look_back_heads(project_heads(model), {result.positions}, scoring={scoring!r})
at = found.queries[0].index({lag})
for head, (queries, keys) in enumerate(zip(found.queries, found.keys)):
    r2 = queries.r2["screw"][at], keys.r2["screw"][at]
    print(head, found.preferred[head], *r2)
"""
            return python_script(lines, view.model)
        count = COUNTS[view.question.space]
        followed = count == 3 and len(result.back.pca.components) == 3
        nulls = ""
        if self.nulls_question(view.scope, view.choices) is not None:
            nulls = f"""\
nulls = []
for kind in {tuple(RANDOM_NAMES)}:
    null = look_back_nulls(model.W_pos, {result.positions}, kind=kind, scoring={scoring!r})
    nulls.append(null.at(at))
    print(kind, nulls[-1].draws, *nulls[-1].band)
r2 = found.r2["screw"][at]
print(r2, weigh(r2 >= {GOOD_R2:g}, r2, "above", strictest(nulls)))
"""
        turning = "print(follow_turning(found))\n" if followed else ""
        lines = f"""
found = look_back_range(model.W_pos, {result.positions}, {count}, scoring={scoring!r}).found
at = found.index({lag})
for kind, r2 in found.r2.items():
    print(kind, r2[at])
print(found.motion({lag}).angles)  # radians
{turning}{nulls}"""
        return python_script(lines, view.model)

    def compares(self, choices: Choices) -> str:
        # Head numbers of two models do not correspond.
        return "" if choices.space == "heads" else f"R² of {NAMES['screw']}"

    def summary(self, view: View) -> str:
        return _reading(view)

    def course(self, view: View) -> Callable[[float], Guide] | None:
        carried = _carried(view)
        return None if carried is None else carried.at

    def guide(self, view: View, current: int | None) -> Guide | None:
        carried = _carried(view) if view.choices.in_view else None
        return carried.at(1.0) if carried is not None and carried.clear else None


def _carried(view: View) -> Carried | None:
    if not isinstance(view.result, OfPositions) or not _movable(view):
        return None
    return Carried(view.result, lag_of(view), view.scope.components)


def lag_of(view: View) -> int:
    """Return the fitted lag nearest to the chosen one."""
    lags = view.result.lags
    return int(lags[np.abs(lags - view.choices.lag).argmin()])


def _head(view: View) -> int:
    assert isinstance(view.result, OfHeads)
    return min(view.choices.head, view.result.back.n_heads - 1)


# ---- curves ----------------------------------------------------------------------------------


def _fits(view: View) -> tuple[Line, ...]:
    """Return R² against the lag: of the motions, or of one head's queries and keys.

    With compared models, other motions have colours of no model.
    """
    result = view.result
    if isinstance(result, OfHeads):
        return tuple(
            Line(side, motions.look_back.r2["screw"], color, digits=3)
            for side, motions, color in _sides(view, result)
        )
    colors = [view.ink, *islice(cycle(view.spare_colors), len(KINDS) - 1)]
    lines = tuple(
        Line(NAMES[kind], result.back.found.r2[kind], color, digits=3)
        for kind, color in zip(KINDS, colors, strict=True)
    )
    if result.by_halves is None:
        return lines
    strict = result.by_halves.r2["screw"]
    name = f"{NAMES['screw']}, by halves"
    return (*lines, Line(name, strict, view.ink, style="dashed", digits=3))


def _angles(view: View) -> tuple[Line, ...]:
    """Return angles against the lag, with the fitted line if there is one."""
    result, colors = view.result, (view.ink, *view.spare_colors)
    if isinstance(result, OfHeads):
        sides = _sides(view, result)
        return tuple(
            line for side, motions, color in sides for line in _followed(motions, side, color)
        )
    motions = result.motions
    if motions.look_back.rotations.shape[1] == 3:
        return _followed(motions, "angle", colors[0])
    planes = zip(motions.degrees.T, cycle(colors), strict=False)
    return tuple(
        Line(f"plane {number}", angles, color, digits=1, unit="°")
        for number, (angles, color) in enumerate(planes, start=1)
    )


def _sides(view: View, result: OfHeads) -> list[tuple[str, Motions, str]]:
    head, colors = _head(view), SERIES[view.theme.name][1:]
    both = result.queries[head], result.keys[head]
    return list(zip(SIDES, both, colors, strict=False))


def _followed(motions: Motions, name: str, color: str) -> tuple[Line, ...]:
    slope = motions.degrees_per_token
    if slope is None:
        return ()
    fitted = np.where(np.isfinite(motions.followed), slope * motions.look_back.lags, np.nan)
    fit = f"{format_number(slope, 3)}° per token"
    return (
        Line(name, motions.followed, color, digits=1, unit="°"),
        Line(fit, fitted, color, digits=1, unit="°", style="dashed"),
    )


def _beside(view: View, what: Literal["r2", "angle"]) -> list[Curve]:
    """Return the compared models' curves; of angles, those that are known."""
    curves = []
    for other in view.others:
        if isinstance(other.result, OfPositions):
            motions, lags = other.result.motions, other.result.lags
            values = motions.look_back.r2["screw"] if what == "r2" else motions.followed
            known = np.isfinite(values)
            curves.append(other.curve(lags[known], values[known]))
    return [curve for curve in curves if len(curve.x)]


def _plot(
    view: View, name: str, y: Axis, lines: Sequence[Line], others: Sequence[Curve], *, stretch: int
) -> Plot:
    """Return a plot of lines by lag, with a rule at N."""
    result, lag = view.result, lag_of(view)
    lags, place = result.lags.astype(np.float64), int(np.searchsorted(result.lags, lag))
    curves = [curve for line in lines for curve in line.curves(lags)]
    last = max((float(curve.x[-1]) for curve in curves), default=float(lags[-1]))
    of_report = isinstance(result, OfPositions) and result.by_halves is not None
    return Plot(
        name,
        Axis("lag N (tokens)", whole=True, span=spanned(0.0, last, others)),
        y,
        [*curves, *others],
        [Rule(float(lag), "x", style="solid")] if lines and lag <= last and not of_report else [],
        stretch=stretch,
        readings=[_line_reading(line, place) for line in lines] or [Reading(_no_angles(result))],
        scrubs="lag",
        scrub_tip=SCRUB_TIP,
    )


def _line_reading(line: Line, place: int) -> Reading:
    """Return a line's legend entry, with a reason if the angle is unknown there."""
    reading = line.reading(place)
    untracked = line.unit == "°" and not np.isfinite(line.values[place])
    return (
        replace(reading, text=UNTRACKED if line.style == "solid" else "") if untracked else reading
    )


def _beside_random(view: View, fits: Plot) -> Plot:
    """Return the plot of R² with the bands of random curves and of walks."""
    assert isinstance(view.result, OfPositions)
    lags, lag = view.result.lags, lag_of(view)
    bands, readings = [], list(fits.readings)
    for name, null in view.nulls.items():
        # The nulls are for all lags, the result of a report only for the first ones.
        shown = replace(null, curves=null.curves[:, lags - 1])
        band = null_band(lags.astype(np.float64), shown.band, view.theme, BANDS[name])
        if name == "walk":
            band = replace(band, color=view.theme.usual, style="dashed")
        low, _, high = null.at(lag - 1).band
        bands.append(replace(band, middle=None))
        readings.append(band.reading(f"{format_number(low)}–{format_number(high)}"))
    return replace(fits, bands=bands, readings=readings)


def _heads(view: View, result: OfHeads) -> Table:
    """Return a row for each head: its number, the lag it prefers, R² in queries and keys."""
    lag = lag_of(view)
    rows = [
        Row(
            head,
            (
                str(head),
                str(result.back.preferred[head]),
                *(format_number(_r2(side[head], lag)) for side in (result.queries, result.keys)),
            ),
        )
        for head in range(result.back.n_heads)
    ]
    return Table(
        "All heads of the first layer",
        COLUMNS,
        rows,
        {_head(view): view.theme.text},
        chooses="head",
        tip="Click to show head {position}",
    )


# ---- texts -----------------------------------------------------------------------------------


def _no_angles(result: LookedBack) -> str:
    """Return why no angle is drawn."""
    if isinstance(result, OfPositions):
        k = result.motions.look_back.rotations.shape[1]
        if k > 6:
            return f"in {k} dimensions there are {k // 2} angles"
    return "no rotation fits"


def _scope(view: View) -> str:
    """Return the positions and the space."""
    result = view.result
    where = f"{titled(view.model)} · {ranged(view.model, result.positions)}"
    if isinstance(result, OfHeads):
        return f"{where} · layer 0, PC 1–3 of each head"
    k, share = len(result.back.pca.components), format_percent(result.back.variance_share)
    return f"{where} · PC 1–{k} ({share})"


def _reading(view: View) -> str:
    """Return a summary at the chosen lag."""
    result, lag = view.result, lag_of(view)
    if isinstance(result, OfHeads):
        head = _head(view)
        queries, keys = (
            format_number(_r2(side[head], lag)) for side in (result.queries, result.keys)
        )
        prefers = result.back.preferred[head]
        return (
            f"head {head}, N = {lag}: R² {queries} in queries, {keys} in keys; strongest lag "
            f"{prefers}"
        )
    motions = result.motions
    words = f"N = {lag}: R² {format_number(_r2(motions, lag))}"
    if motions.look_back.rotations.shape[1] == 3:
        screw = motions.look_back.motion(lag).screw
        followed = float(motions.followed[motions.look_back.index(lag)])  # as in the plot
        degrees = followed if np.isfinite(followed) else float(np.degrees(screw.angle))
        angle = format_number(degrees, 1)
        words += f", angle {angle}°, shift along the axis {format_number(abs(screw.step), 2)}"
    elif motions.degrees.shape[1]:
        angles = motions.degrees[motions.look_back.index(lag)]
        words += f", angles {', '.join(f'{format_number(float(a), 1)}°' for a in angles)}"
    return words


def _alone(view: View) -> str:
    """Return a note if the rotation alone fits better at the chosen lag; "" if it does not."""
    assert isinstance(view.result, OfPositions)
    motions, lag = view.result.motions, lag_of(view)
    alone = float(motions.look_back.r2["rotation"][motions.look_back.index(lag)])
    if alone <= _r2(motions, lag):
        return ""
    return f"rotation alone fits better: {format_number(alone)}"


def _closing(motions: Motions) -> list[str]:
    """Return a note on each lag at which the angle jumps over a full turn."""
    angles, lags = motions.followed, motions.look_back.lags
    before, after = angles[:-1], angles[1:]
    turns = 360.0 * np.maximum(np.round((before + after) / 720.0), 1.0)
    # Comparisons with NaN, where no angle is known, are false.
    jumps = np.flatnonzero((before < turns) & (turns < after) & (after - before > JUMP))
    return [
        f"the angle jumps by {format_number(after[at] - before[at], 0)}° at N = {lags[at + 1]}, "
        "where a turn closes: the motion hardly turns there, so its axis is uncertain"
        for at in jumps
    ]


def _r2(motions: Motions, lag: int) -> float:
    return float(motions.look_back.r2["screw"][motions.look_back.index(lag)])
