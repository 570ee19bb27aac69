"""The claims panel through real events: the table, ranges, giving up."""

import threading
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTabBar

from geometry.claims.claims import CLAIMS, Verdict
from geometry.models.residual_stream import Subject
from gui.panels.claims import spec as claims_spec
from gui.panels.claims.table import ARTICLE, CLAIM, EXPECTED, NOTHING, OUTCOME, ClaimsTable
from gui.panels.claims.words import counts, outcome
from gui.panels.panel import CANCELLED
from gui.panels.table import PANELS
from gui.style.theme import DARK, LIGHT
from tests.gui.claims_stage import LEFT, show_claims


@pytest.fixture
def claims(start_application, write_gpt2, wait_until_idle):
    """The panel in the window, answered about a tiny GPT-2 of nothing but positions."""
    return show_claims(start_application(write_gpt2()), wait_until_idle)


def ids(table):
    return [verdict.claim.id for verdict in table.rows.verdicts]


def click_row(table, claim_id):
    index = table.rows.index(ids(table).index(claim_id), CLAIM)
    table.scrollTo(index)
    QTest.mouseClick(table.viewport(), LEFT, pos=table.visualRect(index).center())


def in_front(window):
    """The title of the tab under the viewport that can be seen."""
    (bar,) = (bar for bar in window.findChildren(QTabBar) if bar.isVisible())
    return bar.tabText(bar.currentIndex())


# ---- the table --------------------------------------------------------------------------------


def test_lines_say_how_why_and_what(claims):
    table = claims.table
    cell = {
        v.claim.id: [table.rows.index(row, c).data() for c in range(5)]
        for row, v in enumerate(table.rows.verdicts)
    }
    assert cell["outlier.first"] == [
        "holds", "Position 0 is an outlier.", "1", "at least 1", "Helix"
    ]  # fmt: skip
    assert cell["spectrum.E"][OUTCOME] == "cannot tell"
    row = ids(table).index("spectrum.E")
    why = table.rows.verdicts[row].why_null
    assert table.rows.index(row, CLAIM).data(Qt.ItemDataRole.UserRole) == why
    assert "cannot be told" in table.rows.index(row, 0).data(Qt.ItemDataRole.ToolTipRole)


def test_marks_differ_in_shape(claims):
    def shape(how):
        image = claims.table.rows.marks[how].pixmap(12, 12).toImage()
        size = range(image.width())
        return tuple(image.pixelColor(x, y).alpha() > 128 for y in size for x in size)

    shapes = {shape(how) for how in ("holds", "fails", "unknown")}
    assert len(shapes) == 3
    assert all(any(one) for one in shapes)


def test_the_caption_counts_and_names_the_scope(claims):
    said = claims.panel.header.caption.text()
    assert said.startswith(counts(claims.panel.result.verdicts))
    assert "tiny-gpt2 · the shown positions 1–199" in said
    assert "layer 0, raw weights" in said


def test_the_filter_shows_one_outcome(claims):
    verdicts = claims.panel.result.verdicts
    for value, holds in (("holds", True), ("fails", False), ("unknown", None)):
        QTest.mouseClick(claims.panel.controls.widgets["outcome"].buttons[value], LEFT)
        assert ids(claims.table) == [v.claim.id for v in verdicts if v.holds is holds]
        assert ids(claims.table)
    QTest.mouseClick(claims.panel.controls.widgets["outcome"].buttons["all"], LEFT)
    assert ids(claims.table) == [claim.id for claim in CLAIMS]


def test_a_filter_that_leaves_nothing_says_so(
    start_application, write_gpt2, monkeypatch, wait_until_idle
):
    monkeypatch.setattr(claims_spec, "check", lambda claim, _: Verdict(claim, 1.0, True, None))
    app = start_application(write_gpt2())
    app.window.docks["claims"].raise_()
    wait_until_idle(app)
    panel = app.window.panels["claims"]
    QTest.mouseClick(panel.controls.widgets["outcome"].buttons["fails"], LEFT)
    assert panel.content.nothing.isVisible()
    assert panel.content.nothing.text() == NOTHING["fails"]
    QTest.mouseClick(panel.controls.widgets["outcome"].buttons["holds"], LEFT)
    assert not panel.content.nothing.isVisible()
    assert panel.content.table.isVisible()


