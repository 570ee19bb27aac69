"""What positions do: the loss of a network after its table of positions was changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.emergent.interventions import Table, find_change
from geometry.emergent.network import RunnableNetwork, load_network
from geometry.emergent.settings import EmergentError
from geometry.emergent.windows import Window, draw_windows, find_texts
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
    """

    baseline: float | None
    effects: tuple[Effect, ...]
    windows: int


def intervene(
    source: str,
    texts: Path | str,
    changes: Sequence[str],
    *,
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
        A model with a table of positions, complete on this machine.
    texts
        A file, or a folder of .txt and .md files.
    changes
        Names, see :func:`geometry.emergent.interventions.find_change`.
    length, texts_at_most, seed, device
        As for :func:`geometry.emergent.positions_run.measure_positions`.
    tell
        Called with the change under way, the number of those done, and of all; may raise to stop.
    found
        Called with each effect, when it is measured.

    Raises
    ------
    HelixscopeError
        The network cannot be loaded or has no table of positions, a change is unknown, or the
        texts are too short.
    """
    wanted = [(name, find_change(name)) for name in changes]
    model = open_source(source)
    network = load_network(source, device=device, head=True)
    weight, first = find_table(network, model)
    size = min(length, network.longest or length)
    windows = draw_windows(find_texts(Path(texts)), network.splitter, size, texts_at_most, seed)
    table = Table(model.W_pos, size, _embeddings(model), seed)
    say, note = tell or (lambda *_: None), found or (lambda _: None)
    say("as it is", 0, len(wanted))
    states: list[Array] = []
    plain = _measure(network, windows, device, keep=states)
    effects = []
    for done, (name, change) in enumerate(wanted):
        say(name, done, len(wanted))
        try:
            changed = change(table)
        except EmergentError as error:
            nothing = float("nan")
            effects.append(Effect(name, nothing, nothing, nothing, str(error)))
        else:
            with _replaced(weight, first, changed):
                values = _measure(network, windows, device, against=states)
            deltas = values - plain if network.head else values
            effects.append(Effect(name, *_interval(deltas, seed)))
        note(effects[-1])
    baseline = float(plain.mean()) if network.head else None
    return Effects(baseline, tuple(effects), len(windows))


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
