"""Commands in this process print no progress: how long they take is the machine's affair."""

import math

import pytest


@pytest.fixture(autouse=True)
def _progress_is_never_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gui.commands.steps.EVERY_S", math.inf)
