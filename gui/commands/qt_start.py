"""Qt as the application needs it: surfaces, style, colours and fonts."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import PySide6
from PySide6.QtCore import QEvent, QLocale, Qt, Signal
from PySide6.QtGui import QColor, QFileOpenEvent, QIcon, QPalette, QSurfaceFormat
from PySide6.QtWidgets import QApplication, QWidget

from geometry.models.sources.source import LINK
from gui.style.theme import ICONS, TEXT, THEMES, Theme, ThemeChoice, stylesheet
from gui.widgets.dropped_files import CopiesOnly
from gui.widgets.overrides import contain_overrides
from gui.widgets.roles import install_roles

ICON = ICONS / "helixscope.svg"


def surface_format() -> QSurfaceFormat:
    """Return the surface format that VTK draws on, as pyvistaqt sets it.

    It is needed before the first window exists, and VTK is imported later.
    """
    target = QSurfaceFormat()
    target.setRenderableType(QSurfaceFormat.RenderableType.OpenGL)
    target.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    target.setVersion(3, 2)
    target.setSwapBehavior(QSurfaceFormat.SwapBehavior.DoubleBuffer)
    for set_size in (
        target.setRedBufferSize,
        target.setGreenBufferSize,
        target.setBlueBufferSize,
        target.setAlphaBufferSize,
        target.setDepthBufferSize,
    ):
        set_size(8)
    target.setStencilBufferSize(0)
    target.setSamples(0)
    return target


class DesktopApplication(QApplication):
    """A QApplication that the desktop asks to open files and links, as macOS does after a click."""

    fileOpened = Signal(str)  # The file's path, or the link

    def event(self, event: QEvent, /) -> bool:
        if isinstance(event, QFileOpenEvent):
            link = event.url().toString()
            if opened := event.file() or (link if link.startswith(LINK) else ""):
                self.fileOpened.emit(opened)
                return True
        return super().event(event)


@contextmanager
def _locale_of_numbers() -> Iterator[None]:
    """Let Qt set the C library's locale to ``C.UTF-8`` in the block, not to the user's.

    In the user's, the C library may read and write other decimal points in files, PySide may
    misspell names of properties ("i" has no capital in Turkish), and Qt may warn of an encoding
    that is not UTF-8. Programs started later, and the keyboard, use the user's.
    """
    before = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        yield
    finally:
        del os.environ["LC_ALL"]
        if before is not None:
            os.environ["LC_ALL"] = before


def prepare_qt() -> QApplication:
    """Create the QApplication with the surface format that VTK needs, and the C locale for numbers.

    The format must be set before the first top-level window exists.
    """
    contain_overrides()
    QSurfaceFormat.setDefaultFormat(surface_format())
    # The central widget is a native window, but its siblings are not.
    QApplication.setAttribute(Qt.ApplicationAttribute.AA_DontCreateNativeWidgetSiblings)
    qt = QApplication.instance()
    if not isinstance(qt, QApplication):
        with _locale_of_numbers():
            qt = DesktopApplication(sys.argv[:1])
    QLocale.setDefault(QLocale.c())
    qt.setApplicationName("Helixscope")
    qt.setDesktopFileName("helixscope")
    if sys.platform == "win32":  # its own place in the taskbar, not among Python's
        ctypes.windll.shell32.SetCurrentProcessExplicitAppUserModelID("Helixscope")
    qt.setStyle("Fusion")
    install_roles()
    CopiesOnly(qt)
    if ICON.exists():
        qt.setWindowIcon(QIcon(str(ICON)))
    _place_modules()
    return qt


def _place_modules() -> None:
    """Make the paths of the modules inside PySide6's library absolute.

    PySide6 reads these modules, and would look for relative paths in the current folder.
    """
    place = Path(PySide6.__file__).parent
    for name, module in sys.modules.items():
        if name.startswith("shibokensupport.") and module.__file__ is not None:
            module.__file__ = str(place / module.__file__)


def theme_of(qt: QApplication, choice: ThemeChoice, text_size: int) -> Theme:
    """Return the theme of a choice; "system" follows the desktop."""
    name = str(choice)
    if choice == "system":
        name = "dark" if qt.styleHints().colorScheme() == Qt.ColorScheme.Dark else "light"
    return replace(THEMES[name], text_size=text_size)


def dress(qt: QApplication, theme: Theme) -> None:
    """Apply the colours and fonts of a theme to all widgets."""
    palette = QPalette()
    for roles, color in (
        (("Window", "Button", "ToolTipBase", "AlternateBase"), theme.panel),
        (("Base",), theme.field),
        (("WindowText", "Text", "ButtonText", "ToolTipText", "BrightText"), theme.text),
        (("PlaceholderText",), theme.muted),
        (("Highlight",), theme.line),
        (("HighlightedText",), theme.text),
        (("Link", "Accent"), theme.accent),
        (("Mid", "Midlight", "Dark"), theme.line),
    ):
        for role in roles:
            palette.setColor(QPalette.ColorRole[role], QColor(color))
    if qt.styleSheet():
        # Replacing a style sheet, a palette or a font applies it to each widget once for each of
        # its parents; without an earlier style sheet, once. Qt's list of what has a style sheet
        # must not become empty meanwhile: it would miss the deletion of widgets.
        listed = QWidget()
        listed.setStyleSheet("QWidget {}")
        qt.setStyleSheet("")
    qt.setPalette(palette)
    # Not in the style sheet: a rule for all widgets would double the time of applying it.
    font = qt.font()
    font.setPixelSize(theme.px(TEXT))
    qt.setFont(font)
    qt.setStyleSheet(stylesheet(theme))
