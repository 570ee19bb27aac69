"""Background jobs in slots, on threads or, in tests, inline.

Independent of the session and of the computations.
"""
