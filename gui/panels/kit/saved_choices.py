"""What is saved of a panel's choices, and what of a file it can take."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gui.panels.kit.choices import Control, Saved
from gui.panels.kit.spec import AnyPanel, changed
from gui.state.values import Fields

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

log = logging.getLogger(__name__)


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
