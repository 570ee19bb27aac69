"""What the scene shows, resolved from the session into plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from geometry.measures.sphere import SphereSection, sphere_section
from geometry.measures.stretches import measure_stretch
from gui.state.colors import ColorScale, color_scale
from gui.state.guides import Guide
from gui.state.selection import to_label
from gui.state.session import Session
from gui.state.timeline import COMPONENTS, TrainingTimeline, columns_for
from gui.state.values import CurveLook, Outside, Projection
from gui.style.sentences import chosen_table, ranged, titled
from gui.style.theme import format_number, format_percent

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel


@dataclass(frozen=True, eq=False, slots=True)
class NormSphere:
    """The surface of rows of mean norm in the shown components, and its caption."""

    section: SphereSection | None  # The surface; None if there is none
    caption: str  # Its description, or why there is none


def norm_sphere(session: Session) -> NormSphere | None:
    """Return a session's norm sphere; None if it is not wanted or norms are unknown."""
    curve, norms = session.curve, session.norms
    if not session.sphere or curve is None or norms is None:
        return None
    shown = {k for k in curve.components if k <= len(curve.pca.components)}
    if len(shown) != 3:
        return NormSphere(None, f"no sphere of mean norm: it needs 3 components, not {len(shown)}")
    basis = curve.pca.components[[k - 1 for k in curve.components]]
    section = sphere_section(curve.pca.mean, basis, norms.mean, centred=norms.centred)
    kind = "row-centred norm" if norms.centred else "norm"
    mean = format_number(norms.mean)
    if section.axes is None:
        least = format_number(section.distance)
        return NormSphere(None, f"no sphere: the smallest {kind} here is {least}, the mean {mean}")
    stretch = measure_stretch(norms.values, norms.after)
    over = "all" if stretch.whole else f"{stretch.first}–{stretch.last}"
    longest, *_, shortest = (format_number(radius) for radius in section.radii)
    size = f"radius {longest}" if longest == shortest else f"radii {shortest}–{longest}"
    what = "ellipsoid" if norms.centred else "sphere"
    return NormSphere(section, f"{what}: {kind} {mean} (mean of {over}) · {size} here")


MAX_TOKEN_LABELS = 64
"""Maximum tokens as labels, for legibility."""
MAX_TRAILS = 8
"""Maximum trails drawn at once, for legibility."""
MODEL_LINES = 2
"""Lines of a caption for the model and its components."""


@dataclass(frozen=True, eq=False, slots=True)
class Ways:
    """Paths of positions through the snapshots, and the current snapshot."""

    points: np.ndarray  # (k, n, 3): coordinates of k positions at n snapshots
    at: int  # The snapshot, from 0


@dataclass(frozen=True, eq=False, slots=True)
class SceneState:
    """Everything the scene draws."""

    coordinates: np.ndarray  # (n_positions, 3) true coordinates of all rows
    turn: np.ndarray  # (3, 3) display transform
    positions: tuple[int, int]  # First and last position shown, inclusive
    scale: ColorScale  # Colour values of all positions
    axis_labels: tuple[str, str, str]  # One for each arrow: ``PC 1 · 33.7 %``
    # Lines that describe what is shown: two, and one each for the sphere and the guides.
    caption: tuple[str, ...]
    # As in the session.
    outside: Outside = "hidden"
    projection: Projection = "perspective"
    sphere: SphereSection | None = None  # The sphere of rows of mean norm, if shown
    # Positions marked by rings.
    selection: tuple[int, ...] = ()
    hover: int | None = None
    # Position -> text, in order of importance: hover, selection, a prompt's tokens, spread.
    labels: Mapping[int, str] = field(default_factory=dict)
    # Paths of the selected positions through the training, while a snapshot is shown.
    ways: Ways | None = None
    guides: tuple[Guide, ...] = ()  # What panels draw beside the curve
    look: CurveLook = field(default_factory=CurveLook)  # Sizes of line and points
    # Names and colour maps of curves that are drawn over each other; empty for one curve.
    legend: tuple[tuple[str, str], ...] = ()
    columns: int = 0  # Of a picture's patches, which are joined in a net; 0 for a line

    @property
    def displayed(self) -> np.ndarray:
        """(n_positions, 3) places of all positions, after the display transform."""
        places: np.ndarray = self.coordinates @ self.turn.T
        return places

    @property
    def displayed_range(self) -> np.ndarray:
        """(m, 3) those of the shown range."""
        return self.displayed[self.positions[0] : self.positions[1] + 1]

    def visible(self, position: int) -> bool:
        """Return whether a position has a point on the screen."""
        first, last = self.positions
        return self.outside == "faint" or first <= position <= last


