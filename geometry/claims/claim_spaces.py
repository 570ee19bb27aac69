"""The measures of the claims about tokens, weights and the spaces they share with positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.claims.claim import CannotTell, ModelClaim, NotApplicable
from geometry.claims.measurements import DEFAULT_RANK, Measurements
from geometry.evidence.drawn_tables import drawn_tables
from geometry.evidence.null import Null, null_of
from geometry.evidence.random_frames import MEANING, random_frame, shared_energy
from geometry.measures.directions import Directions
from geometry.measures.layernorm import layernorm_errors, token_rows
from geometry.measures.overlaps import CORNER, capture, sparsity, sparsity_nulls, squared_overlaps
from geometry.models.addable_tokens import addable_tokens
from geometry.models.residual_stream import Name, Subject
from geometry.pca.components import Array, unit_rows
from geometry.pca.unit import unit_of

LAYER = 0
"""The articles speak of the first layer's weights, as they are: without LayerNorm's gain."""
TURNED = "the positions, randomly rotated in the space of the embedding"
DRAWS = 39
READ = 19
"""Draws of what is read back, which takes longer; none may reach a number."""
MOST_TOKENS, MOST_POSITIONS = 4096, 128
"""Tokens and positions of the draws, evenly spaced, so that one takes milliseconds."""
READ_BACK = 64
"""Tokens that are added to positions, to be read back."""
ALONG = 0.1
"""Half the width of the stripe along a diagonal, as a share of the directions."""
TURNED_ENTRIES = 200
LEADING = 5
FEWEST_DIRECTIONS = 3
"""Directions of a matrix below which it has no subspace that claims are about."""

Which = Literal["TL", "TR", "BL", "BR"]


# ---- tokens and positions as they are added ---


def largest_cosine(measured: Measurements) -> float:
    """Largest |cosine| of a token and a position."""
    _not_zero(measured.model.W_pos)
    return float(measured.cosines.largest.max())


def _not_zero(rows: Array) -> None:
    if not rows.any():
        raise CannotTell("all numbers of these rows are zero")


def error(which: Literal["orthogonal", "constant_norm"]) -> Callable[[Measurements], float]:
    """Return a measure of the median relative error of an approximation of LayerNorm."""

    def measure(measured: Measurements) -> float:
        _not_zero(measured.rows)
        return float(np.median(getattr(measured.layernorm, which)))

    return measure


def turned_cosine(claim: ModelClaim, measured: Measurements) -> Null:
    """Draw the largest |cosine| of tokens with positions that are turned at random."""
    tokens = unit_rows(_tokens(measured))

    def largest(positions: Array) -> float:
        return float(np.abs(tokens @ unit_rows(positions).T).max())

    return _turned(measured.model.W_pos, largest)


def turned_error(which: Literal["orthogonal", "constant_norm"]) -> Callable[..., Null]:
    """Return the draws of :func:`error` for positions that are turned at random."""

    def draw(claim: ModelClaim, measured: Measurements) -> Null:
        model, tokens = measured.model, addable_tokens(measured.model)

        def median(positions: Array) -> float:
            found = layernorm_errors(
                tokens, positions, (0, len(positions) - 1), sample=256,
                token_scale=model.token_scale, type_row=model.token_type,
            )  # fmt: skip
            return float(np.median(getattr(found, which)))

        return _turned(measured.rows, median)

    return draw


def _turned(rows: Array, measure: Callable[[Array], float], draws: int = DRAWS) -> Null:
    """Draw a quantity of some rows, evenly spaced, turned at random."""
    some = _evenly(rows, MOST_POSITIONS)
    return null_of("turned", TURNED, [measure(one) for one in drawn_tables(some, "turned", draws)])


def _tokens(measured: Measurements) -> Array:
    """Return some tokens as the model adds them, evenly spaced in the vocabulary."""
    model, tokens = measured.model, addable_tokens(measured.model)
    chosen = _places(len(tokens), MOST_TOKENS)
    return token_rows(tokens, chosen, model.token_scale, model.token_type)


def position_read_back(measured: Measurements) -> float:
    """Share of sums of a token and a position that are nearest to that position's row."""
    _not_zero(measured.rows)
    tokens, positions = _tokens(measured), measured.rows
    if len(positions) < 2:
        raise CannotTell("too few positions are shown")
    return _positions_found(tokens, positions)


def token_read_back(measured: Measurements) -> float:
    """Share of sums of a token and a position that are nearest to that token's row."""
    _not_zero(measured.rows)
    return _tokens_found(_tokens(measured), measured.rows)


def turned_position(claim: ModelClaim, measured: Measurements) -> Null:
    """Draw :func:`position_read_back` for positions that are turned at random."""
    tokens = _tokens(measured)
    return _all_turned(measured, lambda rows: _positions_found(tokens, rows))


