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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from geometry.checkpoints.number_files import stacked
from geometry.evidence.null import weigh
from gui.panels.choices import Button, Control, MenuEntry, Number, Saved
from gui.plots.spec import Band, Curve, Part
from gui.services.compared_curves import unique_names
from gui.services.questions import Question, QuestionContext, resolve
from gui.state.guides import Guide
from gui.state.values import Fields
from gui.style.outcomes import SIGNS, short
from gui.style.theme import LIGHT, Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from geometry.claims.claims import Verdict
    from geometry.claims.measurements import Measurements
    from geometry.evidence.null import Band as NullBand
    from geometry.evidence.null import Null, Outcome, Side
    from geometry.models.model import PositionalModel
    from geometry.pca.components import PositionPCA

log = logging.getLogger(__name__)

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
    failed: bool = False  # Whether it could not be opened


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
    results
        Complete results of the panels that the spec :attr:`~PanelSpec.reads`, by name.
    """

    model: PositionalModel
    positions: tuple[int, int]
    components: tuple[int, ...]
    pca: PositionPCA | None = None
    grid: tuple[Shown, ...] = ()
    results: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a panel's number is worth beside its null distribution."""

    text: str  # Part of a sentence: the number, and what random tables show
    outcome: Outcome
    null: Null

    @classmethod
    def of(cls, text: str, holds: bool, value: float, side: Side, null: Null) -> Finding:
        """Weigh a number; see :func:`geometry.evidence.null.weigh`."""
        return cls(text, weigh(holds, value, side, null), null)

    @property
    def mark(self) -> str:
        """The outcome's mark and words."""
        words = short(self.outcome, self.null)
        if self.outcome == "as any smooth curve" and self.null.name == "walk":
            words = f"as {random_name(self.null)}"  # which are not smooth
        return f"{SIGNS[self.outcome]} {words}"

    def __str__(self) -> str:
        return f"{self.mark}: {self.text}"


def _no_label(position: int) -> str | None:
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
    label_at
        Returns the prompt's token or the row's label at a position, for display, or None.
    nulls
        The answer to :meth:`PanelSpec.nulls_question`; None while there is none.
    """

    scope: Scope
    choices: C
    question: Any
    result: R
    theme: Theme = LIGHT
    name: str = ""
    color: str = ""
    others: tuple[View[C, R], ...] = ()
    label_at: Callable[[int], str | None] = _no_label
    nulls: Any = None

    @property
    def model(self) -> PositionalModel:
        """The model."""
        return self.scope.model

    @property
    def row(self) -> str:
        """What a row of the table is: "position", or "row" if it has a label of its own."""
        return "position" if self.model.of_positions else "row"

    @property
    def along(self) -> str:
        """Title of an axis along the rows of the table: "position (tokens)" for a text's."""
        model = self.model
        if model.rows is not None:
            return "row"
        if model.lags is not None:
            return "lag" if model.grid is None else "offset, row by row"
        return "position (tokens)" if model.grid is None else "patch, row by row"

    def at(self, position: int) -> str:
        """Return a position's name, with its token or label."""
        label = self.label_at(position)
        return f"{position}" if label is None else f"{position} {label}"

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
    reads: ClassVar[tuple[str, ...]] = ()
    """Names of panels whose results about the open model the question uses, where there are any."""
    of_rows: ClassVar[bool] = True
    """Whether "position" in its numbers counts rows of the model, which may have labels."""
    outlasts_model: ClassVar[bool] = False
    """Whether its result names its models, and stays until there is one with a new model."""
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

    def tables(self, view: View[C, R]) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return the numbers of one model as tables, each with one kind of rows.

        The main table is called "". A spec with several makes its numbers of them, by
        :func:`joined`.
        """
        return {"": self.numbers(view)}

    @abstractmethod
    def script(self, view: View[C, R]) -> str:
        """Return a script that computes and prints the numbers of one model."""

    # Optional methods.

    def nulls_question(self, scope: Scope, choices: C) -> Question[Any] | None:
        """Return the question about the null distributions beside the result; None for none.

        It is asked once the result is shown, and never while a range is dragged.
        """
        return None

    def acts(self, view: View[C, R]) -> Sequence[tuple[str, object]]:
        """Return further entries of the panel's menu, with their intents."""
        return ()

    def finding(self, view: View[C, R]) -> Finding | None:
        """Return what the result is worth beside :attr:`View.nulls`, which are there."""
        return None

    def choices_for(self, model: PositionalModel, choices: C) -> C:
        """Return the choices for a new model."""
        changes = {
            control.field: getattr(self.defaults, control.field)
            for control in self.controls
            if not control.fits(getattr(choices, control.field), model)
        }
        return replace(choices, **changes) if changes else choices  # type: ignore[type-var]

    def instead_for(self, model: PositionalModel) -> str:
        """Return :attr:`instead`, or "" if a model has no such alternative."""
        return self.instead

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

    def concerns(self, model: PositionalModel) -> bool:
        """Return whether any choice gives an answer about a model; else controls are disabled."""
        return True

    def helps_without_result(self, model: PositionalModel) -> bool:
        """Return whether the body offers a way to a result if the question has no answer."""
        return False

    def texts(self, view: View[C, R]) -> Sequence[Texts]:
        """Return texts for files, each with an entry in the panel's menu."""
        return ()

    def figure(self, view: View[C, R]) -> Figure:
        """Draw the view for print."""
        from gui.plots.mpl_painter import paint

        names = view.other_names
        own = (view.name, view.color or view.theme.text) if names else None
        return paint(
            self.plots(view), *self.printed_heading(view), view.theme,
            others=names, own=own, what=self.compares(view.choices),
        )  # fmt: skip

    def printed_heading(self, view: View[C, R]) -> tuple[str, str]:
        """Return title and subtitle of the printed figure, with the finding."""
        title, detail = self.heading(view)
        finding = None if view.nulls is None else self.finding(view)
        return title, detail if finding is None else f"{detail} · {finding}"

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


