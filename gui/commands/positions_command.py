"""The command `positions`: the positions in each layer of any transformer."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geometry.checkpoints.plain_text import some_of
from geometry.inside.settings import COUNTERS, SAMPLE_TEXTS, PositionsSettings
from gui.commands.arguments import Family, FirstRows, Offline, Table, apart, chosen
from gui.commands.model_download import WholeModel, complete_model
from gui.commands.steps import counting_bar, open_in_step, progress_bar
from gui.commands.terminal import note, print_table, say
from gui.style.theme import format_count, format_number, format_percent

if TYPE_CHECKING:
    from geometry.inside.layers import LayerPositions
    from geometry.inside.positions_run import PositionsResult
    from geometry.inside.published import Compared

Texts = Annotated[
    str,
    typer.Option(
        metavar="PATH", help="sample (the user guide) | text file | folder of .txt and .md files"
    ),
]

_USUAL = PositionsSettings("")
_TITLES = (
    "layer",
    "pos",
    "noise",
    "context",
    "halves’ cosine",
    "energy",
    "token variance",
    "probe’s error",
    "stable rank",
    "rank",
    "relative norm",
    "top 3",
)

_CONTROLS = ("layer", "pos: random", "shuffled", "probe’s error: random", "shuffled", "chance")
_COMPARED = ("layer", "quantity", "published", "ours", "ours, with noise")


def positions(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="sample | hub id[@revision] | folder | GGUF file"),
    ],
    out: Annotated[
        Path, typer.Option(help="Output folder; an interrupted run there is continued.")
    ],
    texts: Texts = SAMPLE_TEXTS,
    length: Annotated[
        int, typer.Option(min=20, help="Tokens of a window; cut to what the model takes.")
    ] = _USUAL.length,
    texts_at_most: Annotated[
        int, typer.Option("--windows", "--texts-at-most", min=4, help="Number of windows of text.")
    ] = _USUAL.texts_at_most,
    counters: Annotated[str, typer.Option(help=f"Of {', '.join(COUNTERS)}.")] = ",".join(
        _USUAL.counters
    ),
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = _USUAL.seed,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    control: Annotated[
        bool,
        typer.Option(
            "--control/--no-control", help="Also measure networks with random and shuffled weights."
        ),
    ] = True,
    control_seeds: Annotated[
        int, typer.Option(min=1, help="Number of networks of each kind of control.")
    ] = _USUAL.control_seeds,
    table: Table = None,
    family: Family = None,
    first_rows: FirstRows = None,
    offline: Offline = False,
    whole: WholeModel = False,
) -> None:
    """Measure the positions in each layer of any transformer, from forward passes over texts.

    Works without a table of positions: rotary, ALiBi, relative or none. "pos" is the share of a
    token's variance that depends on its position, "noise" what sampling adds to it in a mean over
    these texts; positions are resolved where the two halves of the texts agree, with a cosine of
    0.9 or more. "energy" is their variance itself, and "probe's error" the mean distance, in
    positions, between a token and the place that a linear map reads from its state, in texts that
    the map was not fitted to. A chosen table of positions only limits the windows to its length.
    """
    # Set before the import: otherwise the library that reads GGUF files draws its own bar.
    os.environ.setdefault("TQDM_DISABLE", "1")
    from geometry.inside.positions_run import measure_positions
    from geometry.inside.windows import find_texts

    source, table = apart(source, chosen(table, family, first_rows))
    names = tuple(name.strip() for name in counters.split(",") if name.strip())
    settings = PositionsSettings(
        source, texts, length, texts_at_most, names, seed, control, control_seeds
    )
    settings.check()  # before a long download
    find_texts(texts)
    complete_model(source, offline=offline, whole=whole)
    if table is not None:
        settings = _cut_to(settings, table, offline=offline)
    with counting_bar(counted=True) as report:
        result = measure_positions(settings, out, device=device, report=report)
    print_table(_TITLES, [_row(i, layer) for i, layer in enumerate(result.layers)])
    if result.controls:
        print_table(_CONTROLS, [_control_row(result, i) for i in range(len(result.layers))])
    if result.published:
        print_table(_COMPARED, [_compared_row(compared) for compared in result.published])
    for line in remarks(result):
        note(line)
    say(f"Wrote the positions of {len(result.layers)} layers to {out}.")


def _cut_to(settings: PositionsSettings, table: str, *, offline: bool) -> PositionsSettings:
    """Return the settings with windows no longer than the positions of a chosen table."""
    with progress_bar(1) as step:
        model = open_in_step(step, settings.source, table, offline, whole=False, fresh=False)
    return replace(settings, length=min(settings.length, model.n_positions))


def remarks(result: PositionsResult) -> Iterator[str]:
    """Yield sentences that qualify the numbers."""
    weak = [i for i, layer in enumerate(result.layers) if not layer.resolved]
    if weak:
        needed = [result.layers[i].texts_needed for i in weak]
        enough = None if None in needed else max(n for n in needed if n is not None)
        where = f"{len(weak)} of {len(result.layers)} layers"
        advice = (
            "the halves have nothing in common"
            if enough is None
            else (f"about {format_count(enough)} texts would resolve all of them")
        )
        total = format_count(sum(result.windows))
        yield f"Not yet resolved in {where} with {total} texts: {advice}."
    outliers = sorted({position for layer in result.layers for position in layer.outliers})
    if outliers:
        listed = some_of(outliers, 8)
        yield f"Left out as outliers in some layers: positions {listed}."
    if result.random_weights:
        shares = [
            layer.share
            for control in result.controls
            if control.kind == "random"
            for layer in control.layers
        ]
        span = f"{format_percent(min(shares))} to {format_percent(max(shares))}"
        yield (
            f"With random weights, pos is {span} of the variance. Of a model with a table of "
            "positions this follows from the sizes of positions and tokens before training, and is "
            "no null: compare the energy and the probe."
        )
    yield from _layernorm(result)
    if result.published:
        from geometry.inside.published import CONDITIONS, SOURCE

        yield (
            f"Published by {SOURCE} ({CONDITIONS}), from the mean over all texts, which has "
            "sampling noise; the last column is measured in the same way."
        )


def _layernorm(result: PositionsResult) -> Iterator[str]:
    """Yield how much LayerNorm mixes pairs of counters whose halves agree."""
    from statistics import median

    from geometry.inside.mixing import resolved_pairs

    pairs = resolved_pairs(result.counters, result.mixing)
    if pairs:
        ours, rotated, scrambled = (
            format_percent(median(values), 2)
            for values in (
                [pair.mixed for pair in pairs],
                [pair.random_turn["median"] for pair in pairs],
                [pair.scrambled_norms["median"] for pair in pairs],
            )
        )
        yield (
            f"LayerNorm mixes {ours} of the effects of two counters (median over {len(pairs)} "
            f"resolved pairs in all layers); {rotated} if they had random directions, {scrambled} "
            "if their norms varied by a third."
        )
    elif any(result.mixing):
        yield "How LayerNorm mixes counters is not yet resolved: no pair has halves that agree."


def _row(number: int, layer: LayerPositions) -> tuple[str, ...]:
    return (
        str(number),
        format_percent(layer.share),
        format_percent(layer.share_noise),
        format_percent(layer.share_context),
        format_number(layer.halves_cosine),
        _number(layer.energy),
        _number(layer.token_variance),
        _number(layer.probe_error),
        _number(layer.stable_rank),
        "–" if layer.rank is None else str(layer.rank),
        _number(layer.relative_norm),
        "–" if math.isnan(layer.top3) else format_percent(layer.top3),
    )


def _control_row(result: PositionsResult, number: int) -> tuple[str, ...]:
    """Return the lowest and highest numbers of a layer's controls."""

    def span(kind: str, name: str, shown: Callable[[float], str]) -> str:
        of = [getattr(c.layers[number], name) for c in result.controls if c.kind == kind]
        low, high = shown(min(of)), shown(max(of))
        return low if low == high else f"{low}–{high}"

    return (
        str(number),
        *(span(kind, "share", lambda x: format_percent(x, 2)) for kind in ("random", "shuffled")),
        *(span(kind, "probe_error", _number) for kind in ("random", "shuffled")),
        _number(result.layers[number].probe_chance),
    )


def _compared_row(compared: Compared) -> tuple[str, ...]:
    numbers = (compared.published, compared.ours, compared.as_there)
    return str(compared.layer), compared.quantity, *(_number(value) for value in numbers)


def _number(value: float) -> str:
    return "–" if math.isnan(value) else format_number(value)
