"""An amount of data is typed or stepped, and chosen when the user is done with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QValidator
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from gui.style.theme import FIGURE_SPACE, format_bytes, format_part, format_rough
from gui.widgets.amount_box import AmountBox
from tests.gui.on_screen import put_on_screen

MB, GB = 10**6, 10**9
NBSP = "\N{NO-BREAK SPACE}"


@pytest.fixture
def box(qtbot):
    window = QWidget()
    made, other = AmountBox(100 * MB, 1000 * GB), QPushButton("Other")
    layout = QVBoxLayout(window)
    layout.addWidget(made)
    layout.addWidget(other)
    made.set_nbytes(2 * GB)
    made.kept_alive, made.other, made.said = window, other, []
    made.chosen.connect(made.said.append)
    put_on_screen(qtbot, window, active=True)
    made.setFocus()
    return made


def type_in(box, text):
    box.selectAll()
    QTest.keyClicks(box, text)


def shown(box):
    return box.text().replace(NBSP, " ")


def test_amounts_are_written_in_the_unit_that_fits(box):
    amounts = {"100 MB": 100, "999 MB": 999, "1 GB": 1000, "1.5 GB": 1500, "1.234 GB": 1234}
    for text, megabytes in (amounts | {"20 GB": 20_000, "1 TB": 1_000_000}).items():
        box.set_nbytes(megabytes * MB)
        assert (shown(box), box.typed()) == (text, megabytes * MB)
    assert box.said == []


def test_enter_chooses_what_is_typed_in_the_unit_shown(box):
    typed = {"500 MB": 500, "500mb": 500, "500M": 500, "3": 3000, "3 GB": 3000, "1.": 1000}
    typed |= {" 1,5 gb ": 1500, ".5 TB": 500_000, "0.9999 TB": 999_900}
    for text, megabytes in typed.items():
        box.set_nbytes(2 * GB)
        box.said.clear()
        type_in(box, text)
        assert box.said == []
        assert box.typed() == megabytes * MB
        QTest.keyClick(box, Qt.Key.Key_Return)
        QTest.keyClick(box, Qt.Key.Key_Return)
        assert box.said == [megabytes * MB]
    box.set_nbytes(500 * MB)
    type_in(box, "700")
    assert box.typed() == 700 * MB


@pytest.mark.parametrize(
    ("typed", "nbytes"),
    [("5 MB", 100 * MB), ("0", 100 * MB), ("9 TB", 1000 * GB), ("99999999999999 TB", 1000 * GB)],
)
def test_what_is_out_of_bounds_is_brought_within(box, typed, nbytes):
    type_in(box, typed)
    assert box.typed() is None
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert box.said == [nbytes]
    assert box.typed() == nbytes


@pytest.mark.parametrize("typed", ["", "GB", ".", "3 KB", "3 XY"])
def test_what_is_no_amount_is_taken_back(box, typed):
    type_in(box, typed)
    if not typed:
        QTest.keyClick(box, Qt.Key.Key_Delete)
    assert box.typed() is None
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert box.said == []
    assert shown(box) == "2 GB"


@given(st.text(st.characters(categories=("L", "N", "P", "Z", "S")), max_size=12))
def test_any_text_is_judged_without_a_fault(box_alone, text):
    state, same, _ = box_alone.validate(text, 0)
    assert same == text
    if state == QValidator.State.Acceptable:
        assert 100 <= box_alone.valueFromText(text) <= 10**6
    assert box_alone.validate(box_alone.fixup(text), 0)[0] == QValidator.State.Acceptable


@pytest.fixture(scope="module")
def box_alone(qapp):
    made = AmountBox(100 * MB, 1000 * GB)
    made.set_nbytes(2 * GB)
    yield made
    made.deleteLater()


def test_the_arrows_step_through_round_amounts_and_enter_chooses(box):
    seen = []
    for _ in range(14):
        QTest.keyClick(box, Qt.Key.Key_Down)
        seen.append(shown(box))
    assert seen == ["1.5 GB", "1 GB", *(f"{n}00 MB" for n in range(9, 0, -1)), *["100 MB"] * 3]
    assert box.said == []
    QTest.keyClick(box, Qt.Key.Key_Up)
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert box.said == [200 * MB]
    box.set_nbytes(9800 * MB)
    seen = []
    for _ in range(3):
        QTest.keyClick(box, Qt.Key.Key_Up)
        seen.append(shown(box))
    assert seen == ["10 GB", "15 GB", "20 GB"]
    type_in(box, "730 MB")  # a step starts from what is typed
    QTest.keyClick(box, Qt.Key.Key_Up)
    assert shown(box) == "800 MB"


def test_leaving_the_field_chooses(box, qtbot):
    type_in(box, "4 GB")
    other = QWidget()
    put_on_screen(qtbot, other, active=True)
    assert box.said == []
    box.window().activateWindow()
    qtbot.waitUntil(box.window().isActiveWindow)
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert box.said == [4 * GB]
    type_in(box, "5 GB")
    QTest.mouseClick(box.other, Qt.MouseButton.LeftButton)
    box.other.setFocus(Qt.FocusReason.TabFocusReason)
    assert box.said == [4 * GB, 5 * GB]


def test_letters_and_escape_in_the_field(box):
    type_in(box, "3 GBytes!")
    assert shown(box) == "3 GB"
    for key in (None, Qt.Key.Key_Down):
        if key is not None:
            QTest.keyClick(box, key)
        QTest.keyClick(box, Qt.Key.Key_Escape)
        assert shown(box) == "2 GB"
    box.other.setFocus(Qt.FocusReason.TabFocusReason)
    assert box.said == []


def test_what_is_typed_is_told_of(box):
    told = []
    box.edited.connect(lambda: told.append(box.typed()))
    for key in (Qt.Key.Key_5, Qt.Key.Key_Down, Qt.Key.Key_Escape):
        box.selectAll()
        QTest.keyClick(box, key)
    assert told[0] == 5 * GB
    assert 4500 * MB in told
    assert told[-1] == 2 * GB
    type_in(box, "1 MB")
    assert told[-1] is None
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert told[-1] == 100 * MB


def test_rough_counts():
    counts = (0, 999, 1000, 3412, 99_950, 999_500, 12_345_678, 345_678_901)
    texts = ["0", "999", "1.0 k", "3.4 k", "100 k", "1.0 M", "12.3 M", "346 M"]
    assert [format_rough(count).replace(NBSP, " ") for count in counts] == texts


@pytest.mark.parametrize("total", [200_000, 3_145_728, 19_660_800, 548_105_171])
def test_a_part_keeps_its_width_from_start_to_end(total):
    parts = [format_part(total * k // 97, total) for k in range(98)]
    assert len({len(part) for part in parts}) == 1
    assert format_part(1_230_000, 19_660_800) == f"{FIGURE_SPACE}1.2 of 19.7{NBSP}MB"
    assert parts[-1] == f"{format_bytes(total).split(NBSP)[0]} of {format_bytes(total)}"
