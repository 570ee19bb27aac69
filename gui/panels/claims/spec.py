"""Claims of the articles, and whether they hold for the open model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast
from weakref import ref

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.memo import Recent
from geometry.checkpoints.transfer import Cancelled
from geometry.claims.claim import Claim, Verdict, adjust_verdicts
from geometry.claims.claims import all_claims
from geometry.claims.effect_claims import NEEDED, check_effects
from geometry.claims.group_claims import Member, check_groups, family_of, member
from geometry.claims.ledger import check_in_steps
from geometry.claims.measurements import Measurements, Scope
from geometry.claims.published import Compared, compare_published
from geometry.evidence.null import Outcome
from geometry.hub.faults import HubError
from geometry.models.matrices import WeightName
from geometry.models.residual_stream import NAMES, Subject
from gui.panels.claims.words import comma_separated, counts, ledger_figure, markdown
from gui.panels.effects.spec import intervening
from gui.panels.kit.choices import Choice, Option
from gui.panels.kit.spec import PanelSpec
from gui.panels.kit.views import Reported, Texts, View
from gui.panels.kit.views import Scope as Shown
from gui.services.effects import EffectsResult
from gui.services.questions import Progress, QuestionContext, Tensor, tensors_of
from gui.services.snippets import opened, python_script

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from geometry.models.model import PositionalModel

LAYER = 0
"""The articles are about the first layer's weights."""


@dataclass(frozen=True, eq=False, slots=True)
class Ledger:
    """The claims checked on one model."""

    # First and last position, both inclusive, of the claims about the shown range
    positions: tuple[int, int]
    verdicts: tuple[Verdict, ...]  # In the order of the articles; a pending one has no outcome
    # Numbers that papers give for this model, beside those measured here
    published: tuple[Compared, ...] = ()


@dataclass(frozen=True, slots=True)
class Beside:
    """A model side by side with the open one."""

    name: str
    model: ref[PositionalModel]


@dataclass(frozen=True, slots=True)
class ClaimsOf:
    """The ledger for a range of positions, and for a group of models."""

    positions: tuple[int, int]  # First and last position, both inclusive
    # All models side by side, if there are several; empty for the open one alone
    group: tuple[Beside, ...] = ()
    effects: EffectsResult | None = None  # Costs of changes of the positions; None if not measured

    def tensors(self) -> tuple[Tensor, ...]:
        return tensors_of(*(Subject(name, LAYER) for name in NAMES))

    def steps(self, context: QuestionContext) -> Iterator[Progress | Ledger]:
        """Check one claim after another, with partial results."""
        for name, layer in self.tensors():
            yield Progress(0.0, f"Reading {name}")
            context.cache(("read", name, layer), partial(_read, context, name, layer))
        claims = all_claims()
        verdicts: dict[Claim, Verdict] = {claim: Verdict(claim) for claim in claims}
        groups = check_groups(())
        effects = check_effects(None if self.effects is None else self.effects.effects)
        published: tuple[Compared, ...] = ()
        done = reported = 0.0

        def so_far() -> Ledger:
            every = adjust_verdicts((*verdicts.values(), *effects, *groups), context.model.notes)
            return Ledger(self.positions, every, published)

        def report(share: float, message: str) -> None:
            # What is decomposed for a claim is part of its share; a second matrix begins anew.
            nonlocal reported
            reported = max(reported, done + share / (2 * len(claims)))
            context.report(reported, message, so_far())

        scope = Scope(self.positions, LAYER)
        measured = Measurements(context.model, scope, context.measured(report))
        # For when only the group changes.
        kept: dict[Claim, Verdict] = context.cache(("ledger", self.positions), dict)
        verdicts.update(kept)
        unknown = tuple(claim for claim in claims if claim not in kept)
        for checking in check_in_steps(unknown, measured):
            verdicts |= {verdict.claim: verdict for verdict in checking.verdicts}
            done = checking.share
            yield Progress(done, checking.message, so_far())
        # A cancelled check is not a verdict.
        context.raise_if_cancelled()
        kept |= {claim: verdict for claim, verdict in verdicts.items() if verdict.value is not None}
        published = compare_published(measured)
        members = []
        for number, model in enumerate(self.group):
            message = f"Measuring {model.name}: {number + 1} of {len(self.group)} models"
            yield Progress(1.0, message, so_far())
            if (result := _member(model, context)) is not None:
                members.append(result)
        groups = check_groups(members)
        yield so_far()


MEMBERS = Recent(512)
"""Measurements of models that were compared before."""


def _member(beside: Beside, context: QuestionContext) -> Member | None:
    """Measure a model of the group; None if it cannot be."""
    model = beside.model()
    if model is None or model.no_claims:
        return None

    def find() -> Member:
        context.raise_if_cancelled()
        return member(Measurements(model))

    try:
        return MEMBERS((model.fingerprint, family_of(model)), find)
    except Cancelled:
        raise
    except HelixscopeError:
        return None


def _read(context: QuestionContext, name: str, layer: int) -> bool:
    """Fetch a tensor that is on the Hub; other errors are reported by its claims."""
    try:
        if name == "W_E":
            _ = context.model.W_E
        else:
            context.model.weight(cast(WeightName, name), layer)
    except HubError:
        raise
    except HelixscopeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Choices:
    """Which claims are shown: "all", or those of one outcome, see :data:`OUTCOME_OF`."""

    outcome: str = "all"


OUTCOME_OF: Mapping[str, Outcome] = {
    "holds": "holds",
    "usual": "as any smooth curve",
    "fails": "does not hold",
    "worse": "worse than any such curve",
    "out": "not applicable",
    "unknown": "cannot tell",
}
"""The outcome shown by each choice."""
LedgerView = View[Choices, Ledger]


