"""Texts about an aligned curve, and the Python script that computes it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gui.services.snippets import opened, opening
from gui.state.aligned_curve import OfCompared, OfStep
from gui.style.theme import format_number, format_percent

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.state.aligned_curve import AlignedCurve
    from gui.state.session import Session


def caption(laid: AlignedCurve) -> str:
    """Describe what is aligned with what, and in a second line how, and how well it fits."""
    what = f"thin line: {_what(laid)}"
    if laid.alignment is not None:
        return f"{what}\n{_moved(laid)} · {_fit(laid)}"
    share = ""
    if laid.more is not None and laid.more.held is not None:
        share = f"{shown(laid)} hold {format_percent(laid.more.held)} of its variance · "
    return f"{what} in the same components\n{share}{_middle(laid)}"


def readout(laid: AlignedCurve) -> str:
    """Describe how well it fits, in one line for the controls."""
    more = laid.more
    if laid.alignment is None:
        if more is None or more.held is None:
            return "…"
        said = f"{shown(laid)} hold {format_percent(more.held)} of its variance"
        if more.own is not None:
            said += f", its own {format_percent(more.own)}"
        if more.angles is not None:
            degrees = " ".join(f"{format_number(a, 0)}°" for a in np.degrees(more.angles))
            said += f" · angles {degrees}"
        return said
    whole = "" if more is not None else " · …"
    if more is not None and more.whole is not None:
        width = laid.above.table.shape[1]
        whole = f" · in all {width} dimensions {format_number(more.whole)}"
    return f"{_fit(laid)}{whole}"


def shown(laid: AlignedCurve) -> str:
    """Return the names of the shown components: "PC 1, 2, 3"."""
    return "PC\N{NO-BREAK SPACE}" + ", ".join(str(c) for c in laid.curve.components)


def _what(laid: AlignedCurve) -> str:
    first, last = laid.positions
    said = f"{laid.above.name} · positions {first}–{last}"
    if laid.alignment is not None and laid.above.components != laid.curve.components:
        said += " · PC\N{NO-BREAK SPACE}" + ", ".join(str(c) for c in laid.above.components)
    return said


def _moved(laid: AlignedCurve) -> str:
    assert laid.alignment is not None
    moved = "mirrored and turned" if laid.alignment.mirrors else "turned"
    if laid.laying.how == "scaled":
        moved = f"{moved.replace(' and ', ', ')}, scaled × {_scale(laid.alignment.scale)}"
    if laid.onto == laid.positions:
        return moved
    return f"{moved} onto positions {laid.onto[0]}–{laid.onto[1]}"


def _scale(scale: float) -> str:
    return format_number(scale, 3) if scale >= 0.1 else f"{scale:.2g}"


def _fit(laid: AlignedCurve) -> str:
    assert laid.alignment is not None
    found = laid.alignment
    return f"disparity {format_number(found.disparity)} · RMS {format_number(found.rms)}"


def _middle(laid: AlignedCurve) -> str:
    own = laid.laying.taken_off == "own"
    return "about its own mean" if own else "about the mean of the shown positions"


def other_model(session: Session) -> PositionalModel | None:
    """Return the compared model of the aligned curve, if there is one."""
    laid = session.laid
    if laid is None or not isinstance(laid.laying.what, OfCompared):
        return None
    models = {one.key: one.session.model for one in session.compared}
    return models.get(laid.laying.what.key)


def script(laid: AlignedCurve, model: PositionalModel, other: PositionalModel | None) -> str:
    """Return a script that aligns the same curves, and prints how well they fit.

    Parameters
    ----------
    laid
        The aligned curve.
    model, other
        The open model; the compared one whose curve is aligned, None for its own.
    """
    lines = [
        f"from geometry import {', '.join(['fit_pca', *names_used(laid)])}",
        "",
        f"pca = fit_pca(model.W_pos, {laid.curve.pca.positions}, {max(laid.curve.components)})",
        *computing(laid, other),
    ]
    return opening(model) + "\n".join(lines) + "\n"


def names_used(laid: AlignedCurve) -> list[str]:
    """Return the names of ``geometry`` that :func:`computing` needs imported."""
    if laid.alignment is None:
        return ["angles_between", "in_basis", "share_held"]
    return ["align", "disparity", "in_basis"]


def computing(laid: AlignedCurve, other: PositionalModel | None) -> list[str]:
    """Return the lines that compute ``laid``, its coordinates, and print how well they fit.

    They use ``model`` and ``pca``; ``other`` is as in :func:`script`.
    """
    return [
        *_other(laid, other),
        f"rows = table[{laid.positions[0]} : {laid.positions[1] + 1}]",
        *(_projected(laid) if laid.alignment is None else _aligned(laid)),
    ]


def _other(laid: AlignedCurve, other: PositionalModel | None) -> list[str]:
    """Return the lines that compute ``table`` and ``own``: the other rows and their components."""
    what, above = laid.laying.what, laid.above
    lines = ["table = model.W_pos"]
    if isinstance(what, OfCompared):
        assert other is not None
        lines = [f"table = {opened(other)}.W_pos  # {other.name}"]
    elif isinstance(what, OfStep):
        lines = [
            "from geometry import history_here",
            "",
            "history = history_here(model)",
            f"table = history.table(list(history.steps).index({what.step}))",
        ]
    return [*lines, f"own = fit_pca(table, {above.pca.positions}, {max(above.components)})"]


def _aligned(laid: AlignedCurve) -> list[str]:
    first, last = laid.onto
    scaled, mirrored = laid.laying.how == "scaled", laid.laying.mirrored
    wide = laid.above.table.shape[1] == laid.curve.pca.mean.size
    return [
        f"target = model.W_pos[{first} : {last + 1}]",
        f"theirs = in_basis(rows, own, {tuple(laid.above.components)})",
        f"ours = in_basis(target, pca, {tuple(laid.curve.components)})",
        f"found = align(theirs, ours, scaled={scaled}, mirrored={mirrored})",
        "laid = found.carry(theirs)",
        "print(found.disparity, found.rms, found.scale, found.mirrors)",
        *(["print(disparity(rows, target))  # in all dimensions"] if wide else []),
    ]


def _projected(laid: AlignedCurve) -> list[str]:
    ours, theirs = tuple(laid.curve.components), tuple(laid.above.components)
    # A short range may have none of the components.
    angles = laid.more is None or laid.more.angles is not None
    return [
        f"laid = in_basis(rows, pca, {ours}, {laid.laying.taken_off!r})",
        f"print(share_held(rows, pca, {ours}), share_held(rows, own, {theirs}))",
        *([f"print(angles_between(pca, own, {ours}, {theirs}))"] if angles else []),
    ]