def turned_token(claim: ModelClaim, measured: Measurements) -> Null:
    """Draw :func:`token_read_back` for positions that are turned at random."""
    tokens = _tokens(measured)
    return _all_turned(measured, lambda rows: _tokens_found(tokens, rows))


def _all_turned(measured: Measurements, measure: Callable[[Array], float]) -> Null:
    """Draw a quantity of all shown rows, turned at random."""
    drawn = drawn_tables(measured.rows, "turned", READ)
    return null_of("turned", TURNED, [measure(one) for one in drawn])


def _positions_found(tokens: Array, positions: Array) -> float:
    """Read positions from sums: the nearest to what is left without the mean token."""
    tokens, positions = _in_one_unit(tokens, positions)
    some = _evenly(tokens, READ_BACK) - tokens.mean(axis=0)
    asked = _places(len(positions), MOST_POSITIONS)
    # ‖e + p_i − p_j‖² = … − 2 (e + p_i)·p_j + ‖p_j‖², the rest the same for all j.
    of_tokens = some @ positions.T
    of_positions = positions[asked] @ positions.T
    squares = np.square(positions).sum(axis=1)
    right = 0
    for e in of_tokens:
        right += int(((squares - 2 * (e + of_positions)).argmin(axis=1) == asked).sum())
    return right / (len(some) * len(asked))


def _tokens_found(tokens: Array, positions: Array) -> float:
    """Read tokens from sums: the nearest to what is left without the mean position."""
    tokens, positions = _in_one_unit(tokens, positions)
    asked = _places(len(tokens), READ_BACK)
    some = _evenly(positions, READ_BACK) - positions.mean(axis=0)
    of_tokens, of_positions = tokens[asked] @ tokens.T, some @ tokens.T
    squares = np.square(tokens).sum(axis=1)
    right = 0
    for p in of_positions:
        right += int(((squares - 2 * (p + of_tokens)).argmin(axis=1) == asked).sum())
    return right / (len(some) * len(asked))


def _in_one_unit(tokens: Array, positions: Array) -> tuple[Array, Array]:
    unit = unit_of(tokens, positions)
    return tokens / unit, positions / unit


def _evenly(rows: Array, most: int) -> Array:
    return rows[_places(len(rows), most)]


def _places(n: int, most: int) -> npt.NDArray[np.int64]:
    return np.unique(np.linspace(0, n - 1, min(most, n)).astype(np.int64))


# ---- directions in common ---


def _pair(measured: Measurements, rows: Name, columns: Name) -> tuple[Directions, Directions]:
    subjects = [Subject(name) if name in ("P", "E") else Subject(name, LAYER)
                for name in (rows, columns)]  # fmt: skip
    pair = measured.stream.pair(*subjects)
    for name, found in zip((rows, columns), pair, strict=True):
        if found.clear < FEWEST_DIRECTIONS:
            raise CannotTell(f"{name} has only {found.clear} directions")
    return pair


def _sums(measured: Measurements, rows: Name, columns: Name) -> dict[str, float]:
    """Reduce overlaps to sums over their corners and stripes, since the matrix is large."""

    def find() -> dict[str, float]:
        one, other = _pair(measured, rows, columns)
        squares = squared_overlaps(one, other)
        p, q, d = *squares.shape, one.vectors.shape[1]
        m = min(CORNER, p, q)
        top, bottom = slice(None, m), slice(-m, None)
        parts = {"TL": (top, top), "TR": (top, bottom), "BL": (bottom, top), "BR": (bottom, bottom)}
        sums = {name: float(squares[part].sum()) for name, part in parts.items()}
        stripe = along_diagonal(p, q)
        total = float(squares.sum())
        sums["diagonal"] = float(squares[stripe].sum()) / total
        sums["antidiagonal"] = float(squares[stripe[:, ::-1]].sum()) / total
        sums["top3"] = float(squares[:3, :3].sum())
        return sums | {"rows": p, "columns": q, "dimensions": d}

    return measured.of_model.once(("sums of overlaps", rows, columns), find)


def along_diagonal(p: int, q: int) -> npt.NDArray[np.bool_]:
    """Mask (p, q) of the tenth to either side of the diagonal."""
    down, across = (np.arange(p) + 0.5) / p, (np.arange(q) + 0.5) / q
    mask: npt.NDArray[np.bool_] = np.abs(down[:, None] - across) <= ALONG
    return mask


def corner(rows: Name, columns: Name, which: Which) -> Callable[[Measurements], float]:
    """Return a measure of a corner of squared overlaps, relative to chance."""

    def measure(measured: Measurements) -> float:
        sums = _sums(measured, rows, columns)
        if min(CORNER, sums["rows"], sums["columns"]) == sums["dimensions"]:
            raise NotApplicable("the corner contains all directions, which is chance")
        return sums[which] / _chance(sums)

    return measure


