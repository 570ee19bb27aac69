"""What positions do: the loss of a network after its positions were changed.

Either its table of positions is changed, or pos(t) in a layer of its residual stream, as a run of
``helixscope positions`` has measured it: h(c, t) becomes h(c, t) + changed(t) − pos(t). Every batch
of windows runs once as it is and once with each change, so that states and attention patterns of
two passes are all that is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import TensorUnavailable
from geometry.inside.interventions import Table, find_change
from geometry.inside.layers import kept_rows
from geometry.inside.network import RunnableNetwork, enough_memory, load_network
from geometry.inside.settings import InsideError
from geometry.inside.windows import Window
from geometry.models.addable_tokens import addable_tokens
from geometry.models.layers import LEARNED
from geometry.models.model import PositionalModel
from geometry.models.sources.layer_tables import (
    LayerStore,
    LayerTables,
    find_layers,
    open_layer,
    read_layers,
)
from geometry.models.sources.locating import local_path
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from geometry.pca.components import Array

if TYPE_CHECKING:
    import torch

BATCH = 2
"""Windows of a forward pass: the logits of more take gigabytes with a large vocabulary."""
DRAWS = 2000
"""Resamplings of the texts for an interval."""
CONFIDENCE = 95.0
FOLLOW_S = 1.0
"""Seconds between partial results: their intervals take time as well."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a change.

    Attributes
    ----------
    name
        Of the change.
    delta, low, high
        Change of the loss in nats per token, or, of an encoder, relative change of its last
        layer's states; with the interval that resampled texts give. NaN if impossible.
    why
        Why the change is impossible for this model, as a sentence; else "".
    attention
        Of each head of each layer: the total variation distance of its attention from that without
        the change, 0 for the same and 1 for disjoint attention, as a mean over windows and over
        queries from position 1 on. Empty if not measured.
    by_window
        delta of each window of text, in the same order for all changes: what two changes differ by
        can be compared in the same windows. Empty if impossible, and in partial results.
    """

    name: str
    delta: float
    low: float
    high: float
    why: str = ""
    attention: tuple[tuple[float, ...], ...] = ()
    by_window: tuple[float, ...] = ()

    def heads(self) -> list[tuple[int, int]]:
        """Return all heads as layer and head, those whose attention changes most first."""
        distances = {
            (layer, head): distance
            for layer, row in enumerate(self.attention)
            for head, distance in enumerate(row)
        }
        return sorted(distances, key=lambda one: -distances[one])


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of changes on a network.

    Attributes
    ----------
    baseline
        Loss without a change, in nats per token; None for an encoder.
    effects
        In the order of the changes.
    windows
        Number of windows of text.
    layer
        Of the residual stream, where pos was changed; None if the table of positions was.
    fingerprint
        That of the changed positions: of the model, or of the layer; "" if unknown.
    """

    baseline: float | None
    effects: tuple[Effect, ...]
    windows: int
    layer: int | None = None
    fingerprint: str = ""

    def of(self, change: str) -> Effect | None:
        """Return the effect of a change; None if it is not measured."""
        return next((effect for effect in self.effects if effect.name == change), None)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Effects:
        """Return the effects of which ``asdict`` made what JSON has."""
        effects = []
        for effect in content["effects"]:
            attention = tuple(map(tuple, effect["attention"]))
            by_window = tuple(effect["by_window"])
            effects.append(Effect(**{**effect, "attention": attention, "by_window": by_window}))
        return cls(**{**content, "effects": tuple(effects)})


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """Where positions are changed.

    Attributes
    ----------
    table
        What changes are made of.
    put
        Puts a changed table into the network while a block runs.
    fingerprint
        Of the model of these positions; see :class:`Effects`.
    layer
        Of the residual stream; None for the table of positions.
    """

    table: Table
    put: Callable[[Array], AbstractContextManager[None]]
    fingerprint: str
    layer: int | None = None


