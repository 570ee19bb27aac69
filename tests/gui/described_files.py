"""Files of releases: where they are, what is said of them, and what is read from them.

The functions that describe what was read are the only ones that know what its parts are called in
the code. What they return is JSON, as it is in ``expected.json`` beside the files of a release.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from geometry.history.history import History
from geometry.inside.record import Description
from geometry.models.sources.layer_tables import LayerTables
from geometry.models.sources.source import Source
from geometry.survey.read import Survey
from gui.state.aligned_curve import CurveAlignment, OfOther, OfRange, OfStep
from gui.state.layout import Tabs

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
WRITTEN_IN = "/home/user/positions"
"""The folder in which files of 0.2 were written, with those of their models."""


@dataclass(frozen=True)
class Release:
    """The files that a release wrote, by kind and name."""

    version: str
    sample: str  # Folder of the model that was the bundled one, from the root of the repository

    @property
    def folder(self) -> Path:
        return FIXTURES / self.version

    @cached_property
    def expected(self) -> dict:
        return json.loads((self.folder / "expected.json").read_text("utf-8"))

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file, by its path below the folder."""
        if "files" in self.expected:
            return self.expected["files"]
        return {
            f"{kind}/{name}": expected["sha256"]
            for kind, files in self.expected.items()
            for name, expected in files.items()
        }


RELEASES = (
    Release("0.1", "tests/fixtures/0.1-sample"),
    Release("0.2", "resources/sample"),
)
FIRST, SECOND = RELEASES


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def plain(value):
    """The same as JSON has it: lists for tuples, and null for what is not a number."""
    return json.loads(json.dumps(value, default=_plain), parse_constant=lambda _: None)


def _plain(value):
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Source):
        return value.id
    return dict(value)  # a mapping that is not to be changed


def without(said, *names):
    return {name: value for name, value in said.items() if name not in names}


def moved_to(folder, said):
    """The same with paths as if the folder in which the files were written were another one."""
    if isinstance(said, list):
        return [moved_to(folder, one) for one in said]
    if isinstance(said, dict):
        return {name: moved_to(folder, one) for name, one in said.items()}
    if isinstance(said, str) and said.startswith(WRITTEN_IN):
        return f"{folder}{said.removeprefix(WRITTEN_IN)}"
    return said


def fields_of(one, *names):
    return {name: getattr(one, name) for name in names}


def described_place(place):
    if place is None:
        return None
    pose = place.pose
    vectors = fields_of(pose, "position", "focal_point", "up")
    return {
        **{name: vector.tolist() for name, vector in vectors.items()},
        "parallel_scale": pose.parallel_scale,
        "follows": place.follows,
    }


def described_alignment(alignment):
    match alignment:
        case None:
            return None
        case CurveAlignment(what=OfOther(key)):
            of = {"other": key}
        case CurveAlignment(what=OfRange(positions)):
            of = {"range": positions}
        case CurveAlignment(what=OfStep(step)):
            of = {"step": step}
    return {**of, **fields_of(alignment, "how", "mirrored", "middle", "coloring")}


def described_node(node):
    if isinstance(node, Tabs):
        return fields_of(node, "docks", "front", "size")
    parts = [described_node(part) for part in node.parts]
    return {"direction": node.direction, "parts": parts, "size": node.size}


def described_layout(layout):
    if layout is None:
        return None
    return {
        "areas": {area: described_node(node) for area, node in layout.areas.items()},
        "hidden": dict(layout.hidden),
        "floating": {
            name: fields_of(one, "area", "rectangle", "hidden")
            for name, one in layout.floating.items()
        },
        "window": layout.window,
    }


def described_session(fields):
    column = fields.get("color_column")
    if column is None:
        return dict(fields)
    return {**fields, "color_column": fields_of(column, "name", "file", "values")}


def described_model(one):
    return {
        **fields_of(one, "source", "beside", "table", "commit", "positions"),
        "camera": described_place(one.place),
    }


