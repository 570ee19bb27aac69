"""The figures of `helixscope report`, drawn from the report's measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from matplotlib.figure import Figure

from geometry.checkpoints.errors import RangeError, TensorUnavailable
from geometry.claims.report import NOT_HERE
from geometry.hub.faults import Offline
from geometry.models.residual_stream import Name, Subject
from geometry.pca.curve import place_curve
from gui.export.figures import helix_figure, spectrum_figure
from gui.panels import figure_text as text
from gui.panels import interference_text
from gui.panels.interference_figure import interference_figure
from gui.panels.interference_question import ExampleOf
from gui.panels.kit import Reported, report_view
from gui.panels.layernorm_figure import layernorm_figure
from gui.panels.layernorm_question import layernorms_of
from gui.panels.norms.norms_figure import norms_figure
from gui.panels.overlaps_figure import draw_figure, draw_overlap
from gui.panels.overlaps_look import Look
from gui.panels.overlaps_question import ATTENTION, Missing, Overlap, OverlapFigure, overlap_of
from gui.panels.overlaps_text import caption_of, figure_caption
from gui.panels.table import PANELS
from gui.services.questions import resolve
from gui.style.sentences import as_sentence

ENTRIES = 3
"""Number of columns of P in one figure, those of the largest variance."""


def figure(name: str, reported: Reported) -> Figure:
    """Draw one of :data:`gui.commands.report_files.FIGURES`.

    Raises
    ------
    TensorUnavailable
        The checkpoint lacks a tensor for it.
    Offline
        It would need a download, but the network is disabled.
    RangeError
        The table or the range is too small for it, or too large.
    """
    for entry in PANELS.values():
        if name in entry.spec.figures:
            return entry.spec.figure(report_view(entry.spec, reported, name))
    return _DRAW[name](reported)


def texts(name: str, reported: Reported) -> Mapping[str, Callable[[], str]]:
    """Return functions that write a figure's content as text, by suffix."""
    for entry in PANELS.values():
        if name in entry.spec.figures:
            found = entry.spec.texts(report_view(entry.spec, reported, name))
            return {} if found is None else {end: write for end, (_, write) in found.kinds.items()}
    return {}


# ---- all stored rows ------------------------------------------------------------------------


def _norms(reported: Reported) -> Figure:
    return norms_figure(reported.model.name, reported.measured.norms)


def _spectrum(reported: Reported) -> Figure:
    model = reported.model
    return spectrum_figure(model.name, model.n_positions, reported.measured.spectrum("P"))


def _attention(reported: Reported) -> Figure:
    return _overlaps(reported, ATTENTION, ("P", "E"))


def _mlp(reported: Reported) -> Figure:
    return _overlaps(reported, ("W_in",), ("E", "P"))


def _overlaps(reported: Reported, rows: tuple[Name, ...], columns: tuple[Name, ...]) -> Figure:
    cells = tuple(_cell(reported, one, other) for one in rows for other in columns)
    shown = OverlapFigure(cells, len(columns))
    if not shown.found:
        whys = dict.fromkeys(cell.why for cell in cells if isinstance(cell, Missing))
        raise TensorUnavailable(" ".join(whys))
    look = Look()
    return draw_figure(shown, look, None, figure_caption(reported.model, shown, look.blur))


def _cell(reported: Reported, rows: Name, columns: Name) -> Overlap | Missing:
    one, other = (reported.measured.of_model.subject(name) for name in (rows, columns))
    try:
        return overlap_of(reported.about, one, other)
    except TensorUnavailable as error:
        return Missing(one, other, as_sentence(str(error)))
    except Offline:
        return Missing(one, other, as_sentence(NOT_HERE))


def _P_and_E(reported: Reported) -> Figure:
    found, look = overlap_of(reported.about, Subject("P"), Subject("E")), Look()
    return draw_overlap(found, look, None, caption_of(reported.model, found, look.blur))


def _interference(reported: Reported) -> Figure:
    found = resolve(ExampleOf("two tokens"), reported.about)
    return interference_figure(found, interference_text.title(reported.model, found))


# ---- the shown range ------------------------------------------------------------------------


def _helix(reported: Reported) -> Figure:
    W_pos = reported.model.W_pos
    if min(W_pos.shape) < 3:
        raise RangeError(f"the table is {W_pos.shape[0]} × {W_pos.shape[1]}: no three components")
    return helix_figure(reported.model.name, place_curve(W_pos, reported.measured.pca))


def _layernorm(reported: Reported) -> Figure:
    found = layernorms_of(reported.measured)
    scope = text.layernorm_scope(reported.model, found.positions, found.n_tokens)
    return layernorm_figure(found, scope)


_DRAW: Mapping[str, Callable[[Reported], Figure]] = {
    "helix": _helix,
    "norms": _norms,
    "spectrum": _spectrum,
    "overlaps-P-E": _P_and_E,
    "overlaps-attention": _attention,
    "overlaps-mlp": _mlp,
    "layernorm": _layernorm,
    "interference": _interference,
}
