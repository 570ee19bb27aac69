"""The command line: the window, or everything it shows without it."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from geometry.errors import HelixscopeError, RangeError
from gui.terminal import progress_bar

# The rest of geometry and gui is imported inside the commands: `--help` answers at once, and no
# headless command loads Qt.
if TYPE_CHECKING:
    from geometry.model import PositionalModel

COMMANDS = ("open", "render", "report", "export", "models")
ROOT_OPTIONS = ("--help", "--version", "--install-completion", "--show-completion")

app = typer.Typer(
    name="helixscope",
    help="A desktop microscope for positional embeddings. Without a command: open.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class View(StrEnum):
    """Named camera positions; the article's is elevation 20°, azimuth 45°."""

    article = "article"
    isometric = "isometric"
    xy = "xy"
    xz = "xz"
    yz = "yz"


class ThemeName(StrEnum):
    """Colours of texts and background."""

    light = "light"
    dark = "dark"


Source = Annotated[
    str, typer.Argument(metavar="SOURCE", help="sample | hub id[@revision] | folder | file")
]
Positions = Annotated[
    str | None,
    typer.Option(metavar="A-B", help="Inclusive range of positions; default: 1 to the last."),
]
Table = Annotated[
    str | None,
    typer.Option(metavar="TENSOR", help="Tensor that holds the positions (unknown models)."),
]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0; 1 what cannot be opened or written; 2 wrong usage."""
    words = with_default_command(sys.argv[1:] if arguments is None else arguments)
    if words[0] == "open" and len(words) <= 2 and not any(w.startswith("-") for w in words):
        # The usual start has nothing to parse, and loading typer's parser takes 0.1 s.
        try:
            open_command(words[1] if len(words) == 2 else None)
        except typer.Exit as done:
            sys.exit(done.exit_code)
    app(args=words)
    raise AssertionError("typer's app exits by itself")


def with_default_command(arguments: list[str]) -> list[str]:
    """Put `open` in front of what does not start with a command.

    typer knows no default command that takes an argument; this one rule stands in for it. A
    folder that is called like a command is opened with ``open`` in front, or as ``./report``.
    """
    first = arguments[0] if arguments else ""
    if first in COMMANDS or first.partition("=")[0] in ROOT_OPTIONS:
        return arguments
    return ["open", *arguments]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"helixscope {_version()}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
        ),
    ] = False,
) -> None:
    """Hold the options that go before a command."""


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
) -> None:
    """Open the window (the default command)."""
    shown = parse_positions(positions)
    if picture is not None:
        check_png(picture, "--picture")
    with _plain_errors():
        if source is not None:
            _check_source(source, shown)
    # The imports make objects by the hundred thousand and no garbage; looking for some among them
    # takes a tenth of the start. The window turns the collector on again with its first frame.
    gc.disable()
    try:
        from gui.app import run_window

        status = run_window(source, shown, picture)
    finally:
        gc.unfreeze()
        gc.enable()
    raise typer.Exit(status)


@app.command()
def render(
    source: Source,
    out: Annotated[Path, typer.Option(help="PNG file to write.")],
    positions: Positions = None,
    components: Annotated[
        str, typer.Option(help="Three principal components, from 1, on the three axes.")
    ] = "1,2,3",
    size: Annotated[
        str, typer.Option(metavar="WxH", help="Width and height in pixels at scale 1.")
    ] = "1600x1200",
    scale: Annotated[
        float, typer.Option(min=0.1, max=8, help="Magnification; texts and lines grow with it.")
    ] = 1.0,
    transparent: Annotated[bool, typer.Option(help="No background.")] = False,
    view: Annotated[View, typer.Option(help="Where the camera is.")] = View.article,
    theme: Annotated[ThemeName, typer.Option(help="Colours.")] = ThemeName.light,
    table: Table = None,
) -> None:
    """Write the 3D view as a picture, off-screen."""
    shown, axes, pixels = parse_positions(positions), parse_components(components), parse_size(size)
    check_png(out, "--out")
    with _plain_errors(), progress_bar(2) as step:
        model = step("Opening", lambda: _open(source, table))
        from gui.export import render_picture

        step(
            "Drawing",
            lambda: render_picture(
                model,
                out,
                positions=shown,
                components=axes,
                size=pixels,
                scale=scale,
                transparent=transparent,
                view=view.value,
                theme=theme.value,
            ),
        )


@app.command()
def report(
    source: Source,
    out: Annotated[Path, typer.Option(help="Folder to write into; made if need be.")],
    positions: Positions = None,
    layer: Annotated[int, typer.Option(min=0, help="Layer of overlaps and kernels.")] = 0,
    rank: Annotated[
        int | None,
        typer.Option(min=1, help="P's leading directions in capture; default: 30, if it has them."),
    ] = None,
    after: Annotated[int, typer.Option(min=0, help="First position of the norms' mean.")] = 100,
    fold_ln: Annotated[
        bool, typer.Option("--fold-ln", help="Fold LayerNorm's gain into reading weights.")
    ] = False,
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Draw the figures too.")
    ] = True,
    table: Table = None,
) -> None:
    """Write report.json and the figures.

    Figures: helix.png (the 3D view); norms.png, norms.svg; spectrum.png, spectrum.svg.
    """
    from gui.report_files import ReportRequest, report_steps

    request = ReportRequest(out, parse_positions(positions), layer, rank, after, fold_ln, figures)
    with _plain_errors(), progress_bar(request.n_steps + 1) as step:
        model = step("Opening", lambda: _open(source, table))
        for message, work in report_steps(model, request):
            step(message, work)


@app.command()
def export(
    source: Source,
    out: Annotated[Path, typer.Option(help="File to write: .csv or .npz.")],
    positions: Positions = None,
    components: Annotated[int, typer.Option(min=1, help="How many principal components.")] = 10,
    table: Table = None,
) -> None:
    """Write coordinates, positions and norms as a table.

    .csv: columns position, norm, residual, pc_1, pc_2, …
    .npz: arrays positions, norms, residuals, coordinates, mean, components, singular_values,
    explained_variance_ratio.

    Coordinates are in the range's true principal components, residuals those of the first three.
    """
    from geometry.table import FORMATS, tabulate, write_table

    shown = parse_positions(positions)
    if out.suffix.lower() not in FORMATS:
        raise typer.BadParameter(
            f"{out.name} ends in neither {' nor '.join(FORMATS)}", param_hint="--out"
        )
    with _plain_errors():
        model = _open(source, table)
        last = model.n_positions - 1
        write_table(tabulate(model.W_pos, shown or (min(1, last), last), components), out)


@app.command()
def models() -> None:
    """List the models worth a look: what is bundled, installed, cached or online."""
    from geometry.catalogue import cached_models, read_catalogue, state
    from gui.terminal import print_table

    with _plain_errors():
        rows = [
            (e.id, e.title, e.group, f"{e.n_positions:,}", f"{e.d_model:,}", state(e))
            for e in (*read_catalogue(), *cached_models())
        ]
    print_table(("Model", "Title", "Group", "Positions", "Dimensions", "State"), rows)


def parse_positions(text: str | None) -> tuple[int, int] | None:
    """Read "A-B" (or one position) as an inclusive range."""
    if text is None:
        return None
    first, dash, last = text.replace("–", "-").partition("-")
    try:
        shown = int(first), int(last if dash else first)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no range such as 1-1023", param_hint="--positions"
        ) from None
    if shown[0] > shown[1]:
        raise typer.BadParameter(f"{text!r} ends before it starts", param_hint="--positions")
    return shown


def parse_components(text: str) -> tuple[int, int, int]:
    """Read "1,2,3" as three different components, counted from 1."""
    numbers = [int(part) if part.strip().isdecimal() else 0 for part in text.split(",")]
    if len(numbers) != 3 or min(numbers) < 1 or len(set(numbers)) != 3:
        raise typer.BadParameter(
            f"{text!r} is not three different components such as 1,2,3",
            param_hint="--components",
        )
    return numbers[0], numbers[1], numbers[2]


def check_png(out: Path, option: str) -> None:
    """Refuse a picture of another format than PNG."""
    if out.suffix.lower() != ".png":
        raise typer.BadParameter(f"{out.name} does not end in .png", param_hint=option)


def parse_size(text: str) -> tuple[int, int]:
    """Read "1600x1200" as width and height."""
    numbers = [int(part) if part.isdecimal() else 0 for part in text.lower().split("x")]
    if len(numbers) != 2 or min(numbers) < 1:
        raise typer.BadParameter(f"{text!r} is no size such as 1600x1200", param_hint="--size")
    return numbers[0], numbers[1]


def _open(source: str, table: str | None) -> "PositionalModel":
    from geometry.sources import open_source

    return open_source(source, table=table)


def _check_source(source: str, shown: tuple[int, int] | None) -> None:
    """Fail before a window appears; an unknown architecture is the window's to ask about."""
    from geometry.components import check_range
    from geometry.sources import UnknownArchitecture, open_source

    try:
        model = open_source(source)
    except UnknownArchitecture:
        return
    if shown is not None:
        check_range(shown, model.n_positions)


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Turn our own errors into one sentence on standard error and an exit status."""
    try:
        yield
    except HelixscopeError as error:
        sentence = " ".join(str(error).split()).rstrip(".")
        candidates = [tensor.name for tensor in getattr(error, "candidates", ())]
        if candidates:
            sentence += f"; --table takes one of {', '.join(candidates)}"
        typer.echo(f"helixscope: {sentence}.", err=True)
        raise typer.Exit(2 if isinstance(error, RangeError) else 1) from error


def _version() -> str:
    import importlib.metadata

    try:
        return importlib.metadata.version("helixscope")
    except importlib.metadata.PackageNotFoundError:
        import tomllib

        project = Path(__file__).with_name("pyproject.toml").read_text("utf-8")
        return str(tomllib.loads(project)["project"]["version"])


if __name__ == "__main__":
    main()
