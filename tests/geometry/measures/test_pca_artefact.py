"""Components over position beside those of random tables, against closed forms and real tables."""

import re
from pathlib import Path

import numpy as np
import pytest

from geometry import open_model, pca_artefact, turning_share
from geometry.checkpoints.errors import RangeError
from geometry.evidence.drawn_tables import drawn_tables

PAGE = Path(__file__).resolve().parents[3] / "resources" / "guide" / "artefact.md"
RNG = np.random.default_rng(7)
T = np.linspace(-1.0, 1.0, 300)


def helix(turns, climb, m=300):
    angle = np.pi * turns * np.linspace(-1.0, 1.0, m)
    curve = np.stack([np.cos(angle), np.sin(angle), climb * np.linspace(-1.0, 1.0, m)], axis=1)
    return curve @ np.linalg.qr(RNG.standard_normal((64, 3)))[0].T


def smooth(length, m=300):
    distance = np.subtract.outer(np.arange(m), np.arange(m)) / length
    covariance = np.exp(-0.5 * np.square(distance))
    return RNG.multivariate_normal(np.zeros(m), covariance, size=64).T


def test_components_of_a_walk_are_cosines():
    """In many columns they are cos(πkt) with shares 6 / (πk)² (Antognini and Sohl-Dickstein)."""
    walk = np.cumsum(np.random.default_rng(0).standard_normal((400, 1500)), axis=0)
    result = pca_artefact(walk)
    expected = 6 / np.square(np.pi * np.arange(1, 4))
    for part in (result.own, result.random["walk"].example):
        np.testing.assert_allclose(part.shares, expected, rtol=0.15)
        np.testing.assert_allclose(part.waves.cycles, [0.5, 1.0, 1.5], atol=0.06)
        assert (part.waves.r2 > 0.98).all()
    for number in (1, 2, 3):
        cosine = np.cos(np.pi * number * (np.arange(400) + 0.5) / 400)
        assert abs(np.corrcoef(cosine, result.own.scores[:, number - 1])[0, 1]) > 0.99
    assert (result.answer, result.waves_place) == ("yes", "among")


@pytest.mark.parametrize(
    ("rows", "answer", "variance"),
    [
        (helix(3, 1.0), "no", "above"),
        (helix(1, 0.0), "yes", "above"),
        (np.outer(T, RNG.standard_normal(64)), "yes", "above"),
        (RNG.standard_normal((300, 64)), "no waves", "among"),
        (smooth(20), "yes", "among"),
    ],
    ids=["helix", "one turn", "line", "noise", "smooth"],
)
def test_answer_for_curves_of_known_structure(rows, answer, variance):
    result = pca_artefact(rows)
    assert (result.answer, result.variance_place) == (answer, variance)
    assert len(result.own.shares) == min(np.linalg.matrix_rank(rows - rows.mean(axis=0)), 3)
    assert all(len(random.cycles[0]) == len(result.own.shares) for random in result.random.values())


@pytest.mark.parametrize(
    ("name", "source", "variance"),
    [
        ("GPT-2 small", "gpt2", "above"),
        ("GPT-2 small, without the first rows", "gpt2", "above"),
        ("GPT-2 small, rows in random order", "gpt2", "above"),
        ("all-MiniLM-L6-v2", "minilm", "among"),
        ("the sinusoidal table, 512 × 128", "sinusoidal:512x128", "among"),
    ],
)
def test_answer_for_models_is_that_of_the_guide(request, name, source, variance):
    (line,) = re.findall(
        rf"^\| {re.escape(name)} \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    positions, r2, cycles, b, three, answer = line.split(" | ")
    if source in ("gpt2", "minilm"):
        source = str(request.getfixturevalue(f"{source}_folder"))
    first, last = map(int, positions.split("–"))
    rows = open_model(source).W_pos[first : last + 1]
    if "random order" in name:
        rows = np.random.default_rng(0).permutation(rows)
    result = pca_artefact(rows, draws=19)
    own = result.own
    assert ", ".join(f"{value:.2f}" for value in own.waves.r2) == r2
    assert ", ".join(f"{value:.2f}" for value in own.waves.cycles) == cycles
    assert (f"{result.turning.b:.2f}", f"{100 * own.three:.0f} %") == (b, three)
    assert answer.partition(":")[0] == result.answer
    assert result.variance_place == variance
    assert f" {100 * result.turning.b:.0f}\N{NO-BREAK SPACE}%" in result.sentences[0]
    assert three.replace(" ", "\N{NO-BREAK SPACE}") in result.sentences[1]


def test_numbers_of_random_tables_are_those_of_their_rows():
    rows = helix(2, 1.0) + 0.05 * RNG.standard_normal((300, 64))
    result = pca_artefact(rows, draws=19, seed=3)
    for kind, random in result.random.items():
        tables = list(drawn_tables(rows, kind, 19, seed=3))
        b = [turning_share(table).b for table in tables]
        np.testing.assert_allclose(random.b.values, np.sort(b), rtol=0.01)
        assert random.example.b == pytest.approx(b[0], rel=0.01)
        centred = tables[0] - tables[0].mean(axis=0)
        left, strengths, _ = np.linalg.svd(centred, full_matrices=False)
        scores = np.abs(left[:, :3] * strengths[:3])
        np.testing.assert_allclose(np.abs(random.example.scores), scores, atol=1e-8)
        share = np.square(strengths[:3]).sum() / np.square(strengths).sum()
        assert random.example.three == pytest.approx(share)
        assert random.three.draws == len(random.r2) == 19


def test_units_do_not_matter():
    rows = helix(2.5, 1.0, 100)
    first, again = pca_artefact(rows, 19), pca_artefact(1e-200 * rows, 19)
    assert first.sentences == again.sentences
    np.testing.assert_allclose(again.own.scores, 1e-200 * first.own.scores, rtol=1e-6)


def test_long_random_tables_are_thinned():
    result = pca_artefact(np.cumsum(RNG.standard_normal((5000, 5)), axis=0), 19)
    at = result.random["walk"].example.at
    assert (at[0], at[-1]) == (0, 4999)
    assert len(at) == len(result.random["walk"].example.scores) == 2500


def test_what_has_no_components_is_an_error():
    with pytest.raises(RangeError):
        pca_artefact(RNG.standard_normal((7, 5)))
    with pytest.raises(RangeError):
        pca_artefact(np.ones((20, 5)))


def test_it_can_be_stopped():
    class Stop(Exception):
        pass

    def stop():
        raise Stop

    with pytest.raises(Stop):
        pca_artefact(helix(2, 1.0), check=stop)


def test_tables_of_one_and_two_columns_have_as_many_components():
    for d in (1, 2):
        result = pca_artefact(np.cumsum(RNG.standard_normal((40, d)), axis=0), 19)
        assert len(result.own.shares) == d
