"""The toolbar: views, tools and workspaces, one click each."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QResizeEvent
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


LEAVE_FIRST = (
    ("view_xy", "view_xz", "view_yz"),
    ("parallel", "faint", "sphere"),
    ("select_box", "select_lasso", "measure"),
    ("view_article", "view_isometric", "spin"),
    ("bookmark", "save_picture"),
)
"""Commands whose buttons leave where there is no room for all, in this order."""


class ToolBar(QToolBar):
    """Buttons for the commands of :data:`TOOLS`, and for the workspaces at the right end.

    Where the window is narrow or its text large, those of :data:`LEAVE_FIRST` are only in the
    menus.
    """

    def __init__(self, commands: Actions) -> None:
        super().__init__("Toolbar")
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self._commands = commands
        self._left = -1  # Number of groups of LEAVE_FIRST that have left
        self._needed: dict[int, int] = {}  # Width without so many of them
        self._groups: list[tuple[QAction, list[str]]] = []
        for group in TOOLS:
            separator = QAction(self)
            separator.setSeparator(True)
            self._groups.append((separator, [name for name, _ in group]))
            for name, title in group:
                commands.by_name[name].setIconText(title)
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._space = self.addWidget(space)
        for name, workspace in WORKSPACES.items():
            commands.by_name[f"workspace_{name}"].setIconText(workspace.title)
            self.addAction(commands.by_name[f"workspace_{name}"])
            self._name_button(f"workspace_{name}")
        self._fill(0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._needed.clear()
            self._fit()

    def _fit(self) -> None:
        """Show as many buttons as there is room for."""
        for left in range(len(LEAVE_FIRST) + 1):
            if left not in self._needed:
                self._fill(left)
                self._needed[left] = self.sizeHint().width()
            if self._needed[left] <= self.width():
                break
        self._fill(left)

    def _fill(self, left: int) -> None:
        if left == self._left:
            return
        self._left = left
        away = {name for group in LEAVE_FIRST[:left] for name in group}
        for action in self.actions()[: self.actions().index(self._space)]:
            self.removeAction(action)
        for separator, names in self._groups:
            stay = [name for name in names if name not in away]
            if stay and self.actions()[0] is not self._space:
                self.insertAction(self._space, separator)
            for name in stay:
                self.insertAction(self._space, self._commands.by_name[name])
                self._name_button(name)

    def _name_button(self, name: str) -> None:
        button = self.widgetForAction(self._commands.by_name[name])
        assert isinstance(button, QToolButton)
        button.setAccessibleName(self._commands.commands[name].title)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
