"""The interference page of the LayerNorm panel, through typing, spin boxes, clicks and hover."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from safetensors.numpy import load_file, save_file

from geometry.interference import MEASURES, interference, random_pairs
from geometry.sources import open_source
from gui.panels.interference_figure import interference_figure
from gui.panels.interference_form import EXAMPLES
from gui.panels.interference_question import ExampleOf, InterferenceOf, Typed
from gui.panels.layernorm import SUMS_FORMULA, LayerNormPanel
from gui.panels.one_token import read_token, write_token
from gui.questions import Subjects, resolve
from gui.theme import DARK, LIGHT
from tests.gui.result_stage import ResultStage, hover, write_small_gpt2

LEFT = Qt.MouseButton.LeftButton
N_TOKENS = 7
HELLO, NAME, ADAM = 2, 4, 6


@pytest.fixture
def folder(write_gpt2):
    """A tiny GPT-2 of seven words; "hello" is nearly position 30's row."""
    return give_tokens(write_gpt2())


def give_tokens(folder, width=None):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    positions = tensors["wpe.weight"]
    rng = np.random.default_rng(3)
    tokens = rng.normal(size=(N_TOKENS, width or positions.shape[1])).astype(np.float32)
    if width is None:
        tokens[HELLO] = 3 * positions[min(30, len(positions) - 1)]
    save_file({**tensors, "wte.weight": tokens}, path)
    return folder


@pytest.fixture
def stage(qtbot, folder):
    """The panel on its interference page, answered at once."""
    made = ResultStage(qtbot, LayerNormPanel, size=(1100, 260))
    made.open(folder)
    turn_to(made, "interference")
    return made


def turn_to(stage, page):
    QTest.mouseClick(stage.panel.page.buttons[page], LEFT)
    QApplication.processEvents()


def form_of(stage):
    return stage.panel.sums.form


def type_token(stage, field, text):
    field.token.setFocus()
    field.token.selectAll()
    QTest.keyClicks(field.token, text)
    QTest.keyClick(field.token, Qt.Key.Key_Return)


def type_position(field, text):
    field.position.setFocus()
    field.position.selectAll()
    QTest.keyClicks(field.position, text)
    QTest.keyClick(field.position, Qt.Key.Key_Return)


def choose_example(stage, name):
    """Choose from the drop-down list with the keyboard."""
    box = stage.panel.examples
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_End if name == EXAMPLES[-1][0] else Qt.Key.Key_Home)
    for _ in range(box.findData(name) if name != EXAMPLES[-1][0] else 0):
        QTest.keyClick(box, Qt.Key.Key_Down)
    assert box.currentData() == name


def sums_of(stage):
    found = stage.panel.result.found
    return found.one, found.other


def cells(stage):
    return [row.cells for row in stage.panel.sums.table.rows]


def typed(stage):
    return tuple((one.token, one.position) for one in form_of(stage).typed())


# ---- the page ---------------------------------------------------------------------------------


def test_each_page_has_its_formula_and_controls(stage):
    panel = stage.panel
    assert panel.header.formula.text() == SUMS_FORMULA
    assert panel.version.isHidden()
    assert "could not tell one" in panel.header.help.toolTip()
    turn_to(stage, "errors")
    assert panel.header.formula.text() == LayerNormPanel.formula
    assert not panel.version.isHidden()
    assert panel.errors.isVisible()
    assert panel.result.n_tokens == N_TOKENS
    turn_to(stage, "interference")
    assert panel.sums.isVisible()


def test_it_begins_with_two_tokens_at_two_positions(stage):
    (a, i), (b, j) = sums_of(stage)
    assert a != b
    assert (i, j) == (3, 6)
    assert stage.panel.examples.currentData() == "two tokens"


def test_the_articles_words_are_taken_where_they_are_tokens(minilm_folder):
    model = open_source(minilm_folder)
    found = resolve(ExampleOf("two tokens"), Subjects(model))
    assert found.one.typed == Typed("cat", 3)
    assert (found.other.token.text, found.other.typed.position) == ("apple", 6)


