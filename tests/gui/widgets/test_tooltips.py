"""Tooltips break into lines."""

import pytest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from gui.widgets.tooltips import LINE, wrapped


def test_long_lines_break_and_short_ones_stay():
    text = "Position 3\n" + "word " * 40
    lines = wrapped(text).split("\n")
    assert lines[0] == "Position 3"
    assert len(lines) > 3
    assert all(len(line) <= LINE for line in lines)
    assert " ".join(lines[1:]) == ("word " * 40).strip()
    assert "2.9\u00a0%" in wrapped("x" * 57 + " 2.9\u00a0%")  # with its unit
    assert max(map(len, wrapped("y" * 300).split("\n"))) == LINE
    assert wrapped("") == ""


@pytest.mark.slow
def test_controls_have_short_tooltips(application, gpt2_folder, wait_until_idle):
    application.controller.open(str(gpt2_folder))
    wait_until_idle(application)
    application.controller.select((5, 300))
    application.session.prompt = "Hello my name is Adam"
    wait_until_idle(application)
    kinds = QAbstractButton | QLineEdit | QAbstractSpinBox | QComboBox | QPlainTextEdit
    tips = []
    for name, panel in application.window.panels.items():
        for widget in every(panel):
            tips.append(widget.toolTip())
            inner = isinstance(widget.parent(), QAbstractSpinBox | QLineEdit)
            if isinstance(widget, kinds) and not inner and widget.isVisibleTo(panel):
                assert widget.toolTip(), f"{name}: {widget}"
    assert sum(map(bool, tips)) > 40
    assert [tip for tip in tips if any(len(line) > LINE for line in tip.split("\n"))] == []


def every(panel):
    """Return a panel's widgets, without the inner ones that Qt makes and names itself."""
    found = [panel, *panel.findChildren(QWidget)]
    return [widget for widget in found if not widget.objectName().startswith("qt_")]
