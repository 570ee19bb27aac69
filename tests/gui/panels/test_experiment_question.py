"""What the panel "Line or helix" asks about a model, and says of the curves, in words."""

import numpy as np
import pytest

from geometry.checkpoints.errors import RangeError
from geometry.measures.synthetic import KINDS
from geometry.models.head_projections import mean_token_norm
from geometry.models.sources import open_source
from gui.panels.experiment.question import MOST_POSITIONS, ExperimentLike, ExperimentOf
from gui.panels.experiment.words import amount, reading, scope
from gui.services.questions import QuestionContext, resolve
from tests.gui.experiment_stage import experiment, settings
from tests.gui.result_stage import write_small_gpt2


def asked(model, positions):
    return resolve(ExperimentLike(positions), QuestionContext(model))


# ---- the question -----------------------------------------------------------------------------


def test_it_begins_with_the_size_of_the_model(model):
    found = asked(model, (1, 198))
    curve = found.settings.curve
    assert found.positions == (1, 198)
    assert found.is_helix
    assert (curve.n_positions, curve.d_model) == (198, 24)
    assert curve.turns == pytest.approx(6 / 2 * 197 / 199, abs=0.02)
    assert curve.offset == pytest.approx(np.linalg.norm(model.W_pos[1:199].mean(axis=0)))
    assert found.settings.token_norm == 0  # a bare table has no tokens
    assert found.settings.lag == 19


def test_its_token_has_the_mean_norm_of_the_models_tokens(tmp_path):
    gpt2 = open_source(write_small_gpt2(tmp_path / "gpt2"))
    assert asked(gpt2, (0, 63)).settings.token_norm == pytest.approx(mean_token_norm(gpt2))


def test_without_a_helix_it_takes_two_turns(open_table):
    noise = open_table(np.random.default_rng(3).normal(size=(80, 20)), "noise")
    found = asked(noise, (0, 79))
    assert not found.is_helix
    assert found.settings.curve.turns == 2.0
    narrow = open_table(np.random.default_rng(3).normal(size=(30, 2)), "narrow")
    assert asked(narrow, (0, 29)).settings.curve.d_model == 6


def test_a_line_has_no_turns_to_take_though_a_helix_fits_it_perfectly():
    line = open_source("synthetic:line,n=300,d=32")
    found = asked(line, (1, 299))
    assert not found.is_helix
    assert (found.settings.curve.turns, found.settings.curve.spacing) == pytest.approx((2.0, 0.1))
    assert scope(line, found).endswith("positions 1–299, no clear helix")


def test_a_long_table_is_cut_and_a_short_range_is_refused(open_table):
    long = open_table(np.cumsum(np.ones((MOST_POSITIONS + 9, 3)), axis=0), "long")
    assert asked(long, (0, MOST_POSITIONS + 8)).settings.curve.n_positions == MOST_POSITIONS
    with pytest.raises(RangeError, match="4 positions or more, and the range is 2–4"):
        asked(long, (2, 4))


def test_numbers_are_changed_to_what_can_be():
    changed = settings(turns=50.0, lag=100).with_(n_positions=21)
    assert (changed.curve.n_positions, changed.curve.turns, changed.lag) == (21, 10.0, 10)
    assert changed.with_(turns=99.0, climb=0.9).curve.turns == 10.0
    assert settings().with_(lag=3.0, token_norm=2.5) == settings(lag=3, token_norm=2.5)
    assert settings().with_(lag=0.0).lag == 1


def test_prices_are_those_of_the_same_curve_made_longer_or_shorter():
    found = experiment(settings())
    assert found.lengths[0] == 4
    assert found.lengths[-1] == 4 * MOST_POSITIONS
    for kind in KINDS:
        assert found.prices[kind] == pytest.approx(
            found.settings.curve.of_kind(kind).mean_square(found.lengths)
        )
        at = np.searchsorted(found.lengths, 301)
        low, high = found.prices[kind][at - 1], found.prices[kind][at]
        assert low <= found.curves[kind].mean_square * (1 + 1e-9)
        assert found.curves[kind].mean_square <= high * (1 + 1e-9)


def test_it_can_be_given_up_after_each_curve():
    *steps, _ = ExperimentOf(settings()).steps(None)
    assert [step.fraction for step in steps] == pytest.approx([0, 1 / 3, 2 / 3])


# ---- what it says -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "kind", "fields", "said"),
    [
        (True, "line", {}, "onto two points"),
        (True, "line", {"token_norm": 5.0}, "into an arc, crowded at its ends: "),
        (True, "line", {"token_norm": 99.0}, "hardly bends it"),
        (True, "line", {"offset": 4.0}, "into an arc"),
        (True, "circle", {"turns": 0.9}, "All rows are equally long: LayerNorm only scales it."),
        (True, "circle", {}, "only scales it. But 301 positions meet others."),
        (True, "circle", {"noise": 0.1, "turns": 0.9}, "nearly equally long"),
        (True, "helix", {"token_norm": 99.0}, "hardly changes it"),
        (True, "helix", {"climb": 0.3}, "Its turns stay apart, closer towards the ends"),
        (True, "helix", {"turns": 40.0, "climb": 0.02}, "come too near each other"),
        (False, "line", {}, "ends are far out"),
        (False, "circle", {"turns": 0.9}, "a place of its own"),
        (False, "circle", {}, "301 positions meet others"),
        (False, "helix", {}, "its turns do not meet"),
        (False, "helix", {"turns": 40.0, "climb": 0.001}, "hard to tell apart already"),
    ],
)
def test_a_sentence_for_each_curve_before_and_after_layernorm(after, kind, fields, said):
    text = reading(experiment(settings(**fields)), kind, after=after)
    assert said in text
    assert text.endswith(".")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.02934, "0.0293"), (1.0, "1.00"), (75.31, "75.3"),
     (1234.5, "1\N{THIN SPACE}234"), (1e-9, "0.000000")],
)  # fmt: skip
def test_amounts_of_any_size(value, text):
    assert amount(value) == text
