"""The :class:`PanelSpec` of a panel, from which widget, files and reports are derived.

A panel asks one question about a model and shows the answer. Its spec is data and pure
functions: controls, question, plots, caption, numbers and script. The window makes a dock, a menu
entry, saved options and curves of compared models from it, `helixscope report` its figures.
Independent of Qt: :mod:`gui.panels.kit.panel` makes the widget when a panel is first visible.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, cast

import numpy as np

from geometry.checkpoints.errors import TensorUnavailable
from gui.panels.kit.choices import Button, Control, MenuEntry, Number
from gui.panels.kit.nulls import Finding
from gui.panels.kit.views import C, R, Reported, Scope, Texts, View
from gui.plots.spec import Part
from gui.services.questions import Question, resolve
from gui.state.guides import Guide
from gui.state.values import Fields
from gui.style.sentences import ranged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from geometry.models.model import PositionalModel


@dataclass(frozen=True, slots=True)
class NoChoices:
    """The choices of a panel without controls."""


NO_CHOICES = NoChoices()


class PanelSpec(ABC, Generic[C, R]):
    """A result panel.

    Subclasses define class attributes and pure methods; they hold no state. A panel works with four
    members: :attr:`name`, :meth:`question`, :meth:`plots` and :meth:`numbers`. In the table of
    panels it also has a :attr:`formula`, an :attr:`explanation` and a :meth:`script`.
    """

    name: ClassVar[str]
    """Key of its dock, its saved options, and the question's slot."""
    formula: ClassVar[str] = ""
    meaning: ClassVar[str] = ""
    explanation: ClassVar[str] = ""
    """The quantity as a formula, in words, and in exactly two sentences."""
    empty: ClassVar[str] = "Open a model to see this panel."
    """Text without a model, which begins like this one."""
    instead: ClassVar[str] = ""
    """An alternative if the question has no answer, as a sentence."""
    controls: ClassVar[tuple[Control, ...]] = ()
    """In order; each belongs to one field of the choices, and defines how that is saved."""
    buttons: ClassVar[tuple[Button, ...]] = ()
    """Beside the controls."""
    menu: ClassVar[tuple[MenuEntry, ...]] = ()
    """At the end of the panel's menu."""
    compares_all_models: ClassVar[bool] = False
    """Whether it is about all models side by side, instead of the open one only."""
    depends_on: ClassVar[tuple[str, ...]] = ()
    """Names of panels whose results about the open model the question uses, if available."""
    of_rows: ClassVar[bool] = True
    """Whether "position" in its numbers counts rows of the model, which may have labels."""
    keeps_result: ClassVar[bool] = False
    """Whether its result stays after another model is opened, until there is a new result."""
    follows_drag: ClassVar[bool] = False
    """Whether it asks several times a second during a drag; else at its end."""
    guides_current: ClassVar[bool] = False
    """Whether what it draws in the viewport depends on the current position."""
    body: ClassVar[str] = ""
    """"module:class" of a :class:`gui.panels.kit.body.PanelBody`; "" for a row of plots."""
    form: ClassVar[str] = ""
    """"module:class" of a :class:`gui.panels.kit.body.PanelForm`; "" for none."""
    has_plots: ClassVar[bool] = True
    """Whether its printed figure is of plots, which can have other widths, and not a table."""
    figures: ClassVar[Mapping[str, Fields]] = {}
    """Choices of a report's figures, by their names, if they differ from the defaults."""
    claims: ClassVar[Mapping[str, Fields]] = {}
    """Choices for claims of the ledger, by their ids."""

    @property
    def defaults(self) -> C:
        """The default choices: a frozen dataclass, with a field for each control."""
        return cast(C, NO_CHOICES)

    @abstractmethod
    def question(self, scope: Scope, choices: C) -> Question[R] | None:
        """Return the question; None for none."""

    @abstractmethod
    def plots(self, view: View[C, R]) -> Sequence[Part]:
        """Return the plots, from left to right."""

    def numbers(self, view: View[C, R]) -> Mapping[str, np.ndarray]:
        """Return the numbers of one model, by column name; by default the columns of all tables."""
        return joined(self.tables(view))

    def tables(self, view: View[C, R]) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return the numbers of one model as tables, each with one kind of rows.

        The main table is called "". A spec defines either this or :meth:`numbers`.
        """
        return {"": self.numbers(view)}

    # Optional methods.

    def heading(self, view: View[C, R]) -> tuple[str, str]:
        """Return title and subtitle of the printed figure."""
        return f"{view.model.name} · {self.meaning or self.name}", ranged(
            view.model, view.scope.positions
        )

    def caption(self, view: View[C, R]) -> str:
        """Return one line: the model, the scope, and a summary of the result."""
        return f"{view.model.name} · {ranged(view.model, view.scope.positions)}"

    def script(self, view: View[C, R]) -> str:
        """Return a script that computes and prints the numbers of one model; "" for none."""
        return ""

    def nulls_question(self, scope: Scope, choices: C) -> Question[Any] | None:
        """Return the question about the null distributions beside the result; None for none.

        It is asked once the result is shown, and never while a range is dragged.
        """
        return None

    def acts(self, view: View[C, R]) -> Sequence[tuple[str, object]]:
        """Return further entries of the panel's menu, with their intents."""
        return ()

    def finding(self, view: View[C, R]) -> Finding | None:
        """Return the outcome of the result beside :attr:`View.nulls`, which must not be None."""
        return None

    def choices_for(self, model: PositionalModel, choices: C) -> C:
        """Return the choices for a new model."""
        changes = {
            control.field: getattr(self.defaults, control.field)
            for control in self.controls
            if not control.fits(getattr(choices, control.field), model)
        }
        return replace(choices, **changes) if changes else choices  # type: ignore[type-var]

    def choices_for_later_step(self, model: PositionalModel, choices: C) -> C:
        """Return the choices for a later step of the same training: all that are possible."""
        return PanelSpec.choices_for(self, model, choices)

    def choices_for_lesson(self, model: PositionalModel, choices: C) -> C:
        """Return the choices for a step of a lesson, which changes some: the initial ones."""
        return self.choices_for(model, self.defaults)

    def instead_for(self, model: PositionalModel) -> str:
        """Return :attr:`instead`, or "" if a model has no such alternative."""
        return self.instead

    def agreeing(self, choices: C, changes: Set[str]) -> C:
        """Return consistent choices after changes of the named ones."""
        return choices

    def headline(self, choices: C) -> tuple[str, str, str]:
        """Return formula, meaning and explanation, where they depend on the choices."""
        return self.formula, self.meaning, self.explanation

    def compares(self, choices: C) -> str:
        """Return a short title of the other models' curves; "" for none."""
        return ""

    def question_about_other(self, scope: Scope, choices: C) -> Question[R] | None:
        """Return the question about another open model."""
        return self.question(scope, choices)

    def summary(self, view: View[C, R]) -> str:
        """Return a summary of another model's curve, for its tooltip."""
        return ""

    def guide(self, view: View[C, R], current: int | None) -> Guide | None:
        """Return a guide beside the curve in the viewport; None for none.

        ``current`` is the current position if :attr:`guides_current` is true.
        """
        return None

    def course(self, view: View[C, R]) -> Callable[[float], Guide] | None:
        """Return a function from time, 0 to 1, to the guide; None if it is not animated."""
        return None

    def concerns(self, model: PositionalModel) -> bool:
        """Return whether any choice has an answer for a model; otherwise controls are disabled."""
        return True

    def helps_without_result(self, model: PositionalModel) -> bool:
        """Return whether the body helps to get a result if the question has no answer."""
        return False

    def texts(self, view: View[C, R]) -> Sequence[Texts]:
        """Return texts for files, each with an entry in the panel's menu."""
        return ()

    def figure(self, view: View[C, R]) -> Figure:
        """Draw the view for print."""
        from gui.plots.mpl_painter import paint

        names = view.other_names
        own = (view.name, view.ink) if names else None
        return paint(
            self.plots(view),
            *self.printed_heading(view),
            view.theme,
            others=names,
            own=own,
            what=self.compares(view.choices),
        )

    def printed_heading(self, view: View[C, R]) -> tuple[str, str]:
        """Return title and subtitle of the printed figure, with the finding."""
        title, detail = self.heading(view)
        finding = None if view.nulls is None else self.finding(view)
        return title, detail if finding is None else f"{detail} · {finding}"

    def section(self, reported: Reported) -> Mapping[str, object]:
        """Return the panel's section of a report's numbers, ready for JSON.

        Called if the panel's entry in :mod:`gui.panels.table` has ``section``.

        Raises TensorUnavailable, RangeError: there is no section for this model.
        """
        raise NotImplementedError

    def choices_for_report(self, reported: Reported, figure: str) -> C:
        """Return the choices of a report's figure."""
        choices: C = changed(self, self.defaults, self.figures.get(figure, {}))
        return choices

    def result_for_report(self, reported: Reported, choices: C) -> tuple[Any, R]:
        """Return question and result for a report's figure; overridden to use its measurements.

        Raises HelixscopeError: as :meth:`gui.services.questions.Direct.answer`.
        """
        question = self.question(reported.scope, choices)
        if question is None:
            raise TensorUnavailable(self.instead or "There is nothing to show for this model.")
        if question not in reported.answers:
            reported.answers[question] = resolve(question, reported.context)
        return question, reported.answers[question]


