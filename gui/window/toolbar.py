"""The toolbar: views, tools and workspaces, one click each."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolBar, QToolButton, QWidget

from gui.widgets.label import without_keys
from gui.window.actions import Actions
from gui.window.arrangement.workspaces import WORKSPACES, Workspaces

TOOLS = (
    (("side_panels", "◧"),),
    (
        ("view_side", "Side"),
        ("view_article", "Article"),
        ("view_isometric", "Isometric"),
        ("view_xy", "xy"),
        ("view_xz", "xz"),
        ("view_yz", "yz"),
        ("frame", "Fit"),
        ("spin", "Spin"),
    ),
    (("select_box", "Box"), ("select_lasso", "Lasso"), ("measure", "Measure")),
    (("parallel", "Parallel"), ("faint", "Outside"), ("sphere", "Sphere")),
    (("bookmark", "Bookmark"), ("save_picture", "Picture")),
)
"""Groups of commands with short titles."""


HIDDEN_FIRST = (
    ("view_xy", "view_xz", "view_yz"),
    ("parallel", "faint", "sphere"),
    ("select_box", "select_lasso", "measure"),
    ("view_article", "view_isometric", "spin"),
    ("bookmark", "save_picture"),
)
"""Commands whose buttons are hidden if there is no room for all, in this order."""
OWN_LENGTH = 12
"""Maximum length of the shown title of a workspace that the user saved."""


class ToolBar(QToolBar):
    """Buttons for the commands of :data:`TOOLS`, and for the workspaces at the right end.

    If the window is narrow or its text large, those of :data:`HIDDEN_FIRST` are only in the menus.

    Attributes
    ----------
    buttons
        The buttons, by their commands.
    own
        The button with the menu of workspaces; hidden while the user has saved none.
    """

    def __init__(self, commands: Actions) -> None:
        super().__init__("Toolbar")
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.buttons: dict[str, QToolButton] = {}
        self._hidden = 0  # Number of hidden groups of HIDDEN_FIRST
        self._needed: dict[int, int] = {}  # Width by the number of hidden groups
        # Actions of the bar: hiding them keeps the commands in the menus. They are not removed and
        # created again, as Python would keep every button.
        self._groups: list[tuple[QAction | None, dict[str, QAction]]] = []
        for group in TOOLS:
            separator = self.addSeparator() if self._groups else None
            self._groups.append(
                (separator, {name: self._add(commands, name, title) for name, title in group})
            )
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(space)
        for name, workspace in WORKSPACES.items():
            self._add(commands, f"workspace_{name}", workspace.title)
        self.own = QToolButton()
        self.own.setMenu(commands.menus["Workspaces"])
        self.own.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.own.setCheckable(True)
        self.own.setAutoRaise(True)
        self.own.setToolTip("Workspaces that you have saved")
        self.own.setAccessibleName("Saved workspaces")
        self.own.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._own_place = self.addWidget(self.own)

    def show_own(self, workspaces: Workspaces) -> None:
        """Show the button of the user's own workspaces if there are any, with the current one."""
        own, current = workspaces.own(), workspaces.current
        shown = current if current in own else "Own"
        cut = shown if len(shown) <= OWN_LENGTH else f"{shown[: OWN_LENGTH - 1]}…"
        self.own.setText(without_keys(cut))
        self.own.setChecked(current in own)
        self._own_place.setVisible(bool(own))
        self._needed.clear()
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._needed.clear()
            self._fit()

    def _add(self, commands: Actions, name: str, title: str) -> QAction:
        action = commands.by_name[name]
        action.setIconText(title)
        button = self.buttons[name] = QToolButton()
        button.setDefaultAction(action)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        button.setAutoRaise(True)
        button.setAccessibleName(commands.commands[name].title)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return self.addWidget(button)

    def _fit(self) -> None:
        """Show as many buttons as there is room for."""
        for hidden in range(len(HIDDEN_FIRST) + 1):
            if hidden not in self._needed:
                self._hide_groups(hidden)
                self._needed[hidden] = self.sizeHint().width()
            if self._needed[hidden] <= self.width():
                break
        self._hide_groups(hidden)

    def _hide_groups(self, count: int) -> None:
        if count == self._hidden:
            return
        self._hidden = count
        hidden = {name for group in HIDDEN_FIRST[:count] for name in group}
        begun = False
        for separator, places in self._groups:
            for name, place in places.items():
                place.setVisible(name not in hidden)
            stays = any(name not in hidden for name in places)
            if separator is not None:
                separator.setVisible(stays and begun)
            begun = begun or stays
