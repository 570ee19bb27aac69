"""The inspector and its field for going to a position, driven with real events."""

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.measures.neighbours import position_details
from geometry.measures.norms import norm_profile
from geometry.models.sources.source import Source
from geometry.pca.curve import place_curve
from geometry.pca.pca import fit_pca
from gui.side_panels.go_to import GoTo
from gui.side_panels.inspector import InspectorPanel
from gui.state.session import Session
from gui.style.theme import DARK, LIGHT, format_number
from gui.widgets.position_table import PositionTableView
from tests.gui.on_screen import put_on_screen
from tests.gui.result_stage import CONTROL, LEFT, NONE, SHIFT, enter

N_POSITIONS = 64


def helix() -> np.ndarray:
    angle = np.linspace(0, 6 * np.pi, N_POSITIONS)
    table = np.zeros((N_POSITIONS, 12))
    table[:, 0], table[:, 1], table[:, 2] = np.cos(angle), np.sin(angle), angle / 10
    table[:, 3:] = 0.01 * np.random.default_rng(1).normal(size=(N_POSITIONS, 9))
    table[0] *= 9  # a norm outlier
    return table


W_POS = helix()


class Answers:
    """What the controller does for the inspector, without jobs."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def select(self, selection: tuple[int, ...]) -> None:
        self.session.selection = selection
        self.describe()

    def describe(self) -> None:
        session = self.session
        session.details = (
            position_details(W_POS, session.pca, session.current, session.components)
            if session.current is not None
            else None
        )


@pytest.fixture
def session() -> Session:
    made = Session()
    open_table(made)
    return made


def open_table(session: Session, positions=(1, 63)) -> None:
    session.model = SimpleNamespace(
        n_positions=N_POSITIONS,
        W_pos=W_POS,
        name="helix",
        place_of=lambda _: "",
        rows=None,
        of_positions=True,
    )
    session.positions = positions
    session.curve = place_curve(W_POS, fit_pca(W_POS, positions), session.components)
    session.norms = norm_profile(W_POS)


@pytest.fixture
def make(qtbot):
    def build(session: Session) -> InspectorPanel:
        panel = put_on_screen(qtbot, InspectorPanel(session, LIGHT), 280, 640)
        answers = Answers(session)
        panel.selectionRequested.connect(answers.select)
        panel.hoverRequested.connect(lambda position: setattr(session, "hover", position))
        panel.answers = answers
        panel.activateWindow()
        return panel

    return build


@pytest.fixture
def panel(make, session) -> InspectorPanel:
    return make(session)


def spot(table: PositionTableView, row: int, column: int = 0) -> QPoint:
    return table.visualRect(table.model().index(row, column)).center()


def click(table: PositionTableView, row: int, column: int = 0, keys=NONE):
    QTest.mouseClick(table.viewport(), LEFT, keys, spot(table, row, column))


def test_nothing_open_and_nothing_selected_each_say_what_to_do(make):
    session = Session()
    panel = make(session)
    assert panel.sentence.isVisible()
    assert panel.sentence.text() == "Open a model to inspect its positions."
    assert not panel.go_to.isEnabled()
    session.opening = Source.parse("gpt2")
    assert panel.sentence.text() == "Opening gpt2…"
    session.opening = None
    open_table(session)
    assert panel.sentence.text() == "Click a point or type a position to inspect it."
    assert panel.go_to.isEnabled()
    panel.answers.select((5,))
    assert not panel.sentence.isVisible()
    panel.answers.select(())
    assert panel.sentence.isVisible()


def test_shows_the_numbers_of_the_current_position(panel, session):
    panel.answers.select((30,))
    details = session.details
    assert panel.card.title.text() == "30"
    assert panel.card.norm.value.text() == format_number(float(np.linalg.norm(W_POS[30])))
    assert panel.card.residual.value.text() == format_number(session.curve.residual[30])
    assert [n.value.accessibleName() for n in panel.card.coordinates] == ["PC 1", "PC 2", "PC 3"]
    expected = [format_number(v) for v in session.curve.coordinates[30]]
    assert [n.value.text() for n in panel.card.coordinates] == expected
    assert "Off-subspace residual" in panel.card.residual.toolTip()
    assert [row.position for row in panel.beside.rows] == [29, 31]
    assert [row.cells[1] for row in panel.beside.rows] == ["−1", "+1"]
    assert [row.position for row in panel.nearest.rows] == [n.position for n in details.nearest]
    assert all(abs(row.position - 30) > 8 for row in panel.nearest.rows)
    assert panel.nearest.rows[0].cells[2:] == (
        format_number(details.nearest[0].distance),
        format_number(details.nearest[0].cosine),
    )
    panel.answers.select((0,))
    assert panel.card.range.text() == "Outside the range 1–63"
    assert panel.card.outlier.isVisible()
    session.positions = (0, 40)
    assert panel.card.range.text() == "In the range 0–40"
    panel.answers.select((20,))
    assert not panel.card.outlier.isVisible()


def test_other_components_and_a_range_with_too_few_of_them(panel, session):
    session.components = (2, 4, 1)
    session.positions = (10, 12)
    session.curve = place_curve(W_POS, fit_pca(W_POS, (10, 12)), session.components)
    panel.answers.select((11,))
    fitted = len(session.pca.components)
    assert [n.value.accessibleName() for n in panel.card.coordinates] == ["PC 2", "PC 4", "PC 1"]
    shown = [n.value.text() for n in panel.card.coordinates]
    if fitted < 4:
        assert shown[1] == "–"
    assert shown[2] == format_number(session.details.coordinates[-1])


def test_steps_stop_at_ends_and_errors_stay(panel, session):
    QTest.mouseClick(panel.go_to.next, LEFT)
    assert session.selection == (1,)  # nothing was selected: the start of the range
    QTest.mouseClick(panel.go_to.next, LEFT)
    assert session.selection == (2,)
    QTest.mouseClick(panel.go_to.previous, LEFT)
    assert session.selection == (1,)
    panel.answers.select((0,))
    assert not panel.go_to.previous.isEnabled()
    panel.answers.select((63,))
    assert not panel.go_to.next.isEnabled()
    assert panel.go_to.previous.isEnabled()
    panel.go_to.field.setText("12")
    panel.take_focus()
    assert panel.focusWidget() is panel.go_to.field
    QTest.keyClicks(panel.go_to.field, "17")  # over the 12, which was marked
    QTest.keyClick(panel.go_to.field, Qt.Key.Key_Return)
    assert session.selection == (17,)
    enter(panel.go_to.field, "64")
    assert session.selection == (17,)
    assert panel.go_to.message.text() == "There is no position 64; the table has 0–63"


def test_rows_hover_and_select_and_are_added_with_shift(panel, session, qtbot):
    panel.answers.select((30,))
    target = panel.nearest.rows[1].position
    with qtbot.waitSignal(panel.hoverRequested, check_params_cb=lambda p: p == target):
        QTest.mouseMove(panel.nearest.viewport(), spot(panel.nearest, 1))
    QTest.mouseMove(panel.nearest.viewport(), spot(panel.nearest, 1) + QPoint(3, 0))
    assert session.hover == target
    click(panel.nearest, 1)
    assert session.selection == (target,)
    assert panel.card.title.text() == str(target)
    panel.answers.select((30,))
    with qtbot.waitSignal(panel.hoverRequested):
        QTest.mouseMove(panel.beside.viewport(), spot(panel.beside, 0))
    with qtbot.waitSignal(panel.hoverRequested, check_params_cb=lambda p: p is None):
        QTest.mouseMove(panel.go_to.field)
    panel.answers.select((30,))
    click(panel.beside, 1, keys=SHIFT)
    assert session.selection == (30, 31)
    click(panel.beside, 1, keys=SHIFT | CONTROL)
    assert session.selection == (30, 31, 32)


def test_tinted_rows_fit_a_narrow_dock(panel, session):
    panel.answers.select((31, 30))
    session.hover = 29
    index = panel.beside.model().index
    role = Qt.ItemDataRole.BackgroundRole
    assert index(0, 0).data(role).name() == LIGHT.hover
    assert index(1, 0).data(role).name() == LIGHT.accent
    panel.set_theme(DARK)
    assert index(1, 0).data(role).name() == DARK.accent
    panel.answers.select((3, 0))
    for width in (240, 280, 420):
        panel.resize(width, 640)
        QGuiApplication.processEvents()
        assert panel.minimumSizeHint().width() <= 240
        assert panel.width() == width
        for table in (panel.beside, panel.nearest, panel.listed):
            assert table.horizontalHeader().length() <= table.viewport().width()


def test_several_are_listed_in_order_made_current_and_taken_out(panel, session):
    panel.answers.select((5,))
    assert not panel.listed.isVisible()
    panel.answers.select((40, 12, 5))
    assert panel.listed.isVisible()
    assert panel.listed_title.text() == "Selected · 3"
    assert [row.position for row in panel.listed.rows] == [5, 12, 40]
    click(panel.listed, 2)
    assert session.selection == (12, 5, 40)
    assert panel.card.title.text() == "40"
    assert [row.position for row in panel.listed.rows] == [5, 12, 40]
    panel.answers.select((40, 12, 5))
    click(panel.listed, 1, column=3)
    assert session.selection == (40, 5)
    panel.answers.select((40, 12, 5))
    click(panel.listed, 0)
    assert session.selection == (40, 12, 5)
    QTest.keyClick(panel.listed, Qt.Key.Key_Down)
    QTest.keyClick(panel.listed, Qt.Key.Key_Delete)
    assert session.selection == (40, 5)
    QTest.mouseClick(panel.clear, LEFT)
    assert session.selection == ()


def test_current_row_stays_in_sight(panel, qtbot):
    panel.answers.select((*range(40), 60))
    table = panel.listed
    last = len(table.rows) - 1

    def in_sight() -> bool:
        row = table.visualRect(table.model().index(last, 0))
        return table.viewport().rect().contains(row)

    qtbot.waitUntil(in_sight)
    assert table.rows[last].position == 60
    panel.answers.select((40, 12, 5))
    reached = []
    panel.keyPressEvent = lambda event: reached.append(event.key())
    panel.listed.setFocus()
    keys = [Qt.Key.Key_Right, Qt.Key.Key_F, Qt.Key.Key_Space, Qt.Key.Key_2]
    for key in [*keys, Qt.Key.Key_Down]:
        QTest.keyClick(panel.listed, key)
    assert reached == keys
    QTest.mouseClick(panel.copy, LEFT)
    assert panel.focusWidget() is panel.listed
    click(panel.beside, 0)  # one is selected: the list goes, and takes no text field's focus
    assert not panel.listed.isVisible()
    assert QApplication.focusWidget() is None


def test_tokens_and_full_precision_copies(panel, session):
    panel.answers.select((1, 2))
    session.tokens = SimpleNamespace(texts=("<|endoftext|>", "Hello", " my"), ids=(), truncated=0)
    assert panel.card.token.text() == "·my"
    assert [row.cells[1] for row in panel.listed.rows] == ["Hello", "·my"]
    session.tokens = None
    assert panel.card.token.text() == ""
    session.tokens = SimpleNamespace(texts=("a\tb",) * 64, ids=(), truncated=0)
    panel.answers.select((12, 30))
    QTest.mouseClick(panel.copy, LEFT)
    text = QGuiApplication.clipboard().text()
    lines = dict(line.split("\t", 1) for line in text.splitlines() if line)
    assert lines["position"] in ("30", "distance\tcosine")
    assert lines["token"] == "a\\tb"
    assert float(lines["norm"]) == pytest.approx(np.linalg.norm(W_POS[30]), rel=1e-8)
    assert float(lines["PC 1"]) == pytest.approx(session.details.coordinates[0], rel=1e-8)
    assert "29\t" in text
    QTest.mouseClick(panel.copy_list, LEFT)
    rows = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert rows[0] == ["position", "token", "norm"]
    assert [row[0] for row in rows[1:]] == ["12", "30"]


def test_numbers_of_another_position_do_not_stay_but_the_geometry_does(panel, session, qtbot):
    panel.answers.select((30,))
    session.selection = (31,)
    assert panel.card.title.text() == "30"  # its numbers, and not yet those of 31
    qtbot.waitUntil(lambda: panel.card.title.text() == "31")
    assert panel.card.norm.value.text() == "…"
    assert not panel.copy.isEnabled()
    panel.answers.describe()
    assert panel.card.norm.value.text() == format_number(float(np.linalg.norm(W_POS[31])))
    assert panel.copy.isEnabled()
    panel.answers.select((20,))
    QGuiApplication.processEvents()
    parts = [panel.card, panel.card.norm, *panel.card.coordinates, panel.beside, panel.nearest]
    before = [part.geometry() for part in parts]
    for position in (0, 1, 21, 62, 63):
        panel.answers.select((position,))
        QGuiApplication.processEvents()
        assert [part.geometry() for part in parts] == before


@pytest.fixture
def go_to(qtbot):
    widget = GoTo()
    widget.set_table(64, None)
    widget.asked = []
    widget.typed.connect(widget.asked.append)
    qtbot.addWidget(widget)
    with qtbot.waitExposed(widget):
        widget.show()
    return widget


def test_selects_what_is_typed(go_to):
    typed = {
        "17": (17,),
        "10-13": (10, 11, 12, 13),
        "13 - 10": (13, 12, 11, 10),
        "5, 9 40": (5, 9, 40),
        "3, 1-4": (3, 1, 2, 4),
    }
    for text in typed:
        enter(go_to.field, text)
        assert not go_to.message.isVisible()
    assert go_to.asked == [*typed.values()]


def test_says_what_is_wrong_and_keeps_the_text(go_to):
    for typed, said in (
        ("64", "There is no position 64; the table has 0–63"),
        ("10-99", "There is no position 99; the table has 0–63"),
        ("-5", "“-5” is not a position"),
        ("twelve", "“twelve” is not a position"),
    ):
        enter(go_to.field, typed)
        assert said in go_to.message.text()
        assert go_to.message.isVisible()
        assert go_to.field.text() == typed
        assert go_to.asked == []
        QTest.keyClick(go_to.field, Qt.Key.Key_End)
        QTest.keyClick(go_to.field, Qt.Key.Key_Backspace)
        assert not go_to.message.isVisible()


def test_a_range_too_long_is_cut_and_another_table_takes_the_message_away(go_to):
    go_to.set_table(5000, None)
    enter(go_to.field, "0-2999")
    assert go_to.asked == [tuple(range(2000))]
    assert "1\u2009000 more were left out" in go_to.message.text()
    enter(go_to.field, "64")
    go_to.set_table(100, 7)
    assert not go_to.message.isVisible()
    assert "0–99" in go_to.field.toolTip()
    go_to.set_table(0, None)
    assert not go_to.isEnabled()


def test_enter_and_escape_empty_the_field_and_the_arrows_walk_on(go_to):
    enter(go_to.field, "")
    assert go_to.asked == []
    QTest.keyClicks(go_to.field, "12")
    QTest.keyClick(go_to.field, Qt.Key.Key_Escape)
    assert go_to.field.text() == ""
    reached = []
    go_to.stepped.connect(reached.append)
    QTest.keyClicks(go_to.field, "17")
    QTest.keyClick(go_to.field, Qt.Key.Key_Left)
    assert reached == []
    QTest.keyClick(go_to.field, Qt.Key.Key_Return)
    reached.clear()
    QTest.keyClick(go_to.field, Qt.Key.Key_Right)
    assert reached == [1]
    assert go_to.field.text() == ""
    QTest.keyClicks(go_to.field, "99")
    QTest.keyClick(go_to.field, Qt.Key.Key_Return)
    QTest.keyClicks(go_to.field, "5")  # over what was wrong
    assert go_to.field.text() == "5"
