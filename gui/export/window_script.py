"""The Python that shows again what a window shows, without one. Knows no toolkit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from gui.services.alignment import SLOT as LAID
from gui.services.alignment_text import drawing, other_model
from gui.services.pair_measuring import SLOT as MEASURE
from gui.services.snippets import opening
from gui.state.session import Session

if TYPE_CHECKING:
    from gui.state.camera import CameraPose

SCALE = 2
"""Pixels for each on the screen, each way, as a saved picture has them at first."""
_DRAWN = (
    "color_by", "color_component", "colormap", "color_limits", "outside", "projection", "selection",
    "sphere",
)  # fmt: skip
"""Fields of the session that the picture depends on; a script names those that are not usual."""


@dataclass(frozen=True, eq=False, slots=True)
class Sight:
    """From where a curve is seen, and on what.

    Attributes
    ----------
    pose
        Where the camera is.
    size
        Width and height of the viewport in logical pixels.
    theme
        ``light`` or ``dark``.
    compact
        Whether it is one of several views, without caption and colour bar.
    """

    pose: CameraPose
    size: tuple[int, int]
    theme: str
    compact: bool = False


def script(
    session: Session,
    sight: Sight,
    panels: Mapping[str, str] = MappingProxyType({}),
    others: Mapping[int, Sight] = MappingProxyType({}),
) -> str:
    """Return a script that fits and draws what a session shows, and prints what it found.

    Parameters
    ----------
    session
        With a model. The models beside it follow, each in a picture of its own.
    sight
        From where.
    panels
        By their titles, the scripts of panels that show something of the open model.
    others
        From where the models beside it are seen, by their keys; as the open one if not said.
    """
    assert session.model is not None
    begin = opening(session.model)
    parts = [_HEAD + _Part(session, sight).text()]
    parts += [f"# {title}\n{text.removeprefix(begin).strip()}" for title, text in panels.items()]
    parts += [
        _Part(one.session, others.get(one.key, sight), number).text()
        for number, one in enumerate(session.compared, start=1)
        if one.session.model is not None and one.session.curve is not None
    ]
    return "\n\n".join(parts) + "\n"


_HEAD = """\
from pathlib import Path

import numpy as np

from geometry.pca.curve import place_curve
from geometry.measures.norms import norm_profile
from geometry.pca.pca import fit_pca
from gui.state.camera import CameraPose
from gui.export.pictures import render_scene, still_session, write_png
from gui.scene.scene_state import resolve_scene
from gui.style.theme import THEMES
"""


class _Part:
    """The lines for one model; ``number`` is 0 for the open one."""

    def __init__(self, session: Session, sight: Sight, number: int = 0) -> None:
        self._session, self._sight, self._number = session, sight, number

    def text(self) -> str:
        """Return them."""
        lapse = self._session.shown_lapse
        shown = self._curve() if lapse is None else [*self._curve(), *self._snapshot()]
        beside = [*self._missing(), *self._laid(), *self._measured()]
        lines = [*shown, *self._fields(), *beside, *self._picture()]
        assert self._session.model is not None
        return opening(self._session.model) + "\n".join(lines)

    def _curve(self) -> list[str]:
        session = self._session
        assert session.curve is not None
        pca, components = session.curve.pca, tuple(session.curve.components)
        first, last = pca.positions
        centred = bool(session.norms is not None and session.norms.centred)
        after = session.norms.after if session.norms is not None else 0
        return [
            f"pca = fit_pca(model.W_pos, ({first}, {last}), {max(len(pca.components), 1)})",
            f"curve = place_curve(model.W_pos, pca, {components})",
            f"norms = norm_profile(model.W_pos, after={after}, centred={centred})",
            "print(model.name, pca.positions, curve.components, curve.explained_variance_ratio)",
            "for position, (xyz, norm) in enumerate(zip(curve.coordinates, norms.values)):",
            "    print(position, *xyz, norm)",
            "",
            f"session = still_session(model, pca.positions, {components}, pca, norms)",
        ]

    def _fields(self) -> list[str]:
        """Return what of the picture is not as usual."""
        session, usual = self._session, Session()
        lines = [
            f"session.{name} = {getattr(session, name)!r}"
            for name in _DRAWN
            if getattr(session, name) != getattr(usual, name)
        ]
        if session.color_limits is not None:
            lines.insert(0, "from gui.state.session import ColorLimits")
        if session.tokens is not None:
            lines.append(f"session.tokens = model.tokenize({session.prompt!r})")
        if not np.array_equal(session.turn, np.eye(3)):
            lines.append(f"session.turn = np.array({session.turn.tolist()})")
        return lines

    def _snapshot(self) -> list[str]:
        """Return what shows the model as it was at a step of its training."""
        lapse = self._session.shown_lapse
        assert lapse is not None
        assert self._session.snapshot is not None
        step = int(lapse.history.steps[self._session.snapshot])
        return [
            "",
            "from geometry.history.here import history_here",
            "from gui.export.timelapse_film import make_lapse",
            "",
            f"lapse = make_lapse(model, history_here(model), {lapse.basis!r}, pca.positions).lapse",
            f"snapshot = lapse.history.steps.tolist().index({step})",
            "session.change(lapse=lapse, snapshot=snapshot)",
        ]

    def _missing(self) -> list[str]:
        """Say what of the picture a script does not draw."""
        drawn = [self._session.guides.get(slot) for slot in (LAID, MEASURE)]
        others = [guide for guide in self._session.shown_guides if guide not in drawn]
        lines = [line for guide in others for line in guide.caption.splitlines()]
        return [f"# Not drawn here: {line}" for line in lines]

    def _measured(self) -> list[str]:
        """Return the lines of the line that is measured, if one is."""
        pair, curve = self._session.pair, self._session.curve
        guide = self._session.guides.get(MEASURE)
        if pair is None or curve is None or guide not in self._session.shown_guides:
            return []
        said = f"{tuple(pair.positions)}, {tuple(curve.components)}"
        return [
            "from geometry.measures.neighbours import pair_distance",
            "from gui.state.guides import with_guide",
            "from gui.services.pair_measuring import SLOT, pair_guide",
            f"guide = pair_guide(curve, pair_distance(model.W_pos, pca, {said}))",
            "session.guides = with_guide(session.guides, SLOT, guide)",
        ]

    def _laid(self) -> list[str]:
        """Return the lines of the curve that lies over this one, if one does."""
        laid = self._session.laid
        if laid is None or self._session.guides.get(LAID) not in self._session.shown_guides:
            return []
        return drawing(laid, other_model(self._session))

    def _picture(self) -> list[str]:
        pose, (width, height) = self._sight.pose, self._sight.size
        assert self._session.model is not None
        name = self._session.model.name.replace("/", "-")
        number = f" {self._number}" if self._number else ""
        return [
            "pose = CameraPose(",
            *(
                f"    np.array({getattr(pose, name).tolist()}),"
                for name in ("position", "focal_point", "up")
            ),
            f"    {pose.parallel_scale!r},",
            ")",
            "picture = render_scene(",
            f'    resolve_scene(session), THEMES["{self._sight.theme}"], pose,',
            f"    ({width}, {height}), scale={SCALE}{', compact=True' * self._sight.compact},",
            ")",
            f"write_png(picture, Path({f'{name}{number}.png'!r}))",
        ]
