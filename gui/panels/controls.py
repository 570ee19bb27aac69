"""The look of the small controls of the left column, on top of the application's style sheet."""

from __future__ import annotations

from gui.theme import SMALL, Theme


def controls_style(theme: Theme) -> str:
    """Return the style sheet that a panel with fields, drop-downs and small buttons sets.

    Buttons of the class "chip" are small; those of the class "segment" stand in a
    frame of the class "segments" and show which one is on by tone, since the accent is for
    selected positions.
    """
    return f"""
QLineEdit {{ placeholder-text-color: {theme.muted}; }}
QSpinBox QLineEdit {{ border: none; padding: 0; min-height: 0; background: transparent; }}
QSpinBox {{ padding: 2px 4px; }}
QSpinBox::up-button, QSpinBox::down-button {{ width: 0; border: none; }}
QComboBox {{
    padding: 3px 4px; combobox-popup: 0;
    selection-background-color: {theme.line}; selection-color: {theme.text};
}}
QComboBox QAbstractItemView::item {{ min-height: 22px; }}
QComboBox::drop-down {{ border: none; width: 16px; }}
QToolButton[class="chip"] {{
    font-size: {SMALL}px; padding: 3px 0; border: 1px solid {theme.line}; border-radius: 4px;
}}
QFrame[class="segments"] {{
    background: transparent; border: 1px solid {theme.line}; border-radius: 5px;
}}
QPushButton[class="segment"] {{
    background: transparent; border: 1px solid transparent; border-radius: 4px;
    color: {theme.text}; padding: 2px;
}}
QPushButton[class="segment"]:checked {{ background: {theme.line}; }}
QPushButton[class="segment"]:!checked {{ color: {theme.muted}; }}
QPushButton[class="segment"]:hover {{ color: {theme.text}; }}
QPushButton[class="segment"]:focus {{ border-color: {theme.muted}; }}
"""
