"""The LayerNorm panel: two simpler versions and their errors, on real checkpoints."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PySide6.QtTest import QTest

from geometry.claims.claims import check_claims
from geometry.claims.measurements import Measurements, Scope
from geometry.claims.report import describe
from geometry.models.sources.opening import open_model
from gui.panels.kit import views
from gui.panels.kit.saved_choices import usable
from gui.panels.layernorm.body import LayerNormBody
from gui.panels.layernorm.question import LayerNormOf
from gui.panels.table import PANELS
from gui.services.questions import QuestionContext, resolve
from gui.state.session import Session
from gui.style.theme import LIGHT, format_number
from gui.widgets.position_rows import Row
from tests.gui.interference_stage import give_tokens
from tests.gui.others_stage import Beside, drawn_names
from tests.gui.result_stage import LEFT, named
from tests.scripts import run_script


def error_plot(panel):
    return named(panel, "Error by position")


@pytest.fixture(scope="module")
def minilm(minilm_folder):
    return open_model(minilm_folder)


@pytest.fixture(scope="module")
def of_minilm(minilm):
    return resolve(LayerNormOf((1, 511)), QuestionContext(minilm))


@pytest.fixture
def layernorm(stage_of, gpt2_with_tokens):
    """The panel, answered about a tiny GPT-2 with tokens."""
    return stage_of("layernorm", gpt2_with_tokens)


def test_errors_tokens_and_figures(minilm, of_minilm):
    measured = Measurements(minilm, Scope((1, 511))).layernorm
    for version in ("orthogonal", "constant_norm"):
        found, errors = getattr(of_minilm, version), getattr(measured, version)
        assert found.median == pytest.approx(np.median(errors, axis=0))
        assert found.p95 == pytest.approx(np.percentile(errors, 95, axis=0))
        assert found.overall == pytest.approx(tuple(np.percentile(errors, (50, 95))))
        assert not found.median.flags.writeable
    assert of_minilm.n_tokens == 512
    assert of_minilm.histogram.sum() == minilm.d_vocab * minilm.n_positions
    first = of_minilm.most_alike[0]
    assert (first.text, first.position) == ("[CLS]", 0)
    token, position = minilm.W_E[first.token].astype(float), minilm.W_pos[0]
    cosine = token @ position / np.linalg.norm(token) / np.linalg.norm(position)
    assert first.cosine == pytest.approx(abs(cosine), abs=1e-5)
    cosines = [one.cosine for one in of_minilm.most_alike]
    assert cosines == sorted(cosines, reverse=True)
    scope = views.Scope(minilm, (1, 511), (1, 2, 3))
    spec = PANELS["layernorm"].spec
    figure = spec.figure(views.View(scope, spec.defaults, None, of_minilm, name="MiniLM"))
    FigureCanvasAgg(figure).draw()
    errors, cosines = figure.axes
    assert len(errors.lines) == 4
    assert errors.lines[2].get_ydata() == pytest.approx(of_minilm.constant_norm.median)
    assert (errors.get_xlabel(), cosines.get_ylabel()) == ("Position", "Share of all pairs")


def test_errors_of_a_sample_have_intervals_in_caption_numbers_and_python(minilm, of_minilm):
    """30,522 tokens are sampled."""
    errors = Measurements(minilm, Scope((1, 511))).layernorm
    assert of_minilm.orthogonal.intervals == errors.intervals("orthogonal")
    spec, scope = PANELS["layernorm"].spec, views.Scope(minilm, (1, 511), (1, 2, 3))
    question = LayerNormOf((1, 511))
    view = views.View(scope, spec.defaults, question, of_minilm, name="MiniLM")
    median, p95 = map(format_number, of_minilm.orthogonal.overall)
    both = errors.intervals("orthogonal")
    of_median, of_p95 = (
        f"95 % interval {format_number(low)}–{format_number(high)}"
        for low, high in (both.median, both.p95)
    )
    caption = f"orthogonal: median {median} ({of_median}), 95th percentile {p95} ({of_p95})"
    assert spec.caption(view).endswith(caption)
    assert spec.summary(view) == f"M{caption.removeprefix('orthogonal: m')}"
    numbers = spec.numbers(view)
    for version in ("orthogonal", "constant_norm"):
        found = errors.intervals(version)
        assert numbers[f"{version}_median_interval"].tolist() == list(found.median)
        assert numbers[f"{version}_p95_interval"].tolist() == list(found.p95)
    assert "found.intervals(version)" in spec.script(view)
    lines = run_script(spec.script(view)).splitlines()
    assert lines[1::2][:2] == [str(errors.intervals(v)) for v in ("orthogonal", "constant_norm")]


def test_it_can_be_given_up_between_its_steps(minilm):
    def stop(progress):
        if progress.message.startswith("Comparing"):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        resolve(LayerNormOf((1, 511)), QuestionContext(minilm, report=stop))


def test_a_report_has_no_intervals_of_a_whole_vocabulary(gpt2_with_tokens):
    measured = Measurements(open_model(gpt2_with_tokens))
    found = describe(measured, lambda _: ())["layernorm"]
    assert found["tokens_sampled"] == 7
    for error in found["error"].values():
        assert error["median_interval"] is error["p95_interval"] is None
        assert error["median"] < error["p95"]


def test_tokens_of_another_size_are_no_fault_of_a_claim(write_gpt2):
    model = open_model(give_tokens(write_gpt2("odd"), width=12))
    verdicts = {v.claim.id: v for v in check_claims(Measurements(model))}
    assert "24 columns" in verdicts["layernorm.orthogonal"].why_null


def test_position_token_comes_first(layernorm):
    row = layernorm.panel.content.tokens.rows[0]
    assert row.cells == ("hello", "30", "1.000")
    assert row.position == 30
    numbers = layernorm.panel.numbers()
    assert numbers["position"].tolist() == list(range(1, 200))
    assert len(numbers["orthogonal_p95"]) == 199
    assert numbers["token_text"][0] == "hello"
    assert "orthogonal_median_interval" not in numbers  # all of its tokens are taken
    assert "intervals" not in layernorm.panel.python()
    lines = run_script(layernorm.panel.python()).splitlines()
    result = layernorm.panel.result
    for line, found in zip(lines, (result.orthogonal, result.constant_norm), strict=False):
        assert [float(x) for x in line.split()] == pytest.approx(found.overall)
    assert lines[2].split()[:2] == ["2", "30"]


def test_each_version_is_shown_and_the_caption_names_scope_and_errors(layernorm):
    panel, scope = layernorm.panel, "tiny-gpt2 · positions 1–199 with 7 tokens; cosines of all rows"
    for value, name, found in (
        ("constant_norm", "constant norm", panel.result.constant_norm),
        ("orthogonal", "orthogonal", panel.result.orthogonal),
    ):
        QTest.mouseClick(panel.controls.widgets["version"].buttons[value], LEFT)
        median, p95 = found.overall
        said = panel.caption()
        assert said == f"{scope} · {name}: median {median:.3f}, 95th percentile {p95:.3f}"
        median, p95 = error_plot(panel).curves
        assert median.y == pytest.approx(found.median)
        assert p95.y == pytest.approx(found.p95)
        assert p95.style == "dashed"
        assert median.x.tolist() == list(range(1, 200))


def test_other_models_errors_are_those_of_the_version(qtbot, tmp_path):
    made = Beside(qtbot, "layernorm", tmp_path)
    panel = made.add_both()
    version = panel.controls.widgets["version"]
    for name, positions in (("long", (2, 70)), ("short", (0, 40))):
        (session,) = [one.session for one in made.session.others if one.name == name]
        errors = Measurements(session.model, Scope(positions)).layernorm
        for value in ("orthogonal", "constant_norm"):
            QTest.mouseClick(version.buttons[value], LEFT)
            line = made.lines("Error by position")[name]
            np.testing.assert_allclose(line.y, np.median(getattr(errors, value), axis=0))
            assert line.x.tolist() == list(range(positions[0], positions[1] + 1))
    made.session.hover = 30
    for name, line in made.lines("Error by position").items():
        said = f"{name} {format_number(line.y[30 - line.x[0]])}"
        assert said in error_plot(panel).hover_text()
    page = panel.controls.widgets["page"]
    QTest.mouseClick(page.buttons["interference"], LEFT)
    assert not made.legend.isVisible()
    assert not panel.view().others
    QTest.mouseClick(page.buttons["errors"], LEFT)
    assert drawn_names(panel) == {"long", "short"}


def test_tokens_use_the_height_of_the_panel_and_begin_at_its_top(qtbot, dress):
    dress(LIGHT)
    body = LayerNormBody(Session(), LIGHT)
    qtbot.addWidget(body)
    body.tokens.set_rows(Row(k, ("of", str(k), "0.2")) for k in range(20))
    for height, seen in ((300, 300), (700, 420)):
        body.resize(900, height)
        body.show()
        qtbot.waitUntil(lambda height=height: body.errors.height() == height)
        body.errors.layout().activate()
        assert (body.tokens.y(), body.tokens.height()) == (0, seen)


def test_versions_and_hovered_tokens(layernorm):
    panel = layernorm.panel
    panel.configure(page="interference")
    panel.configure(version="constant_norm")
    assert panel.choices.page == "errors"
    for sums in ([["#1", 2]], [["#1", 2], [3, 4]], [["#1", 2], ["#2", -1]], "#1"):
        assert usable(panel.spec, {"sums": sums}, layernorm.session.model) == {}
    table = panel.content.tokens
    spot = table.visualRect(table.model().index(0, 0)).center()
    QTest.mouseClick(table.viewport(), LEFT, pos=spot)
    assert layernorm.session.selection == (30,)
    at = int(np.flatnonzero(panel.result.histogram)[0])
    plot = named(panel, "Cosines of tokens with positions")
    plot.pointHovered.emit((0, at))
    count = f"{panel.result.histogram[at]:,}".replace(",", "\N{THIN SPACE}")
    assert f"{count} pairs" in plot.hover_text()
