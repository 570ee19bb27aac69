"""What positions do: the loss of a network after its positions were changed.

Either its table of positions is changed, or pos(t) in a layer of its residual stream, as a run of
``helixscope positions`` has measured it: h(c, t) becomes h(c, t) + changed(t) − pos(t).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.emergent.interventions import Table, find_change
from geometry.emergent.layers import kept_rows
from geometry.emergent.network import RunnableNetwork, load_network
from geometry.emergent.settings import EmergentError
from geometry.emergent.windows import Window, draw_windows, find_texts
from geometry.models.layer_tables import find_layers, read_layers
from geometry.models.model import PositionalModel
from geometry.models.sources import open_source
from geometry.pca.components import Array

if TYPE_CHECKING:
    import torch

BATCH = 2
"""Windows of a forward pass: the logits of more take gigabytes with a large vocabulary."""
DRAWS = 2000
"""Resamplings of the texts for an interval."""
CONFIDENCE = 95.0


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
    """

    name: str
    delta: float
    low: float
    high: float
    why: str = ""


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
    """

    baseline: float | None
    effects: tuple[Effect, ...]
    windows: int
    layer: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """Where positions are changed.

    Attributes
    ----------
    table
        What changes are made of.
    put
        Puts a changed table into the network while a block runs.
    layer
        Of the residual stream; None for the table of positions.
    """

    table: Table
    put: Callable[[Array], AbstractContextManager[None]]
    layer: int | None = None


def intervene(
    source: str,
    texts: Path | str,
    changes: Sequence[str],
    *,
    layer: str | None = None,
    length: int = 512,
    texts_at_most: int = 64,
    seed: int = 0,
    device: str = "cpu",
    tell: Callable[[str, int, int], None] | None = None,
    found: Callable[[Effect], None] | None = None,
) -> Effects:
    """Measure what a network loses by changes of its positions; files are never changed.

    Parameters
    ----------
    source
        A model that is complete on this machine; with a table of positions, unless ``layer`` is
        given.
    texts
        A file, or a folder of .txt and .md files.
    changes
        Names, see :func:`geometry.emergent.interventions.find_change`.
    layer
        The folder of a finished run of ``helixscope positions`` of this model, with "/layer 3" for
        a layer of the residual stream, whose pos(t) is changed in place of the table; without, for
        the one in which the halves of its texts agree most.
    length, texts_at_most, seed, device
        As for :func:`geometry.emergent.positions_run.measure_positions`.
    tell
        Called with the change under way, the number of those done, and of all; may raise to stop.
    found
        Called with each effect, when it is measured.

    Raises
    ------
    HelixscopeError
        The network cannot be loaded or has no table of positions, the run is of another model, a
        change is unknown, or the texts are too short.
    """
    wanted = [(name, find_change(name)) for name in changes]
    model = open_source(source) if layer is None else None
    network = load_network(source, device=device, head=True)
    size = min(length, network.longest or length)
    if model is None:
        place, size = _layer_place(network, str(layer), size, seed)
    else:
        place = _table_place(network, model, size, seed)
    windows = draw_windows(find_texts(texts), network.splitter, size, texts_at_most, seed)
    say = tell or (lambda *_: None)
    say("as it is", 0, len(wanted))
    states: list[Array] = []
    plain = _measure(network, windows, device, keep=states)
    effects = []
    for done, (name, change) in enumerate(wanted):
        say(name, done, len(wanted))
        try:
            changed = change(place.table)
        except EmergentError as error:
            nothing = float("nan")
            effects.append(Effect(name, nothing, nothing, nothing, str(error)))
            continue
        with place.put(changed):
            values = _measure(network, windows, device, against=states)
        deltas = values - plain if network.head else values
        effects.append(Effect(name, *_interval(deltas, seed)))
    baseline = float(plain.mean()) if network.head else None
    return Effects(baseline, tuple(effects), len(windows), place.layer)


def _table_place(network: RunnableNetwork, model: PositionalModel, size: int, seed: int) -> Place:
    """Return the network's table of positions, for windows of a size."""
    weight, first = find_table(network, model)
    table = Table(model.W_pos, size, _embeddings(model), seed)
    return Place(table, lambda changed: _replaced(weight, first, changed))


