"""Commands in this process print no progress: how long they take is the machine's affair."""

import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.debian_texts import write_packages


@pytest.fixture(autouse=True)
def _progress_is_never_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gui.commands.steps.EVERY_S", math.inf)


@pytest.fixture(scope="session")
def findings() -> Path:
    """Folder of what takes hours, which is continued there if it was interrupted."""
    folder = os.environ.get("HELIXSCOPE_FINDINGS")
    if folder is None:
        pytest.skip("takes up to hours: `make findings` runs it")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def debian_texts(findings: Path) -> Callable[..., Path]:
    """A folder of the texts in packages of Debian: ``debian_texts(name, *packages)``."""

    def folder_of(name: str, *packages: str) -> Path:
        folder, unfinished = findings / name, findings / f"{name}.unfinished"
        if not folder.exists():
            if shutil.which("apt-get") is None:
                pytest.skip("the texts are in packages of Debian, and there is no apt-get")
            shutil.rmtree(unfinished, ignore_errors=True)
            write_packages(packages, unfinished)
            unfinished.rename(folder)
        return folder

    return folder_of
