"""Panels beside the curve: models, positions, view, inspector, prompt, bookmarks, lessons.

Unlike result panels, which are a layer above, they have no spec.
"""