def _layer_place(network: RunnableNetwork, path: str, size: int, seed: int) -> tuple[Place, int]:
    """Return a layer of a finished run, and the tokens of a window, at most those of the run's.

    Raises
    ------
    EmergentError
        There is no such run or layer, or it is one of another model.
    """
    import torch

    found = find_layers(Path(path).expanduser())
    if found is None:
        raise EmergentError(
            f"{path!r} is no finished run of `helixscope positions`.",
            "Measure the positions of this model first.",
        )
    tables = read_layers(found[0])
    n_layers, length, d_model = tables.shape
    layer = tables.clearest() if found[1] is None else found[1]
    if (tables.name, n_layers, d_model) != (network.name, network.n_layers, network.d_model):
        raise EmergentError(
            f"{path!r} has the positions of {tables.name}, not of {network.name}.",
            "Measure the positions of this model.",
        )
    if layer >= n_layers:
        raise EmergentError(
            f"{tables.name} has the layers 0 to {n_layers - 1}; there is no layer {layer}."
        )
    before, after = len(network.splitter.before), len(network.splitter.after)
    size = min(size, length)
    # Special tokens at the end stand elsewhere in shorter windows; no position of theirs changes.
    P = tables.table(layer).astype(np.float64)[: length - after]
    special = tuple(range(before))
    sinks = tuple(sorted({0, *special, *kept_rows(P, special)[1]}))
    vectors = network.module.get_input_embeddings().weight.detach().float().cpu().numpy()
    E = vectors if vectors.shape[1] == d_model else None
    table = Table(P, size - after, E, seed, special=before, sinks=sinks)

    def put(changed: Array) -> AbstractContextManager[None]:
        by = (changed - P)[: table.length]
        return network.moved(layer, torch.from_numpy(by))

    return Place(table, put, layer), size


def find_table(network: RunnableNetwork, model: PositionalModel) -> tuple[Any, int]:
    """Return a network's table of positions, and its row for position 0.

    Raises
    ------
    EmergentError
        It has none, as with computed positions.
    """
    for name, weight in network.module.named_parameters():
        if name.endswith(model.table) or model.table.endswith(name):
            rows = weight.shape[0] - model.n_positions
            own = weight.detach().cpu().double().numpy()
            if rows >= 0 and weight.shape[1] == model.d_model:
                for first in sorted({0, rows}):
                    if np.allclose(own[first : first + model.n_positions], model.W_pos, atol=1e-5):
                        return weight, first
    raise EmergentError(
        f"{model.name} has no table of learned positions that can be changed.",
        "Use a model with learned positions, such as GPT-2.",
    )


def _embeddings(model: PositionalModel) -> Any:
    if "W_E" in model.missing or model.W_E.shape[1] != model.d_model:
        return None
    return model.W_E


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


def _measure(
    network: RunnableNetwork,
    windows: Sequence[Window],
    device: str,
    *,
    keep: list[Array] | None = None,
    against: Sequence[Array] = (),
) -> Array:
    """Return the loss of each window; of an encoder the relative change of its last states.

    Parameters
    ----------
    keep
        Gets an encoder's last states of each batch.
    against
        Those without a change.
    """
    import torch

    found = []
    for number, start in enumerate(range(0, len(windows), BATCH)):
        batch = windows[start : start + BATCH]
        tokens = torch.from_numpy(np.stack([one.ids for one in batch])).to(device)
        with torch.inference_mode():
            output = network.module(input_ids=tokens)
            if network.head:
                losses = torch.nn.functional.cross_entropy(
                    output.logits[:, :-1].float().transpose(1, 2), tokens[:, 1:], reduction="none"
                )
                found.append(losses.mean(dim=1).cpu().double().numpy())
                continue
            last = output.last_hidden_state.float().cpu().double().numpy()
        if keep is not None:
            keep.append(last)
        before = against[number] if against else last
        spread = before - before.mean(axis=(0, 1))
        found.append(
            np.linalg.norm(last - before, axis=(1, 2)) / np.linalg.norm(spread, axis=(1, 2))
        )
    return np.concatenate(found)


def _interval(values: Array, seed: int) -> tuple[float, float, float]:
    """Return the mean over texts, and its interval over resampled texts."""
    random = np.random.default_rng(seed)
    drawn = values[random.integers(len(values), size=(DRAWS, len(values)))].mean(axis=1)
    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(drawn, (tail, 100 - tail))
    return float(values.mean()), float(low), float(high)
