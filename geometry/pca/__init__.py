"""Principal components of a range of positions: exact, fast under a drag, and the curve in them.

Works on arrays; knows neither models nor where they come from.
"""
