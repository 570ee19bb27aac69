"""The session and its values: what the user wants, what is open, and results.

Plain values without Qt; nothing here starts work.
"""