AnyPanel = PanelSpec[Any, Any]


def changed(spec: AnyPanel, choices: Any, changes: Fields) -> Any:
    """Return changed choices.

    Raises TypeError: the panel has no such choice.
    Raises ValueError: a value is invalid.
    """
    known = {control.field: control for control in spec.controls if not control.shared}
    unknown = sorted(set(changes) - set(known))
    if unknown:
        raise TypeError(f"{spec.name} takes no {', '.join(unknown)}; it has {', '.join(known)}")
    values = {}
    for name, value in changes.items():
        try:
            values[name] = known[name].decode(known[name].expand(value))
        except ValueError as error:
            raise ValueError(f"{name} of {spec.name} cannot be {value!r}") from error
    return spec.agreeing(replace(choices, **values), values.keys())


def joined(tables: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the columns of all tables.

    A column whose name an earlier table has gets the title of its table too, such as
    "pair_of_sliding attention".
    """
    columns: dict[str, np.ndarray] = {}
    for title, table in tables.items():
        columns |= {
            f"{name}_of_{title}" if name in columns else name: column
            for name, column in table.items()
        }
    return columns


def at_stops(spec: AnyPanel, choices: Any, result: Any) -> Any:
    """Return choices with numbers rounded to those of a result."""
    rounded = {}
    for control in spec.controls:
        if isinstance(control, Number) and control.stops is not None:
            wanted = getattr(choices, control.field)
            rounded[control.field] = min(control.stops(result), key=lambda n: abs(n - wanted))
    return replace(choices, **rounded) if rounded else choices
