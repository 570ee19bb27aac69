"""Which tables can be drawn: graphics know single precision only."""

from geometry.checkpoints.errors import TensorUnavailable
from geometry.models.model import PositionalModel

#: Largest number of a table that can be drawn, at least and at most.
LEAST, MOST = 1e-8, 1e30


def check_drawable(model: PositionalModel) -> None:
    """Check that a table's numbers are of a size that can be drawn; zeros are.

    Raises
    ------
    TensorUnavailable
        They are not.
    """
    largest = model.largest
    if largest == 0.0 or LEAST <= largest <= MOST:
        return
    raise TensorUnavailable(
        f"The largest number of {model.name} is {largest:.2g}, which cannot be drawn: it has to be "
        f"from {LEAST:g} to {MOST:g}.",
        "Multiply the table by a constant; or measure it as it is with “helixscope report”, which "
        "leaves out the pictures of it.",
    )
