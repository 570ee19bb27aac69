"""Starting the application as a process, in the environment of another machine."""

import fcntl
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Completed
from tests.environments.screens import clean, ended, x_screen

#: Seconds after which a start has failed. It takes 2 or 3, on a busy machine several times that.
PATIENCE = 90


class App:
    """The application in a home of its own, run as a command."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir()
        self._environment = clean() | {"HOME": str(home), "HF_HUB_OFFLINE": "1"}
        for kind in ("STATE", "CONFIG", "CACHE", "DATA"):
            self._environment.pop(f"XDG_{kind}_HOME", None)

    @contextmanager
    def started(
        self,
        *arguments: object,
        environment: dict[str, str],
        cwd: Path | None = None,
        program: tuple[str, ...] = ("-m", "main"),
        terminal: int | None = None,
    ) -> Iterator[subprocess.Popen[str]]:
        """A process of the application, which ends with the block at the latest.

        Parameters
        ----------
        program
            Arguments of Python, which runs the application.
        terminal
            What the process has in place of pipes, and is the first process of.
        """

        def begin() -> None:
            for number in (signal.SIGINT, signal.SIGHUP):  # ignored by `nohup`, or beside a shell
                signal.signal(number, signal.SIG_DFL)
            if terminal is not None:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        pipe = subprocess.PIPE if terminal is None else terminal
        with (
            subprocess.Popen(
                [sys.executable, "-P", *program, *map(str, arguments)],
                env=self._environment | environment, cwd=cwd or self.home, text=True,
                stdin=terminal, stdout=pipe, stderr=pipe, start_new_session=True, preexec_fn=begin,
            ) as process,
            ended(process),
        ):  # fmt: skip
            yield process

    def run(self, *arguments: object, **how: Any) -> Completed:
        """Run a command to its end; the options are those of `started`."""
        with self.started(*arguments, **how) as process:
            out, err = process.communicate(timeout=PATIENCE)
            return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture
def app(tmp_path) -> App:
    """The application in an empty home."""
    return App(tmp_path / "home")


@pytest.fixture(scope="module")
def screen() -> Iterator[dict[str, str]]:
    """The environment of programs on an X server of the module's own."""
    with x_screen() as environment:
        yield environment