def test_the_numbers_are_those_of_the_two_sums(stage, folder):
    form = form_of(stage)
    type_token(stage, form.one, "hello")
    type_token(stage, form.other, "adam")
    type_position(form.one, "17")
    type_position(form.other, "120")
    assert sums_of(stage) == ((HELLO, 17), (ADAM, 120))
    model = open_source(folder)
    x, y = (model.W_E[t].astype(float) + model.W_pos[i] for t, i in ((HELLO, 17), (ADAM, 120)))
    distance, cosine = cells(stage)[:2]
    apart = np.linalg.norm(x - y)
    assert distance[1] == f"{apart:.3f}"
    wanted = f"{x @ y / np.linalg.norm(x) / np.linalg.norm(y):.3f}"
    assert cosine[1].replace("\N{MINUS SIGN}", "-") == wanted
    pairs = random_pairs(model.W_E, model.W_pos)
    rank = 100 * np.mean(pairs.likeness.distance > apart)
    assert distance[2] == f"{rank:.1f}\N{NO-BREAK SPACE}%"
    said = stage.panel.header.caption.text()
    assert said.startswith("tiny-gpt2 · E(hello) + p₁₇ and E(adam) + p₁₂₀ · distance ")
    assert said.endswith("of 4\N{THIN SPACE}096 random pairs of all rows, seed 0")
    difference = np.linalg.norm(model.W_pos[17] - model.W_pos[120])
    assert f"‖pᵢ − pⱼ‖ {difference:.3f}" in stage.panel.sums.parts.text()


def test_a_token_is_read_when_one_stops_typing(stage, qtbot):
    form = form_of(stage)
    form.one.token.setFocus()
    form.one.token.selectAll()
    QTest.keyClicks(form.one.token, "my")
    qtbot.waitUntil(lambda: sums_of(stage)[0][0] == 3)
    assert form.one.meant.text() == "my #3"
    assert form.one.token.text() == "my"
    assert stage.panel.focusWidget() is form.one.token
    assert stage.panel.examples.currentIndex() == -1


def test_a_text_of_several_tokens_is_none(stage):
    form = form_of(stage)
    type_token(stage, form.one, "hello my")
    assert form.why.text() == "“hello·my” is 2 tokens, hello | my: type one."
    assert form.why.isVisible()
    assert {row[1:] for row in cells(stage)} == {("–", "–")}
    assert len(stage.panel.sums.plot.curves) == 1
    assert form.one.token.text() == "hello my"
    assert "random pairs" in stage.panel.header.caption.text()
    type_token(stage, form.one, "my")
    assert not form.why.isVisible()
    assert len(stage.panel.sums.plot.curves) == 2


def test_an_empty_field_asks_for_a_token(stage):
    form = form_of(stage)
    form.other.token.setFocus()
    form.other.token.selectAll()
    QTest.keyClick(form.other.token, Qt.Key.Key_Delete)
    QTest.keyClick(form.other.token, Qt.Key.Key_Return)
    assert form.why.text().startswith("Type a token")


def test_numbers_are_tokens_too(stage):
    form = form_of(stage)
    type_token(stage, form.other, "#4")
    assert sums_of(stage)[1][0] == NAME
    assert form.other.meant.text() == "name #4"
    type_token(stage, form.other, "#7")
    assert form.why.text() == "Token 7 is none of this model’s: they are 0–6."


def test_a_blank_before_a_word_may_make_it_one_token(gpt2_folder):
    """GPT-2 has " lobster" in one piece and "lobster" in three."""
    model = open_source(gpt2_folder)
    found = read_token(model, "lobster", 50257)
    assert found.id is None
    assert found.why.endswith("with a blank before it, it is one.")
    there = read_token(model, " lobster", 50257)
    assert (there.text, model.token_text(there.id)) == ("·lobster", " lobster")
    assert read_token(model, " cat", 50257).id != read_token(model, "cat", 50257).id


def test_what_is_written_for_a_token_is_read_as_it(gpt2_folder):
    model = open_source(gpt2_folder)
    odd = [0, 188, 198, 220, 3797, 39752, 50256]
    for token in [*odd, *np.random.default_rng(0).integers(50257, size=200).tolist()]:
        assert read_token(model, write_token(model, token), 50257).id == token


def test_positions_step_with_the_arrow_keys_within_the_table(stage):
    field = form_of(stage).one
    field.position.setFocus()
    QTest.keyClick(field.position, Qt.Key.Key_Up)
    assert sums_of(stage)[0][1] == 4
    type_position(field, "199")
    QTest.keyClick(field.position, Qt.Key.Key_Up)
    assert sums_of(stage)[0][1] == 199


# ---- examples, and what is selected -----------------------------------------------------------


def test_one_token_leaves_the_positions_difference(stage):
    choose_example(stage, "one token")
    found = stage.panel.result.found
    assert found.one[0] == found.other[0]
    assert found.distance == pytest.approx(found.position_distance)
    assert typed(stage)[0][0] == typed(stage)[1][0]


