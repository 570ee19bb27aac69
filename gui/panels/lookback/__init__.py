"""The look-back panel: looking back N tokens as a rotation and a shift of the curve.

The motions themselves are in `geometry.measures.lookback`.
"""
