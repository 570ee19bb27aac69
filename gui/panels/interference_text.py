"""What is said of two sums of token and position, and what can be taken away; and no Qt."""

from __future__ import annotations

import numpy as np

from geometry.measures.interference import MEASURES, Interference, Measure, RandomPairs
from geometry.models.model import PositionalModel
from gui.panels.interference_question import Compared, Term
from gui.services.snippets import opening
from gui.style.theme import format_count, format_number, format_percent
from gui.widgets.table_text import Column, Row

BINS = 48
NO_NUMBER = "–"
NAMES: dict[Measure, str] = {
    "distance": "Distance",
    "cosine": "Cosine",
    "layernorm_distance": "Distance after LN",
    "layernorm_cosine": "Cosine after LN",
}
AXES: dict[Measure, str] = {
    "distance": "distance of two sums",
    "cosine": "cosine of two sums",
    "layernorm_distance": "distance after LayerNorm",
    "layernorm_cosine": "cosine after LayerNorm",
}
COLUMNS = (
    Column(
        "Measure",
        "Of the two sums as they are, or after LayerNorm without gain",
        120,
        left=True,
    ),
    Column("These two", "Distances are in the tables’ units", 72),
    Column("Closer than", "So many of the random pairs are farther apart", 84),
)
ROW_TIP = "Click to see the random pairs by this measure"
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def written_sum(term: Term) -> str:
    """Write a sum: ``E(·cat) + p₃``."""
    token = term.token.text or term.typed.token
    return f"E({token}) + p{str(term.typed.position).translate(_LOWERED)}"


def share(value: float) -> str:
    """Write a share; one that is nearly all is not rounded to all."""
    if value in (0.0, 1.0):
        return format_percent(value, 0)
    return format_percent(value, 2 if value > 0.999 or value < 0.001 else 1)


def rows(found: Interference | None) -> list[Row]:
    """Return a row for each measure."""
    return [
        Row(
            number,
            (NAMES[measure], NO_NUMBER, NO_NUMBER)
            if found is None
            else (
                NAMES[measure],
                format_number(found.of(measure)),
                share(found.closer_than(measure)),
            ),
        )
        for number, measure in enumerate(MEASURES)
    ]


def parts(found: Interference | None) -> str:
    """Say how much of the distance is the tokens' and how much the positions'."""
    if found is None:
        return ""
    return (
        f"‖E(a) − E(b)‖ {format_number(found.token_distance)}, "
        f"‖pᵢ − pⱼ‖ {format_number(found.position_distance)}"
    )


def drawn_from(among: RandomPairs) -> str:
    """Say what is compared with."""
    return f"{format_count(len(among))} random pairs of all rows, seed {among.seed}"


def rank(found: Interference, measure: Measure) -> str:
    """Say what a measure is and how it ranks: ``3.421, closer than 97.1 %``."""
    value = format_number(found.of(measure))
    return f"{value}, closer than {share(found.closer_than(measure))}"


def measure_name(measure: Measure) -> str:
    """Name a measure within a sentence."""
    return NAMES[measure].lower().replace(" ln", " LayerNorm")


def title(model: PositionalModel, result: Compared) -> str:
    """Name the two sums, and what they are compared with."""
    both = ""
    if result.found is not None:
        both = f"{written_sum(result.one)} and {written_sum(result.other)} · "
    return f"{model.name} · {both}{drawn_from(result.among)}"


def caption(model: PositionalModel, result: Compared, measure: Measure) -> str:
    """Name the two sums, and how they rank."""
    if result.found is None:
        return title(model, result)
    both = f"{written_sum(result.one)} and {written_sum(result.other)}"
    ranked = f"{measure_name(measure)} {rank(result.found, measure)}"
    return f"{model.name} · {both} · {ranked} of {drawn_from(result.among)}"


def histogram(result: Compared, measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """Count the random pairs by a measure.

    Returns
    -------
    counts : (BINS,) int
    edges : (BINS + 1,) float64
        Of equal bins from the least to the largest value.
    """
    values = result.among.likeness.of(measure)
    low, high = float(values.min()), float(values.max())
    # Values that differ by their rounding alone are one bar.
    span = (low, high) if high - low > 1e-9 * max(1.0, abs(high)) else (low - 0.5, high + 0.5)
    return np.histogram(values, BINS, span)


def columns(result: Compared) -> dict[str, np.ndarray]:
    """Return the numbers of the two sums, then of all random pairs."""
    numbers: dict[str, np.ndarray] = {}
    if result.found is not None:
        found = result.found
        numbers = {
            "token": np.array([found.one[0], found.other[0]]),
            "token_text": np.array([result.one.token.text, result.other.token.text]),
            "position": np.array([found.one[1], found.other[1]]),
            "measure": np.array(MEASURES),
            "value": np.array([found.of(measure) for measure in MEASURES]),
            "closer_than": np.array([found.closer_than(measure) for measure in MEASURES]),
            "token_distance": np.array([found.token_distance]),
            "position_distance": np.array([found.position_distance]),
        }
    among = result.among
    numbers |= {f"random_{measure}": among.likeness.of(measure) for measure in MEASURES}
    for number in (0, 1):
        numbers[f"random_token_{number + 1}"] = among.tokens[:, number]
        numbers[f"random_position_{number + 1}"] = among.positions[:, number]
    return numbers


def script(model: PositionalModel, result: Compared) -> str:
    """Return Python that prints the measures and their ranks."""
    start = (
        opening(model)
        + """import numpy as np

from geometry import MEASURES, interference, random_pairs

E, P = model.W_E, model.W_pos
added = {"token_scale": model.token_scale, "type_row": model.token_type}
among = random_pairs(E, P, **added)
"""
    )
    if result.found is None:
        return start + (
            "for measure in MEASURES:\n"
            "    print(measure, *np.percentile(among.likeness.of(measure), (5, 50, 95)))\n"
        )
    one, other = result.found.one, result.found.other
    texts = f"{result.one.token.text}, {result.other.token.text}"
    return start.replace("import numpy as np\n\n", "") + (
        f"one, other = {one}, {other}  # token and position: {texts}\n"
        "found = interference(E, P, one, other, among=among, **added)\n"
        "for measure in MEASURES:\n"
        "    print(measure, found.of(measure), found.closer_than(measure))\n"
    )
