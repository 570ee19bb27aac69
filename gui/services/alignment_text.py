"""Texts about an aligned curve, and the Python script that computes it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gui.services.snippets import opened, python_script
from gui.state.aligned_curve import OfOther, OfStep
from gui.style.theme import format_number, format_percent

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.state.aligned_curve import AlignedCurve
    from gui.state.session import Session


COLORMAPS = {"hues": "blue", "grey": "grey", "matched": ""}
"""Colour map of the other curve by how it is coloured; "" for the colours of matching positions."""
CURVE_HUE = "orange"
"""Colour map of the shown curve where both have a hue of their own."""


def caption(aligned: AlignedCurve) -> str:
    """Describe the aligned curve, and in a second line the alignment and its fit."""
    what = f"{COLORMAPS[aligned.wanted.coloring] or 'thin line'}: {_what(aligned)}"
    if aligned.alignment is not None:
        return f"{what}\n{_moved(aligned)} · {_fit(aligned)}"
    share = ""
    if aligned.more is not None and aligned.more.held is not None:
        share = f"{shown(aligned)} explain {format_percent(aligned.more.held)} of its variance · "
    return f"{what} in the same components\n{share}{_middle(aligned)}"


def named(aligned: AlignedCurve) -> str:
    """Return a name for the legend: the model, and its positions."""
    first, last = aligned.positions
    return f"{aligned.above.name} · {first}–{last}"


def readout(aligned: AlignedCurve) -> str:
    """Describe how well it fits, in one line for the controls."""
    more = aligned.more
    if aligned.alignment is None:
        if more is None or more.held is None:
            return "…"
        text = f"{shown(aligned)} explain {format_percent(more.held)} of its variance"
        if more.own is not None:
            text += f", its own {format_percent(more.own)}"
        if more.angles is not None:
            degrees = " ".join(f"{format_number(a, 0)}°" for a in np.degrees(more.angles))
            text += f" · angles {degrees}"
        return text
    whole = "" if more is not None else " · …"
    if more is not None and more.whole is not None:
        width = aligned.above.table.shape[1]
        whole = f" · in all {width} dimensions {format_number(more.whole)}"
    return f"{_fit(aligned)}{whole}"


def shown(aligned: AlignedCurve) -> str:
    """Return the names of the shown components: "PC 1, 2, 3"."""
    return "PC\N{NO-BREAK SPACE}" + ", ".join(str(c) for c in aligned.curve.components)


def _what(aligned: AlignedCurve) -> str:
    first, last = aligned.positions
    text = f"{aligned.above.name} · positions {first}–{last}"
    if aligned.alignment is not None and aligned.above.components != aligned.curve.components:
        text += " · PC\N{NO-BREAK SPACE}" + ", ".join(str(c) for c in aligned.above.components)
    return text


def _moved(aligned: AlignedCurve) -> str:
    assert aligned.alignment is not None
    moved = "reflected and rotated" if aligned.alignment.mirrors else "rotated"
    if aligned.wanted.how == "scaled":
        moved = f"{moved.replace(' and ', ', ')}, scaled × {_scale(aligned.alignment.scale)}"
    if aligned.onto == aligned.positions:
        return moved
    return f"{moved} onto positions {aligned.onto[0]}–{aligned.onto[1]}"


def _scale(scale: float) -> str:
    return format_number(scale, 3) if scale >= 0.1 else f"{scale:.2g}"


def _fit(aligned: AlignedCurve) -> str:
    assert aligned.alignment is not None
    alignment = aligned.alignment
    return f"disparity {format_number(alignment.disparity)} · RMS {format_number(alignment.rms)}"


def _middle(aligned: AlignedCurve) -> str:
    own = aligned.wanted.taken_off == "own"
    return "about its own mean" if own else "about the mean of the shown positions"


def other_model(session: Session) -> PositionalModel | None:
    """Return the other model of the aligned curve, if there is one."""
    aligned = session.aligned
    if aligned is None or not isinstance(aligned.wanted.what, OfOther):
        return None
    models = {other.key: other.session.model for other in session.others}
    return models.get(aligned.wanted.what.key)


def script(aligned: AlignedCurve, model: PositionalModel, other: PositionalModel | None) -> str:
    """Return a script that aligns the same curves, and prints how well they fit.

    Parameters
    ----------
    aligned
        The aligned curve.
    model, other
        The open model; the other model whose curve is aligned, None for the open model's own.
    """
    curve = aligned.curve
    lines = [
        f"pca = fit_pca(model.W_pos, {curve.pca.positions}, {max(curve.components)})",
        *computing(aligned, other),
    ]
    return python_script("\n".join(lines), model)


def computing(aligned: AlignedCurve, other: PositionalModel | None) -> list[str]:
    """Return the lines that compute ``aligned``, its coordinates, and print how well they fit.

    They use ``model`` and ``pca``; ``other`` is as in :func:`script`.
    """
    return [
        *_other(aligned, other),
        f"rows = table[{aligned.positions[0]} : {aligned.positions[1] + 1}]",
        *(_projected(aligned) if aligned.alignment is None else _aligned(aligned)),
    ]


def _other(aligned: AlignedCurve, other: PositionalModel | None) -> list[str]:
    """Return the lines that compute ``table`` and ``own``: the other rows and their components."""
    what, above = aligned.wanted.what, aligned.above
    lines = ["table = model.W_pos"]
    if isinstance(what, OfOther):
        assert other is not None
        lines = [f"table = {opened(other)}.W_pos  # {other.name}"]
    elif isinstance(what, OfStep):
        lines = [
            "history = history_here(model)",
            f"table = history.table(list(history.steps).index({what.step}))",
        ]
    return [*lines, f"own = fit_pca(table, {above.pca.positions}, {max(above.components)})"]


def _aligned(aligned: AlignedCurve) -> list[str]:
    first, last = aligned.onto
    scaled, mirrored = aligned.wanted.how == "scaled", aligned.wanted.mirrored
    wide = aligned.above.table.shape[1] == aligned.curve.pca.mean.size
    return [
        f"target = model.W_pos[{first} : {last + 1}]",
        f"theirs = in_basis(rows, own, {tuple(aligned.above.components)})",
        f"ours = in_basis(target, pca, {tuple(aligned.curve.components)})",
        f"found = align(theirs, ours, scaled={scaled}, mirrored={mirrored})",
        "laid = found.carry(theirs)",
        "print(found.disparity, found.rms, found.scale, found.mirrors)",
        *(["print(disparity(rows, target))  # in all dimensions"] if wide else []),
    ]


def _projected(aligned: AlignedCurve) -> list[str]:
    ours, theirs = tuple(aligned.curve.components), tuple(aligned.above.components)
    # A short range may have none of the components.
    angles = aligned.more is None or aligned.more.angles is not None
    return [
        f"laid = in_basis(rows, pca, {ours}, {aligned.wanted.taken_off!r})",
        f"print(share_held(rows, pca, {ours}), share_held(rows, own, {theirs}))",
        *([f"print(angles_between(pca, own, {ours}, {theirs}))"] if angles else []),
    ]