@pytest.mark.parametrize(
    ("claim", "dock"),
    [("norms.stable", "norms"), ("spectrum.P", "spectra"), ("pca.three", "positions")],
)
def test_a_click_opens_the_panel_that_shows_it(claims, qtbot, claim, dock):
    if dock == "positions":
        claims.window.docks[dock].close()
    click_row(claims.table, claim)
    qtbot.waitUntil(claims.window.docks[dock].isVisible)
    assert in_front(claims.window) == {"norms": "Norms", "spectra": "Spectra"}.get(dock, "Claims")


def test_enter_opens_what_is_marked(claims, qtbot):
    claims.window.activateWindow()
    qtbot.waitUntil(claims.window.isActiveWindow)
    claims.window.viewport.interactor.setFocus()
    claims.table.setFocus(Qt.FocusReason.TabFocusReason)
    assert claims.table._marked().claim.id == "rows.unique"
    row = ids(claims.table).index("norms.stable")
    for _ in range(row):
        QTest.keyClick(claims.table, Qt.Key.Key_Down)
    QTest.keyClick(claims.table, Qt.Key.Key_Return)
    assert in_front(claims.window) == "Norms"


def test_a_right_click_opens_no_other_panel(claims):
    spot = claims.table.visualRect(claims.table.rows.index(0, CLAIM)).center()
    QTest.mouseClick(claims.table.viewport(), Qt.MouseButton.RightButton, pos=spot)
    assert in_front(claims.window) == "Claims"


def test_every_claim_leads_to_the_panel_that_shows_it(claims):
    for claim in CLAIMS:
        claims.window.docks["claims"].raise_()
        claims.table.chosen.emit(claim)
        if claim.panel != "positions":
            assert in_front(claims.window) == claims.window.docks[claim.panel].windowTitle()
    shown = {one for entry in PANELS.values() for one in entry.spec.claims}
    assert shown <= {claim.id for claim in CLAIMS}


def test_a_claim_about_two_matrices_opens_them(claims):
    click_row(claims.table, "overlap.W_Q_P.folded")
    controls = claims.window.panels["overlaps"].form
    assert controls.rows.subject == Subject("W_Q", fold_ln=True)
    assert controls.columns.subject == Subject("P")


def test_a_claim_about_one_version_opens_it(claims):
    click_row(claims.table, "layernorm.constant")
    assert claims.window.panels["layernorm"].choices.version == "constant_norm"


def test_letters_are_left_to_the_window(claims):
    claims.table.setFocus()
    before = claims.table.currentIndex().row()
    QTest.keyClick(claims.table, Qt.Key.Key_P)
    assert claims.table.currentIndex().row() == before
    QTest.keyClick(claims.table, Qt.Key.Key_6)
    assert in_front(claims.window) == "Norms"


def test_the_marked_claim_stays_marked(claims):
    claims.table.selectRow(ids(claims.table).index("norms.stable"))
    QTest.mouseClick(claims.panel.controls.widgets["outcome"].buttons["holds"], LEFT)
    assert claims.table._marked().claim.id == "norms.stable"


def test_narrow_tables_keep_the_claim(qtbot):
    table = ClaimsTable(LIGHT)
    qtbot.addWidget(table)
    for width, hidden in ((900, []), (560, [ARTICLE]), (360, [EXPECTED, ARTICLE])):
        table.resize(width, 200)
        table.show()
        QApplication.processEvents()
        assert [c for c in range(5) if table.isColumnHidden(c)] == hidden