def resolve_scene(session: Session) -> SceneState | None:
    """Resolve the scene of a session; None if no model is open."""
    curve, model = session.curve, session.model
    if curve is None or model is None:
        return None
    timeline = session.shown_timeline
    if timeline is not None:
        return _resolve_snapshot(session, timeline)
    shares = curve.explained_variance_ratio
    each = [
        "none" if component in curve.absent else format_percent(share)
        for component, share in zip(curve.components, shares, strict=True)
    ]
    first, last = curve.pca.positions
    c = curve.components
    names = tuple(f"PC\N{NO-BREAK SPACE}{k}" for k in c)
    parts = (titled(model), model.side, chosen_table(model), ranged(model, curve.pca.positions))
    sphere = norm_sphere(session)
    guides = session.shown_guides
    own = [guide.curve_colormap for guide in guides if guide.curve_colormap]
    scale = color_scale(session)
    if own and not scale.categories:  # these have no colour map
        scale = replace(scale, colormap=own[0])
    caption: tuple[str, ...] = (
        " · ".join(filter(None, parts)) + " · centred" + _scheme(model),
        " · ".join(f"{n}  {s}" for n, s in zip(names, each, strict=True))
        + f"  =  {format_percent(sum(shares))}"
        + (f" · {curve.shortage}" if curve.shortage else ""),
    )
    return SceneState(
        coordinates=curve.coordinates,
        turn=session.turn,
        positions=curve.pca.positions,
        outside=session.outside,
        projection=session.projection,
        scale=scale,
        axis_labels=(
            f"{names[0]} · {each[0]}",
            f"{names[1]} · {each[1]}",
            f"{names[2]} · {each[2]}",
        ),
        caption=(
            *caption,
            *(() if sphere is None else (sphere.caption,)),
            *(guide.caption for guide in guides if guide.caption),
        ),
        sphere=None if sphere is None else sphere.section,
        selection=session.selection,
        hover=session.hover,
        labels=_labels(session),
        guides=guides,
        look=_look(session),
        legend=_legend(f"{model.name} · {first}–{last}", scale.colormap, guides),
        columns=0 if model.grid is None else model.grid[1],
    )


def _scheme(model: PositionalModel) -> str:
    """Return how a model knows positions, if not by a learned table of a text's."""
    if model.lags is not None:
        return f" · {model.lags.words}"
    if model.grid is not None:
        return f" · {model.grid[0]} × {model.grid[1]} patches"
    if model.rotary is not None:
        pairs, base = model.rotary.n_pairs, model.rotary.base
        return f" · rotary, not learned: {pairs} pairs, base {base:,.10g}"
    return " · computed, not learned" if model.computed else ""


