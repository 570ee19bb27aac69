"""The use of each pair of entries by each head of a rotary model, by its weights alone."""

from __future__ import annotations

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.result import result
from geometry.models.layers import FULL
from geometry.models.model import PositionalModel
from geometry.models.schemes.rotary import Rotary
from geometry.pca.components import Array

__all__ = ["PairUse", "pair_use"]


@result
class PairUse:
    """The use of each pair by a layer's heads.

    Attributes
    ----------
    layer
        From 0.
    use : (n_heads, n_pairs)
        ‖W_Q,i‖·‖W_K,i‖ of each head, with the two rows of pair i. For inputs of norm 1, the product
        of a query and a key at distance Δ is at most Σᵢ of these times cos θᵢΔ (Barbero et al.
        2024, arXiv:2410.06205, use activations).
    """

    layer: int
    use: Array

    @property
    def share(self) -> Array:
        """(n_heads, n_pairs) use by each head, as a share of all its pairs."""
        total = self.use.sum(axis=1, keepdims=True)
        shares: Array = np.divide(self.use, total, out=np.zeros_like(self.use), where=total > 0)
        return shares


def pair_use(model: PositionalModel, layer: int = 0) -> PairUse:
    """Measure the use of each pair by each head.

    Raises
    ------
    TensorUnavailable
        The model is not rotary, its queries and keys have unknown names, or the checkpoint lacks
        them.
    """
    rotary, layers = model.rotary, model.turned_layers
    if rotary is None:
        raise TensorUnavailable(f"{model.name} does not turn queries and keys.")
    if layers is None:
        raise TensorUnavailable(f"{model.name} has no queries and keys that are known.", FULL)
    n_heads = layers.known_heads()
    queries = _pair_norms(layers.weight("W_Q", layer), rotary)
    keys = _pair_norms(layers.weight("W_K", layer), rotary)
    if len(queries) != n_heads or n_heads % len(keys):
        raise TensorUnavailable(
            f"{len(queries)} heads of queries and {len(keys)} of keys do not fit the {n_heads} "
            "heads of config.json."
        )
    return PairUse(layer, queries * np.repeat(keys, n_heads // len(keys), axis=0))


def _pair_norms(weight: Array, rotary: Rotary) -> Array:
    """Return the norm of each pair's two rows in each head, (heads, n_pairs)."""
    d_head, n_pairs = rotary.d_head, rotary.n_pairs
    if weight.shape[0] % d_head:
        raise TensorUnavailable(
            f"{weight.shape[0]} rows of a matrix do not fit heads of {d_head} entries."
        )
    energy = np.square(weight).sum(axis=1).reshape(-1, d_head)
    if rotary.pairing == "interleaved":
        pairs = energy[:, : 2 * n_pairs].reshape(-1, n_pairs, 2).sum(axis=2)
    else:
        second = rotary.pair_offset or n_pairs
        pairs = energy[:, :n_pairs] + energy[:, second : second + n_pairs]
    norms: Array = np.sqrt(pairs)
    return norms
