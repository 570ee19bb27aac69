"""Arguments of panels' specs: the scope of a question, and its answer with its context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import ref

import numpy as np

from gui.plots.spec import Curve
from gui.services.questions import Question, QuestionContext
from gui.style.theme import LIGHT, SERIES, Theme

if TYPE_CHECKING:
    from geometry.claims.claims import Verdict
    from geometry.claims.measurements import Measurements
    from geometry.models.model import PositionalModel
    from geometry.pca.components import PositionPCA

C = TypeVar("C")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Shown:
    """One of the open models; it may stand in questions, which are kept longer than models."""

    key: int
    name: str
    model: ref[PositionalModel] | None  # None while it is loading
    positions: tuple[int, int]  # First and last shown position, both inclusive
    components: tuple[int, ...]
    failed: bool = False  # Whether it could not be opened
    current: bool = False  # Whether it is the current one

    @property
    def open_model(self) -> PositionalModel | None:
        """The model; None if it is not loaded yet, or closed meanwhile."""
        return None if self.model is None else self.model()


@dataclass(frozen=True, eq=False, slots=True)
class Scope:
    """The scope of a question: a model, a range of its positions, the shown components."""

    model: PositionalModel  # An open model
    positions: tuple[int, int]  # First and last position, both inclusive
    components: tuple[int, ...]  # Numbers of the components on the axes, from 1
    pca: PositionPCA | None = None  # The components of the range; None before they are fitted
    grid: tuple[Shown, ...] = ()  # All open models
    # Complete results of the panels in :attr:`~PanelSpec.depends_on`, by name
    results: Mapping[str, Any] = field(default_factory=dict)


def _no_label(position: int) -> str | None:
    return None


@dataclass(frozen=True, eq=False, slots=True)
class View(Generic[C, R]):
    """An answer with its context: the argument of plots, captions, numbers and scripts."""

    scope: Scope  # Scope of the question
    choices: C  # The panel's choices
    question: Any
    result: R
    theme: Theme = LIGHT  # Colours of the screen, or those for print
    name: str = ""  # Name of the model
    color: str = ""  # Colour of the model; "" for the current one
    own_color: str = ""  # Colour of the current model beside others; "" if it is the only one
    others: tuple[View[C, R], ...] = ()  # The views of the other models
    # Returns the prompt's token or the row's label at a position, for display, or None
    label_at: Callable[[int], str | None] = _no_label
    nulls: Any = None  # The answer to :meth:`PanelSpec.nulls_question`; None while there is none

    @property
    def model(self) -> PositionalModel:
        """The model."""
        return self.scope.model

    @property
    def ink(self) -> str:
        """The colour of the model's own curve."""
        return self.color or self.own_color or self.theme.text

    @property
    def spare_colors(self) -> tuple[str, ...]:
        """Distinct colours of several further curves: first those that no model has."""
        colors = (color for color in SERIES[self.theme.name][1:] if color != self.ink)
        taken = {other.color for other in self.others}
        return tuple(sorted(colors, key=taken.__contains__))

    @property
    def row(self) -> str:
        """Name of a row of the table: "position", or "row" if rows have labels."""
        return "position" if self.model.of_positions else "row"

    @property
    def along(self) -> str:
        """Title of an axis along the rows of the table: "position (tokens)" for a text's."""
        model = self.model
        if model.rows is not None:
            return "row"
        if model.lags is not None and model.grid is None:
            # Rows are numbered from 0, and the lag of the first one may be −128.
            first = model.place_of(0)
            return "lag" if first == "lag 0" else f"row (0: {first})"
        if model.lags is not None:
            return "offset, row by row"
        return "position (tokens)" if model.grid is None else "patch, row by row"

    def at(self, position: int) -> str:
        """Return a position's name, with its token or label; of a lag's row with the lag."""
        label = self.label_at(position)
        if label is None and self.model.lags is not None:
            label = f"({self.model.place_of(position)})"
        return f"{position}" if label is None else f"{position} {label}"

    def curve(self, x: np.ndarray, y: np.ndarray, *, silent: bool = True) -> Curve:
        """Return another model's curve, with its colour and its name."""
        return Curve(x, y, self.color, silent=silent, name=self.name)

    @property
    def other_names(self) -> list[tuple[str, str]]:
        """Names and colours of the other models, for a legend."""
        return [(other.name, other.color) for other in self.others]


AnyView = View[Any, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Reported:
    """Measurements of a report, for the panels' figures."""

    measured: Measurements  # The cached measurements
    verdicts: tuple[Verdict, ...]  # The checked claims
    layer: int  # Layer of the weights
    fold_ln: bool  # Whether LayerNorm's gain is folded in
    # Answers to questions, shared by sections and figures
    answers: dict[Question[Any], Any] = field(default_factory=dict)

    @property
    def model(self) -> PositionalModel:
        """The open model."""
        return self.measured.model

    @property
    def context(self) -> QuestionContext:
        """The context of questions, with the known directions."""
        return QuestionContext(self.model, self.measured.stream)

    @property
    def scope(self) -> Scope:
        """The range, and its first components, at most three."""
        components = tuple(range(1, min(3, len(self.measured.pca.components)) + 1))
        return Scope(self.model, self.measured.positions, components, self.measured.pca)


@dataclass(frozen=True, eq=False, slots=True)
class Texts:
    """Texts for files."""

    title: str  # Title of the menu entry
    # By file ending: the name of the file type, and a function that returns the text
    kinds: Mapping[str, tuple[str, Callable[[], str]]]
