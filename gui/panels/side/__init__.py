"""Panels beside the curve: models, positions, view, inspector, prompt, bookmarks, lessons.

They ask no question of the model, as result panels do, and import none of those.
"""
