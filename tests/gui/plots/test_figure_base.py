"""Whether figures fit, also while others are drawn on other threads."""

import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

from gui.plots.figure_base import drawn, fits, new_figure

FITS_ALONE = """
import warnings
from gui.plots.figure_base import drawn, fits, new_figure
figure, _ = new_figure(size=(0.2, 0.2))
assert not fits(figure)
assert drawn(figure, "png")
assert fits(new_figure()[0])
import matplotlib.pyplot as plt
plt.switch_backend("agg")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("default")
    plt.figure(figsize=(0.2, 0.2), layout="constrained").subplots()
    plt.gcf().draw_without_rendering()
assert len(caught) == 1
"""


def test_a_figure_without_room_does_not_fit_and_others_only_warn():
    # In a process of its own, where warnings are no errors.
    subprocess.run([sys.executable, "-c", FITS_ALONE], check=True)


def test_threads_leave_the_filters_of_warnings_as_they_were():
    figures = [new_figure(size=(0.2, 0.2) if n % 2 else (6.4, 3.2))[0] for n in range(8)]
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fits, figures)) == [True, False] * 4
    assert warnings.filters == before
    assert drawn(figures[1], "svg")
