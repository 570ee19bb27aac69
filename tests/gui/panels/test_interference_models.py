"""The interference page with other models, in other sizes; and what can be taken away of it."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtWidgets import QApplication

from geometry.measures.interference import MEASURES, interference
from geometry.models.sources import open_source
from gui.panels import kit
from gui.panels.layernorm.question import InterferenceOf, Typed
from gui.panels.table import PANELS
from gui.services.questions import QuestionContext, resolve
from gui.style.theme import DARK, LIGHT
from tests.gui.interference_stage import (
    ADAM,
    HELLO,
    give_tokens,
)
from tests.scripts import run_script


@pytest.fixture
def stage(at_two_sums, gpt2_with_tokens):
    return at_two_sums(gpt2_with_tokens)


# ---- other models -----------------------------------------------------------------------------


def test_without_a_tokenizer_numbers_do(at_two_sums, small_gpt2):
    stage = at_two_sums(small_gpt2())
    form = stage.form
    (a, _), (b, _) = stage.sums
    assert a != b
    assert stage.typed[0][0] == f"#{a}"
    assert form.one.meant.text() == f"token {a}"
    stage.type_token(form.one, "17")
    assert stage.sums[0][0] == 17
    stage.type_token(form.one, "cat")
    assert form.why.text() == "There is no tokenizer: type a number, 0–89."


def test_a_tokenizer_that_cannot_be_read_leaves_the_numbers(at_two_sums, write_gpt2):
    folder = give_tokens(write_gpt2())
    (folder / "tokenizer.json").write_text("{")
    stage = at_two_sums(folder)
    form = stage.form
    stage.type_token(form.one, "hello")
    assert "cannot be read" in form.why.text()
    assert form.why.text().endswith("A number does: #0–#6.")
    stage.type_token(form.one, "#2")
    assert stage.sums[0][0] == HELLO


def test_what_cannot_be_added_is_said(stage, write_gpt2):
    for name, width, words in (
        ("odd", 12, "has tokens of 12 dimensions and positions of 24"),
        ("bare", 0, "o token embeddings in this checkpoint"),
    ):
        source = write_gpt2(name)
        stage.open(give_tokens(source, width=width) if width else source)
        stage.turn_to("interference")
        assert words in stage.panel.words.message.text()
        assert stage.panel.result is None


def test_another_table_keeps_what_was_typed_within_its_positions(stage, write_gpt2, helix):
    form = stage.form
    stage.type_token(form.one, "adam")
    stage.type_position(form.one, "150")
    stage.open(give_tokens(write_gpt2("short", helix(40))))
    assert stage.sums[0] == (ADAM, 39)
    assert stage.typed[0] == ("adam", 39)


def test_a_table_of_one_position_has_examples_too(at_two_sums, write_gpt2, helix):
    stage = at_two_sums(give_tokens(write_gpt2("one", helix(40)[5:6])))
    assert [position for _, position in stage.sums] == [0, 0]
    stage.choose_example("one token")
    assert stage.cells[0][1] == "0.000"


# ---- how it looks, and taking it away ---------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "table", "beside"),
    [
        ((1100, 220), True, True),
        ((700, 260), True, True),
        ((640, 220), False, True),
        ((420, 500), True, False),
        ((420, 300), False, False),
    ],
)
def test_a_small_panel_leaves_the_table_out(stage, size, table, beside):
    panel, sums = stage.panel, stage.panel.content.sums
    panel.resize(*size)
    QApplication.processEvents()
    assert sums.table.isVisible() == table
    form, plot = stage.form.geometry(), sums.plot.geometry()
    assert (plot.left() >= form.right()) == beside
    assert plot.width() >= 150
    if table:
        assert sums.table.geometry().bottom() < sums.parts.geometry().top()
        numbers = sums.table.parentWidget().geometry()
        assert not numbers.intersects(form)
        assert not numbers.intersects(plot)


def test_numbers_that_there_are_not_leave_their_room_to_the_reason(stage):
    stage.panel.resize(700, 260)
    stage.type_token(stage.form.one, "hello my")
    assert not stage.panel.content.sums.table.isVisible()
    stage.type_token(stage.form.one, "my")
    assert stage.panel.content.sums.table.isVisible()


def test_it_takes_the_colours_of_the_theme(stage):
    stage.panel.set_theme(DARK)
    bars, mark = stage.panel.content.sums.plot.curves
    assert (bars.color, mark.color) == (DARK.muted, DARK.text)
    stage.panel.set_theme(LIGHT)
    assert stage.panel.content.sums.plot.curves[1].color == LIGHT.text


def test_another_panel_can_refer_to_two_sums(stage):
    stage.panel.configure(page="interference", sums=[["#5", 10], ["#1", 20]], measure="cosine")
    assert stage.sums == ((5, 10), (1, 20))
    assert stage.typed[0] == ("#5", 10)
    assert stage.panel.content.sums.plot.x_axis.title == "cosine of two sums"
    stage.panel.configure(page="interference", example="one token")
    assert stage.panel.content.examples.currentData() == "one token"
    stage.panel.configure(version="constant_norm")
    assert stage.panel.choices.page == "errors"


def test_the_copied_python_prints_the_same(stage):
    stage.choose_example("most alike")
    found = stage.panel.result.found
    for line, measure in zip(run_script(stage.python()).splitlines(), MEASURES, strict=True):
        name, value, closer = line.split()
        assert name == measure
        assert float(value) == pytest.approx(found.of(measure))
        assert float(closer) == found.closer_than(measure)
    stage.type_token(stage.form.one, "hello my")
    printed = run_script(stage.python()).splitlines()
    assert [line.split()[0] for line in printed] == list(MEASURES)
    median = np.median(found.among.likeness.distance)
    assert float(printed[0].split()[2]) == pytest.approx(median)


def test_numbers_are_the_pairs_and_all_random_ones(stage, monkeypatch, tmp_path):
    path = stage.save(monkeypatch, "Save numbers…", tmp_path / "sums.npz")
    found = stage.panel.result.found
    with np.load(path) as saved:
        assert saved["token"].tolist() == [found.one[0], found.other[0]]
        assert saved["value"].tolist() == [found.of(measure) for measure in MEASURES]
        assert len(saved["random_cosine"]) == len(saved["random_token_2"]) == 4096
    first = interference(
        stage.session.model.W_E, stage.session.model.W_pos,
        *[(int(saved_t), int(saved_p)) for saved_t, saved_p in
          zip(found.among.tokens[0], found.among.positions[0], strict=True)],
    )  # fmt: skip
    assert first.distance == pytest.approx(found.among.likeness.distance[0])


@pytest.mark.parametrize("cosine", [False, True])
def test_the_figure_has_both_before_and_after_layernorm(minilm_folder, cosine):
    asked = InterferenceOf(Typed("cat", 3), Typed("apple", 6))
    result = resolve(asked, QuestionContext(open_source(minilm_folder)))
    model, spec = open_source(minilm_folder), PANELS["layernorm"].spec
    choices = replace(spec.defaults, page="interference", measure=MEASURES[cosine])
    view = kit.View(kit.Scope(model, (1, 99), (1, 2, 3)), choices, asked, result, name="MiniLM")
    figure = spec.figure(view)
    FigureCanvasAgg(figure).draw()
    measures = MEASURES[1::2] if cosine else MEASURES[::2]
    for axes, measure in zip(figure.axes, measures, strict=True):
        _, mark = axes.lines
        assert mark.get_xdata()[0] == result.found.of(measure)
        assert ("LayerNorm" in axes.get_xlabel()) == measure.startswith("layernorm")
        assert "closer than" in axes.get_xlabel()


def test_the_window_saves_the_figure_of_the_page(stage, monkeypatch, tmp_path):
    path = stage.save(monkeypatch, "Save figure…", tmp_path / "sums.svg")
    text = path.read_text("utf-8")
    assert "Distance after LayerNorm" in text
    assert "random pairs of all rows" in text
