"""Models on the Hugging Face Hub: single tensors by range requests, kept for the next time."""
