"""Notes on a model's making: what was imposed on its positions, rather than learned."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence about a model's making.

    Attributes
    ----------
    sentence
        What was imposed, for example "Its positions were trained in three dimensions.".
    claims
        Ids of the claims that hold by construction because of it.
    """

    sentence: str
    claims: tuple[str, ...] = ()