def intervene(
    source: str,
    texts: Path | str,
    changes: Sequence[str],
    *,
    table: str | None = None,
    layer: str | None = None,
    attention: bool = False,
    length: int = 512,
    texts_at_most: int = 64,
    seed: int = 0,
    device: str = "cpu",
    tell: Callable[[str, int, int], None] | None = None,
    follow: Callable[[Effects], None] | None = None,
) -> Effects:
    """Measure what a network loses by changes of its positions; files are never changed.

    Parameters
    ----------
    source
        A model that is complete on this machine; with a table of positions, unless ``layer`` is
        given.
    texts
        A file, or a folder of .txt and .md files; or "sample", the pages of the user guide.
    changes
        Names, see :func:`geometry.inside.interventions.find_change`.
    table
        As for :func:`geometry.models.sources.opening.open_model`.
    layer
        The folder of a finished run of ``helixscope positions`` of this model, with "/layer 3" for
        a layer of the residual stream, whose pos(t) is changed in place of the table; without, for
        the one in which the halves of its texts agree most.
    attention
        Whether to measure how each head's attention changes.
    length, texts_at_most, seed, device
        As for :func:`geometry.inside.positions_run.measure_positions`.
    tell
        Called with the change under way, the number of forward passes done, and of all; may raise
        to stop.
    follow
        Called with the effects over the windows done so far, about every :data:`FOLLOW_S` seconds.

    Raises
    ------
    HelixscopeError
        The network cannot be loaded or has no table of positions, the run is of another model, a
        change is unknown, the texts are too short, or the memory is not enough.
    """
    wanted = {name: find_change(name) for name in changes}
    model = open_model(source, table=table) if layer is None else None
    if model is not None and model.no_table:
        raise InsideError(f"{model.name}: {model.no_table}.", LEARNED)
    network = load_network(source, device=device, head=True, attention=attention)
    longest = min(network.longest or length, length if model is None else model.n_positions, length)
    place, size = find_place(network, layer if model is None else model, longest, seed)
    windows = network.windows_of(texts, size, texts_at_most, seed)
    changed, why = _made(wanted, place.table)
    say = tell or (lambda *_: None)
    batches = [windows[start : start + BATCH] for start in range(0, len(windows), BATCH)]
    told = time.monotonic()
    done, passes = 0, len(batches) * (1 + len(changed))
    losses: list[Array] = []

    def effect(name: str, complete: bool) -> Effect:
        if name in why:
            nothing = float("nan")
            return Effect(name, nothing, nothing, nothing, why[name])
        values = np.concatenate(found[name])
        return Effect(
            name,
            *_interval(values, seed),
            attention=_mean_distances(distances[name]),
            by_window=tuple(values.tolist()) if complete else (),
        )

    def effects(*, complete: bool) -> Effects:
        made = tuple(effect(name, complete) for name in wanted)
        baseline = float(np.concatenate(losses).mean()) if network.head else None
        done = sum(map(len, losses))
        return Effects(baseline, made, done, place.layer, place.fingerprint)

    found: dict[str, list[Array]] = {name: [] for name in changed}
    distances: dict[str, list[list[Array]]] = {name: [] for name in changed}
    for batch in batches:
        say("as it is", done, passes)
        plain = _forward(network, batch, device, attention)
        losses.append(plain.values)
        for name, rows in changed.items():
            done += 1
            say(name, done, passes)
            with place.put(rows):
                after = _forward(network, batch, device, attention)
            found[name].append(_effect(network, plain.values, after.values))
            distances[name].append(attention_distances(plain.patterns, after.patterns))
        done += 1
        if follow is not None and time.monotonic() - told > FOLLOW_S:
            follow(effects(complete=False))
            told = time.monotonic()
    return effects(complete=True)


def _made(
    wanted: Mapping[str, Callable[[Table], Array]], table: Table
) -> tuple[dict[str, Array], dict[str, str]]:
    """Return changed tables by name, and why the others cannot be made."""
    changed, why = {}, {}
    for name, change in wanted.items():
        try:
            changed[name] = change(table)
        except InsideError as error:
            why[name] = str(error)
    return changed, why


def find_place(
    network: RunnableNetwork, where: PositionalModel | str | None, size: int, seed: int = 0
) -> tuple[Place, int]:
    """Return where positions are changed, and the tokens of a window.

    Parameters
    ----------
    network
        What runs.
    where
        The model of the network's table; or ``layer`` of :func:`intervene`.
    size, seed
        Tokens of a window, of a layer at most those of the run's windows; of random changes.

    Raises
    ------
    InsideError
        The network has no such table, or there is no such run or layer.
    """
    if not isinstance(where, PositionalModel):
        return _layer_place(network, str(where), size, seed)
    weight, first = find_table(network, where)
    table = Table(where.W_pos, size, _embeddings(where), seed)
    return Place(table, lambda rows: _replaced(weight, first, rows), where.fingerprint), size


