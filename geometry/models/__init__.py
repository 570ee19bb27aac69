"""Opening models: sources, families, position tables, token embeddings and weights.

Gives all matrices in one orientation; measures nothing.
"""
