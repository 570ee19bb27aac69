"""A text in a network: its next token and its attention, before and after a change of positions."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.inside.intervene import Place, find_place, patterns_of
from geometry.inside.interventions import LONGEST, find_change, usual_length
from geometry.inside.network import RunnableNetwork, enough_memory, load_network
from geometry.inside.settings import InsideError
from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model
from geometry.models.tokens import TokenizedPrompt
from geometry.pca.components import Array

MAX_WEIGHTS = 2**24
"""Maximum attention weights of all heads, T² each: 341 tokens of GPT-2 small, or 64 MiB."""
MIN_PAIRS = 3
"""Minimum number of pairs of tokens for a correlation."""
TOP = 10
"""Number of next tokens to return."""
SHORTER = "Use a shorter text."

Patterns = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class NextToken:
    """A token that may come next.

    Attributes
    ----------
    token, text
        Its id, and its readable text.
    before, after
        Its probability without and with the change; the latter None without a change.
    """

    token: int
    text: str
    before: float
    after: float | None = None


@result
class PromptRun:
    """The run of a text through a network.

    Attributes
    ----------
    text
        The text.
    ids, texts
        Ids and readable texts of its T tokens.
    causal
        Whether each token sees only those before it.
    change
        Name of the change; None without one.
    next_tokens
        Those of the largest probability before or after the change, by probability before it.
        Empty for an encoder, which predicts no next token.
    moved
        Total variation distance of the next token's distributions before and after, from 0 for the
        same to 1; None for an encoder, or without a change.
    attention : (n_layers, n_heads, T, T) float32
        Without the change: queries in rows, which sum to 1, and keys in columns.
    attention_after
        The same after the change; None without one.
    """

    text: str
    ids: tuple[int, ...]
    texts: tuple[str, ...]
    causal: bool
    change: str | None
    next_tokens: tuple[NextToken, ...]
    moved: float | None
    attention: Patterns
    attention_after: Patterns | None = None


def run_prompt(
    source: str,
    text: str,
    change: str | None = None,
    *,
    table: str | None = None,
    layer: str | None = None,
    length: int | None = None,
    ids: Sequence[int] | None = None,
    top: int = TOP,
    seed: int = 0,
    device: str = "cpu",
    report: Callable[[str, int, int], None] | None = None,
) -> PromptRun:
    """Run a text through a network as it is, and with one change of its positions.

    The text is split as :meth:`geometry.models.model.PositionalModel.tokenize` does: into at most
    as many tokens as there are positions, with a beginning-of-text token where the family uses one.

    Parameters
    ----------
    source
        A model that is complete on this machine.
    text
        At least one token, and at most :func:`max_tokens`.
    change
        A name, see :func:`geometry.inside.interventions.find_change`; None for none.
    table
        As for :func:`geometry.models.sources.opening.open_model`.
    layer
        As for :func:`geometry.inside.intervene.intervene`: pos(t) in a layer is changed in place
        of the table, and the text is split as the windows of that run.
    length
        Rows of the table to change, as in a window of this many tokens, at least the text's; the
        initial number of the Effects panel if None.
    ids
        Expected tokens of the text; None for any.
    top
        Number of next tokens.
    seed, device
        Seed of random changes; device of torch.
    report
        Called with the current pass, the number of passes done, and the total; may raise to stop.

    Raises
    ------
    HelixscopeError
        The network cannot be loaded, lacks its head or, for a change, a table of positions; the
        change is unknown or impossible; the text is empty, too long, or has other tokens.
    """
    transform = None if change is None else find_change(change)
    if not text:
        raise InsideError("The text is empty.", "Enter a text.")
    model = open_model(source, table=table) if layer is None else None
    report, passes = report or (lambda *_: None), 1 if transform is None else 2
    report("Loading the network", 0, passes)
    network = load_network(source, device=device, head=True, attention=True)
    tokens = model.tokenize(text) if model is not None else _split(network, text)
    _check(network, tokens, ids)
    report("as it is", 0, passes)
    before, attention = _forward(network, tokens.ids, device)
    after, attention_after = before, None
    if transform is not None:
        place, size = _place(network, model, layer, len(tokens.ids), length, seed)
        if size < len(tokens.ids):
            raise InsideError(
                f"The text has {len(tokens.ids)} tokens; positions were measured in windows of "
                f"{size}.",
                SHORTER,
            )
        rows = transform(place.table)
        if layer is not None:  # special tokens at the end have no position there
            end = len(tokens.ids) - len(network.splitter.after)
            rows[end:] = place.table.P[end:]
        report(str(change), 1, passes)
        with place.put(rows):
            after, attention_after = _forward(network, tokens.ids, device)
    next_tokens: tuple[NextToken, ...] = ()
    moved = None
    if before is not None and after is not None:
        next_tokens = _likeliest(
            before, None if transform is None else after, top, _text_of(network, model)
        )
        moved = None if transform is None else float(np.abs(after - before).sum() / 2)
    return PromptRun(
        text,
        tokens.ids,
        tokens.texts,
        network.causal,
        change,
        next_tokens,
        moved,
        attention,
        attention_after,
    )


def max_tokens(n_heads: int) -> int:
    """Return the maximum tokens of a text whose attention is kept, given all layers' heads."""
    return isqrt(MAX_WEIGHTS // n_heads)


def correlation(
    a: npt.NDArray[np.floating], b: npt.NDArray[np.floating], *, causal: bool, first: int = 0
) -> tuple[float | None, int]:
    """Return the correlation of two patterns of attention, and the number of pairs.

    Parameters
    ----------
    a, b : (n, n)
        Queries in rows, keys in columns.
    causal
        Whether to compare only the pairs whose key is not after the query, without those of query
        0, which attends only to itself; otherwise all pairs.
    first
        The position of the first row.

    Returns
    -------
    float or None
        Pearson's correlation; None for fewer than three pairs or a constant pattern.
    int
        Number of pairs.
    """
    n = len(a)
    pairs = np.tri(n, dtype=bool) if causal else np.ones((n, n), bool)
    if causal and first == 0:
        pairs[:1] = False
    x, y = (np.asarray(values, np.float64)[pairs] for values in (a, b))
    if len(x) < MIN_PAIRS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, len(x)
    return float(np.corrcoef(x, y)[0, 1]), len(x)


def to_json(run: PromptRun) -> dict[str, Any]:
    """Return a run as JSON, with attention without the change as base64 of float16."""
    half = np.ascontiguousarray(run.attention, "<f2")
    return {
        "text": run.text,
        "ids": run.ids,
        "texts": run.texts,
        "causal": run.causal,
        "change": run.change,
        "next_tokens": [asdict(token) for token in run.next_tokens],
        "moved": run.moved,
        "shape": half.shape,
        "attention": b64encode(half.tobytes()).decode(),
    }


def from_json(run: Mapping[str, Any]) -> PromptRun:
    """Return the run of :func:`to_json`, without attention after the change."""
    half = np.frombuffer(b64decode(run["attention"]), "<f2").reshape(run["shape"])
    return PromptRun(
        run["text"],
        tuple(run["ids"]),
        tuple(run["texts"]),
        run["causal"],
        run["change"],
        tuple(NextToken(**token) for token in run["next_tokens"]),
        run["moved"],
        half.astype(np.float32),
    )


def _split(network: RunnableNetwork, text: str) -> TokenizedPrompt:
    """Return the tokens of a text, split as the windows of texts."""
    ids = network.tokenizer.encode(text)
    return TokenizedPrompt(tuple(ids), tuple(map(network.tokenizer.text_of, ids)))


def _text_of(network: RunnableNetwork, model: PositionalModel | None) -> Callable[[int], str]:
    if model is None:
        return network.tokenizer.text_of
    return lambda token: model.token_text(token) or ""


def _check(
    network: RunnableNetwork, tokens: TokenizedPrompt, expected: Sequence[int] | None
) -> None:
    """Raise InsideError if there are no tokens, too many, or others than expected."""
    if not tokens.ids:
        raise InsideError("The text has no tokens.", "Enter another text.")
    if expected is not None and tokens.ids != tuple(expected):
        raise InsideError(
            "The text has other tokens than when it was split: the tokenizer has changed.",
            "Open the model again.",
        )
    network.check_tokens("The text", tokens.ids)
    count, longest = len(tokens.ids), network.longest
    if longest is not None and count > longest:
        raise InsideError(f"The text has {count} tokens; {network.name} takes {longest}.", SHORTER)
    heads = getattr(network.module.config.get_text_config(), "num_attention_heads", 1)
    limit = max_tokens(len(network.blocks) * heads)
    if count > limit:
        raise InsideError(
            f"The text has {count} tokens; attention of {network.name} is kept for up to {limit}.",
            SHORTER,
        )


def _place(
    network: RunnableNetwork,
    model: PositionalModel | None,
    layer: str | None,
    count: int,
    length: int | None,
    seed: int,
) -> tuple[Place, int]:
    """Return the place of a change, with at least as many rows as the text has tokens."""
    if model is None:
        return find_place(network, layer, max(length or LONGEST, count), seed)
    size = max(length or usual_length(model.n_positions), count)
    return find_place(network, model, min(size, model.n_positions), seed)


def _forward(
    network: RunnableNetwork, ids: Sequence[int], device: str
) -> tuple[Array | None, Patterns]:
    """Return the next token's probabilities, None for an encoder, and attention."""
    import torch

    tokens = torch.tensor([ids], device=device)
    with enough_memory(SHORTER), torch.inference_mode():
        output = network.module(input_ids=tokens, output_attentions=True)
        layers = patterns_of(network, output, "Use another model.")
        attention = torch.cat(layers).float().cpu().numpy()
    probabilities: Array | None = None
    if network.head:
        probabilities = output.logits[0, -1].double().softmax(dim=-1).cpu().numpy()
    if not np.isfinite(attention).all():
        raise InsideError(f"Attention of {network.name} has numbers that are not finite.")
    return probabilities, attention


def _likeliest(
    before: Array, after: Array | None, top: int, text_of: Callable[[int], str]
) -> tuple[NextToken, ...]:
    largest = before if after is None else np.maximum(before, after)
    chosen = np.argsort(-largest, kind="stable")[:top]
    chosen = chosen[np.argsort(-before[chosen], kind="stable")]
    return tuple(
        NextToken(
            token,
            text_of(token),
            float(before[token]),
            None if after is None else float(after[token]),
        )
        for token in chosen.tolist()
    )
