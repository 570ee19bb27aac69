"""What panels give away with compared models: figures, numbers, Python."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.panels.kit import all_numbers
from gui.services.compared_curves import compared_curves, unique_names
from gui.state.session import ComparedModel, Session
from tests.gui.compared_stage import Beside
from tests.scripts import run_script

LEFT = Qt.MouseButton.LeftButton
SPECTRA = "P_singular_value"


@pytest.fixture
def beside(qtbot, tmp_path):
    made = []

    def make(panel):
        made.append(Beside(qtbot, panel, tmp_path))
        made[-1].add_both()
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("name", ["layernorm", "kernels"])
def test_a_figure_of_one_model_names_none(beside, name):
    made = beside(name)
    made.others.remove(1)
    made.others.remove(2)
    figure = made.panel.figure()()
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    names = [text.get_text() for legend in legends for text in legend.texts]
    assert not any(one.startswith(("long", "short", "open")) for one in names)


def test_numbers_have_their_columns_after_the_open_models(beside, tmp_path, monkeypatch):
    made = beside("layernorm")
    QTest.mouseClick(made.chips[2], LEFT)
    numbers = np.load(made.stage.save(monkeypatch, "Save numbers…", tmp_path / "numbers.npz"))
    line, column = made.lines("Error by position")["long"], "orthogonal_median"
    np.testing.assert_allclose(numbers[f"long: {column}"], line.y)
    assert len(numbers[column]) != len(line.y)
    assert not any(name.startswith("short") for name in numbers)


def test_a_table_has_columns_of_unlike_length(beside, tmp_path, monkeypatch):
    made = beside("spectra")
    path = made.stage.save(monkeypatch, "Save numbers…", tmp_path / "numbers.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    values = [float(row[f"long: {SPECTRA}"]) for row in rows if row[f"long: {SPECTRA}"]]
    drawn = made.panel.view().others[0].result.found[0].singular_values
    np.testing.assert_allclose(values, drawn, rtol=1e-6)
    assert sum(bool(row[SPECTRA]) for row in rows) == 16


def test_numbers_of_models_of_one_name_are_kept_apart():
    models = [("a", {"x": np.full(n, n), "y": np.full(n, -n)}) for n in (2, 3, 4)]
    models.append(("b", {"x": np.zeros(5)}))
    others = [SimpleNamespace(name=name, numbers=columns) for name, columns in models]
    view = SimpleNamespace(numbers={"x": np.zeros(1)}, others=others)
    columns = all_numbers(SimpleNamespace(numbers=lambda one: one.numbers), view)
    assert {name: len(values) for name, values in columns.items()} == {
        "x": 1, "a: x": 2, "a: y": 2, "a (2): x": 3, "a (2): y": 3, "a (3): x": 4, "a (3): y": 4,
        "b: x": 5,
    }  # fmt: skip
    assert columns["a (3): y"][0] == -4


@pytest.mark.parametrize(
    ("names", "apart"),
    [
        ("", []),
        ("a b", ["a", "b"]),
        ("a b a a b", ["a", "b", "a (2)", "a (3)", "b (2)"]),
    ],
)
def test_what_is_called_the_same_gets_numbers(names, apart):
    assert unique_names(names.split()) == apart


def test_a_number_that_a_model_has_by_itself_is_no_others():
    found = unique_names(["a", "a (2)", "a", "a (2)"])
    assert found[:2] == ["a", "a (2)"]
    assert len(set(found)) == 4


def test_models_of_one_name_are_told_by_their_ranges_and_then_by_numbers():
    session = Session()

    def named(key, name, positions):
        other = Session()
        other.change(model=SimpleNamespace(name=name), positions=positions)
        return ComparedModel(key, name, name, other)

    session.compared = (
        named(1, "gpt2", (1, 99)), named(2, "opt", (1, 99)), named(3, "gpt2", (1, 99)),
        named(4, "gpt2", (0, 9)),
    )  # fmt: skip
    names = [curve.name for curve in compared_curves(session, "", lambda _: None)]
    assert names == ["gpt2 1–99", "opt", "gpt2 1–99 (2)", "gpt2 0–9"]


@pytest.mark.parametrize("name", ["layernorm", "lookback"])
def test_python_prints_each_models(beside, name):
    made = beside(name)
    QTest.mouseClick(made.chips[2], LEFT)
    script = made.stage.python()
    assert str(made.sources[0]) in script
    assert "# Beside it, long:" in script
    assert str(made.sources[1]) not in script
    both, alone = run_script(script), run_script(script.partition("# Beside it")[0])
    assert both.startswith(alone)
    assert len(both) > len(alone)


def test_what_python_prints_of_another_model_is_what_is_drawn(beside):
    made = beside("lookback")
    script = made.stage.python().split("# Beside it, ")[1]
    printed = run_script(f"# {script}")
    line = made.lines("R²")["long"]
    r2 = line.y[np.flatnonzero(line.x == made.panel.controls.number.value)[0]]
    assert float(printed.split()[1]) == pytest.approx(r2)
