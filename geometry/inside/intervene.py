"""What positions do: the loss of a network after its positions were changed.

Either its table of positions is changed, or pos(t) in a layer of its residual stream, as a run of
``helixscope positions`` has measured it: h(c, t) becomes h(c, t) + changed(t) − pos(t). Every batch
of windows runs once as it is, once with each change and once with each control, so that states and
attention patterns of two passes are all that is kept.

All windows of a batch are from one file, and each batch has draws of its own of random changes and
controls. Resampling the files therefore resamples the draws as well: the intervals include both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.result import result
from geometry.inside.controls import CONTROLS, controls_of
from geometry.inside.effects import Control, Effect, Effects
from geometry.inside.interventions import RANDOM, Table, find_change, shift_of
from geometry.inside.layers import kept_rows
from geometry.inside.network import RunnableNetwork, enough_memory, load_network
from geometry.inside.resampling import Resampling
from geometry.inside.settings import InsideError
from geometry.inside.windows import MIN_LENGTH, Window, corpus_of, find_texts
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
FOLLOW_S = 1.0
"""Seconds between partial results: their intervals take time as well."""


@result
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
        A file, or a folder of .txt and .md files; or "sample", the texts included with Helixscope.
    changes
        Names, see :func:`geometry.inside.interventions.find_change`. Controls are measured with
        them, see :func:`geometry.inside.controls.controls_of`.
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
    say = tell or (lambda *_: None)
    say("Reading the texts", 0, 1)
    run = _Run(network, place, size, seed, device, attention)
    plan = run.plan(wanted)
    # Batches are of one file each.
    windows = sorted(
        network.windows_of(texts, size, texts_at_most, seed), key=lambda window: window.file
    )
    corpus = corpus_of(find_texts(texts))
    batches = [
        of_file[start : start + BATCH]
        for _, one_file in groupby(windows, key=lambda window: window.file)
        for of_file in [list(one_file)]
        for start in range(0, len(of_file), BATCH)
    ]
    last = time.monotonic()
    done, passes = 0, len(batches) * (1 + len(plan))

    def effects(*, complete: bool) -> Effects:
        files = tuple(window.file for window in windows[: run.n_windows])
        effects = Effects(
            run.baseline, (), len(files), place.layer, place.fingerprint, files, corpus, seed
        )
        made = tuple(run.effect(name, effects.resampling, complete) for name in wanted)
        return replace(effects, effects=made)

    for number, batch in enumerate(batches):
        say("as it is", done, passes)
        for step in run.steps(batch, number, plan):
            done += 1
            say(step, done, passes)
        done += 1
        if follow is not None and time.monotonic() - last > FOLLOW_S:
            follow(effects(complete=False))
            last = time.monotonic()
    return effects(complete=True)


class _Spread:
    """The spread of an encoder's last states about their mean, over all windows."""

    def __init__(self) -> None:
        self._tokens, self._sum, self._squares = 0, np.zeros(1), 0.0

    def add(self, states: Array) -> None:
        """Add states, (batch, length, d_model)."""
        self._tokens += states.shape[0] * states.shape[1]
        self._sum = self._sum + states.sum(axis=(0, 1))
        self._squares += float(np.square(states).sum())

    def of(self, length: int) -> float:
        """Return the norm of the deviations in a window of this many tokens."""
        variance = self._squares - float(self._sum @ self._sum) / self._tokens
        return float(np.sqrt(length * variance / self._tokens))


_Step = tuple[str, str]
"""A change, and a key of :data:`geometry.inside.controls.CONTROLS`; "" for the change itself."""


