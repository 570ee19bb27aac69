"""Colours, sizes, formats of numbers and text: the look, in one place.

Below everything else; knows no session.
"""
