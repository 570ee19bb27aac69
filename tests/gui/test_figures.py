"""Figures for files: what they say, and that equal ones are equal files."""

import numpy as np
import pytest

from geometry.sources import open_source
from gui.figures import norms_figure, save_figure, spectrum_figure
from gui.theme import DARK


@pytest.fixture
def model(tmp_path):
    def save(table):
        np.save(tmp_path / "table.npy", table)
        return open_source(tmp_path / "table.npy")

    return save


def texts(figure):
    axes = figure.axes[0]
    notes = [text.get_text() for text in axes.texts]
    return " ".join([axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel(), *notes])


def test_gpt2_in_words(gpt2_folder):
    gpt2 = open_source(gpt2_folder)
    norms = texts(norms_figure(gpt2))
    for words in ("gpt2", "mean 3.376", "std 0.097", "2.9\u00a0%", "0, 1023", "Position", "Norm"):
        assert words in norms
    spectrum = texts(spectrum_figure(gpt2))
    for words in ("gpt2", "99.91\u00a0%", "3.09", "Singular value", "uncentred"):
        assert words in spectrum


@pytest.mark.parametrize("draw", [norms_figure, spectrum_figure])
@pytest.mark.parametrize("table", [np.eye(60), np.zeros((5, 4)), np.ones((1, 1)), np.ones((3, 90))])
def test_any_table_can_be_drawn(model, tmp_path, draw, table):
    figure = draw(model(table), theme=DARK)
    for ending in ("png", "svg"):
        save_figure(figure, tmp_path / f"figure.{ending}")
        assert (tmp_path / f"figure.{ending}").stat().st_size > 1000


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_equal_figures_are_equal_files(model, tmp_path, ending):
    table = np.random.default_rng(0).standard_normal((60, 40))
    for name in ("one", "two"):
        save_figure(norms_figure(model(table)), tmp_path / f"{name}.{ending}")
    one, two = (tmp_path / f"{name}.{ending}" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
