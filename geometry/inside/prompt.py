"""A text in a network: its next token and its attention, before and after a change of positions."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geometry.inside.intervene import Place, enough_memory, find_place, patterns_of
from geometry.inside.interventions import LONGEST, find_change, usual_length
from geometry.inside.network import RunnableNetwork, load_network
from geometry.inside.settings import InsideError
from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model
from geometry.models.tokens import FastTokenizer, TokenizedPrompt
from geometry.pca.components import Array

if TYPE_CHECKING:
    import torch

MOST_WEIGHTS = 2**24
"""Attention weights of all heads, T² each: 341 tokens of GPT-2 small, 64 MiB of float32."""
LEAST_PAIRS = 3
"""Pairs of tokens over which a correlation means something."""
TOP = 10
"""Next tokens that are returned."""
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
        Its probability in the network as it is, and after the change; the latter None without one.
    """

    token: int
    text: str
    before: float
    after: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class PromptRun:
    """What a network makes of a text.

    Attributes
    ----------
    text
        It.
    ids, texts
        Its T tokens.
    causal
        Whether each token sees only those before it.
    change
        Name of the change; None without one.
    next_tokens
        Those of the largest probability, before or after the change, the likeliest before first.
        Empty for an encoder, which predicts no next token.
    moved
        Total variation distance of the next token's distributions before and after, from 0 for the
        same to 1; None for an encoder, or without a change.
    attention : (n_layers, n_heads, T, T) float32
        Of the network as it is: queries in rows, which sum to 1, and keys in columns.
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
    tell: Callable[[str, int, int], None] | None = None,
) -> PromptRun:
    """Run a text through a network as it is, and with one change of its positions.

    The text is split as :meth:`geometry.models.model.PositionalModel.tokenize` does: into at most
    as many tokens as there are positions, with a beginning-of-text token where the family uses one.

    Parameters
    ----------
    source
        A model that is complete on this machine.
    text
        At least one token, and no more than :func:`most_tokens`.
    change
        A name, see :func:`geometry.inside.interventions.find_change`; None for none.
    table
        As for :func:`geometry.models.sources.opening.open_model`.
    layer
        As for :func:`geometry.inside.intervene.intervene`: pos(t) in a layer is changed in place
        of the table, and the text is split as the windows of that run.
    length
        Rows of the table that the change is made of, as in a window of so many tokens, and at
        least the text's; as many as in the Effects panel at first if None.
    ids
        The tokens that the text has to have; None for any.
    top
        Number of next tokens.
    seed, device
        Of random changes; of torch.
    tell
        Called with the pass under way, the number of passes done, and of all; may raise to stop.

    Raises
    ------
    HelixscopeError
        The network cannot be loaded, lacks its head or, for a change, a table of positions; the
        change is unknown or impossible; the text is empty, too long, or has other tokens.
    """
    made = None if change is None else find_change(change)
    if not text:
        raise InsideError("The text is empty.", "Enter a text.")
    model = open_model(source, table=table) if layer is None else None
    say, passes = tell or (lambda *_: None), 1 if made is None else 2
    say("Loading the network", 0, passes)
    network = load_network(source, device=device, head=True, attention=True)
    tokens = model.tokenize(text) if model is not None else _split(network, text)
    _check(network, tokens, ids)
    say("as it is", 0, passes)
    before, attention = _forward(network, tokens.ids, device)
    after, attention_after = before, None
    if made is not None:
        place, size = _place(network, model, layer, len(tokens.ids), length, seed)
        if size < len(tokens.ids):
            raise InsideError(
                f"The text has {len(tokens.ids)} tokens; positions were measured in windows of "
                f"{size}.", SHORTER,
            )  # fmt: skip
        rows = made(place.table)
        if layer is not None:  # special tokens at the end have no position there
            end = len(tokens.ids) - len(network.splitter.after)
            rows[end:] = place.table.P[end:]
        say(str(change), 1, passes)
        with place.put(rows):
            after, attention_after = _forward(network, tokens.ids, device)
    found: tuple[NextToken, ...] = ()
    moved = None
    if before is not None and after is not None:
        found = _likeliest(before, None if made is None else after, top, _text_of(network, model))
        moved = None if made is None else float(np.abs(after - before).sum() / 2)
    return PromptRun(
        text, tokens.ids, tokens.texts, network.causal, change, found, moved, attention,
        attention_after,
    )  # fmt: skip


def most_tokens(n_heads: int) -> int:
    """Return the tokens of the longest text whose attention is kept, given all layers' heads."""
    return isqrt(MOST_WEIGHTS // n_heads)


def correlation(
    one: npt.NDArray[np.floating], other: npt.NDArray[np.floating], *, causal: bool, first: int = 0
) -> tuple[float | None, int]:
    """Return how two patterns of attention correlate, and over how many pairs.

    Parameters
    ----------
    one, other : (n, n)
        Queries in rows, keys in columns.
    causal
        Whether to compare the pairs alone whose key is no later than the query, without those of
        query 0, which attends to itself alone; else all.
    first
        The position of the first row.

    Returns
    -------
    Pearson's correlation, None for fewer than three pairs or a constant pattern; and the pairs.
    """
    n = len(one)
    pairs = np.tri(n, dtype=bool) if causal else np.ones((n, n), bool)
    if causal and first == 0:
        pairs[:1] = False
    x, y = (np.asarray(values, np.float64)[pairs] for values in (one, other))
    if len(x) < LEAST_PAIRS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, len(x)
    return float(np.corrcoef(x, y)[0, 1]), len(x)


def to_json(run: PromptRun) -> dict[str, Any]:
    """Return a run as JSON has it: attention as it is, as base64 of float16."""
    half = np.ascontiguousarray(run.attention, "<f2")
    return {
        "text": run.text,
        "ids": run.ids,
        "texts": run.texts,
        "causal": run.causal,
        "change": run.change,
        "next_tokens": [asdict(one) for one in run.next_tokens],
        "moved": run.moved,
        "shape": half.shape,
        "attention": b64encode(half.tobytes()).decode(),
    }


def from_json(found: Mapping[str, Any]) -> PromptRun:
    """Return the run of :func:`to_json`, without attention after the change."""
    half = np.frombuffer(b64decode(found["attention"]), "<f2").reshape(found["shape"])
    return PromptRun(
        found["text"], tuple(found["ids"]), tuple(found["texts"]), found["causal"],
        found["change"], tuple(NextToken(**one) for one in found["next_tokens"]), found["moved"],
        half.astype(np.float32),
    )  # fmt: skip


def _split(network: RunnableNetwork, text: str) -> TokenizedPrompt:
    """Return the tokens of a text as in a window of texts."""
    tokenizer = FastTokenizer(network.splitter.backend, network.name)
    ids = tokenizer.encode(text)
    return TokenizedPrompt(tuple(ids), tuple(map(tokenizer.text_of, ids)))


def _text_of(network: RunnableNetwork, model: PositionalModel | None) -> Callable[[int], str]:
    if model is None:
        return FastTokenizer(network.splitter.backend, network.name).text_of
    return lambda token: model.token_text(token) or ""


def _check(
    network: RunnableNetwork, tokens: TokenizedPrompt, expected: Sequence[int] | None
) -> None:
    """Raise an error for tokens that are none, other ones, or too many."""
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
    most = most_tokens(len(network.blocks) * heads)
    if count > most:
        raise InsideError(
            f"The text has {count} tokens; attention of {network.name} is kept for up to {most}.",
            SHORTER,
        )


def _place(
    network: RunnableNetwork, model: PositionalModel | None, layer: str | None, count: int,
    length: int | None, seed: int,
) -> tuple[Place, int]:  # fmt: skip
    """Return where a change is made, of at least so many rows as the text has tokens."""
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
    probabilities = _softmax(output.logits[0, -1]) if network.head else None
    if not np.isfinite(attention).all():
        raise InsideError(f"Attention of {network.name} has numbers that are not finite.")
    return probabilities, attention


def _softmax(logits: torch.Tensor) -> Array:
    found: Array = logits.double().softmax(dim=-1).cpu().numpy()
    return found


def _likeliest(
    before: Array, after: Array | None, top: int, text_of: Callable[[int], str]
) -> tuple[NextToken, ...]:
    largest = before if after is None else np.maximum(before, after)
    chosen = np.argsort(-largest, kind="stable")[:top]
    chosen = chosen[np.argsort(-before[chosen], kind="stable")]
    return tuple(
        NextToken(
            token, text_of(token), float(before[token]),
            None if after is None else float(after[token]),
        )
        for token in chosen.tolist()
    )  # fmt: skip
