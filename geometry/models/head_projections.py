"""Positions projected into every head's query and key space by the model's weights.

The result is exact for the first layer, whose input is token plus position. For deeper layers the
embeddings are read through that layer's own LayerNorm, which is an extrapolation, since earlier
layers have written to the residual stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import TensorUnavailable
from geometry.measures.heads import HeadProjections
from geometry.models.addable_tokens import addable_tokens
from geometry.models.attention_layer import AttentionLayer
from geometry.models.matrices import WeightName
from geometry.models.model import PositionalModel
from geometry.pca.components import Array

BLOCK_ROWS = 4096
"""Number of token rows converted to float64 at a time."""


def project_heads(
    model: PositionalModel,
    layer: int = 0,
    *,
    content: bool = False,
    rows: npt.ArrayLike | None = None,
    dtype: type[np.floating] = np.float64,
) -> HeadProjections:
    """Project positions into every head's query and key space.

    Rows pass through all that precedes this layer's attention: LayerNorm over the embeddings' sum
    or directly before the attention, with gain, bias and epsilon; the map to the layers' size; and
    the biases of queries and keys. Tokens and token types are left out.

    Parameters
    ----------
    model
        The open model.
    layer
        From 0; see the module for deeper layers.
    content
        Whether to include a token in LayerNorm's denominator: √(‖p_i‖² + e²) with e the mean norm
        of the token embeddings (as the family scales them, with the token type, centred if
        LayerNorm centres).
    rows : (n_positions, d_embedding)
        Rows to use instead of ``model.W_pos``.
    dtype
        Type of the result and the products; LayerNorm is always in float64.

    Raises
    ------
    TensorUnavailable
        The checkpoint or the family lacks a tensor; or, with content, there is not exactly one
        LayerNorm before the attention.
    """
    tables = [model.W_pos if rows is None else rows]
    return next(project_each(model, tables, layer, content=content, dtype=dtype))


def project_each(
    model: PositionalModel,
    tables: Iterable[npt.ArrayLike],
    layer: int = 0,
    *,
    content: bool = False,
    dtype: type[np.floating] = np.float64,
    asked: npt.NDArray[np.bool_] | None = None,
) -> Iterator[HeadProjections]:
    """Project tables of rows one by one; the weights are read once.

    Parameters
    ----------
    tables
        Each (n_positions, d_embedding), used instead of ``model.W_pos``.
    model, layer, content, dtype
        As of :func:`project_heads`.
    asked
        Which rows have queries; those of others are zeros. All if None. Of a shorter table its
        beginning counts.

    Raises
    ------
    TensorUnavailable
        As :func:`project_heads`.
    """
    attention = AttentionLayer(model.layers, layer)
    enter, n_heads = _entrance(model, attention, content), model.layers.known_heads()
    (W_Q, b_Q), (W_K, b_K) = (_projection(attention, name, dtype) for name in ("W_Q", "W_K"))
    for rows in tables:
        x = enter(rows).astype(dtype, copy=False)
        if asked is None:
            flat = _project(x, W_Q, b_Q)
        else:
            flat, some = np.zeros((len(x), len(W_Q)), dtype), asked[: len(x)]
            flat[some] = _project(x[some], W_Q, b_Q)
        queries = _split(flat, n_heads)
        d_head = queries.shape[2]
        if W_K.shape[0] % d_head or n_heads % (W_K.shape[0] // d_head):
            raise TensorUnavailable(
                f"{len(W_K)} rows of W_K do not fit {n_heads} heads of {d_head} dimensions."
            )
        keys = _split(_project(x, W_K, b_K), len(W_K) // d_head)
        if len(keys) < n_heads:
            keys = np.repeat(keys, n_heads // len(keys), axis=0)
        for array in (queries, keys):
            array.flags.writeable = False
        yield HeadProjections(
            layer, queries, keys, attention.scale(d_head), model.causal, attention.window
        )


def attention_input(
    model: PositionalModel,
    attention: AttentionLayer,
    rows: npt.ArrayLike,
    *,
    content: bool = False,
) -> Array:
    """Return the (n, d_hidden) float64 input of a layer's queries and keys.

    See :func:`project_heads`.
    """
    return _entrance(model, attention, content)(rows)


def _entrance(
    model: PositionalModel, attention: AttentionLayer, content: bool
) -> Callable[[npt.ArrayLike], Array]:
    """Return the function of :func:`attention_input`, for which LayerNorm is read once."""
    first, own = attention.norms()
    e = 0.0
    if content:
        if (first is None) == (own is None):
            have = "no LayerNorm comes" if first is None else "two LayerNorms come"
            raise TensorUnavailable(
                f"In {model.name} {have} between the embeddings and the attention of layer "
                f"{attention.layer}: tokens cannot be included in one denominator.",
                "Compute it without tokens.",
            )
        norm = first or own
        assert norm is not None
        e = mean_token_norm(model, centred=norm.centred)

    def enter(rows: npt.ArrayLike) -> Array:
        x = np.asarray(rows, dtype=np.float64)
        if first is not None:
            x = first(x, e)
        x = attention.enter(x)
        if own is not None:
            x = own(x, e)
        return x

    return enter


def mean_token_norm(model: PositionalModel, *, centred: bool = True) -> float:
    """Return the mean norm of the token embeddings as they are added to positions.

    Raises
    ------
    TensorUnavailable
        There are none, or they are of another width than the positions.
    """
    tokens, kind = addable_tokens(model), model.token_type
    total = 0.0
    for start in range(0, len(tokens), BLOCK_ROWS):
        block = model.token_scale * tokens[start : start + BLOCK_ROWS].astype(np.float64)
        if kind is not None:
            block += kind
        if centred:
            block -= block.mean(axis=1, keepdims=True)
        total += float(np.sqrt(np.einsum("ij,ij->i", block, block)).sum())
    return total / len(tokens)


def _projection(
    attention: AttentionLayer, name: WeightName, dtype: type[np.floating]
) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.floating] | None]:
    weight, bias = attention.projection(name)
    return weight.astype(dtype, copy=False), None if bias is None else bias.astype(
        dtype, copy=False
    )


def _project(
    x: npt.NDArray[np.floating],
    weight: npt.NDArray[np.floating],
    bias: npt.NDArray[np.floating] | None,
) -> npt.NDArray[np.floating]:
    if weight.shape[1] != x.shape[1]:
        raise TensorUnavailable(
            f"Positions have {x.shape[1]} dimensions and the layers {weight.shape[1]}, and no map "
            "between them is in this checkpoint."
        )
    out: npt.NDArray[np.floating] = x @ weight.T
    if bias is not None:
        out += bias
    return out


def _split(flat: npt.NDArray[np.floating], heads: int) -> npt.NDArray[np.floating]:
    """Reshape (n, heads · d_head) to (heads, n, d_head)."""
    n, width = flat.shape
    if width % heads:
        raise TensorUnavailable(f"{width} dimensions of queries do not fit {heads} heads.")
    return np.ascontiguousarray(flat.reshape(n, heads, -1).swapaxes(0, 1))