def _chance(sums: dict[str, float]) -> float:
    m = min(CORNER, sums["rows"], sums["columns"])
    return m * m / sums["dimensions"]


def random_corner(rows: Name, columns: Name) -> Callable[..., Null]:
    """Return the draws of :func:`corner` for directions that have nothing to do with each other."""

    def draw(claim: ModelClaim, measured: Measurements) -> Null:
        sums = _sums(measured, rows, columns)
        m = int(min(CORNER, sums["rows"], sums["columns"]))
        found = shared_energy(m, m, int(sums["dimensions"]))
        return null_of(found.name, found.meaning, found.values / _chance(sums))

    return draw


def reach_of_corner(rows: Name, columns: Name, bound: float) -> Callable[[Measurements], None]:
    """Return a check that a corner can reach a bound: that there are enough dimensions."""

    def check(measured: Measurements) -> None:
        sums = _sums(measured, rows, columns)
        m = min(CORNER, sums["rows"], sums["columns"])
        if m / _chance(sums) < bound:
            raise NotApplicable(
                f"{m:g} of {sums['dimensions']:g} directions overlap at most "
                f"{m / _chance(sums):.3g} times chance"
            )

    return check


def top3_overlap(rows: Name, columns: Name) -> Callable[[Measurements], float]:
    """Return a measure of the overlap of the first three directions, without folding the gain."""
    return lambda measured: _sums(measured, rows, columns)["top3"]


def random_top3(rows: Name, columns: Name) -> Callable[..., Null]:
    """Return the draws of :func:`top3_overlap` for unrelated directions."""

    def draw(claim: ModelClaim, measured: Measurements) -> Null:
        sums = _sums(measured, rows, columns)
        p, q = (int(min(3, sums[name])) for name in ("rows", "columns"))
        return shared_energy(p, q, int(sums["dimensions"]))

    return draw


def folded_share(measured: Measurements) -> float:
    """Overlap of queries with P's top directions with the gain folded in, relative to without."""
    _pair(measured, "W_Q", "P")
    found = []
    for fold in (False, True):
        pair = measured.stream.pair(Subject("W_Q", LAYER, fold_ln=fold), Subject("P"))
        found.append(float(squared_overlaps(*pair)[:3, :3].sum()))
    # numpy gives NaN for 0/0, where Python's division would raise.
    return float(np.divide(found[1], found[0]))


def along(
    rows: Name, columns: Name, which: Literal["diagonal", "antidiagonal"]
) -> Callable[[Measurements], float]:
    """Return a measure of the share of squared overlaps along a diagonal."""
    return lambda measured: _sums(measured, rows, columns)[which]


def random_along(rows: Name, columns: Name) -> Callable[..., Null]:
    """Return the draws of :func:`along` for unrelated directions, in at most 128 dimensions."""

    def draw(claim: ModelClaim, measured: Measurements) -> Null:
        sums = _sums(measured, rows, columns)
        scale = min(1.0, MOST_POSITIONS / sums["dimensions"])
        p, q, d = (max(1, round(scale * sums[name])) for name in ("rows", "columns", "dimensions"))
        stripe, rng = along_diagonal(p, q), np.random.default_rng(0)
        drawn = []
        for _ in range(DRAWS):
            squares = np.square(random_frame(p, d, rng)[:, :q])
            drawn.append(float(squares[stripe].sum() / squares.sum()))
        return null_of("frames", MEANING, drawn)

    return draw


# ---- E's directions in P's leading ones ---


def _captured(measured: Measurements) -> tuple[Array, float]:
    """Capture of E's directions by P's leading thirty, and the same by chance."""

    def find() -> tuple[Array, float]:
        P, E = _pair(measured, "P", "E")
        rank = min(DEFAULT_RANK, len(P.vectors))
        return capture(P, E, rank), rank / P.vectors.shape[1]

    return measured.of_model.once("capture by thirty", find)


def _part(values: Array, first: float, last: float) -> Array:
    return values[int(first * len(values)) : max(int(last * len(values)), 1)]


def captured(first: float, last: float) -> Callable[[Measurements], float]:
    """Mean capture of a part of E's directions (shares of their number), over chance."""

    def measure(measured: Measurements) -> float:
        values, chance = _captured(measured)
        if chance == 1.0:
            raise NotApplicable(
                "P's leading directions are all directions, which capture everything"
            )
        return float(_part(values, first, last).mean() / chance)

    return measure


def random_capture(first: float, last: float) -> Callable[..., Null]:
    """Return the draws of :func:`captured` for unrelated directions."""

    def draw(claim: ModelClaim, measured: Measurements) -> Null:
        values, _ = _captured(measured)
        P, _ = _pair(measured, "P", "E")
        d, p = P.vectors.shape[1], len(_part(values, first, last))
        q = min(DEFAULT_RANK, len(P.vectors))
        found = shared_energy(p, q, d)
        return null_of(found.name, found.meaning, found.values * d / (p * q))

    return draw