def net(
    n_positions: int, columns: int, positions: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges between neighbours of a picture's patches, which are numbered row by row.

    (n_edges, 2) each: those with both ends in a range, and the others; first those along rows.
    """
    at = np.arange(n_positions)
    along = at[(at % columns < columns - 1) & (at + 1 < n_positions)]
    down = at[: max(n_positions - columns, 0)]
    edges = np.concatenate(
        [np.column_stack([along, along + 1]), np.column_stack([down, down + columns])]
    )
    inside = ((edges >= positions[0]) & (edges <= positions[1])).all(axis=1)
    return edges[inside], edges[~inside]


def _legend(name: str, colormap: str, guides: tuple[Guide, ...]) -> tuple[tuple[str, str], ...]:
    others = tuple((guide.name, guide.colormap) for guide in guides if guide.colormap)
    return ((name, colormap), *others) if others else ()


def _resolve_snapshot(session: Session, timeline: TrainingTimeline) -> SceneState:
    """Resolve the scene of a snapshot of the training."""
    assert session.model is not None
    assert session.curve is not None
    assert session.snapshot is not None
    at, components = session.snapshot, session.curve.components
    columns = columns_for(components)
    known = sorted(components) == list(COMPONENTS)
    frozen = timeline.basis == "frozen"
    names = [f"{'PC' if frozen else 'axis'}\N{NO-BREAK SPACE}{k + 1}" for k in columns]
    named, when = titled(session.model), "as it was at "
    if timeline.history.unit == "layer":  # the model's name has that of the open layer
        named, when = timeline.history.name, ""
    return SceneState(
        coordinates=timeline.coordinates[at][:, columns],
        turn=session.turn if known else np.eye(3),
        positions=timeline.positions,
        outside=session.outside,
        projection=session.projection,
        scale=color_scale(session),
        axis_labels=(names[0], names[1], names[2]),
        caption=(
            f"{named} · {ranged(session.model, timeline.positions)} · centred",
            f"{when}{timeline.caption(at)}",
            timeline.basis_caption(at),
        ),
        sphere=None,
        selection=session.selection,
        hover=session.hover,
        labels=_labels(session),
        columns=0 if session.model.grid is None else session.model.grid[1],
        ways=_ways(session, timeline, columns),
        look=_look(session),
    )


def _look(session: Session) -> CurveLook:
    return CurveLook(session.line_width, session.point_size, session.curve_parts, session.opacity)


def _ways(
    session: Session, timeline: TrainingTimeline, columns: tuple[int, int, int]
) -> Ways | None:
    assert session.snapshot is not None
    first, last = (0, None) if session.outside == "faint" else timeline.positions
    shown = [p for p in session.selection if first <= p and (last is None or p <= last)]
    if not shown:
        return None
    points = timeline.coordinates[:, shown[-MAX_TRAILS:]][..., columns]
    return Ways(points.transpose(1, 0, 2), session.snapshot)


def _labels(session: Session) -> dict[int, str]:
    if session.hover is None:
        return lasting_labels(session)
    hovered = {session.hover: point_text(session, session.hover)}
    return hovered | {p: t for p, t in lasting_labels(session).items() if p != session.hover}


def lasting_labels(session: Session) -> dict[int, str]:
    """Return the labels that do not depend on the mouse, the most important first."""
    labels: dict[int, str] = {}
    for position in to_label(session.selection):
        label = session.label_at(position)
        text = str(position) if label is None else f"{position} {label}"
        place = _place(session, position)
        labels.setdefault(position, f"{text} · {place}" if place else text)
    for position in spread(len(session.texts), MAX_TOKEN_LABELS):
        if label := session.label_at(position):
            labels.setdefault(position, label)
    return labels


def spread(count: int, most: int) -> list[int]:
    """Return at most ``most`` of the first ``count`` whole numbers, spread over them.

    The two ends come first, then the middle, and on with the middles of what lies between.
    """
    found, between = list(dict.fromkeys([0, count - 1]))[:count], [(0, count - 1)]
    while between and len(found) < most:
        middles = [(low, (low + high) // 2, high) for low, high in between if high - low > 1]
        found += [middle for _, middle, _ in middles]
        between = [part for low, at, high in middles for part in ((low, at), (at, high))]
    return found[:most]


def point_text(session: Session, position: int) -> str:
    """Describe a point: its position, norm and token or label, as far as they are known."""
    labelled = session.model is not None and session.model.rows is not None
    text, timeline = f"{'row' if labelled else 'position'} {position}", session.shown_timeline
    if timeline is not None:
        assert session.snapshot is not None
        norm = float(timeline.timelapse.norms[session.snapshot, position])
        text += f" · norm {format_number(norm)}"
    elif session.norms is not None:
        text += f" · norm {format_number(float(session.norms.values[position]))}"
    label = session.label_at(position)
    if label is not None:
        text += f" · {label}"
    place = _place(session, position)
    return f"{text} · {place}" if place else text


def _place(session: Session, position: int) -> str:
    """Return where in the picture a patch is; "" for a text."""
    return "" if session.model is None else session.model.place_of(position)
