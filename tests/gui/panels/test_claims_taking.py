"""What can be taken away of the ledger: files, numbers, Python."""

import numpy as np
import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

from geometry.claims.claims import CLAIMS
from gui.panels.claims.words import comma_separated, counts, outcome
from tests.gui.claims_stage import LEFT, show_claims
from tests.scripts import run_script


@pytest.fixture
def claims(start_application, write_gpt2, wait_until_idle):
    """The panel in the window, answered about a tiny GPT-2 of nothing but positions."""
    return show_claims(start_application(write_gpt2()), wait_until_idle)


def choose_file(monkeypatch, path, kind=None):
    def accept(dialog):
        if kind is not None:
            dialog.selectNameFilter(kind)
            dialog.filterSelected.emit(kind)
        dialog.selectFile(str(path))
        return QFileDialog.DialogCode.Accepted

    monkeypatch.setattr(QFileDialog, "exec", accept)


@pytest.mark.parametrize(("ending", "kind"), [("md", None), ("csv", "CSV table (*.csv)")])
def test_the_ledger_is_saved(claims, tmp_path, monkeypatch, wait_until_idle, ending, kind):
    path = tmp_path / f"ledger.{ending}"
    choose_file(monkeypatch, path, kind)
    action = next(a for a in claims.panel.menu().actions() if a.text() == "Save ledger…")
    action.trigger()
    wait_until_idle(claims.app)
    verdicts = claims.panel.result.verdicts
    text = path.read_text("utf-8")
    assert text == comma_separated(verdicts) if ending == "csv" else counts(verdicts) in text
    assert str(path) in claims.app.session.status


def test_a_ledger_that_cannot_be_written_says_why(claims, tmp_path, monkeypatch, wait_until_idle):
    choose_file(monkeypatch, tmp_path / "absent" / "ledger.md")
    claims.panel._save_text()
    wait_until_idle(claims.app)
    assert "cannot be written" in claims.app.session.notice.text


def test_the_menu_has_the_ledger_and_the_usual(claims):
    assert [action.text() for action in claims.panel.menu().actions()] == [
        "Save ledger…", "Save figure…", "Save numbers…", "Copy figure", "Copy as Python"
    ]  # fmt: skip


def test_numbers_are_the_whole_ledger(claims):
    QTest.mouseClick(claims.panel.controls.widgets["outcome"].buttons["holds"], LEFT)
    numbers = claims.panel.numbers()
    assert list(numbers["claim"]) == [claim.id for claim in CLAIMS]
    holds = [v.value is not None for v in claims.panel.result.verdicts]
    assert (~np.isnan(numbers["measured"])).tolist() == holds


def test_the_copied_python_prints_the_ledger(claims):
    printed = run_script(claims.panel.python()).splitlines()
    assert len(printed) == len(CLAIMS)
    for line, verdict in zip(printed, claims.panel.result.verdicts, strict=True):
        how, value, statement = line.split("\t")
        assert statement == verdict.claim.statement
        assert (
            how
            == {"holds": "holds", "fails": "does not hold", "unknown": "cannot tell"}[
                outcome(verdict)
            ]
        )
        if verdict.value is None:
            assert value == "None"
        else:
            assert float(value) == pytest.approx(verdict.value, rel=1e-9)
