"""What the tests of the panel "Line or helix" share: settings, and what comes of them."""

from geometry.measures.synthetic import SyntheticCurve
from gui.panels.experiment.question import ExperimentOf, Settings


def settings(**fields):
    given = {"n_positions": 301, "d_model": 32, "spacing": 0.1, "turns": 2.0, "climb": 0.4}
    token_norm, lag = fields.pop("token_norm", 0.0), fields.pop("lag", 20)
    return Settings(SyntheticCurve("helix", **{**given, **fields}), token_norm, lag)


def experiment(wanted):
    """What comes of settings; a curve like a model's needs the model, and this does not."""
    *_, result = ExperimentOf(wanted).steps(None)
    return result
