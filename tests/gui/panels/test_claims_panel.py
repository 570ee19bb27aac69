"""The claims panel through real events: the table, ranges, giving up."""

import csv
import re
import threading
from dataclasses import asdict, replace
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import geometry
from geometry.claims.claims import CLAIMS, Verdict
from geometry.claims.effect_claims import EFFECT_CLAIMS, NEEDED, NEEDS
from geometry.claims.group_claims import GROUP_CLAIMS
from geometry.claims.ledger import Checking
from geometry.claims.published import PUBLISHED, Compared
from geometry.evidence.null import OUTCOMES
from geometry.inside.effects import Control, Effect, Effects
from geometry.inside.interventions import Table
from geometry.inside.worker import WorkerProgress
from geometry.models.residual_stream import Subject
from gui.panels.claims import spec as claims_spec
from gui.panels.claims.published import QUANTITY, PublishedTable
from gui.panels.claims.spec import OUTCOME_OF
from gui.panels.claims.table import (
    ADJUSTED,
    BOUND,
    CLAIM,
    NOTHING,
    NULL,
    OUTCOME,
    VALUE,
    ClaimsTable,
    P,
    panel_of,
)
from gui.panels.claims.words import by_fact, comma_separated, counts, word
from gui.panels.table import PANELS
from gui.services import effects as module
from gui.services.effects import EffectsResult, EffectsRun
from gui.state.answer import Answer
from gui.style.theme import DARK, LIGHT
from gui.widgets.working_strip import CANCELLED
from gui.window.arrangement.focus_navigation import in_front as can_be_seen
from tests.gui.compare_stage import CompareStage
from tests.gui.on_screen import put_on_screen
from tests.gui.open_models import show_others
from tests.gui.result_stage import LEFT, ResultStage
from tests.scripts import run_script


class ClaimsStage(ResultStage):
    """The panel, answered at once."""

    @property
    def table(self):
        return self.panel.content.table

    def press(self, outcome):
        """Show the claims of one outcome, or all."""
        QTest.mouseClick(self.panel.controls.widgets["outcome"].buttons[outcome], LEFT)


@pytest.fixture
def claims(stage_of, tiny_gpt2):
    """The panel with a tiny GPT-2 of nothing but positions."""
    return stage_of("claims", tiny_gpt2, kind=ClaimsStage, size=(1000, 320))


@pytest.fixture
def windowed(application, wait_until_idle):
    """The panel in the window."""
    application.window.bring("claims")
    wait_until_idle(application)
    panel = application.window.panels["claims"]
    return SimpleNamespace(window=application.window, panel=panel, table=panel.content.table)


def test_columns_have_the_room_that_their_texts_need(qtbot, dress):
    dress(LIGHT)
    table, published = ClaimsTable(LIGHT), PublishedTable(LIGHT)
    table.show_verdicts([Verdict(claim) for claim in CLAIMS])
    published.show_compared(tuple(Compared(one, one.value) for one in PUBLISHED))
    numbers = (VALUE, BOUND, P, ADJUSTED)
    for one, width, columns in (
        (table, 744, numbers),
        (table, 1500, range(1, 7)),
        (published, 900, range(1, 4)),
    ):
        put_on_screen(qtbot, one, width, 300)
        for column in columns:
            assert one.columnWidth(column) >= one.sizeHintForColumn(column), column
        one.resize(500, 300)
        assert one.columnWidth(CLAIM if one is table else QUANTITY) >= 100
    assert not table.isColumnHidden(BOUND)
    table.resize(360, 300)
    assert table.isColumnHidden(BOUND)


def test_every_claim_is_whole_beside_its_numbers_in_a_panel_of_a_small_window(claims, qtbot):
    table = claims.table
    claims.panel.resize(758, 320)
    qtbot.waitUntil(lambda: table.width() < 758)
    assert not any(table.isColumnHidden(column) for column in range(len(table.rows.columns)))
    rows = range(table.rows.rowCount())
    narrow = sum(map(table.rowHeight, rows))
    claims.panel.resize(1600, 320)
    qtbot.waitUntil(lambda: sum(map(table.rowHeight, rows)) < narrow)
    for size in (2, 1):
        font = table.font()
        font.setPixelSize(13 * size)
        table.setFont(font)
        qtbot.waitUntil(lambda: all(table.rowHeight(r) >= table.sizeHintForRow(r) for r in rows))


