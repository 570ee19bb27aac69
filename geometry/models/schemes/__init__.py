"""Position schemes without a table: rotary embeddings, ALiBi, relative biases."""