def test_one_position_leaves_the_tokens_difference(stage):
    choose_example(stage, "one position")
    found = stage.panel.result.found
    assert found.one[1] == found.other[1] == 3
    assert found.distance == pytest.approx(found.token_distance)


def test_the_most_position_like_token_is_held_against_its_position(stage):
    choose_example(stage, "most alike")
    (token, away), (other, place) = sums_of(stage)
    assert (token, place, away) == (HELLO, 30, 130)
    assert other != HELLO
    assert typed(stage)[0] == ("hello", 130)


def test_the_nearest_random_pair_is_nearer_than_all_others(stage):
    choose_example(stage, "nearest")
    found = stage.panel.result.found
    assert found.distance == pytest.approx(found.among.likeness.distance.min())
    assert found.closer_than("distance") > 0.999
    drawn = found.among
    ends = zip(drawn.tokens.tolist(), drawn.positions.tolist(), strict=True)
    assert ([found.one[0], found.other[0]], [found.one[1], found.other[1]]) in list(ends)


def test_an_example_is_left_by_typing_and_taken_again(stage):
    choose_example(stage, "one token")
    type_position(form_of(stage).one, "50")
    assert stage.panel.examples.currentIndex() == -1
    assert sums_of(stage)[0][1] == 50
    choose_example(stage, "one position")
    assert sums_of(stage)[0][1] == 3


def test_the_two_positions_selected_last_can_be_taken(stage):
    button, before = stage.panel.selected, sums_of(stage)
    stage.session.selection = (40,)
    assert not button.isEnabled()
    assert "Select two positions" in button.toolTip()
    stage.session.selection = (5, 40, 90)
    QTest.mouseClick(button, LEFT)
    assert sums_of(stage) == ((before[0][0], 40), (before[1][0], 90))
    assert [position for _, position in typed(stage)] == [40, 90]


# ---- the random pairs -------------------------------------------------------------------------


def test_a_click_on_a_measure_shows_the_pairs_by_it(stage):
    table, plot = stage.panel.sums.table, stage.panel.sums.plot
    for row, measure in enumerate(MEASURES):
        spot = table.visualRect(table.model().index(row, 0)).center()
        QTest.mouseClick(table.viewport(), LEFT, pos=spot)
        found = stage.panel.result.found
        assert plot.mark == found.of(measure)
        assert plot.counts.sum() == len(found.among)
        assert plot.edges[0] == pytest.approx(found.among.likeness.of(measure).min())
        assert ("LayerNorm" in plot.x_axis.title) == measure.startswith("layernorm")
        name = "cosine" if measure.endswith("cosine") else "distance"
        assert f"· {name} " in stage.panel.header.caption.text().replace(" after LayerNorm", "")


def test_bars_and_the_mark_say_what_they_are(stage):
    plot = stage.panel.sums.plot
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


def test_a_sum_and_itself_are_as_close_as_can_be(stage):
    form = form_of(stage)
    for field in (form.one, form.other):
        type_token(stage, field, "adam")
        type_position(field, "9")
    assert cells(stage)[0][1] == "0.000"
    assert cells(stage)[1][1] == "1.000"
    plot = stage.panel.sums.plot
    (x0, x1), _ = plot.view.spans()
    assert x0 < plot.mark == 0.0 <= plot.edges[0] < x1


# ---- other models -----------------------------------------------------------------------------


def test_without_a_tokenizer_numbers_do(qtbot, tmp_path):
    stage = ResultStage(qtbot, LayerNormPanel, size=(1100, 260))
    stage.open(write_small_gpt2(tmp_path / "mute"))
    turn_to(stage, "interference")
    form = form_of(stage)
    (a, _), (b, _) = sums_of(stage)
    assert a != b
    assert typed(stage)[0][0] == f"#{a}"
    assert form.one.meant.text() == f"token {a}"
    type_token(stage, form.one, "17")
    assert sums_of(stage)[0][0] == 17
    type_token(stage, form.one, "cat")
    assert form.why.text() == "There is no tokenizer: type a number, 0–89."


def test_a_tokenizer_that_cannot_be_read_leaves_the_numbers(qtbot, folder):
    (folder / "tokenizer.json").write_text("{")
    stage = ResultStage(qtbot, LayerNormPanel, size=(1100, 260))
    stage.open(folder)
    turn_to(stage, "interference")
    form = form_of(stage)
    type_token(stage, form.one, "hello")
    assert "cannot be read" in form.why.text()
    assert form.why.text().endswith("A number does: #0–#6.")
    type_token(stage, form.one, "#2")
    assert sums_of(stage)[0][0] == HELLO


