"""Whether the system requests reduced motion."""

from __future__ import annotations

import os

from PySide6.QtGui import QGuiApplication

PORTAL = (
    "org.freedesktop.portal.Desktop",
    "/org/freedesktop/portal/desktop",
    "org.freedesktop.portal.Settings",
    "Read",
)
WAIT_MS = 300
"""Maximum wait for the desktop's answer."""


def motion_reduced() -> bool:
    """Return whether the system requests reduced motion; False if unknown.

    Qt has it from version 6.12 on. Before that, it is read from a Linux desktop's portal, see
    https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Settings.html.
    """
    hints = QGuiApplication.styleHints().accessibility()
    if hasattr(hints, "motionPreference"):
        return bool(hints.motionPreference().name == "ReducedMotion")
    if "DBUS_SESSION_BUS_ADDRESS" not in os.environ:
        return False
    return (
        _read("org.freedesktop.appearance", "reduced-motion") == 1
        or _read("org.gnome.desktop.interface", "enable-animations") is False
    )


def _read(namespace: str, key: str) -> object:
    """Return a setting of the desktop; None if it is not set."""
    from PySide6.QtDBus import QDBus, QDBusConnection, QDBusMessage, QDBusVariant

    call = QDBusMessage.createMethodCall(*PORTAL)
    call.setArguments([namespace, key])
    answer = QDBusConnection.sessionBus().call(call, QDBus.CallMode.Block, WAIT_MS)
    if answer.type() != QDBusMessage.MessageType.ReplyMessage or not answer.arguments():
        return None
    value = answer.arguments()[0]
    while isinstance(value, QDBusVariant):  # may be nested
        value = value.variant()
    return value
