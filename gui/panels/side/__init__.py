"""Panels beside the curve: models, positions, view, inspector, prompt, bookmarks, lessons.

They have no spec, unlike panels of results, and do not import these.
"""
