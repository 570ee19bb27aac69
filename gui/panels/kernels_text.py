"""What the kernels panel says of where heads look; and no Qt."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from geometry.measures.kernels import BLOCK, HeadKernels
from gui.style.theme import format_number, format_percent

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from gui.panels.kernels_question import HeadsOf, Kernels, NearestHead

SORTS = (
    ("nearest", "Nearest first", "mean lag"),
    ("previous", "Previous token", "attention to the position before"),
    ("self", "Self", "attention to the own position"),
    ("near", "Lags 0–10", "attention to lags 0 to 10"),
    ("number", "Head number", "previous-token score"),
)
"""What heads can be sorted by: its name, the words of the choice, and of the number shown."""
MINUS = "\N{MINUS SIGN}"


def order_of(found: HeadKernels, sort: str) -> np.ndarray:
    """Return the heads, (n_heads,) int, in the order of one of :data:`SORTS`."""
    keys = {"nearest": found.mean_lag, "previous": -found.previous_token, "self": -found.own,
            "near": -found.mass_lag_0_10, "number": np.arange(found.n_heads)}  # fmt: skip
    return np.argsort(keys[sort], kind="stable")


def score_of(found: HeadKernels, sort: str, head: int) -> str:
    """Write the number that heads are sorted by."""
    if sort == "nearest":
        lag = float(found.mean_lag[head])
        return f"Δ {format_number(lag, 1 if lag < 10 else 0)}"
    values = {"self": found.own, "near": found.mass_lag_0_10}.get(sort, found.previous_token)
    return format_number(float(values[head]))


def described(found: HeadKernels, head: int) -> str:
    """Sum a head up, on several lines."""
    return (
        f"head {head}\nprevious token {format_number(found.previous_token[head])}\n"
        f"self {format_number(found.own[head])}\n"
        f"lags 0–10 {format_percent(found.mass_lag_0_10[head])}\n"
        f"mean lag {format_number(found.mean_lag[head], 1)}"
    )


def kernels_title(model: PositionalModel, of: HeadsOf, head: int) -> str:
    """Name the figure."""
    return f"{model.name} · layer {of.layer}, head {head}: attention by position alone"


def kernels_scope(of: HeadsOf, positions: tuple[int, int]) -> str:
    """Say which queries are meant, and what was done to positions."""
    first, last = positions
    return " · ".join([*switches_of(of), f"queries {first}–{last}, keys of all positions"])


def extrapolation(layer: int) -> str:
    """Say why a deeper layer's attention is not what this shows."""
    return f"an extrapolation: layer {layer} reads more than positions"


def switches_of(of: HeadsOf) -> list[str]:
    """Say what is not as it is in the first layer without tokens."""
    parts = []
    if of.layer > 0:
        parts.append(extrapolation(of.layer))
    if of.content:
        parts.append("a token in LayerNorm's denominator")
    if of.averaged:
        parts.append(f"P averaged in blocks of {BLOCK}")
    return parts


def caption_of(model: PositionalModel, result: Kernels) -> str:
    """Name the head, its scores (and those before averaging), and the scope."""
    head, found, before = result.head, result.found, result.before

    def told(name: str, write: Callable[[float], str]) -> str:
        values = [getattr(one, name)[head] for one in (before, found) if one is not None]
        return " → ".join(write(float(value)) for value in values)

    first, last = result.positions
    parts = [
        f"{model.name} · layer {result.of.layer}, head {head}",
        *switches_of(result.of),
        f"previous token {told('previous_token', format_number)}",
        f"self {told('own', format_number)}",
        f"lags 0–10 {told('mass_lag_0_10', format_percent)}",
        f"queries {first}–{last}, all keys",
    ]
    return " · ".join(parts)


def lag_text(lag: int) -> str:
    """Write a lag: how far back, or ahead."""
    if lag < 0:
        return f"Δ = {MINUS}{-lag} (ahead)"
    return f"Δ = {lag}" + (" (itself)" if lag == 0 else "")


def python_of(opened: str, result: Kernels | NearestHead) -> str:
    """Write a script that prints the scores of all heads and the map's size.

    Parameters
    ----------
    opened
        The lines that open the model.
    result
        What is shown.
    """
    of = result.of
    options = [f", {of.layer}" * (of.layer > 0), ", content=True" * of.content]
    imports = "attention_map, head_kernels"
    if of.averaged:
        imports = "attention_map, average_blocks, head_kernels"
        options.append(f", rows=average_blocks(model.W_pos, {BLOCK})")
    return (
        opened
        + "from geometry import project_heads\n"
        + f"from geometry import {imports}\n\n"
        + f"heads = project_heads(model{''.join(options)})\n"
        + f"found = head_kernels(heads, {result.positions})\n"
        + "for head in range(found.n_heads):\n"
        + "    print(head, found.previous_token[head], found.own[head],\n"
        + "          found.mass_lag_0_10[head], found.mean_lag[head])\n"
        + f"print(attention_map(heads, {result.head}, {result.positions}).shape)\n"
    )
