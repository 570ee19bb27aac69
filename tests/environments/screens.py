"""Screens, compositors and locales of other people's machines, each for a block of a test."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

#: What says where a program draws, and in which language: none of it is the test runner's own.
PLACES = (
    "DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE", "QT_QPA_PLATFORM", "XAUTHORITY",
    "LANG", "LANGUAGE",
)  # fmt: skip


def program(name: str) -> str:
    """The path of a program; the test is skipped where there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@contextmanager
def ended(process: subprocess.Popen) -> Iterator[subprocess.Popen]:
    """Stop a process at the end of the block, whatever it does."""
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def x_screen(size: str = "1600x1000x24", *arguments: str) -> Iterator[dict[str, str]]:
    """An X server with a screen of its own; the environment in which programs use it."""
    command = [program("Xvfb"), "-displayfd", "1", "-noreset", "-nolisten", "tcp"]
    with (
        subprocess.Popen(
            [*command, "-screen", "0", size, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        ) as server,
        ended(server),
    ):  # fmt: skip
        assert server.stdout is not None
        yield {"DISPLAY": f":{server.stdout.readline().strip()}"}


@contextmanager
def wayland(*arguments: str, x: bool = False) -> Iterator[dict[str, str]]:
    """A Wayland compositor without a screen; the environment in which programs use it.

    Parameters
    ----------
    arguments
        Options of weston.
    x
        Whether X programs can be used in it as well, by Xwayland, as in GNOME's and KDE's sessions.
    """
    with ExitStack() as stack:
        # The path of a socket may have about a hundred characters.
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hs-"))
        os.chmod(folder, 0o700)
        place = {"XDG_RUNTIME_DIR": folder, "WAYLAND_DISPLAY": "wl"}
        command = [program("weston"), "--backend=headless-backend.so", "--socket=wl", "--no-config"]
        log = Path(folder, "log")
        weston = subprocess.Popen(
            [*command, "--idle-time=0", f"--log={log}", *arguments],
            env=clean() | {"XDG_RUNTIME_DIR": folder},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        stack.enter_context(ended(weston))
        while not Path(folder, "wl").exists():
            assert weston.poll() is None, log.read_text()
        if x:
            # In a process of its own, not weston's module, which needs a screen of another kind.
            server = stack.enter_context(
                subprocess.Popen(
                    [program("Xwayland"), "-displayfd", "1", "-noreset"],
                    env=clean() | place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    text=True,
                )
            )  # fmt: skip
            stack.enter_context(ended(server))
            assert server.stdout is not None
            place["DISPLAY"] = f":{server.stdout.readline().strip()}"
        yield place | {"XDG_SESSION_TYPE": "wayland"}


def locale_folder(folder: Path, *names: str) -> dict[str, str]:
    """Generate locales that are perhaps not installed; the environment in which they are."""
    for name in names:
        language, _, charset = name.partition(".")
        subprocess.run(
            [program("localedef"), "-i", language, "-f", charset or "UTF-8", str(folder / name)],
            check=False, capture_output=True, timeout=60,
        )  # fmt: skip
        # Its exit status is 1 for mere warnings too.
        assert (folder / name / "LC_CTYPE").exists(), name
    return {"LOCPATH": str(folder)}


def clean() -> dict[str, str]:
    """The environment of the tests without what says where programs draw, and in which language."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in PLACES and not name.startswith("LC_")
    }
