"""Names and colours of matrices on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, cycle, islice

from geometry.models.residual_stream import NAMES, Subject
from gui.panels.kit.views import AnyView
from gui.style.theme import SERIES, Theme

TABLES = ("P", "E")
"""Matrices that are not weights of a layer."""
WORDS = {
    "P": "Position embeddings, one row for each position",
    "E": "Token embeddings, one row for each token",
    "W_Q": "Query weights of attention",
    "W_K": "Key weights of attention",
    "W_V": "Value weights of attention",
    "W_O": "Output weights of attention, which write to the residual stream",
    "W_in": "First matrix of the MLP, which reads the residual stream",
}
"""Descriptions of the matrices."""


def subject_name(subject: Subject) -> str:
    """Return a matrix's name with its layer, such as "W_Q 3", and head, such as "W_Q 3.5"."""
    if subject.name in TABLES:
        return f"{subject.name} centred" if subject.centred else subject.name
    head = "" if subject.head is None else f".{subject.head}"
    return f"{subject.name} {subject.layer}{head}"


def subject_color(subject: Subject, theme: Theme) -> str:
    """Return the colour of a matrix's curve; the same in every plot."""
    return SERIES[theme.name][NAMES.index(subject.name)]


def subject_colors(subjects: Sequence[Subject], view: AnyView) -> list[str]:
    """Return the colours of matrices' curves; the same in every plot without other models.

    With compared models, the first curve has that of its own model, and the others have those of no
    model.
    """
    if view.others:
        return [*islice(chain([view.ink], cycle(view.spare_colors)), len(subjects))]
    return [subject_color(subject, view.theme) for subject in subjects]
