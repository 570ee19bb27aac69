"""The user guide in a window of its own: its pages, contents and search.

The pages themselves are in ``resources/guide``.
"""