def test_what_cannot_be_added_is_said(qtbot, write_gpt2):
    stage = ResultStage(qtbot, LayerNormPanel)
    for name, width, words in (
        ("odd", 12, "has tokens of 12 dimensions and positions of 24"),
        ("bare", 0, "o token embeddings in this checkpoint"),
    ):
        source = write_gpt2(name)
        stage.open(give_tokens(source, width=width) if width else source)
        turn_to(stage, "interference")
        assert words in stage.panel.message.text()
        assert stage.panel.result is None


def test_another_table_keeps_what_was_typed_within_its_positions(stage, write_gpt2, helix):
    form = form_of(stage)
    type_token(stage, form.one, "adam")
    type_position(form.one, "150")
    stage.open(give_tokens(write_gpt2("short", helix(40))))
    assert sums_of(stage)[0] == (ADAM, 39)
    assert typed(stage)[0] == ("adam", 39)


def test_a_table_of_one_position_has_examples_too(qtbot, write_gpt2, helix):
    stage = ResultStage(qtbot, LayerNormPanel, size=(1100, 260))
    stage.open(give_tokens(write_gpt2("one", helix(40)[5:6])))
    turn_to(stage, "interference")
    assert [position for _, position in sums_of(stage)] == [0, 0]
    choose_example(stage, "one token")
    assert cells(stage)[0][1] == "0.000"


# ---- how it looks, and taking it away ---------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "table", "beside"),
    [
        ((1100, 220), True, True),
        ((700, 250), True, True),
        ((420, 500), True, False),
        ((420, 300), False, False),
    ],
)
def test_a_small_panel_leaves_the_table_out(stage, size, table, beside):
    panel = stage.panel
    panel.resize(*size)
    QApplication.processEvents()
    assert panel.sums.table.isVisible() == table
    form, plot = panel.sums.form.geometry(), panel.sums.plot.geometry()
    assert (plot.left() >= form.right()) == beside
    assert plot.width() >= 150
    assert panel.rect().contains(panel.sums.geometry())


def test_it_takes_the_colours_of_the_theme(stage):
    stage.panel.set_theme(DARK)
    bars, mark = stage.panel.sums.plot.curves
    assert (bars.color, mark.color) == (DARK.muted, DARK.text)
    stage.panel.set_theme(LIGHT)
    assert stage.panel.sums.plot.curves[1].color == LIGHT.text


def test_another_panel_can_refer_to_two_sums(stage):
    stage.panel.configure(page="interference", sums=((5, 10), (1, 20)), measure="cosine")
    assert sums_of(stage) == ((5, 10), (1, 20))
    assert typed(stage)[0] == ("#5", 10)
    assert stage.panel.sums.plot.x_axis.title == "cosine of two sums"
    stage.panel.configure(page="interference", example="one token")
    assert stage.panel.examples.currentData() == "one token"
    stage.panel.configure(version="constant_norm")
    assert stage.panel.page.value() == "errors"
    with pytest.raises(TypeError):
        stage.panel.configure(page="interference", sum=3)


def test_the_copied_python_prints_the_same(stage, run_python):
    choose_example(stage, "most alike")
    found = stage.panel.result.found
    for line, measure in zip(run_python(stage.python()).splitlines(), MEASURES, strict=True):
        name, value, closer = line.split()
        assert name == measure
        assert float(value) == pytest.approx(found.of(measure))
        assert float(closer) == found.closer_than(measure)
    type_token(stage, form_of(stage).one, "hello my")
    printed = run_python(stage.python()).splitlines()
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
    result = resolve(asked, Subjects(open_source(minilm_folder)))
    figure = interference_figure(result, "MiniLM", cosine=cosine)
    FigureCanvasAgg(figure).draw()
    measures = MEASURES[1::2] if cosine else MEASURES[::2]
    for axes, measure in zip(figure.axes, measures, strict=True):
        (mark,) = axes.lines
        assert mark.get_xdata()[0] == result.found.of(measure)
        assert ("LayerNorm" in axes.get_xlabel()) == measure.startswith("layernorm")
        assert "closer than" in axes.get_title(loc="left")


def test_the_window_saves_the_figure_of_the_page(stage, monkeypatch, tmp_path):
    path = stage.save(monkeypatch, "Save figure…", tmp_path / "sums.svg")
    text = path.read_text("utf-8")
    assert "Distance after LayerNorm" in text
    assert "random pairs of all rows" in text
