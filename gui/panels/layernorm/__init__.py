"""The LayerNorm panel: errors of separating token and position, and similar sums of both.

The errors are measured in `geometry.measures.layernorm`, sums in `geometry.measures.interference`.
"""
