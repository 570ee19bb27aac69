"""The command line: the default command, exit statuses, and what is written."""

import errno
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from matplotlib.text import Text

import main as command_line
from gui.commands.arguments import parse_canvas, parse_size
from gui.commands.report_files import FIGURES
from gui.state.camera import VIEWS
from gui.style.theme import THEMES
from gui.window.settings.settings import settings_path
from tests.command_line import run


@pytest.fixture
def window(monkeypatch):
    """Stand in for the window; returns the calls."""
    import gui.commands.run_window

    calls = []

    def run_window(source, positions, picture, *, beside, table, offline):
        chosen = () if table is None else (table,)
        named = source and str(source)
        calls.append((named, positions, picture, *map(str, beside), *chosen, offline))
        return 0

    monkeypatch.setattr(gui.commands.run_window, "run_window", run_window)
    return calls


@pytest.mark.parametrize("command", [[], ["open"]])
def test_reset_renames_only_the_settings(command, window, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = settings_path().parent
    others = {folder / "bookmarks.zip", folder / "unsaved" / "a.helix", folder / "lessons" / "a.md"}
    for file in (settings_path(), *others):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("content of mine", "utf-8")
    assert run(*command, "--reset", "sample") == 0
    renamed = settings_path().with_name("settings.json.old")
    assert {file for file in folder.rglob("*") if file.is_file()} == others | {renamed}
    assert {file.read_text("utf-8") for file in (*others, renamed)} == {"content of mine"}
    said = capsys.readouterr().err
    assert str(renamed) in said
    assert window == [("sample", None, None, False)]
    assert run(*command, "--reset", "sample") == 0
    assert capsys.readouterr().err == "There are no settings to reset.\n"


def test_a_reset_that_is_impossible_ends_in_a_sentence(window, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    settings_path().parent.mkdir()
    settings_path().touch()

    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "rename", refuse)
    assert run("--reset") == 1
    assert "cannot be renamed: Permission denied" in capsys.readouterr().err
    assert window == []


@pytest.fixture
def table(tmp_path):
    """A bare table of positions in a file: a noisy helix."""
    i = np.arange(200)
    random = np.random.default_rng(0)
    helix = np.column_stack([np.cos(i / 20), np.sin(i / 20), i / 100])
    path = tmp_path / "helix.npy"
    np.save(
        path, helix @ random.standard_normal((3, 16)) + 0.01 * random.standard_normal((200, 16))
    )
    return path


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ([], ["open"]),
        (["gpt2"], ["open", "gpt2"]),
        (["./report"], ["open", "./report"]),
        (["--positions", "1-9", "gpt2"], ["open", "--positions", "1-9", "gpt2"]),
        (["open", "report"], ["open", "report"]),
        (["report", "gpt2"], ["report", "gpt2"]),
        (["models"], ["models"]),
        (["--reset"], ["open", "--reset"]),
        (["--offline", "report", "gpt2"], ["report", "--offline", "gpt2"]),
        (
            ["--whole", "--positions", "1-9", "--table=t", "export", "gpt2", "--out", "x.csv"],
            ["export", "--whole", "--positions", "1-9", "--table=t", "gpt2", "--out", "x.csv"],
        ),
        (["--out", "report", "render", "x"], ["render", "--out", "report", "x"]),
        (["--positions", "report"], ["open", "--positions", "report"]),
        (["--offline", "gpt2", "report"], ["open", "--offline", "gpt2", "report"]),
        (["--offline", "--", "report"], ["open", "--offline", "--", "report"]),
        (["--offline", "./report"], ["open", "--offline", "./report"]),
        (["--shiny", "models"], ["models", "--shiny"]),
        (["--offline"], ["open", "--offline"]),
        (["--help"], ["--help"]),
        (["--version"], ["--version"]),
    ],
)
def test_the_first_word_decides(typed, meant):
    assert command_line.with_default_command(typed) == meant


def test_the_window_opens_with_what_was_asked_for(window, table):
    assert run() == 0
    assert run(table, "--positions", "5-99") == 0
    assert run("open", table, "--picture", "window.png") == 0
    assert run("--offline", table) == 0
    assert run(table, "--beside", "sample", "--beside", table) == 0
    assert run(table, "--beside", "nowhere/at/all") == 1
    assert window == [
        (None, None, None, False),
        (str(table), (5, 99), None, False),
        (str(table), None, Path("window.png"), False),
        (str(table), None, None, True),
        (str(table), None, None, "sample", str(table), False),
    ]


def test_the_window_asks_about_unknown_architectures(window, tmp_path):
    np.savez(tmp_path / "two.npz", a=np.ones((30, 4)), b=np.ones((20, 4)))
    assert run(tmp_path / "two.npz") == 0
    assert len(window) == 1