class ClaimsPanel(PanelSpec[Choices, Ledger]):
    """A row for each claim, which opens its panel."""

    name = "claims"
    has_plots = False
    formula = "Claims"
    meaning = "of articles about positional embeddings"
    explanation = (
        "Every claim of the articles about matrices, with the quantity measured for it, the bound "
        "implied by its wording, and the null: the range that covers 90 % of random tables of the "
        "kind that comes closest, such as random curves or randomly rotated directions. A claim "
        "holds only if its p-value beside every kind, corrected for the number of claims, is at "
        "most 5 %; a claim that does not hold is a finding about the model."
    )
    empty = "Open a model to see which of the articles' claims hold for it."
    defaults = Choices()
    controls = (
        Choice(
            field="outcome",
            label="Claims shown",
            options=(
                Option("all", "All", "Show all claims"),
                Option("holds", "Hold", "Show the claims that hold and would not hold by chance"),
                Option(
                    "usual",
                    "As any curve",
                    "Show the claims that hold, but would hold for any smooth curve too",
                ),
                Option("fails", "Do not hold", "Show the claims that do not hold for this model"),
                Option(
                    "worse",
                    "Worse",
                    "Show the claims whose number is further off than that of random tables",
                ),
                Option("out", "n/a", "Show the claims that do not apply to this kind of table"),
                Option("unknown", "Undetermined", "Show the claims that cannot be decided"),
            ),
        ),
    )
    compares_all_models = True
    depends_on = ("effects",)
    body = "gui.panels.claims.table:ClaimsBody"

    def question(self, scope: Shown, choices: Choices) -> ClaimsOf:
        group = [Beside(shown.name, shown.model) for shown in scope.grid if shown.model is not None]
        effects: EffectsResult | None = scope.results.get("effects")
        measured = effects is not None and effects.run is not None
        return ClaimsOf(
            scope.positions, tuple(group) if len(group) > 1 else (), effects if measured else None
        )

    def result_for_report(self, reported: Reported, choices: Choices) -> tuple[ClaimsOf, Ledger]:
        measured = reported.measured
        positions, published = measured.positions, compare_published(measured)
        return ClaimsOf(positions), Ledger(positions, reported.verdicts, published)

    def plots(self, view: LedgerView) -> tuple[()]:
        return ()

    def heading(self, view: LedgerView) -> tuple[str, str]:
        result = view.result
        first, last = result.positions
        scope = (
            f"{view.model.name} · the shown positions {first}–{last} or all rows, by claim"
            f" · weights of layer {LAYER} as they are"
        )
        return counts(result.verdicts), scope

    def caption(self, view: LedgerView) -> str:
        return " · ".join(self.heading(view))

    def figure(self, view: LedgerView) -> Figure:
        result = view.result
        return ledger_figure(self.heading(view)[1], result.verdicts, view.theme, result.published)

    def texts(self, view: LedgerView) -> Sequence[Texts]:
        scope, verdicts = self.heading(view)[1], view.result.verdicts
        published = view.result.published
        kinds = {
            "md": ("Markdown table (*.md)", lambda: markdown(scope, verdicts, published)),
            "csv": ("CSV table (*.csv)", lambda: comma_separated(verdicts)),
        }
        return (Texts("Save ledger", kinds),)

    def numbers(self, view: LedgerView) -> Mapping[str, np.ndarray]:
        verdicts = view.result.verdicts
        values = [np.nan if verdict.value is None else verdict.value for verdict in verdicts]
        bands = [
            (np.nan,) * 3 if verdict.null is None else verdict.null.band for verdict in verdicts
        ]
        return {
            "claim": np.array([verdict.claim.id for verdict in verdicts]),
            "measured": np.array(values),
            "expected": np.array([str(verdict.claim.expected) for verdict in verdicts]),
            "outcome": np.array([verdict.outcome or "" for verdict in verdicts]),
            "null": np.array(
                ["" if verdict.null is None else verdict.null.name for verdict in verdicts]
            ),
            "p": np.array([np.nan if one.p is None else one.p for one in verdicts]),
            "p_adjusted": np.array(
                [np.nan if one.p_adjusted is None else one.p_adjusted for one in verdicts]
            ),
            "null_p5": np.array([low for low, _, _ in bands]),
            "null_p95": np.array([high for _, _, high in bands]),
        }

    def script(self, view: LedgerView) -> str:
        group = [one.model() for one in view.question.group]
        more, published = "", ""
        effects = view.question.effects
        if effects is not None:
            run = replace(effects.run, heads=False)
            more = f"{intervening(view.model, run, NEEDED)}\n"
            more += "verdicts += check_effects(effects)\n"
        if group:
            others = ", ".join(
                "model" if one is view.model else opened(one)
                for one in group
                if one and not one.no_claims
            )
            more += (
                f"group = [{others}]\n"
                "verdicts += check_groups([member(Measurements(one)) for one in group])\n"
            )
        if view.result.published:
            published = (
                "for one in compare_published(measured):\n"
                "    print(one.published.quantity, one.published.value, one.ours, one.within,"
                " sep='\\t')\n"
            )
        return python_script(
            f"measured = Measurements(model, Scope(positions={view.scope.positions}))\n"
            f"verdicts = check_claims(measured)\n{more}"
            "for verdict in adjust_verdicts(verdicts, model.notes):\n"
            "    null = verdict.null and verdict.null.name\n"
            "    numbers = (verdict.value, null, verdict.p, verdict.p_adjusted)\n"
            "    print(verdict.outcome, *numbers, verdict.claim.statement, sep='\\t')\n"
            f"{published}",
            view.model,
        )