def _layer_place(network: RunnableNetwork, path: str, size: int, seed: int) -> tuple[Place, int]:
    """Return a layer of a finished run, and the tokens of a window, at most those of the run's.

    Raises InsideError: there is no such run or layer, or it is one of another model.
    """
    import torch

    source = Source.parse(path)
    found = find_layers(local_path(source))
    if found is None:
        raise InsideError(
            f"{path!r} is no finished run of `helixscope positions`.",
            "Measure the positions of this model first.",
        )
    tables = read_layers(found[0])
    n_layers, length, d_model = tables.shape
    layer = tables.clearest() if found[1] is None else found[1]
    if (tables.name, n_layers, d_model) != (network.name, network.n_layers, network.d_model):
        raise InsideError(
            f"{path!r} has the positions of {tables.name}, not of {network.name}.",
            "Measure the positions of this model.",
        )
    if layer >= n_layers:
        raise InsideError(
            f"{tables.name} has the layers 0 to {n_layers - 1}; there is no layer {layer}."
        )
    size = min(size, length)
    vectors = network.module.get_input_embeddings().weight.detach().float().cpu().numpy()
    E = vectors if vectors.shape[1] == d_model else None
    table = layer_table(tables, layer, size, E, seed)

    def put(changed: Array) -> AbstractContextManager[None]:
        by = (changed - table.P)[: table.length]
        return network.moved(layer, torch.from_numpy(by))

    return Place(table, put, open_layer(found[0], layer, source).fingerprint, layer), size


def layer_table(
    tables: LayerTables,
    layer: int,
    length: int,
    E: npt.NDArray[np.floating] | None = None,
    seed: int = 0,
) -> Table:
    """Return pos(t) of a layer as what changes are made of.

    Parameters
    ----------
    tables, layer
        A run's, and the layer.
    length
        Tokens of a window, special ones included.
    E, seed
        As for :class:`geometry.inside.interventions.Table`.
    """
    n = tables.shape[1]
    before = next(i for i in range(n) if i not in tables.special)
    after = len(tables.special) - before
    # Special tokens at the end stand elsewhere in shorter windows; no position of theirs changes.
    P = tables.table(layer).astype(np.float64)[: n - after]
    special = tuple(range(before))
    sinks = tuple(sorted({0, *special, *kept_rows(P, special)[1]}))
    return Table(P, min(length, n) - after, E, seed, special=before, sinks=sinks)


def table_of(
    model: PositionalModel,
    length: int,
    E: npt.NDArray[np.floating] | None = None,
    seed: int = 0,
) -> Table:
    """Return a model's positions as what changes are made of: its table, or pos(t) of a layer.

    Parameters
    ----------
    length
        Tokens of a window: only these rows are changed.
    E, seed
        As for :class:`geometry.inside.interventions.Table`.
    """
    store = model.store
    if isinstance(store, LayerStore):
        return layer_table(store.tables, store.layer, length, E, seed)
    return Table(model.W_pos, min(length, model.n_positions), E, seed)


def changed_table(
    model: PositionalModel, change: str, length: int | None = None, seed: int = 0
) -> Array:
    """Return a model's positions after a change.

    Parameters
    ----------
    change
        Its name, see :func:`geometry.inside.interventions.find_change`.
    length
        Tokens of a window: only these rows are changed; all rows if None.
    seed
        Of random changes.

    Returns
    -------
    (n_positions, d_model) float64; of a layer without special tokens at the end

    Raises
    ------
    InsideError
        There is no such change, or it is impossible for this model.
    """
    E = _embeddings(model) if change == "into E" else None
    return find_change(change)(table_of(model, length or model.n_positions, E, seed))


def find_table(network: RunnableNetwork, model: PositionalModel) -> tuple[Any, int]:
    """Return a network's table of positions, and its row for position 0.

    Raises InsideError: it has none, as with computed positions.
    """
    # Rows of lags are no positions.
    for name, weight in () if model.lags is not None else network.module.named_parameters():
        if name.endswith(model.table) or model.table.endswith(name):
            rows = weight.shape[0] - model.n_positions
            own = weight.detach().cpu().double().numpy()
            if rows >= 0 and weight.shape[1] == model.d_model:
                for first in sorted({0, rows, max(0, min(model.prefix_rows, rows))}):
                    if np.allclose(own[first : first + model.n_positions], model.W_pos, atol=1e-5):
                        return weight, first
    raise InsideError(
        f"{model.name} has no table of learned positions that can be changed.",
        "Use a model with learned positions, such as GPT-2.",
    )