def ids(table):
    return [line.claim.id for line in table.rows.lines if isinstance(line, Verdict)]


def row_of(table, claim_id):
    lines = table.rows.lines
    return next(
        row
        for row, line in enumerate(lines)
        if isinstance(line, Verdict) and line.claim.id == claim_id
    )


def click_row(table, claim_id):
    index = table.rows.index(row_of(table, claim_id), CLAIM)
    table.scrollTo(index)
    QTest.mouseClick(table.viewport(), LEFT, pos=table.visualRect(index).center())


def test_claims_of_one_fact_stand_together_under_its_name(claims):
    table, lines = claims.table, claims.table.rows.lines
    facts = [line for line in lines if isinstance(line, str)]
    assert len(facts) == len({claim.fact for claim in EVERY})
    assert sorted(ids(table)) == sorted(claim.id for claim in EVERY)
    for row, line in enumerate(lines):
        if isinstance(line, str):
            fact = line
            assert table.columnSpan(row, 0) == len(table.rows.columns)
            assert table.rows.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole) == fact
        else:
            assert line.claim.fact.casefold() == fact.casefold()
            assert table.columnSpan(row, 0) == 1
    # Keys pass over the headings, and a click on one opens nothing.
    opened = []
    table.chosen.connect(opened.append)
    table.selectRow(1)
    visited = [table.marked.claim.id]
    for _ in EVERY[1:]:
        QTest.keyClick(table, Qt.Key.Key_Down)
        visited.append(table.marked.claim.id)
    assert visited == ids(table)
    row = lines.index(facts[-1])
    spot = table.rows.index(row, 0)
    table.scrollTo(spot)
    QTest.mouseClick(table.viewport(), LEFT, pos=table.visualRect(spot).center())
    assert opened == []
    assert table.marked.claim.id == visited[-1]


def grouped(verdicts):
    return [verdict.claim.id for group in by_fact(verdicts).values() for verdict in group]


def in_front(window):
    """The title of the panel under the viewport that can be seen."""
    (name,) = (name for name in PANELS if can_be_seen(window.docks[name]))
    return PANELS[name].title


@pytest.mark.slow
def test_lines_say_how_why_and_what_with_marks_of_their_own_and_a_caption(claims):
    rows, below = claims.table.rows, Qt.ItemDataRole.UserRole

    def cells(claim, role=Qt.ItemDataRole.DisplayRole):
        return [rows.index(row_of(claims.table, claim), c).data(role) for c in range(7)]

    first = cells("outlier.first")
    assert (first[OUTCOME], first[CLAIM]) == ("holds", "Position 0 is “always an outlier”.")
    assert first[BOUND] == "> 1"
    assert re.fullmatch(r"0\.\d+", first[P])
    assert float(first[ADJUSTED]) >= float(first[P])
    assert re.match(r"\d+ ", cells("outlier.first", below)[NULL])
    assert re.fullmatch(r"\d.*–\d.*", first[NULL])
    assert cells("outlier.first", below)[CLAIM].startswith("Helix · deviation of its norm")
    assert cells("layernorm.orthogonal")[OUTCOME] == "undetermined"
    assert cells("layernorm.orthogonal", below)[NULL] == ""
    why = rows.lines[row_of(claims.table, "layernorm.orthogonal")].why_null
    assert cells("layernorm.orthogonal", below)[CLAIM].endswith(f" · {why}")
    assert "undetermined" in cells("layernorm.orthogonal", Qt.ItemDataRole.ToolTipRole)[OUTCOME]

    def shape(how):
        image = claims.table.rows.marks[how].pixmap(12, 12).toImage()
        size = range(image.width())
        return tuple(image.pixelColor(x, y).alpha() > 128 for y in size for x in size)

    shapes = {shape(how) for how in OUTCOMES}
    assert len(shapes) == 6
    assert all(any(one) for one in shapes)
    said = claims.panel.header.caption.text()
    assert said.startswith(counts(claims.panel.result.verdicts))
    assert "tiny-gpt2 · the shown positions 1–199" in said
    assert "weights of layer 0 as they are" in said


