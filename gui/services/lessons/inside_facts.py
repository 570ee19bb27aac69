"""Facts about the effects of positions, measured in the panel of effects, and about layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from geometry.pca.components import Array
from gui.services.lessons.findings import NOTHING, Absent, Fact, Findings
from gui.style.theme import format_count, format_number, format_percent

ENOUGH, NEARLY, MUCH = 0.95, 0.9, 0.1
"""Minimum shares of the positions' worth: kept where a change costs nothing, and nearly nothing;
lost beyond a displacement as large where a property matters.
"""
GROWN = 2
"""Minimum factor of an energy that has grown."""
READ, LOST = 0.25, 0.7
"""Errors of a probe, as shares of that by chance: at most where positions can be read well, and at
least where they hardly can."""
ONE_DIRECTION = 0.75
"""Minimum share of the variance in the first component of a curve that is nearly a line."""


def _cost(change: str) -> Callable[[Findings], str]:
    return lambda findings: format_number(findings.cost(change).delta)


def _kept(change: str) -> Callable[[Findings], str]:
    return lambda findings: _share(findings.kept(change))


def _share(kept: float) -> str:
    """Format a share, limited to 0 to 100 %, which noise may exceed."""
    return format_percent(min(kept, 1.0), 0) if kept >= 0.005 else "nothing"


def _own_helix(findings: Findings) -> str:
    (radius, pitch), _ = findings.own_helix
    return f"{radius:g} × radius and {pitch:g} × pitch"


def _positive(share: float) -> str:
    return format_percent(max(share, 0.0), 1)


def listed(names: Sequence[object]) -> str:
    """Return "1", "1 and 2", "1, 2 and 3"."""
    shown = [str(name) for name in names]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _random_share(findings: Findings) -> str:
    shares = findings.layers.random_share
    if shares is None:
        raise Absent
    low, high = (format_percent(float(value), 0) for value in (shares.min(), shares.max()))
    return low if low == high else f"{low} to {high}"


def _amount(values: Array | None) -> Array:
    """Return amounts by layer; Absent in runs of earlier versions."""
    if values is None:
        raise Absent
    return values


def _energy(findings: Findings) -> Array:
    return _amount(findings.layers.energy)


def _probe(findings: Findings) -> Array:
    return _amount(findings.layers.probe_error)


def _resolved(findings: Findings) -> str:
    good = np.flatnonzero(findings.layers.resolved())
    return f"{len(good)} of {len(findings.layers.halves_cosine)}"


NUMBERS: Mapping[str, Fact] = {
    "loss": Fact(
        "loss in nats per token, measured in Effects",
        lambda f: format_number(cast(float, f.effects.baseline)),
    ),
    "worth": Fact("by how much it grows without positions", _cost(NOTHING)),
    "keep_1": Fact("share of that which the first component keeps", _kept("top 1")),
    "keep_2": Fact("the same for the first two", _kept("top 2")),
    "keep_3": Fact("the same for the first three", _kept("top 3")),
    "keep_helix": Fact("the same for the fitted helix", _kept("fitted helix")),
    "keep_polynomial": Fact(
        "the same for a polynomial as close as the helix", _kept("polynomial as close")
    ),
    "own_helix": Fact("factors of the helix that was measured by hand last", _own_helix),
    "keep_own": Fact("share that it keeps", lambda f: _share(f.kept_cost(f.own_helix[1]))),
    "cost_turn": Fact(
        "by how much the loss grows with P turned by a random rotation", _cost("random turn")
    ),
    "cost_into_e": Fact("the same into the directions of the tokens", _cost("into E")),
    "cost_equal": Fact("the same with all rows of equal norm", _cost("equal norms")),
    "cost_scrambled": Fact("the same with norms varying by a third", _cost("scrambled norms")),
    "lost_scrambled": Fact(
        "the latter as a share of what positions are worth",
        lambda f: _share(1 - f.kept("scrambled norms")),
    ),
    "cost_norms_kept": Fact(
        "by how much the loss grows with rows that are moved as far, and norms kept",
        lambda f: format_number(max(one.delta for one in f.controls("scrambled norms"))),
    ),
    "cost_shift_1": Fact("by how much the loss grows with positions one later", _cost("shift 1")),
    "cost_shift_10": Fact("the same for ten later", _cost("shift 10")),
    "reader_heads": Fact(
        "heads whose attention moves most without positions, such as “heads 0 and 1”",
        lambda f: f"head{'s' if len(f.readers) > 1 else ''} {listed(f.readers)}",
    ),
    "reader_moved": Fact(
        "share of their attention that moves, on average",
        lambda f: format_percent(float(f.heads_moved[list(f.readers)].mean()), 0),
    ),
    "others_moved": Fact(
        "the largest such share of the other heads",
        lambda f: format_percent(f.others_moved, 0),
    ),
    "layer": Fact("number of the open layer", lambda f: str(f.layer)),
    "last_layer": Fact("number of the last layer", lambda f: str(len(f.layers.halves_cosine) - 1)),
    "windows": Fact(
        "windows of text from which layers are measured",
        lambda f: format_count(int(f.layers.windows.sum())),
    ),
    "pos_first": Fact(
        "share of a token's variance that depends on its position, in layer 0",
        lambda f: _positive(f.layers.share[0]),
    ),
    "pos_last": Fact("the same in the last layer", lambda f: _positive(f.layers.share[-1])),
    "seen_last": Fact(
        "the same with sampling noise, as a mean over all texts has it",
        lambda f: _positive(f.layers.share[-1] + f.layers.share_noise[-1]),
    ),
    "noise_last": Fact("the sampling noise in it", lambda f: _positive(f.layers.share_noise[-1])),
    "halves_first": Fact(
        "cosine of the halves' positions in layer 0",
        lambda f: format_number(float(f.layers.halves_cosine[0]), 2),
    ),
    "halves_last": Fact(
        "the same in the last layer",
        lambda f: format_number(float(f.layers.halves_cosine[-1]), 2),
    ),
    "energy_first": Fact(
        "energy of positions, their mean squared distance from the mean, in layer 0",
        lambda f: format_number(float(_energy(f)[0])),
    ),
    "energy_most": Fact(
        "the same in the layer with most of it", lambda f: format_number(float(_energy(f).max()))
    ),
    "energy_layer": Fact(
        "number of the layer with most energy", lambda f: str(int(_energy(f).argmax()))
    ),
    "energy_last": Fact(
        "energy of positions in the last layer", lambda f: format_number(float(_energy(f)[-1]))
    ),
    "probe_first": Fact(
        "error of the linear probe in layer 0, in positions",
        lambda f: format_number(float(_probe(f)[0]), 1),
    ),
    "probe_before_last": Fact(
        "the same in the layer before the last", lambda f: format_number(float(_probe(f)[-2]), 1)
    ),
    "probe_last": Fact(
        "the same in the last layer", lambda f: format_number(float(_probe(f)[-1]), 1)
    ),
    "probe_chance": Fact(
        "error of a probe that reads nothing",
        lambda f: format_number(float(_amount(f.layers.probe_chance)[-1]), 1),
    ),
    "resolved": Fact("number of layers whose halves agree, such as “1 of 3”", _resolved),
    "pos_random": Fact(
        "share of a token's variance that depends on its position, with random weights",
        _random_share,
    ),
}


def _useful(findings: Findings) -> bool:
    return findings.cost(NOTHING).low > 0


def _norms_matter(findings: Findings) -> bool:
    """Whether scrambled norms cost more than each displacement as large with norms kept."""
    remains = [one.difference for one in findings.controls("scrambled norms")]
    worth = findings.cost(NOTHING)
    return worth.low > 0 and min(low for _, low, _ in remains) > MUCH * worth.delta


def _smaller_share(findings: Findings) -> bool:
    first, last = findings.layers.share[[0, -1]]
    return bool(findings.layers.resolved()[0] and last <= first / 2)


def _grows(findings: Findings) -> bool:
    energy = _energy(findings)
    return bool(energy.max() >= GROWN * energy[0])


def _consumed(findings: Findings) -> bool:
    chance, error = _amount(findings.layers.probe_chance), _probe(findings)
    return bool(error[0] <= READ * chance[0] and error[-1] >= LOST * chance[-1])


def _random_more(findings: Findings) -> bool:
    random = findings.layers.random_share
    return random is not None and bool(random.min() > findings.layers.share.max())


CONDITIONS: Mapping[str, Callable[[Findings], bool]] = {
    "measured": lambda f: bool(f.cost(NOTHING)),
    "useful": _useful,
    "three_enough": lambda f: f.kept("top 3") >= ENOUGH,
    "helix_enough": lambda f: f.kept("fitted helix") >= NEARLY,
    "wrong_worse": lambda f: f.cost("random turn").low > f.cost(NOTHING).delta,
    "tokens_worst": lambda f: min(one.difference[1] for one in f.controls("into E")) > 0,
    "norms_matter": _norms_matter,
    "shiftable": lambda f: min(f.kept("shift 1"), f.kept("shift 10")) >= ENOUGH,
    "smaller_share": _smaller_share,
    "grows": _grows,
    "consumed": _consumed,
    "last_noise": lambda f: not f.layers.resolved()[-1],
    "random_more": _random_more,
    "one_direction": lambda f: f.first_component >= ONE_DIRECTION,
    "few_readers": lambda f: 2 * len(f.readers) <= len(f.heads_moved),
}