def reach_of_capture(bound: float) -> Callable[[Measurements], None]:
    """Return a check that a capture can reach a bound: that there are enough dimensions."""

    def check(measured: Measurements) -> None:
        _, chance = _captured(measured)
        if 1.0 / chance < bound:
            raise NotApplicable(f"complete capture is only {1 / chance:.3g} times chance")

    return check


def first_without_mean(measured: Measurements) -> float:
    """Capture of E's first direction by P about its mean row, over that by P as it is."""
    E = measured.directions("E")
    if E.vectors.shape[1] != measured.model.d_model:
        raise CannotTell("tokens and positions have different widths")
    as_it_is, _ = _captured(measured)
    centred = measured.stream.directions(Subject("P", centred=True))
    rank = min(DEFAULT_RANK, len(centred.vectors))
    return float(np.square(centred.vectors[:rank] @ E.vectors[0]).sum() / as_it_is[0])


# ---- entries ---


def heaviest(measured: Measurements) -> float:
    """Mass of the 40 largest entries, mean of P's first three directions."""
    return float(np.mean(sparsity(_leading(measured, 3)).mass_top40))


def _leading(measured: Measurements, count: int = LEADING) -> Array:
    """Return P's first directions, (count, d)."""
    found = measured.directions("P")
    if found.clear < count:
        raise CannotTell(f"P has only {found.clear} directions")
    return found.vectors[:count]


def turned_heaviest(claim: ModelClaim, measured: Measurements) -> Null:
    """Draw :func:`heaviest` for directions that are turned at random."""
    d = measured.model.d_model
    return sparsity_nulls(min(3, d), d, TURNED_ENTRIES).mean_mass_top40


def entries_used(measured: Measurements) -> float:
    """Share of the entries that hold 90 % of the mass of P's first five directions."""
    return _entries_for(_leading(measured))


def turned_entries(claim: ModelClaim, measured: Measurements) -> Null:
    """Draw :func:`entries_used` for directions that are turned at random."""
    return _random_entries(measured, _entries_for)


def _entries_for(vectors: Array) -> float:
    mass = np.sort(np.square(vectors).sum(axis=0))[::-1]
    held = np.cumsum(mass) / mass.sum()
    return float((int((held < 0.9 - 1e-12).sum()) + 1) / vectors.shape[1])


def _random_entries(measured: Measurements, measure: Callable[[Array], float]) -> Null:
    d, rng = measured.model.d_model, np.random.default_rng(0)
    k = min(LEADING, d)
    drawn = [measure(random_frame(k, d, rng)) for _ in range(TURNED_ENTRIES)]
    return null_of("turned", TURNED, drawn)


def tokens_there(measured: Measurements) -> float:
    """E's energy in the entries above 0.1 of P's directions, over that in an average one."""
    energy, columns = _energy(measured), sparsity(_leading(measured)).above_0_1_union
    if not len(columns):
        raise CannotTell("no entry of P's leading directions is above 0.1")
    return float(energy[list(columns)].mean() / energy.mean())


def other_entries(claim: ModelClaim, measured: Measurements) -> Null:
    """Draw :func:`tokens_there` for as many entries at random."""
    energy, k = _energy(measured), len(measured.sparsity.above_0_1_union)
    rng = np.random.default_rng(0)
    drawn = [
        float(rng.choice(energy, k, replace=False).mean() / energy.mean())
        for _ in range(TURNED_ENTRIES)
    ]
    return null_of("entries", "as many entries chosen at random", drawn)


def shared_entries(measured: Measurements) -> float:
    """Mass that P's first five directions and E have in the same entries: 0 to 1."""
    return _shared(np.square(_leading(measured)).sum(axis=0), _energy(measured))


def turned_shared(claim: ModelClaim, measured: Measurements) -> Null:
    """Draw :func:`shared_entries` for directions that are turned at random."""
    energy = _energy(measured)
    return _random_entries(measured, lambda frame: _shared(np.square(frame).sum(axis=0), energy))


def _shared(one: Array, other: Array) -> float:
    return float(np.minimum(one / one.sum(), other / other.sum()).sum())


def _energy(measured: Measurements) -> Array:
    """Return E's energy in each entry."""
    tokens = measured.model.W_E
    if tokens.shape[1] != measured.model.d_model:
        raise CannotTell("tokens and positions have different widths")

    def find() -> Array:
        energy: Array = np.einsum("ij,ij->j", tokens, tokens, dtype=np.float64)
        return energy

    return measured.of_model.once("energy of entries", find)