def test_a_source_that_is_not_there(window, capsys):
    for arguments in (["nowhere/at/all"], ["report", "nowhere/at/all", "--out", "x"]):
        assert run(*arguments) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert "nowhere/at/all" in captured.err
    assert window == []


def test_the_tensor_to_take_is_named(tmp_path, capsys):
    np.savez(tmp_path / "two.npz", a=np.ones((30, 4)), b=np.eye(20, 4))
    out = tmp_path / "out.csv"
    assert run("export", tmp_path / "two.npz", "--out", out) == 1
    assert "--table a" in capsys.readouterr().err
    assert run("export", tmp_path / "two.npz", "--out", out, "--table", "b") == 0
    assert len(out.read_text().splitlines()) == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["render"],
        ["render", "TABLE"],
        ["render", "TABLE", "--out", "helix.jpg"],
        ["render", "TABLE", "--out", "helix.png", "--components", "1,2"],
        ["render", "TABLE", "--out", "helix.png", "--components", "0,1,2"],
        ["render", "TABLE", "--out", "helix.png", "--size", "wide"],
        ["render", "TABLE", "--out", "helix.png", "--size", "84mm"],
        ["render", "TABLE", "--out", "helix.png", "--size", "84x-3mm"],
        ["render", "TABLE", "--out", "helix.png", "--view", "behind"],
        ["open", "TABLE", "--picture", "window.jpg"],
        ["export", "TABLE", "--out", "helix.txt"],
        ["export", "TABLE", "--out", "helix.csv", "--positions", "9-5"],
        ["export", "TABLE", "--out", "helix.csv", "--positions", "all"],
        ["export", "TABLE", "--out", "helix.csv", "--positions", "5-500"],
        ["report", "TABLE", "--out", "x", "--rank", "17"],
        ["open", "TABLE", "--shiny"],
        ["TABLE", "--positions", "5-500"],
    ],
)
def test_wrong_command_lines(window, arguments, table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(*(table if word == "TABLE" else word for word in arguments)) == 2
    assert capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["helix.npy"]
    assert window == []


@pytest.mark.parametrize(
    ("text", "positions"),
    [(None, None), ("1-1023", (1, 1023)), ("1–99", (1, 99)), ("7", (7, 7)), (" 0 - 5 ", (0, 5))],
)
def test_ranges_as_typed(text, positions):
    assert command_line.parse_positions(text) == positions


def test_components_and_sizes_as_typed():
    assert command_line.parse_components("3, 1,2") == (3, 1, 2)
    assert parse_size("800X600") == (800, 600)
    canvas = parse_canvas("84X63mm", 300, 1)
    assert (canvas.pixels, canvas.per_inch) == ((992, 744), 300)
    assert 11 * canvas.scale / canvas.per_inch * 72 == pytest.approx(6)  # points of small texts
    with pytest.raises(typer.BadParameter) as refused:
        command_line.parse_components("1,2", "--axes")
    assert refused.value.param_hint == "--axes"
    for parse in (command_line.parse_components, parse_size):
        with pytest.raises(typer.BadParameter):
            parse("1,2,x")


@pytest.mark.parametrize(("command", "out"), [("render", "a.png"), ("export", "a.glb")])
def test_a_wrong_column_is_refused_before_a_model_is_opened(command, out, tmp_path, capsys):
    """Which may have to be downloaded first."""
    arguments = ("--out", tmp_path / out, "--column-of", tmp_path / "none.csv")
    assert run(command, tmp_path / "no model", *arguments) == 1
    said = capsys.readouterr().err
    assert "none.csv" in said
    assert "no model" not in said


def test_views_and_themes_are_the_windows_own():
    assert {view.value for view in command_line.ViewName} == set(VIEWS)
    assert {theme.value for theme in command_line.ThemeName} == set(THEMES)


def test_render(table, tmp_path):
    from PIL import Image

    out = tmp_path / "helix.png"
    assert run("render", table, "--out", out, "--size", "300x200", "--scale", "2") == 0
    with Image.open(out) as image:
        assert image.size == (600, 400)
        colors = np.unique(np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0)
    assert len(colors) > 50


@pytest.mark.slow
def test_render_on_paper_and_as_vectors(table, tmp_path):
    from PIL import Image

    out = tmp_path / "column.png"
    assert run("render", table, "--out", out, "--size", "84x63mm", "--dpi", "150") == 0
    with Image.open(out) as image:
        assert image.size == (496, 372)
        assert image.info["dpi"] == pytest.approx((150, 150), abs=0.05)  # whole pixels a metre
    svg, pdf = tmp_path / "helix.svg", tmp_path / "helix.pdf"
    assert run("render", table, "--out", svg, "--size", "300x200") == 0
    assert 'width="225pt" height="150pt"' in svg.read_text("utf-8")  # 96 pixels an inch
    assert run("render", table, "--out", pdf, "--size", "84x63mm") == 0
    (width,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+)", pdf.read_bytes())
    assert abs(float(width) / 72 * 25.4 - 84) < 0.05


def test_render_with_the_colours_over_the_shown_range(table, tmp_path, capsys):
    """Of the first quarter, all that is blue then becomes blue to red."""
    from PIL import Image

    share = {}
    for name in ("table", "range"):
        out = tmp_path / f"{name}.png"
        assert run("render", table, "--out", out, "--size", "400x300", "--positions", "1-49",
                   "--colours", name) == 0  # fmt: skip
        with Image.open(out) as image:
            curve = np.asarray(image.convert("RGB"))[:, :370].astype(int)  # without the colour bar
        red = (curve[..., 0] - curve[..., 2]) > 100
        blue = (curve[..., 2] - curve[..., 0]) > 100
        share[name] = red.sum(), blue.sum()
    assert share["table"][0] == 0
    assert min(share["range"]) > 50
    plain = tmp_path / "plain.png"
    assert run("render", table, "--out", plain, "--size", "400x300", "--positions", "1-49") == 0
    assert plain.read_bytes() == (tmp_path / "range.png").read_bytes()
    assert run("render", table, "--out", plain, "--colours", "all") == 2
    assert "--colours" in capsys.readouterr().err


@pytest.mark.slow
def test_render_with_line_points_and_opacity(table, tmp_path, capsys):
    from PIL import Image

    covered = {}
    for name, options in {
        "usual": (), "thick": ("--line-width", "6", "--point-size", "14"),
        "line": ("--curve", "line"), "pale": ("--opacity", "0.2"),
    }.items():  # fmt: skip
        out = tmp_path / f"{name}.png"
        assert run("render", table, "--out", out, "--size", "400x300", *options) == 0
        with Image.open(out) as image:
            curve = 255 - np.asarray(image.convert("RGB"))[:, :340].astype(int).min(axis=2)
        covered[name] = (curve > 20).sum(), curve.max()
    assert covered["thick"][0] > 1.5 * covered["usual"][0]
    assert covered["line"][0] < covered["usual"][0]
    assert run("render", table, "--out", tmp_path / "a.png", "--point-size", "0") == 2
    assert "--point-size" in capsys.readouterr().err


def test_render_with_a_period_or_a_column(table, tmp_path, capsys):
    out, own = tmp_path / "a.png", tmp_path / "own.csv"
    own.write_text("kind,loss\na,1\nb,2\n", "utf-8")
    seen = set()
    for options in ((), ("--period", "12.5"), ("--column-of", own),
                    ("--column-of", own, "--column", "kind")):  # fmt: skip
        assert run("render", table, "--out", out, "--size", "200x150", *options) == 0
        seen.add(out.read_bytes())
    assert len(seen) == 4
    capsys.readouterr()
    assert run("render", table, "--out", out, "--column-of", own, "--column", "size") == 1
    assert "own.csv has no column “size”; its columns are kind, loss." in capsys.readouterr().err
    assert run("render", table, "--out", out, "--column", "size") == 2
    assert run("render", table, "--out", out, "--column-of", own, "--period", "9") == 2


@pytest.mark.slow
def test_report(table, tmp_path, capsys, monkeypatch):
    def write_texts(figure, path):
        """As the drawn pictures are those of `ReportFiles`, whose tests look at them."""
        path.write_text("\n".join(text.get_text() for text in figure.findobj(Text)), "utf-8")

    monkeypatch.setattr("gui.plots.figure_base.save_figure", write_texts)
    out = tmp_path / "new" / "folder"
    assert run("report", table, "--out", out, "--positions", "10-150") == 0
    of_a_bare_table = (
        "helix", "norms", "spectrum", "spectra", "directions", "similarity",
        "similarity-projected", "dimensions", "dimensions-projected", "shape", "lookback",
        "fourier", "claims",
    )  # fmt: skip
    assert {path.name for path in out.iterdir()} == {
        "report.json", "claims.md", "claims.csv",
        *(f"{name}.{ending}" for name in of_a_bare_table for ending in ("png", "svg")),
    }  # fmt: skip
    measured = json.loads((out / "report.json").read_text("utf-8"))
    assert measured["pca"]["positions"] == [10, 150]
    assert set(measured["figures"]["skipped"]) == set(FIGURES) - set(of_a_bare_table)
    assert "Norm" in (out / "norms.svg").read_text("utf-8")
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_help_names_every_command(capsys):
    assert run("--help") == 0
    printed = capsys.readouterr().out
    for command in command_line.COMMANDS:
        assert f"  {command} " in printed


def test_process_of_a_frozen_application(monkeypatch):
    """It has arguments of its own, as a process of a survey."""

    def serve():
        sys.exit(7)

    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr("multiprocessing.freeze_support", serve)
    assert run("--multiprocessing-fork", "tracker_fd=5") == 7


def test_help_names_every_figure(capsys):
    assert run("report", "--help") == 0
    printed = capsys.readouterr().out
    for name in FIGURES:
        assert f" {name}," in printed or f" {name} " in printed


def test_options_before_the_command(table, tmp_path, capsys):
    out = tmp_path / "c.csv"
    assert run("--offline", "--positions", "0-9", "export", table, "--out", out) == 0
    assert len(out.read_text("utf-8").splitlines()) == 11
    assert run("--fresh", "models") == 2
    assert "--fresh" in capsys.readouterr().err


def test_export(table, tmp_path):
    assert run("export", table, "--out", tmp_path / "c.csv", "--components", "3") == 0
    lines = (tmp_path / "c.csv").read_text("utf-8").splitlines()
    assert lines[0] == "position,norm,residual,pc_1,pc_2,pc_3"
    assert len(lines) == 200
    assert run("export", table, "--out", tmp_path / "c.npz", "--positions", "0-9") == 0
    with np.load(tmp_path / "c.npz") as arrays:
        assert arrays["coordinates"].shape == (10, 10)


@pytest.mark.slow
def test_exported_scenes_and_films_with_the_colours_over_the_shown_range(table, tmp_path):
    from tests.films import read_gif

    options = ("--positions", "1-49", "--colours", "range")
    assert run("export", table, "--out", tmp_path / "a.html", *options) == 0
    page = (tmp_path / "a.html").read_text("utf-8")
    assert '"cmax":49.0,"cmin":1.0' in page
    for name, more in (("table", ("--colours", "table")), ("range", options[2:])):
        out = tmp_path / f"{name}.gif"
        assert run("export", table, "--out", out, "--positions", "1-49", "--size", "160x120",
                   "--seconds", "1", "--fps", "5", *more) == 0  # fmt: skip
        film = read_gif(out)[0][:, :, :110].astype(int)  # without the colour bar
        assert ((film[..., 0] - film[..., 2]) > 100).any() == (name == "range")


@pytest.mark.parametrize(("ending", "start"), [("html", b"<!doctype html>"), ("glb", b"glTF")])
def test_export_writes_scenes(table, tmp_path, ending, start):
    out = tmp_path / f"scene.{ending}"
    assert run("export", table, "--out", out, "--positions", "5-50", "--axes", "2,1,3",
               "--theme", "dark", "--view", "xy") == 0  # fmt: skip
    data = out.read_bytes()
    assert data.startswith(start)
    assert "positions 5–50".encode() in data or rb"positions 5\u201350" in data


@pytest.mark.slow
def test_a_folder_that_cannot_be_written(table, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert run("report", table, "--out", tmp_path / "file", "--rank", "3", "--no-figures") == 1
    assert "cannot be written" in capsys.readouterr().err


def test_models(capsys):
    assert run("models") == 0
    listing = capsys.readouterr().out
    for words in ("openai-community/gpt2-xl", "stanford-crfm/expanse-gpt2-small-x777", "State"):
        assert words in listing


def test_models_for_other_programs(capsys):
    assert run("models", "--json") == 0
    models = {one["model"]: one for one in json.loads(capsys.readouterr().out)}
    sample, online = models["sample"], models["openai-community/gpt2-xl"]
    assert (sample["n_positions"], sample["state"], sample["download_bytes"]) == (256, "bundled", 0)
    assert (online["d_model"], online["download_bytes"]) == (1600, 4 * 1024 * 1600)


def test_a_report_for_other_programs(table, tmp_path, capsys):
    assert run("report", table, "--out", tmp_path, "--rank", "3", "--no-figures") == 0
    capsys.readouterr()
    assert run("report", table, "--out", "-", "--rank", "3") == 0
    assert capsys.readouterr().out == (tmp_path / "report.json").read_text("utf-8")


def test_version(capsys):
    assert run("--version") == 0
    assert capsys.readouterr().out.startswith("helixscope 0.")


def test_export_films_a_turn(table, tmp_path):
    from tests.films import read_gif

    out = tmp_path / "round.gif"
    assert run("export", table, "--out", out, "--size", "120x90", "--seconds", "1", "--fps", "5",
               "--about", "x", "--theme", "dark") == 0  # fmt: skip
    film, _ = read_gif(out)
    assert film.shape == (5, 90, 120, 3)
    assert run("export", table, "--out", out, "--about", "sideways") == 2
