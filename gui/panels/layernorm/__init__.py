"""The LayerNorm panel: how far it keeps token and position apart, and sums that look alike.

The errors are measured in `geometry.measures.layernorm`, sums in `geometry.measures.interference`.
"""
