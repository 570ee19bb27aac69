"""An opened model as a page, a picture, or a table in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import write_bytes, write_text, writing
from geometry.claims.measurements import Measurements
from gui.export.viewer import ShownCurve

PICTURES = (".png", ".svg", ".pdf")
ENDINGS = (".html", *PICTURES, ".npy", ".csv", ".tsv")


def save(measured: Measurements, path: Path, *, small: bool) -> Path:
    """Write a file, but for pictures; see :meth:`gui.notebook.opened.OpenedModel.save`."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise HelixscopeError(
            f"A model cannot be saved as {path.name}.", f"Use one of {', '.join(ENDINGS)}."
        )
    with writing(path):
        if ending == ".html":
            _page(measured, path, small)
        elif ending == ".csv":
            from geometry.measures.table import tabulate, write_table

            write_table(tabulate(measured.model.W_pos, measured.shown), path)
        elif ending == ".tsv":
            write_projector(measured, path)
        else:
            import io

            content = io.BytesIO()
            np.save(content, measured.model.stored_W_pos)
            write_bytes(content.getvalue(), path)
    return path


def _page(measured: Measurements, path: Path, small: bool) -> None:
    if small:
        write_text(ShownCurve.of(measured).page(measured.model.source), path)
        return
    from gui.export.scene_files import export_scene

    export_scene(measured.model, path, positions=measured.shown)


def write_projector(measured: Measurements, path: Path) -> None:
    """Write rows for TensorBoard's projector, and their positions and labels beside them."""
    from geometry.checkpoints.column_files import metadata_name

    model, beside = measured.model, path.with_name(metadata_name(path))
    if beside == path:
        raise HelixscopeError(
            f"{path.name} is the name of the labels beside it.", "Save the rows as tensors.tsv."
        )
    first, last = measured.shown
    rows = model.W_pos[first : last + 1]
    write_text("".join("\t".join(f"{x:.9g}" for x in row) + "\n" for row in rows), path)
    labels = None if model.rows is None else model.rows.labels
    lines = [f"{at}\t{_cell(labels[at])}" if labels else f"{at}" for at in range(first, last + 1)]
    head = ["position\tlabel"] if labels else []
    write_text("\n".join([*head, *lines, ""]), beside)


def _cell(text: str) -> str:
    return " ".join(text.split())