def test_a_filter_that_leaves_nothing_says_so(qtbot, monkeypatch, tiny_gpt2):
    held = tuple(Verdict(claim, 1.0, "holds") for claim in CLAIMS)
    monkeypatch.setattr(claims_spec, "check_in_steps", lambda *_: [Checking(1.0, "", held)])
    claims = ClaimsStage(qtbot, "claims")
    claims.open(tiny_gpt2)
    content = claims.panel.content
    claims.press("fails")
    assert content.nothing.isVisible()
    assert content.nothing.text() == NOTHING["fails"]
    claims.press("holds")
    assert not content.nothing.isVisible()
    assert content.table.isVisible()


def test_the_filter_shows_one_outcome_and_the_marked_claim_stays_marked(claims):
    verdicts = claims.panel.result.verdicts
    last = [verdict.claim for verdict in verdicts if verdict.outcome == "holds"][-1]
    claims.table.selectRow(row_of(claims.table, last.id))
    claims.press("holds")
    assert claims.table.marked.claim is last
    for value, shown in OUTCOME_OF.items():
        claims.press(value)
        assert ids(claims.table) == grouped(v for v in verdicts if v.outcome == shown)
    claims.press("all")
    assert ids(claims.table) == grouped(map(Verdict, EVERY))


@pytest.mark.slow
def test_group_claims_need_models_side_by_side(stage_of, helix_table, beside_helix, tmp_path):
    """With the numbers of the open model's own claims kept, and in the copied script as well."""
    names = ("gpt2", "gpt2-medium")
    paths = [tmp_path / f"{name}.npy" for name in names]
    for path, table in zip(paths, (helix_table, beside_helix["short"]), strict=True):
        path.write_bytes(table.read_bytes())
    stage = stage_of("claims", paths[0], kind=CompareStage)

    def told():
        return {v.claim.id: v for v in stage.panel.result.verdicts}

    alone = told()
    why = alone["group.all_but_xl"].why_null
    assert why == "it needs two of the nine GPT-2s side by side"
    stage.beside(paths[1], names[1])
    beside = told()
    assert beside["group.all_but_xl"].outcome in ("holds", "does not hold")
    assert beside["group.variance"].outcome == "cannot tell"
    for name in ("pca.three", "similarity.periodic"):  # with their draws, corrected for more claims
        assert beside[name].nulls == alone[name].nulls
    printed = run_script(stage.panel.python()).splitlines()
    assert len(printed) == len(CLAIMS + GROUP_CLAIMS)
    show_others(stage.session)
    assert told()["group.all_but_xl"].why_null == why


def effects_of(model, helix):
    """What the panel of effects has found: the helix costs so much of what positions are worth."""
    costs = {**dict.fromkeys(NEEDED, 0.0), "top 0": 1.0, "fitted helix": helix}
    common = 1 + 0.1 * np.random.default_rng(0).standard_normal(40)
    made = tuple(
        Effect(name, cost, cost, cost, by_window=tuple((cost * common).tolist()))
        for name, cost in costs.items()
    )
    run = EffectsRun("sample", 24, 40, heads=True)
    files = tuple(f"{number % 10}.txt" for number in range(40))
    return EffectsResult(Table(model.W_pos, 24), Effects(4.0, made, 40, files=files), run)


