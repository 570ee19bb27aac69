"""The application as a process of its own, as `make run` without a display starts it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def run_main(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run main.py with a home of its own."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        home = {"HOME": str(tmp_path), "HF_HUB_CACHE": str(tmp_path / "hub")}
        places = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "STATE", "CACHE")}
        return subprocess.run(
            [sys.executable, ROOT / "main.py", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **home, **places},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def test_picture_of_the_window(run_main: Callable, write_gpt2: Callable, tmp_path: Path) -> None:
    out = tmp_path / "window.png"
    done = run_main("open", write_gpt2(), "--positions", "5-150", "--picture", out)
    assert (done.returncode, done.stderr) == (0, "")
    picture = QImage(str(out))
    assert picture.width() >= 960
    # The curve runs through all colours of its map; an empty viewport has one.
    colors = {picture.pixelColor(x, y).name() for x in range(300, picture.width() - 300, 2)
              for y in range(40, picture.height() - 280, 2)}  # fmt: skip
    assert len(colors) > 50


def test_picture_that_cannot_be_written(run_main: Callable, write_gpt2: Callable) -> None:
    done = run_main("open", write_gpt2(), "--picture", "no/such/folder.png")
    assert done.returncode == 1
    assert done.stderr.startswith("helixscope: The picture could not be written")
    assert done.stderr.count("\n") == 1


def test_source_that_cannot_be_opened(run_main: Callable) -> None:
    done = run_main("open", "nowhere", "--picture", "window.png")
    assert done.returncode == 1
    assert done.stderr.startswith("helixscope: ")
    assert done.stderr.count("\n") == 1
