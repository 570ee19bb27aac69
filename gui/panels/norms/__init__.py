"""The norms panel: lengths of rows, steps and residuals by position.

It stands outside the kit of panels so far.
"""
