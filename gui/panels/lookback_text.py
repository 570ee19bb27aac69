"""What the look-back panel draws and says: lines, captions, numbers, Python. No Qt here."""

from __future__ import annotations

import numpy as np

from geometry.measures.lookback import KINDS, Kind, Scoring
from geometry.models.model import PositionalModel
from gui.panels.lookback_question import LookedBack, OfHeads, OfPositions, Turned
from gui.plots.spec import Line
from gui.scene.scene_state import titled
from gui.services.snippets import opening
from gui.style.theme import SERIES, Theme, format_number, format_percent

NAMES: dict[Kind, str] = {
    "screw": "rotation + shift",
    "translation": "shift alone",
    "rotation": "rotation alone",
}
SCORINGS: dict[Scoring, str] = {
    "even_odd": "fitted on even, scored on odd positions",
    "halves": "fitted on the first half, scored on the second",
}
SIDES = ("queries", "keys")


def fit_lines(
    result: LookedBack, head: int, theme: Theme, *, others: bool = False
) -> tuple[Line, ...]:
    """Return R² against the lag: of the motions, or of one head's queries and keys.

    Beside other models, whose colours those are, the motions that are not compared are grey.
    """
    colors = SERIES[theme.name]
    if isinstance(result, OfHeads):
        both = (result.queries[head], result.keys[head])
        return tuple(
            Line(side, one.found.r2["screw"], color, digits=3)
            for side, one, color in zip(SIDES, both, colors[1:], strict=False)
        )
    r2 = result.back.found.r2
    looks = [(color, False) for color in colors]
    if others:
        looks = [(theme.text, False), (theme.muted, False), (theme.muted, True)]
    return tuple(
        Line(NAMES[kind], r2[kind], color, dashed=dashed, digits=3)
        for kind, (color, dashed) in zip(KINDS, looks, strict=False)
    )


def angle_lines(result: LookedBack, head: int, theme: Theme) -> tuple[Line, ...]:
    """Return angles against the lag, with the line through them where there is one."""
    colors = SERIES[theme.name]
    if isinstance(result, OfHeads):
        both = (result.queries[head], result.keys[head])
        pairs = zip(SIDES, both, colors[1:], strict=False)
        return tuple(line for side, one, color in pairs for line in _followed(one, side, color))
    one = result.turned
    if one.found.rotations.shape[1] == 3:
        return _followed(one, "angle", colors[0])
    planes = zip(one.degrees.T, colors, strict=False)
    return tuple(
        Line(f"plane {number}", angles, color, digits=1, unit="°")
        for number, (angles, color) in enumerate(planes, start=1)
    )


def _followed(one: Turned, name: str, color: str) -> tuple[Line, ...]:
    slope = one.degrees_per_token
    if slope is None:
        return ()
    fitted = np.where(np.isfinite(one.followed), slope * one.found.lags, np.nan)
    said = f"{format_number(slope, 3)}° a token"
    return (
        Line(name, one.followed, color, digits=1, unit="°"),
        Line(said, fitted, color, digits=1, unit="°", dashed=True),
    )


def report_lines(even_odd: OfPositions, halves: OfPositions, theme: Theme) -> tuple[Line, ...]:
    """Return R² against the lag in both scorings, the stricter one dashed."""
    strict = fit_lines(halves, 0, theme)[0]
    name = f"{strict.name}, by halves"
    return (
        *fit_lines(even_odd, 0, theme),
        Line(name, strict.values, strict.color, dashed=True, digits=3),
    )


def no_angles(result: LookedBack) -> str:
    """Say why no angle is drawn."""
    if isinstance(result, OfPositions):
        k = result.turned.found.rotations.shape[1]
        if k > 6:
            return f"in {k} dimensions there are {k // 2} angles"
    return "no rotation fits"


def title_of(model: PositionalModel) -> str:
    """Name the figure."""
    return f"{model.name} · looking back N tokens"


def scope(model: PositionalModel, result: LookedBack) -> str:
    """Say what is moved, and in which space."""
    first, last = result.positions
    where = f"{titled(model)} · positions {first}–{last}"
    if isinstance(result, OfHeads):
        return f"{where} · layer 0, PC 1–3 of each head"
    k, share = len(result.back.pca.components), format_percent(result.back.variance_share)
    return f"{where} · PC 1–{k} ({share})"