def test_a_ledger_that_is_seen_follows_the_effects_and_so_does_its_script(claims, monkeypatch):
    session = claims.session
    at_first = session.answers

    def tell(state, result):
        answer = Answer("effects", state, result)
        session.answers = MappingProxyType({**session.answers, "effects": answer})
        return {one.claim.id: one for one in claims.panel.result.verdicts}["effects.helix"]

    small, large = effects_of(session.model, 0.07), effects_of(session.model, 0.3)
    assert tell("ready", replace(small, run=None)).outcome == "cannot tell"
    holds = tell("ready", small)
    assert (holds.outcome, holds.value) == ("holds", pytest.approx(0.07))
    shown = claims.answer
    assert tell("ready", small).outcome == "holds"
    assert claims.answer is shown, "the same is not asked again"
    assert tell("working", large).outcome == "cannot tell"
    assert tell("ready", large).outcome == "does not hold"

    asked = []

    def intervene(*args, **options):
        asked.append((*args, options))
        return large.effects

    monkeypatch.setattr(geometry, "check_claims", lambda measured: ())
    monkeypatch.setattr(geometry, "intervene", intervene)
    printed = run_script(claims.panel.python()).splitlines()
    assert asked == [
        (session.model.source.text, "sample", list(NEEDED), {"length": 24, "texts_at_most": 40})
    ]
    outcomes = [one.outcome for one in claims.panel.result.verdicts if one.claim in EFFECT_CLAIMS]
    assert [line.split("\t")[0] for line in printed] == outcomes
    rows = csv.DictReader(comma_separated(claims.panel.result.verdicts).splitlines())
    helix = next(row for row in rows if row["id"] == "effects.helix")
    assert float(helix["interval_low"]) <= 0.3 <= float(helix["interval_high"])
    session.answers = MappingProxyType({**at_first})


def test_saved_ledger_and_numbers_have_all_claims(claims, tmp_path, monkeypatch):
    claims.press("holds")
    verdicts = claims.panel.result.verdicts
    path = claims.save(monkeypatch, "Save ledger…", tmp_path / "ledger.csv")
    assert path.read_text("utf-8") == comma_separated(verdicts)
    path = claims.save(monkeypatch, "Save ledger…", tmp_path / "ledger.md")
    assert counts(verdicts) in path.read_text("utf-8")
    claims.save(monkeypatch, "Save ledger…", tmp_path / "absent" / "ledger.md")
    assert "cannot be written" in claims.session.notice.text
    numbers = claims.panel.numbers()
    assert list(numbers["claim"]) == [claim.id for claim in EVERY]
    known = [verdict.value is not None for verdict in verdicts]
    assert (~np.isnan(numbers["measured"])).tolist() == known


def test_script_prints_the_ledger_and_theme_of_marks(claims):
    printed = run_script(claims.panel.python()).splitlines()
    alone = claims.panel.result.verdicts[: len(CLAIMS)]
    for line, verdict in zip(printed, alone, strict=True):
        how, value, null, p, corrected, statement = line.split("\t")
        assert (p == "None") == (corrected == "None") == (verdict.p is None)
        assert statement == verdict.claim.statement
        assert how == verdict.outcome
        assert (null == "None") == (verdict.null is None)
        if verdict.value is None:
            assert value == "None"
        else:
            assert float(value) == pytest.approx(verdict.value, rel=1e-9)

    def colour():
        image = claims.table.rows.marks["does not hold"].pixmap(12, 12).toImage()
        return image.pixelColor(image.width() // 2, image.height() // 2).name()

    claims.panel.set_theme(LIGHT)
    assert colour() == LIGHT.warning
    claims.panel.set_theme(DARK)
    assert colour() == DARK.warning


@pytest.mark.slow
def test_choosing_a_claim_opens_its_panel(windowed, qtbot):
    window, table = windowed.window, windowed.table
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.viewport.interactor.setFocus()
    table.setFocus(Qt.FocusReason.TabFocusReason)
    assert table.marked.claim.id == "pca.three"
    spot = table.visualRect(table.rows.index(1, CLAIM)).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.RightButton, pos=spot)
    assert in_front(window) == "Claims"
    window.docks["positions"].close()
    click_row(table, "pca.three")
    qtbot.waitUntil(window.docks["positions"].isVisible)
    assert in_front(window) == "Claims"
    for claim, title in (("norms.stable", "Norms"), ("directions.sparse", "Directions")):
        window.bring("claims")
        click_row(table, claim)
        assert in_front(window) == title
    window.bring("claims")
    table.setFocus()
    table.selectRow(row_of(table, ids(table)[ids(table).index("norms.stable") - 1]))
    QTest.keyClick(table, Qt.Key.Key_Down)
    QTest.keyClick(table, Qt.Key.Key_Return)
    assert in_front(window) == "Norms"
    table.setFocus()
    before = table.currentIndex().row()
    QTest.keyClick(table, Qt.Key.Key_P)
    assert table.currentIndex().row() == before
    QTest.keyClick(table, Qt.Key.Key_1)
    assert in_front(window) == "Norms"
    for claim in EVERY:
        window.bring("claims")
        table.chosen.emit(claim)
        panel = panel_of(claim)
        if panel != "positions":
            assert in_front(window) == window.docks[panel].windowTitle()
        if claim.id == "overlap.W_Q_P.folded":
            form = window.panels["overlaps"].form
            assert form.rows.subject == Subject("W_Q", fold_ln=True)
            assert form.columns.subject == Subject("P")
        if claim.id == "layernorm.constant":
            assert window.panels["layernorm"].choices.version == "constant_norm"
        if claim in EFFECT_CLAIMS:
            assert window.panels["effects"].choices.change == claim.change
    shown = {one for entry in PANELS.values() for one in entry.spec.claims}
    assert shown <= {claim.id for claim in EVERY}


