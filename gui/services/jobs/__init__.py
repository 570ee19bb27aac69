"""Background work: slots whose newest job wins, on threads or, in tests, at once.

Jobs know neither the session nor what they compute.
"""
