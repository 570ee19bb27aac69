"""What a model is: sources, families, its table of positions, token embeddings and weights.

Reads checkpoints in one orientation; measures nothing.
"""