class _Run:
    """Forward passes with changes and their controls, batch by batch.

    Parameters
    ----------
    network, place
        What runs, and where positions are changed.
    size
        Tokens of a window.
    seed, device, attention
        As for :func:`intervene`.
    """

    def __init__(
        self,
        network: RunnableNetwork,
        place: Place,
        size: int,
        seed: int,
        device: str,
        attention: bool,
    ) -> None:
        self._network, self._place, self._size = network, place, size
        self._seed, self._device, self._attention = seed, device, attention
        self._changes: dict[str, Callable[[Table], Array]] = {}
        self._made: dict[str, Array] = {}
        self._why: dict[str, str] = {}
        self._cuts: dict[str, int] = {}
        self._losses: list[Array] = []
        self._spread: dict[int, _Spread] = {}
        self._values: dict[_Step, list[Array]] = {}
        self._moved: dict[_Step, list[float]] = {}
        self._distances: dict[_Step, list[list[Array]]] = {}

    def plan(self, wanted: Mapping[str, Callable[[Table], Array]]) -> list[_Step]:
        """Return all passes of a batch; find out which changes are impossible."""
        plan: dict[_Step, None] = {}
        for name, change in wanted.items():
            if self._is_possible(name, change):
                plan[name, ""] = None
                for control in controls_of(name):
                    if control in CONTROLS:
                        plan[name, control] = None
                    elif self._is_possible(control, find_change(control)):
                        plan[control, ""] = None
        for step in plan:
            self._values[step], self._moved[step], self._distances[step] = [], [], []
        return list(plan)

    def _is_possible(self, name: str, change: Callable[[Table], Array]) -> bool:
        self._changes[name], table = change, self._place.table
        cut = max(0, shift_of(name) + table.length - len(table.P))
        if self._size - cut >= MIN_LENGTH + self._network.splitter.n_special:
            self._cuts[name] = cut
            table = replace(table, length=table.length - cut) if cut else table
        try:
            self._made[name] = change(table)
        except InsideError as error:
            self._why[name] = str(error)
        return name not in self._why

    def _rows(self, step: _Step, draw: int) -> Array:
        """Return the rows of a change or a control."""
        name, control = step
        table = self._place.table
        rows = self._made[name] if name not in RANDOM else self._changes[name](table.drawn(draw))
        if not control:
            return rows
        moved = np.flatnonzero((rows != table.P).any(axis=1))
        random = np.random.default_rng((self._seed, draw, 1))
        controlled = table.P.copy()
        controlled[moved] = CONTROLS[control](table.P[moved], rows[moved], random)
        return controlled

    def steps(self, batch: Sequence[Window], draw: int, plan: Sequence[_Step]) -> Iterator[str]:
        """Run a batch; yield the change whose pass begins."""
        ids = np.stack([window.ids for window in batch])
        plain: dict[int, _Pass] = {}
        for cut in sorted({0, *(self._cuts[name] for name, _ in plan)}):
            plain[cut] = self._forward(ids, cut)
            if not self._network.head:
                self._spread.setdefault(cut, _Spread()).add(plain[cut].values)
        self._losses.append(plain[0].values if self._network.head else np.zeros(len(batch)))
        table = self._place.table
        size = float(np.linalg.norm(table.P[table.rows])) or 1.0
        for step in plan:
            yield step[0]
            cut, rows = self._cuts[step[0]], self._rows(step, draw)
            with self._place.put(rows):
                after = self._forward(ids, cut)
            difference = after.values - plain[cut].values
            self._values[step].append(
                difference if self._network.head else np.linalg.norm(difference, axis=(1, 2))
            )
            self._moved[step].append(float(np.linalg.norm(rows - table.P)) / size)
            self._distances[step].append(attention_distances(plain[cut].patterns, after.patterns))

    def _forward(self, ids: npt.NDArray[np.int64], cut: int) -> _Pass:
        """Run windows without ``cut`` of their last tokens before the special ones."""
        end = ids.shape[1] - len(self._network.splitter.after)
        kept = np.concatenate([ids[:, : end - cut], ids[:, end:]], axis=1)
        return _forward(self._network, kept, self._device, self._attention)

    @property
    def n_windows(self) -> int:
        """Number of windows done."""
        return sum(map(len, self._losses))

    @property
    def baseline(self) -> float | None:
        """Mean loss so far without a change; None for an encoder."""
        return float(np.concatenate(self._losses).mean()) if self._network.head else None

    def effect(self, name: str, texts: Resampling, complete: bool) -> Effect:
        """Return the effect of a change in the windows done, with its controls."""
        if name in self._why:
            nothing = float("nan")
            return Effect(name, nothing, nothing, nothing, self._why[name])
        own, cut = (name, ""), self._cuts[name]
        values = self._costs(own)
        controls = []
        for control in controls_of(name):
            step = (name, control) if control in CONTROLS else (control, "")
            if step in self._values:
                others = self._costs(step)
                difference = texts.estimate(values - others)
                measured = self._measured(step, others, texts, complete)
                controls.append(Control(control, difference=difference, **measured))
        return Effect(
            name,
            length=self._size - cut if cut else None,
            controls=tuple(controls),
            **self._measured(own, values, texts, complete),
        )

    def _costs(self, step: _Step) -> Array:
        """Return what a change or a control costs in each window done."""
        values = np.concatenate(self._values[step])
        if self._network.head:
            return values
        cut = self._cuts[step[0]]
        costs: Array = values / self._spread[cut].of(self._size - cut)
        return costs

    def _measured(
        self, step: _Step, costs: Array, texts: Resampling, complete: bool
    ) -> dict[str, Any]:
        delta, low, high = texts.estimate(costs)
        moved = self._moved[step]
        return {
            "delta": delta,
            "low": low,
            "high": high,
            "displacement": float(np.sqrt(np.mean(np.square(moved)))),
            "draws": len(moved) if step[1] or step[0] in RANDOM else 1,
            "attention": _mean_distances(self._distances[step]),
            "by_window": tuple(costs.tolist()) if complete else (),
        }


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


@result
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
    network: RunnableNetwork, ids: npt.NDArray[np.int64], device: str, attention: bool
) -> _Pass:
    import torch

    tokens = torch.from_numpy(ids).to(device)
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
