"""How many parts of a panel stand side by side."""

import pytest
from PySide6.QtCore import QSize

from gui.plots.qt_painter import LEAST_ROW, columns


@pytest.mark.parametrize(("count", "width", "height", "across"), [
    (4, 940, 250, 4),  # the panel below the curve: too low for two rows
    (4, 690, 700, 2), (3, 690, 700, 2), (2, 690, 700, 1), (1, 690, 700, 1),
    (4, 1400, 700, 2), (2, 1400, 700, 2),
    (3, 300, 2 * LEAST_ROW - 1, 3), (0, 690, 700, 1), (3, 0, 0, 3),
])  # fmt: skip
def test_each_part_gets_a_shape_to_be_read(count, width, height, across):
    assert columns(count, QSize(width, height)) == across
