"""The panel on artefacts of PCA: its numbers, its sentences, and the way to it."""

import numpy as np
import pytest

from geometry import pca_artefact
from geometry.models.sources.opening import open_model
from gui.panels.artefact.body import ArtefactBody
from gui.panels.kit.intents import ShowPanel
from gui.plots.spec import Plot


@pytest.fixture
def stage(stage_of):
    return stage_of("artefact", "sinusoidal:64x16", (1, 62), size=(1000, 320))


def test_shows_the_sentences_and_the_numbers_of_the_open_model(stage):
    panel, rows = stage.panel, open_model("sinusoidal:64x16").W_pos[1:63]
    expected = pca_artefact(rows)
    body = panel.findChild(ArtefactBody)
    assert body.title.text() == expected.title
    assert tuple(line.text() for line in body.sentences) == expected.sentences
    tables = panel.tables()
    np.testing.assert_allclose(tables[""]["share"], expected.own.shares)
    np.testing.assert_allclose(tables[""]["cycles"], expected.own.waves.cycles)
    np.testing.assert_allclose(tables["positions"]["PC2"], expected.own.scores[:, 1])
    assert list(tables["positions"]["position"]) == list(range(1, 63))
    np.testing.assert_allclose(
        tables["random"]["turning_share_of_walk"], expected.random["walk"].b.values
    )


def test_the_other_random_table_is_drawn_on_request(stage):
    def drawn():
        own, random = (part for part in stage.panel.spec.plots(stage.panel.view()))
        assert isinstance(own, Plot)
        return own.curves[0].y, random.curves[0].y

    (own, smooth), result = drawn(), stage.panel.view().result
    np.testing.assert_array_equal(smooth, result.random["process"].example.scores[:, 0])
    stage.panel.configure(random="walk")
    again, walk = drawn()
    np.testing.assert_array_equal(again, own)
    np.testing.assert_array_equal(walk, result.random["walk"].example.scores[:, 0])


def test_what_holds_by_construction_is_stated(stage_of, stage):
    assert stage.panel.findChild(ArtefactBody).notes.isHidden()
    sample = stage_of("artefact", "sample", size=(1000, 320)).panel
    notes = sample.findChild(ArtefactBody).notes
    assert not notes.isHidden()
    assert all(note.sentence in notes.text() for note in open_model("sample").notes)


def test_too_few_positions_are_no_curve(stage_of):
    stage = stage_of("artefact", "sinusoidal:64x16", (1, 5))
    assert stage.answer.state == "impossible"
    assert "5" in stage.answer.why


def test_the_shape_panel_has_a_button_for_it(stage_of):
    panel, intents = stage_of("shape", "sinusoidal:64x16", (1, 62)).panel, []
    panel.intended.connect(intents.append)
    (button,) = panel.buttons.values()
    button.click()
    assert intents == [ShowPanel("artefact", {})]
