"""Completion in the shells for which the command installs it, by a real Tab in each."""

import os
import shutil
import sys
from pathlib import Path

import pytest

pexpect = pytest.importorskip("pexpect")
STARTED = "is-ready"


@pytest.fixture(params=["bash", "zsh", "fish"])
def started(request, tmp_path):
    """Starts a shell that a user has at home."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    bin_folder = Path(sys.executable).parent
    if not (bin_folder / "helixscope").exists():
        pytest.skip("the command is not installed")
    environment = {
        "HOME": str(tmp_path), "TERM": "dumb", "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
    }  # fmt: skip
    (tmp_path / ".zshrc").touch()  # without one, zsh asks how to begin
    shells = []

    def start():
        shell = pexpect.spawn(
            request.param, ["-i"], env=environment, cwd=str(tmp_path), timeout=40,
            encoding="utf-8", dimensions=(40, 150),
        )  # fmt: skip
        shells.append(shell)
        shell.sendline("echo is-'ready'")
        shell.expect(STARTED)
        return shell

    yield start
    for shell in shells:
        shell.close(force=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("timel\t --help", "Usage: helixscope timelapse"),
        ("models --off\t --json", '"state": "bundled"'),
    ],
    ids=["command", "option"],
)
def test_tab_completes(started, typed, shown):
    shell = started()
    shell.sendline("helixscope --install-completion")
    shell.expect("completion installed")
    shell = started()
    shell.send("helixscope timel\t\x15")  # zsh only loads the function at the first Tab
    shell.sendline(f"helixscope {typed}")
    shell.expect_exact(shown)
