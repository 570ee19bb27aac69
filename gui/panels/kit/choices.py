"""Controls of a panel as data: the choices of the user, and how they are saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

from msgspec import Meta, convert

from geometry.models.residual_stream import Subject
from gui.state.fields import Whole, as_json, integer, one_of

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a :class:`Choice`, with its text and tooltip."""

    value: str | bool
    text: str
    tip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Base of controls."""

    field: str  # The field of the panel's choices that it shows and changes
    tip: str = ""  # Its tooltip
    # Returns whether it is enabled in a view; always if None
    works: Callable[[Any], bool] | None = None
    # Returns whether it is visible with some choices; always if None
    when: Callable[[Any], bool] | None = None
    # Whether it is the session's field of the same name: saved with the session, and changed by
    # :class:`ChangeShared`
    shared: bool = False
    kept: bool = True  # Whether it is saved in work files
    kind: Any = None  # The type of its choices; None if it follows from other attributes
    # Returns whether a choice of that type is valid for any model; always if None
    check: Callable[[Any], bool] | None = None

    @property
    def file_type(self) -> Any:
        """The type of its choices, as msgspec reads them from a file."""
        return self.kind

    def fits(self, choice: Any, model: PositionalModel) -> bool:
        """Return whether a valid choice is possible for a model."""
        return True

    def decode(self, value: object) -> Any:
        """Return the choice for a value from a file, or for a choice.

        Raises ValueError: it is invalid for any model.
        """
        choice = convert(as_json(value), self.file_type)
        if self.check is not None and not self.check(choice):
            raise ValueError(f"{self.field} cannot be {value!r}")
        return choice

    def expand(self, value: object) -> object:
        """Return the choice for the short form of one in a lesson."""
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Control):
    """One of a few options: side by side, or in a drop-down list."""

    label: str
    options: tuple[Option, ...]
    listed: bool = False

    @property
    def file_type(self) -> Any:
        return one_of(*(option.value for option in self.options))


@dataclass(frozen=True, slots=True, kw_only=True)
class Toggle(Control):
    """On or off.

    ``unavailable`` returns why a model does not support it; "" if it does. ``offered`` returns
    whether it is shown at all for a model; always if None. A control has at most one of them.
    """

    text: str
    offered: Callable[[PositionalModel], bool] | None = None
    unavailable: Callable[[PositionalModel], str] | None = None
    kind: Any = bool

    def fits(self, choice: Any, model: PositionalModel) -> bool:
        return not choice or self.unavailable is None or not self.unavailable(model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Control):
    """A whole number, with a slider or without.

    ``maximum`` returns the upper bound of a result; a larger choice is kept for the next result,
    but shown and drawn as the bound. If the choice is not a number, ``shown`` returns the number of
    a choice in a result, ``chosen`` the choice of a number. If a result does not have every number,
    ``stops`` returns those it has, ascending. With ``keys``, ← and →, Home and End change the
    number for any focus in the panel.
    """

    text: str
    minimum: int = 1
    maximum: Callable[[Any], int]
    stops: Callable[[Any], Sequence[int]] | None = None
    keys: bool = False
    slider: bool = True
    shown: Callable[[Any, Any], int] | None = None
    chosen: Callable[[int], object] | None = None

    @property
    def file_type(self) -> Any:
        return self.kind or integer(self.minimum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer(Control):
    """A layer of the model, from 0.

    ``enabled`` returns whether the other choices refer to a layer; ``note`` the tooltip of one.
    """

    enabled: Callable[[Any], bool] | None = None
    note: Callable[[int], str] | None = None
    kind: Any = Whole

    def fits(self, choice: Any, model: PositionalModel) -> bool:
        return isinstance(choice, int) and choice < (model.n_layers or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherModel(Control):
    """One of the other open models, by its key, or one that the panel chooses.

    It is hidden if there is only one. ``shown`` returns the key of the one in a view.
    """

    label: str
    shown: Callable[[Any], int]
    kept: bool = False  # a key is only of this session
    kind: Any = int


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrices(Control):
    """Several matrices of the model, at least one, as :class:`Subject`."""

    kind: Any = Annotated[tuple[Subject, ...], Meta(min_length=1, max_length=10_000)]

    def fits(self, choice: Any, model: PositionalModel) -> bool:
        return all(is_of(subject, model) for subject in choice)

    def expand(self, value: Any) -> object:
        return tuple(map(matrix, value))


def matrix(value: Any) -> Any:
    """Return a matrix from its name; other values unchanged."""
    return Subject(cast("Any", value)) if isinstance(value, str) else value


def is_of(subject: Subject, model: PositionalModel) -> bool:
    """Return whether a model has the layer and the head of a matrix."""
    n_layers, n_heads = model.n_layers or 1, model.n_heads or 0
    head = subject.head
    return 0 <= subject.layer < n_layers and (head is None or 0 <= head < n_heads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved(Control):
    """A saved choice that is changed in the panel's body."""

    kind: Any
    reset: str = ""  # Text of a button that restores the default; "" for no button
    optional: bool = False  # Whether None is omitted from files
    suits: Callable[[Any, PositionalModel], bool] | None = None  # As :meth:`Control.fits`
    short: Callable[[Any], Any] | None = None  # As :meth:`Control.expand`

    def fits(self, choice: Any, model: PositionalModel) -> bool:
        return self.suits is None or self.suits(choice, model)

    def expand(self, value: object) -> Any:
        return value if self.short is None else self.short(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Play(Control):
    """A button, and Space, that play :meth:`PanelSpec.course` once while true.

    ``stop_tip`` is its tooltip while it plays.
    """

    kept: bool = False
    stop_tip: str

    kind: Any = bool

    def fits(self, choice: Any, model: PositionalModel) -> bool:
        """Return whether it is off: a new model is not played automatically."""
        return not choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(Control):
    """A field of the session that the plots depend on, without a control.

    ``animated`` is whether it may change with each frame.
    """

    shared: bool = True
    animated: bool = False


RANDOM = Choice(
    field="random",
    label="Random",
    options=(
        Option("process", "Smooth", "Show the band of random curves as smooth as these positions"),
        Option(
            "walk",
            "Walks",
            "Show the band of random walks with the step lengths of these positions",
        ),
        Option("none", "None", "Show no band"),
    ),
)
"""Which random curves are drawn behind a quantity; all count for its outcome."""


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of the panel's menu; ``make_intent`` returns an intent for a file name."""

    text: str
    make_intent: Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Button:
    """A button beside the controls; ``make_intent`` returns an intent for the point below it."""

    text: str
    tip: str
    make_intent: Callable[[tuple[int, int]], object]
