"""Saving and restoring a panel's choices."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gui.panels.kit.choices import Control, Saved
from gui.panels.kit.spec import AnyPanel, changed
from gui.state.fields import as_json
from gui.state.values import Fields

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

log = logging.getLogger(__name__)


def saved(spec: AnyPanel, choices: object) -> dict[str, object]:
    """Return choices for a work file."""
    values: dict[str, object] = {}
    for control in kept_controls(spec):
        value = getattr(choices, control.field)
        if not (isinstance(control, Saved) and control.optional and value is None):
            values[control.field] = as_json(value)
    return values


def restored(spec: AnyPanel, options: Fields, model: PositionalModel, choices: Any) -> Any:
    """Return choices with those of a file that are :func:`usable`.

    Choices that the file lacks, as files of earlier releases do, get their defaults.
    """
    begun = spec.choices_for(model, spec.defaults)
    first = {control.field: getattr(begun, control.field) for control in kept_controls(spec)}
    return changed(spec, replace(choices, **first), usable(spec, options, model))


def usable(spec: AnyPanel, options: Fields, model: PositionalModel) -> dict[str, object]:
    """Return the choices from a file that a model supports.

    Unknown and invalid choices are omitted, and those of layers, heads and weights that the model
    lacks.
    """
    values = {}
    for control in kept_controls(spec):
        if control.field in options:
            value = options[control.field]
            try:
                choice = control.decode(value)
            except ValueError as error:
                log.warning("%s of %s is left out: %s", control.field, spec.name, error)
            else:
                # In a file, dataclasses have all of their fields and no others.
                if as_json(choice) == value and control.fits(choice, model):
                    values[control.field] = value
    return values


def kept_controls(spec: AnyPanel) -> tuple[Control, ...]:
    """Return the controls that are saved with the panel."""
    return tuple(control for control in spec.controls if control.kept and not control.shared)
