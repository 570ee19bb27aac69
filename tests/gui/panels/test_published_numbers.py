"""Published numbers as the last part of the claims panel, on paper, and in what is copied."""

import pytest
from PySide6.QtCore import Qt

import geometry
from geometry.claims.measurements import Measurements
from geometry.claims.published import PUBLISHED, Compared, compare_published
from geometry.models.sources.opening import open_model
from gui.panels.claims.published import OURS, QUANTITY, SOURCE, WITHIN
from gui.panels.claims.published import PUBLISHED as GIVEN
from gui.panels.claims.words import ledger_figure, markdown, published_cells
from gui.style.theme import DARK, LIGHT
from tests.scripts import run_script

Role = Qt.ItemDataRole


@pytest.fixture(scope="module")
def sinusoid():
    return open_model("sinusoidal:512x768")


@pytest.fixture(scope="module")
def compared(sinusoid):
    return compare_published(Measurements(sinusoid))


AS_PUBLISHED = tuple(Compared(one, one.value) for one in PUBLISHED)


@pytest.fixture
def quick(monkeypatch):
    """No claim, so that only what is published takes time."""
    monkeypatch.setattr("gui.panels.claims.spec.all_claims", tuple)


@pytest.fixture
def claims(quick, stage_of, sinusoid):
    return stage_of("claims", sinusoid.source, size=(1000, 320))


def texts(table, row):
    return [table.rows.index(row, column).data() for column in range(5)]


@pytest.mark.slow
def test_they_are_the_last_part_of_the_panel(claims, compared):
    table = claims.panel.content.published
    assert table.isVisible()
    assert table.rows.compared == compared
    assert texts(table, 0) == list(published_cells(compared[0]))
    assert texts(table, 0)[QUANTITY].startswith("Position read linearly")
    assert texts(table, 0)[OURS] == "0.00 positions"
    assert texts(table, 0)[WITHIN] == "✓ within ±0.005"
    assert texts(table, 1)[GIVEN] == "5.08 %"
    assert texts(table, 1)[OURS] == f"{compared[1].ours:.2f} %"
    assert texts(table, 1)[WITHIN] == "✓ within ±1.94"
    tip = table.rows.index(1, OURS).data(Role.ToolTipRole)
    assert "The paper draws 512 random pairs once" in tip
    assert "arXiv:2010.04903" in table.rows.index(1, OURS).data(Role.AccessibleTextRole)
    assert table.geometry().top() >= claims.panel.content.pages.geometry().bottom()
    # All rows are seen without scrolling.
    last = table.visualRect(table.rows.index(1, QUANTITY))
    assert table.viewport().rect().contains(last)


@pytest.mark.slow
def test_a_narrow_panel_keeps_the_numbers(claims):
    table = claims.panel.content.published
    claims.panel.resize(480, 320)
    hidden = [table.isColumnHidden(column) for column in range(5)]
    assert hidden == [False, False, False, True, True]
    claims.panel.resize(1000, 320)
    assert not table.isColumnHidden(SOURCE)


@pytest.mark.slow
def test_outcomes_have_the_themes_colours(claims, compared):
    table = claims.panel.content.published
    off = Compared(compared[1].published, 90.0)
    for theme in (DARK, LIGHT):
        claims.panel.content.set_theme(theme)
        table.show_compared((compared[1], off))
        colors = [table.rows.index(row, WITHIN).data(Role.ForegroundRole).name() for row in (0, 1)]
        assert colors == [theme.good, theme.warning]
    assert texts(table, 1)[WITHIN] == "✗ not within ±1.94"


def test_models_of_no_paper_have_no_such_part(quick, stage_of, tiny_gpt2):
    claims = stage_of("claims", tiny_gpt2, size=(1000, 320))
    assert claims.panel.content.published.isHidden()


def test_they_are_in_what_is_saved_and_printed():
    saved = markdown("a model", (), AS_PUBLISHED)
    assert "## Published numbers" in saved
    other = markdown("a model", (), [Compared(one, 1.0) for one in PUBLISHED])
    for one in PUBLISHED:
        assert f"| {one.value:.{one.decimals}f}" in other
    assert "Published" not in markdown("a model", ())
    texts = ledger_figure("a model", (), LIGHT, AS_PUBLISHED).texts
    printed = [text.get_text() for text in texts]
    assert {"Published numbers", "5.08 %", "✓ within ±1.94"} <= set(printed)
    assert any(text.endswith("arXiv:2010.04903") for text in printed)
    assert min(text.get_window_extent().y0 for text in texts) >= 0
    plain = ledger_figure("a model", ())
    assert "Published numbers" not in [text.get_text() for text in plain.texts]


@pytest.mark.slow
def test_the_copied_script_prints_them(claims, compared, monkeypatch):
    monkeypatch.setattr(geometry, "check_claims", lambda measured: [])
    printed = run_script(claims.panel.python()).splitlines()
    assert [line.split("\t")[1:] for line in printed] == [
        [str(one.published.value), str(one.ours), str(one.within)] for one in compared
    ]
