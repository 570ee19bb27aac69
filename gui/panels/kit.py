"""What a panel is: a :class:`PanelSpec`, from which widget, files and reports are derived.

A panel asks one question about a model and shows the answer. Its spec is data and pure
functions: controls, question, plots, caption, numbers and script. The window makes a dock, a menu
entry, saved options and curves of compared models from it, `helixscope report` its figures.
Independent of Qt: :mod:`gui.panels.panel` makes the widget when a panel is first visible.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args

import numpy as np

from geometry.measures.directions import Side
from geometry.models.residual_stream import NAMES, Subject
from gui.plots.spec import Curve, Part
from gui.services.compared_curves import unique_names
from gui.services.questions import Question, QuestionContext, resolve
from gui.state.aligned_curve import CurveAlignment
from gui.state.guides import Guide
from gui.state.values import Fields
from gui.style.theme import LIGHT, Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from geometry.claims.claims import Verdict
    from geometry.claims.measurements import Measurements
    from geometry.models.model import PositionalModel
    from geometry.models.residual_stream import Name
    from geometry.pca.components import PositionPCA

log = logging.getLogger(__name__)

Check = Callable[[object], bool]

MOST = 2**31 - 1
"""Maximum of saved integers, which is that of Qt's fields."""
LONGEST = 10_000
"""Maximum length of saved lists."""


# ---- controls as data ----------------------------------------------------------------------


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
        Whether it is the session's field of the same name, and not the panel's own: saved
        with the session, and changed by :class:`ChangeShared`.
    kept
        Whether it is saved in work files.
    """

    field: str
    tip: str = ""
    works: Callable[[AnyView], bool] | None = None
    when: Callable[[Any], bool] | None = None
    shared: bool = False
    kept: bool = True

    def accepts(self, value: object) -> bool:
        """Return whether a value from a file is valid for any model."""
        raise NotImplementedError

    def fits(self, value: object, model: PositionalModel) -> bool:
        """Return whether a model has what a valid value refers to."""
        return True

    def encode(self, value: object) -> object:
        """Return a value as JSON has it: tuples as lists, dataclasses as dicts."""
        if is_dataclass(value) and not isinstance(value, type):
            return {one.name: self.encode(getattr(value, one.name)) for one in fields(value)}
        return [self.encode(one) for one in value] if isinstance(value, tuple) else value

    def decode(self, value: Any) -> Any:
        """Return the inverse of :meth:`encode`: lists as tuples; values from other panels too."""
        return tuple(self.decode(one) for one in value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Control):
    """One of a few options: side by side, or in a drop-down list."""

    label: str
    options: tuple[Option, ...]
    listed: bool = False

    def accepts(self, value: object) -> bool:
        # 1 == True in Python.
        return any(type(value) is type(one.value) and value == one.value for one in self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toggle(Control):
    """On or off.

    ``unavailable`` returns why a model does not support it; "" if it does.
    """

    text: str
    unavailable: Callable[[PositionalModel], str] | None = None

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)

    def fits(self, value: object, model: PositionalModel) -> bool:
        return not value or self.unavailable is None or not self.unavailable(model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Control):
    """A whole number, with a slider or without.

    ``most`` returns the upper bound that a result has; what the user wants beyond it is kept for
    the next result, and shown and drawn as the bound. Where the choice is no number, ``shown``
    returns the number of a choice in a result, ``chosen`` the choice of a number, and ``check``
    stands for :meth:`accepts`. Where a result does not have every number up to there, ``stops``
    returns those it has, rising. With ``keys``, ← and →, Home and End change the number wherever
    the focus is in the panel.
    """

    text: str
    least: int = 1
    most: Callable[[Any], int]
    stops: Callable[[Any], Sequence[int]] | None = None
    keys: bool = False
    slider: bool = True
    shown: Callable[[Any, Any], int] | None = None
    chosen: Callable[[int], object] | None = None
    check: Check | None = None

    def accepts(self, value: object) -> bool:
        if self.check is not None:
            return self.check(value)
        return whole_number(value, self.least)


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
    """Several matrices of the model, at least one: :class:`Subject` each."""

    def accepts(self, value: object) -> bool:
        if not isinstance(value, list | tuple) or not 0 < len(value) <= LONGEST:
            return False
        return all(is_matrix(one) for one in value)

    def fits(self, value: Any, model: PositionalModel) -> bool:
        return all(is_of(matrix(one), model) for one in value)

    def decode(self, value: Any) -> tuple[Subject, ...]:
        return tuple(map(matrix, value))


def matrix(value: Subject | Mapping[str, Any] | Name) -> Subject:
    """Return a matrix from its fields in a file, or from its name."""
    if isinstance(value, Subject):
        return value
    return Subject(value) if isinstance(value, str) else Subject(**value)


def is_matrix(value: object) -> bool:
    """Return whether a value from a file is a valid matrix."""
    if not isinstance(value, dict) or value.keys() != {one.name for one in fields(Subject)}:
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
    """A field of the session that the plots depend on, without a control."""

    shared: bool = True


def whole_number(value: object, least: int = 0) -> bool:
    """Return whether a value is a whole number from ``least`` on."""
    return type(value) is int and least <= value <= MOST


def whole_numbers(least: int, fewest: int = 0) -> Check:
    """Return a check for lists of whole numbers."""
    return lambda value: (
        isinstance(value, list | tuple)
        and len(value) >= fewest
        and all(whole_number(one, least) for one in value)
    )


# ---- intents, for others than the panel --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShowPanel:
    """Show another panel with some choices."""

    name: str
    choices: Fields


@dataclass(frozen=True, slots=True)
class OpenSource:
    """Open a source."""

    source: str


@dataclass(frozen=True, slots=True)
class HideCurves:
    """Hide these curves of compared models: pairs of a panel's name and a model's key."""

    hidden: frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class AddModel:
    """Compare another model with the open one.

    Attributes
    ----------
    at
        Where on the screen to show the menu.
    in_grid
        Whether it gets a view of its own, or only curves in panels.
    """

    at: tuple[int, int]
    in_grid: bool = True


@dataclass(frozen=True, slots=True)
class MakeMain:
    """Make the compared model with this key the open one."""

    key: int


@dataclass(frozen=True, slots=True)
class RemoveModel:
    """Remove the compared model with this key."""

    key: int


@dataclass(frozen=True, slots=True)
class AlignCurve:
    """Align another curve with the shown one; None for none."""

    alignment: CurveAlignment | None


@dataclass(frozen=True, slots=True)
class ChangeShared:
    """Change a field of the session."""

    field: str
    value: object


@dataclass(frozen=True, slots=True)
class LookForCheckpoints:
    """Look for checkpoints of the open model's training."""


