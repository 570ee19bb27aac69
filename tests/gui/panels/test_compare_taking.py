"""What can be taken away of the table of models: files, the figure, the Python that makes it."""

import csv
import json

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from geometry.claims.scalar_results import QUANTITIES, scalar_results
from gui.panels.compare.words import (
    CHARACTERS,
    NO_NUMBER,
    compare_figure,
    in_order,
    latex,
    markdown,
    named,
    numbers,
    written,
)
from tests.gui.compare_stage import CompareStage
from tests.scripts import run_script


@pytest.fixture
def two(stage_of, helix_table, write_table, helix):
    """The small helix open, and beside it a short part of another that lacks some numbers."""
    stage = stage_of("compare", helix_table, kind=CompareStage)
    other = stage.beside(write_table(helix(120, 16, 2), "other_%"), "other_%")
    other.positions = (4, 6)
    return stage


def of(session):
    found = scalar_results(session.model, session.positions, session.components)
    return {one.quantity.key: one for one in found}


def lines(stage):
    return stage.table.rows.lines


def test_a_csv_table_has_all_values_in_full_precision(two, tmp_path, monkeypatch):
    path = two.save(monkeypatch, "Save table…", tmp_path / "table.csv")
    with path.open(encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    for row, session in ((first, two.session), (second, two.session.compared[0].session)):
        for key, one in of(session).items():
            expected = "" if one.value is None else str(one.value)
            assert row[key] == expected, key
        assert (int(row["first_position"]), int(row["last_position"])) == session.positions
        assert row["components"] == "1 2 3"
    assert second["loops"] == ""


def test_json_says_what_each_number_is_and_null_where_there_is_none(two, tmp_path, monkeypatch):
    path = two.save(monkeypatch, "Save table…", tmp_path / "table.json")
    read = json.loads(path.read_text("utf-8"))
    assert [model["model"] for model in read["models"]] == ["helix", "other_%"]
    assert read["models"][0]["turns"] == of(two.session)["turns"].value
    assert read["models"][1]["turns"] is None
    assert list(read["quantities"]) == [quantity.key for quantity in QUANTITIES]


def test_markdown_has_the_models_side_by_side(two):
    text = markdown(lines(two)).splitlines()
    assert text[0] == "|  | helix | other_% |"
    assert text[1] == "|---|---:|---:|"
    assert text[2] == "| Range | 1–199 | 4–6 |"
    found, other = of(two.session), of(two.session.compared[0].session)
    for line, quantity in zip(text[3:], QUANTITIES, strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[0] == named(quantity)
        assert cells[1:] == [written(found[quantity.key]), written(other[quantity.key])]
    assert any(line.endswith(f"| {NO_NUMBER} |") for line in text)


def test_latex_escapes_names_and_closes_every_row(two):
    text = latex(lines(two)).splitlines()
    assert text[0] == r"\begin{tabular}{lrr}"
    assert text[2] == r" & helix & other\_\% \\"
    body = [line for line in text[2:-2] if line != r"\hline"]
    assert len(body) == len(QUANTITIES) + 2
    assert all(line.count(" & ") == 2 and line.endswith(r"\\") for line in body)
    assert "".join(text).isascii()


def test_numbers_go_to_npz(two, tmp_path, monkeypatch):
    path = two.save(monkeypatch, "Save numbers…", tmp_path / "numbers.npz")
    with np.load(path) as saved:
        assert saved["model"].tolist() == ["helix", "other_%"]
        assert saved["components"].tolist() == [[1, 2, 3], [1, 2, 3]]
        assert saved["last_position"].tolist() == [199, 6]
        assert saved["turns"][0] == of(two.session)["turns"].value
        assert np.isnan(saved["turns"][1])
        assert saved["verdict"].tolist() == [of(two.session)["verdict"].value, ""]


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


def test_the_figure_has_every_number_within_its_edges(two):
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


def test_long_names_are_cut_in_the_figure(two, write_table):
    two.open(write_table(name="a-model-with-a-very-long-name-indeed"))
    figure = compare_figure(lines(two))
    (name,) = [text.get_text() for text in figure.texts if text.get_text().startswith("…")]
    assert len(name) == CHARACTERS
    assert name.endswith("long-name-indeed")


def test_the_copied_python_prints_the_same(two):
    two.session.components = (1, 2, 4)
    printed = run_script(two.python()).splitlines()
    assert printed[0] == "helix"
    assert printed[len(QUANTITIES) + 1] == "other_%"
    told = dict(line.split("\t")[1:3] for line in printed[1 : len(QUANTITIES) + 1])
    for one in of(two.session).values():
        assert told[one.quantity.title] == str(one.value), one.quantity.title
