"""Principal components of a range of positions: exact, and fast while dragging; curves in them.

Works on arrays; knows nothing of models.
"""