# ---- beside random tables ---------------------------------------------------------------------

RandomCurves = Literal["process", "walk"]
RANDOM_NAMES: dict[RandomCurves, str] = {
    "process": "smooth random curves", "walk": "random walks"
}  # fmt: skip
"""What random curves are called, by the name of their null distribution."""
FEWEST_RANDOM = 8
"""Fewest positions of a range that is compared with random curves."""


def random_name(null: Null | NullBand) -> str:
    """Return what the random curves of a null distribution are called."""
    return {str(name): text for name, text in RANDOM_NAMES.items()}[null.name]


def null_band(x: np.ndarray, band: NullBand, theme: Theme, label: str = "") -> Band:
    """Return the band that has 90 % of some random curves, one at each place along x."""
    label = label or f"90 % of {random_name(band)}"
    return Band(x, band.low, band.high, theme.muted, label, band.middle)


def band_columns(band: NullBand) -> dict[str, np.ndarray]:
    """Return the columns of such a band for a panel's numbers."""
    return {
        f"{band.name}_p5": band.low, f"{band.name}_p50": band.middle, f"{band.name}_p95": band.high
    }  # fmt: skip


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


def restored(spec: AnyPanel, options: Fields, model: PositionalModel, choices: Any) -> Any:
    """Return choices with those of a file, as :func:`usable`.

    Saved choices that are not among them are those that the panel begins with: a file of an
    earlier release lacks those that came later.
    """
    begun = spec.choices_for(model, spec.defaults)
    first = {one.field: getattr(begun, one.field) for one in kept_controls(spec)}
    return changed(spec, replace(choices, **first), usable(spec, options, model))


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
    columns = dict(_labelled(spec.numbers(view), spec, view))
    names = unique_names(other.name for other in view.others)
    for name, other in zip(names, view.others, strict=True):
        numbers = _labelled(spec.numbers(other), spec, other)
        columns |= {f"{name}: {key}": values for key, values in numbers.items()}
    return columns


def _labelled(
    numbers: Mapping[str, np.ndarray], spec: AnyPanel, view: AnyView
) -> Mapping[str, np.ndarray]:
    """Return a table with the labels of its rows, if they have some, beside their positions."""
    if "position" not in numbers or not spec.of_rows or view.model.rows is None:
        return numbers
    labels = np.array(view.model.rows.labels)
    found: dict[str, np.ndarray] = {}
    for name, values in numbers.items():
        found |= {name: values}
        if name == "position":
            found |= {"label": labels[values]}
    return found


def all_tables(spec: AnyPanel, view: AnyView) -> dict[str, Mapping[str, np.ndarray]]:
    """Return the tables of a view; with other models, their rows follow the open model's."""

    def tables(one: AnyView) -> dict[str, Mapping[str, np.ndarray]]:
        return {name: _labelled(table, spec, one) for name, table in spec.tables(one).items()}

    if not view.others:
        return tables(view)
    models, views = unique_names([view.name, *(o.name for o in view.others)]), (view, *view.others)
    of_each = {m: tables(one) for m, one in zip(models, views, strict=True)}
    names = dict.fromkeys(name for tables in of_each.values() for name in tables)
    return {
        name: stacked({m: tables[name] for m, tables in of_each.items() if name in tables})
        for name in names
    }


def joined(tables: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the columns of all tables, each by a name of its own."""
    columns: dict[str, np.ndarray] = {}
    for table in tables.values():
        twice = columns.keys() & table.keys()
        if twice:
            raise ValueError(f"columns of two tables: {', '.join(sorted(twice))}")
        columns |= table
    return columns


def all_scripts(spec: AnyPanel, view: AnyView) -> str:
    """Return the script of a view, followed by those of the other models."""
    parts = [f"# Beside it, {other.name}:\n{spec.script(other)}" for other in view.others]
    return "\n".join([spec.script(view), *parts])


def report_view(spec: AnyPanel, reported: Reported, figure: str) -> AnyView:
    """Return the view of a report's figure, beside its null distributions if it has any.

    Raises
    ------
    HelixscopeError
        As :meth:`PanelSpec.result_for_report`.
    """
    choices = spec.choices_for_report(reported, figure)
    question, result = spec.result_for_report(reported, choices)
    nulls, asked = None, spec.nulls_question(reported.scope, choices)
    if asked is not None and reported.measured.nulls:
        nulls = resolve(asked, reported.about)
    return View(reported.scope, choices, question, result, name=reported.model.name, nulls=nulls)
