"""Everything measured on a model, as the dictionary that becomes ``report.json``."""

from collections.abc import Mapping
from typing import Any

from geometry.components import check_range
from geometry.errors import RangeError
from geometry.model import PositionalModel
from geometry.norms import norm_profile
from geometry.pca import fit_pca, off_subspace_residual
from geometry.spectra import spectrum

N_COMPONENTS = 10
DEFAULT_RANK = 30
_WEIGHTS = ("W_Q", "W_K", "W_V", "W_O", "W_in")

# What of the report needs which matrices besides P. A section is impossible as soon as one of
# them is absent.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "spectrum.E": ("W_E",),
    "spectrum.stable_rank.E": ("W_E",),
    "spectrum.energy_top30.E": ("W_E",),
    "capture": ("W_E",),
    "overlaps.E_P": ("W_E",),
    "overlaps.P_E": ("W_E",),
    **{f"overlaps.{name}_P": (name,) for name in _WEIGHTS},
    **{f"overlaps.{name}_E": (name, "W_E") for name in _WEIGHTS},
    "layernorm": ("W_E",),
    "kernels": ("W_Q", "W_K"),
}


def report(
    model: PositionalModel,
    *,
    positions: tuple[int, int] | None = None,
    rank: int | None = None,
    after: int = 100,
) -> dict[str, Any]:
    """Measure a model.

    Parameters
    ----------
    model
        The open model; nothing but P is read.
    positions
        Inclusive range for everything that is of the shown range only; 1 to the last position
        if None.
    rank
        How many directions of P count as its subspace in `capture`; 30, or all that a smaller
        table has, if None.
    after
        First position of the stretch whose norms' stability is measured.

    Returns
    -------
    dict
        Sections model, missing, pca, norms, spectrum, … of plain numbers, strings, lists and
        dictionaries: it can be written as JSON as it is. Sections that are not measured are
        None. ``missing`` says by dotted name what this checkpoint's absent tensors make
        impossible, and why.

    Raises
    ------
    RangeError
        When the range leaves the table, or the rank is not between 1 and min(n_positions,
        d_model).
    """
    last = model.n_positions - 1
    shown = check_range(positions or (min(1, last), last), model.n_positions)
    directions = min(model.n_positions, model.d_model)
    rank = min(DEFAULT_RANK, directions) if rank is None else rank
    if not 1 <= rank <= directions:
        raise RangeError(
            f"rank {rank} is none that this table has: it has {directions} directions",
            f"Choose a rank from 1 to {directions}.",
        )
    unmeasured = ("capture", "overlaps", "directions", "similarity", "dimensions", "layernorm",
                  "shape", "lookback", "kernels", "claims")  # fmt: skip
    return {
        "model": _describe(model),
        "missing": _missing(model),
        "pca": _pca(model, shown),
        "norms": _norms(model, after),
        "spectrum": _spectrum(model),
        **dict.fromkeys(unmeasured),
    }


def _describe(model: PositionalModel) -> dict[str, Any]:
    """Say what was measured; files that are of no commit have no such key."""
    return {
        "source": model.source,
        **({"commit": model.commit} if model.commit else {}),
        "family": model.family,
        "fingerprint": model.fingerprint,
        "n_positions": model.n_positions,
        "d_model": model.d_model,
        "d_vocab": model.d_vocab,
        "n_layers": model.n_layers,
        "n_heads": model.n_heads,
    }


def _missing(model: PositionalModel) -> dict[str, str]:
    absent = model.missing
    reasons = {
        section: [absent[name] for name in needs if name in absent]
        for section, needs in NEEDS.items()
    }
    # Each reason once: a bare table lacks everything for the same one.
    return {section: "; ".join(dict.fromkeys(why)) for section, why in reasons.items() if why}


def _pca(model: PositionalModel, positions: tuple[int, int]) -> dict[str, Any]:
    first, last = positions
    pca = fit_pca(model.W_pos, positions, N_COMPONENTS)
    residual = off_subspace_residual(model.W_pos[first : last + 1], pca)
    return {
        "positions": [first, last],
        "centred": True,
        "explained_variance_ratio": pca.explained_variance_ratio.tolist(),
        "off_subspace_residual": residual.tolist(),
    }


def _norms(model: PositionalModel, after: int) -> dict[str, Any]:
    profile = norm_profile(model.W_pos, after=after)
    return {
        "values": profile.values.tolist(),
        "after": after,
        "mean": profile.mean,
        "std": profile.std,
        "cv": profile.cv,
        "outliers": list(profile.outliers),
    }


def _spectrum(model: PositionalModel) -> dict[str, Any]:
    of_positions = spectrum(model.W_pos)
    return {
        "P": of_positions.singular_values.tolist(),
        "E": None,
        "stable_rank": {"P": of_positions.stable_rank, "E": None},
        "energy_top30": {"P": of_positions.energy_top30, "E": None},
    }
