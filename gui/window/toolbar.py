"""The toolbar: views, tools and workspaces, one click each."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy, QToolBar, QToolButton, QWidget

from gui.window.actions import Actions
from gui.window.workspaces import WORKSPACES

TOOLS = (
    (("view_side", "Side"), ("view_article", "As in article"), ("view_isometric", "Isometric"),
     ("view_xy", "xy"), ("view_xz", "xz"), ("view_yz", "yz"), ("frame", "Fit"), ("spin", "Spin")),
    (("select_box", "Box"), ("select_lasso", "Lasso"), ("measure", "Measure")),
    (("parallel", "Parallel"), ("faint", "Outside"), ("sphere", "Sphere")),
    (("bookmark", "Bookmark"), ("save_picture", "Picture")),
)  # fmt: skip
"""Groups of commands with short titles."""


class ToolBar(QToolBar):
    """Buttons for the commands of :data:`TOOLS`, and for the workspaces at the right end."""

    def __init__(self, commands: Actions) -> None:
        super().__init__("Toolbar")
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        for number, group in enumerate(TOOLS):
            if number:
                self.addSeparator()
            for name, title in group:
                self._add(commands, name, title)
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(space)
        for name, workspace in WORKSPACES.items():
            self._add(commands, f"workspace_{name}", workspace.title)

    def _add(self, commands: Actions, name: str, title: str) -> None:
        action = commands.by_name[name]
        action.setIconText(title)
        self.addAction(action)
        button = self.widgetForAction(action)
        assert isinstance(button, QToolButton)
        button.setAccessibleName(commands.commands[name].title)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
