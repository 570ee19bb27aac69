"""The interference page of the LayerNorm panel: typing, clicks, other models, what is saved."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from geometry.measures.interference import MEASURES, interference, random_pairs
from geometry.models.sources.opening import open_model
from gui.panels.kit.views import Scope, View
from gui.panels.layernorm.one_token import read_token, write_token
from gui.panels.layernorm.question import ExampleOf, InterferenceOf, Typed
from gui.panels.layernorm.spec import SUMS_HEADLINE, LayerNormPanel
from gui.panels.table import PANELS
from gui.services.questions import QuestionContext, resolve
from gui.style.theme import DARK, LIGHT
from tests.gui.interference_stage import ADAM, HELLO, N_TOKENS, NAME, give_tokens
from tests.gui.result_stage import LEFT, hover
from tests.scripts import run_script


@pytest.fixture
def stage(at_two_sums, gpt2_with_tokens):
    return at_two_sums(gpt2_with_tokens)


def test_first_two_tokens_and_controls_of_pages(stage):
    (a, i), (b, j) = stage.sums
    assert a != b
    assert (i, j) == (3, 6)
    panel = stage.panel
    assert panel.content.examples.currentData() == "two tokens"
    assert panel.header.formula.text() == SUMS_HEADLINE[0]
    assert panel.controls.widgets["version"].isHidden()
    assert "could not distinguish" in panel.header.help.toolTip()
    stage.turn_to("errors")
    assert panel.header.formula.text() == LayerNormPanel.formula
    assert not panel.controls.widgets["version"].isHidden()
    assert panel.content.errors.isVisible()
    assert panel.result.n_tokens == N_TOKENS
    stage.turn_to("interference")
    assert panel.content.sums.isVisible()


def test_the_articles_words_are_taken_where_they_are_tokens(minilm_folder):
    model = open_model(minilm_folder)
    found = resolve(ExampleOf("two tokens"), QuestionContext(model))
    assert found.first.typed == Typed("cat", 3)
    assert (found.second.token.text, found.second.typed.position) == ("apple", 6)


def test_the_numbers_are_those_of_the_two_sums(stage):
    form = stage.form
    stage.type_token(form.first, "hello")
    stage.type_token(form.second, "adam")
    stage.type_position(form.first, "17")
    stage.type_position(form.second, "120")
    assert stage.sums == ((HELLO, 17), (ADAM, 120))
    model = stage.session.model
    x, y = (model.W_E[t].astype(float) + model.W_pos[i] for t, i in ((HELLO, 17), (ADAM, 120)))
    distance, cosine = stage.cells[:2]
    apart = np.linalg.norm(x - y)
    assert distance[1] == f"{apart:.3f}"
    wanted = f"{x @ y / np.linalg.norm(x) / np.linalg.norm(y):.3f}"
    assert cosine[1].replace("\N{MINUS SIGN}", "-") == wanted
    pairs = random_pairs(model.W_E, model.W_pos)
    rank = 100 * np.mean(pairs.likeness.distance > apart)
    assert distance[2] == f"{rank:.1f}\N{NO-BREAK SPACE}%"
    said = stage.panel.caption()
    assert said.startswith("tiny-gpt2 · E(hello) + p₁₇ and E(adam) + p₁₂₀ · distance ")
    assert said.endswith("of 4\N{THIN SPACE}096 random pairs of all rows, seed 0")
    difference = np.linalg.norm(model.W_pos[17] - model.W_pos[120])
    assert f"‖pᵢ − pⱼ‖ {difference:.3f}" in stage.panel.content.sums.parts.text()


def test_a_token_is_read_when_one_stops_typing_and_an_example_is_left(stage, qtbot):
    first, examples = stage.form.first, stage.panel.content.examples
    first.token.setFocus()
    first.token.selectAll()
    QTest.keyClicks(first.token, "my")
    qtbot.waitUntil(lambda: stage.sums[0][0] == 3)
    assert (first.meant.text(), first.token.text()) == ("my #3", "my")
    assert stage.panel.focusWidget() is first.token
    assert examples.currentIndex() == -1
    stage.choose_example("one token")
    stage.type_position(first, "50")
    assert examples.currentIndex() == -1
    assert stage.sums[0][1] == 50
    stage.choose_example("one position")
    assert stage.sums[0][1] == 3


def test_numbers_are_tokens_too_but_several_tokens_or_none_are_not_taken(stage):
    form = stage.form
    stage.type_token(form.first, "hello my")
    assert form.why.text() == "“hello·my” is 2 tokens, hello | my: enter a single token."
    assert form.why.isVisible()
    assert {row[1:] for row in stage.cells} == {("–", "–")}
    assert len(stage.panel.content.sums.plot.curves) == 1
    assert form.first.token.text() == "hello my"
    assert "random pairs" in stage.panel.caption()
    stage.type_token(form.first, "my")
    assert not form.why.isVisible()
    assert len(stage.panel.content.sums.plot.curves) == 2
    stage.type_token(form.second, "#4")
    assert stage.sums[1][0] == NAME
    assert form.second.meant.text() == "name #4"
    stage.type_token(form.second, "#7")
    assert form.why.text() == "Token 7 does not exist in this model, which has 0–6."
    form.second.token.clear()
    QTest.keyClick(form.second.token, Qt.Key.Key_Return)
    assert form.why.text().startswith("Enter a token")


def test_blank_and_written_words(gpt2_folder):
    """GPT-2 has " lobster" in one piece and "lobster" in three."""
    model = open_model(gpt2_folder)
    found = read_token(model, "lobster", 50257)
    assert found.id is None
    assert found.why.endswith("with a leading space it is a single token.")
    there = read_token(model, " lobster", 50257)
    assert (there.text, model.token_text(there.id)) == ("·lobster", " lobster")
    assert read_token(model, " cat", 50257).id != read_token(model, "cat", 50257).id
    odd = [0, 188, 198, 220, 3797, 39752, 50256]
    for token in [*odd, *np.random.default_rng(0).integers(50257, size=200).tolist()]:
        assert read_token(model, write_token(model, token), 50257).id == token


def test_positions_by_arrow_keys_and_selection(stage):
    field = stage.form.first
    field.position.setFocus()
    QTest.keyClick(field.position, Qt.Key.Key_Up)
    assert stage.sums[0][1] == 4
    stage.type_position(field, "199")
    QTest.keyClick(field.position, Qt.Key.Key_Up)
    assert stage.sums[0][1] == 199
    button, before = stage.panel.content.selected, stage.sums
    stage.session.selection = (40,)
    assert not button.isEnabled()
    assert "Select two positions" in button.toolTip()
    stage.session.selection = (5, 40, 90)
    QTest.mouseClick(button, LEFT)
    assert stage.sums == ((before[0][0], 40), (before[1][0], 90))
    assert [position for _, position in stage.typed] == [40, 90]


def test_examples_of_one_token_one_position_the_most_alike_and_the_nearest(stage):
    stage.choose_example("one token")
    found = stage.panel.result.similarity
    assert found.one[0] == found.other[0]
    assert found.distance == pytest.approx(found.position_distance)
    assert stage.typed[0][0] == stage.typed[1][0]
    stage.choose_example("one position")
    found = stage.panel.result.similarity
    assert found.one[1] == found.other[1] == 3
    assert found.distance == pytest.approx(found.token_distance)
    stage.choose_example("most alike")
    (token, away), (other, place) = stage.sums
    assert (token, place, away) == (HELLO, 30, 130)
    assert other != HELLO
    assert stage.typed[0] == ("hello", 130)
    stage.choose_example("nearest")
    found = stage.panel.result.similarity
    assert found.distance == pytest.approx(found.among.likeness.distance.min())
    assert found.closer_than("distance") > 0.999
    drawn = found.among
    ends = zip(drawn.tokens.tolist(), drawn.positions.tolist(), strict=True)
    assert ([found.one[0], found.other[0]], [found.one[1], found.other[1]]) in list(ends)


def test_bars_and_measures(stage):
    plot = stage.panel.content.sums.plot
    bar = int(plot.counts.argmax())
    while abs(plot.edges[bar] - plot.mark) < 3 * (plot.edges[1] - plot.edges[0]):
        bar = (bar + 1) % len(plot.counts)
    foot = plot.point_of(plot.BARS, 3 * bar + 2).toPoint()
    # Anywhere above or below the end of the bar.
    hover(plot, QPoint(foot.x(), round(plot.view.sceneBoundingRect().center().y())))
    assert plot.hover_text().endswith(f" · {plot.counts[bar]} pairs")
    assert plot.hover_text().startswith(f"{plot.edges[bar]:.3f} to {plot.edges[bar + 1]:.3f}")
    hover(plot, plot.point_of(plot.MARK, 1).toPoint())
    assert plot.hover_text().startswith(f"these two: {plot.mark:.3f}, closer than ")
    hover(plot, QPoint(2, 2))
    assert plot.hover_text() == ""
    table, plot = stage.panel.content.sums.table, stage.panel.content.sums.plot
    for row, measure in enumerate(MEASURES):
        spot = table.visualRect(table.model().index(row, 0)).center()
        QTest.mouseClick(table.viewport(), LEFT, pos=spot)
        found = stage.panel.result.similarity
        assert plot.mark == found.of(measure)
        assert plot.counts.sum() == len(found.among)
        assert plot.edges[0] == pytest.approx(found.among.likeness.of(measure).min())
        assert ("LayerNorm" in plot.x_axis.title) == measure.startswith("layernorm")
        name = "cosine" if measure.endswith("cosine") else "distance"
        assert f"· {name} " in stage.panel.caption().replace(" after LayerNorm", "")


def test_equal_sums_and_references_to_two(stage):
    form = stage.form
    for field in (form.first, form.second):
        stage.type_token(field, "adam")
        stage.type_position(field, "9")
    assert stage.cells[0][1] == "0.000"
    assert stage.cells[1][1] == "1.000"
    plot = stage.panel.content.sums.plot
    (x0, x1), _ = plot.view.spans()
    assert x0 < plot.mark == 0.0 <= plot.edges[0] < x1
    stage.panel.configure(page="interference", sums=[["#5", 10], ["#1", 20]], measure="cosine")
    assert stage.sums == ((5, 10), (1, 20))
    assert stage.typed[0] == ("#5", 10)
    assert stage.panel.content.sums.plot.x_axis.title == "cosine of two sums"
    stage.panel.configure(page="interference", example="one token")
    assert stage.panel.content.examples.currentData() == "one token"
    stage.panel.configure(version="constant_norm")
    assert stage.panel.choices.page == "errors"


def test_without_a_tokenizer_that_can_be_read_numbers_do(at_two_sums, small_gpt2, write_gpt2):
    stage = at_two_sums(small_gpt2())
    form = stage.form
    (a, _), _ = stage.sums
    assert stage.typed[0][0] == f"#{a}"
    assert form.first.meant.text() == f"token {a}"
    stage.type_token(form.first, "17")
    assert stage.sums[0][0] == 17
    stage.type_token(form.first, "cat")
    assert form.why.text() == "No tokenizer available: enter a token id, 0–89."
    folder = give_tokens(write_gpt2())
    (folder / "tokenizer.json").write_text("{")
    stage = at_two_sums(folder)
    form = stage.form
    stage.type_token(form.first, "hello")
    assert "is not valid JSON" in form.why.text()
    assert form.why.text().endswith("Enter a token id instead: #0–#6.")
    stage.type_token(form.first, "#2")
    assert stage.sums[0][0] == HELLO


@pytest.mark.slow
def test_other_table_keeps_tokens_or_says_why_not(stage, write_gpt2, helix):
    form = stage.form
    stage.type_token(form.first, "adam")
    stage.type_position(form.first, "150")
    stage.open(give_tokens(write_gpt2("short", helix(40))))
    assert stage.sums[0] == (ADAM, 39)
    assert stage.typed[0] == ("adam", 39)
    for name, width, words in (
        ("odd", 12, "should have 24 columns"),
        ("bare", 0, "o token embeddings in this checkpoint"),
    ):
        source = write_gpt2(name)
        stage.open(give_tokens(source, width=width) if width else source)
        stage.turn_to("interference")
        assert words in stage.panel.words.message.text()
        assert stage.panel.words.advice.text().endswith(LayerNormPanel.instead)
        assert stage.panel.result is None


def test_a_table_of_one_position_has_examples_too(at_two_sums, write_gpt2, helix):
    stage = at_two_sums(give_tokens(write_gpt2("one", helix(40)[5:6])))
    assert [position for _, position in stage.sums] == [0, 0]
    stage.choose_example("one token")
    assert stage.cells[0][1] == "0.000"


def test_a_small_panel_leaves_the_table_out(stage):
    panel, sums = stage.panel, stage.panel.content.sums
    for size, table, beside in (
        ((1100, 220), True, True),
        ((700, 260), True, True),
        ((640, 220), False, True),
        ((420, 500), True, False),
        ((420, 300), False, False),
    ):
        panel.resize(*size)
        QApplication.processEvents()
        assert sums.table.isVisible() == table
        form, plot = stage.form.geometry(), sums.plot.geometry()
        assert (plot.left() >= form.right()) == beside
        assert plot.width() >= 150
        numbers = sums.table.parentWidget().geometry()
        assert not table or not (numbers.intersects(form) or numbers.intersects(plot))


def test_reason_replaces_numbers_in_either_theme(stage):
    stage.panel.resize(700, 260)
    stage.type_token(stage.form.first, "hello my")
    assert not stage.panel.content.sums.table.isVisible()
    stage.type_token(stage.form.first, "my")
    assert stage.panel.content.sums.table.isVisible()
    stage.panel.set_theme(DARK)
    bars, mark = stage.panel.content.sums.plot.curves
    assert (bars.color, mark.color) == (DARK.muted, DARK.text)
    stage.panel.set_theme(LIGHT)
    assert stage.panel.content.sums.plot.curves[1].color == LIGHT.text


def test_the_copied_python_prints_the_same(stage):
    stage.choose_example("most alike")
    found = stage.panel.result.similarity
    for line, measure in zip(run_script(stage.python()).splitlines(), MEASURES, strict=True):
        name, value, closer = line.split()
        assert name == measure
        assert float(value) == pytest.approx(found.of(measure))
        assert float(closer) == found.closer_than(measure)
    stage.type_token(stage.form.first, "hello my")
    printed = run_script(stage.python()).splitlines()
    assert [line.split()[0] for line in printed] == list(MEASURES)
    median = np.median(found.among.likeness.distance)
    assert float(printed[0].split()[2]) == pytest.approx(median)


def test_numbers_and_figure_of_the_page(stage, monkeypatch, tmp_path):
    numbers, found = stage.panel.numbers(), stage.panel.result.similarity
    assert numbers["token"].tolist() == [found.one[0], found.other[0]]
    assert numbers["value"].tolist() == [found.of(measure) for measure in MEASURES]
    assert len(numbers["random_cosine"]) == len(numbers["random_token_2"]) == 4096
    model, tokens, positions = stage.session.model, found.among.tokens, found.among.positions
    pair = zip(tokens[0].tolist(), positions[0].tolist(), strict=True)
    first = interference(model.W_E, model.W_pos, *pair)
    assert first.distance == pytest.approx(found.among.likeness.distance[0])
    path = stage.save(monkeypatch, "Save figure…", tmp_path / "sums.svg")
    text = path.read_text("utf-8")
    assert "Distance after LayerNorm" in text
    assert "random pairs of all rows" in text


def test_the_figure_has_both_before_and_after_layernorm(minilm_folder):
    asked = InterferenceOf(Typed("cat", 3), Typed("apple", 6))
    model, spec = open_model(minilm_folder), PANELS["layernorm"].spec
    result = resolve(asked, QuestionContext(model))
    for first, measures in ((MEASURES[0], MEASURES[::2]), (MEASURES[1], MEASURES[1::2])):
        choices = replace(spec.defaults, page="interference", measure=first)
        view = View(Scope(model, (1, 99), (1, 2, 3)), choices, asked, result, name="MiniLM")
        figure = spec.figure(view)
        FigureCanvasAgg(figure).draw()
        for axes, measure in zip(figure.axes, measures, strict=True):
            _, mark = axes.lines
            assert mark.get_xdata()[0] == result.similarity.of(measure)
            assert ("LayerNorm" in axes.get_xlabel()) == measure.startswith("layernorm")
            assert "closer than" in axes.get_xlabel()
