"""Panels beside the viewport hear nothing after they are released."""

import pytest

from gui.panels.compare.aligned_row import AlignedRow
from gui.side_panels.bookmarks import BookmarksPanel
from gui.side_panels.inspector import InspectorPanel
from gui.side_panels.lesson import LessonPanel
from gui.side_panels.models.models import ModelPanel
from gui.side_panels.positions import PositionsPanel
from gui.side_panels.prompt import PromptPanel
from gui.side_panels.view import ViewPanel
from gui.state.session import Session
from gui.style.theme import LIGHT

PANELS = (
    BookmarksPanel,
    InspectorPanel,
    LessonPanel,
    ModelPanel,
    AlignedRow,
    PositionsPanel,
    PromptPanel,
    ViewPanel,
)


@pytest.mark.parametrize("panel_class", PANELS, ids=lambda made: made.__name__)
def test_a_released_panel_hears_nothing(qtbot, panel_class):
    session = Session()

    def listeners():
        return sum(len(session.events[name]) for name in session.events)

    before = listeners()
    panel = panel_class(session, LIGHT)
    qtbot.addWidget(panel)
    assert listeners() > before
    panel.release()
    assert listeners() == before
