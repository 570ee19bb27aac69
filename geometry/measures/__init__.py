"""Every quantity measured on arrays: norms, spectra, shapes, motions, kernels, similarity.

Works on arrays; a function that needs a model belongs in `geometry.models` or above.
"""
