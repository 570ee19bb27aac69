"""Accessible roles of widgets that paint themselves.

Qt has roles only for its own widgets. Helixscope's classes define theirs by an attribute,
``accessible_role``.
"""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget


def install_roles() -> None:
    """Install the roles of Helixscope's widgets."""
    QAccessible.installFactory(_interface)


def _interface(_kind: str, widget: QObject) -> QAccessibleInterface | None:
    role = getattr(widget, "accessible_role", None)
    if role is None or not isinstance(widget, QWidget):
        return None
    return QAccessibleWidget(widget, role)
