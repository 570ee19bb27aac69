"""The command line: the window, or everything it shows without it."""

import helixscope

if __name__ == "__main__":  # before anything else is imported
    helixscope.begin()

import gc
import logging
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from geometry.checkpoints import plugins
from geometry.checkpoints.errors import HelixscopeError, NoStepYet
from geometry.inside.worker import COMMAND as WORKER
from geometry.inside.worker import main as run_worker
from gui.channel import COMMAND as SHOWN
from gui.commands.arguments import (
    REPORT_HELP,
    Colors,
    ColorsName,
    ColumnFile,
    ColumnName,
    Family,
    FirstRows,
    Fresh,
    LineWidth,
    Offline,
    Opacity,
    Parts,
    PartsName,
    Period,
    PointSize,
    Positions,
    SourceArgument,
    Table,
    ThemeName,
    ViewName,
    Whole,
    check_ending,
    chosen,
    command_first,
    look_of,
    parse_canvas,
    parse_components,
    parse_positions,
)
from gui.commands.ends import orderly_end
from gui.commands.export_command import export
from gui.commands.home import home_provided
from gui.commands.intervene_command import intervene
from gui.commands.positions_command import positions
from gui.commands.steps import open_each, open_in_step, progress_bar
from gui.commands.survey_command import survey
from gui.commands.table_command import table
from gui.commands.terminal import (
    complain,
    joined,
    libraries_silenced,
    note,
    plain_output,
    print_table,
    result,
    say,
    say_written,
    sentence,
)
from gui.commands.timelapse_command import timelapse
from gui.commands.training_command import train
from gui.state.values import LINE_WIDTH, POINT_SIZE
from gui.style.system_libraries import imports_explained

if TYPE_CHECKING:
    from geometry.models.sources.source import Source

# The rest of geometry and gui is imported inside the commands: `--help` answers at once, and no
# headless command loads Qt.

log = logging.getLogger(__name__)

COMMANDS = (
    "open", "render", "report", "export", "timelapse", "table", "models", "train", "positions",
    "intervene", "survey",
)  # fmt: skip
CHECK_S = 3.0
"""How long the sources of a window are checked before it appears."""
SAFE = "--safe"
ROOT_OPTIONS = ("--help", "--version", "--install-completion", "--show-completion")

COMPLETING = "_HELIXSCOPE_COMPLETE"
"""Variable of the environment with which a shell asks for completions."""

