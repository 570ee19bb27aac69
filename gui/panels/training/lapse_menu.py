"""What can be taken away of a time-lapse, besides the figure and the numbers of its curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QMenu

if TYPE_CHECKING:
    from gui.panels.result_panel import ResultPanel


def lapse_menu(panel: ResultPanel, menu: QMenu, films: Any) -> QMenu:
    """Add to a panel's menu; the actions are enabled while there is a time-lapse.

    Parameters
    ----------
    panel
        Whose session has the time-lapse.
    menu
        Gets the actions.
    films
        A :class:`gui.export.save_film.FilmSaver`; None where there is no viewport to picture.

    Returns
    -------
    The menu
    """
    menu.addSeparator()
    for text, act, possible in (
        ("Save time-lapse…", "ask", films is not None and not films.busy),
        ("Save coordinates…", "ask_numbers", films is not None),
    ):
        action = menu.addAction(text)
        action.setEnabled(possible and panel.session.lapse is not None)
        action.triggered.connect(lambda _=False, act=act: getattr(films, act)(panel.file_name()))
    return menu