@dataclass(frozen=True, slots=True)
class PlanCheckpoints:
    """Plan the download of so many checkpoints."""

    count: int


@dataclass(frozen=True, slots=True)
class DownloadCheckpoints:
    """Download so many checkpoints; ``whole`` is whether downloading whole files is agreed to."""

    count: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class CancelCheckpoints:
    """Cancel the download; finished checkpoints are kept."""


@dataclass(frozen=True, slots=True)
class SaveTimelapse:
    """Save a film of the training, with this default name."""

    name: str


@dataclass(frozen=True, slots=True)
class SaveCoordinates:
    """Save the coordinates of that film, with this default name."""

    name: str


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of the panel's menu; ``intends`` returns an intent for a file name."""

    text: str
    intends: Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Button:
    """A button beside the controls; ``intends`` returns an intent for the point below it."""

    text: str
    tip: str
    intends: Callable[[tuple[int, int]], object]


# ---- what is shown -------------------------------------------------------------------------

C = TypeVar("C")
R = TypeVar("R")


@dataclass(frozen=True, eq=False, slots=True)
class Shown:
    """One of the models side by side; no model while it is loading.

    The open model's key is :data:`gui.state.session.MAIN`.
    """

    key: int
    name: str
    model: PositionalModel | None
    positions: tuple[int, int]
    components: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Scope:
    """The scope of a question: a model, a range of its positions, the shown components.

    Attributes
    ----------
    model
        An open one.
    positions
        First and last position, both inclusive.
    components
        Numbers of the components on the axes, from 1.
    pca
        The components of the range; None before they are fitted.
    grid
        All models side by side, including the open one.
    """

    model: PositionalModel
    positions: tuple[int, int]
    components: tuple[int, ...]
    pca: PositionPCA | None = None
    grid: tuple[Shown, ...] = ()


