"""The table of models: lines, sorting, keys, what is on its way, what can be taken away."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from geometry.claims.scalar_results import QUANTITIES, scalar_results
from geometry.evidence.shape_distance import shape_distance
from geometry.evidence.turning_share import turning_share
from gui.panels.compare.columns import ColumnChooser
from gui.panels.compare.table import ALONE
from gui.panels.compare.words import (
    ALL,
    CHARACTERS,
    MARK,
    NO_NUMBER,
    PENDING,
    STANDARD,
    as_json,
    cells,
    compare_figure,
    in_order,
    latex,
    markdown,
    named,
    numbers,
    title_of,
    written,
)
from gui.services.answers import Answers
from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs
from gui.style.theme import DARK, LIGHT, format_number
from tests.gui.compare_stage import LEFT, TITLES, CompareStage
from tests.gui.on_screen import ask_menu, trigger
from tests.gui.open_models import show_others
from tests.scripts import run_script

Key, Role = Qt.Key, Qt.ItemDataRole
CURVE = TITLES.index("Curve")


def title(stage, name, role=Role.DisplayRole):
    return stage.table.rows.headerData(TITLES.index(name), Qt.Orientation.Horizontal, role)


def test_rows_titles_units_and_tooltips(three):
    assert three.column("Model") == ["helix", "short", "walk"]
    assert three.column("") == [MARK, "", ""]
    assert three.column("Range") == ["1–199", "1–119", "4–149"]
    sessions = [three.session, *(one.session for one in three.session.others)]
    for row, session in enumerate(sessions):
        expected = [written(one) for one in scalar_results(session.model, session.positions)]
        shown = [three.table.rows.index(row, 3 + i).data() for i in range(len(QUANTITIES))]
        assert [text.lstrip("✓✗? ").partition(" (")[0] for text in shown] == expected
    assert three.panel.header.caption.text() == "3 models · helix is the open model"
    rows, number = three.table.rows, TITLES.index("Radius")
    assert title(three, "Radius") == "Radius\nunits of P"
    tip = title(three, "Radius", Role.ToolTipRole).replace("\n", " ")
    assert "middle of the range" in tip
    assert "in the shown components" in tip
    side, left = (rows.index(0, n).data(Role.TextAlignmentRole) for n in (number, CURVE))
    assert side & Qt.AlignmentFlag.AlignRight
    assert left & Qt.AlignmentFlag.AlignLeft
    said = rows.index(0, number).data(Role.ToolTipRole)
    assert said.startswith("helix · Radius (units of P): 1.")


def test_another_range_of_any_of_them_is_measured_when_it_rests(three):
    short, walk = (other.session for other in three.session.others)
    short.dragging = True
    short.positions = (3, 50)
    assert three.column("Range")[1] == "1–119"
    short.dragging = False
    assert three.column("Range")[1] == "3–50"
    short.positions = (10, 99)
    three.session.positions = (5, 150)
    assert three.column("Range") == ["5–150", "10–99", "4–149"]
    assert three.column("Turns")[1].partition(" (")[0] == written(of(short)["turns"])
    short.components = (1, 2, 4)
    assert three.column("Range")[1] == "10–99 · PC 1, 2, 4"
    walk.positions = (4, 6)
    cell = three.table.rows.index(2, TITLES.index("Loops"))
    assert cell.data() == NO_NUMBER
    assert "too few positions are shown" in cell.data(Role.ToolTipRole)


def of(session):
    found = scalar_results(session.model, session.positions, session.components)
    return {one.quantity.key: one for one in found}


def test_what_is_taken_away_is_followed_no_more(three):
    first = three.session.others[0].session
    show_others(three.session, *three.session.others[1:])
    assert three.column("Model") == ["helix", "walk"]
    asked = []
    three.panel.asked.connect(lambda question, fetch: asked.append(question))
    first.positions = (2, 60)
    assert asked == []
    three.session.others[0].session.positions = (2, 60)
    assert len(asked) == 1


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


def test_rows_appear_one_by_one(qtbot, hand_jobs, write_table, helix, monkeypatch):
    stage = CompareStage(qtbot, jobs=hand_jobs)
    stage.open(write_table())
    hand_jobs.deliver_all()
    stage.beside(write_table(helix(120, 16, 91), "new"), "new")
    hand_jobs.deliver_all()
    stage.beside(write_table(helix(90, 16, 92), "other"), "other")
    (slot,) = hand_jobs.waiting
    hand_jobs.drag_on(slot)
    steps = []
    monkeypatch.setattr("gui.services.questions.REPORT_INTERVAL_S", 0.0)
    monkeypatch.setattr(stage.panel, "_draw", lambda: steps.append(stage.panel.result))
    hand_jobs.compute(slot)
    first, *_ = steps
    assert [line.scalars is None for line in first.lines] == [False, False, True]
    assert first.lines[1].value("shape_distance") is not None, "what is known stays"
    monkeypatch.undo()
    shown = [dict(zip(TITLES, cells(line), strict=True)) for line in first.lines]
    assert [one["Range"] for one in shown] == ["1–199", "1–119", "1–89 · computing…"]
    assert shown[2]["Turns"] == PENDING
    caption = stage.panel.spec.caption(replace(stage.panel.view(), result=first))
    assert caption.endswith("1 not measured yet")
    stage.panel.set_theme(LIGHT)
    hand_jobs.deliver(slot)
    assert stage.column("Range") == ["1–199", "1–119", "1–89"]


def test_a_model_that_goes_before_its_line_is_there_leaves_no_line(qtbot, hand_jobs, write_table):
    stage = CompareStage(qtbot, jobs=hand_jobs)
    stage.open(write_table())
    hand_jobs.deliver_all()
    stage.beside(None, "other")
    show_others(stage.session)
    hand_jobs.deliver_all()
    assert stage.column("Range") == ["1–199"]


def test_what_was_measured_is_not_measured_again(three, monkeypatch):
    measured = []

    def counted(model, *arguments, **options):
        measured.append(model.name)
        return scalar_results(model, *arguments, **options)

    monkeypatch.setattr("gui.panels.compare.question.scalar_results", counted)
    show_others(three.session, *three.session.others[::-1])
    assert three.column("Model") == ["helix", "walk", "short"]
    assert measured == []
    three.session.others[0].session.positions = (7, 90)
    assert measured == ["walk"]
    three.session.others[0].session.positions = (4, 149)
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


def test_sorting_by_titles_and_menu(three):
    assert three.column("Positions") == ["200", "120", "150"]
    three.click_title("Positions")
    assert three.column("Model") == ["helix", "walk", "short"]
    assert title(three, "Positions") == "Positions ▾\n"
    three.click_title("Positions")
    assert three.column("Model") == ["short", "walk", "helix"]
    assert title(three, "Positions") == "Positions ▴\n"
    three.click_title("Positions")
    assert three.column("Model") == ["helix", "short", "walk"]
    assert title(three, "Positions") == "Positions\n"
    menu = three.panel.menu()
    (order,) = [action for action in menu.actions() if action.text() == "Sort by"]
    trigger(order.menu(), "Width")
    assert three.column("Width") == ["24", "16", "10"]
    menu.deleteLater()


@pytest.mark.parametrize("clicks", [1, 2])
def test_what_has_no_number_comes_last_either_way(three, clicks):
    three.session.others[0].session.positions = (4, 6)
    three.beside(None, "later")
    for _ in range(clicks):
        three.click_title("Loops")
    assert {*three.column("Model")[2:]} == {"short", "later"}


def test_order_holds_for_new_models_and_names(three, write_table, helix):
    three.click_title("Positions")
    three.beside(write_table(helix(170, 8), "new"), "new")
    assert three.column("Model") == ["helix", "new", "walk", "short"]
    three.beside(write_table(name="Alpha"), "Alpha")
    three.click_title("Model")
    assert three.column("Model") == ["Alpha", "helix", "new", "short", "walk"]


def test_a_double_click_and_keys_choose_and_take_away(three):
    three.click_row(2)
    assert three.told == []
    three.click_row(2, twice=True)
    assert three.told == [("current", 2)]
    three.click_row(0, twice=True)
    assert three.told == [("current", 2)]
    view = three.table.values
    view.setFocus()
    three.click_row(0)
    QTest.keyClick(view, Key.Key_Down)
    assert three.table.marked.row.name == "short"
    QTest.keyClick(view, Key.Key_Return)
    QTest.keyClick(view, Key.Key_End)
    QTest.keyClick(view, Key.Key_Delete)
    QTest.keyClick(view, Key.Key_Home)
    QTest.keyClick(view, Key.Key_Delete)
    QTest.keyClick(view, Key.Key_Return)
    assert three.told[1:] == [("current", 1), ("remove", 2)]


def test_mark_follows_sorting_and_copying(three):
    three.click_row(1)
    three.click_title("Positions")
    assert three.column("Model")[2] == "short"
    assert three.table.marked.row.name == "short"
    QTest.keyClick(three.table.values, Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert three.session.status == "Copied the table"
    lines = list(csv.DictReader(io.StringIO(QApplication.clipboard().text()), delimiter="\t"))
    assert [line["model"] for line in lines] == ["helix", "walk", "short"]
    found = of(three.session)
    assert float(lines[0]["variance_3"]) == found["variance_3"].value
    assert lines[0]["verdict"] == found["verdict"].value
    assert (lines[2]["first_position"], lines[2]["last_position"]) == ("1", "119")


def test_letters_reach_the_window_and_names_stay(three, monkeypatch):
    view = three.table.values
    three.click_row(0)
    heard = []
    monkeypatch.setattr(three.panel, "keyPressEvent", lambda event: heard.append(event.key()))
    QTest.keyClick(view, Key.Key_W)
    QTest.keyClick(view, Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert three.table.marked.row.name == "helix"
    assert view.horizontalScrollBar().value() == 0
    names, values = three.table.names, three.table.values
    bar = values.horizontalScrollBar()
    assert bar.maximum() > 0
    where = names.mapTo(three.panel, names.visualRect(three.table.rows.index(1, 1)).topLeft())
    before = values.visualRect(three.table.rows.index(1, 3)).left()
    QTest.keyClick(values, Key.Key_Right)
    assert bar.value() > 0
    assert values.visualRect(three.table.rows.index(1, 3)).left() < before
    after = names.mapTo(three.panel, names.visualRect(three.table.rows.index(1, 1)).topLeft())
    assert after == where
    QTest.keyClick(values, Key.Key_Left)
    assert bar.value() == 0


@pytest.mark.slow
def test_both_halves_scroll_down_together(three, write_table, helix):
    for number in range(6):
        three.beside(write_table(helix(60, 8, number), f"m{number}"), f"m{number}")
    three.panel.resize(700, 180)
    QApplication.processEvents()
    one, other = three.table.names.verticalScrollBar(), three.table.values.verticalScrollBar()
    assert other.maximum() > 0
    assert one.maximum() == other.maximum()
    three.click_row(0)
    QTest.keyClick(three.table.values, Key.Key_End)
    assert one.value() == other.value() == other.maximum()
    names = three.table.names
    row = names.visualRect(three.table.rows.index(8, 1))
    assert row.bottom() <= names.viewport().height()


def test_texts_fit_and_sorting_is_by_values(three):
    rows = three.table.rows
    for view, columns in (
        (three.table.names, range(1, 2)),
        (three.table.values, range(2, len(TITLES))),
    ):
        for number in columns:
            hint = view.sizeHintForColumn(number)
            assert view.columnWidth(number) >= hint, TITLES[number]
    assert rows.columnCount() == len(TITLES)
    names, values = three.table.names.viewport(), three.table.values.viewport()
    end = names.mapTo(three.panel, names.rect().bottomRight())
    start = values.mapTo(three.panel, values.rect().bottomLeft())
    assert start.x() == end.x() + 1
    assert start.y() == end.y()
    assert three.table.names.horizontalScrollBar().maximum() == 0
    for name in ("Stable rank", "Turning share", "Norm", "Roughness"):
        three.click_title(name)
        values = [line.scalars[TITLES.index(name) - 3].value for line in lines(three)]
        assert values == sorted(values, reverse=True), name


def test_one_that_is_being_read_is_muted_in_either_theme_and_comes(three, write_table):
    session = three.beside(None, "later")
    cell = three.table.rows.index(3, 1)
    assert cell.data(Role.ForegroundRole).name() == LIGHT.muted
    three.panel.set_theme(DARK)
    assert cell.data(Role.ForegroundRole).name() == DARK.muted
    assert three.table.rows.index(0, 1).data(Role.ForegroundRole) is None
    assert three.column("Model")[3] == "later"
    assert three.column("Range")[3] == "loading…"
    assert three.column("Turns")[3] == NO_NUMBER
    assert three.panel.python().count("open_model(") == 3
    controller = Controller(session, InlineJobs())
    controller.open(str(write_table(name="now")))
    assert three.column("Model")[3] == "now"
    assert three.column("Turns")[3] != NO_NUMBER
    controller.close()


@pytest.fixture
def two(stage_of, helix_table, write_table, helix):
    """The small helix open, and beside it a short part of another that lacks some numbers."""
    stage = stage_of("compare", helix_table, kind=CompareStage)
    other = stage.beside(write_table(helix(120, 16, 2), "other_%"), "other_%")
    other.positions = (4, 6)
    return stage


def lines(stage):
    return stage.table.rows.lines


def test_files_have_full_precision_and_empty_cells(two, tmp_path, monkeypatch):
    path = two.save(monkeypatch, "Save table…", tmp_path / "table.csv")
    with path.open(encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    for row, session in ((first, two.session), (second, two.session.others[0].session)):
        for key, one in of(session).items():
            expected = "" if one.value is None else str(one.value)
            assert row[key] == expected, key
        assert (int(row["first_position"]), int(row["last_position"])) == session.positions
        assert row["components"] == "1 2 3"
    assert second["loops"] == ""
    path = two.save(monkeypatch, "Save table…", tmp_path / "table.json")
    read = json.loads(path.read_text("utf-8"))
    assert [model["model"] for model in read["models"]] == ["helix", "other_%"]
    assert read["models"][0]["turns"] == of(two.session)["turns"].value
    assert read["models"][1]["turns"] is None
    assert tuple(read["quantities"]) == ALL[1:]
    saved = two.panel.numbers()
    assert saved["model"].tolist() == ["helix", "other_%"]
    assert saved["components"].tolist() == [[1, 2, 3], [1, 2, 3]]
    assert saved["last_position"].tolist() == [199, 6]
    assert saved["turns"][0] == of(two.session)["turns"].value
    assert np.isnan(saved["turns"][1])
    assert saved["verdict"].tolist() == [of(two.session)["verdict"].value, ""]


def test_markdown_and_latex_have_the_models_side_by_side(two):
    text = markdown(lines(two)).splitlines()
    assert text[0] == "|  | helix | other_% |"
    assert text[1] == "|---|---:|---:|"
    assert text[2] == "| Range | 1–199 | 4–6 |"
    found, other = of(two.session), of(two.session.others[0].session)
    for line, quantity in zip(text[3 : 3 + len(QUANTITIES)], QUANTITIES, strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[0] == named(quantity)
        assert cells[1:] == [written(found[quantity.key]), written(other[quantity.key])]
    assert any(line.endswith(f"| {NO_NUMBER} |") for line in text)
    text = latex(lines(two)).splitlines()
    assert text[0] == r"\begin{tabular}{lrr}"
    assert text[2] == r" & helix & other\_\% \\"
    body = [line for line in text[2:-2] if line != r"\hline"]
    assert len(body) == len(ALL) + 1
    assert all(line.count(" & ") == 2 and line.endswith(r"\\") for line in body)
    assert "".join(text).isascii()


def test_numbers_follow_the_order_and_leave_out_what_is_being_read(two):
    two.beside(None, "later")
    two.click_title("Positions")
    two.click_title("Positions")
    assert two.panel.numbers()["model"].tolist() == ["other_%", "helix"]
    assert len(numbers(lines(two)[:0])["components"]) == 0


def test_sorting_leaves_equal_lines_in_their_order(two, write_table):
    two.beside(write_table(name="again"), "again")
    by = [line.row.name for line in in_order(lines(two), 3, falling=True)]
    assert by == ["helix", "again", "other_%"]


def test_figure_fits_and_long_names_are_cut(two, write_table):
    figure = two.panel.figure()()
    texts = [text.get_text() for text in figure.texts]
    found = of(two.session)
    for quantity in QUANTITIES:
        assert named(quantity) in texts
        assert written(found[quantity.key]) in texts
    FigureCanvasAgg(figure).draw()
    width, height = figure.bbox.width, figure.bbox.height
    for text in figure.texts:
        box = text.get_window_extent()
        assert 0 <= box.x0 <= box.x1 <= width, text.get_text()
        assert 0 <= box.y0 <= box.y1 <= height, text.get_text()
    others = two.session.others
    show_others(two.session)
    two.open(write_table(name="a-model-with-a-very-long-name-indeed"))
    show_others(two.session, *others)
    figure = compare_figure(lines(two))
    (name,) = [text.get_text() for text in figure.texts if text.get_text().startswith("…")]
    assert len(name) == CHARACTERS
    assert name.endswith("long-name-indeed")


def test_the_copied_python_prints_the_same(two):
    two.session.components = (1, 2, 4)
    printed = run_script(two.python()).splitlines()
    assert printed[0] == "helix"
    outcome = two.panel.result.lines[0].outcomes["turning_share"]
    assert printed[len(QUANTITIES) + 1] == f"\tTurning share\t{outcome}"
    assert printed[len(QUANTITIES) + 2] == "other_%"
    told = {line.split("\t")[1]: line.split("\t")[2:] for line in printed[1 : len(QUANTITIES) + 1]}
    for one in of(two.session).values():
        # As the panel shows them: 91.1 %, not 0.911 %.
        percent = one.quantity.kind == "share" and one.value is not None
        value = 100 * one.value if percent else one.value
        assert told[one.quantity.title] == [str(value), one.quantity.unit], one.quantity.title


def test_each_shape_has_its_distance_from_the_open_one(two, write_table, helix, tmp_path):
    table = two.table.rows
    number = TITLES.index("Shape distance")

    def cell(row, role=Role.DisplayRole):
        return table.index(row, number).data(role)

    own, other = lines(two)
    assert (cell(0), own.value("shape_distance")) == (NO_NUMBER, None)
    assert "open model" in cell(0, Role.ToolTipRole)
    expected = shape_distance(*(s.model.W_pos[4:7] for s in (two.session, open_other(two))))
    assert other.value("shape_distance") == pytest.approx(expected.degrees)
    assert cell(1) == f"{expected.degrees:.1f}"
    assert cell(1) in two.panel.header.caption.text()
    # A curve of its own that turns, in the shared range, has an interval.
    open_other(two).positions = (10, 119)
    rows = slice(10, 120)
    expected = shape_distance(*(s.model.W_pos[rows] for s in (two.session, open_other(two))))
    low, high = expected.interval
    assert cell(1) == f"{expected.degrees:.1f} ({low:.1f}–{high:.1f})"
    read = json.loads(as_json(lines(two)))["models"][1]
    assert read["shape_distance_low"] == pytest.approx(low)
    assert read["shape_noise"] == pytest.approx(expected.same_curve)
    printed = run_script(two.python()).splitlines()[-1].split("\t")
    assert float(printed[1]) == pytest.approx(expected.degrees)
    two.session.positions = (130, 199)
    assert cell(1) == NO_NUMBER
    assert "no two positions" in cell(1, Role.ToolTipRole)


def open_other(stage):
    return stage.session.others[0].session


def test_turning_share_shows_its_outcome(three):
    number, rows = TITLES.index("Turning share"), three.table.rows
    helix, walk = rows.index(0, number), rows.index(2, number)
    assert helix.data().startswith("✓ ")
    assert walk.data()[0] in "✗?"
    assert helix.data(Role.ForegroundRole).name() == LIGHT.good
    assert helix.data(Role.ToolTipRole).endswith("holds ✓")
    assert rows.index(0, TITLES.index("Radius")).data(Role.ForegroundRole) is None
    for line in rows.lines:
        first, last = line.row.positions
        points = line.row.open_model.W_pos[first : last + 1]
        assert line.outcomes == {"turning_share": turning_share(points).outcome}
    written_too = numbers(rows.lines)["turning_share_outcome"]
    assert written_too.tolist() == [line.outcomes["turning_share"] for line in rows.lines]
    three.panel.set_theme(DARK)
    assert rows.index(0, number).data(Role.ForegroundRole).name() == DARK.good
    three.panel.set_theme(LIGHT)


def shown_titles(stage):
    """The titles of the columns that can be seen, from left to right."""
    titles = stage.table.values.titles
    order = [titles.logicalIndex(place) for place in range(titles.count())]
    return [TITLES[number] for number in order if not titles.isSectionHidden(number)]


COPIED = ["model", "first_position", "last_position", "components"]


def copied(stage):
    QTest.keyClick(stage.table.values, Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    return QApplication.clipboard().text().partition("\n")[0].split("\t")


def drag_title(stage, name, to, start=0.5):
    """Drag a title with the mouse: from a share of its width, to a pixel of the titles."""
    titles, number = stage.table.values.titles, TITLES.index(name)
    middle, left = titles.height() // 2, titles.sectionViewportPosition(number)
    begin = left + round(start * titles.sectionSize(number))
    QTest.mousePress(titles.viewport(), LEFT, pos=QPoint(begin, middle))
    for x in np.linspace(begin, to, 6).astype(int).tolist():
        QTest.mouseMove(titles.viewport(), QPoint(x, middle))
    QTest.mouseRelease(titles.viewport(), LEFT, pos=QPoint(to, middle))


def test_it_begins_with_the_standard_columns_and_all_can_be_copied(three):
    three.session.compare_columns = ()
    assert shown_titles(three) == [title_of(key) for key in STANDARD]
    three.click_row(0)
    assert copied(three) == [*COPIED, *STANDARD[1:]]
    trigger(three.panel.menu(), "Copy all columns")
    titles = QApplication.clipboard().text().partition("\n")[0].split("\t")
    assert tuple(titles[4:]) == ALL[1:]
    trigger(three.panel.menu(), "All columns")
    assert shown_titles(three) == [title_of(key) for key in ALL]
    trigger(three.panel.menu(), "Standard columns")
    assert three.session.compare_columns == ()


def test_dragged_titles_and_widths_are_copied(three):
    three.session.compare_columns = (("turns", 0), ("range", 0), ("d_model", 0))
    assert shown_titles(three) == ["Turns", "Range", "Width"]
    titles = three.table.values.titles
    end = titles.sectionViewportPosition(TITLES.index("Width"))
    drag_title(three, "Turns", end + titles.sectionSize(TITLES.index("Width")) - 4)
    assert shown_titles(three) == ["Range", "Width", "Turns"]
    assert three.session.compare_columns == (("range", 0), ("d_model", 0), ("turns", 0))
    assert three.column("Model") == ["helix", "short", "walk"], "it was no click"
    number = TITLES.index("Range")
    before = titles.sectionSize(number)
    drag_title(three, "Range", titles.sectionViewportPosition(number) + before + 40, start=0.99)
    width = dict(three.session.compare_columns)["range"]
    assert width == titles.sectionSize(number)
    assert abs(width - before - 40) <= 3
    three.session.others[0].session.positions = (5, 60)
    assert titles.sectionSize(number) == width, "other numbers leave it its width"
    three.click_row(0)
    assert copied(three) == [*COPIED, "d_model", "turns"]
    trigger(three.panel.content.title_menu("range"), "Fit the width to its texts")
    assert dict(three.session.compare_columns)["range"] == 0
    assert abs(titles.sectionSize(number) - before) <= 20


def test_the_menu_of_a_title_hides_and_moves_its_column(three):
    three.session.compare_columns = (("turns", 0), ("d_model", 70), ("loops", 0))
    menu_of = three.panel.content.title_menu
    trigger(menu_of("loops"), "Move left")
    assert three.session.compare_columns == (("turns", 0), ("loops", 0), ("d_model", 70))
    trigger(menu_of("turns"), "Move right")
    assert shown_titles(three) == ["Loops", "Turns", "Width"]
    trigger(menu_of("turns"), "Hide “Turns”")
    assert shown_titles(three) == ["Loops", "Width"]
    trigger(menu_of("loops"), "Hide “Loops”")
    (last,) = [one for one in menu_of("d_model").actions() if one.text().startswith("Hide")]
    assert not last.isEnabled()
    seen = []
    three.table.titleMenuRequested.connect(lambda key, at: seen.append(key))
    titles = three.table.values.titles
    at = QPoint(titles.sectionViewportPosition(TITLES.index("Width")) + 5, 5)
    ask_menu(titles.viewport(), at)
    assert seen == ["d_model"]
    for menu in QApplication.topLevelWidgets():
        if isinstance(menu, QMenu):
            menu.close()


def test_the_dialog_of_columns_is_used_by_keys_and_the_table_follows(three, qtbot):
    three.session.compare_columns = (("turns", 0), ("d_model", 70))
    three.panel.content.columns.click()
    (chooser,) = three.panel.content.findChildren(ColumnChooser)
    assert chooser.shown == ("turns", "d_model")
    assert chooser.list.item(0).text() == "Turns"
    chooser.list.setFocus()
    QTest.keyClick(chooser.list, Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert shown_titles(three) == ["Width", "Turns"]
    assert three.session.compare_columns == (("d_model", 70), ("turns", 0))
    QTest.keyClick(chooser.list, Key.Key_Space)
    assert shown_titles(three) == ["Width"]
    QTest.keyClick(chooser.list, Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    QTest.keyClick(chooser.list, Key.Key_Space)
    assert shown_titles(three) == ["Turns", "Width"]
    chooser.all.click()
    assert len(shown_titles(three)) == len(ALL)
    chooser.standard.click()
    assert shown_titles(three) == [title_of(key) for key in STANDARD]
    chooser.close_button.click()
    qtbot.waitUntil(lambda: not three.panel.content.findChildren(ColumnChooser))


def test_files_follow_the_shown_columns_or_have_all(three):
    three.session.compare_columns = (("turns", 0), ("d_model", 0))
    view = three.panel.view()
    shown, whole = three.panel.spec.texts(view)
    assert (shown.title, whole.title) == ("Save table", "Save all columns")
    assert shown.kinds["csv"][1]().partition("\n")[0] == "model,turns,d_model"
    assert whole.kinds["csv"][1]().partition("\n")[0].count(",") == 2 + len(ALL)
    rows = shown.kinds["md"][1]().splitlines()
    assert [row.split("|")[1].strip() for row in rows[2:]] == ["Turns", "Width (entries)"]
    assert len(whole.kinds["tex"][1]().splitlines()) > len(shown.kinds["tex"][1]().splitlines())
    first = json.loads(shown.kinds["json"][1]())["models"][0]
    assert [*first] == ["model", "positions", "components", "turns", "d_model", "outcomes"]


def test_intervals_are_beside_their_numbers(three):
    found = of(three.session)
    low, high = found["turns_low"].value, found["turns_high"].value
    assert low < found["turns"].value < high
    text = three.column("Turns")[0]
    assert text == f"{written(found['turns'])} ({format_number(low, 2)}–{format_number(high, 2)})"
    # Nothing is in brackets where no helix describes the positions.
    walk = three.column("Model").index("walk")
    assert "(" not in three.column("Helix R²")[walk]
