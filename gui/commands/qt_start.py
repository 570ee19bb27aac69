"""Qt as the application needs it: surfaces, style, colours and fonts."""

from __future__ import annotations

import sys
from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon, QPalette, QSurfaceFormat
from PySide6.QtWidgets import QApplication, QWidget

from gui.style.theme import ICONS, TEXT, THEMES, Theme, ThemeChoice, stylesheet
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


def prepare_qt() -> QApplication:
    """Create the QApplication with the surface format that VTK needs.

    The format must be set before the first top-level window exists.
    """
    contain_overrides()
    QSurfaceFormat.setDefaultFormat(surface_format())
    # The central widget is a native window, but its siblings are not.
    QApplication.setAttribute(Qt.ApplicationAttribute.AA_DontCreateNativeWidgetSiblings)
    qt = QApplication.instance()
    if not isinstance(qt, QApplication):
        qt = QApplication(sys.argv[:1])
    qt.setApplicationName("Helixscope")
    qt.setDesktopFileName("helixscope")
    qt.setStyle("Fusion")
    install_roles()
    if ICON.exists():
        qt.setWindowIcon(QIcon(str(ICON)))
    return qt


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
