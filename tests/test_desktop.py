"""What desktops are told about Helixscope: entries, files of projects, software centres, icons."""

import math
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from PIL import Image

from tests.command_line import ROOT
from tests.environments.screens import program
from tools.bundle.icons import SIZES, write_icons

RESOURCES = ROOT / "resources"


@pytest.fixture
def home(tmp_path) -> Path:
    """The home of a user who has installed Helixscope for its desktop."""
    share = tmp_path / ".local" / "share"
    updates = {"update-mime-database": "mime", "update-desktop-database": "applications"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for place, files in project["tool"]["setuptools"]["data-files"].items():
        folder = tmp_path / ".local" / place
        folder.mkdir(parents=True)
        for file in files:
            shutil.copy(ROOT / file, folder)
    for update, folder in updates.items():
        subprocess.run([program(update), share / folder], capture_output=True, check=True)
    return tmp_path


def call(home: Path, name: str, *arguments: object, output: int = subprocess.PIPE) -> str:
    """Run a program in that home, in a session of GNOME's; return what it prints."""
    program("gio")  # which GNOME's sessions ask
    done = subprocess.run(
        [program(name), *map(str, arguments)], stdout=output, text=True, check=True, timeout=60,
        env={"HOME": str(home), "PATH": f"{home}:{os.environ['PATH']}",
             "XDG_CURRENT_DESKTOP": "GNOME"},
    )  # fmt: skip
    return (done.stdout or "").strip()


@pytest.mark.parametrize("entry", ["helixscope.desktop", "helixscope-link.desktop"])
def test_the_desktop_entries_are_valid(entry):
    check = [program("desktop-file-validate"), "--no-hints", RESOURCES / entry]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_description_for_software_centres_is_valid():
    check = [program("appstreamcli"), "validate", "--no-net", "--no-color"]
    done = subprocess.run(
        [*check, RESOURCES / "helixscope.metainfo.xml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_a_project_is_a_type_of_its_own(home):
    file = home / "my project.helix"
    file.write_bytes(b"PK\x03\x04")
    assert call(home, "xdg-mime", "query", "filetype", file) == "application/x-helixscope"


@pytest.mark.parametrize("what", ["my project.helix", "helixscope://open?model=gpt2"])
def test_what_is_double_clicked_opens(home, what):
    if what.endswith(".helix"):
        what = str(home / what)
        Path(what).write_bytes(b"PK\x03\x04")
    os.mkfifo(home / "opened")  # reading waits for what is written
    opens = home / "helixscope"
    opens.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{home}/opened"\n')
    opens.chmod(0o755)
    call(home, "xdg-open", what, output=subprocess.DEVNULL)  # a pipe would be held open
    assert (home / "opened").read_text() == f"{what}\n"


def test_icons_for_windows_and_macos_have_all_sizes(tmp_path):
    write_icons(tmp_path)
    for ending, sizes in SIZES.items():
        with Image.open(tmp_path / f"helixscope{ending}") as icon:
            # Of macOS' there are also doubled ones: width, height, scale.
            found = {width * math.prod(scale) for width, _, *scale in icon.info["sizes"]}
            assert found == set(sizes)
            assert icon.convert("RGBA").getpixel((icon.width // 2, icon.height // 20 + 1))[3] == 255
