"""A Python script that draws what a window shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pprint import pformat
from textwrap import indent, wrap
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from geometry.checkpoints.plain_text import visible
from gui.export import drawing
from gui.scene.scene_state import MAX_TRAILS, lasting_labels, resolve_scene
from gui.services.alignment import SLOT as ALIGNED
from gui.services.alignment_text import computing, other_model
from gui.services.pair_measuring import SLOT as MEASURE
from gui.services.snippets import WIDTH, opening, python_script
from gui.state.session import Session
from gui.state.timeline import columns_for

if TYPE_CHECKING:
    from gui.state.camera import CameraPose
    from gui.state.guides import Guide

SCALE = 2
"""Pixels per logical pixel, the default of saved pictures."""
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, eq=False, slots=True)
class Sight:
    """Camera, size and theme of a view."""

    pose: CameraPose
    size: tuple[int, int]  # Width and height of the viewport in logical pixels
    theme: str  # ``light`` or ``dark``
    compact: bool = False  # Whether it is one of several views, without caption and colour bar


def script(
    session: Session,
    sight: Sight,
    panels: Mapping[str, str] = MappingProxyType({}),
    others: Mapping[int, Sight] = MappingProxyType({}),
) -> str:
    """Return a script that fits and draws a session's scene, and prints the results.

    Parameters
    ----------
    session
        A session with a model. Compared models follow, each in its own picture.
    sight
        The open model's view.
    panels
        Scripts of panels that show results of the open model, by title.
    others
        Views of compared models, by key; default: that of the open one.
    """
    assert session.model is not None
    begin = opening(session.model)
    parts = [_ModelLines(session, sight).text()]
    parts += [f"# {title}\n{text.replace(begin, '').strip()}" for title, text in panels.items()]
    parts += [
        _ModelLines(one.session, others.get(one.key, sight), number).text()
        for number, one in enumerate(session.others, start=1)
        if one.session.model is not None and one.session.curve is not None
    ]
    return "\n\n".join(parts) + "\n"


class _ModelLines:
    """The lines for one model; ``number`` is 0 for the open one."""

    def __init__(self, session: Session, sight: Sight, number: int = 0) -> None:
        state = resolve_scene(session)
        assert state is not None
        assert session.curve is not None
        assert session.model is not None
        self._session, self._sight, self._number = session, sight, number
        self._state, self._curve, self._model = state, session.curve, session.model
        self._computed: dict[str, str] = {}
        """Variables that hold fields of the scene, by the fields' names."""

    def text(self) -> str:
        """Return the lines as text."""
        lines = [
            *self._numbers(),
            *self._points(),
            *self._sphere(),
            *self._trails(),
            *self._guides(),
            *self._picture(),
        ]
        return python_script("\n".join(lines), self._model, drawing)

    # ---- numbers ---------------------------------------------------------------------------

    def _numbers(self) -> list[str]:
        pca, norms = self._curve.pca, self._session.norms
        centred, after = (False, 0) if norms is None else (norms.centred, norms.after)
        return [
            f"pca = fit_pca(model.W_pos, {pca.positions}, {max(len(pca.components), 1)})",
            f"curve = place_curve(model.W_pos, pca, {tuple(self._curve.components)})",
            f"norms = norm_profile(model.W_pos, after={after}, centred={centred})",
            "print(model.name, pca.positions, curve.components, curve.explained_variance_ratio)",
            "for position, (xyz, norm) in enumerate(zip(curve.coordinates, norms.values)):",
            "    print(position, *xyz, norm)",
            "",
        ]

    def _points(self) -> list[str]:
        """Return the lines that compute ``points`` and their ``values`` for all positions."""
        self._computed["coordinates"] = "points"
        lines, timeline = ["points = curve.coordinates"], self._session.shown_timeline
        if timeline is not None:
            assert self._session.snapshot is not None
            step = int(timeline.history.steps[self._session.snapshot])
            columns = list(columns_for(self._curve.components))
            lines = [
                f"lapse = make_timelapse(history_here(model), {timeline.positions})",
                f"ways = lapse.{timeline.basis}[:, :, {columns}]  # of all positions, by step",
                f"snapshot = lapse.steps.tolist().index({step})",
                "points = ways[snapshot]",
            ]
        return lines + self._value_lines()

    def _value_lines(self) -> list[str]:
        """Return the lines that set ``values``; those of a prompt or a column are written out."""
        scale, title = self._state.scale, f"# {visible(self._state.scale.title)}"
        if self._session.color_by not in ("token", "column"):
            return [f"values = {self._values()}  {title}"]
        known = np.flatnonzero(~np.isnan(scale.values))
        given = scale.values[: known[-1] + 1 if len(known) else 0]
        numbers = ", ".join("nan" if np.isnan(v) else f"{v:.7g}" for v in given)
        return [
            f"values = np.full(model.n_positions, nan)  {title}; what has no value is grey",
            f"values[: {len(given)}] = [",
            *(f"    {line}" for line in wrap(numbers, WIDTH, break_long_words=False)),
            "]",
        ]

    def _values(self) -> str:
        session = self._session
        if session.color_by == "period":
            return f"np.arange(model.n_positions) % {session.color_period!r}"
        if session.color_by == "residual":
            return "curve.residual"
        if session.color_by == "component":
            return f"place_curve(model.W_pos, pca, ({session.color_component},)).coordinates[:, 0]"
        if session.color_by == "norm" and session.norms is not None:
            return "norms.values"
        return "np.arange(model.n_positions)"

    def _sphere(self) -> list[str]:
        """Return the lines that compute the sphere of rows of mean norm."""
        if self._state.sphere is None:
            return []
        self._computed["sphere"] = "section"
        rows = [component - 1 for component in self._curve.components]
        return [
            f"section = sphere_section(pca.mean, pca.components[{rows}], norms.mean,",
            "                         centred=norms.centred)",
        ]

    def _trails(self) -> list[str]:
        """Return the lines that take the paths of selected positions through the training."""
        if self._state.ways is None:
            return []
        chosen = [p for p in self._state.selection if self._state.visible(p)][-MAX_TRAILS:]
        self._computed["ways"] = "trails"
        return [f"trails = Ways(ways[:, {chosen}].swapaxes(0, 1), snapshot)"]

    # ---- guides ----------------------------------------------------------------------------

    def _guides(self) -> list[str]:
        """Return the lines for what is drawn beside the curve."""
        if not self._state.guides:
            return []
        lines, names = [], []
        for slot, guide in self._session.guides.items():
            if guide not in self._state.guides:
                continue
            before: list[str] = []
            computed = {"pca": "pca"}
            if slot == ALIGNED:
                before = self._aligned(guide, computed)
            elif slot == MEASURE:
                before = self._measured(computed)
            names.append(f"{slot.replace('-', '_')}_guide")
            written = expression(replace(guide, change=None), computed)
            lines += [*before, f"{names[-1]} = {written}"]
        self._computed["guides"] = f"({', '.join(names)},)"
        return lines

    def _aligned(self, guide: Guide, computed: dict[str, str]) -> list[str]:
        """Return the lines that compute an aligned curve; add the fields of its guide."""
        aligned = self._session.aligned
        assert aligned is not None
        assert guide.matched is not None
        every = int(guide.matched[1] - guide.matched[0]) if len(guide.matched) > 1 else 1
        computed |= {"lines": "(laid,)", "points": f"laid[::{every}]"}
        return ["", *computing(aligned, other_model(self._session))]

    def _measured(self, computed: dict[str, str]) -> list[str]:
        """Return the lines that measure a pair; add the fields of its guide."""
        pair = self._session.pair
        assert pair is not None
        computed["lines"] = "(points[[*pair.positions]],)"
        arguments = f"{tuple(pair.positions)}, {tuple(self._curve.components)}"
        return [f"pair = pair_distance(model.W_pos, pca, {arguments})", "print(pair)"]

    # ---- picture ---------------------------------------------------------------------------

    def _picture(self) -> list[str]:
        """Return the lines that draw the scene."""
        scene = replace(self._state, hover=None, labels=lasting_labels(self._session))
        scale = expression(scene.scale, {"values": "np.float32(values)"})
        name = self._model.name.replace("/", "-")
        number = f" {self._number}" if self._number else ""
        sight = self._sight
        return [
            "",
            f"scene = {expression(scene, {**self._computed, 'scale': scale})}",
            f"pose = {expression(sight.pose)}",
            "# To turn it with the mouse, in a window: None in place of the file.",
            f"draw(scene, {f'{name}{number}.png'!r}, pose, size={sight.size}, scale={SCALE}, "
            f"theme={sight.theme!r}{', compact=True' * sight.compact})",
        ]


