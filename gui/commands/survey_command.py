"""The command `survey`: thousands of checkpoints measured by many processes, one row each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geometry.checkpoints.sizes import size_text
from gui.commands.arguments import (
    Family,
    FirstRows,
    Offline,
    Positions,
    Table,
    Whole,
    check_ending,
    chosen,
    parse_components,
    parse_positions,
)
from gui.commands.steps import counting_bar, progress_bar
from gui.commands.terminal import note, say
from gui.style.theme import format_count

if TYPE_CHECKING:
    from geometry.hub.tensor_cache import TensorCache
    from geometry.survey.populations import Entry
    from geometry.survey.run import Progress


def survey(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="hub id[@revision], of which both may be patterns with * | folder | file | text "
            "file with a source in each line | population",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE.parquet", help="File to write; what it has is not measured."),
    ],
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A Dask cluster, such as tcp://10.0.0.1:8786; default: processes of this machine.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of processes; default: one for each core.")
    ] = None,
    requests: Annotated[
        float,
        typer.Option(min=0.01, help="Bound on requests to the Hub, a second, of all workers."),
    ] = 8.0,
    positions: Positions = None,
    axes: Annotated[
        str, typer.Option(help="Three principal components in which the curve is measured.")
    ] = "1,2,3",
    nulls: Annotated[
        bool, typer.Option("--nulls", help="Also draw null distributions; takes seconds each.")
    ] = False,
    components: Annotated[
        int,
        typer.Option(min=0, help="Number of principal components to write, in half precision."),
    ] = 0,
    time_limit: Annotated[
        float,
        typer.Option(min=0.01, metavar="MINUTES", help="Time that one checkpoint may take."),
    ] = 10.0,
    table: Table = None,
    family: Family = None,
    first_rows: FirstRows = None,
    offline: Offline = False,
    whole: Whole = False,
) -> None:
    """Measure thousands of checkpoints on many processes: one row each, in a Parquet file.

    The rows have the numbers of `table`, and the reason where a checkpoint could not be measured.
    They are written as they come: after Ctrl+C, or if a worker or its cluster is lost, the same
    command goes on where it was.

    Populations: stanford-gpt2, multiberts, multiberts-steps, nine-gpt2, catalogue.
    """
    check_ending(out, (".parquet",), "--out")
    if scheduler is not None and workers is not None:
        raise typer.BadParameter("a cluster has its own workers", param_hint="--workers")
    span, three = parse_positions(positions), parse_components(axes, "--axes")
    table = chosen(table, family, first_rows)

    from geometry.hub.address import endpoint, server_name
    from geometry.models.sources.locating import may_ask_hub
    from geometry.models.sources.source import Source
    from geometry.survey.parts import SurveyFile
    from geometry.survey.rows import Access, RowSettings
    from geometry.survey.run import check_installed, run_survey
    from gui.commands.headless import user_cache

    check_installed()  # before a long list is requested
    cache = user_cache()
    entries = _listed(sources, cache, offline=offline)
    on_hub = any(may_ask_hub(Source.parse(entry.source)) for entry in entries)
    server = server_name(endpoint()) if on_hub else None
    settings = RowSettings(span, three, nulls, components, table, server)
    with SurveyFile(out, settings) as file:
        for sentence in file.damage_notes:
            note(sentence)
        with counting_bar(counted=True) as show:
            show("Starting", 0, len(entries))
            done = run_survey(
                entries,
                file,
                Access(offline, whole, cache.max_bytes, 60 * time_limit),
                scheduler=scheduler,
                workers=workers,
                requests_per_s=requests,
                tell=partial(_show, show),
                announce=lambda link: say(f"Dashboard: {link}"),
            )
    if done.failed:
        note(
            f"{format_count(done.failed)} of {format_count(done.total)} checkpoints could not be "
            "measured: the column error says why."
        )
    say(f"Wrote {out}: {_summary(done)}.")
    if table is not None:
        _check_chosen(out, table, {entry.source for entry in entries})


def _check_chosen(out: Path, table: str, sources: set[str]) -> None:
    """Raise NoSuchTable if none of the checkpoints that could be measured has the chosen table."""
    from geometry.models.sources.opening import NoSuchTable
    from geometry.survey.read import read_survey

    columns = read_survey(out).columns
    requested = [source in sources for source in columns["source"].values]
    measured = columns["table"].known[requested & ~columns["error"].known]
    if measured.size and not measured.any():
        raise NoSuchTable(
            f"No checkpoint has a tensor or side {table!r}: {out} has the rows without it.",
            (),
            "Choose another name for the file, or omit --table.",
        )


def _listed(sources: list[str], cache: TensorCache, *, offline: bool) -> tuple[Entry, ...]:
    """List the checkpoints, with a request for each pattern."""
    from geometry.checkpoints.transfer import Transfer
    from geometry.hub.client import Hub
    from geometry.hub.network import Network
    from geometry.survey.populations import expand
    from gui.commands.headless import for_command_line, interruptible

    with progress_bar(1) as step, for_command_line(offline=offline):
        transfer = Transfer(step.report)
        network = Network(Hub(offline=offline), cache, transfer)

        def work() -> tuple[Entry, ...]:
            return expand(sources, network)

        return step("Listing the checkpoints", lambda: interruptible(transfer, work))


def _summary(done: Progress) -> str:
    """Describe a survey: "3,045 checkpoints, 9,135 requests, 9.4 GB"."""
    text = f"{format_count(done.total)} checkpoint{'s' * (done.total != 1)}"
    if done.requests:
        text += f", {format_count(done.requests)} requests, {size_text(done.nbytes)}"
    return text


def _show(show: Callable[..., None], now: Progress) -> None:
    what = f"Measuring on {format_count(now.workers)} worker{'s' * (now.workers != 1)}"
    show(what, now.done, now.total, now.waiting or _costs(now))


def _costs(now: Progress) -> str:
    parts = [f"{format_count(now.failed)} failed"] if now.failed else []
    if now.requests:
        parts += [f"{format_count(now.requests)} requests", size_text(now.nbytes)]
    return ", ".join(parts)
