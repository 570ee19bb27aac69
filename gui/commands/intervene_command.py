"""The command `intervene`: how much a network loses when its positions are changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geometry.inside.settings import SAMPLE_TEXTS
from gui.commands.arguments import Family, FirstRows, Offline, Table, apart, chosen
from gui.commands.model_download import WholeModel, complete_model
from gui.commands.positions_command import Texts
from gui.commands.steps import counting_bar
from gui.commands.terminal import note, print_table, say
from gui.style.theme import format_number, format_percent

if TYPE_CHECKING:
    from geometry.inside.effects import Effect, Effects

HEADS = 3
"""Number of heads printed for each change."""


def intervene(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="sample | hub id[@revision] | folder")
    ],
    texts: Texts = SAMPLE_TEXTS,
    out: Annotated[Path | None, typer.Option(help=".json file to write as well.")] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            metavar='"RUN/layer N"',
            help="Change pos in this layer, as `positions` has measured it; default: the table.",
            show_default=False,
        ),
    ] = None,
    length: Annotated[
        int, typer.Option(min=20, help="Tokens of a window; cut to what the model takes.")
    ] = 512,
    texts_at_most: Annotated[
        int,
        typer.Option("--windows", "--texts-at-most", min=4, help="Number of windows of text."),
    ] = 64,
    changes: Annotated[
        str | None,
        typer.Option(
            help='Changes, separated by commas: "top 3", "without 1-3", "shift 1", "fitted helix", '
            "…; default: all.",
            show_default=False,
        ),
    ] = None,
    attention: Annotated[
        bool,
        typer.Option("--attention", help="Also measure how the attention of each head changes."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    table: Table = None,
    family: Family = None,
    first_rows: FirstRows = None,
    offline: Offline = False,
    whole: WholeModel = False,
) -> None:
    """Change the positions of a model, and measure what it loses by each change.

    Either its learned table of positions is changed, or, of any model, pos in a layer of its
    residual stream: the mean at each position, as the command positions has measured it. The loss
    is that of predicting the next token, in nats per token; of an encoder it is the relative change
    of its last layer's states. Beside it is the same of a displacement as large, which leaves alone
    what the change is about. Intervals of 95 % are over the files of the texts. Files of the model
    are never changed.
    """
    from geometry.inside.effects_file import write_effects
    from geometry.inside.intervene import intervene as run
    from geometry.inside.interventions import USUAL, find_change
    from geometry.inside.windows import find_texts
    from gui.services.effects import over

    os.environ.setdefault("TQDM_DISABLE", "1")  # see positions_command
    if out is not None and out.suffix.lower() != ".json":
        raise typer.BadParameter("must end in .json", param_hint="--out")
    source, table = apart(source, chosen(table, family, first_rows))
    if table is not None and layer is not None:
        options = "--table, --family, --first-rows"
        raise typer.BadParameter("a layer is changed, and no table", param_hint=options)
    names = USUAL if changes is None else _names(changes)
    for name in names:  # before a long download
        find_change(name)
    find_texts(texts)
    complete_model(source, offline=offline, whole=whole, with_table=layer is None, table=table)
    with counting_bar(counted=True) as report:
        effects = run(
            source,
            texts,
            names,
            table=table,
            layer=layer,
            attention=attention,
            length=length,
            texts_at_most=texts_at_most,
            seed=seed,
            device=device,
            tell=report,
        )
    more = ("attention", "most in heads") * attention
    titles = ("change", "effect", "from", "to", "control", "remains", "from", "to", *more)
    print_table(titles, [_row(effects, effect) for effect in effects.effects])
    if effects.baseline is None:
        note(f"Relative change of the last layer’s states, over {effects.windows} windows of text.")
    else:
        loss = format_number(effects.baseline)
        note(f"Loss as it is: {loss} nats per token, over {effects.windows} windows of text.")
    note(
        "Control: of a displacement of the rows that is as large, and leaves alone what the change "
        f"is about; of several, the nearest. Intervals of 95 % are over {over(effects)}."
    )
    if effects.layer is not None:
        note(f"Changed is pos in layer {effects.layer}{' (the embedding)' * (effects.layer == 0)}.")
    if attention:
        note(
            "Attention: total variation distance from that without the change, 0 to 1, as a mean "
            "over all heads, and in the three heads (layer.head, from 0) that change most."
        )
    for effect in effects.effects:
        if effect.why:
            note(f"{effect.name}: {effect.why}")
        if effect.length is not None:
            note(f"{effect.name}: in windows of {effect.length} tokens.")
    if out is not None:
        write_effects(out, effects)
        say(f"Wrote {out}.")


def _names(changes: str) -> Sequence[str]:
    return [name.strip() for name in changes.split(",") if name.strip()]


def _row(effects: Effects, effect: Effect) -> tuple[str, ...]:
    if effect.why:
        return effect.name, "–", *6 * ("",)
    attention = _attention(effect) if effect.attention else ()
    control = effect.nearest
    others = () if control is None else (control.delta, *control.difference)
    cells = [
        format_percent(number) if effects.baseline is None else format_number(number, 4)
        for number in (effect.delta, effect.low, effect.high, *others)
    ]
    return effect.name, *cells, *("",) * (7 - len(cells)), *attention


def _attention(effect: Effect) -> tuple[str, str]:
    """Return the mean distance, and the heads with the largest distances."""
    heads = effect.heads()
    mean = sum(effect.attention[layer][head] for layer, head in heads) / len(heads)
    largest = ", ".join(
        f"{layer}.{head} {format_number(effect.attention[layer][head], 2)}"
        for layer, head in heads[:HEADS]
    )
    return format_number(mean, 2), largest
