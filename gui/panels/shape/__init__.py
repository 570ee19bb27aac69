"""The shape panel: simple curves fitted to the shown positions.

The fits are in `geometry.measures.shape`.
"""
