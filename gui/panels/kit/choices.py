"""Controls of a panel as data: the choices of the user, and how they are saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_args

from geometry.measures.directions import Side
from geometry.models.residual_stream import NAMES, Subject

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel
    from geometry.models.residual_stream import Name

Check = Callable[[object], bool]

MAX_INTEGER = 2**31 - 1
"""Maximum of saved integers, that of Qt's fields."""
LONGEST = 10_000
"""Maximum length of saved lists."""


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a :class:`Choice`, with its text and tooltip."""

    value: str | bool
    text: str
    tip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Base of controls.

    Attributes
    ----------
    field
        The field of the panel's choices that it shows and changes.
    tip
        Its tooltip.
    works
        Returns whether it is enabled in a view; always if None.
    when
        Returns whether it is visible with some choices; always if None.
    shared
        Whether it is the session's field of the same name: saved with the session, and changed by
        :class:`ChangeShared`.
    kept
        Whether it is saved in work files.
    """

    field: str
    tip: str = ""
    works: Callable[[Any], bool] | None = None
    when: Callable[[Any], bool] | None = None
    shared: bool = False
    kept: bool = True

    def accepts(self, value: object) -> bool:
        """Return whether a value from a file is valid for any model."""
        raise NotImplementedError

    def fits(self, value: object, model: PositionalModel) -> bool:
        """Return whether a valid value is possible for a model."""
        return True

    def encode(self, value: object) -> object:
        """Return a value for JSON: tuples as lists, dataclasses as dicts."""
        if is_dataclass(value) and not isinstance(value, type):
            return {f.name: self.encode(getattr(value, f.name)) for f in fields(value)}
        return [self.encode(item) for item in value] if isinstance(value, tuple) else value

    def decode(self, value: Any) -> Any:
        """Return the inverse of :meth:`encode`: lists as tuples, other values unchanged."""
        return tuple(self.decode(item) for item in value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Control):
    """One of a few options: side by side, or in a drop-down list."""

    label: str
    options: tuple[Option, ...]
    listed: bool = False

    def accepts(self, value: object) -> bool:
        # 1 == True in Python.
        return any(
            type(value) is type(option.value) and value == option.value for option in self.options
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Toggle(Control):
    """On or off.

    ``unavailable`` returns why a model does not support it; "" if it does. ``offered`` returns
    whether it is shown at all for a model; always if None. A control has at most one of them.
    """

    text: str
    offered: Callable[[PositionalModel], bool] | None = None
    unavailable: Callable[[PositionalModel], str] | None = None

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)

    def fits(self, value: object, model: PositionalModel) -> bool:
        return not value or self.unavailable is None or not self.unavailable(model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Control):
    """A whole number, with a slider or without.

    ``maximum`` returns the upper bound of a result; a larger choice is kept for the next result,
    but shown and drawn as the bound. If the choice is not a number, ``shown`` returns the number of
    a choice in a result, ``chosen`` the choice of a number, and ``check`` replaces
    :meth:`accepts`. If a result does not have every number, ``stops`` returns those it has,
    ascending. With ``keys``, ← and →, Home and End change the number for any focus in the panel.
    """

    text: str
    minimum: int = 1
    maximum: Callable[[Any], int]
    stops: Callable[[Any], Sequence[int]] | None = None
    keys: bool = False
    slider: bool = True
    shown: Callable[[Any, Any], int] | None = None
    chosen: Callable[[int], object] | None = None
    check: Check | None = None

    def accepts(self, value: object) -> bool:
        if self.check is not None:
            return self.check(value)
        return whole_number(value, self.minimum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer(Control):
    """A layer of the model, from 0.

    ``enabled`` returns whether the other choices refer to a layer; ``note`` the tooltip of one.
    """

    enabled: Callable[[Any], bool] | None = None
    note: Callable[[int], str] | None = None

    def accepts(self, value: object) -> bool:
        return whole_number(value)

    def fits(self, value: object, model: PositionalModel) -> bool:
        return isinstance(value, int) and value < (model.n_layers or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrices(Control):
    """Several matrices of the model, at least one, as :class:`Subject`."""

    def accepts(self, value: object) -> bool:
        if not isinstance(value, list | tuple) or not 0 < len(value) <= LONGEST:
            return False
        return all(is_matrix(item) for item in value)

    def fits(self, value: Any, model: PositionalModel) -> bool:
        return all(is_of(matrix(item), model) for item in value)

    def decode(self, value: Any) -> tuple[Subject, ...]:
        return tuple(map(matrix, value))


def matrix(value: Subject | Mapping[str, Any] | Name) -> Subject:
    """Return a matrix from its fields in a file, or from its name."""
    if isinstance(value, Subject):
        return value
    return Subject(value) if isinstance(value, str) else Subject(**value)


def is_matrix(value: object) -> bool:
    """Return whether a value from a file is a valid matrix."""
    if not isinstance(value, dict) or value.keys() != {f.name for f in fields(Subject)}:
        return False
    head = value["head"]
    return (
        value["name"] in NAMES
        and whole_number(value["layer"])
        and (head is None or whole_number(head))
        and value["side"] in (None, *get_args(Side))
        and isinstance(value["fold_ln"], bool)
        and isinstance(value["centred"], bool)
    )


def is_of(subject: Subject, model: PositionalModel) -> bool:
    """Return whether a model has the layer and the head of a matrix."""
    heads = model.n_heads or 0
    return subject.layer < (model.n_layers or 1) and (subject.head is None or subject.head < heads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved(Control):
    """A saved choice that is changed in the panel's body.

    Attributes
    ----------
    reset
        Text of a button that restores the default; "" for no button.
    optional
        Whether None is omitted from files.
    check
        As :meth:`Control.accepts`.
    suits
        As :meth:`Control.fits`.
    read
        As :meth:`Control.decode`, for other types than tuples.
    """

    reset: str = ""
    optional: bool = False
    check: Check
    suits: Callable[[Any, PositionalModel], bool] | None = None
    read: Callable[[Any], Any] | None = None

    def accepts(self, value: object) -> bool:
        return self.check(value)

    def fits(self, value: object, model: PositionalModel) -> bool:
        return self.suits is None or self.suits(value, model)

    def decode(self, value: Any) -> Any:
        return Control.decode(self, value) if self.read is None else self.read(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Play(Control):
    """A button, and Space, that play :meth:`PanelSpec.course` once while true.

    ``stop_tip`` is its tooltip while it plays.
    """

    kept: bool = False
    stop_tip: str

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)

    def fits(self, value: object, model: PositionalModel) -> bool:
        """Return whether it is off: a new model is not played automatically."""
        return not value


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


def whole_number(value: object, minimum: int = 0) -> bool:
    """Return whether a value is an integer from ``minimum`` to :data:`MAX_INTEGER`."""
    return type(value) is int and minimum <= value <= MAX_INTEGER


def whole_numbers(minimum: int, min_length: int = 0) -> Check:
    """Return a check for lists of integers."""
    return lambda value: (
        isinstance(value, list | tuple)
        and len(value) >= min_length
        and all(whole_number(item, minimum) for item in value)
    )


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