def _embeddings(model: PositionalModel) -> Any:
    try:
        return addable_tokens(model)
    except TensorUnavailable:
        return None


@contextmanager
def _replaced(weight: torch.nn.Parameter, first: int, table: Array) -> Iterator[None]:
    """Put a table into the network while the block runs."""
    import torch

    before = weight.detach().clone()
    try:
        with torch.no_grad():
            rows = torch.from_numpy(table).to(weight.device, weight.dtype)
            weight[first : first + len(rows)] = rows
        yield
    finally:
        with torch.no_grad():
            weight.copy_(before)


@dataclass(frozen=True, eq=False, slots=True)
class _Pass:
    """A forward pass over a batch.

    Attributes
    ----------
    values
        Losses, (batch,); of an encoder its last states, (batch, length, d_model).
    patterns
        Attention of each layer, (batch, n_heads, length, length); empty if not asked for.
    """

    values: Array
    patterns: tuple[torch.Tensor, ...]


def _forward(
    network: RunnableNetwork, batch: Sequence[Window], device: str, attention: bool
) -> _Pass:
    import torch

    tokens = torch.from_numpy(np.stack([one.ids for one in batch])).to(device)
    asked = {"output_attentions": True} if attention else {}
    with enough_memory(), torch.inference_mode():
        output = network.module(input_ids=tokens, **asked)
        if network.head:
            losses = torch.nn.functional.cross_entropy(
                output.logits[:, :-1].float().transpose(1, 2), tokens[:, 1:], reduction="none"
            )
            values = losses.mean(dim=1)
        else:
            values = output.last_hidden_state.float()
    patterns = patterns_of(network, output, "Measure the loss alone.") if attention else ()
    return _Pass(values.cpu().double().numpy(), patterns)


def patterns_of(network: RunnableNetwork, output: Any, advice: str) -> tuple[torch.Tensor, ...]:
    """Return the attention of each layer, (batch, n_heads, length, length).

    Raises InsideError: the network's output has none.
    """
    patterns = tuple(output.attentions or ())
    if not patterns or any(one is None for one in patterns):
        raise InsideError(f"{network.name} does not return its attention.", advice)
    return patterns


def _effect(network: RunnableNetwork, plain: Array, changed: Array) -> Array:
    """Return the change of each window's loss; of an encoder the relative one of its states."""
    if network.head:
        return changed - plain
    spread = plain - plain.mean(axis=(0, 1))
    difference: Array = np.linalg.norm(changed - plain, axis=(1, 2))
    size: Array = np.linalg.norm(spread, axis=(1, 2))
    return difference / size


def attention_distances(
    plain: Sequence[torch.Tensor], changed: Sequence[torch.Tensor]
) -> list[Array]:
    """Return how far each head's attention is from that without a change.

    Parameters
    ----------
    plain, changed
        Attention of each layer, (batch, n_heads, length, length); rows are queries and sum to 1.

    Returns
    -------
    For each layer (batch, n_heads): the total variation distance, from 0 to 1, as a mean over
    queries. That of position 0 is left out: with a causal mask it attends to itself alone.
    """
    return [
        ((one - other).abs().sum(dim=-1) / 2)[..., 1:].mean(dim=-1).cpu().double().numpy()
        for one, other in zip(plain, changed, strict=True)
    ]


def _mean_distances(batches: Sequence[Sequence[Array]]) -> tuple[tuple[float, ...], ...]:
    """Return the mean over windows for each layer and head."""
    by_layer = zip(*batches, strict=True)
    return tuple(tuple(np.concatenate(one).mean(axis=0).tolist()) for one in by_layer)


def _interval(values: Array, seed: int) -> tuple[float, float, float]:
    """Return the mean over texts, and its interval over resampled texts."""
    return float(values.mean()), *interval_of(resampled_means(values, seed))


def resampled_means(values: Array, seed: int = 0) -> Array:
    """Return the means over resampled texts, (:data:`DRAWS`,).

    With one seed, values of as many texts are resampled alike, so that their means are paired.
    """
    random = np.random.default_rng(seed)
    drawn: Array = values[random.integers(len(values), size=(DRAWS, len(values)))].mean(axis=1)
    return drawn


def interval_of(drawn: Array) -> tuple[float, float]:
    """Return the interval of :data:`CONFIDENCE` per cent of some draws."""
    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(drawn, (tail, 100 - tail))
    return float(low), float(high)