def expression(value: object, computed: Mapping[str, str] = NOTHING) -> str:
    """Return a value as Python, which is written out but for fields that are ``computed``.

    Fields of a dataclass that have their default are left out.
    """
    if isinstance(value, np.ndarray):
        return _array(value)
    if is_dataclass(value):
        given = {
            field.name: computed.get(field.name) or expression(getattr(value, field.name))
            for field in fields(value)
            if not _is_default(getattr(value, field.name), field.default, field.default_factory)
        }
        lines = "".join(f"{name}={text},\n" for name, text in given.items())
        return f"{type(value).__name__}(\n{indent(lines, '    ')})"
    if isinstance(value, tuple) and any(isinstance(part, np.ndarray | tuple) for part in value):
        return f"({', '.join(map(expression, value))},)"
    if isinstance(value, Mapping):
        value = dict(value)
    return pformat(value, width=WIDTH, sort_dicts=False, compact=True)


def _is_default(value: object, default: object, factory: object) -> bool:
    if isinstance(value, np.ndarray):
        return False
    return value == (factory() if callable(factory) else default)


def _array(array: np.ndarray) -> str:
    """Return an array as Python: as a range, if it is one."""
    if not array.size:
        return f"np.zeros({array.shape}, {array.dtype.kind!r})"
    steps = np.diff(array) if array.ndim == 1 and array.dtype.kind == "i" else np.zeros(0)
    if len(steps) and steps[0] > 0 and (steps == steps[0]).all():
        return f"np.arange({array[0]}, {array[-1] + 1}, {steps[0]})"
    if array.shape == (3, 3) and np.array_equal(array, np.eye(3)):
        return "np.eye(3)"
    if array.size > 9 and array.dtype.kind == "f":
        array = array.astype(np.float32)  # what is drawn
    numbers = np.array2string(
        array, separator=", ", threshold=array.size + 1, floatmode="unique", max_line_width=WIDTH
    )
    return f"np.array({numbers})"
