"""The command palette: what a few letters mean, and that it is done."""

from dataclasses import replace

import pytest
import shiboken6
from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.models.sources.source import Source
from gui.window.palette import (
    A_PROJECT,
    NOTHING,
    AddPalette,
    Item,
    Palette,
    matching,
    typed_positions,
    typed_sources,
)

CONTROL = Qt.KeyboardModifier.ControlModifier


def item(title, kind="View", about=""):
    return Item(title, kind, lambda: None, about=about)


ITEMS = [
    item("Zoom in"),
    item("Show Norms", "Panels"),
    item("Isometric view"),
    item("Show Spectra", "Panels"),
    item("Open GPT-2 small", "Models"),
    item("Show sphere of mean norm"),
    item("Save turntable…", "File", "Save a film, a movie"),
]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("", [one.title for one in ITEMS]),
        ("zoo", ["Zoom in"]),
        ("norm", ["Show Norms", "Show sphere of mean norm"]),
        ("NORMS show", ["Show Norms"]),
        ("panels", ["Show Norms", "Show Spectra"]),
        ("gpt small", ["Open GPT-2 small"]),
        ("2", ["Open GPT-2 small"]),
        ("metric", ["Isometric view"]),
        ("in", ["Zoom in"]),
        ("sav", ["Save turntable…"]),
        ("isvw", ["Isometric view"]),
        ("spcta", ["Show Spectra"]),
        ("nrm", ["Show Norms", "Show sphere of mean norm"]),
        ("view isvw", ["Isometric view"]),
        ("sw", []),
        ("movie", ["Save turntable…"]),
        ("ovie", []),
        ("save", ["Save turntable…"]),
        ("svw", []),
        ("zmin", ["Zoom in"]),
        ("zin", ["Zoom in"]),
        ("pca", []),
        ("ometric", ["Isometric view"]),
        ("smetrc", []),
        ("nothing like it", []),
    ],
)
def test_all_words_of_a_text_and_the_nearest_first(text, titles):
    assert [one.title for one in matching(ITEMS, text)] == titles


def test_numbers_are_positions():
    def offered(text):
        return [one.title for one in typed_positions(text, 100, lambda _: None, lambda *_: None)]

    for text in ("7", "99"):
        assert offered(text) == [f"Go to position {text}"]
    for text, span in ((" 5-9 ", "5–9"), ("5–5", "5–5")):
        assert offered(text) == [f"Show positions {span}"]
    for text in ("100", "9-5", "5-100", "x", "-3", "1-2-3", "99999999999"):
        assert offered(text) == []


@pytest.fixture
def palette(window):
    """Open it by its key, as from anywhere."""

    def opened(typed="", focus=None):
        QTest.keyClick(focus or window, Qt.Key.Key_K, CONTROL)
        (shown,) = [w for w in window.findChildren(Palette) if w.isVisible()]
        QTest.keyClicks(shown.field, typed)
        return shown

    return opened


def titles(palette):
    return [palette.list.topLevelItem(i).text(0) for i in range(palette.list.topLevelItemCount())]


def test_a_command_by_its_letters(application, palette):
    shown = palette()
    many = shown.height()
    QTest.keyClicks(shown.field, "parallel")
    assert titles(shown) == ["Parallel projection"]
    assert shown.height() < many
    assert shown.list.topLevelItem(0).text(2) == "P"
    QTest.keyClick(shown.field, Qt.Key.Key_Return)
    QApplication.processEvents()
    assert application.session.projection == "parallel"


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("cosine", "Show Similarity"),
        ("helix fit", "Show Shape"),
        ("font size", "Settings…"),
        ("movie", "Save turntable…"),
        ("screenshot", "Save picture…"),
        ("pca", "Show PCA artefact"),
        ("principal", "Show Positions"),
        ("explained variance", "Show Positions"),
        ("p-value", "Show Claims"),
        ("lesson 3", "Lesson 3: Positions inside the model, and what they do"),
        ("add gpt-2 small", "Add GPT-2 small beside"),
        ("gpt-2 small", "Open GPT-2 small"),
    ],
)
def test_words_of_other_tools_lead_to_commands_and_panels(palette, typed, first):
    assert titles(palette(typed))[0] == first