@pytest.fixture
def measured_here(monkeypatch):
    """What each change costs, in place of forward passes; "into E" is impossible."""
    costs = {"top 0": 1.2, "fitted helix": 0.07, "scrambled norms": 0.7, "without position 0": 0.2}
    common = 1 + 0.1 * np.random.default_rng(0).standard_normal(40)

    def here(measure, **request):
        assert measure == "effects"
        yield WorkerProgress("as it is", 0, 1, asdict(Effects(4.0, (Effect("top 0", 1, 1, 1),), 2)))
        made = {}
        for name in request["changes"]:
            cost = costs.get(name, 0.0)
            made[name] = Effect(name, *[cost] * 3, by_window=tuple((cost * common).tolist()))
        nothing = Control("norms kept", *3 * (0.0,), 3 * (0.0,), by_window=len(common) * (0.0,))
        made["scrambled norms"] = replace(made["scrambled norms"], controls=(nothing,))
        made["into E"] = Effect("into E", *[np.nan] * 3, "This model has no token embeddings.")
        files = tuple(f"{number % 10}.txt" for number in range(len(common)))
        return asdict(Effects(4.0, tuple(made.values()), len(common), files=files))

    monkeypatch.setattr(module, "run_in_subprocess", here)
    return costs


@pytest.mark.slow
def test_measured_effects_decide_what_needs_forward_passes(
    windowed, measured_here, qtbot, wait_until_idle, application, helix_table
):
    window, panel = windowed.window, windowed.panel

    def told():
        return {one.claim.id: one for one in panel.result.verdicts if one.claim in EFFECT_CLAIMS}

    assert {one.why_null for one in told().values()} == {NEEDS}
    before = {one.claim.id: one for one in panel.result.verdicts}
    click_row(windowed.table, "effects.helix")
    assert in_front(window) == "Effects"
    effects = window.panels["effects"]
    wait_until_idle(application)
    assert effects.choices.change == "fitted helix"
    QTest.mouseClick(effects.content.measure, LEFT)
    wait_until_idle(application)
    assert effects.result.effects.windows == 40
    window.bring("claims")
    wait_until_idle(application)
    outcomes = {name.removeprefix("effects."): one.outcome for name, one in told().items()}
    assert all(outcomes.pop(name) == "holds" for name in ("three", "helix", "norms"))
    assert outcomes == {"orthogonal": "not applicable", "first": "does not hold"}
    assert told()["effects.first"].value == pytest.approx(0.2 / 1.2)
    # Nothing else is checked again.
    now = {one.claim.id: one for one in panel.result.verdicts}
    assert now["pca.three"] is before["pca.three"]
    row = row_of(windowed.table, "effects.helix")
    below = windowed.table.rows.index(row, CLAIM).data(Qt.ItemDataRole.UserRole)
    assert "95 % of resampled texts: 0.058 to 0.058" in below
    assert "resampled texts" in windowed.table.rows.index(row, 0).data(Qt.ItemDataRole.ToolTipRole)
    # With other numbers of other windows.
    measured_here["fitted helix"] = 0.9
    window.bring("effects")
    effects.configure(windows=41)
    QTest.mouseClick(effects.content.measure, LEFT)
    wait_until_idle(application)
    window.bring("claims")
    wait_until_idle(application)
    assert told()["effects.helix"].outcome == "does not hold"
    script = panel.python()
    assert "verdicts += check_effects(effects)" in script
    compile(script, "script", "exec")
    # Another model's are not measured.
    application.controller.open(str(helix_table))
    wait_until_idle(application)
    assert panel.session.model.n_positions == 200
    assert {one.why_null for one in told().values()} == {NEEDS}


