"""Emergent positional embeddings: positions in the residual stream of any transformer.

h(c, t) is the residual stream after a block (layer 0: after the embedding) for text c and position
t. Its mean over texts, without the mean over both, is pos(t), the positional basis of Song and
Zhong, "Uncovering hidden geometry in transformers via disentangling position and context",
arXiv:2310.04861. In the order of use::

    network = load_network("sample")                 # network.py: blocks, tokenizer, length
    windows = draw_windows(find_texts("sample"), …)    # windows.py: independent windows of tokens
    sums = run(network, windows, …)                  # forward.py: running sums, never activations
    layers = measure_layers(sums, …)                 # layers.py: shares, ranks, noise floors

``positions_run.py`` does all of it, resumes it, and writes what ``record.py`` reads.

The mean over C texts has noise of the size (remaining variance) / C. So the texts are divided into
two halves, and the measures are products of the two, whose expectation has no noise.
"""
