"""Figures for files: what they say, and that equal ones are equal files."""

import re
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from geometry.checkpoints.plain_text import visible
from geometry.measures.norms import norm_profile
from geometry.measures.spectra import spectrum
from geometry.models.sources.opening import open_model
from geometry.pca.curve import place_curve
from geometry.pca.pca import fit_pca
from gui.export.figures import helix_figure, spectrum_figure
from gui.panels.kit.views import Scope, View
from gui.panels.norms import NormsPanel, Values
from gui.plots.figure_base import DPI, MAX_DOTS, new_figure, save_figure
from gui.style.theme import DARK, LIGHT

TABLES = [np.eye(60), np.zeros((5, 4)), np.ones((1, 1)), np.ones((3, 90))]


def norms(table, theme=LIGHT, name="table"):
    model = SimpleNamespace(
        name=name, n_positions=len(table), rows=None, of_positions=True, lags=None, grid=None
    )
    scope = Scope(model, (0, len(table) - 1), (1,))
    found = norm_profile(table)
    result = Values.of_norms(found)
    return NormsPanel().figure(View(scope, NormsPanel.defaults, None, result, theme, name))


def spectra(table, theme=LIGHT):
    return spectrum_figure("table", len(table), spectrum(table), theme)


def helix(table, theme=LIGHT):
    pca = fit_pca(table, (0, len(table) - 1), 3)
    return helix_figure("table", place_curve(table, pca), theme)


def texts(figure):
    axes = figure.axes[0]
    notes = [text.get_text() for text in axes.texts]
    return " ".join([axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel(), *notes])


def test_gpt2_in_words(gpt2_folder):
    W_pos = open_model(gpt2_folder).W_pos
    figure = helix_figure("gpt2", place_curve(W_pos, fit_pca(W_pos, (1, 1023), 3)))
    of_norms = "gpt2, mean 3.376, std 0.097, 2.9\u00a0%, 0,\u00a01023, Position, Norm"
    of_spectrum = "gpt2, 99.91\u00a0%, 3.09, Singular value, uncentred, 1\u2009024"
    for said, words in (
        (texts(norms(W_pos, name="gpt2")), of_norms),
        (texts(spectrum_figure("gpt2", 1024, spectrum(W_pos))), of_spectrum),
        (figure.get_suptitle(), "gpt2, 1–1023, centred, 91.1\u00a0%"),
    ):
        assert all(word in said for word in words.split(", ")), said
    assert figure.axes[0].get_zlabel().startswith("PC 3 (")


@pytest.mark.slow
@pytest.mark.parametrize("draw", [norms, spectra, helix])
@pytest.mark.parametrize("table", TABLES)
def test_any_table_can_be_drawn(tmp_path, draw, table):
    figure = draw(table, DARK)
    for ending in ("png", "svg"):
        save_figure(figure, tmp_path / f"figure.{ending}")
        assert (tmp_path / f"figure.{ending}").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("draw", [norms, spectra, helix])
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_equal_figures_are_equal_files(tmp_path, draw, ending):
    table = np.random.default_rng(0).standard_normal((60, 40))
    one, two = (tmp_path / f"{name}.{ending}" for name in ("one", "two"))
    for path in (one, two):
        save_figure(draw(table), path)
    assert one.read_bytes() == two.read_bytes()


def test_the_helix_is_drawn_as_it_is(tmp_path):
    i = np.arange(90)
    table = np.column_stack([9 * np.cos(i / 9), 4 * np.sin(i / 9), i / 9])
    figure = helix(table)
    dots = figure.axes[0].collections[0]
    np.testing.assert_allclose(
        np.linalg.norm(np.column_stack(dots._offsets3d), axis=1),
        np.linalg.norm(table - table.mean(axis=0), axis=1),
    )
    np.testing.assert_array_equal(dots.get_array(), i)
    # One scale on all axes, and one mark for each position.
    limits = [figure.axes[0].get_xlim(), figure.axes[0].get_ylim(), figure.axes[0].get_zlim()]
    spans = np.ptp(limits, axis=1)
    sides = np.asarray(figure.axes[0]._box_aspect)
    np.testing.assert_allclose(spans / sides, spans[0] / sides[0], rtol=1e-6)
    save_figure(figure, tmp_path / "helix.svg")
    drawn = (tmp_path / "helix.svg").read_text("utf-8")
    assert drawn.count("<use ") >= 90
    # Of many positions it is pixels in an SVG too.
    many = np.random.default_rng(0).standard_normal((MAX_DOTS + 1, 3))
    save_figure(helix(many), tmp_path / "many.svg")
    assert (tmp_path / "many.svg").read_text("utf-8").count("<use ") < MAX_DOTS / 2


@pytest.mark.slow
def test_long_curves_are_thinned_and_dots_rasterised(tmp_path):
    y = np.random.default_rng(0).standard_normal(100_000)
    x = np.arange(5, 100_005)
    figure, axes = new_figure()
    (curve,), (dots,) = axes.plot(x, y), axes.plot(x, y, ".")
    (back,) = axes.plot(y, x)  # not over position: left as it is
    (short,) = axes.plot(x[:9], y[:9])
    save_figure(figure, tmp_path / "long.svg")
    at, drawn = curve.get_data()
    assert len(at) < 3 * 2 * figure.get_figwidth() * DPI
    assert (drawn.min(), drawn.max()) == (y.min(), y.max())
    assert (at[0], set(drawn) <= set(y)) == (5, True)
    assert at[-1] > 100_000 - 100
    assert dots.get_rasterized()
    assert len(dots.get_xdata()) == len(back.get_xdata()) == 100_000
    assert len(short.get_xdata()) == 9
    axes.lines[2].remove()
    save_figure(figure, tmp_path / "long.svg")
    assert (tmp_path / "long.svg").stat().st_size < 1e6
    figure, axes = new_figure()
    axes.semilogx(x, y)
    save_figure(figure, tmp_path / "log.png")
    assert len(axes.lines[0].get_xdata()) == 100_000


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
@pytest.mark.parametrize("draw", [norms, helix])
@pytest.mark.parametrize("name", ["a$\\frac{$b", "$x^2$", "<b>&amp;", "\x1b[2J\u202e\ud800"])
def test_names_are_drawn_as_they_are(tmp_path, kind, draw, name):
    """No formula, no control characters, which no SVG may contain."""
    table = np.random.default_rng(0).normal(size=(30, 8))
    drawn = draw(table)
    if drawn.axes[0].get_title("left"):
        drawn.axes[0].set_title(name, loc="left")
    drawn.axes[0].set_xlabel(name)
    drawn.suptitle(name)
    drawn.legend(drawn.axes[0].lines[:1], [name])
    path = tmp_path / f"x.{kind}"
    save_figure(drawn, path)
    if kind == "svg":
        found = " ".join(ElementTree.parse(path).getroot().itertext())
        assert found.count(visible(name)) >= 3


def test_the_numbers_at_ticks_stay_powers(tmp_path):
    figure = spectra(np.diag(10.0 ** np.arange(8)))
    save_figure(figure, tmp_path / "x.svg")
    written = (tmp_path / "x.svg").read_text("utf-8")
    assert "mathdefault" not in "".join(re.sub("<!--.*?-->", "", written))
