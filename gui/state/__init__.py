"""The session and its values: the user's settings, open models, and results.

Plain values without Qt; nothing here starts work.
"""
