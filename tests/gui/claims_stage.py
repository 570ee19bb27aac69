"""The claims panel in the window, in tests."""

from types import SimpleNamespace

from PySide6.QtCore import Qt

LEFT = Qt.MouseButton.LeftButton


def show_claims(app, wait_until_idle):
    """The panel in the window, answered."""
    app.window.docks["claims"].raise_()
    wait_until_idle(app)
    panel = app.window.panels["claims"]
    assert panel.result is not None
    return SimpleNamespace(app=app, window=app.window, panel=panel, table=panel.content.table)
