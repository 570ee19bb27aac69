"""A head's attention over the prompt's tokens, beside that by position alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gui.panels.kernels.question import MIN_ATTENTION, Kernels, lag_text
from gui.plots.spec import Axis, Image
from gui.style.theme import format_number

if TYPE_CHECKING:
    from geometry.inside.prompt import Patterns
    from gui.panels.kit.views import View

LEVELS = (MIN_ATTENTION, 1.0)
"""Initial colour levels of a map."""


def over_tokens(view: View[Any, Any], result: Kernels) -> Patterns | None:
    """Return the head's attention over the prompt's tokens, (T, T); None if it is not shown."""
    run, layer = view.choices.prompt_run, result.of.layer
    if run is None or not view.choices.tokens:
        return None
    n_layers, n_heads = run.attention.shape[:2]
    # Another network, such as an encoder beside its decoder, may have other heads.
    if layer >= n_layers or n_heads != result.by_head.n_heads:
        return None
    attention: Patterns = run.attention[layer, result.head]
    return attention


def agreement(view: View[Any, Any], result: Kernels) -> str:
    """Return the correlation of attention over tokens with that by position alone, as text.

    Empty if the attention over tokens is not shown.
    """
    from geometry.inside.prompt import correlation

    real = over_tokens(view, result)
    if real is None:
        return ""
    first, last = result.positions
    end = min(last + 1, len(real))
    alone = result.weights[: end - first, : end - first]
    causal = view.choices.prompt_run.causal
    coefficient, pairs = correlation(real[first:end, first:end], alone, causal=causal, first=first)
    if coefficient is None:
        return "the prompt has too few tokens in this range to compare"
    return (
        f"correlation {format_number(coefficient, 2)} with the attention over the prompt’s tokens "
        f"({pairs} pairs)"
    )


def token_map(view: View[Any, Any], result: Kernels, colormap: str) -> Image | None:
    """Return the map of attention over tokens; None if it is not shown."""
    real = over_tokens(view, result)
    if real is None:
        return None
    first, last = result.positions

    def hover(query: int, position: int) -> str:
        value = format_number(float(real[query, position]))
        text = f"{view.at(query)} → {view.at(position)}\nattention {value}"
        if first <= min(query, position) and max(query, position) <= last:
            alone = float(result.weights[query - first, position - first])
            text += f", {format_number(alone)} by position alone"
        return f"{text} · {lag_text(query - position)}"

    return Image(
        "Attention over the prompt’s tokens",
        Axis("token j of the prompt", whole=True),
        Axis("token i", whole=True, printed=f"token i of head {result.head}"),
        np.ascontiguousarray(real),
        colormap,
        LEVELS,
        log=True,
        unit="Attention",
        row_is_current=True,
        hover=hover,
        over="position",
        stretch=7,
    )