def described_work(work):
    return plain(
        {
            **described_model(work),
            **fields_of(work, "fingerprint", "panel", "main_at", "alone", "file", "changed"),
            "left_out": work.left_out,
            "session": described_session(work.fields),
            "turn": work.turn.tolist(),
            "window": work.size,
            "docks": described_layout(work.layout),
            "others": [
                {**described_model(one), **fields_of(one, "components", "in_grid")}
                for one in work.others
            ],
            "laying": described_alignment(work.alignment),
            "panels": {name: dict(options) for name, options in work.panels.items()},
            "bookmarks": [described_bookmark(one) for one in work.bookmarks],
        }
    )


def described_bookmark(one):
    return {
        **fields_of(one, "key", "name", "note", "model"),
        "picture": digest(one.picture),
        "work": described_work(one.work),
    }


_OF_SESSION = (
    "colormap", "cyclic_colormap", "color_span", "line_width", "point_size", "curve_parts",
    "opacity", "outside", "projection", "keep_turned", "compare_columns", "offline", "recent",
    "surveys", "tables", "prompt", "folders", "first_range",
)  # fmt: skip


def described_settings(settings):
    current, workspaces = settings.workspaces
    place, layout = settings.layout or (None, None)
    own = ("theme", "text_size", "colormap", "first_range", "keys", "toolbar", "last_source",
           "offline", "cache_limit")  # fmt: skip
    return plain(
        {
            **fields_of(settings, *own),
            "session": fields_of(settings.new_session(), *_OF_SESSION),
            "window": place and fields_of(place, "rectangle", "state"),
            "docks": described_layout(layout),
            "workspace": current,
            "workspaces": {name: described_layout(one) for name, one in workspaces.items()},
        }
    )


def described_survey(survey: Survey):
    """All columns with all values, so that none can be lost."""
    columns = survey.columns.values()
    return plain(
        {
            "rows": len(survey),
            **fields_of(survey, "failed", "total", "others", "dashboard", "in_parts"),
            "columns": {one.name: {"kind": one.kind, "values": one.values} for one in columns},
            "runs": [run.tolist() for run in survey.runs],
        }
    )


def described_table(table):
    """A table's shape, and some of its numbers."""
    table = np.asarray(table, np.float64)
    return {
        "shape": table.shape,
        "first": table[0, :3].tolist(),
        "last": table[-1, -3:].tolist(),
        "length": float(np.linalg.norm(table)),
    }


def described_history(history: History):
    names = ("name", "unit", "shown", "shape", "steps", "tokens", "losses", "decays")
    tables = [described_table(history.table(at)) for at in range(history.n_snapshots)]
    return plain({**fields_of(history, *names), "tables": tables})


def described_layers(tables: LayerTables):
    names = ("name", "source", "shape", "windows", "special", "share", "share_noise",
             "halves_cosine", "random_share")  # fmt: skip
    layers = range(tables.shape[0])
    return plain(
        {
            **fields_of(tables, *names),
            "clearest": tables.clearest(),
            "tables": [described_table(tables.table(layer)) for layer in layers],
            "means": [described_table(tables.means(layer)[1]) for layer in layers],
        }
    )


LATER = ("energy", "token_variance", "probe_error", "probe_chance")
"""Measurements of layers that later versions added."""


def described_description(found: Description):
    counters = ("name", "share", "halves_cosine", "norms_cv", "angles", "chance")
    return plain(
        {
            "layers": [
                {name: value for name, value in asdict(one).items() if name not in LATER}
                for one in found.layers
            ],
            "counters": [fields_of(one, *counters) for one in found.counters],
            "published": [asdict(one) for one in found.published],
        }
    )


def described_effects(effects):
    return plain(
        {
            **fields_of(effects, "fingerprint", "baseline", "windows", "layer"),
            "effects": [
                fields_of(one, "name", "delta", "low", "high", "why", "by_window")
                for one in effects.effects
            ],
        }
    )


_ADDED = {"alone": None, "docks": None, "coloring": "matched", "in_grid": True, "left_out": [],
          "file": "", "changed": False}  # fmt: skip
"""What files of 0.1 say nothing of, and what the reader gives for it."""


def as_in_0_1(read):
    """What was read from a file of 0.1, without what came later."""
    if isinstance(read, list):
        return [as_in_0_1(one) for one in read]
    if not isinstance(read, dict):
        return read
    for name in _ADDED.keys() & read.keys():
        assert read[name] == _ADDED[name], name
    return {name: as_in_0_1(one) for name, one in read.items() if name not in _ADDED}
