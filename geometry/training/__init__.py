"""Training a small GPT-2 on any text, and keeping its positions as they form."""
