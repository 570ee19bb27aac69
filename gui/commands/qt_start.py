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

from gui.style.theme import ICONS, TEXT, THEMES, Theme, ThemeChoice, stylesheet
from gui.widgets.dropped_files import CopiesOnly
from gui.widgets.overrides import contain_overrides
from gui.widgets.roles import install_roles

ICON = ICONS / "helixscope.svg"


def surface_format() -> QSurfaceFormat:
    """Return the surface format that VTK draws on, as pyvistaqt sets it.

    It is needed before the first window is there, and VTK is imported only then.
    """
    made = QSurfaceFormat()
    made.setRenderableType(QSurfaceFormat.RenderableType.OpenGL)
    made.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    made.setVersion(3, 2)
    made.setSwapBehavior(QSurfaceFormat.SwapBehavior.DoubleBuffer)
    for set_size in (made.setRedBufferSize, made.setGreenBufferSize, made.setBlueBufferSize,
                     made.setAlphaBufferSize, made.setDepthBufferSize):  # fmt: skip
        set_size(8)
    made.setStencilBufferSize(0)
    made.setSamples(0)
    return made


class DesktopApplication(QApplication):
    """A QApplication that the desktop asks to open files, as macOS does after a double click."""

    fileOpened = Signal(str)  # The file's path

    def event(self, event: QEvent, /) -> bool:
        if isinstance(event, QFileOpenEvent) and event.file():
            self.fileOpened.emit(event.file())
            return True
        return super().event(event)


@contextmanager
def _locale_of_numbers() -> Iterator[None]:
    """Let Qt take the C library's locale from ``C.UTF-8`` in the block, and not from the user's.

    In a user's, the C library reads and writes other decimal points in files, PySide misspells the
    names of properties ("i" has no capital in Turkish), and Qt warns of a character encoding that
    is not UTF-8. Programs that are started later, and the keyboard, have the user's.
    """
    own = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        yield
    finally:
        del os.environ["LC_ALL"]
        if own is not None:
            os.environ["LC_ALL"] = own


def prepare_qt() -> QApplication:
    """Create the QApplication with the surface format that VTK needs, and numbers as in files.

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
    if sys.platform == "win32":  # a place in the taskbar of its own, and not among Python's
        ctypes.windll.shell32.SetCurrentProcessExplicitAppUserModelID("Helixscope")
    qt.setStyle("Fusion")
    install_roles()
    CopiesOnly(qt)
    if ICON.exists():
        qt.setWindowIcon(QIcon(str(ICON)))
    _place_modules()
    return qt


def _place_modules() -> None:
    """Give the modules that are inside PySide6's library absolute paths.

    Theirs are relative, and PySide6 reads its modules: it would do so in the current folder.
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
    """Give all widgets the colours and fonts of a theme."""
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
        # In place of another, a style sheet is applied to each widget once for each widget around
        # it; after none, once. So are palettes and fonts. Qt's list of what has a style sheet must
        # not become empty meanwhile: it would miss the deletion of widgets.
        listed = QWidget()
        listed.setStyleSheet("QWidget {}")
        qt.setStyleSheet("")
    qt.setPalette(palette)
    # Not by the style sheet: a rule for all widgets would double the time it takes to apply.
    font = qt.font()
    font.setPixelSize(theme.px(TEXT))
    qt.setFont(font)
    qt.setStyleSheet(stylesheet(theme))