def test_a_position_beyond_the_table_names_those_there_are(palette):
    shown = palette("300-999")
    assert titles(shown) == []
    assert shown.nothing.text() == "The positions are 0–199."


@pytest.mark.parametrize("typed", ["pca", "movie"])
def test_scattered_letters_match_only_where_nothing_else_does(palette, typed):
    shown = palette(typed)
    rows = [shown.list.topLevelItem(i) for i in range(shown.list.topLevelItemCount())]
    items = [row.data(0, Qt.ItemDataRole.UserRole) for row in rows]
    assert all(typed in f"{one.title} {one.kind} {one.about}".lower() for one in items)


def test_a_lesson_by_its_number(application, palette, wait_until_idle):
    player = application.window.lesson_player
    for number in ("2", "3"):
        QTest.keyClick(palette(f"lesson {number}").field, Qt.Key.Key_Return)
        QApplication.processEvents()
        wait_until_idle(application)
        assert player.on
        assert application.session.lesson.lesson.file.startswith(f"0{number}")
        assert application.session.lesson.number == 0
    player.leave()


def test_arrows_walk_and_a_click_chooses(application, palette):
    shown = palette("show")
    first, second = titles(shown)[:2]
    assert shown.list.currentItem().text(0) == first
    QTest.keyClick(shown.field, Qt.Key.Key_Down)
    assert shown.list.currentItem().text(0) == second
    assert shown.field.text() == "show"
    shown.field.clear()
    QTest.keyClicks(shown.field, "show spectra")
    row = shown.list.visualItemRect(shown.list.topLevelItem(0))
    QTest.mouseClick(shown.list.viewport(), Qt.MouseButton.LeftButton, pos=row.center())
    QApplication.processEvents()
    assert application.window.panels["spectra"].isVisible()


