"""The shape panel: simple curves fitted to the shown positions.

The fits themselves are in `geometry.measures.shape`.
"""
