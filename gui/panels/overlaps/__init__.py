"""The overlaps panel: how far the directions of two matrices coincide.

The measures themselves are in `geometry.measures.overlaps`.
"""