def reading(result: LookedBack, head: int, lag: int) -> str:
    """Say what is so for one lag."""
    if isinstance(result, OfHeads):
        queries, keys = (_r2(side[head], lag) for side in (result.queries, result.keys))
        prefers = result.back.preferred[head]
        return (
            f"head {head}, N = {lag}: R² {queries} in queries, {keys} in keys; it prefers lag "
            f"{prefers}"
        )
    one = result.turned
    said = f"N = {lag}: R² {_r2(one, lag)}"
    if one.found.rotations.shape[1] == 3:
        screw = one.found.motion(lag).screw
        angle = format_number(float(np.degrees(screw.angle)), 1)
        said += f", turns {angle}°, slides {format_number(abs(screw.step), 2)}"
    elif one.degrees.shape[1]:
        angles = one.degrees[one.found.index(lag)]
        said += f", turns {', '.join(f'{format_number(float(a), 1)}°' for a in angles)}"
    return said


def _r2(one: Turned, lag: int) -> str:
    return format_number(float(one.found.r2["screw"][one.found.index(lag)]))


def head_cells(result: OfHeads, head: int, lag: int) -> tuple[str, ...]:
    """Write a head's row: its number, the lag it prefers, R² in queries and keys."""
    queries, keys = (_r2(side[head], lag) for side in (result.queries, result.keys))
    return str(head), str(result.back.preferred[head]), queries, keys


def columns(result: LookedBack, lag: int) -> dict[str, np.ndarray]:
    """Return the numbers behind what is drawn, by names for columns."""
    if isinstance(result, OfHeads):
        sides = {"query": result.queries, "key": result.keys}
        found: dict[str, np.ndarray] = {
            "lag": result.lags,
            "head": np.arange(result.back.n_heads),
            "preferred_lag": result.back.preferred,
        }
        for name, side in sides.items():
            found[f"{name}_r2_at_{lag}"] = np.array(
                [one.found.r2["screw"][one.found.index(lag)] for one in side]
            )
            found[f"{name}_r2"] = np.stack([one.found.r2["screw"] for one in side], axis=1)
            found[f"{name}_angle_deg"] = np.stack([one.followed for one in side], axis=1)
        return found
    one = result.turned
    found = {"lag": result.lags, **{f"r2_{kind}": one.found.r2[kind] for kind in KINDS}}
    for plane, angles in enumerate(one.degrees.T, start=1):
        found[f"angle_{plane}_deg"] = angles
    if one.turning is not None:
        found["angle_followed_deg"] = one.followed
        found["step"] = np.full(len(result.lags), np.nan)
        found["step"][: len(one.turning.steps)] = one.turning.steps
    return found


def script(
    model: PositionalModel, result: LookedBack, scoring: Scoring, count: int | None, lag: int
) -> str:
    """Return a script that fits the motions with ``geometry``, and prints them."""
    if isinstance(result, OfHeads):
        return (
            opening(model)
            + "from geometry import look_back_heads\n"
            + "from geometry import project_heads\n\n"
            + f"found = look_back_heads(project_heads(model), {result.positions}, "
            + f"scoring={scoring!r})\n"
            + f"at = found.queries[0].index({lag})\n"
            + "for head, (queries, keys) in enumerate(zip(found.queries, found.keys)):\n"
            + '    r2 = queries.r2["screw"][at], keys.r2["screw"][at]\n'
            + "    print(head, found.preferred[head], *r2)\n"
        )
    followed = count == 3 and len(result.back.pca.components) == 3
    return (
        opening(model)
        + ("from geometry import follow_turning\n" if followed else "")
        + "from geometry import look_back_range\n\n"
        + f"found = look_back_range(model.W_pos, {result.positions}, {count}, "
        + f"scoring={scoring!r}).found\n"
        + f"at = found.index({lag})\n"
        + "for kind, r2 in found.r2.items():\n"
        + "    print(kind, r2[at])\n"
        + f"print(found.motion({lag}).angles)  # radians\n"
        + ("print(follow_turning(found))\n" if followed else "")
    )
