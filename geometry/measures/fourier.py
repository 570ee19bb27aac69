"""Frequencies of the embeddings over position, and how far back each head's queries point.

Yamamoto and Matsuzaki (2023), "Absolute Position Embedding Learns Sinusoid-like Waves for
Attention Based on Relative Position", found the waves and the shifts in RoBERTa.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.fft

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import result
from geometry.measures.directions import Directions
from geometry.measures.heads import HeadProjections
from geometry.measures.single_dimensions import MIN_CYCLES, Sinusoids, best_sinusoids
from geometry.pca.components import (
    Array,
    about_mean,
    check_range,
    check_table,
    read_only,
    rows_of_range,
)
from geometry.pca.unit import in_table_unit, in_unit

#: Frequencies tried for each cycle that fits into the range, before the best one is refined.
PER_CYCLE = 16
#: How often the bracket around the best frequency is made four times as narrow.
ROUNDS = 12
#: Directions whose waves are fitted.
TOP = 5


@result
class ColumnSpectra:
    """Amplitudes of all columns at the Fourier frequencies of a range.

    Attributes
    ----------
    positions
        First and last position, both inclusive.
    frequency : (m // 2,) float64
        Cycles over the range: 1, 2, … up to the Nyquist limit.
    amplitudes : (m // 2, d_model) float64
        Half the height of each column's wave at each frequency, in the table's units.
    """

    positions: tuple[int, int]
    frequency: Array
    amplitudes: Array

    @property
    def mean(self) -> Array:
        """(m // 2,) over the columns."""
        return np.asarray(self.amplitudes.mean(axis=1))

    def quantile(self, share: float) -> Array:
        """(m // 2,) the amplitude that this share of the columns does not exceed."""
        return np.asarray(np.quantile(self.amplitudes, share, axis=1))


@result
class PhaseShifts:
    """What lies between the queries and the keys of each head of a layer.

    Attributes
    ----------
    layer
        From 0.
    positions
        First and last position, both inclusive.
    cycles : (n_heads,) float64
        The frequency that queries and keys share most of, in cycles over the range.
    tokens : (n_heads,) float64
        How far a query's wave is behind the keys': it points to keys so many tokens back, ahead
        where it is negative; within half a period. NaN where queries or keys are all the same.
    r2 : (n_heads,) float64
        Share of the variance of both courses that waves of this frequency explain, their mean.
    """

    layer: int
    positions: tuple[int, int]
    cycles: Array
    tokens: Array
    r2: Array


@result
class Fourier:
    """Frequencies in a range of positions.

    Attributes
    ----------
    spectra
        Amplitudes of all columns of P.
    directions : (m, k) float64
        Left singular vectors of P over the range, the strongest first, at most five.
    waves
        Their best sinusoids.
    shifts
        Between queries and keys of a layer; None if there are none.
    missing
        Why not, where they were wanted.
    """

    spectra: ColumnSpectra
    directions: Array
    waves: Sinusoids
    shifts: PhaseShifts | None = None
    missing: str = ""

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position, both inclusive."""
        return self.spectra.positions

    def as_numbers(self) -> dict[str, object]:
        """Return plain numbers, lists and dictionaries, ready for JSON; None for NaN."""
        spectra, shifts = self.spectra, self.shifts
        found = zip(self.waves.cycles.tolist(), self.waves.r2.tolist(), strict=True)
        tokens = [] if shifts is None else shifts.tokens.tolist()
        return {
            "positions": list(spectra.positions),
            "frequency": spectra.frequency.tolist(),
            "amplitude": {
                "mean": spectra.mean.tolist(),
                "q25": spectra.quantile(0.25).tolist(),
                "q75": spectra.quantile(0.75).tolist(),
            },
            "directions": [{"cycles": cycles, "r2": r2} for cycles, r2 in found],
            "phase_shift_tokens": [None if np.isnan(one) else one for one in tokens] or None,
        }


def fourier(
    W_pos: npt.ArrayLike,
    P: Directions,
    positions: tuple[int, int],
    heads: HeadProjections | None = None,
) -> Fourier:
    """Measure frequencies over a range: of columns, of the strongest directions, and of heads.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table.
    P
        Its singular directions, of all rows.
    positions
        First and last position, both inclusive.
    heads
        Queries and keys of a layer; without them there are no phase shifts.

    Raises
    ------
    RangeError
        When the range leaves the table, or has fewer than two positions; with heads, than four;
        or when the table is zero or the range does not vary.
    """
    spectra, (first, last) = column_spectra(W_pos, positions), positions
    vectors = P.vectors[: min(TOP, P.clear)]
    if not len(vectors):
        raise RangeError("the table is zero: it has no directions")
    if not spectra.amplitudes.any():
        raise RangeError("all rows of the range are equal: there are no frequencies")
    table, unit = in_unit(check_table(W_pos))
    strengths = P.singular_values[: len(vectors)] / unit
    left = table[first : last + 1] @ vectors.T / strengths
    read_only(left)
    shifts = None if heads is None else phase_shifts(heads, positions)
    return Fourier(spectra, left, best_sinusoids(left, (0, last - first)), shifts)


def column_spectra(W_pos: npt.ArrayLike, positions: tuple[int, int]) -> ColumnSpectra:
    """Transform every column over a range, its mean removed.

    Parameters
    ----------
    W_pos : (n_positions, d_model)
        The table.
    positions
        First and last position, both inclusive.

    Raises
    ------
    RangeError
        When the range leaves the table, or has fewer than two positions.
    """
    rows, positions = rows_of_range(W_pos, positions)
    m = len(rows)
    if m < 2:
        raise RangeError("{}–{} is a single position, which has no frequencies".format(*positions))
    rows, unit = in_unit(rows)
    amplitudes = np.abs(scipy.fft.rfft(about_mean(rows), axis=0))[1:] * (2 / m)
    if m % 2 == 0:
        amplitudes[-1] /= 2  # at the Nyquist limit there is one term, not a pair
    amplitudes = in_table_unit(amplitudes, unit)
    frequency = np.arange(1.0, len(amplitudes) + 1)
    read_only(amplitudes, frequency)
    return ColumnSpectra(positions, frequency, amplitudes)


def phase_shifts(heads: HeadProjections, positions: tuple[int, int]) -> PhaseShifts:
    """Measure how many tokens each head's queries are behind its keys.

    Of the scores Q Kᵀ of a range, with the means of Q and K over it removed, the leading singular
    vectors are a course over the queries' positions and one over the keys'. Both are fitted by a
    wave of the frequency at which these explain most of the two; the shift is the difference of
    their phases.

    Parameters
    ----------
    heads
        Queries and keys of a layer.
    positions
        First and last position, both inclusive.

    Raises
    ------
    RangeError
        When the range leaves the table, or has fewer than four positions.
    """
    n_heads, n_positions, _ = heads.queries.shape
    first, last = check_range(positions, n_positions)
    m = last - first + 1
    if m < 4:
        raise RangeError(f"{first}–{last} has fewer than four positions, too few for a wave")
    found = np.full((3, n_heads), np.nan)
    for head in range(n_heads):
        courses = _leading_pair(
            heads.queries[head, first : last + 1], heads.keys[head, first : last + 1]
        )
        if courses is not None:
            cycles = _common_frequency(courses)
            (query, key), r2 = _waves(courses, np.array([cycles]))
            period = m / cycles
            turn = np.angle(query[0] * np.conj(key[0])) / (2 * np.pi)
            found[:, head] = cycles, turn * period, r2.mean()
    read_only(found)
    return PhaseShifts(heads.layer, (first, last), *found)


def _leading_pair(queries: npt.ArrayLike, keys: npt.ArrayLike) -> Array | None:
    """Return the leading singular vectors of the centred scores, (m, 2); None if these are 0."""
    Q, K = (np.asarray(rows, dtype=np.float64) for rows in (queries, keys))
    q_basis, q_part = np.linalg.qr(Q - Q.mean(axis=0))
    k_basis, k_part = np.linalg.qr(K - K.mean(axis=0))
    left, strengths, right = np.linalg.svd(q_part @ k_part.T)
    scale = np.linalg.norm(Q) * np.linalg.norm(K)
    if strengths[0] <= 1e-10 * scale:
        return None
    return np.column_stack([q_basis @ left[:, 0], k_basis @ right[0]])


def _common_frequency(courses: Array) -> float:
    """Return the cycles over the range at which waves explain most of two courses."""
    m = len(courses)
    grid = np.arange(MIN_CYCLES, m / 2, 1 / PER_CYCLE)
    transform = scipy.fft.rfft(courses, PER_CYCLE * m, axis=0)[: PER_CYCLE * m // 2]
    power = (np.abs(transform) ** 2).sum(axis=1)[round(MIN_CYCLES * PER_CYCLE) :][: len(grid)]
    best, width = float(grid[power.argmax()]), 1 / PER_CYCLE
    for _ in range(ROUNDS):
        around = best + width * np.linspace(-1.0, 1.0, 9)
        around = around.clip(MIN_CYCLES, m / 2)
        _, r2 = _waves(courses, around)
        best, width = float(around[r2.mean(axis=0).argmax()]), width / 4
    return best


def _waves(courses: Array, cycles: Array) -> tuple[npt.NDArray[np.complex128], Array]:
    """Fit mean and one wave to each column by least squares.

    Parameters
    ----------
    courses : (m, k)
        Of mean 0 and length 1.
    cycles : (f,)
        Over the m rows.

    Returns
    -------
    amplitudes : (k, f) complex
        The wave is the real part of amplitude · exp(−iωt); its phase is how far it is behind.
    r2 : (k, f)
        The share of variance that it explains.
    """
    m, k = courses.shape
    angle = 2 * np.pi / m * np.outer(np.arange(m), cycles)
    amplitudes, r2 = np.empty((k, len(cycles)), complex), np.empty((k, len(cycles)))
    for number in range(len(cycles)):
        waves = np.column_stack([np.ones(m), np.cos(angle[:, number]), np.sin(angle[:, number])])
        fitted, *_ = np.linalg.lstsq(waves, courses, rcond=None)
        amplitudes[:, number] = fitted[1] + 1j * fitted[2]
        r2[:, number] = 1.0 - np.square(courses - waves @ fitted).sum(axis=0)
    return amplitudes, r2.clip(0.0, 1.0)
