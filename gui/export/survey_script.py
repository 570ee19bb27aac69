"""Python scripts that draw a survey again from its file, with pandas and Matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geometry.survey.curves import CURVE_COLUMNS
from gui.plots.curve_picture import pictures_across

SCALE = 100


@dataclass(frozen=True, slots=True)
class DrawnColumn:
    """A column of the file as it is drawn."""

    name: str
    title: str  # With its unit
    percent: bool = False  # Whether it is a share, which is drawn in percent
    log: bool = False
    text: bool = False  # Whether its values are names, also those of seeds

    @property
    def values(self) -> str:
        """The expression of its values, of the rows ``shown``."""
        times = f" * {SCALE}" if self.percent else ""
        return f"shown[{self.name!r}]{times}"


def survey_script(
    path: Path,
    x: DrawnColumn,
    y: DrawnColumn,
    color: DrawnColumn,
    *,
    lines: bool,
    parts: bool = False,
    colormap: str = "viridis",
) -> str:
    """Return a script that draws two columns of a survey, coloured by a third.

    Parameters
    ----------
    lines
        Whether the steps of each training are joined.
    parts
        Whether there are rows in parts beside the file, as of a running survey.
    """
    log = [f'axes.set_{side}scale("log")' for side, one in (("x", x), ("y", y)) if one.log]
    drawn = _categories(x, y, color) if color.text else _numbers(x, y, color, colormap)
    positive = [f"shown = shown[shown[{one.name!r}] > 0]" for one in (x, y) if one.log]
    needed = ["source", "group", "seed", "step", "layer"] if lines or parts else []
    names = list(dict.fromkeys([*needed, x.name, y.name, color.name]))
    lines_of_code = [
        *(["from pathlib import Path", ""] if parts else []),
        "import matplotlib.pyplot as plt",
        "import pandas as pd",
        "",
        f"columns = {names!r}",
        *_reading(path, parts=parts),
        f"shown = rows.dropna(subset={sorted({x.name, y.name})!r})",
        *positive,
        'figure, axes = plt.subplots(layout="constrained")',
        *(_lines(x, y) if lines else []),
        *drawn,
        *log,
        f"axes.set_xlabel({x.title!r})",
        f"axes.set_ylabel({y.title!r})",
        "plt.show()",
    ]
    return "\n".join(lines_of_code) + "\n"


_CURVES = """\
def at_64_places(curve):
    at = np.linspace(0, len(curve) - 1, 64)
    return np.column_stack([np.interp(at, np.arange(len(curve)), one) for one in curve.T])


drawn, after = {}, None
for source in reversed(names):
    row = rows.loc[source]
    n, first, last = (int(row[name]) for name in columns[1:4])
    curve = np.frombuffer(row["coordinates"], "<f2").reshape(n, -1)[first : last + 1, :3]
    curve = np.pad(curve.astype(float), [(0, 0), (0, 3 - curve.shape[1])])
    curve -= curve.mean(axis=0)
    curve /= np.sqrt(np.square(curve).sum(axis=1).mean())
    if after is not None:  # each is turned onto the next one
        U, _, Vh = np.linalg.svd(after.T @ at_64_places(curve))
        curve = curve @ (U @ Vh).T
    drawn[source], after = curve @ view, at_64_places(curve)
"""


def curves_script(
    path: Path,
    names: Mapping[str, str],
    view: np.ndarray,
    *,
    parts: bool = False,
    colormap: str = "viridis",
) -> str:
    """Return a script that draws the curves of some checkpoints of a survey.

    Parameters
    ----------
    names
        The title of each, by source.
    view : (3, 2)
        From the components of the last of them to the right and upwards.
    parts
        As in :func:`survey_script`.
    """
    across = pictures_across(len(names))
    down = max(-(-len(names) // across), 1)
    lines = [
        *(["from pathlib import Path", ""] if parts else []),
        "import matplotlib.pyplot as plt",
        "import numpy as np",
        "import pandas as pd",
        "",
        f"columns = {list(CURVE_COLUMNS)!r}",
        *_reading(path, parts=parts),
        'rows = rows.set_index("source")',
        "names = {",
        *(f"    {source!r}: {name!r}," for source, name in names.items()),
        "}",
        f"view = np.array({np.round(view, 6).tolist()!r})",
        "",
        "",
        *_CURVES.splitlines(),
        f"figure, cells = plt.subplots({down}, {across}, squeeze=False, "
        f'figsize=({1.2 * across:.1f}, {1.2 * down:.1f}), layout="constrained")',
        "for axes in cells.flat:",
        '    axes.axis("off")',
        "for axes, (source, name) in zip(cells.flat, names.items()):",
        "    x, y = drawn[source].T",
        '    axes.plot(x, y, color="0.8", linewidth=0.4)',
        f"    axes.scatter(x, y, s=1.5, c=np.arange(len(x)), cmap={colormap!r}, zorder=2)",
        '    axes.set_aspect("equal")',
        '    axes.set_title(name, fontsize="x-small")',
        "plt.show()",
    ]
    return "\n".join(lines) + "\n"


def _reading(path: Path, *, parts: bool) -> list[str]:
    if not parts:
        return [f"rows = pd.read_parquet({str(path)!r}, columns=columns)"]
    return [
        f"file = Path({str(path)!r})",
        'parts = sorted(Path(f"{file}.parts").glob("part-*.parquet"))',
        "files = [*([file] if file.exists() else []), *parts]",
        "tables = [pd.read_parquet(one, columns=columns) for one in files]",
        "rows = pd.concat(tables, ignore_index=True)",
        'rows = rows.drop_duplicates("source", keep="last")',
    ]


def _lines(x: DrawnColumn, y: DrawnColumn) -> list[str]:
    across, up = (one.values.replace("shown", "run") for one in (x, y))
    return [
        'trained = shown.dropna(subset=["step"]).sort_values("step")',
        'for _, run in trained.groupby(["group", "seed", "layer"], dropna=False):',
        f'    axes.plot({across}, {up}, color="0.8", linewidth=0.8, zorder=0)',
    ]


def _numbers(x: DrawnColumn, y: DrawnColumn, color: DrawnColumn, colormap: str) -> list[str]:
    return [
        f"points = axes.scatter({x.values}, {y.values}, s=8, c={color.values}, "
        f"cmap={colormap!r}, plotnonfinite=True)",
        f"figure.colorbar(points, label={color.title!r})",
    ]


def _categories(x: DrawnColumn, y: DrawnColumn, color: DrawnColumn) -> list[str]:
    across, up = (one.values.replace("shown", "some") for one in (x, y))
    return [
        f"for name, some in shown.groupby({color.name!r}, dropna=False):",
        f"    axes.scatter({across}, {up}, s=8, label=str(name))",
        f'axes.legend(title={color.title!r}, fontsize="small")',
    ]
