"""A start on each kind of display ends with the curve, or with a sentence."""

import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gui.commands.start_mark import FOLDER
from tests.command_line import ROOT, Completed, assert_refused, assert_silent
from tests.environments.screens import wayland, x_screen
from tests.films import read_gif
from tests.geometry.history_stage import growing, write_checkpoint, write_record

Display = Callable[[], AbstractContextManager[dict[str, str]]]
xwayland = partial(wayland, x=True)
NO_DRIVER = {"LIBGL_DRIVERS_PATH": "/nowhere"}
NO_EGL = {"__EGL_VENDOR_LIBRARY_FILENAMES": "/nowhere"}
SILENT_X = 6_000
"""The number of an X server that nobody has."""


@contextmanager
def no_display(**variables: str) -> Iterator[dict[str, str]]:
    """What variables name, if anything."""
    yield variables


@contextmanager
def on(display: Display, **variables: str) -> Iterator[dict[str, str]]:
    """A display with variables beside its own."""
    with display() as environment:
        yield environment | variables


@contextmanager
def asleep() -> Iterator[dict[str, str]]:
    """A compositor that has blanked its screen, and sends a window one frame at most."""
    with wayland("--idle-time=1") as environment:
        time.sleep(3)  # it says nothing about it
        yield environment


@contextmanager
def silent(path: Path, **variables: str) -> Iterator[dict[str, str]]:
    """A server that takes connections and never answers."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        try:
            yield variables
        finally:
            path.unlink()


def silent_x() -> AbstractContextManager[dict[str, str]]:
    return silent(Path(f"/tmp/.X11-unix/X{SILENT_X}"), DISPLAY=f":{SILENT_X}")


@contextmanager
def silent_wayland() -> Iterator[dict[str, str]]:
    with (
        tempfile.TemporaryDirectory(prefix="hs-") as folder,
        silent(Path(folder, "wl"), XDG_RUNTIME_DIR=folder, WAYLAND_DISPLAY="wl") as environment,
    ):
        yield environment


def curve_in(path: Path) -> bool:
    """Whether a picture has a curve in the colours of jet."""
    pixels = np.asarray(Image.open(path).convert("RGB").convert("HSV"))
    return len(np.unique(pixels[pixels[..., 1] > 200][:, 0])) > 50


def marks(home: Path) -> list[Path]:
    """The marks of starts that have not come to their end."""
    return [*home.rglob(f"{FOLDER}/*")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "display",
    [
        pytest.param(x_screen, id="X11"),
        pytest.param(partial(x_screen, "1280x800x16"), id="16 bits"),
        pytest.param(partial(x_screen, "1280x800x24", "-extension", "GLX"), id="no GLX, but EGL"),
        pytest.param(partial(on, x_screen, QT_XCB_GL_INTEGRATION="xcb_egl"), id="X11 by EGL"),
        pytest.param(
            partial(on, x_screen, WAYLAND_DISPLAY="gone", XDG_RUNTIME_DIR="/tmp"),
            id="X11, Wayland gone",
        ),
        pytest.param(wayland, id="Wayland"),
        pytest.param(xwayland, id="Wayland with Xwayland"),
        pytest.param(partial(on, xwayland, QT_QPA_PLATFORM="xcb"), id="Xwayland"),
        pytest.param(asleep, id="no frames"),
    ],
)
def test_there_is_a_curve_and_no_word(app, tmp_path, display):
    out = tmp_path / "window.png"
    with display() as environment:
        assert_silent(app.run("open", "sample", "--picture", out, environment=environment))
    assert curve_in(out)
    assert not marks(app.home)


@pytest.mark.parametrize(
    ("display", "words"),
    [
        pytest.param(no_display, "no display", id="no display"),
        pytest.param(
            partial(on, x_screen, QT_XCB_GL_INTEGRATION="none"), "no OpenGL", id="X11 only"
        ),
        *(
            pytest.param(display, words, id=name, marks=pytest.mark.slow)
            for name, display, words in (
                ("X gone", partial(no_display, DISPLAY=":5999"), ":5999 cannot be reached"),
                (
                    "Wayland gone",
                    partial(no_display, WAYLAND_DISPLAY="gone", XDG_RUNTIME_DIR="/tmp"),
                    "gone cannot be reached",
                ),
                ("no platform", partial(no_display, QT_QPA_PLATFORM="nonsense"), "display"),
                ("no screen", partial(no_display, QT_QPA_PLATFORM="eglfs"), "display"),
                ("silent X", silent_x, f":{SILENT_X} does not answer"),
                ("silent Wayland", silent_wayland, "wl does not answer"),
                ("8 bits", partial(x_screen, "1280x800x8"), "display has 8 bits"),
                ("X11 without a driver", partial(on, x_screen, **NO_DRIVER), "no OpenGL"),
                ("Wayland without a driver", partial(on, wayland, **NO_DRIVER), "no OpenGL"),
                ("Wayland without EGL", partial(on, xwayland, **NO_EGL), "no OpenGL"),
                ("2.1", partial(on, x_screen, MESA_GL_VERSION_OVERRIDE="2.1"), "OpenGL 2.1"),
                ("3.1", partial(on, x_screen, MESA_GL_VERSION_OVERRIDE="3.1"), "OpenGL 3.1"),
                (
                    "remote X",
                    partial(
                        on, partial(x_screen, "1280x800x24", "+iglx"), LIBGL_ALWAYS_INDIRECT="1"
                    ),
                    "no OpenGL",
                ),
                ("Wayland, 2.1", partial(on, wayland, MESA_GL_VERSION_OVERRIDE="2.1"), "OpenGL"),
            )
        ),
    ],
)
def test_there_is_one_line_no_picture_and_no_mark(app, tmp_path, display, words):
    """By the next start the display may be there: it is none after a failure."""
    out = tmp_path / "window.png"
    with display() as environment:
        assert_refused(app.run("open", "sample", "--picture", out, environment=environment), words)
    assert not out.exists()
    assert not marks(app.home)


@pytest.mark.slow
def test_a_picture_after_a_start_that_failed_shows_a_model(app, tmp_path):
    """Nobody is there to open one."""
    out = tmp_path / "window.png"
    settings = app.home / ".config" / "helixscope"
    (settings / FOLDER).mkdir(parents=True)
    (settings / FOLDER / "a").write_text("1\n")
    with x_screen() as environment:
        assert_silent(app.run("open", "--picture", out, environment=environment))
    assert curve_in(out)


# ---- what is drawn off-screen ------------------------------------------------------------


def make_all(app, folder: Path, environment: dict[str, str]) -> Completed:
    """Let the commands of a window make pictures, a film, a bookmark and exports in a folder."""
    folder.mkdir()
    return app.run(
        folder, program=("-m", "tests.environments.window_commands"),
        environment=environment | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("display", "notices"),
    [
        # A compositor without a seat has no clipboard.
        pytest.param(xwayland, ["clipboard"], id="Wayland with Xwayland"),
        pytest.param(partial(on, x_screen, QT_XCB_GL_INTEGRATION="xcb_egl"), [], id="X11 by EGL"),
    ],
)
def test_all_that_the_window_draws_off_screen(app, tmp_path, display, notices):
    out = tmp_path / "made"
    with display() as environment:
        done = make_all(app, out, environment)
    assert done.returncode == 0
    for line, word in zip(done.stdout.splitlines(), notices, strict=True):
        assert word in line
    assert not [line for line in done.stderr.splitlines() if "clipboard" not in line]
    for name in ("view.png", "window.png", "bookmark.png"):
        assert curve_in(out / name), name
    frames, _ = read_gif(out / "turntable.gif")
    assert (frames[0] != frames[1]).any()
    for name in ("view.svg", "view.pdf", "scene.html", "scene.glb", "numbers.npz"):
        assert (out / name).stat().st_size > 10_000, name


@pytest.mark.slow
def test_a_window_without_opengl_can_be_used(app, tmp_path):
    """Only what nothing can draw fails, each with a sentence."""
    out = tmp_path / "made"
    with on(x_screen, **NO_DRIVER) as environment:
        done = make_all(app, out, environment)
    assert done.returncode == 0
    assert "helixscope: The 3D view needs OpenGL" in done.stderr
    notices = done.stdout.splitlines()
    assert notices
    assert all("OpenGL" in notice for notice in notices), notices
    assert sorted(path.name for path in out.iterdir() if path.stat().st_size) == [
        "numbers.npz", "scene.glb", "scene.html",
    ]  # fmt: skip
    assert not marks(app.home)


@pytest.fixture
def trained(tmp_path) -> Path:
    """A checkpoint with the history of its training."""
    steps = [0, 10, 100]
    folder = write_checkpoint(tmp_path / "trained", growing(steps)[-1])
    write_record(folder / "history.safetensors", steps)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "display",
    [
        pytest.param(partial(no_display, DISPLAY=":5999"), id="no display"),
        pytest.param(partial(x_screen, "1280x800x8", "-extension", "GLX"), id="8 bits, no GLX"),
        pytest.param(xwayland, id="Wayland with Xwayland"),
    ],
)
def test_pictures_and_films_need_no_display(app, tmp_path, trained, display):
    picture, film = tmp_path / "a.png", tmp_path / "a.gif"
    with display() as environment:
        assert_silent(app.run("render", "sample", "--out", picture, environment=environment))
        command = ("timelapse", trained, "--out", film, "--size", "160x120")
        assert_silent(app.run(*command, environment=environment))
    assert curve_in(picture)
    assert len(read_gif(film)[0]) == 3


@pytest.mark.slow
def test_a_report_needs_no_display(app, tmp_path, trained):
    out = tmp_path / "report"
    assert_silent(app.run("report", trained, "--out", out, environment={}))
    assert curve_in(out / "helix.png")


def test_a_picture_without_any_opengl_is_refused(app, tmp_path):
    with on(x_screen, **NO_DRIVER) as environment:
        done = app.run("render", "sample", "--out", tmp_path / "a.png", environment=environment)
    assert_refused(done, "OpenGL")
    assert not (tmp_path / "a.png").exists()
