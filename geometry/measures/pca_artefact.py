"""Principal components over position beside those of smooth random tables.

The components of any smooth process are nearly sinusoids of rising frequency [1]_ [2]_, in a random
walk cosines of half a cycle, one, and one and a half [3]_: a wave in a component is no evidence of
structure by itself. What such tables lack is two components of *one* frequency in quadrature, and
as much variance in a few components.

References
----------
.. [1] M. Shinn, "Phantom oscillations in principal component analysis", PNAS 120, e2311420120, 2023
.. [2] J. Novembre and M. Stephens, "Interpreting principal component analyses of spatial population
   genetic variation", Nature Genetics 40, 646–649, 2008
.. [3] J. M. Antognini and J. Sohl-Dickstein, "PCA of high dimensional random walks with comparison
   to neural network training", NeurIPS 2018
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.evidence.drawn_tables import MEANINGS, Kind, drawn_tables
from geometry.evidence.null import RARE, USUAL_DRAWS, Null, null_of
from geometry.evidence.turning_nulls import rule_nulls
from geometry.evidence.turning_share import (
    FEWEST,
    TurningShare,
    balanced_turning,
    turn_counts,
    turning_share,
)
from geometry.measures.single_dimensions import Sinusoids, best_sinusoids
from geometry.pca.components import Array, about_mean, read_only
from geometry.pca.pca import fit_pca
from geometry.pca.unit import in_table_unit, in_unit

COMPONENTS = 3
"""Number of components that are compared."""
KINDS: Mapping[Kind, str] = {"process": "smooth random tables", "walk": "random walks"}
"""The random tables that are as smooth as the given one, and their names in sentences."""
PHASES = 199
"""Draws of the table's own waves with random phases."""
WAVES = 0.5
"""Minimum R² of a component that is called a wave."""

PERCENT = "\N{NO-BREAK SPACE}%"

Answer = Literal["yes", "no", "undetermined", "no waves"]
"""Whether the waves of the components may be an artefact of PCA."""
Place = Literal["above", "among", "below"]
"""Place of a number relative to those of random tables: beyond 95 % of them, or not."""


@result
class ComponentWaves:
    """The first components of a table over position, and their best sinusoids.

    Attributes
    ----------
    at : (m,) int
        Positions of the rows, from the first row; long random tables are thinned.
    scores : (m, k) float64
        The rows in at most three components, in the table's units.
    shares : (k,) float64
        Share of each component in the variance.
    waves
        The best sinusoid of each component, cycles counted over the rows.
    b
        Balanced turning share in these components, see
        :func:`~geometry.evidence.turning_share.turning_share`.
    """

    at: npt.NDArray[np.intp]
    scores: Array
    shares: Array
    waves: Sinusoids
    b: float

    @property
    def mean_r2(self) -> float:
        """Mean R² of the sinusoids."""
        return float(self.waves.r2.mean())

    @property
    def three(self) -> float:
        """Variance share of all of the components."""
        return float(self.shares.sum())


@result
class RandomComponents:
    """The components of random tables of one kind.

    Attributes
    ----------
    example
        Those of the first table.
    shares, cycles, r2 : (draws, k) float64
        As of :class:`ComponentWaves`, for as many components as the given table has.
    three, mean_r2, b
        Null distributions of the variance share of all of them, of the mean R² of their sinusoids,
        and of the balanced turning share.
    """

    example: ComponentWaves
    shares: Array
    cycles: Array
    r2: Array
    three: Null
    mean_r2: Null
    b: Null


