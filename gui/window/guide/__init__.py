"""The user guide in its own window: its pages, contents and search.

The pages themselves are in ``resources/guide``.
"""
