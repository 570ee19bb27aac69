"""A claim: the positions are steps of equal length."""

import numpy as np

from geometry.claims.claim import Curves, ModelClaim, at_most


def variation(measured):
    """Return the coefficient of variation of the steps' lengths, over the shown positions."""
    first, last = measured.positions
    rows = measured.model.W_pos[first : last + 1]
    steps = np.linalg.norm(np.diff(rows, axis=0), axis=1)
    return steps.std() / steps.mean()


EVEN_STEPS = ModelClaim(
    id="even_steps.all",
    article="helixscope-even-steps",
    fact="the lengths of steps",
    statement="Neighbouring positions are all equally far apart.",
    quantity="standard deviation of the steps' lengths, over their mean",
    expected=at_most(0.1),
    reason="our reading of “equally”: within a tenth",
    measure=variation,
    null=Curves(),
)
