"""How amounts are written."""

import pytest

from gui.style.theme import FIGURE_SPACE, format_bytes, format_part, format_rough

NBSP = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1 kB"), (786_432, "786 kB"),
     (999_499, "999 kB"), (999_500, "1.0 MB"), (3_145_728, "3.1 MB"), (19_660_800, "19.7 MB"),
     (99_949_999, "99.9 MB"), (99_950_000, "100 MB"), (548_105_171, "548 MB"),
     (6_430_000_000, "6.4 GB")],
)  # fmt: skip
def test_amounts_of_data(nbytes, text):
    assert format_bytes(nbytes) == text.replace(" ", NBSP)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0 k"), (3412, "3.4 k"), (99_950, "100 k"),
     (999_500, "1.0 M"), (12_345_678, "12.3 M"), (345_678_901, "346 M")],
)  # fmt: skip
def test_rough_counts(count, text):
    assert format_rough(count) == text.replace(" ", NBSP)


@pytest.mark.parametrize("total", [200_000, 3_145_728, 19_660_800, 548_105_171])
def test_a_part_keeps_its_width_from_start_to_end(total):
    parts = [format_part(total * k // 97, total) for k in range(98)]
    assert len({len(part) for part in parts}) == 1
    assert format_part(1_230_000, 19_660_800) == f"{FIGURE_SPACE}1.2 of 19.7{NBSP}MB"
    assert parts[-1] == f"{format_bytes(total).split(NBSP)[0]} of {format_bytes(total)}"