@result
class PCAArtefact:
    """The components of a table, and those of random tables of its size and smoothness.

    Attributes
    ----------
    own
        The table's components.
    random
        Those of the random tables, by kind, see :data:`KINDS`.
    turning
        The shape rule's result for the table.
    phases
        Null distribution of its strength: the same components with random phases of their waves.
    """

    own: ComponentWaves
    random: Mapping[Kind, RandomComponents]
    turning: TurningShare
    phases: Null

    @property
    def answer(self) -> Answer:
        """Whether the waves may be an artefact of PCA.

        "no" if the rows turn more evenly than random smooth curves by the shape rule, and than
        their own waves with random phases, "undetermined" if only the first; "no waves" if
        sinusoids explain less than half of every component; else "yes".
        """
        if self.turning.remarkable:
            rare = self.phases.p_value(self.turning.strength) <= RARE
            return "no" if rare else "undetermined"
        return "yes" if self.own.waves.r2.max() >= WAVES else "no waves"

    @property
    def waves_place(self) -> Place:
        """Whether the components are more, or less, nearly sinusoids than random ones."""
        return _place(self.own.mean_r2, self._nulls("mean_r2"))

    @property
    def variance_place(self) -> Place:
        """Whether the components have more, or less, of the variance than random ones."""
        return _place(self.own.three, self._nulls("three"))

    @property
    def title(self) -> str:
        """The answer in a few words."""
        return {
            "no": "No: the rows turn evenly",
            "undetermined": "Undetermined: its own waves may turn as evenly by chance",
            "yes": "Yes: random curves have such waves",
            "no waves": "There are no waves to explain",
        }[self.answer]

    @property
    def sentences(self) -> tuple[str, str, str, str]:
        """What the components have in common with random ones, and what they have beyond them.

        On their turning, variance, sinusoids and frequencies, in this order.
        """
        return self._on_turning(), self._on_variance(), self._on_waves(), self._on_frequencies()

    def _on_waves(self) -> str:
        own, nulls = self.own.waves.r2, self._nulls("mean_r2")
        shares = _listed([f"{100 * r2:.0f}" for r2 in own]) + PERCENT
        mean = f", {_percent(self.own.mean_r2)} on average" if len(own) > 1 else ""
        ends = {
            "above": f"These are more nearly waves than 95{PERCENT} of the random ones.",
            "among": f"PCA shows such waves in {_reaching(self.own.mean_r2, nulls)} as well."
            if own.max() >= WAVES
            else "None of them is a wave.",
            "below": f"These are less nearly waves than 95{PERCENT} of the random ones.",
        }
        return (
            f"Sinusoids explain {shares} of {self._components}{mean}; {_bands(nulls)}. "
            f"{ends[self.waves_place]}"
        )

    def _on_frequencies(self) -> str:
        medians = [
            f"{_cycles(np.median(random.cycles, axis=0))} in {KINDS[kind]}"
            for kind, random in self.random.items()
        ]
        return (
            f"Their frequencies are {_cycles(self.own.waves.cycles)} cycles over the range; the "
            f"medians are {' and '.join(medians)}."
        )

    def _on_turning(self) -> str:
        turning = self.turning
        held = f"{_percent(turning.b)} of the variance (B); {_bands(self._nulls('b'))}."
        if self.answer == "undetermined":
            share = _percent(self.phases.share_from(turning.strength))
            return (
                f"Undetermined: the rows make {turning.turns:.2f} even turns, more evenly than "
                f"smooth curves do, but so do {share} of {self.phases.draws} draws of their own "
                f"waves with random phases. This turning has {held}"
            )
        if turning.remarkable:
            return (
                "Beyond the waves of PCA: two directions have the same frequency, "
                f"{turning.turns:.2f} turns over the range, a quarter of a cycle apart. This "
                f"turning has {held}"
            )
        if turning.remarkable is None:
            return (
                f"Undetermined: over {turning.turns:.2f} turns, a turning and half of a slower "
                f"wave cannot be distinguished. The most even turning has {held}"
            )
        return (
            "Not beyond the waves of PCA: no two directions have the same frequency, a quarter of "
            f"a cycle apart, more evenly than smooth curves do. The most even turning has {held}"
        )

    def _on_variance(self) -> str:
        nulls, k = self._nulls("three"), len(self.own.shares)
        ends = {
            "above": f"The rows vary in fewer directions than 95{PERCENT} of the random ones.",
            "among": f"This is no more than {_reaching(self.own.three, nulls)} have.",
            "below": f"The rows vary in more directions than 95{PERCENT} of the random ones.",
        }
        return (
            f"{self._components.capitalize()} {'has' if k == 1 else 'have'} "
            f"{_percent(self.own.three)} of the variance; "
            f"{_bands(nulls)}. {ends[self.variance_place]}"
        )

    @property
    def _components(self) -> str:
        k = len(self.own.shares)
        return "component 1" if k == 1 else f"components 1–{k}"

    def _nulls(self, quantity: Literal["three", "mean_r2", "b"]) -> list[Null]:
        return [getattr(random, quantity) for random in self.random.values()]


