"""Colours, sizes, and formats of numbers and text.

Below everything else; independent of the session.
"""