def _no_token(position: int) -> str | None:
    return None


@dataclass(frozen=True, eq=False, slots=True)
class View(Generic[C, R]):
    """An answer with its context: the argument of plots, captions, numbers and scripts.

    Attributes
    ----------
    scope
        Scope of the question.
    choices
        The panel's choices.
    question, result
        The question and its result.
    theme
        Colours of the screen, or those for print.
    name, color
        Name and colour of the model; ``color`` is "" for the open model.
    others
        The views of the compared models.
    token_at
        Returns the prompt's token at a position, or None.
    """

    scope: Scope
    choices: C
    question: Any
    result: R
    theme: Theme = LIGHT
    name: str = ""
    color: str = ""
    others: tuple[View[C, R], ...] = ()
    token_at: Callable[[int], str | None] = _no_token

    @property
    def model(self) -> PositionalModel:
        """The model."""
        return self.scope.model

    def at(self, position: int) -> str:
        """Return a position's label, with its token."""
        token = self.token_at(position)
        return f"{position}" if token is None else f"{position} {token!r}"

    def curve(self, x: np.ndarray, y: np.ndarray, *, silent: bool = True) -> Curve:
        """Return a compared model's curve, with its colour and its name."""
        return Curve(x, y, self.color, silent=silent, name=self.name)

    @property
    def other_names(self) -> list[tuple[str, str]]:
        """Names and colours of the compared models, for a legend."""
        return [(other.name, other.color) for other in self.others]


@dataclass(frozen=True, eq=False, slots=True)
class Reported:
    """What a report has measured, for the panels' figures.

    Attributes
    ----------
    measured
        The cached measurements.
    verdicts
        The checked claims.
    layer, fold_ln
        Of the weights.
    answers
        Answers to questions, for what a section and a figure share.
    """

    measured: Measurements
    verdicts: tuple[Verdict, ...]
    layer: int
    fold_ln: bool
    answers: dict[Question[Any], Any] = field(default_factory=dict)

    @property
    def model(self) -> PositionalModel:
        """The open model."""
        return self.measured.model

    @property
    def about(self) -> QuestionContext:
        """The context of questions, with the known directions."""
        return QuestionContext(self.model, self.measured.stream)

    @property
    def scope(self) -> Scope:
        """The range, and its first components, at most three."""
        components = tuple(range(1, min(3, len(self.measured.pca.components)) + 1))
        return Scope(self.model, self.measured.positions, components, self.measured.pca)


@dataclass(frozen=True, eq=False, slots=True)
class Texts:
    """Texts for files.

    Attributes
    ----------
    title
        Title of the menu entry.
    kinds
        By file ending: the name of the file type, and a function that returns the text.
    """

    title: str
    kinds: Mapping[str, tuple[str, Callable[[], str]]]


