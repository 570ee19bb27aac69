"""The table of models through real events: lines, sorting, keys, what is on its way."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from geometry.claims.scalar_results import QUANTITIES, scalar_results
from gui.panels.compare.table import ALONE
from gui.panels.compare.words import MARK, NO_NUMBER, PENDING, written
from gui.services.answers import Answers
from gui.style.theme import LIGHT
from tests.gui.compare_stage import LEFT, TITLES, CompareStage

# ---- lines --------------------------------------------------------------------------------------


def test_a_line_for_each_model_with_all_its_numbers(three):
    assert three.column("Model") == ["helix", "short", "walk"]
    assert three.column("") == [MARK, "", ""]
    assert three.column("Range") == ["1–199", "1–119", "1–149"]
    sessions = [three.session, *(one.session for one in three.session.compared)]
    for row, session in enumerate(sessions):
        expected = [written(one) for one in scalar_results(session.model, session.positions)]
        shown = [three.table.rows.index(row, 3 + i).data() for i in range(len(QUANTITIES))]
        assert shown == expected
    assert three.panel.header.caption.text() == "3 models · helix is the open one"


def test_numbers_stand_at_the_right_and_titles_have_units_and_tips(three):
    rows, number = three.table.rows, TITLES.index("Radius")
    horizontal = Qt.Orientation.Horizontal
    assert rows.headerData(number, horizontal) == "Radius\nunits of P"
    tip = rows.headerData(number, horizontal, Qt.ItemDataRole.ToolTipRole)
    assert "middle of the range" in tip.replace("\n", " ")
    assert "in the shown components" in tip.replace("\n", " ")
    side = rows.index(0, number).data(Qt.ItemDataRole.TextAlignmentRole)
    assert side & Qt.AlignmentFlag.AlignRight
    left = rows.index(0, TITLES.index("Curve")).data(Qt.ItemDataRole.TextAlignmentRole)
    assert left & Qt.AlignmentFlag.AlignLeft
    said = rows.index(0, number).data(Qt.ItemDataRole.ToolTipRole)
    assert said.startswith("helix · Radius (units of P): 1.")


def test_another_range_of_any_of_them_is_measured(three):
    three.session.compared[0].session.positions = (10, 99)
    three.session.positions = (5, 150)
    assert three.column("Range") == ["5–150", "10–99", "1–149"]
    session = three.session.compared[0].session
    found = scalar_results(session.model, (10, 99))
    number = TITLES.index("Turns")
    assert three.table.rows.index(1, number).data() == written(found[number - 3])
    session.components = (1, 2, 4)
    assert three.column("Range")[1] == "10–99 · PC 1, 2, 4"


def test_a_drag_is_waited_for(three):
    other = three.session.compared[0].session
    other.dragging = True
    other.positions = (3, 50)
    assert three.column("Range")[1] == "1–119"
    other.dragging = False
    assert three.column("Range")[1] == "3–50"


def test_what_is_taken_away_is_followed_no_more(three):
    first = three.session.compared[0].session
    three.session.compared = three.session.compared[1:]
    assert three.column("Model") == ["helix", "walk"]
    asked = []
    three.panel.asked.connect(lambda question, fetch: asked.append(question))
    first.positions = (2, 60)
    assert asked == []
    three.session.compared[0].session.positions = (2, 60)
    assert len(asked) == 1


def test_too_short_a_range_says_why(three):
    three.session.compared[1].session.positions = (4, 6)
    number = TITLES.index("Loops")
    cell = three.table.rows.index(2, number)
    assert cell.data() == NO_NUMBER
    assert "too few positions are shown" in cell.data(Qt.ItemDataRole.ToolTipRole)


def test_only_the_open_model_says_how_to_add_others(qtbot, write_table):
    stage = CompareStage(qtbot)
    assert stage.panel.words.message.text().startswith("Open a model to see")
    stage.open(write_table())
    assert stage.panel.content.alone.isVisible()
    assert stage.panel.content.alone.text() == ALONE
    QTest.mouseClick(stage.panel.buttons["Add model…"], LEFT)
    assert stage.told == [("add", None)]
    stage.beside(write_table(name="other"), "other")
    assert not stage.panel.content.alone.isVisible()


# ---- what is on its way --------------------------------------------------------------------------


def test_one_that_is_being_read_says_so_and_comes(three, write_table):
    session = three.beside(None, "later")
    assert three.column("Model")[3] == "later"
    assert three.column("Range")[3] == "being read…"
    assert three.column("Turns")[3] == NO_NUMBER
    assert three.panel.python().count("open_model(") == 3
    three.others[-1].open(str(write_table(name="now")))
    assert session.model is not None
    assert three.column("Model")[3] == "now"
    assert three.column("Turns")[3] != NO_NUMBER


def test_lines_appear_one_by_one(qtbot, hand_jobs, write_table, monkeypatch):
    stage = CompareStage(qtbot, jobs=hand_jobs)
    stage.open(write_table())
    hand_jobs.deliver_all()
    stage.beside(write_table(name="other"), "other")
    (slot,) = hand_jobs.waiting
    hand_jobs.drag_on(slot)
    steps = []
    monkeypatch.setattr("gui.services.questions.TELL_S", 0.0)
    monkeypatch.setattr(stage.panel, "_draw", lambda: steps.append(stage.panel.result))
    hand_jobs.compute(slot)
    first, second = steps
    assert [line.scalars is None for line in first.lines] == [True, True]
    assert [line.scalars is None for line in second.lines] == [False, True]
    monkeypatch.undo()
    stage.panel.set_theme(LIGHT)
    assert stage.column("Range") == ["1–199", "1–199 · computing…"]
    assert stage.column("Turns")[1] == PENDING
    assert stage.panel.caption().endswith("1 still to be measured")
    hand_jobs.deliver(slot)
    assert stage.column("Range") == ["1–199", "1–199"]


def test_what_was_measured_is_not_measured_again(three, monkeypatch):
    measured = []

    def counted(model, *arguments, **options):
        measured.append(model.name)
        return scalar_results(model, *arguments, **options)

    monkeypatch.setattr("gui.panels.compare.question.scalar_results", counted)
    three.session.compared = three.session.compared[::-1]
    assert three.column("Model") == ["helix", "walk", "short"]
    assert measured == []
    three.session.compared[0].session.positions = (7, 90)
    assert measured == ["walk"]
    three.session.compared[0].session.positions = (1, 149)
    assert measured == ["walk"]


def test_on_threads_they_come_too(qtbot, thread_jobs, write_table, helix):
    stage = CompareStage(qtbot)
    stage.answers.close()
    stage.answers = Answers(stage.session, thread_jobs(stage.session))
    stage.open(write_table())
    for number in range(3):
        stage.beside(write_table(helix(150 + number, 20, number), f"m{number}"), f"m{number}")
    qtbot.waitUntil(lambda: stage.answer is not None and stage.answer.state == "ready")
    qtbot.waitUntil(lambda: stage.column("Model") == ["helix", "m0", "m1", "m2"])
    qtbot.waitUntil(lambda: PENDING not in stage.column("Turns"))
    assert NO_NUMBER not in stage.column("Turns")
