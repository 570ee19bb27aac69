"""The texts that the inspector copies: tab-separated, for a spreadsheet or a notebook."""

from __future__ import annotations

from geometry.checkpoints.number_files import cell
from geometry.measures.neighbours import PositionDetails
from gui.state.session import Session


def details_text(session: Session, details: PositionDetails) -> str:
    """Return the numbers of one position, one quantity per line, in full precision."""
    fitted = len(session.pca.components) if session.pca is not None else 0
    shown = [c for c in session.components if c <= fitted]
    text = session.text_at(details.position)
    lines = [("position", str(details.position))]
    if text is not None:
        lines.append((_title(session), _one_cell(text)))
    lines.append(("norm", _number(details.norm)))
    lines += [
        (f"PC {c}", _number(float(value)))
        for c, value in zip(shown, details.coordinates, strict=False)
    ]
    lines.append(("off-subspace residual", _number(details.residual)))
    copied = "".join(f"{name}\t{value}\n" for name, value in lines)
    copied += "\nposition\tdistance\tcosine\n"
    for row in (*details.neighbours, *details.nearest):
        copied += f"{row.position}\t{_number(row.distance)}\t{_number(row.cosine)}\n"
    return copied


def selection_text(session: Session) -> str:
    """Return the selected positions as a table: position, token or label, norm."""
    norms = session.norms
    norm_title = "norm (row-centred)" if norms is not None and norms.centred else "norm"
    text = f"position\t{_title(session)}\t{norm_title}\n"
    for position in sorted(session.selection):
        norm = _number(float(norms.values[position])) if norms is not None else ""
        text += f"{position}\t{_one_cell(session.text_at(position) or '')}\t{norm}\n"
    return text


def _title(session: Session) -> str:
    return "token" if session.model is None or session.model.rows is None else "label"


def _number(value: float) -> str:
    # ASCII minus and no thin spaces, for programs.
    return f"{value:.9g}"


def _one_cell(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("\t", "\\t")
    return str(cell(escaped.replace("\n", "\\n").replace("\r", "\\r")))
