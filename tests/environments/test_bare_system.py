"""Systems on which something is missing: libraries, packages, a home folder, a terminal."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import ROOT, Completed, assert_refused, assert_silent
from tests.environments.screens import clean, program, x_screen
from tests.marks import slow_but

LISTED = (ROOT / "resources" / "system-libraries.txt").read_text("utf-8").splitlines()
PACKAGES = {library: package for library, package, *_ in map(str.split, LISTED) if library != "#"}
PICTURES = ("libegl1", "libgl1", "libx11-6")
#: What pictures are drawn with, and what Mesa's drivers link to.
OF_DRIVERS = {
    "libEGL.so.1", "libX11.so.6", "libX11-xcb.so.1", "libxcb-randr.so.0", "libxcb-sync.so.1",
    "libxcb-xfixes.so.0", "libxcb-shm.so.0",
}  # fmt: skip

#: Run by Python before anything else, in a folder of PYTHONPATH.
WITHOUT_PACKAGES = "import sys; sys.modules.update(dict.fromkeys({names!r}))\n"
WITHOUT_ENTRY = """
import pwd
def unknown(_):
    raise KeyError
pwd.getpwuid = unknown
"""


@pytest.fixture
def without(tmp_path):
    """The environment in which some libraries of the system cannot be loaded."""

    def hide(*libraries: str) -> dict[str, str]:
        folder = tmp_path / "libraries"
        folder.mkdir()
        for library in libraries:
            # An empty file is found first, and is no library; VTK tries both names.
            for name in (library, re.sub(r"\.so.*", ".so", library)):
                (folder / name).touch()
        return {"LD_LIBRARY_PATH": str(folder), "PATH": stand_in_of_apt(tmp_path)}

    return hide


def stand_in_of_apt(folder: Path) -> str:
    """A folder for PATH: a machine has apt-get, whatever the tests run on."""
    apt = folder / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.touch(0o755)
    return str(apt.parent)


def named(done: Completed) -> set[str]:
    """The packages that a sentence tells to install."""
    assert_refused(done, "apt-get install ")
    return set(done.stderr.strip().rstrip(".").partition("apt-get install ")[2].split())


def run_without(folder: Path, code: str, *arguments: object, **variables: str) -> Completed:
    """Run a command after some code, without HOME and with temporary files in a folder."""
    (folder / "sitecustomize.py").write_text(code)
    (folder / "tmp").mkdir()
    environment = {name: value for name, value in clean().items() if not name.startswith("XDG_")}
    del environment["HOME"]
    places = {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "TMPDIR": str(folder / "tmp")}
    return subprocess.run(
        [sys.executable, "-P", "-m", "main", *map(str, arguments)], cwd=folder,
        env=environment | places | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip


# ---- libraries of the system ---------------------------------------------------------------


def test_the_window_names_all_packages(app, without):
    done = app.run("open", "sample", environment=without(*PACKAGES))
    assert named(done) == set(PACKAGES.values())


@pytest.mark.parametrize(
    "library",
    slow_but(["libxcb-cursor.so.0"], ["libxcb-cursor.so.0", "libxkbcommon-x11.so.0"]),
)
def test_qt_s_plugin_is_not_tried_without_its_libraries(app, without, library):
    done = app.run("open", "sample", environment=without(library) | {"DISPLAY": ":12345"})
    assert named(done) == {PACKAGES[library]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("render", "picture.png"), ("render", "picture.pdf"), ("report", "folder"),
        ("timelapse", "film.gif"), ("export", "film.gif"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_command_names_what_pictures_need(app, without, command):
    name, out = command
    done = app.run(name, "sample", "--out", out, environment=without(*PACKAGES))
    assert named(done) == set(PICTURES)
    assert not (app.home / out).exists()


@pytest.mark.parametrize("library", slow_but(["libEGL.so.1"], ["libEGL.so.1", "libX11.so.6"]))
def test_a_picture_names_what_is_missing(app, without, library):
    done = app.run("render", "sample", "--out", "picture.png", environment=without(library))
    assert PACKAGES[library] in named(done)  # and what cannot be loaded without it


@pytest.mark.slow
def test_other_commands_need_none(app, without):
    out = ("--out", "folder", "--no-figures")
    done = app.run("report", "sample", *out, environment=without(*PACKAGES))
    assert_silent(done)


@pytest.mark.slow
def test_pictures_need_no_library_of_the_window(app, without):
    hidden = without(*PACKAGES.keys() - OF_DRIVERS)
    done = app.run("render", "sample", "--out", "picture.png", environment=hidden)
    assert_silent(done)


def test_without_apt_the_libraries_are_named(app, without):
    hidden = without(*PACKAGES) | {"PATH": "/nowhere"}
    assert_refused(app.run("open", "sample", environment=hidden), *PACKAGES)


def test_the_line_to_install_all_of_them():
    page = ROOT / "resources" / "guide" / "installing.md"
    lines = page.read_text("utf-8").replace("\\\n", "").splitlines()
    found = [line.partition("--no-install-recommends ")[2].split() for line in lines]
    assert set(PACKAGES.values()) in map(set, found)


# ---- packages ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "command"),
    [
        (("transformers",), ("positions", "sample", "--out", "folder")),
        (("torch",), ("positions", "sample", "--out", "folder")),
        (("torch", "transformers"), ("intervene", "sample")),
        (("tokenizers",), ("export", "tokens:numbers,sample", "--out", "numbers.csv")),
        (("plotly",), ("export", "sample", "--out", "scene.html")),
        (("trimesh",), ("export", "sample", "--out", "scene.glb")),
        (("imageio_ffmpeg",), ("export", "sample", "--out", "film.mp4", "--size", "64x64")),
        (("PySide6",), ("open", "sample")),
    ],
    ids=lambda value: " ".join(map(str, value[:2])),
)
def test_a_package_is_said_with_the_command_that_installs_it(tmp_path, names, command):
    code = WITHOUT_PACKAGES.format(names=names)
    done = run_without(tmp_path, code, *command, HOME=str(tmp_path / "home"))
    said = [name for name in names if f"pip install {name}" in done.stderr]
    assert len(said) == 1
    assert_refused(done)


@pytest.mark.parametrize("package", slow_but(["pyarrow"], ["pyarrow", "distributed"]))
def test_commands_to_paste_have_straight_quotes(tmp_path, package):
    code = WITHOUT_PACKAGES.format(names=(package,))
    command = ("survey", "sample", "--out", "survey.parquet")
    done = run_without(tmp_path, code, *command, HOME=str(tmp_path / "home"))
    assert_refused(done, 'pip install ".[survey]"')


def test_no_command_in_the_code_has_curly_quotes():
    curly = re.compile(r"“[^”\n]*[][*$|&;<>][^”\n]*”")
    sentences = [
        (file.name, quoted)
        for folder in ("geometry", "gui")
        for file in (ROOT / folder).rglob("*.py")
        for line in file.read_text("utf-8").splitlines()
        if "nstall" in line
        for quoted in curly.findall(line)
    ]
    assert sentences == []


# ---- users without a home ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "variables"),
    [(WITHOUT_ENTRY, {}), ("", {"HOME": "/proc/nowhere"})],
    ids=["no entry", "no folder"],
)
def test_a_command_without_a_home(tmp_path, code, variables):
    done = run_without(tmp_path, code, "export", "sample", "--out", "table.csv", **variables)
    assert done.returncode == 0
    assert "no home folder" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "table.csv").exists()
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.slow
def test_the_window_without_a_home(tmp_path):
    command = ("open", "sample", "--picture", "window.png")
    with x_screen() as screen:
        done = run_without(tmp_path, WITHOUT_ENTRY, *command, **screen)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert (tmp_path / "window.png").exists()


@pytest.mark.slow
def test_processes_of_a_survey_without_a_home(tmp_path):
    command = ("survey", "sample", "--out", "survey.parquet", "--workers", "1")
    done = run_without(tmp_path, WITHOUT_ENTRY, *command)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)


# ---- links that lead nowhere ---------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("export", "{}", "--out", "table.csv"),
        ("positions", "{}", "--out", "folder"),
        ("survey", "{}", "--out", "survey.parquet"),
        ("open", "{}"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("name", ["model", "model.safetensors", "model.gguf"])
def test_a_dangling_link(command, words, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(name).symlink_to("/nowhere/model")
    done = command(*(word.format(name) for word in words))
    assert_refused(done, name, "a link to /nowhere/model")


# ---- make ----------------------------------------------------------------------------------


def run_in_makefile(command: str) -> tuple[int, bytes]:
    """Run a command as the Makefile does where there is no display; its status, and its words.

    The words go to a socket, as those of services do.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.run(
            [program("make"), "--no-print-directory", f"--eval=try: ; @$(XVFB) {command}", "try"],
            cwd=ROOT, env=clean(), stdout=theirs, stderr=theirs, check=False, timeout=60,
        )  # fmt: skip
        theirs.shutdown(socket.SHUT_RDWR)
        said = b"".join(iter(lambda: ours.recv(65536), b""))
    return process.returncode, said


def test_make_opens_a_virtual_screen_where_standard_error_cannot_be_opened_again():
    program("xvfb-run")
    assert run_in_makefile("""sh -c 'test -n "$$DISPLAY"'""") == (0, b"")


def test_make_shows_what_went_wrong_on_a_virtual_screen():
    program("xvfb-run")
    status, said = run_in_makefile("sh -c 'echo the reason; exit 3'")
    assert status != 0
    assert b"the reason" in said