class PanelSpec(ABC, Generic[C, R]):
    """A result panel.

    Subclasses define class attributes and pure methods; they hold no state.
    """

    name: ClassVar[str]
    """Key of its dock, its saved options, and the question's slot."""
    formula: ClassVar[str]
    meaning: ClassVar[str]
    explanation: ClassVar[str]
    """The quantity as a formula, in words, and in two sentences."""
    empty: ClassVar[str]
    """Text without a model: a sentence that begins "Open a model to see"."""
    instead: ClassVar[str] = ""
    """An alternative if the question has no answer, as a sentence."""
    controls: ClassVar[tuple[Control, ...]] = ()
    """In order; each belongs to one field of the choices, and defines how that is saved."""
    buttons: ClassVar[tuple[Button, ...]] = ()
    """Beside the controls."""
    menu: ClassVar[tuple[MenuEntry, ...]] = ()
    """At the end of the panel's menu."""
    about_grid: ClassVar[bool] = False
    """Whether it is about all models side by side, instead of the open one only."""
    follows_drag: ClassVar[bool] = False
    """Whether it asks several times a second during a drag; else at its end."""
    guides_current: ClassVar[bool] = False
    """Whether what it draws in the viewport depends on the current position."""
    body: ClassVar[str] = ""
    """"module:class" of a :class:`gui.panels.panel.PanelBody`; "" for a row of plots."""
    form: ClassVar[str] = ""
    """"module:class" of a :class:`gui.panels.panel.PanelForm`; "" for none."""
    figures: ClassVar[Mapping[str, Fields]] = {}
    """Choices of the figures that a report draws, by their names, where these are no defaults."""
    claims: ClassVar[Mapping[str, Fields]] = {}
    """Choices for claims of the ledger, by their ids."""

    @property
    @abstractmethod
    def defaults(self) -> C:
        """The default choices: a frozen dataclass, with a field for each control."""

    @abstractmethod
    def question(self, scope: Scope, choices: C) -> Question[R] | None:
        """Return the question; None for none."""

    @abstractmethod
    def plots(self, view: View[C, R]) -> Sequence[Part]:
        """Return the plots, from left to right."""

    @abstractmethod
    def heading(self, view: View[C, R]) -> tuple[str, str]:
        """Return title and subtitle of the printed figure."""

    @abstractmethod
    def caption(self, view: View[C, R]) -> str:
        """Return one line: the model, the scope, and a summary of the result."""

    @abstractmethod
    def numbers(self, view: View[C, R]) -> Mapping[str, np.ndarray]:
        """Return the numbers of one model, by column name."""

    @abstractmethod
    def script(self, view: View[C, R]) -> str:
        """Return a script that computes and prints the numbers of one model."""

    # Optional methods.

    def choices_for(self, model: PositionalModel, choices: C) -> C:
        """Return the choices for a new model."""
        changes = {
            control.field: getattr(self.defaults, control.field)
            for control in self.controls
            if not control.fits(getattr(choices, control.field), model)
        }
        return replace(choices, **changes) if changes else choices  # type: ignore[type-var]

    def agreeing(self, choices: C, made: Set[str]) -> C:
        """Return consistent choices, after those with some names were changed."""
        return choices

    def headline(self, choices: C) -> tuple[str, str, str]:
        """Return formula, meaning and explanation, where they depend on the choices."""
        return self.formula, self.meaning, self.explanation

    def compares(self, choices: C) -> str:
        """Return a short title of the compared models' curves; "" for none."""
        return ""

    def compared_question(self, scope: Scope, choices: C) -> Question[R] | None:
        """Return the question about a compared model."""
        return self.question(scope, choices)

    def summary(self, view: View[C, R]) -> str:
        """Return a summary of a compared model's curve, for its tooltip."""
        return ""

    def guide(self, view: View[C, R], current: int | None) -> Guide | None:
        """Return a guide beside the curve in the viewport; None for none.

        ``current`` is the current position, where :attr:`guides_current` is true.
        """
        return None

    def course(self, view: View[C, R]) -> Callable[[float], Guide] | None:
        """Return a function from time, 0 to 1, to the guide; None if nothing moves."""
        return None

    def helps_without_result(self, model: PositionalModel) -> bool:
        """Return whether the body offers a way to a result if the question has no answer."""
        return False

    def texts(self, view: View[C, R]) -> Texts | None:
        """Return texts for files; None for none."""
        return None

    def figure(self, view: View[C, R]) -> Figure:
        """Draw the view for print."""
        from gui.plots.mpl_painter import paint

        names = view.other_names
        own = (view.name, view.color or view.theme.text) if names else None
        return paint(
            self.plots(view), *self.heading(view), view.theme,
            others=names, own=own, what=self.compares(view.choices),
        )  # fmt: skip

    def section(self, reported: Reported) -> Mapping[str, object]:
        """Return what a report's numbers have under the panel's name, ready for JSON.

        Called if the panel's entry in :mod:`gui.panels.table` has ``section``.

        Raises
        ------
        TensorUnavailable, RangeError
            There is none of this model.
        """
        raise NotImplementedError

    def choices_for_report(self, reported: Reported, figure: str) -> C:
        """Return the choices that a figure of a report takes."""
        choices: C = changed(self, self.defaults, self.figures.get(figure, {}))
        return choices

    def result_for_report(self, reported: Reported, choices: C) -> tuple[Any, R]:
        """Return question and result for a report's figure; overridden where it has measured it.

        Raises
        ------
        HelixscopeError
            As :meth:`gui.services.questions.Question.answer`.
        """
        question = self.question(reported.scope, choices)
        assert question is not None
        if question not in reported.answers:
            reported.answers[question] = resolve(question, reported.about)
        return question, reported.answers[question]