@pytest.mark.parametrize("how", ["click", "key"])
def test_a_command_runs_once_the_palette_is_gone(palette, how):
    """A dialog's loop would delete the palette while it still handles the event that opened it."""
    shown, alive = palette("export data"), []

    def run():
        loop = QEventLoop()
        QTimer.singleShot(50, loop.quit)
        loop.exec()
        alive.append(shiboken6.isValid(shown))

    row = shown.list.topLevelItem(0)
    row.setData(0, Qt.ItemDataRole.UserRole, replace(ITEMS[0], run=run))
    if how == "click":
        at = shown.list.visualItemRect(row).center()
        QTest.mouseClick(shown.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
    else:
        QTest.keyClick(shown.field, Qt.Key.Key_Return)
    assert alive == []
    QApplication.processEvents()
    assert alive == [False]


def test_positions_and_a_model(application, palette, wait_until_idle):
    QTest.keyClick(palette("20-60").field, Qt.Key.Key_Enter)
    QApplication.processEvents()
    wait_until_idle(application)
    assert application.session.positions == (20, 60)
    QTest.keyClick(palette("33").field, Qt.Key.Key_Enter)
    QApplication.processEvents()
    assert application.session.selection == (33,)
    QTest.keyClick(palette("open helixscope sample").field, Qt.Key.Key_Return)
    QApplication.processEvents()
    wait_until_idle(application)
    assert application.session.model.source.text == "sample"


def test_a_text_field_leaves_it_its_key_and_what_is_called_nothing_is_said(application, palette):
    field = application.window.panels["prompt"].field
    field.setFocus()
    QTest.keyClicks(field, "hello")
    before = field.toPlainText()
    shown = palette("qqqq", focus=QApplication.focusWidget())
    assert shown.field.hasFocus()
    assert field.toPlainText() == before
    assert shown.nothing.isVisible()
    QTest.keyClick(shown.field, Qt.Key.Key_Return)
    assert shown.isVisible()
    QTest.keyClick(shown.field, Qt.Key.Key_Escape)  # which closes it
    assert not application.window.findChildren(Palette) or not shown.isVisible()


MODELS = ("synthetic:helix,turns=2", " sinusoidal:64x32 ", "/models/a b", "~/x.npy", "./x")
OTHERS = ("EleutherAI/pythia-70m@step1", "run/step 500", "sample", "sample/inside/layer 2")
OFFERED = {text: ["Open", "Add"] for text in (*MODELS, *OTHERS)}
OFFERED |= {"/work/a.helix": ["Open"], "zoom": [], "": [], "20-60": [], "show spectra": []}


@pytest.mark.parametrize(("text", "offered"), OFFERED.items())
def test_paths_ids_and_formulas_are_sources(text, offered):
    done = []
    opening, adding = (lambda s: done.append(("Open", s))), (lambda s: done.append(("Add", s)))
    found = typed_sources(text, opening, adding)
    assert [one.title.split()[0] for one in found] == offered
    for one in found:
        one.run()
    assert done == [(what, Source.parse(text.strip())) for what in offered]
    alone = typed_sources(text, lambda s: None, None)
    assert [one.title.split()[0] for one in alone] == offered[:1]


def test_a_typed_formula_is_opened_or_shown_beside(application, palette, wait_until_idle):
    QTest.keyClick(palette("synthetic:helix,n=50,turns=2").field, Qt.Key.Key_Return)
    QApplication.processEvents()
    wait_until_idle(application)
    assert application.session.model.n_positions == 50
    shown = palette("sinusoidal:40x8")
    assert titles(shown)[1] == "Add sinusoidal:40x8 beside"
    QTest.keyClick(shown.field, Qt.Key.Key_Down)
    QTest.keyClick(shown.field, Qt.Key.Key_Return)
    QApplication.processEvents()
    wait_until_idle(application)
    assert [one.name for one in application.session.others] == ["sinusoidal-40x8"]


def test_a_project_is_not_added_but_opened(window):
    palette = AddPalette(window, lambda source: None)
    for text, said in (("/home/x/talk.helix", A_PROJECT), ("q w e r t z", NOTHING)):
        palette.field.setText(text)
        assert not palette.nothing.isHidden()
        assert palette.nothing.text() == said
    palette.deleteLater()


@pytest.mark.slow
def test_typed_source_adds_a_model(application, wait_until_idle, write_table, helix, qtbot):
    window, session = application.window, application.session
    source = str(write_table(helix(90, 8), "typed"))

    def type_source(text):
        menu = window.side_by_side._make_menu()
        menu.actions()[0].trigger()
        menu.deleteLater()
        (shown,) = [one for one in window.findChildren(AddPalette) if one.isVisible()]
        assert shown.field.accessibleName() == "Model"
        QTest.keyClicks(shown.field, text)
        QTest.keyClick(shown.field, Qt.Key.Key_Return)
        QApplication.processEvents()
        wait_until_idle(application)

    type_source(source)
    assert [one.session.model.name for one in session.others] == ["typed"]
    type_source("synthetic:helix,n=30")
    assert session.others[1].session.model.n_positions == 30
    for wrong in ("synthetic:banana", "/nowhere/at/all"):
        application.controller.open(wrong)
        wait_until_idle(application)
        said = session.notice.text
        session.notice = None
        type_source(wrong)
        assert session.notice.text == said
        assert session.others[-1].failed == said


def test_of_equal_matches_the_word_nearest_to_the_beginning_comes_first():
    titles = ["Undo: opening numbers of sample", "Open Helixscope sample", "Open sample"]
    items = [item(title) for title in titles]
    assert [one.title for one in matching(items, "sample")] == titles[::-1]
    assert matching(items, "")[0] is items[0]