app = typer.Typer(
    name="helixscope",
    help="A desktop microscope for positional embeddings. Without a command: open.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    Exit statuses: 0; 1 if something cannot be opened or written; 2 for wrong usage; 128 plus its
    number after a signal.
    """
    if getattr(sys, "frozen", False):
        # The processes that Python starts, as for a survey, are this program then, too.
        from multiprocessing import freeze_support

        freeze_support()
    if COMPLETING in os.environ:  # the shell reads what is printed, and gives no arguments
        app(args=[], prog_name="helixscope")
    with plain_output(), orderly_end(), home_provided():
        _run(with_default_command(sys.argv[1:] if arguments is None else arguments))
    raise AssertionError("typer's app exits by itself")


def _run(words: list[str]) -> None:
    # The window shows notices itself.
    command = words[1] if words[0] == SAFE else words[0]
    plugins.listen(None if command in ("open", SHOWN) else _note)
    if words[0] == "open" and len(words) <= 2 and not any(w.startswith("-") for w in words):
        # The usual start needs no parsing, and loading typer's parser takes 0.1 s.
        try:
            open_command(words[1] if len(words) == 2 else None)
        except typer.Exit as done:
            sys.exit(done.exit_code)
    app(args=words)


def _note(fault: plugins.Fault) -> None:
    log.error("%s\n%s", fault.text, fault.details)
    note(joined(fault.text, fault.advice))


def with_default_command(arguments: list[str]) -> list[str]:
    """Prepend `open` to arguments that do not start with a command.

    typer has no default command that takes an argument. A folder that is named like a command is
    opened with ``open`` in front, or as ``./report``. Options may also precede the command, as in
    ``--offline report gpt2``; --safe may stand anywhere.
    """
    if SAFE in arguments:
        rest = [word for word in arguments if word != SAFE]
        return [SAFE, *with_default_command(rest)]
    first = arguments[0] if arguments else ""
    if first in (*COMMANDS, WORKER, SHOWN) or first.partition("=")[0] in ROOT_OPTIONS:
        return arguments
    if first.startswith("-"):
        arguments = command_first(app, arguments)
        if arguments[0] in COMMANDS:
            return arguments
    return ["open", *arguments]


def _show_version(wanted: bool) -> None:
    if wanted:
        result(f"helixscope {helixscope.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
        ),
    ] = False,
    safe: Annotated[
        bool, typer.Option(SAFE, help="Leave out all plugins; of any command.")
    ] = False,
) -> None:
    """Hold the options that go before a command."""
    if safe:  # also for the processes that are started
        os.environ[plugins.SAFE] = "1"


@app.command("open")
def open_command(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[SOURCE]", help="sample | hub id[@revision] | folder | file"),
    ] = None,
    positions: Positions = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Save a picture of the whole window there, and close it."),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE", help="Compare with this model; can be repeated."),
    ] = None,
    table: Table = None,
    family: Family = None,
    first_rows: FirstRows = None,
    offline: Offline = False,
    reset: Annotated[
        bool,
        typer.Option(
            "--reset",
            help="Start with default settings and arrangement, and without recent sources.",
        ),
    ] = False,
) -> None:
    """Open the window (the default command)."""
    from geometry.models.sources.source import Source

    shown, table = parse_positions(positions), chosen(table, family, first_rows)
    if picture is not None:
        check_ending(picture, (".png",), "--picture")
    with _plain_errors():
        if reset:
            _reset_settings()
        if source is None and table is not None:
            raise typer.BadParameter(
                "they need a SOURCE", param_hint="--table, --family, --first-rows"
            )
        first = None if source is None else Source.parse(source)
        others = tuple(map(Source.parse, beside or ()))
        if source is not None or beside:
            try:
                _check_soon(first, others, shown, table)
            except NoStepYet:  # the window waits for a training's first step
                if others or picture is not None:
                    raise
    with _few_collections():
        try:
            with imports_explained():
                from gui.commands.run_window import run_window

                status = run_window(
                    first, shown, picture, beside=others, table=table, offline=offline
                )
        except HelixscopeError as error:
            complain(sentence(error))
            status = 1
    raise typer.Exit(status)


@app.command(SHOWN, hidden=True)
def shown_window() -> None:
    """Open the window that a script asks for on standard input."""
    with _few_collections(), _plain_errors():
        from gui.commands.run_window import run_window
        from gui.commands.shown_window import script_end

        with script_end() as script:
            status = run_window(script=script)
    raise typer.Exit(status)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Collect no garbage while the window is imported, and let it collect its own.

    The imports create many objects and no garbage, and collecting takes a tenth of the start. The
    window collects garbage itself from its first frame on.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.enable()


@app.command()
def render(
    source: SourceArgument,
    out: Annotated[Path, typer.Option(help="File to write: .png, .svg or .pdf.")],
    positions: Positions = None,
    components: Annotated[
        str, typer.Option(help="Three principal components, from 1, on the three axes.")
    ] = "1,2,3",
    size: Annotated[
        str,
        typer.Option(
            metavar="WxH", help="Width and height in pixels at scale 1; or on paper, as 84x63mm."
        ),
    ] = "1600x1200",
    dpi: Annotated[
        float, typer.Option(min=36, max=2400, help="Pixels per inch, of a PNG of a size in mm.")
    ] = 300.0,
    scale: Annotated[
        float, typer.Option(min=0.1, max=8, help="Magnification, including text and lines.")
    ] = 1.0,
    transparent: Annotated[bool, typer.Option(help="Transparent background.")] = False,
    view: Annotated[ViewName, typer.Option(help="Camera position.")] = ViewName.article,
    theme: Annotated[ThemeName, typer.Option(help="Colour theme.")] = ThemeName.light,
    colors: Colors = ColorsName.range,
    line_width: LineWidth = LINE_WIDTH,
    point_size: PointSize = POINT_SIZE,
    curve: Parts = PartsName.both,
    opacity: Opacity = 1.0,
    period: Period = None,
    column_of: ColumnFile = None,
    column: ColumnName = None,
    table: Table = None,
    family: Family = None,
    first_rows: FirstRows = None,
    offline: Offline = False,
    whole: Whole = False,
    fresh: Fresh = False,
) -> None:
    """Render the 3D view off-screen, as pixels or as vectors.

    .png: pixels.
    .svg, .pdf: points, lines and texts as vectors. With more than 20,000 of them, points and lines
    are an image within the file.
    """
    shown, axes = parse_positions(positions), parse_components(components)
    table = chosen(table, family, first_rows)
    check_ending(out, (".png", ".svg", ".pdf"), "--out")
    canvas = parse_canvas(size, dpi, scale, vectors=out.suffix.lower() != ".png")
    with _plain_errors(), progress_bar(2) as step:
        # First, so that a wrong column is reported before a model is downloaded.
        look = look_of(colors, line_width, point_size, curve, opacity, (period, column_of, column))
        model = open_in_step(step, source, table, offline, whole, fresh)
        from gui.export.pictures import render_picture

        step(
            "Drawing",
            lambda: render_picture(
                model,
                out,
                positions=shown,
                components=axes,
                canvas=canvas,
                transparent=transparent,
                view=view.value,
                theme=theme.value,
                look=look,
            ),
        )
    say_written(str(out), model)


@app.command(help=REPORT_HELP)
def report(
    source: SourceArgument,
    out: Annotated[
        Path,
        typer.Option(
            help="Output folder; created if necessary. “-” prints report.json, without figures."
        ),
    ],
    positions: Positions = None,
    layer: Annotated[int, typer.Option(min=0, help="Layer of overlaps and kernels.")] = 0,
    rank: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of P's leading directions in capture; default: 30, or all if fewer."
        ),
    ] = None,
    after: Annotated[
        int, typer.Option(min=0, help="First position in the mean of the norms.")
    ] = 100,
    fold_ln: Annotated[
        bool, typer.Option("--fold-ln", help="Fold LayerNorm's gain into the weights that read.")
    ] = False,
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Also draw the figures.")
    ] = True,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE", help="A model to compare with, for claims about groups of models."
        ),
    ] = None,
    effects: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="What `intervene --out` wrote for this model, for claims about what positions do.",
        ),
    ] = None,
    table: Table = None,
    family: Family = None,
    first_rows: FirstRows = None,
    offline: Offline = False,
    whole: Whole = False,
    fresh: Fresh = False,
) -> None:
    """Write report.json and the figures.

    Claims about groups of models, such as the nine GPT-2s, need the others: --beside for each.
    Claims about what positions do need forward passes: --effects.
    """
    from geometry.checkpoints.threads import threads_for
    from gui.commands.headless import announce_fetch, reading
    from gui.commands.report_files import ReportFiles, ReportRequest, skipped_text

    shown, table = parse_positions(positions), chosen(table, family, first_rows)
    folder = None if str(out) == "-" else out
    figures = figures and folder is not None
    request = ReportRequest(folder, shown, layer, rank, after, fold_ln, figures, effects)
    beside = beside or []
    with _plain_errors(), progress_bar(request.n_steps + 1 + len(beside)) as step:
        model, *group = open_each(step, [source, *beside], table, offline, whole, fresh)
        with reading(model, offline=offline, on_progress=step.report):
            announce_fetch(model, layer)
            files = ReportFiles(model, request, group)
            with threads_for(model.d_model):
                for message, work in files.steps():
                    step(message, work)
    if folder is None:
        result(files.text)
        return
    if files.skipped:
        say(skipped_text(files.skipped))
    n_figures = f" and {len(files.written)} files of figures" if figures else ""
    say_written(f"report.json{n_figures} to {out}", model)


@app.command()
def models(
    search: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Search the Hub for models with TEXT in their names."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, for other programs.")
    ] = False,
    offline: Offline = False,
) -> None:
    """List a selection of models: bundled, installed, cached or online.

    Opening a model that is online downloads its position table, not the whole checkpoint.
    """
    import json

    from gui.commands.model_tables import FOUND, LISTED, as_table, found_models, listed_models

    with _plain_errors():
        if search is None:
            records, columns = listed_models(), LISTED
        else:
            with progress_bar(1) as step:
                work = partial(found_models, search, offline=offline, on_progress=step.report)
                records, columns = step("Searching the Hub", work), FOUND
    if as_json:
        result(json.dumps(records, ensure_ascii=False, indent=1))
    elif records:
        print_table(*as_table(records, columns))
    else:
        note(f"No model on the Hub has {search!r} in its name.")


@app.command(WORKER, hidden=True)
def network_worker() -> None:
    """Measure what a window requests on standard input."""
    raise typer.Exit(run_worker())


def _reset_settings() -> None:
    """Reset the settings, and print where the previous ones are kept."""
    from gui.window.settings.settings import Settings, settings_path

    try:
        kept = Settings(settings_path()).reset()
    except OSError as error:
        raise HelixscopeError(
            f"The settings in {settings_path().parent} cannot be renamed: "
            f"{error.strerror or error}.",
            "Check the permissions of the folder.",
        ) from error
    if kept is None:
        note("There are no settings to reset.")
    else:
        note(f"The settings were reset to their defaults; the previous ones are in {kept}.")


def _check_soon(
    source: "Source | None",
    beside: "Sequence[Source]",
    shown: tuple[int, int] | None,
    table: str | None,
) -> None:
    """Fail before a window appears, unless the check takes long: then the window opens the sources.

    The check runs on a thread, as a network disk may block it for minutes.
    """
    from concurrent.futures import Future, wait

    import geometry.models.sources.opening  # noqa: F401 – not part of that time

    done: Future[None] = Future()

    def check() -> None:
        try:
            if source is not None:
                _check_sources((source, *beside), shown, table)
            for compared in beside if source is None else ():
                _check_source(compared, None)
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=check, name="helixscope-check", daemon=True).start()
    if wait([done], CHECK_S).done:
        done.result()


def _check_sources(
    sources: "Sequence[Source]", shown: tuple[int, int] | None, table: str | None
) -> None:
    """Fail before a window appears, if the first source cannot be shown.

    Or if no source has the chosen table.
    """
    from geometry.models.sources.opening import NoSuchTable

    lacking: list[NoSuchTable] = []
    for source in sources:
        check = _check_shown if source == sources[0] else _check_source
        try:
            check(source, shown, table)
        except NoSuchTable as error:
            lacking.append(error)
            check(source, shown, None)
        shown = None
    if table is not None and len(lacking) == len(sources):
        raise lacking[0]


def _check_shown(source: "Source", shown: tuple[int, int] | None, table: str | None) -> None:
    from gui.services.surveys import is_survey

    if is_survey(source.text):
        from geometry.survey.read import read_survey, survey_path

        _refuse_table(table, "survey")
        read_survey(survey_path(Path(source.text).expanduser().absolute()))
    else:
        _check_source(source, shown, table)


def _check_source(
    source: "Source", shown: tuple[int, int] | None, table: str | None = None
) -> None:
    """Fail before a window appears.

    Unknown architectures and sources on the Hub are left to the window.
    """
    from geometry.models.sources.locating import located
    from geometry.models.sources.opening import NoSuchTable, UnknownArchitecture, open_model
    from geometry.pca.components import check_range
    from gui.services.work_files.projects import is_work

    if is_work(source.text):
        from gui.services.work_files.work_file import read_work

        _refuse_table(table, "project")
        read_work(Path(source.text).expanduser())
        return
    source = located(source)
    if source.model.kind == "hub":
        return
    try:
        model = open_model(source, table=table)
    except NoSuchTable:
        raise
    except UnknownArchitecture:
        return
    if shown is not None:
        check_range(shown, model.n_positions)


def _refuse_table(table: str | None, kind: str) -> None:
    from geometry.models.sources.opening import NoSuchTable

    if table is not None:
        raise NoSuchTable(f"A {kind} has its own tables, and none can be chosen for it.", ())


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Report Helixscope's errors in one sentence on standard error, and exit with a status."""
    from gui.commands.log import logged

    try:
        with logged(), libraries_silenced(), imports_explained():
            yield
    except HelixscopeError as error:
        complain(sentence(error))
        raise typer.Exit(error.exit_status) from error
    except (Exception, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a library written in Rust panics with one
        complain(f"An error occurred inside a library ({type(error).__name__}).")
        raise typer.Exit(1) from error


# Their many options are declared in their modules.
app.command("export")(_plain_errors()(export))
app.command("timelapse")(_plain_errors()(timelapse))
app.command("table")(_plain_errors()(table))
app.command("train")(_plain_errors()(train))
app.command("positions")(_plain_errors()(positions))
app.command("intervene")(_plain_errors()(intervene))
app.command("survey")(_plain_errors()(survey))


if __name__ == "__main__":
    main()