def pca_artefact(
    rows: npt.ArrayLike,
    draws: int = USUAL_DRAWS,
    seed: int = 0,
    *,
    check: Callable[[], None] | None = None,
) -> PCAArtefact:
    """Compare the components of a table over position with those of smooth random tables.

    Parameters
    ----------
    rows : (m, d)
        Consecutive rows of a position table, in order; at least 8.
    draws
        Random tables of each kind: Gaussian processes as smooth and as noisy as the table, and
        walks with its step lengths; at least 19.
    seed
        Of the random tables.
    check
        Called before each random table; may raise to stop.

    Returns
    -------
    PCAArtefact

    Raises
    ------
    RangeError
        There are fewer than 8 rows, or all are equal.
    """
    X, unit = in_unit(np.asarray(rows))
    if len(X) < FEWEST:
        raise RangeError(f"{len(X)} rows are too few: waves need at least {FEWEST}.")
    turning = turning_share(X)
    scores, shares = _components(X)
    k = int(np.count_nonzero(shares))
    if not k:
        raise RangeError("All rows are equal: there are no components.")
    own = _waves_of(np.arange(len(X)), scores[:, :k], shares[:k], turning.b, unit)
    random = {}
    for kind in KINDS:
        tables = []
        for table in drawn_tables(X, kind, draws, seed):
            if check is not None:
                check()
            tables.append(_components(table, k))
        random[kind] = _random(kind, len(X), tables, unit)
    phases = rule_nulls(X, draws=PHASES, seed=seed, names=("phase",), check=check)["phase"]
    return PCAArtefact(own, random, turning, phases)


def _random(
    kind: Kind, n: int, tables: Sequence[tuple[Array, Array]], unit: float
) -> RandomComponents:
    """Summarise scores and shares of random tables of n rows, which may be thinned."""
    curves, shares = (np.stack(parts) for parts in zip(*tables, strict=True))
    draws, m, k = curves.shape
    waves = best_sinusoids(np.moveaxis(curves, 1, 0).reshape(m, -1), (0, m - 1))
    cycles, r2 = (values.reshape(draws, k) for values in (waves.cycles, waves.r2))
    smaller, _ = balanced_turning(curves, turn_counts(m))
    b = 2 * smaller / (np.square(curves).sum(axis=(1, 2)) / shares.sum(axis=1))
    at = np.linspace(0, n - 1, m).round().astype(np.intp)
    read_only(shares)
    return RandomComponents(
        _waves_of(at, curves[0], shares[0], float(b[0]), unit),
        shares,
        cycles,
        r2,
        null_of(kind, MEANINGS[kind], shares.sum(axis=1)),
        null_of(kind, MEANINGS[kind], r2.mean(axis=1)),
        null_of(kind, MEANINGS[kind], b),
    )


def _waves_of(
    at: npt.NDArray[np.intp], scores: Array, shares: Array, b: float, unit: float
) -> ComponentWaves:
    scores = in_table_unit(scores, unit)
    read_only(at, scores, shares)
    return ComponentWaves(at, scores, shares, best_sinusoids(scores, (0, len(scores) - 1)), b)


def _components(X: npt.ArrayLike, k: int = COMPONENTS) -> tuple[Array, Array]:
    """Return the scores of rows in k components, (m, k), and their shares, 0 if missing."""
    table = np.asarray(X)
    pca = fit_pca(table, (0, len(table) - 1), k)
    shares, missing = pca.explained_variance_ratio, k - len(pca.components)
    scores = np.where(shares > 0.0, about_mean(pca.project(table)), 0.0)
    return np.pad(scores, ((0, 0), (0, missing))), np.pad(shares, (0, missing))


def _place(value: float, nulls: Sequence[Null]) -> Place:
    """Return the place of a number relative to null distributions, all of them."""
    if all(null.p_value(value) <= RARE for null in nulls):
        return "above"
    return "below" if all(null.p_value(value, "below") <= RARE for null in nulls) else "among"


def _reaching(value: float, nulls: Sequence[Null]) -> str:
    """Return the kinds of random tables of which more than 5 % reach a number."""
    return " and ".join(KINDS[_kind(null)] for null in nulls if null.p_value(value) > RARE)


def _bands(nulls: Sequence[Null]) -> str:
    """Return the middle 90 % of null distributions of a share, with their names."""
    parts = []
    for null in nulls:
        low, high = (f"{100 * share:.0f}" for share in null.band[::2])
        parts.append(f"{KINDS[_kind(null)]} {high if low == high else f'{low}–{high}'}{PERCENT}")
    return ", ".join(parts)


def _kind(null: Null) -> Kind:
    return next(kind for kind in KINDS if kind == null.name)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}{PERCENT}"


def _cycles(cycles: Array) -> str:
    return _listed([f"{number:.2f}" for number in cycles])


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
