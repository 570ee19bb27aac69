"""Models on the Hugging Face Hub: single tensors by range requests, cached on disk; whole models.

Knows files and tensors, but neither families of models nor mathematics.
"""
