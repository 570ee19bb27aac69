"""What the panel Effects says of a model of the Hub whose weights are not on this machine."""

from geometry.hub.keeping import wait_until_kept
from gui.services.effects import EffectsOf, EffectsRun
from gui.services.questions import QuestionContext


def test_a_model_that_is_not_complete_leads_to_the_download(fetched, controller, hub):
    wait_until_kept(controller.fetching.cache.root)
    question = EffectsOf(24, EffectsRun("sample", 24, 4))
    with hub.unasked():
        *_, result = question.steps(QuestionContext(fetched.model))
    assert result.failure.startswith("openai-community/gpt2 is not complete on this machine. ")
    assert "“File › Measure positions inside a model…”" in result.failure
    assert "download" in result.failure