# ---- derived from a spec ---------------------------------------------------------------------

AnyPanel = PanelSpec[Any, Any]
AnyView = View[Any, Any]


def changed(spec: AnyPanel, choices: Any, changes: Fields) -> Any:
    """Return changed choices.

    Raises
    ------
    TypeError
        If the panel has no such choice.
    ValueError
        If a value is invalid.
    """
    known = {control.field: control for control in spec.controls if not control.shared}
    unknown = sorted(set(changes) - set(known))
    if unknown:
        raise TypeError(f"{spec.name} takes no {', '.join(unknown)}; it has {', '.join(known)}")
    made = {name: known[name].decode(value) for name, value in changes.items()}
    for name, value in made.items():
        if not known[name].accepts(known[name].encode(value)):
            raise ValueError(f"{name} of {spec.name} cannot be {value!r}")
    return spec.agreeing(replace(choices, **made), made.keys())


def at_stops(spec: AnyPanel, choices: Any, result: Any) -> Any:
    """Return choices with numbers rounded to those that a result has."""
    found = {}
    for control in spec.controls:
        if isinstance(control, Number) and control.stops is not None:
            wanted = getattr(choices, control.field)
            found[control.field] = min(control.stops(result), key=lambda n: abs(n - wanted))
    return replace(choices, **found) if found else choices


def saved(spec: AnyPanel, choices: object) -> dict[str, object]:
    """Return choices for a work file."""
    found: dict[str, object] = {}
    for control in kept_controls(spec):
        value = getattr(choices, control.field)
        if not (isinstance(control, Saved) and control.optional and value is None):
            found[control.field] = control.encode(value)
    return found


def usable(spec: AnyPanel, options: Fields, model: PositionalModel) -> dict[str, object]:
    """Return the choices from a file that a model supports.

    Unknown and invalid choices are omitted, and those of layers, heads and weights that the model
    lacks.
    """
    found = {}
    for control in kept_controls(spec):
        if control.field in options:
            value = options[control.field]
            if not control.accepts(value):
                log.warning("%s of %s cannot be %r", control.field, spec.name, value)
            elif control.fits(value, model):
                found[control.field] = value
    return found


def kept_controls(spec: AnyPanel) -> tuple[Control, ...]:
    """Return the controls that are saved with the panel."""
    return tuple(one for one in spec.controls if one.kept and not one.shared)


def all_numbers(spec: AnyPanel, view: AnyView) -> dict[str, np.ndarray]:
    """Return the numbers of a view: the open model's, then the others' with their names."""
    columns = dict(spec.numbers(view))
    names = unique_names(other.name for other in view.others)
    for name, other in zip(names, view.others, strict=True):
        columns |= {f"{name}: {key}": values for key, values in spec.numbers(other).items()}
    return columns


def all_scripts(spec: AnyPanel, view: AnyView) -> str:
    """Return the script of a view, followed by those of the other models."""
    parts = [f"# Beside it, {other.name}:\n{spec.script(other)}" for other in view.others]
    return "\n".join([spec.script(view), *parts])


def report_view(spec: AnyPanel, reported: Reported, figure: str) -> AnyView:
    """Return the view of a report's figure.

    Raises
    ------
    HelixscopeError
        As :meth:`PanelSpec.result_for_report`.
    """
    choices = spec.choices_for_report(reported, figure)
    question, result = spec.result_for_report(reported, choices)
    return View(reported.scope, choices, question, result, name=reported.model.name)


def has_fields_for_controls(spec: AnyPanel) -> bool:
    """Return whether controls and fields of the choices correspond."""
    names = sorted(field.name for field in fields(spec.defaults))
    return names == sorted(control.field for control in spec.controls)
