"""Services: opening, fitting, answering, comparing, downloading, undo, saved work.

The only layer that starts work and writes results into the session; no widgets.
"""
