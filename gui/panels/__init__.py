"""Panels of results: a spec each, in a file or a folder; `kit` defines what a panel is.

Its widgets read the session and emit intents; they compute nothing and know no other panel.
"""
