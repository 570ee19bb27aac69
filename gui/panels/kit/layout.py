"""Layout of the parts of a panel."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QBoxLayout, QStackedLayout, QVBoxLayout, QWidget

from gui.panels.kit.body import PanelForm
from gui.panels.kit.others_legend import OthersLegend
from gui.panels.kit.result_header import ResultHeader
from gui.style.theme import GRID
from gui.widgets.boxes import vbox
from gui.widgets.words_page import WordsPage
from gui.widgets.working_strip import WorkingStrip


class ResultLayout:
    """Header, legend, and the result or a message, with the form beside or above it.

    Parameters
    ----------
    panel
        The panel.
    header, legend, words
        Its parts.
    form
        Controls that do not fit in the header; None for none.
    strip
        The progress, drawn over the content.

    Attributes
    ----------
    holder
        Parent of the result and of the message.
    """

    def __init__(
        self,
        panel: QWidget,
        header: ResultHeader,
        legend: OthersLegend,
        form: PanelForm | None,
        words: WordsPage,
        strip: WorkingStrip,
    ) -> None:
        self._panel, self._header, self._form = panel, header, form
        self._words, self._strip = words, strip
        margins = (GRID, GRID // 2, GRID, GRID // 2)
        page = vbox(header, legend, parent=panel, spacing=GRID // 2, margins=margins)
        # A floating panel would keep the minimum width of the widest arrangement.
        page.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)
        self.holder = QWidget()
        self._stack = QStackedLayout(self.holder)
        self._beside = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._beside.setSpacing(GRID // 2)
        if form is not None:
            self._beside.addWidget(form)
        self._beside.addWidget(self.holder, 1)
        page.addLayout(self._beside, 1)
        self._content_page = QWidget()
        self._page = vbox(parent=self._content_page)
        self._stack.addWidget(words)
        self._stack.addWidget(self._content_page)
        strip.setParent(panel)
        strip.hide()

    def add_content(self, content: QWidget) -> None:
        """Add the widget that draws results."""
        self._page.addWidget(content, 1)

    def show_content(self) -> None:
        """Show the result."""
        self._stack.setCurrentWidget(self._content_page)

    def show_words(self) -> None:
        """Show the message instead of a result."""
        self._stack.setCurrentWidget(self._words)

    def place_form(self) -> None:
        """Place the form beside the result or above it, as it fits."""
        if self._form is None:
            return
        panel, taken = self._panel, self._header.sizeHint().height()
        room = QSize(panel.width() - 2 * GRID, panel.height() - taken - 2 * GRID)
        directions = QBoxLayout.Direction
        beside = self._form.stands_beside(room)
        direction = directions.LeftToRight if beside else directions.TopToBottom
        if self._beside.direction() is not direction:
            self._beside.setDirection(direction)

    def place_strip(self, *, has_result: bool) -> None:
        """Place the progress beside the caption of a result, or in the middle without one."""
        caption = self._header.caption
        if self._strip.isHidden():
            caption.keep_free(0)
        elif has_result:
            row = QRect(caption.mapTo(self._panel, QPoint(0, 0)), caption.size())
            caption.keep_free(self._strip.stand_in(row))
        else:
            self._strip.stand_amid(self.holder.geometry())
