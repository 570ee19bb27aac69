"""Export: pictures, films, scene files, numbers and scripts.

Nothing here decides what is shown; it takes that from the session.
"""
