"""A column that scrolls: its bar has its place whether it is needed or not."""

from PySide6.QtWidgets import QApplication, QLabel

from gui.widgets.scroll_column import ScrollColumn


def test_the_bar_has_its_place_and_is_drawn_only_where_it_is_needed(application, qtbot):
    text = QLabel("words")
    column = ScrollColumn(text)
    qtbot.addWidget(column)
    column.resize(200, 100)
    with qtbot.waitExposed(column):
        column.show()
    bar, width = column.verticalScrollBar(), column.viewport().width()
    assert bar.isVisible()
    assert not bar.isEnabled()
    assert width == 200 - bar.width()
    empty = bar.grab().toImage()
    corner = empty.pixelColor(0, 0)
    assert all(
        empty.pixelColor(x, y) == corner
        for x in range(empty.width())
        for y in range(empty.height())
    )
    text.setText("many\n" * 40)
    qtbot.waitUntil(bar.isEnabled)
    QApplication.processEvents()
    assert column.viewport().width() == width
    assert bar.grab().toImage() != empty
    text.setText("words")
    qtbot.waitUntil(lambda: not bar.isEnabled())
