"""Python code for "Copy as Python"."""

from __future__ import annotations

from geometry.models.model import PositionalModel
from geometry.models.residual_stream import Subject


def opening(model: PositionalModel) -> str:
    """Return the lines that open a model as ``model``, ending in a line break."""
    imports = "from geometry import open_model"
    return f"{imports}\n\nmodel = {opened(model)}  # {model.name}\n"


def opened(model: PositionalModel) -> str:
    """Return the ``open_model`` call that opens the same model."""
    from geometry.models.sources.derived import at_commit, model_source
    from gui.services.loading import is_of_hub

    source = model.source
    if model.commit is not None and is_of_hub(model_source(source)):
        source = at_commit(source, model.commit)
    return f"open_model({source!r}{table_argument(model)})"


def table_argument(model: PositionalModel) -> str:
    """Return the argument that names a model's table, after a comma; "" if there is only one."""
    return "" if model.table_choice is None else f", table={model.table_choice!r}"


def written(subject: Subject) -> str:
    """Return the Python expression for a subject, without defaults."""
    default = Subject(subject.name)
    named = ("layer", "head", "side", "fold_ln", "centred")
    differing = [name for name in named if getattr(subject, name) != getattr(default, name)]
    parts = [repr(subject.name), *(f"{name}={getattr(subject, name)!r}" for name in differing)]
    return f"Subject({', '.join(parts)})"