EVERY = (*CLAIMS, *EFFECT_CLAIMS, *GROUP_CLAIMS)


@pytest.fixture
def half_way(application, monkeypatch, qtbot, wait_until_idle):
    """The window while it checks the fourth claim, and what lets it go on."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(claims, measured):
        for done in range(len(claims) + 1):
            held = [Verdict(claim, 1.0, "holds") for claim in claims[:done]]
            verdicts = (*held, *map(Verdict, claims[done:]))
            yield Checking(done / len(claims), f"Claim {done + 1} of {len(claims)}", verdicts)
            if done == 3:
                begun.set()
                go_on.wait(20)

    monkeypatch.setattr(claims_spec, "check_in_steps", slow)
    monkeypatch.setattr("gui.services.questions.REPORT_INTERVAL_S", 0.0)
    app = application
    app.window.bring("claims")
    qtbot.waitUntil(lambda: begun.is_set() and app.window.panels["claims"].strip.isVisible())
    panel = app.window.panels["claims"]
    qtbot.waitUntil(lambda: panel.result is not None)
    yield SimpleNamespace(app=app, window=app.window, panel=panel, go_on=go_on)
    go_on.set()
    wait_until_idle(app)


@pytest.mark.slow
def test_lines_fill_in_while_others_are_checked(half_way, wait_until_idle):
    panel = half_way.panel
    table = panel.content.table

    def column(number):
        return [table.rows.index(row_of(table, claim.id), number).data() for claim in EVERY]

    assert ids(table) == grouped(map(Verdict, EVERY))
    alone = ["undetermined"] * len(EFFECT_CLAIMS + GROUP_CLAIMS)
    checked = ["holds" if claim in CLAIMS[:3] else "…" for claim in CLAIMS]
    assert column(OUTCOME) == checked + alone
    assert f"{len(CLAIMS) - 3} to be checked" in panel.header.caption.text()
    assert not panel.header.more.isEnabled()
    QTest.mouseClick(panel.controls.widgets["outcome"].buttons["holds"], LEFT)
    assert ids(table) == [claim.id for claim in CLAIMS[:3]]
    QTest.mouseClick(panel.controls.widgets["outcome"].buttons["all"], LEFT)
    table.selectRow(row_of(table, CLAIMS[30].id))
    table.verticalScrollBar().setValue(200)
    half_way.go_on.set()
    wait_until_idle(half_way.app)
    assert column(OUTCOME) == ["holds"] * len(CLAIMS) + alone
    assert "to be checked" not in panel.header.caption.text()
    # What one looks at stays where it is.
    assert table.verticalScrollBar().value() == 200
    assert table.marked.claim is CLAIMS[30]


@pytest.mark.slow
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
    assert panel.strip.message.isVisible()
    assert panel.strip.message.text() == CANCELLED
    assert ids(panel.content.table) == grouped(map(Verdict, EVERY))  # what was found stays
    assert half_way.app.session.selection == (3, 5)
    half_way.go_on.set()
    QTest.mouseClick(panel.strip.again, LEFT)
    wait_until_idle(half_way.app)
    assert all(word(verdict) == "holds" for verdict in panel.result.verdicts[: len(CLAIMS)])


def test_escape_in_a_panel_that_floats_gives_up_its_own(half_way, qtbot):
    dock = half_way.window.docks["claims"]
    dock.setFloating(True)
    qtbot.waitUntil(lambda: half_way.panel.strip.isVisible())
    half_way.panel.content.table.setFocus()
    QTest.keyClick(half_way.panel.content.table, Qt.Key.Key_Escape)
    assert half_way.panel.strip.message.text() == CANCELLED
