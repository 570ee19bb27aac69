"""Parts of the overlaps panel."""


def pair_of(panel):
    """The heatmap of a pair, with its bar."""
    return panel.content.pair.painted[0]


def figure_of(panel):
    """The cells of a figure, with their bar."""
    return panel.content.figure


def view_of(panel):
    """The choice between a pair and the figures."""
    return panel.controls.widgets["view"]


def cell(panel, i, j):
    return pair_of(panel).widget.point_of(i, j).toPoint()
