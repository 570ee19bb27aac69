"""Tests for the authors of plugins; a plugin of pytest, with what their own tests need.

``pytest --pyargs gui.testing`` tests the panels and claims that installed plugins add by the
contracts that the built-in ones keep to. With ``pytest_plugins = ["gui.testing"]`` in a
``conftest.py``, the fixture ``panel_stage`` shows a panel in tests of one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gui.panels.kit.spec import AnyPanel
    from gui.testing.stage import PanelStage


@pytest.fixture
def panel_stage(qapp: Any) -> Iterator[Callable[..., PanelStage]]:
    """Return a function of a panel's spec and a source, which opens that in the panel."""
    from gui.testing.stage import PanelStage

    stages: list[PanelStage] = []

    def show(spec: AnyPanel, source: object, **options: Any) -> PanelStage:
        stages.append(PanelStage(spec, **options))
        stages[-1].open(str(source))
        return stages[-1]

    yield show
    for stage in stages:
        stage.close()
