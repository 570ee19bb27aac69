"""A Python script that draws a survey's scatter again from its file, with pandas and Matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
