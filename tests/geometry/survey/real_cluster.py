"""A cluster of real processes, of which each may be of another machine; and what is no cluster."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import distributed

from tests.command_line import ROOT

#: Begins a process of Dask's; "first" is what makes it one of another machine.
_STARTS = """
import sys
{first}
from distributed.cli.dask_{kind} import main
sys.exit(main())
"""


class Cluster:
    """A scheduler and workers, each a process of its own.

    Parameters
    ----------
    port
        Of the scheduler; any if 0.
    first, path
        As in :meth:`add_worker`.
    """

    def __init__(self, port: int = 0, *, first: str = "", path: Path = ROOT) -> None:
        self.processes: list[subprocess.Popen[str]] = []
        self.scheduler = self._start(
            "scheduler", first, path, "--host", "127.0.0.1", "--port", port, "--no-dashboard"
        )
        self.address = self.until(self.scheduler, "Scheduler at:").split()[-1]

    def add_worker(
        self, *options: str, first: str = "", path: Path = ROOT
    ) -> subprocess.Popen[str]:
        """Start a worker.

        Parameters
        ----------
        options
            Of the command line.
        first
            Code that it runs before all else.
        path
            The folder with its packages.
        """
        return self._start(
            "worker", first, path, self.address, "--nthreads", 1, "--no-nanny", "--no-dashboard",
            *options,
        )  # fmt: skip

    @staticmethod
    def until(process: subprocess.Popen[str], words: str) -> str:
        """Wait until a process has printed a line with these words, and return it."""
        assert process.stderr is not None
        return next(line for line in process.stderr if words in line)

    def close(self) -> None:
        """End all processes."""
        for process in self.processes:
            process.kill()
            process.communicate()

    def _start(self, kind: str, first: str, path: Path, *options: object) -> subprocess.Popen[str]:
        # Without the installed packages, if it is to have only those in a folder.
        alone = ["-S"] if path != ROOT else []
        process = subprocess.Popen(
            [sys.executable, "-P", *alone, "-c", _STARTS.format(first=first, kind=kind),
             *map(str, options)],
            cwd=path, text=True, env=os.environ | {"PYTHONPATH": str(path)}, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.processes.append(process)
        return process


def bare_packages(folder: Path) -> Path:
    """Fill a folder with all installed packages but Helixscope, as links."""
    folder.mkdir()
    for package in Path(distributed.__file__).parents[1].iterdir():
        if "helixscope" not in package.name and package.suffix != ".pth":
            (folder / package.name).symlink_to(package)
    return folder


#: What `first` may be: a Dask, a Python, a Helixscope of another version.
OTHER_VERSION = """
import importlib.metadata as metadata
real = metadata.version
metadata.version = lambda name: {version!r} if name == {name!r} else real(name)
"""
OTHER_PYTHON = """
import distributed.versions as versions
real = versions.get_package_info
versions.get_package_info = lambda names: real(names) | {"python": "3.99.0.final.0"}
"""


@contextmanager
def serving(says: bytes, *, hangs_up: bool = False) -> Iterator[str]:
    """A server that says the same to everybody, and then listens or hangs up; its address."""
    connections = []

    def serve() -> None:
        while True:
            try:
                one, _ = server.accept()
            except OSError:  # it was closed
                return
            one.sendall(says)
            if hangs_up:
                one.close()
            connections.append(one)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for one in connections:
        one.close()