def test_a_dark_theme_reaches_the_marks(claims):
    def colour():
        image = claims.table.rows.marks["fails"].pixmap(12, 12).toImage()
        return image.pixelColor(image.width() // 2, image.height() // 2).name()

    claims.panel.set_theme(LIGHT)
    assert colour() == LIGHT.warning
    claims.panel.set_theme(DARK)
    assert colour() == DARK.warning


# ---- ranges, cancelling -----------------------------------------------------------------------


def test_the_window_answers_and_cancels_meanwhile(
    start_application, write_gpt2, monkeypatch, qtbot, wait_until_idle
):
    begun, go_on, checked = threading.Event(), threading.Event(), []

    def slow(claim, measured):
        checked.append(claim.id)
        begun.set()
        go_on.wait()
        return Verdict(claim, 1.0, True, None)

    monkeypatch.setattr(claims_spec, "check", slow)
    app = start_application(write_gpt2())
    try:
        app.window.docks["claims"].raise_()
        qtbot.waitUntil(lambda: begun.is_set() and app.window.panels["claims"].strip.isVisible())
        panel = app.window.panels["claims"]
        app.window.panels["positions"].setFocus()
        qtbot.mouseClick(panel.strip.cancel, LEFT)
        assert "cancelled" in panel.words.message.text()
    finally:
        go_on.set()
    wait_until_idle(app)
    assert len(checked) == 1


@pytest.fixture
def half_way(start_application, write_gpt2, monkeypatch, qtbot, wait_until_idle):
    """The window while it checks the fourth claim, and what lets it go on."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(claim, measured):
        if claim is CLAIMS[3]:
            begun.set()
            go_on.wait(20)
        return Verdict(claim, 1.0, True, None)

    monkeypatch.setattr(claims_spec, "check", slow)
    monkeypatch.setattr("gui.services.questions.TELL_S", 0.0)
    app = start_application(write_gpt2())
    app.window.docks["claims"].raise_()
    qtbot.waitUntil(lambda: begun.is_set() and app.window.panels["claims"].strip.isVisible())
    panel = app.window.panels["claims"]
    qtbot.waitUntil(lambda: panel.result is not None)
    yield SimpleNamespace(app=app, window=app.window, panel=panel, go_on=go_on)
    go_on.set()
    wait_until_idle(app)


def test_lines_fill_in_while_others_are_checked(half_way, wait_until_idle):
    panel = half_way.panel
    table = panel.content.table

    def column(number):
        return [table.rows.index(row, number).data() for row in range(len(CLAIMS))]

    assert ids(table) == [claim.id for claim in CLAIMS]
    assert column(OUTCOME) == ["holds"] * 3 + ["…"] * (len(CLAIMS) - 3)
    assert f"{len(CLAIMS) - 3} to be checked" in panel.header.caption.text()
    assert not panel.header.more.isEnabled()
    QTest.mouseClick(panel.controls.widgets["outcome"].buttons["holds"], LEFT)
    assert ids(table) == [claim.id for claim in CLAIMS[:3]]
    QTest.mouseClick(panel.controls.widgets["outcome"].buttons["all"], LEFT)
    table.selectRow(30)
    table.verticalScrollBar().setValue(200)
    half_way.go_on.set()
    wait_until_idle(half_way.app)
    assert column(OUTCOME) == ["holds"] * len(CLAIMS)
    assert "to be checked" not in panel.header.caption.text()
    # What one looks at stays where it is.
    assert table.verticalScrollBar().value() == 200
    assert table._marked().claim is CLAIMS[30]


@pytest.mark.parametrize("focus", ["viewport", "table", "prompt"])
def test_escape_gives_up_what_is_computed(half_way, focus, qtbot, wait_until_idle):
    window, panel = half_way.window, half_way.panel
    window.controller.select((3, 5))
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    if focus == "prompt":
        window.panels["prompt"].take_focus()
    else:
        {"viewport": window.viewport.interactor, "table": panel.content.table}[focus].setFocus()
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert panel.words.message.isVisible()
    assert panel.words.message.text() == CANCELLED
    assert half_way.app.session.selection == (3, 5)
    half_way.go_on.set()
    QTest.mouseClick(panel.words.button, LEFT)
    wait_until_idle(half_way.app)
    assert all(outcome(verdict) == "holds" for verdict in panel.result.verdicts)


def test_escape_in_a_panel_that_floats_gives_up_its_own(half_way, qtbot):
    dock = half_way.window.docks["claims"]
    dock.setFloating(True)
    qtbot.waitUntil(lambda: half_way.panel.strip.isVisible())
    half_way.panel.content.table.setFocus()
    QTest.keyClick(half_way.panel.content.table, Qt.Key.Key_Escape)
    assert half_way.panel.words.message.text() == CANCELLED
