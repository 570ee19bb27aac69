"""What Qt calls in Python may fail, and neither ends the process nor appears elsewhere."""

import pkgutil
import sys
from importlib import import_module

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import Shiboken

import gui
from gui.widgets.overrides import CALLED_BY_QT, overrides

FROM_PYTHON = {"close", "nextCheckState", "setFocus", "setText"}
"""Methods of ours with a name of Qt's that Qt itself does not call."""
FAILS = {
    "in Python": lambda: [].no_such_attribute,
    "in C, without an object": lambda: int("x"),
    "in C, by a singleton": lambda: 1 / 0,
}


def below(cls: type) -> set[type]:
    return {cls}.union(*map(below, type.__subclasses__(cls)))


def test_everything_that_qt_calls_in_python_is_contained():
    for module in pkgutil.walk_packages(gui.__path__, "gui."):
        import_module(module.name)
    seen = set()
    for cls in below(Shiboken.Object):
        for name, function in overrides(cls).items():
            if cls.__module__.startswith("gui."):
                seen.add(name)
            if CALLED_BY_QT.fullmatch(name):
                assert hasattr(function, "__wrapped__"), f"{cls.__qualname__}.{name}"
    assert {"eventFilter", "event", "paintEvent", "closeEvent", "data", "sizeHint"} <= seen
    assert {name for name in seen if not CALLED_BY_QT.fullmatch(name)} <= FROM_PYTHON


def failing(base, name, fail, on):
    """A widget whose method of a name fails while ``on`` has a truth in it."""

    def method(self, *arguments):
        if on:
            fail()
        return getattr(super(made, self), name)(*arguments)

    made = type("Failing", (base,), {name: method})
    return made()


@pytest.mark.parametrize("fail", FAILS.values(), ids=FAILS)
@pytest.mark.parametrize("name", ["eventFilter", "event", "paintEvent", "resizeEvent", "sizeHint"])
def test_one_that_fails_is_reported_and_is_as_if_it_were_not_there(qtbot, monkeypatch, name, fail):
    on, reported = [], []
    monkeypatch.setattr(sys, "excepthook", lambda kind, *_: reported.append(kind))
    widget = failing(QWidget, name, fail, on)
    qtbot.addWidget(widget)
    widget.installEventFilter(widget)
    on.append(True)
    # From Python, which would be where the exception is raised again.
    widget.show()
    widget.resize(300, 200)
    widget.grab()
    widget.adjustSize()
    QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))
    on.clear()
    assert reported
    assert set(reported) <= {AttributeError, ValueError, ZeroDivisionError}


def test_a_report_that_fails_too_stays_inside(qtbot, monkeypatch):
    def hook(*_):
        raise RuntimeError("no report")

    monkeypatch.setattr(sys, "excepthook", hook)
    on = [True]
    widget = failing(QWidget, "paintEvent", lambda: 1 / 0, on)
    qtbot.addWidget(widget)
    widget.grab()
    on.clear()
