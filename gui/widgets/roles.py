"""What widgets that paint themselves are to a screen reader.

Qt knows what its own widgets are; of others it says no more than that they are there. A class of
ours says it by an attribute, ``accessible_role``.
"""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget


def install_roles() -> None:
    """Let Qt ask for the roles of our widgets."""
    QAccessible.installFactory(_interface)


def _interface(_kind: str, widget: QObject) -> QAccessibleInterface | None:
    role = getattr(widget, "accessible_role", None)
    if role is None or not isinstance(widget, QWidget):
        return None
    return QAccessibleWidget(widget, role)
